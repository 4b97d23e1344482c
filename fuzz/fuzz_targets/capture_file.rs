//! Any bytes as a capture file, analysed with everything on.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| wifair_capture::fuzz::file(bytes));
