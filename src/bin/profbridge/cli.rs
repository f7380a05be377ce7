//! The command line under the program's own name: one variant a command, one
//! file a command.

use clap::{CommandFactory, Parser, Subcommand};
use profbridge::Result;
use std::path::PathBuf;
use std::process::ExitCode;

/// The same for all commands under the program's own name.
const EXIT_CODES: &str =
    "Exit codes: 0 done; 1 could not, for the sake of files; 2 wrong use; 3 a gate or a check failed.
With --json a command that fails prints a document, too; docs/json.md describes all of them.";

/// Reads, merges, shows, converts and checks compiler profiles.
#[derive(Debug, Parser)]
#[command(name = "profbridge", version, about, max_term_width = 100, args_override_self = true)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Change a bound on what a hostile input can cost: inflated-bytes, inflate-ratio, stream-bytes,
    /// name-bytes, json-depth or context-depth
    #[arg(long = "limit", value_name = "NAME=NUMBER", global = true, help_heading = "Limits")]
    pub(crate) limits: Vec<String>,
    /// Say nothing but errors, and what was asked for
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

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
    Doctor(crate::doctor::DoctorArgs),
    Completions(crate::shell::CompletionsArgs),
    Man(crate::man::ManArgs),
}

impl Command {
    /// Runs the command; the exit code is the command's own on success.
    pub(crate) fn run(self) -> Result<ExitCode> {
        match self {
            Self::Merge(arguments) => crate::merge::run(&arguments),
            Self::Show(arguments) => crate::families::show(&arguments),
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
            Self::Doctor(arguments) => arguments.run(),
            Self::Completions(arguments) => arguments.run(Cli::command()),
            Self::Man(arguments) => arguments.run(Cli::command()),
        }
    }

    /// The files that were named as inputs.
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
            // These have no document, or no inputs.
            _ => Vec::new(),
        }
    }
}
