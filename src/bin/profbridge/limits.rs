//! `--limit`: limits on the resources that an input can use.

use profbridge::{Error, Limits, Result, families, iprof};
use std::sync::OnceLock;

/// Set once by `main`, before the command runs.
static CHOSEN: OnceLock<Limits> = OnceLock::new();

/// Returns the limits of this run.
pub(crate) fn chosen() -> Limits {
    CHOSEN.get().copied().unwrap_or_default()
}

/// Returns the options for reading LLVM profiles in this run.
pub(crate) fn read_options() -> families::ReadOptions {
    let mut options = families::ReadOptions::default();
    options.limits = chosen();
    options
}

/// Returns the options for reading iprof files in this run.
pub(crate) fn iprof_options() -> iprof::ReadOptions {
    let mut options = iprof::ReadOptions::default();
    options.limits = chosen();
    options
}

/// Sets the limits from the values of `--limit`.
///
/// # Errors
///
/// A usage error for a value that is not `NAME=VALUE`.
pub(crate) fn choose(arguments: &[String]) -> Result<()> {
    let mut limits = Limits::default();
    for argument in arguments {
        let parsed = argument.split_once('=').and_then(|(name, value)| Some((name, value.parse::<u64>().ok()?)));
        let Some((name, value)) = parsed else {
            return Err(Error::usage(format!("expected --limit NAME=NUMBER, found {argument:?}"))
                .with_hint(format!("limits: {}", Limits::NAMES.join(", "))));
        };
        limits.set(name, value)?;
    }
    CHOSEN.set(limits).map_err(|_| Error::usage("the limits are already set"))
}
