//! A packetdrill script of any content: it gets a verdict.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wifair_packetdrill::{PlayOptions, run};

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        run(text, PlayOptions::default(), &|_| None);
    }
});
