//! The command line in profbridge mode, with one variant and one file per command.

use clap::{ArgMatches, Args, FromArgMatches, Subcommand};
use profbridge::Result;
use profbridge::compression::Compression;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of commands that name an output file.
const OUTPUTS: [&str; 3] = ["output", "write_remapping", "truth"];

/// Returns the files that a command line names as outputs.
fn outputs(matches: &ArgMatches) -> Vec<PathBuf> {
    let Some((_, command)) = matches.subcommand() else { return Vec::new() };
    OUTPUTS.iter().filter_map(|name| command.try_get_one::<PathBuf>(name).ok().flatten().cloned()).collect()
}

/// The exit codes, equal for all commands in profbridge mode.
const EXIT_CODES: &str =
    "Exit codes: 0 done; 1 could not, for the sake of files; 2 wrong use; 3 a gate or a check failed.
With --json a command that fails prints a document, too; docs/reference/json.md describes all of them.";

/// A parsed command line.
#[derive(Debug)]
pub(crate) struct Cli {
    pub(crate) command: Command,
    pub(crate) program: ProgramArgs,
    /// The files that the command writes.
    outputs: Vec<PathBuf>,
}

impl Cli {
    /// Creates all commands with all their arguments.
    pub(crate) fn whole() -> clap::Command {
        Self::with(Command::augment_subcommands)
    }

    /// Creates the commands that a command line needs: if its first word is a command, only that one. Creating the
    /// arguments of all of them takes longer than a merge of small files.
    pub(crate) fn needed(arguments: &[OsString]) -> clap::Command {
        let named = |name: &OsString| COMMANDS.iter().find(|(command, _)| name == command);
        match arguments.get(1).and_then(named) {
            Some((name, augment)) => Self::with(|program| program.subcommand(augment(clap::Command::new(*name)))),
            None => Self::whole(),
        }
    }

    fn with(add_commands: impl FnOnce(clap::Command) -> clap::Command) -> clap::Command {
        let program =
            add_commands(clap::Command::new("profbridge").subcommand_required(true).arg_required_else_help(true));
        // The display order of options depends on the number of commands.
        ProgramArgs::augment_args(program.next_display_order(COMMANDS.len()))
    }

    /// Parses a command line.
    ///
    /// # Errors
    ///
    /// Usage errors, and output that replaces a run, such as help.
    pub(crate) fn parse(program: clap::Command, arguments: Vec<OsString>) -> std::result::Result<Self, clap::Error> {
        let mut matches = program.try_get_matches_from(arguments)?;
        let outputs = outputs(&matches);
        let command = Command::from_arg_matches_mut(&mut matches)?;
        Ok(Self { command, program: ProgramArgs::from_arg_matches_mut(&mut matches)?, outputs })
    }

    /// Runs the command.
    ///
    /// # Errors
    ///
    /// A usage error, before any input is read, for an output whose file extension selects a compression that cannot be
    /// written.
    pub(crate) fn run(self) -> Result<ExitCode> {
        self.outputs.iter().try_for_each(|output| Compression::of_output(output).map(drop))?;
        self.command.run()
    }
}

/// Reads, merges, shows, converts and checks compiler profiles.
#[derive(Debug, Args)]
#[command(version, about, max_term_width = 100, args_override_self = true)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct ProgramArgs {
    /// Change a bound on what a hostile input can cost: inflated-bytes, inflate-ratio, stream-bytes,
    /// window-bytes, name-bytes, json-depth or context-depth
    #[arg(long = "limit", value_name = "NAME=NUMBER", global = true, help_heading = "Limits")]
    pub(crate) limits: Vec<String>,
    /// Say nothing but errors, and what was asked for
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

/// Adds the arguments of a command to it.
type Augment = fn(clap::Command) -> clap::Command;

