//! Any bytes as a capture file, analysed with everything on.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)] // each target calls one of its functions
#[path = "../../crates/capture/tests/suite/any_bytes.rs"]
mod any_bytes;

fuzz_target!(|bytes: &[u8]| any_bytes::file(bytes));
