//! The toolchains for `--for`: shell completion and suggestions.

use crate::llvm_compat::edit_distance;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use profbridge::instr::release::RELEASES;
use profbridge::{Error, Hint};
use std::ffi::OsStr;

/// Accepts any text, because a release can be written in several ways, and provides the names for shell completion.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolchainParser;

impl TypedValueParser for ToolchainParser {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(names().into_iter().map(PossibleValue::new)))
    }
}

/// Returns every release of the table, under all names of its toolchains.
pub(crate) fn names() -> Vec<String> {
    let llvm = RELEASES.iter().map(|row| format!("llvm-{}", row.llvm));
    let rustc = RELEASES.iter().filter_map(|row| row.rustc).flat_map(|(first, last)| first..=last);
    let rustc = rustc.map(|minor| format!("rustc-1.{minor}"));
    let swift = RELEASES.iter().flat_map(|row| row.swift).map(|version| format!("swift-{version}"));
    let xcode = RELEASES.iter().flat_map(|row| row.xcode).map(|version| format!("xcode-{version}"));
    llvm.chain(rustc).chain(swift).chain(xcode).collect()
}

/// Suggests a toolchain with almost the same name. The error of a version that is not in the table keeps its own hint.
pub(crate) fn suggest(error: Error, written: &str) -> Error {
    if matches!(error.hint(), Some(Hint::NameLlvmRelease { .. } | Hint::ListReleases)) {
        return error;
    }
    let written = written.to_ascii_lowercase();
    let without_dash = |name: &str| name.replace('-', "");
    let distance = |name: &String| match without_dash(name) == without_dash(&written) {
        true => 0,
        false => edit_distance(name.as_bytes(), written.as_bytes()),
    };
    let names = names();
    match names.iter().min_by_key(|name| distance(name)).filter(|name| distance(name) <= 2) {
        Some(name) => Error::usage(error.to_string())
            .with_hint(format!("use {name}, or run `profbridge info --versions` to list the known toolchains")),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use profbridge::instr::release;

    #[test]
    fn every_name_that_shells_complete_is_understood() {
        let names = names();
        assert!(names.len() > 80, "{}", names.len());
        for name in &names {
            assert!(release::parse(name).is_ok(), "{name}");
        }
        assert!(["llvm-14", "rustc-1.75", "swift-5.9"].iter().all(|name| names.iter().any(|known| known == name)));
    }

    #[test]
    fn a_name_that_is_almost_right_is_suggested() {
        let said = |written: &str| {
            let error = release::parse(written).unwrap_err();
            suggest(error, written).hint().unwrap().to_string()
        };
        assert!(said("llvm_16").contains("use llvm-16"), "{}", said("llvm_16"));
        assert!(said("RUSCT1.75").contains("use rustc-1.75"), "{}", said("RUSCT1.75"));
        assert!(said("lvm-14").contains("use llvm-14"), "{}", said("lvm-14"));
        assert!(said("rutsc-1.75").contains("use rustc-1.75"));
        for written in ["turbo", "rustc", "ndk-r26", "apple-clang-15", "rustc-1.150", "llvm-24", "llvm-2"] {
            assert!(!said(written).contains(", or run "), "{written}");
        }
    }
}
