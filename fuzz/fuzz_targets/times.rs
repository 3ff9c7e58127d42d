//! See `targets.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| targets::times(input));
