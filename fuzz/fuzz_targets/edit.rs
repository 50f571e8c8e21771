#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| akgentic_properties::edit(data));
