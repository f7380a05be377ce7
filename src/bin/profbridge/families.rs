//! What the commands do with each family of profiles: one table. A new family is a row of it, beside
//! its driver in the library.

use crate::convert::{ConvertArgs, ConvertWork};
use crate::merge::{MergeArgs, MergeWork};
use crate::merge_document::MergeDocument;
use crate::show::ShowArgs;
use profbridge::input::{Family, Input};
use profbridge::{Error, Result};
use std::process::ExitCode;

/// What there is to do with the files of one family.
struct Row {
    family: Family,
    /// What its files are called where an option is not for them.
    short_words: &'static str,
    /// Shows a file.
    show: fn(&ShowArgs, &Input) -> Result<ExitCode>,
    /// Merges files that it is the plan's family of.
    merge: fn(&MergeArgs, &MergeWork<'_>, &mut MergeDocument) -> Result<()>,
    /// Refuses the options of `merge` that mean something to its files alone.
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
        refuse_merge_options: MergeArgs::refuse_sample_options,
        convert: ConvertArgs::convert_samples,
    },
    // An indexed profile may hold one: its merge and its conversion are those of instrumentation profiles.
    Row {
        family: Family::MemProf,
        short_words: "memory profiles",
        show: ShowArgs::show_memory,
        merge: MergeArgs::merge_instr,
        refuse_merge_options: MergeArgs::refuse_memory_options,
        convert: ConvertArgs::convert_instr,
    },
    Row {
        family: Family::Instr,
        short_words: "LLVM profiles",
        show: ShowArgs::show_instr,
        merge: MergeArgs::merge_instr,
        refuse_merge_options: MergeArgs::refuse_instr_options,
        convert: ConvertArgs::convert_instr,
    },
    Row {
        family: Family::Stacks,
        short_words: "stacks",
        show: ShowArgs::show_stacks,
        merge: MergeArgs::merge_stacks,
        refuse_merge_options: MergeArgs::refuse_stack_options,
        convert: ConvertArgs::convert_stacks,
    },
    Row {
        family: Family::Iprof,
        short_words: "iprof files",
        show: ShowArgs::show_iprof,
        merge: MergeArgs::merge_iprof,
        refuse_merge_options: MergeArgs::refuse_iprof_options,
        convert: ConvertArgs::convert_iprof,
    },
];

fn row(family: Family) -> Result<&'static Row> {
    let found = ROWS.iter().find(|row| row.family == family);
    found.ok_or_else(|| Error::usage(format!("{} have no row in the program's table", family.words())))
}

/// Runs `show`.
pub(crate) fn show(arguments: &ShowArgs) -> Result<ExitCode> {
    let file = arguments.file()?;
    (row(arguments.family(&file)?)?.show)(arguments, &file)
}

/// Merges by the family's merge.
pub(crate) fn merge(
    family: Family,
    arguments: &MergeArgs,
    work: &MergeWork<'_>,
    document: &mut MergeDocument,
) -> Result<()> {
    (row(family)?.merge)(arguments, work, document)
}

/// Refuses the options of `merge` for the files of some families, which would be without effect.
pub(crate) fn refuse_merge_options(arguments: &MergeArgs, of: impl Fn(Family) -> bool, meant: &str) -> Result<()> {
    ROWS.iter().filter(|row| of(row.family)).try_for_each(|row| (row.refuse_merge_options)(arguments, meant))
}

/// Converts by the family's conversion.
pub(crate) fn convert(
    family: Family,
    arguments: &ConvertArgs,
    work: &ConvertWork<'_>,
    document: &mut MergeDocument,
) -> Result<()> {
    (row(family)?.convert)(arguments, work, document)
}

/// What files of a family are called where an option is not for them.
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
