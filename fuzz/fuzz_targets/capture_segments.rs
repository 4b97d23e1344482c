//! Segments in any order, their invariants checked.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| wifair_capture::fuzz::segments(bytes));