/// The variants of [`Command`], each available separately.
const COMMANDS: [(&str, Augment); 16] = [
    ("merge", crate::merge::MergeArgs::augment_args),
    ("show", crate::show::ShowArgs::augment_args),
    ("overlap", crate::overlap::OverlapArgs::augment_args),
    ("order", crate::order::OrderArgs::augment_args),
    ("convert", crate::convert::ConvertArgs::augment_args),
    ("check", crate::check::CheckArgs::augment_args),
    ("diff", crate::diff::DiffArgs::augment_args),
    ("fit", crate::fit::FitArgs::augment_args),
    ("repair", crate::repair::RepairArgs::augment_args),
    ("report", crate::report::ReportArgs::augment_args),
    ("flamegraph", crate::flamegraph::FlamegraphArgs::augment_args),
    ("info", crate::info::InfoArgs::augment_args),
    ("generate", crate::generate::GenerateArgs::augment_args),
    ("doctor", crate::doctor::DoctorArgs::augment_args),
    ("completions", crate::shell::CompletionsArgs::augment_args),
    ("man", crate::man::ManArgs::augment_args),
];

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Merge(Box<crate::merge::MergeArgs>),
    Show(Box<crate::show::ShowArgs>),
    Overlap(crate::overlap::OverlapArgs),
    Order(crate::order::OrderArgs),
    Convert(Box<crate::convert::ConvertArgs>),
    Check(crate::check::CheckArgs),
    Diff(crate::diff::DiffArgs),
    Fit(Box<crate::fit::FitArgs>),
    Repair(crate::repair::RepairArgs),
    Report(Box<crate::report::ReportArgs>),
    Flamegraph(Box<crate::flamegraph::FlamegraphArgs>),
    Info(crate::info::InfoArgs),
    Generate(Box<crate::generate::GenerateArgs>),
    Doctor(crate::doctor::DoctorArgs),
    Completions(crate::shell::CompletionsArgs),
    Man(crate::man::ManArgs),
}

impl Command {
    /// Runs the command. On success the exit code is that of the command.
    pub(crate) fn run(self) -> Result<ExitCode> {
        match self {
            Self::Merge(arguments) => crate::merge::run(&arguments),
            Self::Show(arguments) => crate::family_table::show(&arguments),
            Self::Overlap(arguments) => arguments.run(),
            Self::Order(arguments) => arguments.run(),
            Self::Convert(arguments) => crate::convert::run(&arguments),
            Self::Check(arguments) => arguments.run(),
            Self::Diff(arguments) => arguments.run(),
            Self::Fit(arguments) => arguments.run(),
            Self::Repair(arguments) => arguments.run(),
            Self::Report(arguments) => arguments.run(),
            Self::Flamegraph(arguments) => arguments.run(),
            Self::Info(arguments) => arguments.run(),
            Self::Generate(arguments) => arguments.run(),
            Self::Doctor(arguments) => arguments.run(),
            Self::Completions(arguments) => arguments.run(Cli::whole()),
            Self::Man(arguments) => arguments.run(Cli::whole()),
        }
    }

    /// Returns the given input files.
    pub(crate) fn inputs(&self) -> Vec<PathBuf> {
        match self {
            Self::Merge(arguments) => arguments.named(),
            Self::Show(arguments) => arguments.named(),
            Self::Overlap(arguments) => arguments.named(),
            Self::Order(arguments) => arguments.named(),
            Self::Convert(arguments) => arguments.named(),
            Self::Check(arguments) => arguments.named(),
            Self::Diff(arguments) => arguments.named(),
            Self::Fit(arguments) => arguments.named(),
            Self::Repair(arguments) => arguments.named(),
            Self::Info(arguments) => arguments.named(),
            // These have no document or no inputs.
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_alone_is_as_among_the_others() {
        let whole = Cli::whole();
        let names: Vec<&str> = whole.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(names, COMMANDS.map(|(name, _)| name));
        for name in names {
            let mut help = ["profbridge", name, "--help"].map(OsString::from).to_vec();
            let printed = |program| Cli::parse(program, help.clone()).unwrap_err().to_string();
            assert_eq!(printed(Cli::needed(&help)), printed(Cli::whole()), "{name}");
            help[2] = "--no-such-option".into();
            let printed = |program| Cli::parse(program, help.clone()).unwrap_err().to_string();
            assert_eq!(printed(Cli::needed(&help)), printed(Cli::whole()), "{name}");
        }
    }

    #[test]
    fn an_unknown_command_lists_all_commands() {
        for words in
            [&["profbridge"][..], &["profbridge", "--help"], &["profbridge", "help", "show"], &["profbridge", "marge"]]
        {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert_eq!(Cli::needed(&words).get_subcommands().count(), COMMANDS.len(), "{words:?}");
        }
    }
}
