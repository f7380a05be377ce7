//! Options that mean nothing to the input at hand, and inputs that cannot be.

use profbridge::{Error, Result};
use std::path::Path;

/// Refuses the first option that was given and means nothing here.
pub(crate) fn refuse(given: &[(bool, &str)], meant: &str, hint: &str) -> Result<()> {
    match given.iter().find(|(given, _)| *given) {
        Some((_, option)) => Err(Error::usage(format!("{option} is {meant}")).with_hint(hint.to_string())),
        None => Ok(()),
    }
}

/// Refuses standard input in two places: its bytes come once.
pub(crate) fn refuse_both_standard_input(first: &Path, second: &Path) -> Result<()> {
    if first == second && first.as_os_str() == "-" {
        return Err(Error::usage("standard input cannot be both profiles").with_hint("name a file for one of them"));
    }
    Ok(())
}
