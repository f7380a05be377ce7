//! Hints for options that belong to another command, and for files that a command does not take.

use crate::cli::Cli;
use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Adds a hint with the commands that have an option which this one does not know. If no command has it and no option
/// has a similar name, there is no hint: users rarely mean `-- --sparse`, a file of that name.
///
/// For a further file, the hint has the commands that take several.
pub(crate) fn advise(mut error: Error, command: &str) -> Error {
    if error.kind() != ErrorKind::UnknownArgument || error.get(ContextKind::SuggestedArg).is_some() {
        return error;
    }
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return error };
    if !option.starts_with('-') && matches!(command, "show" | "fit" | "order" | "overlap" | "diff") {
        let advice = "`profbridge merge A B -o OUT` makes one profile of several, `profbridge diff A B` compares two";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
        return error;
    }
    let commands = commands_with(option);
    if commands.is_empty() {
        error.remove(ContextKind::Suggested);
        return error;
    }
    let advice = vec![format!("{option} is an option of {}", commands.join(", ")).into()];
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(advice));
    error
}

fn commands_with(option: &str) -> Vec<String> {
    let Some(name) = option.strip_prefix("--") else { return Vec::new() };
    let program = Cli::whole();
    let has_it = |command: &&clap::Command| command.get_arguments().any(|argument| argument.get_long() == Some(name));
    program.get_subcommands().filter(has_it).map(|command| format!("`profbridge {}`", command.get_name())).collect()
}
