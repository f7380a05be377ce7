//! `--limit`: the bounds on what an input may make the program do.

use profbridge::{Error, Limits, Result, families, iprof};
use std::sync::OnceLock;

/// Set once by `main`, before the command runs.
static CHOSEN: OnceLock<Limits> = OnceLock::new();

/// The limits of this run.
pub(crate) fn chosen() -> Limits {
    CHOSEN.get().copied().unwrap_or_default()
}

/// How LLVM profiles are read in this run.
pub(crate) fn read_options() -> families::ReadOptions {
    let mut options = families::ReadOptions::default();
    options.limits = chosen();
    options
}

/// How iprof files are read in this run.
pub(crate) fn iprof_options() -> iprof::ReadOptions {
    let mut options = iprof::ReadOptions::default();
    options.limits = chosen();
    options
}

/// Takes over the values of `--limit`.
///
/// # Errors
///
/// Usage for what is no `NAME=VALUE`.
pub(crate) fn choose(arguments: &[String]) -> Result<()> {
    let mut limits = Limits::default();
    for argument in arguments {
        let parsed = argument.split_once('=').and_then(|(name, value)| Some((name, value.parse::<u64>().ok()?)));
        let Some((name, value)) = parsed else {
            return Err(Error::usage(format!("--limit takes NAME=NUMBER, not {argument:?}"))
                .with_hint(format!("limits: {}", Limits::NAMES.join(", "))));
        };
        limits.set(name, value)?;
    }
    CHOSEN.set(limits).map_err(|_| Error::usage("limits are chosen once"))
}
