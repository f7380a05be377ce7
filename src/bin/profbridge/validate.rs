//! Options without effect on the given inputs, and invalid inputs.

use profbridge::{Error, Result};
use std::path::Path;

/// Rejects the first given option that has no effect here.
pub(crate) fn refuse(given: &[(bool, &str)], meant: &str, hint: &str) -> Result<()> {
    match given.iter().find(|(given, _)| *given) {
        Some((_, option)) => Err(Error::usage(format!("{option} is {meant}")).with_hint(hint.to_string())),
        None => Ok(()),
    }
}

/// Rejects standard input in two places, because it can be read only once.
pub(crate) fn refuse_both_standard_input(first: &Path, second: &Path) -> Result<()> {
    if first == second && first.as_os_str() == "-" {
        return Err(Error::usage("`-` is given twice, but standard input can be read only once")
            .with_hint("pass a file for one of them"));
    }
    Ok(())
}
