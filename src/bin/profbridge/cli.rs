//! The command line in profbridge mode, with one variant and one file per command.

use crate::validate::set_given;
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
    let path = |name: &&str| command.try_get_one::<PathBuf>(name).ok().flatten();
    OUTPUTS.iter().filter_map(path).cloned().collect()
}

/// The text after the options in the help of the program.
const AFTER_HELP: &str = "Examples:
  profbridge merge *.profraw -o app.profdata
  profbridge merge *.profraw -o app.profdata --for llvm-16
  profbridge show app.profdata --topn=10

Exit codes:
  0 success, 1 failure, 2 usage error, 3 a threshold or check failed";

/// The commands in the help of the program, by purpose.
const PURPOSES: [(&str, &[&str]); 4] = [
    ("Create profiles", &["merge", "convert", "repair", "order", "generate"]),
    ("Inspect profiles", &["info", "show", "check", "report", "flamegraph"]),
    ("Compare profiles", &["overlap", "diff", "fit"]),
    ("Set up", &["doctor", "interop", "completions", "man", "llvm-profdata"]),
];

/// Returns the help of the program, with the commands grouped by purpose.
fn help_template(program: &clap::Command) -> String {
    let mut template = "{about}\n\n{usage-heading} {usage}\n".to_string();
    for (purpose, commands) in PURPOSES {
        template += &format!("\n{purpose}:\n");
        for name in commands {
            let about = program.find_subcommand(name).and_then(clap::Command::get_about);
            // This command is parsed elsewhere, with the rules of llvm-profdata.
            let about = about.map_or("Accept the command line of llvm-profdata".to_string(), ToString::to_string);
            template += &format!("  {name:<13}  {about}\n");
        }
    }
    template + "\nOptions:\n{options}{after-help}"
}

/// Options that few users need, which the help for `-h` does not list.
const RARE: [&str; 13] = [
    "null",
    "allow_duplicates",
    "format_version",
    "write_prev_version",
    "raw_version",
    "keep_vtable_symbols",
    "temporal_profile_trace_reservoir_size",
    "temporal_profile_max_trace_length",
    "num_threads",
    "salvage",
    "same_program",
    "remapping_file",
    "allow_empty",
];
/// The number of examples in the help for `-h`.
const SHORT_EXAMPLES: usize = 3;

/// Shortens the help for `-h`: hides rare options, the options with a heading, and all text after the options except
/// some examples.
fn with_short_help(command: clap::Command) -> clap::Command {
    if command.get_arguments().all(|argument| argument.get_help_heading().is_none()) {
        return command;
    }
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let examples = help.split("\n\n").find(|paragraph| paragraph.starts_with("Examples:")).unwrap_or_default();
    let examples: Vec<&str> = examples.lines().take(SHORT_EXAMPLES + 1).collect();
    let short = format!("{}\n\nRun with --help for all options.", examples.join("\n"));
    command
        .mut_args(|argument| {
            let is_hidden = argument.get_help_heading().is_some() || RARE.contains(&argument.get_id().as_str());
            if is_hidden { argument.hide_short_help(true) } else { argument }
        })
        .after_help(short)
        .after_long_help(help)
}

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
        let program = Self::with(|program| Command::augment_subcommands(program).mut_subcommands(with_short_help));
        let template = help_template(&program);
        program.help_template(template)
    }

    /// Creates the commands that a command line needs: if its first word is a command, only that one. Creating the
    /// arguments of all of them takes longer than a merge of small files.
    pub(crate) fn needed(arguments: &[OsString]) -> clap::Command {
        let named = |name: &OsString| COMMANDS.iter().find(|(command, _)| name == command);
        match arguments.get(1).and_then(named) {
            Some((name, augment)) => {
                Self::with(|program| program.subcommand(with_short_help(augment(clap::Command::new(*name)))))
            }
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
    pub(crate) fn parse(
        mut program: clap::Command,
        arguments: Vec<OsString>,
    ) -> std::result::Result<Self, clap::Error> {
        let mut matches = program.try_get_matches_from_mut(arguments)?;
        if let Some((name, matches)) = matches.subcommand()
            && let Some(command) = program.find_subcommand(name)
        {
            set_given(command, matches);
        }
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

/// Read, merge, convert and inspect compiler profiles
#[derive(Debug, Args)]
#[command(version, about = "Read, merge, convert and inspect compiler profiles", max_term_width = 100)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ProgramArgs {
    /// Change a resource limit for untrusted input: inflated-bytes, inflate-ratio, stream-bytes, window-bytes,
    /// name-bytes, json-depth or context-depth
    #[arg(long = "limit", value_name = "NAME=NUMBER", global = true, help_heading = "Limits")]
    pub(crate) limits: Vec<String>,
    /// Print only errors and the requested output
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

/// Adds the arguments of a command to it.
type Augment = fn(clap::Command) -> clap::Command;

/// The variants of [`Command`], each available separately.
const COMMANDS: [(&str, Augment); 17] = [
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
    ("interop", crate::interop::InteropArgs::augment_args),
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
    Interop(crate::interop::InteropArgs),
    Completions(crate::shell::CompletionsArgs),
    Man(crate::man::ManArgs),
}

impl Command {
    /// Runs the command. On success the exit code is that of the command.
    pub(crate) fn run(self) -> Result<ExitCode> {
        match self {
            Self::Merge(arguments) => crate::merge::run(*arguments),
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
            Self::Interop(arguments) => arguments.run(),
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
    fn the_help_of_the_program_lists_every_command_once() {
        let mut listed: Vec<&str> = PURPOSES.iter().flat_map(|(_, commands)| commands.iter().copied()).collect();
        let mut expected: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).chain(["llvm-profdata"]).collect();
        listed.sort_unstable();
        expected.sort_unstable();
        assert_eq!(listed, expected);
        assert!(Cli::whole().render_help().to_string().lines().count() <= 45);
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
