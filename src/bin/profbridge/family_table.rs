//! The commands of each family of profiles, in one table. A new family needs a row here and a driver in the library.

use crate::convert::{ConvertArgs, ConvertWork};
use crate::merge::{MergeArgs, MergeOption, MergeWork, refused_of_iprof, refused_of_samples, refused_of_stacks};
use crate::merge_document::MergeDocument;
use crate::merge_gates::Sum;
use crate::show::ShowArgs;
use crate::validate::refuse;
use profbridge::input::{Family, Input};
use profbridge::{Error, Result};
use std::process::ExitCode;

/// The operations on the files of one family.
struct Row {
    family: Family,
    /// The name of its files in messages about rejected options.
    short_words: &'static str,
    /// Shows a file.
    show: fn(&ShowArgs, &Input) -> Result<ExitCode>,
    /// Merges files of the family. The caller checks all thresholds, and writes the result.
    merge: for<'a> fn(&'a MergeArgs, &'a MergeWork<'a>, &mut MergeDocument) -> Result<Box<dyn Sum + 'a>>,
    /// The merge options that its files support. All others are rejected.
    takes: &'static [MergeOption],
    /// Returns the message for a rejected option, and a hint.
    refused: fn(MergeOption) -> (&'static str, &'static str),
    /// Rejects the options of `merge` that only this family supports.
    refuse_merge_options: fn(&MergeArgs, &str) -> Result<()>,
    /// Converts a file.
    convert: fn(&ConvertArgs, &ConvertWork<'_>, &mut MergeDocument) -> Result<()>,
}

/// All families.
const ROWS: [Row; Family::ALL.len()] = [
    Row {
        family: Family::SampleProf,
        short_words: "sample profiles",
        show: ShowArgs::show_samples,
        merge: MergeArgs::merge_samples,
        takes: &[
            MergeOption::Partial,
            MergeOption::Function,
            MergeOption::NoFunction,
            MergeOption::RemappingFile,
            MergeOption::Text,
            MergeOption::For,
        ],
        refused: refused_of_samples,
        refuse_merge_options: MergeArgs::refuse_sample_options,
        convert: ConvertArgs::convert_samples,
    },
    // An indexed profile can contain one, so it is merged and converted like instrumentation profiles.
    Row {
        family: Family::MemProf,
        short_words: "memory profiles",
        show: ShowArgs::show_memory,
        merge: MergeArgs::merge_instr,
        takes: &MergeOption::ALL,
        refused: nothing_refused,
        refuse_merge_options: MergeArgs::refuse_memory_options,
        convert: ConvertArgs::convert_instr,
    },
    Row {
        family: Family::Instr,
        short_words: "LLVM profiles",
        show: ShowArgs::show_instr,
        merge: MergeArgs::merge_instr,
        takes: &MergeOption::ALL,
        refused: nothing_refused,
        refuse_merge_options: MergeArgs::refuse_instr_options,
        convert: ConvertArgs::convert_instr,
    },
    Row {
        family: Family::Stacks,
        short_words: "stacks",
        show: ShowArgs::show_stacks,
        merge: MergeArgs::merge_stacks,
        takes: &[MergeOption::Partial],
        refused: refused_of_stacks,
        refuse_merge_options: MergeArgs::refuse_stack_options,
        convert: ConvertArgs::convert_stacks,
    },
    Row {
        family: Family::Iprof,
        short_words: "iprof files",
        show: ShowArgs::show_iprof,
        merge: MergeArgs::merge_iprof,
        takes: &[MergeOption::Partial],
        refused: refused_of_iprof,
        refuse_merge_options: MergeArgs::refuse_iprof_options,
        convert: ConvertArgs::convert_iprof,
    },
];

/// Returns a general message, for families that support all options.
fn nothing_refused(_: MergeOption) -> (&'static str, &'static str) {
    ("not for these inputs", "`profbridge merge --help` lists the options of each format")
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

/// Merges with the family's merge.
pub(crate) fn merge<'a>(
    family: Family,
    arguments: &'a MergeArgs,
    work: &'a MergeWork<'a>,
    document: &mut MergeDocument,
) -> Result<Box<dyn Sum + 'a>> {
    let row = row(family)?;
    let not_taken = MergeOption::ALL.into_iter().filter(|option| !row.takes.contains(option));
    for option in not_taken {
        let (meant, hint) = (row.refused)(option);
        refuse(&[(option.is_given(arguments), option.name())], meant, hint)?;
    }
    (row.merge)(arguments, work, document)
}

/// Rejects the options of `merge` that have no effect on the files of some families.
pub(crate) fn refuse_merge_options(arguments: &MergeArgs, of: impl Fn(Family) -> bool, meant: &str) -> Result<()> {
    ROWS.iter().filter(|row| of(row.family)).try_for_each(|row| (row.refuse_merge_options)(arguments, meant))
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
    row(family).map_or(family.words(), |row| row.short_words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_has_its_row() {
        for family in Family::ALL {
            assert_eq!(row(family).unwrap().family, family);
        }
    }
}
