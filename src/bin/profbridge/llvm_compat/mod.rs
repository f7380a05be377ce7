//! llvm-profdata 22, as a program that other programs call: its options, its
//! messages, its exit codes.
//!
//! Taken when the program's name begins with `llvm-profdata`, or as
//! `profbridge llvm-profdata …`; a number behind it, or the environment,
//! chooses the release that results are for. What it does is the library's; this only
//! speaks the other language.

mod conduct;
mod correlate;
mod help;
mod library;
mod merge;
mod messages;
mod options;
mod order;
mod overlap;
mod parse;
mod response;
mod sample;
mod show;
mod suggest;

pub(crate) use options::{COMMANDS, Command, Opt, Takes};
pub(crate) use parse::boolean;
pub(crate) use response::expand;

use conduct::Conduct;
use parse::{Outcome, Parsed, Program};
use profbridge::memprof::raw::Programs;
use profbridge::pipeline::target;
use profbridge::{ErrorKind, Limits};
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Exit status of every failure.
const FAILURE: u8 = 1;

/// Whether a program of that name is to behave as llvm-profdata.
pub(crate) fn is_wanted(program: &OsStr) -> bool {
    base_name(program).as_encoded_bytes().starts_with(b"llvm-profdata")
}

/// Whether a command is llvm-profdata, perhaps with the number of a release.
pub(crate) fn is_command(word: &OsStr) -> bool {
    word == "llvm-profdata" || (base_name(word) == word && target::release_of_program(word).is_some())
}

fn base_name(program: &OsStr) -> &OsStr {
    Path::new(program).file_name().unwrap_or(program)
}

/// Runs a command line; `program` is what the program was called as.
pub(crate) fn run(program: &OsStr, arguments: Vec<OsString>) -> ExitCode {
    match try_run(program, arguments) {
        Ok(code) => code,
        // Nobody listens any more: as for a tool that is stopped by its pipe,
        // but without the signal.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            messages::error(None, &profbridge::error::io_message(&error), None);
            ExitCode::from(FAILURE)
        }
    }
}

fn try_run(program: &OsStr, arguments: Vec<OsString>) -> io::Result<ExitCode> {
    let conduct = match Conduct::of(program) {
        Ok(conduct) => conduct,
        Err(failure) => return end(Err(failure)),
    };
    let program = Program {
        path: program.as_encoded_bytes().to_vec(),
        name: base_name(program).as_encoded_bytes().to_vec(),
        release: conduct.release(),
    };
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

fn dispatch(program: &Program, parsed: &Parsed, conduct: &Conduct) -> io::Result<ExitCode> {
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

/// Says why a run ends without success.
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

/// Why a run ends without success.
pub(super) enum Failure {
    /// Said as `error: WHENCE: TEXT` and `note: NOTE`.
    Message { whence: Option<Vec<u8>>, text: String, note: Option<String> },
    /// Standard output failed.
    Output(io::Error),
}

impl Failure {
    /// A message about no file.
    fn text(text: impl Into<String>) -> Self {
        Self::Message { whence: None, text: text.into(), note: None }
    }

    /// An error of the library, in LLVM's words, with the file it is about.
    fn of(error: &profbridge::Error) -> Self {
        let whence = error.path().map(|path| path.as_os_str().as_encoded_bytes().to_vec());
        Self::of_whence(error, whence)
    }

    /// As [`of`](Self::of), with other words in the file's place.
    fn of_whence(error: &profbridge::Error, whence: Option<Vec<u8>>) -> Self {
        let unrecognized = matches!(error.kind(), ErrorKind::UnrecognizedFormat);
        let note = unrecognized.then(|| "Perhaps you forgot to use the --sample or --memory option?".to_string());
        Self::Message { whence: whence.filter(|whence| !whence.is_empty()), text: error.llvm_message(), note }
    }
}

impl From<profbridge::Error> for Failure {
    fn from(error: profbridge::Error) -> Self {
        Self::of(&error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// The program of raw memory profiles.
fn programs(parsed: &Parsed) -> Arc<Programs> {
    let path = parsed.os_text("profiled-binary").filter(|path| !path.is_empty());
    Arc::new(Programs::new(path.map(PathBuf::from).into_iter().collect(), &Limits::default()))
}

/// What is wrong with a raw memory profile. Of a damaged one LLVM says little,
/// and repeats its path.
fn raw_memory_failure(error: &profbridge::Error, path: &Path, whence: Option<Vec<u8>>) -> Failure {
    let class = match error.kind() {
        ErrorKind::MissingProgram { .. } | ErrorKind::UnableToSymbolize { .. } => None,
        ErrorKind::UnsupportedVersion { .. } => Some("unsupported instrumentation profile format version"),
        _ => Some("malformed instrumentation profile data"),
    };
    let text = match class {
        Some(class) => format!("{}\n{class}", path.display()),
        None => error.llvm_message(),
    };
    Failure::Message { whence, text, note: None }
}

/// The output file, or standard output; made before the inputs are read.
fn create_output(parsed: &Parsed) -> Result<Box<dyn Write + Send>, Failure> {
    let Some(path) = parsed.os_text("output").filter(|path| path != "-") else {
        return Ok(Box::new(io::BufWriter::new(io::stdout())));
    };
    match std::fs::File::create(&path) {
        Ok(file) => Ok(Box::new(io::BufWriter::new(file))),
        Err(error) => Err(Failure::Message {
            whence: Some(path.as_encoded_bytes().to_vec()).filter(|whence| !whence.is_empty()),
            text: profbridge::error::io_message(&error),
            note: None,
        }),
    }
}

/// The option that an alias stands for, or the option itself.
pub(crate) fn resolve(command: &Command, option: &'static Opt) -> &'static Opt {
    match option.takes {
        Takes::Alias(of) => command.find(of).unwrap_or(option),
        _ => option,
    }
}

/// Text that came as an argument, back in the system's form.
fn os_string(bytes: &[u8]) -> OsString {
    #[cfg(unix)]
    {
        <OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes).to_os_string()
    }
    #[cfg(not(unix))]
    {
        String::from_utf8_lossy(bytes).into_owned().into()
    }
}
