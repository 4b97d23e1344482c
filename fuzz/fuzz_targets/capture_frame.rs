//! Any bytes as a frame of any link.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| wifair_capture::fuzz::frame(bytes));
