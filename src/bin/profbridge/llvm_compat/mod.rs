//! llvm-profdata mode: the options, messages and exit codes of llvm-profdata 22.
//!
//! The mode is selected if the program's name begins with `llvm-profdata`, or by `profbridge llvm-profdata …`. A number
//! after the name, or the environment, selects the target release. The library does the work; this module only
//! implements the command line.

mod compat_mode;
mod correlate;
mod failure;
mod help;
mod library;
mod merge;
mod messages;
mod options;
mod order;
mod output;
mod overlap;
mod parse;
mod parsed;
mod profgen;
mod profgen_options;
mod profgen_warnings;
mod raw_memory;
mod response;
mod sample;
mod show;
mod suggest;
mod values;

pub(crate) use options::{COMMANDS, Command, OptionSpec, OptionValue, resolve};
pub(crate) use response::expand;
pub(crate) use suggest::edit_distance;
pub(crate) use values::boolean;

use compat_mode::CompatMode;
use failure::{FAILURE, Failure};
use parse::Outcome;
use parsed::{Parsed, Program};
use profbridge::instr::target;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Returns true if a program of this name runs in the mode of one of LLVM's tools.
pub(crate) fn is_wanted(program: &OsStr) -> bool {
    let name = base_name(program).as_encoded_bytes();
    // cargo-binutils calls the tool rust-profdata.
    name.starts_with(b"llvm-profdata") || name.starts_with(b"rust-profdata") || is_profgen(program)
}

fn is_profgen(program: &OsStr) -> bool {
    base_name(program).as_encoded_bytes().starts_with(b"llvm-profgen")
}

/// Returns true if a command is llvm-profdata or llvm-profgen, with an optional release number.
pub(crate) fn is_command(word: &OsStr) -> bool {
    let names_release = || target::release_of_program(word).is_some();
    word == "llvm-profdata" || (base_name(word) == word && (is_profgen(word) || names_release()))
}

fn base_name(program: &OsStr) -> &OsStr {
    Path::new(program).file_name().unwrap_or(program)
}

/// Runs a command line; `program` is the name by which the program was called.
pub(crate) fn run(program: &OsStr, arguments: Vec<OsString>) -> ExitCode {
    match try_run(program, arguments) {
        Ok(code) => code,
        // The reader of the pipe left. The run ends as if a signal had stopped it, but without the signal.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            messages::error(None, &profbridge::error::io_message(&error), None);
            ExitCode::from(FAILURE)
        }
    }
}

fn try_run(program: &OsStr, arguments: Vec<OsString>) -> io::Result<ExitCode> {
    let conduct = match CompatMode::of(program) {
        Ok(conduct) => conduct,
        Err(failure) => return end(Err(failure)),
    };
    let program = Program {
        path: program.as_encoded_bytes().to_vec(),
        name: base_name(program).as_encoded_bytes().to_vec(),
        release: conduct.release(),
    };
    if is_profgen(OsStr::new(&*String::from_utf8_lossy(&program.name))) {
        return run_profgen(&program, arguments);
    }
    if arguments.is_empty() {
        let line = [program.name.as_slice(), b": No subcommand specified! Run llvm-profdata --help for usage.\n"];
        io::stderr().write_all(&line.concat())?;
        return Ok(ExitCode::from(FAILURE));
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    let outcome = parse::parse(&program, arguments, &mut out, &mut io::stderr().lock())?;
    out.flush()?;
    drop(out);
    match outcome {
        Outcome::Done => Ok(ExitCode::SUCCESS),
        Outcome::Failed => Ok(ExitCode::from(FAILURE)),
        Outcome::Run(parsed) => dispatch(&program, &parsed, &conduct),
    }
}

fn run_profgen(program: &Program, arguments: Vec<OsString>) -> io::Result<ExitCode> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let options = &profgen_options::PROFGEN;
    let outcome = parse::parse_options(program, options, arguments, &mut out, &mut io::stderr().lock())?;
    out.flush()?;
    drop(out);
    match outcome {
        Outcome::Done => Ok(ExitCode::SUCCESS),
        Outcome::Failed => Ok(ExitCode::from(FAILURE)),
        Outcome::Run(parsed) => profgen::run(&parsed, program.release),
    }
}

fn dispatch(program: &Program, parsed: &Parsed, conduct: &CompatMode) -> io::Result<ExitCode> {
    let done = match parsed.command.name {
        "merge" => merge::run(program, parsed, conduct),
        "show" => show::run(program, parsed, conduct),
        "overlap" => overlap::run(parsed, conduct),
        "order" => order::run(parsed, conduct),
        _ => {
            let line = [program.name.as_slice(), b": Unknown command. Run llvm-profdata --help for usage.\n"];
            io::stderr().write_all(&line.concat())?;
            return Ok(ExitCode::from(FAILURE));
        }
    };
    end(done)
}

/// Prints the reason of a failure.
fn end(done: Result<ExitCode, Failure>) -> io::Result<ExitCode> {
    match done {
        Ok(code) => Ok(code),
        Err(Failure::Message { whence, text, note }) => {
            messages::error(whence.as_deref(), &text, note.as_deref());
            Ok(ExitCode::from(FAILURE))
        }
        Err(Failure::Output(error)) => Err(error),
    }
}
