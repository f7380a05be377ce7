//! `man`: the manual pages, one for the program, one for each command, and one for llvm-profdata mode.

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, italic, roman};
use profbridge::{Error, Result};
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// The date of the last change, for the title lines.
const DATE: &str = "2026-11-27";

const EXIT_STATUS: &str = "0 for success; 1 for failure: a file cannot be read or written, or there is no result; 2 \
    for usage errors; 3 if a threshold or check failed.";

const ENVIRONMENT: [(&str, &str); 2] = [
    ("PROFBRIDGE_FOR", "The default of --for: the target toolchain, such as llvm-16, rustc-1.75 or xcode-16.3."),
    ("NO_COLOR", "Disables colors if it is set and not empty."),
];

const FILES: [(&str, &str); 6] = [
    ("*.profraw, *.profdata, *.proftext", "LLVM instrumentation profiles: raw, indexed, text."),
    ("*.afdo", "LLVM sample profiles."),
    ("*.memprofraw, *.memprofyaml", "LLVM memory profiles."),
    ("*.iprof", "Profiles of GraalVM's native-image."),
    ("*.jfr, *.collapsed, *.pprof, perf.data", "Sampled stacks."),
    ("*.gz, *.zst", "Compressed files of any of these formats."),
];

/// Write the manual pages
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  profbridge man /usr/local/share/man/man1
  profbridge man . && man ./profbridge-merge.1")]
pub(crate) struct ManArgs {
    /// An existing directory
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl ManArgs {
    /// Writes the pages of a command line.
    pub(crate) fn run(self, program: Command) -> Result<ExitCode> {
        let mut program = program.disable_help_subcommand(true);
        program.build();
        let mut pages: Vec<Command> = program.get_subcommands().filter(|one| !one.is_hide_set()).cloned().collect();
        pages.push(drop_in());
        let names: Vec<String> = pages.iter().map(page_name).collect();
        self.write(program.about("Merge, convert and show compiler profiles"), &names)?;
        pages.into_iter().try_for_each(|page| self.write(page, &["profbridge".to_string()]))?;
        Ok(ExitCode::SUCCESS)
    }

    fn write(&self, command: Command, see_also: &[String]) -> Result<()> {
        let path = self.folder.join(format!("{}.1", page_name(&command)));
        let text = page(command, see_also).map_err(|source| Error::io("cannot write the page", source))?;
        profbridge::input::output::replace(&path, &text)
            .map_err(|error: Error| error.with_hint("create the directory first"))
    }
}

/// Returns `profbridge-merge` for `merge`.
fn page_name(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_string()
}

/// Describes llvm-profdata mode. Its page does not have the name of LLVM's own page, so that both can be installed.
fn drop_in() -> Command {
    Command::new("llvm-profdata")
        .display_name("profbridge-llvm-profdata")
        .about("Drop-in replacement for llvm-profdata")
        .long_about(
            "A link to profbridge with the name llvm-profdata or llvm-profdata-16 accepts the command lines of that \
            tool, and prints and writes the same bytes with the same exit codes. The options are those of \
            llvm-profdata 22, with one dash or two.\n\n\
            profbridge also reads files that llvm-profdata 22 rejects only because of their version. The output then \
            targets the releases that wrote them. A number in the link's name selects the release whose bytes are \
            written. If PROFBRIDGE_FOR is exact, all files are rejected that llvm-profdata 22 rejects.\n\n\
            Without a link, use profbridge llvm-profdata.",
        )
        .override_usage("llvm-profdata <merge|show|overlap|order> [OPTIONS]")
        .disable_help_flag(true)
        .after_help(
            "Exit code: 0 for success and 1 for failure, like llvm-profdata.\n\n\
            Examples:\n  \
            ln -s \"$(command -v profbridge)\" bin/llvm-profdata\n  \
            PATH=\"$PWD/bin:$PATH\" llvm-profdata merge -o app.profdata *.profraw\n  \
            PROFBRIDGE_FOR=llvm-19 llvm-profdata merge -o app.profdata *.profraw\n  \
            LLVM_PROFDATA=\"$(command -v profbridge)\" cargo llvm-cov",
        )
}

/// Formats the page of a command, whose text after the options becomes sections.
fn page(mut command: Command, see_also: &[String]) -> io::Result<Vec<u8>> {
    let usage = command.render_usage().to_string();
    let after = command.get_after_long_help().or_else(|| command.get_after_help()).map(ToString::to_string);
    let (mut exit_status, mut examples) = (EXIT_STATUS.to_string(), String::new());
    let mut description = vec![command.get_long_about().or_else(|| command.get_about()).map(ToString::to_string)];
    for paragraph in after.unwrap_or_default().split("\n\n") {
        if let Some(lines) = paragraph.strip_prefix("Examples:\n") {
            examples = lines.to_string();
        } else if let Some(codes) = paragraph.strip_prefix("Exit code:") {
            exit_status = codes.trim().to_string();
        } else if !paragraph.starts_with("Exit codes:") {
            description.push(Some(paragraph.to_string()));
        }
    }
    let description: Vec<String> = description.into_iter().flatten().collect();
    let command = command
        .override_usage(usage.trim_start_matches("Usage:").trim().to_string())
        .long_about(description.join("\n\n"))
        .mut_args(|argument| {
            // An empty line is an error in a page.
            let help = argument.get_long_help().map(|help| help.to_string().replace("\n\n", "\n"));
            // clap_mangen leaves out aliases; these are the words of the help.
            let alias = argument.get_visible_aliases().unwrap_or_default().join(", --");
            match help.or_else(|| argument.get_help().map(ToString::to_string)) {
                Some(help) if !alias.is_empty() => argument.long_help(format!("{help} [alias: --{alias}]")),
                Some(help) => argument.long_help(help),
                None => argument,
            }
        });
    let title = page_name(&command).to_uppercase();
    let (has_options, has_commands) = (command.get_arguments().next().is_some(), command.has_subcommands());
    let man = Man::new(command.subcommand_help_heading("COMMANDS"))
        .title(title)
        .date(DATE)
        .source(concat!("profbridge ", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    if has_options {
        man.render_options_section(&mut out)?;
    }
    if has_commands {
        man.render_subcommands_section(&mut out)?;
    }
    own_sections(exit_status, &examples, see_also).to_writer(&mut out)?;
    Ok(out)
}

/// Formats the sections that clap_mangen does not have.
fn own_sections(exit_status: String, examples: &str, see_also: &[String]) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]).text([roman(exit_status)]);
    roff.control("SH", ["ENVIRONMENT"]);
    ENVIRONMENT.iter().for_each(|(name, text)| {
        roff.control("TP", []).text([bold(*name)]).text([roman(*text)]);
    });
    roff.control("SH", ["FILES"]);
    FILES.iter().for_each(|(names, text)| {
        roff.control("TP", []).text([italic(*names)]).text([roman(*text)]);
    });
    roff.control("SH", ["EXAMPLES"]).control("nf", []);
    examples.lines().for_each(|line| {
        roff.text([roman(line)]);
    });
    roff.control("fi", []).control("SH", ["SEE ALSO"]);
    let see_also: Vec<String> = see_also.iter().map(|page| format!("{page}(1)")).collect();
    roff.text([roman(see_also.join(", "))]);
    roff
}
