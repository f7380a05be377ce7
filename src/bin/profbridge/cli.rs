//! The command line under the program's own name: one variant a command, one
//! file a command.

use clap::{Parser, Subcommand};
use profbridge::Result;
use std::ffi::OsString;
use std::process::ExitCode;

/// Reads, merges, shows, converts and checks compiler profiles.
#[derive(Debug, Parser)]
#[command(name = "profbridge", version, about, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Merge(Box<crate::merge::MergeArgs>),
    Convert(Box<crate::convert::ConvertArgs>),
    Check(crate::check::CheckArgs),
    Diff(crate::diff::DiffArgs),
    Repair(crate::repair::RepairArgs),
    Report(Box<crate::report::ReportArgs>),
    Flamegraph(Box<crate::flamegraph::FlamegraphArgs>),
    Info(crate::info::InfoArgs),
}

impl Command {
    /// Runs the command; the exit code is the command's own on success.
    pub(crate) fn run(self) -> Result<ExitCode> {
        match self {
            Self::Merge(arguments) => arguments.run(),
            Self::Convert(arguments) => arguments.run(),
            Self::Check(arguments) => arguments.run(),
            Self::Diff(arguments) => arguments.run(),
            Self::Repair(arguments) => arguments.run(),
            Self::Report(arguments) => arguments.run(),
            Self::Flamegraph(arguments) => arguments.run(),
            Self::Info(arguments) => arguments.run(),
        }
    }
}

/// Rewrites LLVM's spellings to ours: `-sparse` becomes `--sparse`.
///
/// Only arguments after the command are touched, up to `--`.
pub(crate) fn normalize(arguments: &mut [OsString]) {
    for argument in arguments.iter_mut().skip(2) {
        let Some(text) = argument.to_str() else { continue };
        if text == "--" {
            break;
        }
        let name = text.split('=').next().unwrap_or(text);
        if name.len() > 2 && name.starts_with('-') && !name.starts_with("--") {
            *argument = format!("-{text}").into();
        }
    }
}
