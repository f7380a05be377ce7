//! Options without effect on the given inputs, and invalid inputs.

use profbridge::{Error, Result};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The options of the command line of this process.
static GIVEN: OnceLock<HashSet<String>> = OnceLock::new();

/// Stores which options the command line has. Default values do not count.
pub(crate) fn set_given(command: &clap::Command, matches: &clap::ArgMatches) {
    let is_given = |argument: &&clap::Arg| {
        matches.value_source(argument.get_id().as_str()) == Some(clap::parser::ValueSource::CommandLine)
    };
    let given = command.get_arguments().filter(is_given).filter_map(long_name).collect();
    // A process parses one command line.
    let _ = GIVEN.set(given);
}

fn long_name(argument: &clap::Arg) -> Option<String> {
    argument.get_long().map(|name| format!("--{name}"))
}

/// Returns true if the command line has the option, such as `--sparse`.
pub(crate) fn is_given(option: &str) -> bool {
    GIVEN.get().is_some_and(|given| given.contains(option))
}

/// Returns the options of a group of arguments.
pub(crate) fn options_of<A: clap::Args>() -> Vec<String> {
    A::augment_args(clap::Command::new("group")).get_arguments().filter_map(long_name).collect()
}

/// Rejects the first of some options that the command line has, because it has no effect here.
pub(crate) fn refuse(options: &[impl AsRef<str>], meant: &str, hint: &str) -> Result<()> {
    match options.iter().map(AsRef::as_ref).find(|option| is_given(option)) {
        Some(option) => Err(Error::usage(format!("{option} is {meant}")).with_hint(hint.to_string())),
        None => Ok(()),
    }
}

/// Rejects named files that do not exist, because they may not be opened.
pub(crate) fn require_existing(paths: &[PathBuf]) -> Result<()> {
    let open = |path: &PathBuf| std::fs::metadata(path).map_err(|error| Error::io("cannot open", error).in_file(path));
    paths.iter().try_for_each(|path| open(path).map(drop))
}

/// Rejects standard input in two places, because it can be read only once.
pub(crate) fn refuse_both_standard_input(first: &Path, second: &Path) -> Result<()> {
    if first == second && first.as_os_str() == "-" {
        return Err(Error::usage("`-` is given twice, but standard input can be read only once")
            .with_hint("pass a file for one of them"));
    }
    Ok(())
}
