//! LLVM's command line grammar.
//!
//! One dash or two; `--name=value` or `--name value`; flags with an optional Boolean after `=`; positional arguments
//! anywhere; every unknown argument is reported before the run ends.

use super::help;
use super::library::{self, LibraryOptionValue};
use super::options::{Action, COMMANDS, Command, OptionSpec, OptionValue, TOP, find_former, resolve};
use super::parsed::{Parsed, Program};
use super::values::{boolean, float, signed, unsigned};
use super::{response, suggest};
use profbridge::instr::Release;
use std::ffi::OsString;
use std::io::{self, Write};

/// The result of parsing a command line.
pub(super) enum Outcome {
    Run(Parsed),
    /// Help or version was printed.
    Done,
    /// The errors were printed.
    Failed,
}

/// Parses the arguments after the program's name.
///
/// # Errors
///
/// Only the errors of `out` and `faults`.
pub(super) fn parse(
    program: &Program,
    arguments: Vec<OsString>,
    out: &mut dyn Write,
    faults: &mut dyn Write,
) -> io::Result<Outcome> {
    let arguments = response::expand(arguments);
    let first = arguments.first().map(|first| first.as_encoded_bytes());
    let named = first.filter(|first| !first.starts_with(b"-"));
    let command = COMMANDS.into_iter().find(|command| named == Some(command.name.as_bytes()));
    let next = usize::from(command.is_some());
    let first_names_a_command = command.is_none() && named.is_some();
    parse_from(program, command.unwrap_or(&TOP), (&arguments, next), first_names_a_command, (out, faults))
}

/// Parses the arguments of a program without subcommands.
///
/// # Errors
///
/// Only the errors of `out` and `faults`.
pub(super) fn parse_options(
    program: &Program,
    options: &'static Command,
    arguments: Vec<OsString>,
    out: &mut dyn Write,
    faults: &mut dyn Write,
) -> io::Result<Outcome> {
    parse_from(program, options, (&response::expand(arguments), 0), false, (out, faults))
}

fn parse_from(
    program: &Program,
    command: &'static Command,
    (arguments, next): (&[OsString], usize),
    first_names_a_command: bool,
    (out, faults): (&mut dyn Write, &mut dyn Write),
) -> io::Result<Outcome> {
    let parsed = Parsed { command, positionals: Vec::new(), values: Vec::new() };
    let mut parser = Parser { program, parsed, arguments, next, faults, failed: false };
    let outcome = match parser.run(first_names_a_command)? {
        Some(action) => {
            help::act(action, program, parser.parsed.command, out)?;
            Outcome::Done
        }
        None if parser.failed => Outcome::Failed,
        None => Outcome::Run(parser.parsed),
    };
    Ok(outcome)
}

struct Parser<'a> {
    program: &'a Program,
    parsed: Parsed,
    arguments: &'a [OsString],
    next: usize,
    faults: &'a mut dyn Write,
    failed: bool,
}

/// An option from one of the two lists.
enum Found {
    Own(&'static OptionSpec),
    Library(library::LibraryOption),
}

impl Parser<'_> {
    /// Parses the arguments. Returns early for help and version.
    fn run(&mut self, first_names_a_command: bool) -> io::Result<Option<Action>> {
        let mut only_positional = false;
        while let Some(argument) = self.arguments.get(self.next) {
            let bytes = argument.as_encoded_bytes();
            let at = self.next;
            self.next += 1;
            if !only_positional && bytes == b"--" {
                only_positional = true;
            } else if only_positional || !bytes.starts_with(b"-") || bytes == b"-" {
                if self.parsed.command.most == Some(0) {
                    let is_command = at == 0 && first_names_a_command;
                    let near = if is_command { suggest::nearest_command(bytes) } else { None };
                    self.unknown(bytes, is_command, near.map(|name| name.as_bytes().to_vec()))?;
                } else {
                    self.parsed.positionals.push(argument.clone());
                }
            } else if let Some(action) = self.option(bytes)? {
                return Ok(Some(action));
            }
        }
        self.check_positionals()?;
        self.check_required()?;
        Ok(None)
    }

