//! Output for users: errors with hints, warnings, colours on a terminal.

use crate::hints::hint_text;
use crate::plural::number_of;
use crate::standard_output::StandardOutput;
use profbridge::input::output::{is_standard_output, replace_by_name_with};
use profbridge::instr::{Loss, LossKind};
use profbridge::{Error, Result, Warning};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Set once by `main`, before the command runs.
static QUIET: OnceLock<bool> = OnceLock::new();

/// Sets whether this run prints warnings and notes.
pub(crate) fn set_quiet(quiet: bool) {
    // `main` is the only caller and calls it once.
    let _ = QUIET.set(quiet);
}

/// Returns true if this run prints only errors and the requested output.
pub(crate) fn is_quiet() -> bool {
    QUIET.get().copied().unwrap_or_default()
}

/// Returns true if standard error supports colours.
fn colours() -> bool {
    io::stderr().is_terminal() && are_colours_allowed()
}

/// Returns true if terminals get colours: `NO_COLOR` is unset or empty.
pub(crate) fn are_colours_allowed() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn labelled(label: &str, colour: &str, text: &str) {
    let text = escape(text);
    let mut stderr = io::stderr().lock();
    // Ignore write errors: if standard error is closed, there is nowhere to report them.
    let _ = if colours() {
        writeln!(stderr, "\x1b[1;{colour}m{label}:\x1b[0m {text}")
    } else {
        writeln!(stderr, "{label}: {text}")
    };
}

/// The number of equal warnings that are printed; the others are counted.
const EQUAL_WARNINGS: u64 = 3;

/// Equal warnings.
struct Equal {
    count: u64,
    first: PathBuf,
    /// The files of those that were printed.
    named: BTreeSet<PathBuf>,
    /// The files of the others.
    others: BTreeSet<PathBuf>,
}

/// Warnings by their text without paths and numbers.
static WARNINGS: Mutex<BTreeMap<String, Equal>> = Mutex::new(BTreeMap::new());

/// Prints a warning about one of many files, or counts it if enough equal ones were printed. Returns the number of equal
/// ones, this one included.
fn grouped(path: Option<&Path>, text: &str) -> u64 {
    let Some(path) = path else {
        labelled("warning", "35", text);
        return 1;
    };
    let own = text.strip_prefix(&*path.to_string_lossy()).unwrap_or(text);
    let key = own.trim_start_matches([':', ' ']).replace(|c: char| c.is_ascii_digit(), "");
    let mut warnings = WARNINGS.lock().unwrap_or_else(PoisonError::into_inner);
    let equal = warnings.entry(key).or_insert_with(|| Equal {
        count: 0,
        first: path.to_path_buf(),
        named: BTreeSet::new(),
        others: BTreeSet::new(),
    });
    equal.count += 1;
    if equal.count <= EQUAL_WARNINGS {
        labelled("warning", "35", text);
        equal.named.insert(path.to_path_buf());
    } else {
        equal.others.insert(path.to_path_buf());
    }
    equal.count
}

/// Prints the number of warnings that were counted instead of printed.
pub(crate) fn finish_warnings() {
    let warnings = std::mem::take(&mut *WARNINGS.lock().unwrap_or_else(PoisonError::into_inner));
    for Equal { count, first, named, others } in warnings.into_values() {
        if let Some(more @ 1..) = count.checked_sub(EQUAL_WARNINGS) {
            // A file can have several equal warnings.
            let rest = match others.difference(&named).count() {
                0 => number_of(more, "more warning"),
                files => number_of(files, "more file"),
            };
            labelled("warning", "35", &format!("{rest} with the same problem as {}", first.display()));
        }
    }
}

/// Prints a line without a label on standard error.
pub(crate) fn status(text: &str) {
    finish_warnings();
    let _ = writeln!(io::stderr().lock(), "{}", escape(text));
}

/// Escapes control characters, so that they never reach the terminal. In JSON, the string stays the same.
pub(crate) fn escape<'t>(text: impl Into<Cow<'t, str>>) -> String {
    let text = text.into();
    if are_plain(text.as_bytes()) {
        return text.into_owned();
    }
    let mut escaped = Escaped::new(Vec::with_capacity(text.len()));
    let written = escaped.write_all(text.as_bytes()).and_then(|()| escaped.flush());
    written.expect("a vector takes every byte");
    String::from_utf8(escaped.out).expect("escaped text is UTF-8, as the text is")
}

