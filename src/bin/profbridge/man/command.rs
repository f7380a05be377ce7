//! The manual page of a command, from its `--help`.

use super::page::Page;
use clap::{Arg, Command};
use roff::{Inline, bold, italic, roman};

/// Returns `profbridge-merge` for `merge`.
pub(super) fn page_name(command: &Command) -> String {
    format!("profbridge-{}", command.get_name())
}

/// Creates the page of the program.
pub(super) fn program(commands: &Command, pages: &[String]) -> Page {
    let mut page = begun(commands, "profbridge");
    options(&mut page, commands);
    page.section("COMMANDS");
    for command in commands.get_subcommands().filter(|command| command.get_name() != "help") {
        page.entry(vec![bold(page_name(command)), roman("(1)")], &[sentence(command)]);
    }
    exit_status(&mut page, None);
    environment(&mut page);
    files(&mut page);
    page.section("EXAMPLES");
    page.lines([
        "  profbridge merge -o app.profdata *.profraw",
        "  profbridge show --topn=10 app.profdata",
        "  profbridge info --versions",
        "  profbridge doctor",
    ]);
    page.see_also(&[pages, &["profbridge-llvm-profdata".to_string()]].concat());
    page
}

/// Creates the page of a command.
pub(super) fn command(command: &Command, pages: &[String]) -> Page {
    let mut page = begun(command, &page_name(command));
    let help = Help::of(command);
    for paragraph in &help.description {
        page.paragraph();
        if paragraph.lines().skip(1).any(|line| line.starts_with("  ")) {
            page.lines(paragraph.lines());
        } else {
            page.text(paragraph);
        }
    }
    options(&mut page, command);
    exit_status(&mut page, help.exit_code.as_deref());
    environment(&mut page);
    files(&mut page);
    if !help.examples.is_empty() {
        page.section("EXAMPLES");
        page.lines(help.examples.iter().map(String::as_str));
    }
    let related = related(command.get_name()).iter().map(|name| format!("profbridge-{name}"));
    let related = related.filter(|page| pages.contains(page)).chain(["profbridge".to_string()]);
    page.see_also(&related.collect::<Vec<_>>());
    page
}

fn begun(command: &Command, name: &str) -> Page {
    let mut page = Page::new(name, &sentence(command));
    page.section("SYNOPSIS");
    let usage = command.clone().render_usage().to_string();
    page.usage(usage.trim_start_matches("Usage:").trim());
    page.section("DESCRIPTION");
    page.text(&format!("{}.", sentence(command)));
    page
}

/// Returns the summary of a command, without a full stop.
fn sentence(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    about.trim_end_matches('.').to_string()
}

/// The parts of the text after the options in `--help`, by their purpose.
#[derive(Default)]
struct Help {
    description: Vec<String>,
    exit_code: Option<String>,
    examples: Vec<String>,
}

impl Help {
    fn of(command: &Command) -> Self {
        let text = command
            .get_after_long_help()
            .or_else(|| command.get_after_help())
            .map(ToString::to_string)
            .unwrap_or_default();
        let mut help = Self::default();
        for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
            if let Some(examples) = paragraph.strip_prefix("Examples:") {
                help.examples = examples.lines().filter(|line| !line.is_empty()).map(str::to_string).collect();
            } else if let Some(code) = paragraph.strip_prefix("Exit code:") {
                help.exit_code = Some(code.trim().to_string());
            } else {
                help.description.push(paragraph.to_string());
            }
        }
        help
    }
}

