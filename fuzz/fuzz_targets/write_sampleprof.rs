#![no_main]
use profbridge_fuzz::mutants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| profbridge_fuzz::run("write_sampleprof", data));
libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutants::mutate_in_place(
        mutants::samples::mutate_after_a_byte,
        libfuzzer_sys::fuzzer_mutate,
        data,
        size,
        max_size,
        seed,
    )
});
