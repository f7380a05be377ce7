#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| profbridge_fuzz::run("read_branches", data));