/// Adds all options: first those without a heading, then those with one.
fn options(page: &mut Page, command: &Command) {
    let shown: Vec<&Arg> = command.get_arguments().filter(|argument| !argument.is_hide_set()).collect();
    if shown.is_empty() {
        return;
    }
    page.section("OPTIONS");
    for argument in shown.iter().filter(|argument| argument.get_help_heading().is_none()) {
        option(page, argument);
    }
    let mut headings: Vec<&str> = Vec::new();
    for heading in shown.iter().filter_map(|argument| argument.get_help_heading()) {
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for heading in headings {
        page.subsection(heading);
        for argument in shown.iter().filter(|argument| argument.get_help_heading() == Some(heading)) {
            option(page, argument);
        }
    }
}

fn option(page: &mut Page, argument: &Arg) {
    let help = argument.get_long_help().or_else(|| argument.get_help());
    let mut text: Vec<String> = help.map(ToString::to_string).unwrap_or_default().split("\n\n").map(closed).collect();
    let takes_value = argument.get_action().takes_values();
    if takes_value && !argument.is_hide_possible_values_set() {
        let values = argument.get_possible_values();
        let values: Vec<String> = values.iter().filter(|value| !value.is_hide_set()).map(possible).collect();
        if !values.is_empty() {
            text.push(format!("Values: {}.", values.join("; ")));
        }
    }
    let defaults: Vec<_> = argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if takes_value && !argument.is_hide_default_value_set() && !defaults.is_empty() {
        text.push(format!("Default: {}.", defaults.join(", ")));
    }
    page.entry(term(argument), &text);
}

fn possible(value: &clap::builder::PossibleValue) -> String {
    match value.get_help() {
        Some(help) => format!("{} ({help})", value.get_name()),
        None => value.get_name().to_string(),
    }
}

/// Formats an argument.
fn term(argument: &Arg) -> Vec<Inline> {
    let mut term = Vec::new();
    if let Some(short) = argument.get_short() {
        term.push(bold(format!("-{short}")));
    }
    if let Some(long) = argument.get_long() {
        if !term.is_empty() {
            term.push(roman(", "));
        }
        term.push(bold(format!("--{long}")));
    }
    if argument.get_action().takes_values() {
        let names = argument.get_value_names().unwrap_or_default();
        let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        if !term.is_empty() {
            term.push(roman(" "));
        }
        term.push(italic(names.join(" ")));
    }
    term
}

/// Adds a full stop.
fn closed(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() || text.ends_with(['.', ':', '!']) { text.to_string() } else { format!("{text}.") }
}

fn exit_status(page: &mut Page, own: Option<&str>) {
    page.section("EXIT STATUS");
    if let Some(own) = own {
        page.text(&closed(own));
        return;
    }
    let rows = [
        ("0", "Success."),
        ("1", "Failure: a file cannot be read or written, or there is no result."),
        ("2", "Usage error."),
        ("3", "A threshold or check failed."),
    ];
    for (code, text) in rows {
        page.entry(vec![bold(code)], &[text.to_string()]);
    }
}

fn environment(page: &mut Page) {
    page.section("ENVIRONMENT");
    let rows = [
        ("PROFBRIDGE_FOR", "The default of --for: the target toolchain, such as llvm-16, rustc-1.75 or xcode-16.3."),
        ("NO_COLOR", "Disables colors if it is set and not empty."),
    ];
    for (name, text) in rows {
        page.entry(vec![bold(name)], &[text.to_string()]);
    }
}

fn files(page: &mut Page) {
    page.section("FILES");
    let rows = [
        ("*.profraw, *.profdata, *.proftext", "LLVM instrumentation profiles: raw, indexed, text."),
        ("*.iprof", "Profiles of GraalVM's native-image."),
        ("*.jfr, *.collapsed, *.pprof", "Sampled stacks: JFR recordings, collapsed stacks, pprof profiles."),
        ("*.memprofraw, *.memprofyaml", "LLVM memory profiles."),
        ("*.gz, *.zst", "Compressed files of any of these formats."),
    ];
    for (name, text) in rows {
        page.entry(vec![italic(name)], &[text.to_string()]);
    }
    page.paragraph();
    page.text("profbridge detects input formats from the file content. The file extension selects the output format.");
}

/// Returns related commands for the section SEE ALSO.
fn related(command: &str) -> &'static [&'static str] {
    match command {
        "merge" => &["show", "convert", "check", "llvm-profdata"],
        "show" => &["report", "info", "overlap", "diff"],
        "overlap" => &["diff", "show"],
        "order" => &["show"],
        "convert" => &["merge", "info", "check"],
        "check" => &["repair", "info"],
        "diff" => &["overlap", "fit", "report"],
        "fit" => &["diff", "merge"],
        "repair" => &["check", "convert"],
        "report" => &["flamegraph", "show", "diff"],
        "flamegraph" => &["report", "show"],
        "info" => &["check", "show"],
        "doctor" => &["info", "interop", "merge", "llvm-profdata"],
        "interop" => &["doctor", "merge"],
        "completions" => &["man"],
        _ => &["completions"],
    }
}
