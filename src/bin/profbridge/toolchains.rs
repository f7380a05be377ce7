//! The toolchains that `--for` takes: what shells complete, and what was meant.

use crate::llvm_compat::edit_distance;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use profbridge::Error;
use profbridge::instr::release::RELEASES;
use std::ffi::OsStr;

/// Takes any text, since a release may be written in several ways, and tells shells the names.
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

/// Every release of the table, by each name that it is shipped under.
pub(crate) fn names() -> Vec<String> {
    let llvm = RELEASES.iter().map(|row| format!("llvm-{}", row.llvm));
    let rustc = RELEASES.iter().filter_map(|row| row.rustc).flat_map(|(first, last)| {
        // The newest row has no end: its first release stands for those to come.
        let last = if last == u32::MAX { first } else { last };
        (first..=last).map(|minor| format!("rustc-1.{minor}"))
    });
    let swift = RELEASES.iter().flat_map(|row| row.swift).map(|version| format!("swift-{version}"));
    let xcode = RELEASES.iter().flat_map(|row| row.xcode).map(|version| format!("xcode-{version}"));
    llvm.chain(rustc).chain(swift).chain(xcode).collect()
}

/// Says which toolchain was probably meant, where one is called almost so.
pub(crate) fn suggest(error: Error, written: &str) -> Error {
    let names = names();
    let distance = |name: &&String| edit_distance(name.as_bytes(), written.to_ascii_lowercase().as_bytes());
    match names.iter().min_by_key(distance).filter(|name| distance(name) <= 2) {
        Some(name) => error.with_hint(format!("did you mean {name}? `profbridge info --versions` lists all")),
        None => error.with_hint("`profbridge info --versions` lists all"),
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
        assert!(said("lvm-14").contains("did you mean llvm-14?"), "{}", said("lvm-14"));
        assert!(said("rutsc-1.75").contains("did you mean rustc-1.75?"));
        assert!(!said("turbo").contains("did you mean"));
    }
}
