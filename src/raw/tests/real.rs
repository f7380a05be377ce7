//! Real files of older releases decode.

use super::{dump, real_profile};
use crate::compat::Compat;
use crate::error::ErrorKind;

/// `simple_loops` of LLVM's `c-general.c`, as all of its versions count it.
const SIMPLE_LOOPS: &str = "simple_loops 0x46d109c4436d1 [1, 100, 100, 75]\n";
const STATIC_FUNC: &str = "c-general.c:static_func 0x46d1 [1, 10]\n";

#[test]
fn one_program_counts_the_same_in_every_version() {
    let files = ["v5-c-general", "v5-compressed-names", "v7-c-general", "v9-c-general", "v10-c-general"];
    let mut later: Option<String> = None;
    for name in files {
        let Some(file) = real_profile(&format!("{name}.profraw")) else { return };
        let text = dump(&file, Compat::Profbridge).unwrap();
        let plain: String =
            text.lines().filter(|line| !line.starts_with("warning")).map(|l| format!("{l}\n")).collect();
        assert!(plain.starts_with(SIMPLE_LOOPS) && plain.ends_with(STATIC_FUNC), "{name}: {plain}");
        assert_eq!(plain.lines().count(), 12, "{name}");
        if !name.starts_with("v5") {
            // From version 7 on the front end counts logical operators alike.
            assert_eq!(*later.get_or_insert_with(|| plain.clone()), plain, "{name}");
        }
    }
}

#[test]
fn counters_of_a_windows_file_lie_at_odd_offsets() {
    let Some(file) = real_profile("v8-windows.profraw") else { return };
    let expected = "_RNvCsc8SVDvTKFJz_12run_coverage4main 0x19f2afcdfe7ec79c [1, 0]\n";
    assert_eq!(dump(&file, Compat::Profbridge).unwrap(), expected);
}

#[test]
fn records_of_one_name_and_hash_are_all_kept() {
    let Some(file) = real_profile("v5-rust-coverage.profraw") else { return };
    let text = dump(&file, Compat::Profbridge).unwrap();
    let name = "_RNvCsYb2sxxooGX_14simple_project15branch_test_one 0xb97163c818f31889";
    assert_eq!(text.matches(name).count(), 2, "{text}");
}

#[test]
fn small_ir_and_rust_files_decode() {
    for (name, expected) in
        [("v8-ir-basic", "main 0xa4d0ad3efffffff [1]\n"), ("v9-ir-basic", "main 0xa4d0ad3efffffff [1]\n")]
    {
        let Some(file) = real_profile(&format!("{name}.profraw")) else { return };
        assert_eq!(dump(&file, Compat::Profbridge).unwrap(), expected, "{name}");
    }
    for (name, records) in [("v8-rust-coverage", 37), ("v9-rust-coverage", 6)] {
        let Some(file) = real_profile(&format!("{name}.profraw")) else { return };
        assert_eq!(dump(&file, Compat::Profbridge).unwrap().lines().count(), records, "{name}");
    }
}

#[test]
fn as_llvm_only_version_10_is_read_and_the_text_is_llvms() {
    let Some(file) = real_profile("v9-c-general.profraw") else { return };
    let error = dump(&file, Compat::Llvm22).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::RawVersionMismatch { found: 9, expected: 10 }));
    assert_eq!(
        error.llvm_message(),
        "raw profile version mismatch: Profile uses raw profile format version = 9; expected version = 10\n\
         PLEASE update this tool to version in the raw profile, or regenerate raw profile with expected version."
    );
}