/// A writer that escapes control characters, so that a report with names from a file can be printed on a terminal. The form
/// is that of JSON.
pub(crate) struct Escaped<W: Write> {
    out: W,
    /// The last byte, if it may begin a two-byte control character (U+0080 to U+009F in UTF-8). It is written later.
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
                    text.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
                    continue;
                }
                text.push(0xc2);
            }
            match byte {
                0xc2 => self.half = true,
                b'\n' | b'\t' => text.push(byte),
                0..0x20 | 0x7f => text.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
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

/// Returns true if nothing needs escaping and the end cannot begin a control character.
fn are_plain(bytes: &[u8]) -> bool {
    let is_special = |byte: u8| (byte < 0x20 && byte != b'\n' && byte != b'\t') || byte == 0x7f || byte == 0xc2;
    let holds_special = |part: &[u8]| part.iter().fold(false, |found, byte| found | is_special(*byte));
    // Each chunk is checked at once, many bytes at a time.
    let (parts, rest) = bytes.as_chunks::<64>();
    !parts.iter().any(|part| holds_special(part)) && !holds_special(rest)
}

/// Prints the reason why a run fails.
pub(crate) fn error_line(text: &str) {
    labelled("error", "31", text);
}

/// Prints an error and its hint.
pub(crate) fn error(error: &Error) {
    finish_warnings();
    error_line(&error.to_string());
    if let Some(advice) = error.hint() {
        hint(&hint_text(advice));
    }
}

/// Prints a hint.
pub(crate) fn hint(text: &str) {
    labelled("  hint", "36", text);
}

/// Prints a note.
pub(crate) fn note(text: &str) {
    if is_quiet() {
        return;
    }
    labelled("note", "36", text);
}

/// Reports that a file left behind by a killed run was removed.
pub(crate) fn removed_leftover(path: &Path) {
    note(&format!("removed {}, left behind by a killed run", path.display()));
}

/// Prints a warning.
pub(crate) fn warning(warning: &Warning) {
    warning_with(warning, None);
}

/// Prints a warning, and a hint after the first of several equal ones.
pub(crate) fn warning_with(warning: &Warning, advice: Option<&str>) {
    if is_quiet() {
        return;
    }
    let is_first = grouped(warning.path.as_deref(), &warning.to_string()) == 1;
    if let Some(advice) = advice.filter(|_| is_first) {
        hint(advice);
    }
}

/// Prints an error that does not end the run, and its hint.
pub(crate) fn error_as_warning(error: &Error) {
    let is_first = grouped(error.path(), &error.to_string()) == 1;
    // The failure mode in the hint of a kind conflict is already in use.
    if let Some(advice) = error.hint().filter(|_| is_first && !error.is_kind_conflict()) {
        hint(&hint_text(advice));
    }
}

/// Reports data that an output could not store. What no compiler uses is a note, not a warning.
pub(crate) fn losses(losses: &[Loss], output: &Path) {
    for loss in losses {
        if loss.kind == LossKind::BinaryIds {
            note(&format!(
                "{}: dropped {loss}, which this version cannot store and compilers do not use",
                output.display()
            ));
        } else if loss.kind == LossKind::CallChains {
            note(&format!("{}: dropped {loss}; --contexts makes a profile with calling contexts", output.display()));
        } else if loss.kind == LossKind::MemProfFields {
            let words = format!(
                "dropped {loss}, which not all inputs have, or which are not written by default (see \
                 --memprof-full-schema)"
            );
            warning(&Warning::new(words).in_file(output));
        } else if loss.kind == LossKind::FunctionsBeyondSize {
            warning(&Warning::new(format!("dropped {loss}")).in_file(output));
        } else if loss.kind == LossKind::LargeCounts {
            warning(&Warning::new(format!("contains {loss}")).in_file(output));
        } else {
            warning(&Warning::new(format!("dropped {loss}, which the format cannot store")).in_file(output));
        }
    }
}

/// Prints a line on standard output.
pub(crate) fn print_line(text: &str) {
    // Errors are stored, not returned.
    let _ = StandardOutput.write_all(format!("{text}\n").as_bytes());
}

/// Rejects printing a report if the profile goes to standard output.
pub(crate) fn needs_file(output: &Path) -> Result<()> {
    if is_standard_output(output) {
        return Err(Error::usage("standard output is already used for the profile").with_hint("name a file with -o"));
    }
    Ok(())
}

/// A progress bar for long work, on a terminal only.
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

/// The request failed.
pub(crate) const COULD_NOT: u8 = 1;

/// A usage error.
pub(crate) const WRONG_USE: u8 = 2;

/// A threshold or check failed; the other work was done.
pub(crate) const GATE_FAILED: u8 = 3;

/// Writes a complete report to a file or standard output.
pub(crate) fn write_output(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    if !is_standard_output(path) {
        return replace_by_name_with(path, |out| write(out));
    }
    let mut text = Escaped::new(StandardOutput);
    write(&mut text).and_then(|()| text.flush()).map_err(|source| Error::io("cannot write", source))
}

/// Like [`write_output`], for text that other programs read: only a terminal gets escaped names.
pub(crate) fn write_for_tools(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    if !is_standard_output(path) || io::stdout().is_terminal() {
        return write_output(path, write);
    }
    write(&mut StandardOutput).map_err(|source| Error::io("cannot write", source))
}
