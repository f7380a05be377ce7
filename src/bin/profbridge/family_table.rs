//! The commands of each family of profiles, in one table. A new family needs a row here and a driver in the library.

use crate::convert::{ConvertArgs, ConvertWork};
use crate::merge::OPTIONS;
use crate::merge_document::MergeDocument;
use crate::show::ShowArgs;
use crate::validate::refuse;
use profbridge::input::{Family, Input};
use profbridge::{Error, Result};
use std::process::ExitCode;

/// The operations on the files of one family.
struct Row {
    family: Family,
    /// Shows a file.
    show: fn(&ShowArgs, &Input) -> Result<ExitCode>,
    /// The merge options that its files support. All others are rejected.
    takes: &'static [&'static str],
    /// Returns the message for a rejected option, and a hint.
    refused: fn(&str) -> (&'static str, &'static str),
    /// Converts a file.
    convert: fn(&ConvertArgs, &ConvertWork<'_>, &mut MergeDocument) -> Result<()>,
}

/// All families.
const ROWS: [Row; Family::ALL.len()] = [
    Row {
        family: Family::SampleProf,
        show: ShowArgs::show_samples,
        takes: &["--partial", "--function", "--no-function", "--remapping-file", "--text", "--for"],
        refused: refused_of_samples,
        convert: ConvertArgs::convert_samples,
    },
    // An indexed profile can contain one, so it is merged and converted like instrumentation profiles.
    Row {
        family: Family::MemProf,
        show: ShowArgs::show_memory,
        takes: &OPTIONS,
        refused: nothing_refused,
        convert: ConvertArgs::convert_instr,
    },
    Row {
        family: Family::Instr,
        show: ShowArgs::show_instr,
        takes: &OPTIONS,
        refused: nothing_refused,
        convert: ConvertArgs::convert_instr,
    },
    Row {
        family: Family::Stacks,
        show: ShowArgs::show_stacks,
        takes: &["--partial"],
        refused: refused_of_stacks,
        convert: ConvertArgs::convert_stacks,
    },
    Row {
        family: Family::Iprof,
        show: ShowArgs::show_iprof,
        takes: &["--partial"],
        refused: refused_of_iprof,
        convert: ConvertArgs::convert_iprof,
    },
];

/// Returns a general message, for families that support all options.
fn nothing_refused(_: &str) -> (&'static str, &'static str) {
    ("not for these inputs", "`profbridge merge --help` lists the options of each format")
}

/// Returns the message for options that sample profiles do not support.
fn refused_of_samples(_: &str) -> (&'static str, &'static str) {
    ("not for sample profiles", "`profbridge merge --help` lists the options of sample profiles")
}

/// Returns the message for options that stacks do not support.
fn refused_of_stacks(_: &str) -> (&'static str, &'static str) {
    ("not for stacks", "use weights, thresholds and --failure-mode")
}

/// Returns the message for options that select records or versions of LLVM profiles, because they have no effect on
/// iprof files.
fn refused_of_iprof(option: &str) -> (&'static str, &'static str) {
    let hint = match option {
        "--function" => "use `profbridge convert --only` to keep packages, classes or methods",
        "--no-function" => "use `profbridge convert --exclude` to drop packages, classes or methods",
        "--remapping-file" => "omit it: names in iprof files cannot be changed",
        "--sparse" => "use `profbridge convert --prune` to drop methods and types that no entry uses",
        "--show" => "use `profbridge show` to show the output",
        "--for" | "--format-version" | "--write-prev-version" => {
            "every GraalVM with iprof support reads the output; use `profbridge convert --to-version` to write another \
             version"
        }
        _ => "`profbridge merge --help` lists the options of iprof files",
    };
    ("for LLVM profiles, not for iprof files", hint)
}

fn row(family: Family) -> Result<&'static Row> {
    let found = ROWS.iter().find(|row| row.family == family);
    found.ok_or_else(|| Error::usage(format!("{} are not supported by this command", family.words())))
}

/// Runs `show`.
pub(crate) fn show(arguments: &ShowArgs) -> Result<ExitCode> {
    show_input(arguments, &arguments.file()?)
}

/// Runs `show` for an opened input.
pub(crate) fn show_input(arguments: &ShowArgs, file: &Input) -> Result<ExitCode> {
    (row(arguments.family(file)?)?.show)(arguments, file)
}

/// Returns the message for an option that a family does not support, and a hint.
pub(crate) fn refused(family: Family, option: &str) -> (&'static str, &'static str) {
    row(family).map_or(nothing_refused(option), |row| (row.refused)(option))
}

/// Rejects the options of `merge` that a family does not support.
pub(crate) fn refuse_merge_options(family: Family) -> Result<()> {
    let row = row(family)?;
    for option in OPTIONS.into_iter().filter(|option| !row.takes.contains(option)) {
        let (meant, hint) = (row.refused)(option);
        refuse(&[option], meant, hint)?;
    }
    Ok(())
}

/// Converts with the family's conversion.
pub(crate) fn convert(
    family: Family,
    arguments: &ConvertArgs,
    work: &ConvertWork<'_>,
    document: &mut MergeDocument,
) -> Result<()> {
    (row(family)?.convert)(arguments, work, document)
}

/// Returns the name of a family's files in messages about rejected options.
pub(crate) fn short_words(family: Family) -> &'static str {
    match family {
        Family::SampleProf => "sample profiles",
        Family::MemProf => "memory profiles",
        Family::Instr => "LLVM profiles",
        Family::Stacks => "stacks",
        other => other.words(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_has_its_row() {
        for family in Family::ALL.iter().copied() {
            assert_eq!(row(family).unwrap().family, family);
        }
    }
}
