//! Help and version, in the layout of LLVM's tools.

use super::options::{Action, COMMANDS, Command, OptionSpec, OptionValue};
use super::parsed::Program;
use profbridge::instr::Release;
use std::io::{self, Write};

/// Runs `--help` or `--version`.
pub(super) fn act(action: Action, program: &Program, command: &Command, out: &mut dyn Write) -> io::Result<()> {
    match action {
        Action::Version => {
            writeln!(out, "profbridge LLVM version {}\n  Optimized build.", last_of_series(program.release))
        }
        Action::Help if command.name.is_empty() => overview(program, out),
        Action::HelpHidden if command.name.is_empty() => overview(program, out),
        Action::Help => of_command(program, command, false, out),
        Action::HelpHidden => of_command(program, command, true, out),
    }
}

/// Returns the last version of a release, because callers compare it with a minimum.
fn last_of_series(release: Release) -> String {
    let rest = match release.0 {
        3 => "9.1",
        4 | 6 | 8 | 9 | 10 | 12 | 13 => "0.1",
        5 => "0.2",
        7 | 11 => "1.0",
        14 | 16 | 17 => "0.6",
        15 => "0.7",
        18 | 20..=22 => "1.8",
        19 => "1.7",
        23 => "1.3",
        _ => "0.0",
    };
    format!("{}.{rest}", release.0)
}

fn overview(program: &Program, out: &mut dyn Write) -> io::Result<()> {
    let name = String::from_utf8_lossy(&program.name).into_owned();
    write!(out, "OVERVIEW: LLVM profile data\n\nUSAGE: {name} [subcommand] [options]\n\nSUBCOMMANDS:\n\n")?;
    for command in COMMANDS {
        writeln!(out, "  {:7} - {}", command.name, command.about)?;
    }
    writeln!(out, "\n  Type \"{name} <subcommand> --help\" to get more help on a specific subcommand")?;
    write!(out, "\nOPTIONS:\n\nGeneric Options:\n\n")?;
    writeln!(out, "  --help    - Show the sub-commands\n  --version - Show the version")
}

fn of_command(program: &Program, command: &Command, with_hidden: bool, out: &mut dyn Write) -> io::Result<()> {
    let name = String::from_utf8_lossy(&program.name);
    if COMMANDS.iter().any(|of_profdata| of_profdata.name == command.name) {
        writeln!(out, "OVERVIEW: LLVM profile data\n\nSUBCOMMAND '{}': {}\n", command.name, command.about)?;
        writeln!(out, "USAGE: {name} {} [options] {}\n\nOPTIONS:", command.name, command.operands)?;
    } else {
        writeln!(out, "OVERVIEW: {}\n\nUSAGE: {name} [options]\n\nOPTIONS:", command.about)?;
    }
    let mut options: Vec<&OptionSpec> = command.options.iter().filter(|option| with_hidden || !option.hidden).collect();
    options.sort_by_key(|option| option.name);
    let titles: &[&str] = match command.name {
        "llvm-profgen" => &["Color Options", "Generic Options", "ProfGen Options"],
        _ => &["General options", "Generic Options"],
    };
    for &title in titles {
        let options = options.iter().filter(|option| match title {
            "Color Options" => option.name == "color",
            "Generic Options" => is_generic(option),
            "ProfGen Options" => option.name != "color" && !is_generic(option),
            _ => !is_generic(option),
        });
        writeln!(out, "\n{title}:\n")?;
        for option in options {
            let help = match option.takes {
                OptionValue::Alias(of) => format!("Alias for --{of}"),
                OptionValue::Choice(words) => format!("{}: {}", option.help, words.join(", ")),
                _ => option.help.to_string(),
            };
            writeln!(out, "  {:45} - {help}", spelling(option))?;
        }
    }
    Ok(())
}

fn spelling(option: &OptionSpec) -> String {
    let dashes = if option.name.len() == 1 { "-" } else { "--" };
    let value = if option.value.is_empty() { String::new() } else { format!("=<{}>", option.value) };
    format!("{dashes}{}{value}", option.name)
}

fn is_generic(option: &OptionSpec) -> bool {
    matches!(option.takes, OptionValue::Action(_) | OptionValue::Alias("help")) || option.name.starts_with("print-")
}