    fn option(&mut self, argument: &[u8]) -> io::Result<Option<Action>> {
        let body = &argument[1..];
        let body = body.strip_prefix(b"-").unwrap_or(body);
        let (name, value) = match body.iter().position(|b| *b == b'=') {
            Some(at) => (&body[..at], Some(&body[at + 1..])),
            None => (body, None),
        };
        if let Some(found) = self.find(name) {
            return self.provide(&found, value);
        }
        let near = match self.grouped(body)? {
            Grouped::Action(action) => return Ok(Some(action)),
            // The original tool has reduced the argument to its first letter here.
            Grouped::Fault => suggest::nearest_option(self.parsed.command, &body[..1]),
            Grouped::None => suggest::nearest_option(self.parsed.command, body),
        };
        self.unknown(argument, false, near)?;
        Ok(None)
    }

    fn find(&self, name: &[u8]) -> Option<Found> {
        let name = std::str::from_utf8(name).ok()?;
        let (command, release) = (self.parsed.command, self.program.release);
        let own = command.find(name).or_else(|| TOP.find(name)).or_else(|| find_former(command, name, release));
        own.map(Found::Own).or_else(|| library::find(name, release).map(Found::Library))
    }

    /// Parses grouped one-letter options. Options in a group have no value, and only `-h` is such an option: `-hx` is
    /// `-h`, and `-j4` is an error.
    fn grouped(&mut self, body: &[u8]) -> io::Result<Grouped> {
        let letter = body.first().map(|first| [*first]).filter(|_| body.len() > 1);
        let letter = letter.as_ref().and_then(|letter| std::str::from_utf8(letter).ok());
        let Some(option) = letter.and_then(|letter| self.parsed.command.find(letter)) else {
            return Ok(Grouped::None);
        };
        match resolve(self.parsed.command, option).takes {
            OptionValue::Action(action) => Ok(Grouped::Action(action)),
            _ => self.fault(option.name, "may not occur within a group!").map(|()| Grouped::Fault),
        }
    }

    /// Checks and stores the value of an option.
    fn provide(&mut self, found: &Found, value: Option<&[u8]>) -> io::Result<Option<Action>> {
        let option = match found {
            Found::Own(option) => *option,
            Found::Library(option) => {
                self.provide_library(option, value)?;
                return Ok(None);
            }
        };
        let target = resolve(self.parsed.command, option);
        match (target.takes, value) {
            (OptionValue::Action(_) | OptionValue::Member(_), Some(value)) => {
                let message = [b"does not allow a value! '", value, b"' specified."].concat();
                let message = String::from_utf8_lossy(&message).into_owned();
                if let OptionValue::Member(group) = target.takes {
                    self.failed = true;
                    writeln!(self.faults, "{group} option: {message}")?;
                } else {
                    self.fault(option.name, &message)?;
                }
            }
            (OptionValue::Action(action), None) => return Ok(Some(action)),
            (OptionValue::Member(_) | OptionValue::Switch, value) => {
                self.keep_own(target, value.unwrap_or_default())?
            }
            (_, Some(value)) => self.keep_own(target, value)?,
            (_, None) => match self.take_next() {
                Some(value) => self.keep_own(target, &value)?,
                None => self.fault(option.name, "requires a value!")?,
            },
        }
        Ok(None)
    }

    fn provide_library(&mut self, option: &library::LibraryOption, value: Option<&[u8]>) -> io::Result<()> {
        let value = match value {
            Some(value) => value.to_vec(),
            None if option.optional => Vec::new(),
            None => match self.take_next() {
                Some(value) => value,
                None => return self.fault(option.name, "requires a value!"),
            },
        };
        match &option.takes {
            LibraryOptionValue::Plain(takes) => self.keep(option.name, takes, &value),
            LibraryOptionValue::Choice(words) if words.iter().any(|word| word.as_bytes() == value) => {
                self.parsed.values.push((option.name, value));
                Ok(())
            }
            LibraryOptionValue::Choice(_) => self.fault(option.name, &no_such_choice(&value)),
        }
    }

    fn take_next(&mut self) -> Option<Vec<u8>> {
        let value = self.arguments.get(self.next)?.as_encoded_bytes().to_vec();
        self.next += 1;
        Some(value)
    }

    /// Stores a value of an option that is not of the libraries. llvm-profdata of LLVM 14 and earlier rejects an option
    /// that it already has, unless it is a list.
    fn keep_own(&mut self, option: &'static OptionSpec, value: &[u8]) -> io::Result<()> {
        let command = self.parsed.command;
        let is_same = |name: &str| {
            let is_group = matches!(option.takes, OptionValue::Member(_));
            name == option.name || (is_group && command.find(name).is_some_and(|other| other.takes == option.takes))
        };
        let is_list = option.takes == OptionValue::UnsignedList || option.name == "weighted-input";
        let is_strict = self.program.release <= Release(14) && COMMANDS.iter().any(|one| one.name == command.name);
        if is_strict && !is_list && self.parsed.values.iter().any(|(name, _)| is_same(name)) {
            return self.fault(option.name, "may only occur zero or one times!");
        }
        self.keep(option.name, &option.takes, value)
    }

