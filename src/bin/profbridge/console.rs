//! What people see: errors with hints, warnings, colours on a terminal.

use crate::hints::hint_text;
use crate::standard_output::StandardOutput;
use profbridge::input::output::{is_standard_output, replace_by_name_with};
use profbridge::instr::{Loss, LossKind};
use profbridge::{Error, Result, Warning};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::OnceLock;

/// Set once by `main`, before the command runs.
static QUIET: OnceLock<bool> = OnceLock::new();

/// Whether warnings and notes are kept back in this run.
pub(crate) fn set_quiet(quiet: bool) {
    // `main` is the only caller, and calls once.
    let _ = QUIET.set(quiet);
}

fn is_quiet() -> bool {
    QUIET.get().copied().unwrap_or_default()
}

/// Whether standard error takes colours: a terminal, and `NO_COLOR` unset or empty.
fn colours() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn labelled(label: &str, colour: &str, text: &str) {
    let text = escape(text);
    let mut stderr = io::stderr().lock();
    // A closed standard error is nobody's fault and nothing can be said about it.
    let _ = if colours() {
        writeln!(stderr, "\x1b[1;{colour}m{label}:\x1b[0m {text}")
    } else {
        writeln!(stderr, "{label}: {text}")
    };
}

/// Prints a line on standard error that has no label.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", escape(text));
}

/// Control characters never reach the terminal as they are.
pub(crate) fn escape(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            if c.is_control() && c != '\n' && c != '\t' { c.escape_default().collect::<Vec<_>>() } else { vec![c] }
        })
        .collect()
}

/// Passes text on with its control characters escaped, so that a report of
/// names from a file can go to a terminal.
pub(crate) struct Escaped<W: Write> {
    out: W,
    /// The byte last seen may begin a control character of two bytes (U+0080
    /// to U+009F in UTF-8) and is not passed on yet.
    half: bool,
}

impl<W: Write> Escaped<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, half: false }
    }
}

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.half && are_plain(bytes) {
            self.out.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let mut text = Vec::with_capacity(bytes.len() + 16);
        for &byte in bytes {
            if std::mem::take(&mut self.half) {
                if (0x80..=0x9f).contains(&byte) {
                    text.extend_from_slice(format!("\\u{{{byte:x}}}").as_bytes());
                    continue;
                }
                text.push(0xc2);
            }
            match byte {
                0xc2 => self.half = true,
                b'\n' | b'\t' => text.push(byte),
                0..0x20 | 0x7f => text.extend_from_slice(format!("\\x{byte:02x}").as_bytes()),
                _ => text.push(byte),
            }
        }
        self.out.write_all(&text)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.half) {
            self.out.write_all(&[0xc2])?;
        }
        self.out.flush()
    }
}

/// Whether nothing has to be escaped, nor may begin what has to be.
fn are_plain(bytes: &[u8]) -> bool {
    let is_special = |byte: u8| (byte < 0x20 && byte != b'\n' && byte != b'\t') || byte == 0x7f || byte == 0xc2;
    let holds_special = |part: &[u8]| part.iter().fold(false, |found, byte| found | is_special(*byte));
    // A part is looked at whole, many bytes at a time.
    let (parts, rest) = bytes.as_chunks::<64>();
    !parts.iter().any(|part| holds_special(part)) && !holds_special(rest)
}

/// Prints why a run ends without success.
pub(crate) fn error_line(text: &str) {
    labelled("error", "31", text);
}

/// Prints an error and its hint.
pub(crate) fn error(error: &Error) {
    error_line(&error.to_string());
    if let Some(advice) = error.hint() {
        hint(&hint_text(advice));
    }
}

/// Prints advice.
pub(crate) fn hint(text: &str) {
    labelled("  hint", "36", text);
}

/// Prints what is worth knowing and nothing to worry about.
pub(crate) fn note(text: &str) {
    if is_quiet() {
        return;
    }
    labelled("note", "36", text);
}

/// Says that what a killed run left is gone.
pub(crate) fn removed_leftover(path: &Path) {
    note(&format!("{}: removed, a run that was killed left it", path.display()));
}

/// Prints a warning.
pub(crate) fn warning(warning: &Warning) {
    if is_quiet() {
        return;
    }
    labelled("warning", "35", &warning.to_string());
}

/// Prints an error that does not end the run, and its hint.
pub(crate) fn error_as_warning(error: &Error) {
    labelled("warning", "35", &error.to_string());
    // The failure mode that the hint of a kind conflict names is in use.
    if let Some(advice) = error.hint().filter(|_| !error.is_kind_conflict()) {
        hint(&hint_text(advice));
    }
}

/// Says what an output could not hold; what is tolerated is no warning.
pub(crate) fn losses(losses: &[Loss], tolerated: &[LossKind], output: &Path) {
    for loss in losses {
        if tolerated.contains(&loss.kind) {
            note(&format!("{}: the format has no place for {loss}, which its readers do not miss", output.display()));
        } else {
            warning(&Warning::new(format!("the format cannot hold {loss}; left out")).in_file(output));
        }
    }
}

/// Prints a line on standard output.
pub(crate) fn print_line(text: &str) {
    // Faults are noted, not returned.
    let _ = StandardOutput.write_all(format!("{text}\n").as_bytes());
}

/// Refuses to print a report where the profile goes to standard output.
pub(crate) fn needs_file(output: &Path) -> Result<()> {
    if is_standard_output(output) {
        return Err(Error::usage("standard output takes the profile already").with_hint("name a file with -o"));
    }
    Ok(())
}

/// A bar on a terminal for work that takes long; silent elsewhere.
pub(crate) struct Progress(Option<indicatif::ProgressBar>);

impl Progress {
    pub(crate) fn new(what: &'static str, quiet: bool) -> Self {
        if quiet || !io::stderr().is_terminal() {
            return Self(None);
        }
        let bar = indicatif::ProgressBar::new(0).with_message(what);
        let style = indicatif::ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len} {eta}");
        Self(Some(bar.with_style(style.unwrap_or_else(|_| indicatif::ProgressStyle::default_bar()))))
    }

    pub(crate) fn update(&self, done: usize, total: usize) {
        if let Some(bar) = &self.0 {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
        }
    }

    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// What was asked for could not be done.
pub(crate) const COULD_NOT: u8 = 1;

/// The command line makes no sense.
pub(crate) const WRONG_USE: u8 = 2;

/// A gate or a check that was asked for failed; everything else was done.
pub(crate) const GATE_FAILED: u8 = 3;

/// Writes a report whole, to a file or standard output.
pub(crate) fn write_output(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    if !is_standard_output(path) {
        return replace_by_name_with(path, |out| write(out));
    }
    let mut text = Escaped::new(StandardOutput);
    write(&mut text).and_then(|()| text.flush()).map_err(|source| Error::io("cannot write", source))
}
