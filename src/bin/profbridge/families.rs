//! What the commands do with each family of profiles: one table. A new family is a row of it, beside
//! its driver in the library.

use crate::show::ShowArgs;
use profbridge::input::{Family, Input};
use profbridge::{Error, Result};
use std::process::ExitCode;

/// What there is to do with the files of one family.
struct Row {
    family: Family,
    /// Shows a file.
    show: fn(&ShowArgs, &Input) -> Result<ExitCode>,
}

/// All families.
const ROWS: [Row; Family::ALL.len()] = [
    Row { family: Family::Instr, show: ShowArgs::show_instr },
    Row { family: Family::SampleProf, show: ShowArgs::show_samples },
    Row { family: Family::MemProf, show: ShowArgs::show_memory },
    Row { family: Family::Iprof, show: ShowArgs::show_iprof },
    Row { family: Family::Stacks, show: ShowArgs::show_stacks },
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