    /// Stores a value if it is valid for this option.
    fn keep(&mut self, name: &'static str, takes: &OptionValue, value: &[u8]) -> io::Result<()> {
        match fault_of(takes, value) {
            None => self.parsed.values.push((name, value.to_vec())),
            Some(fault) => self.fault(name, &fault)?,
        }
        Ok(())
    }

    fn fault(&mut self, name: &str, message: &str) -> io::Result<()> {
        self.failed = true;
        self.faults.write_all(&self.program.name)?;
        writeln!(self.faults, ": for the {}{name} option: {message}", dashes(name.as_bytes()))
    }

    fn unknown(&mut self, argument: &[u8], is_command: bool, near: Option<Vec<u8>>) -> io::Result<()> {
        self.failed = true;
        let what: &[u8] = if is_command { b"subcommand" } else { b"command line argument" };
        let (name, path) = (&self.program.name, &self.program.path);
        let line = [name, b": Unknown ".as_slice(), what, b" '", argument, b"'.  Try: '", path, b" --help'\n"];
        self.faults.write_all(&line.concat())?;
        if let Some(near) = near {
            let dashes = if is_command { "" } else { dashes(&near) };
            let line = [name, b": Did you mean '".as_slice(), dashes.as_bytes(), &near, b"'?\n"];
            self.faults.write_all(&line.concat())?;
        }
        Ok(())
    }

    fn check_required(&mut self) -> io::Result<()> {
        for name in self.parsed.command.required {
            if self.parsed.value(name).is_none() {
                self.fault(name, "must be specified at least once!")?;
            }
        }
        Ok(())
    }

    fn check_positionals(&mut self) -> io::Result<()> {
        let (least, most) = (self.parsed.command.least, self.parsed.command.most);
        let given = self.parsed.positionals.len();
        let (what, bound) = if given < least {
            ("Not enough positional command line arguments", format!("Must specify at least {least}"))
        } else if let Some(most) = most.filter(|most| given > *most) {
            ("Too many positional arguments", format!("Can specify at most {most}"))
        } else {
            return Ok(());
        };
        self.failed = true;
        self.faults.write_all(&self.program.name)?;
        write!(self.faults, ": {what} specified!\n{bound} positional arguments: See: ")?;
        self.faults.write_all(&self.program.path)?;
        writeln!(self.faults, " --help")
    }
}

/// The meaning of a word whose first letter is an option.
enum Grouped {
    Action(Action),
    Fault,
    None,
}

/// Returns one dash for one letter, otherwise two.
fn dashes(name: &[u8]) -> &'static str {
    if name.len() == 1 { "-" } else { "--" }
}

/// Returns the error of a value, if it is invalid.
fn fault_of(takes: &OptionValue, value: &[u8]) -> Option<String> {
    let shown = String::from_utf8_lossy(value);
    let invalid = |what: &str| Some(format!("'{shown}' value invalid for {what} argument!"));
    match takes {
        OptionValue::Switch if boolean(value).is_none() => {
            Some(format!("'{shown}' is invalid value for boolean argument! Try 0 or 1"))
        }
        OptionValue::Unsigned(word) if unsigned(value).is_none_or(|n| *word == "uint" && u32::try_from(n).is_err()) => {
            invalid(word)
        }
        OptionValue::Signed(bits) if signed(value).is_none_or(|n| *bits == 32 && i32::try_from(n).is_err()) => {
            invalid(if *bits == 32 { "integer" } else { "long" })
        }
        OptionValue::Float if float(value).is_none() => invalid("floating point"),
        OptionValue::Choice(words) if !words.iter().any(|word| word.as_bytes() == value) => Some(no_such_choice(value)),
        OptionValue::UnsignedList => {
            let bad =
                value.split(|b| *b == b',').find(|part| unsigned(part).is_none_or(|n| n > u64::from(u32::MAX)))?;
            Some(format!("'{}' value invalid for uint argument!", String::from_utf8_lossy(bad)))
        }
        _ => None,
    }
}

fn no_such_choice(value: &[u8]) -> String {
    format!("Cannot find option named '{}'!", String::from_utf8_lossy(value))
}

#[cfg(test)]
mod tests;
