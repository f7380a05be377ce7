//! Options that mean nothing to the input at hand.

use profbridge::{Error, Result};

/// Refuses the first option that was given and means nothing here.
pub(crate) fn refuse(given: &[(bool, &str)], meant: &str, hint: &str) -> Result<()> {
    match given.iter().find(|(given, _)| *given) {
        Some((_, option)) => Err(Error::usage(format!("{option} is {meant}")).with_hint(hint.to_string())),
        None => Ok(()),
    }
}
