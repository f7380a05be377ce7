//! llvm-profdata mode: the rules of llvm-profdata 22 for its own version, ours for others.

use super::dump;
use crate::compat::Compat;
use crate::error::ErrorKind;
use crate::raw::Header;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/raw")
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).expect("the test data is there")
}

fn hint_text(file: &[u8], compat: Compat) -> Result<String, String> {
    dump(file, compat).map_err(|error| error.to_string())
}

#[test]
fn each_version_is_read_by_its_rules() {
    let mut versions = [0; 12];
    for entry in std::fs::read_dir(folder()).expect("the test data is there") {
        let path = entry.expect("the folder is readable").path();
        if path.extension().is_none_or(|extension| extension != "profraw") {
            continue;
        }
        let file = std::fs::read(&path).expect("the file is readable");
        let version = Header::read(&file, 0, Compat::Profbridge).expect("the header is sound").version();
        versions[version as usize] += 1;
        let rules = if version == 10 { Compat::Llvm22 } else { Compat::Profbridge };
        for len in [file.len(), file.len() - 1, file.len() / 2, 150, 80, 16, 12] {
            // A header that is truncated before its version has no version.
            let rules = if len < 16 { Compat::Llvm22 } else { rules };
            let part = &file[..len.min(file.len())];
            assert_eq!(
                hint_text(part, Compat::InPlaceOfLlvm22),
                hint_text(part, rules),
                "{}, {len} bytes",
                path.display()
            );
        }
    }
    assert!(versions[8] > 10 && versions[10] > 10, "{versions:?}");
}

#[test]
fn profiles_of_several_versions_in_one_file_are_read_each_by_its_rules() {
    let (old, new) = (read("clang-14-ir.profraw"), read("clang-22-ir.profraw"));
    for [first, second] in [[&old, &new], [&new, &old]] {
        let mut both = first.clone();
        both.resize(both.len().next_multiple_of(8), 0);
        both.extend_from_slice(second);
        let expected: usize =
            [first, second].map(|file| hint_text(file, Compat::Profbridge).unwrap().lines().count()).iter().sum();
        assert_eq!(hint_text(&both, Compat::InPlaceOfLlvm22).unwrap().lines().count(), expected);
        let error = dump(&both, Compat::Llvm22).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::RawVersionMismatch { found: 8, expected: 10 }), "{error}");
    }
}

#[test]
fn unknown_versions_give_the_error_of_llvm() {
    for version in [0, 6, 12, 99] {
        let mut file = read("clang-22-ir.profraw");
        file[8] = version;
        let (exact, in_place) = (dump(&file, Compat::Llvm22), dump(&file, Compat::InPlaceOfLlvm22));
        assert_eq!(in_place.unwrap_err().llvm_message(), exact.unwrap_err().llvm_message());
    }
}
