//! Running tools and instrumented programs: a time limit, a limit for output, and an end of all processes if the user
//! interrupts the run.

use profbridge::system::{kill_group, lead_group, signal_of};
use profbridge::{Error, ErrorKind, Result};
use signal_hook::consts::TERM_SIGNALS;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The longest output of a program. More than the listings of the programs in `sources`.
const LONGEST_OUTPUT: u64 = 64 << 20;

/// The part of standard error that is read.
const LONGEST_MESSAGE: u64 = 1 << 16;

/// Variables that would change the profiles or their target.
const VARIABLES: [&str; 5] =
    ["LLVM_PROFILE_FILE", "LLVM_PROFDATA_FLAGS", "MEMPROF_OPTIONS", "PROFBRIDGE_FOR", "RUSTFLAGS"];

/// Runs programs.
pub(super) struct Runner {
    timeout: Duration,
    interrupted: Arc<AtomicBool>,
}

/// A program that did not succeed.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    /// The way in which it ended.
    pub(super) end: String,
    /// Its messages.
    pub(super) messages: String,
    /// Whether the program is not installed.
    pub(super) is_missing: bool,
}

/// The reason why a program was killed.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error("cannot wait for it: {0}")]
    Unknown(io::Error),
    #[error("interrupted")]
    Interrupted,
    #[error("did not end within {} s", .0.as_secs_f64())]
    TooLate(Duration),
    #[error("prints more than {} MB", LONGEST_OUTPUT >> 20)]
    TooLong,
}

impl Failure {
    pub(super) fn new(end: impl Into<String>) -> Self {
        Self { end: end.into(), messages: String::new(), is_missing: false }
    }

    /// Creates the failure of a program that is not installed.
    pub(super) fn not_installed(end: impl Into<String>) -> Self {
        Self { is_missing: true, ..Self::new(end) }
    }

    /// Creates the failure of a program that ended. The last line of a crash without an error is part of a backtrace.
    fn of_status(status: ExitStatus, messages: String) -> Self {
        match signal_of(status) {
            Some(signal) if !messages.lines().any(is_error) => Self::new(format!("crashed (signal {signal})")),
            _ => Self { messages, ..Self::new(format!("fails ({status})")) },
        }
    }

    /// Returns the first error in the messages, without the names of files; otherwise the way in which it ended.
    pub(super) fn reason(&self) -> String {
        first_error(&self.messages).unwrap_or_else(|| self.end.clone())
    }
}

impl Runner {
    /// Creates a runner, and makes the signals that end a process interrupt its programs instead.
    pub(super) fn new(timeout: Duration) -> Result<Self> {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in TERM_SIGNALS {
            signal_hook::flag::register(*signal, Arc::clone(&interrupted))
                .map_err(|source| Error::io("cannot register a signal handler", source))?;
        }
        Ok(Self { timeout, interrupted })
    }

    /// Fails if the user interrupted the run.
    pub(super) fn check(&self) -> Result<()> {
        if self.interrupted.load(Ordering::Relaxed) { Err(ErrorKind::Cancelled.into()) } else { Ok(()) }
    }

    /// Runs a program and returns its messages. Its output is in [`output_of`] the log, which also keeps the messages.
    pub(super) fn run(&self, command: &mut Command, log: &Path) -> std::result::Result<String, Failure> {
        let (output, messages) = (output_of(log), with_added(log, "err"));
        let create = |path: &Path| File::create(path).map_err(|error| Failure::new(format!("cannot write: {error}")));
        command.stdin(Stdio::null()).stdout(create(&output)?).stderr(create(&messages)?);
        VARIABLES.iter().for_each(|variable| {
            // A variable that the caller sets is kept.
            if !command.get_envs().any(|(name, _)| name == *variable) {
                command.env_remove(variable);
            }
        });
        lead_group(command);
        let mut child = command.spawn().map_err(|error| {
            Failure::new(format!("cannot start {}: {error}", command.get_program().to_string_lossy()))
        })?;
        let status = self.wait(&mut child, &[&output, &messages]);
        let messages = read_start(&messages).unwrap_or_default();
        match status {
            Ok(status) if status.success() => Ok(messages),
            Ok(status) => Err(Failure::of_status(status, messages)),
            Err(stopped) => Err(Failure::new(stopped.to_string())),
        }
    }

