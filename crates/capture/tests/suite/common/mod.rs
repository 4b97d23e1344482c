//! Access to the captures of the test data.

pub mod radio_rates;
pub mod talk;

use std::path::PathBuf;

use wifair_capture::{Analysis, AnalysisOptions, analyze};

/// The folder of the captures; its `README.md` describes their origin.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/captures")
}

/// The bytes of a capture, decompressed if necessary.
pub fn capture(name: &str) -> Vec<u8> {
    let plain = folder().join(name);
    let packed = folder().join(format!("{name}.gz"));
    std::fs::read(&plain).or_else(|_| std::fs::read(packed)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The names of all captures, without `.gz`.
pub fn names() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).expect("the captures are there");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry.expect("a folder can be read").file_name().to_string_lossy().trim_end_matches(".gz").to_owned()
        })
        .filter(|name| name.ends_with(".pcap") || name.ends_with(".pcapng"))
        .collect();
    names.sort();
    assert!(names.len() > 15, "some captures are missing: {names:?}");
    names
}

/// Analyses a capture of the test data.
pub fn analyzed(name: &str, settings: AnalysisOptions) -> Analysis {
    analyze(&capture(name)[..], settings, |_, _| true).unwrap_or_else(|error| panic!("{name}: {error}"))
}
