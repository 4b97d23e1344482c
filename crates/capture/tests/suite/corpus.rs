//! Replays the corpus that the fuzzer has collected.

use std::path::PathBuf;

use crate::any_bytes;

fn replay(target: &str, call: fn(&[u8])) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut count = 0;
    for entry in entries {
        let path = entry.expect("a folder can be read").path();
        call(&std::fs::read(&path).expect("a file can be read"));
        count += 1;
    }
    assert!(count > 10, "{target}: only {count} inputs");
}

#[test]
fn files() {
    replay("capture_file", any_bytes::file);
}

#[test]
fn frames() {
    replay("capture_frame", any_bytes::frame);
}

#[test]
fn segments() {
    replay("capture_segments", wifair_capture::fuzz::segments);
}