    /// Waits for the end of a program, and kills it at a limit.
    fn wait(&self, child: &mut Child, outputs: &[&PathBuf]) -> std::result::Result<ExitStatus, Stopped> {
        let start = Instant::now();
        let mut pause = Duration::from_millis(1);
        let is_too_long = |path: &&PathBuf| path.metadata().is_ok_and(|found| found.len() > LONGEST_OUTPUT);
        let stopped = loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Err(error) => break Stopped::Unknown(error),
                Ok(None) if self.interrupted.load(Ordering::Relaxed) => break Stopped::Interrupted,
                Ok(None) if start.elapsed() >= self.timeout => break Stopped::TooLate(self.timeout),
                Ok(None) if outputs.iter().any(is_too_long) => break Stopped::TooLong,
                Ok(None) => std::thread::sleep(pause),
            }
            pause = (pause * 2).min(Duration::from_millis(20));
        };
        kill_group(child);
        // The process was killed, so this ends.
        let _ = child.wait();
        Err(stopped)
    }
}

/// Returns the file with the output of a program.
pub(super) fn output_of(log: &Path) -> PathBuf {
    with_added(log, "out")
}

/// Appends a file extension.
fn with_added(path: &Path, extension: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(".");
    name.push(extension);
    name.into()
}

fn read_start(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LONGEST_MESSAGE).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Lines of llvm-profdata that say only that an error was reported.
const SUMMARIES: [&str; 2] = ["no profile can be merged", "Could not load coverage information"];

/// Returns true for a line with an error.
fn is_error(line: &str) -> bool {
    line.contains("error:") || line.contains("ERROR:")
}

/// Returns the text of the first error in the messages of a tool, otherwise their last line, without the names of files. Some releases write the
/// name of the file on the line of the error, and the text on the next line.
fn first_error(messages: &str) -> Option<String> {
    let lines: Vec<&str> = messages.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let reports = |line: &&str| is_error(line) || line.starts_with("warning:");
    let is_summary = |line: &&str| SUMMARIES.iter().any(|summary| line.contains(summary));
    let at = lines.iter().position(|line| is_error(line) && !is_summary(line));
    let at = at.or_else(|| lines.iter().position(|line| reports(line) && !is_summary(line)));
    let Some(at) = at else { return lines.last().map(ToString::to_string) };
    let next = lines.get(at + 1).filter(|line| !reports(line));
    let words = ["error:", "ERROR:", "warning:"];
    let text = words.iter().find_map(|word| Some(lines[at].split_once(word)?.1)).unwrap_or(lines[at]).trim();
    let is_name = |part: &str| {
        let part = part.trim().trim_matches(['\'', '"']);
        !part.is_empty() && !part.contains(' ') && (part.contains('/') || part.contains('.') || part == "program")
    };
    let parts: Vec<&str> = text.split(": ").filter(|part| !is_name(part)).collect();
    match next {
        Some(next) if parts.is_empty() => Some((*next).to_string()),
        _ => Some(parts.join(": ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_has_no_file_names() {
        let cases = [
            ("error: a/x.profraw: unsupported version\n", "unsupported version"),
            ("warning: x.profraw: bad magic\nerror: no profile can be merged\n", "bad magic"),
            (
                "error: x.profraw: x.profraw\nraw profile version mismatch\nPLEASE update\n",
                "raw profile version mismatch",
            ),
            ("warning: 1 function\nerror: x.c: bad\n#0 0x0\n", "bad"),
            ("error: Failed to load coverage: 'program': Unsupported\n", "Failed to load coverage: Unsupported"),
            (
                "x.c:3: note: here\n/usr/bin/ld: cannot find -lfoo\nclang: error: linker command failed\n",
                "linker command failed",
            ),
        ];
        for (messages, reason) in cases {
            assert_eq!(first_error(messages).as_deref(), Some(reason), "{messages}");
        }
        assert_eq!(first_error("ld: cannot find -lfoo\n").as_deref(), Some("ld: cannot find -lfoo"));
        assert_eq!(first_error(""), None);
        assert_eq!(Failure::new("fails").reason(), "fails");
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_hangs_is_killed_with_its_children() {
        let directory = tempfile::tempdir().unwrap();
        let runner = Runner { timeout: Duration::from_millis(300), interrupted: Arc::new(AtomicBool::new(false)) };
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & echo $!; wait"]);
        let log = directory.path().join("log");
        let failure = runner.run(&mut command, &log).unwrap_err();
        assert_eq!(failure.reason(), "did not end within 0.3 s");
        let child = std::fs::read_to_string(output_of(&log)).unwrap().trim().parse().unwrap();
        let start = Instant::now();
        while profbridge::system::is_running(child) == Some(true) {
            assert!(start.elapsed() < Duration::from_secs(10), "the child still runs");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
