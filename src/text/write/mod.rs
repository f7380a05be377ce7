//! Writing text profiles, byte for byte as `llvm-profdata merge --text`.

mod functions;
mod losses;
mod names;
mod options;
mod record;

pub(crate) use functions::Functions;
pub use losses::losses;
pub(crate) use names::is_plain_name;
pub use options::TextOptions;

use super::directive;
use super::numbers::push_hex;
use super::parser::trim;
use crate::compat::Compat;
use crate::error::Error;
use crate::memory::{self, HOLD_OUTPUT};
use crate::model::{Profile, ProfileKind, RecordView, Release, SymbolTable, TemporalProfile, TemporalTrace};
use crate::threads::ordered_writer::write_in_order;
use functions::{Selected, symbols_of};
use names::{NamePlace, is_speakable_target};
use record::{RecordFormat, hide, push_line};
use std::io::ErrorKind::OutOfMemory;
use std::io::{self, Write};
use std::num::NonZeroUsize;

/// A text profile.
#[derive(Debug)]
#[non_exhaustive]
pub struct Written {
    /// The text.
    pub bytes: Vec<u8>,
    /// Why it stops after the flags: by LLVM's rules an empty name ends the
    /// writing, with success.
    pub stopped: Option<Error>,
}

/// Writes a profile as text.
pub fn write(profile: &Profile, options: &TextOptions<'_>) -> Written {
    let mut bytes = Vec::new();
    let stopped = write_to(profile, options, &mut bytes).expect("a vector takes every byte");
    Written { bytes, stopped }
}

/// As [`write()`], block by block as the text is made; returns
/// [`Written::stopped`].
///
/// # Errors
///
/// Those of `out`.
pub fn write_to(
    profile: &Profile,
    options: &TextOptions<'_>,
    out: &mut (dyn Write + Send),
) -> io::Result<Option<Error>> {
    let functions = Selected::of(profile, options.selection).map_err(|_| OutOfMemory)?;
    let symbols = symbols_of(profile, &functions, options.compat).map_err(|_| OutOfMemory)?;
    let source = Source {
        kind: profile.kind,
        temporal: &profile.temporal,
        symbols: &symbols,
        functions: &functions,
        has_plain_names: false,
    };
    write_source(&source, options, out)
}

/// Writes one record as LLVM does (`writeRecordInText` in `InstrProfWriter.cpp`);
/// `symbols` are the names that call targets may be called by.
///
/// # Errors
///
/// Those of `out`.
pub fn write_record(out: &mut dyn Write, name: &[u8], record: RecordView<'_>, symbols: &SymbolTable) -> io::Result<()> {
    let mut text = Vec::new();
    if !RecordFormat::new(&TextOptions::new(Compat::Llvm22), symbols).push(&mut text, name, record, false) {
        return Err(OutOfMemory.into());
    }
    out.write_all(&text)
}

/// What a text is made of.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    /// Variant bits.
    pub kind: ProfileKind,
    /// Traces of first execution.
    pub temporal: &'a TemporalProfile,
    /// Names that call targets and functions of traces may be called by.
    pub symbols: &'a SymbolTable,
    /// Those that are written, in the order of their names.
    pub functions: &'a dyn Functions,
    /// Every name, of vtables too, is known to be [plain](is_plain_name).
    pub has_plain_names: bool,
}

/// As [`write_to`], from wherever the functions are; what `options` select has been selected.
///
/// # Errors
///
/// Those of `out`.
pub(crate) fn write_source(
    source: &Source<'_>,
    options: &TextOptions<'_>,
    out: &mut (dyn Write + Send),
) -> io::Result<Option<Error>> {
    let content = Content { source: *source, options, fixes: options.compat.fixes_text_output() };
    let mut head = Vec::new();
    content.push_flags(&mut head);
    if content.needs_name_form() {
        head.extend_from_slice(directive::COLON_NAMES);
        head.push(b'\n');
    }
    if !content.fixes && source.functions.len() != 0 && source.functions.name(0).is_empty() {
        out.write_all(&head)?;
        return Ok(Some(Error::malformed("a function has an empty name").with_llvm_detail("symbol name is empty")));
    }
    if options.has_traces() && source.kind.contains(ProfileKind::TEMPORAL) {
        content.push_traces(&mut head);
    }
    out.write_all(&head)?;
    content.write_functions(out)?;
    Ok(None)
}

/// Functions that one thread writes at a time.
const BLOCK: usize = 256;

/// What is written, and how.
struct Content<'a> {
    source: Source<'a>,
    options: &'a TextOptions<'a>,
    fixes: bool,
}

impl Content<'_> {
    fn push_flags(&self, out: &mut Vec<u8>) {
        let kind = self.source.kind;
        if kind.is_context_sensitive() {
            out.extend_from_slice(b"# CSIR level Instrumentation Flag\n:csir\n");
        } else if kind.is_ir() {
            out.extend_from_slice(b"# IR level Instrumentation Flag\n:ir\n");
        }
        for (_, lines) in self.options.flags().filter(|(flag, _)| kind.contains(*flag)) {
            out.extend_from_slice(lines.as_bytes());
        }
    }

    /// Whether names that are written for LLVM 17 or earlier may be taken for
    /// those of a later release.
    fn needs_name_form(&self) -> bool {
        let functions = self.source.functions;
        let is_old = self.source.kind.is_ir() && self.options.release < Release(18);
        self.fixes && is_old && (0..functions.len()).any(|at| functions.name(at).contains(&b';'))
    }

    fn push_traces(&self, out: &mut Vec<u8>) {
        let temporal = self.source.temporal;
        out.extend_from_slice(b":temporal_prof_traces\n# Num Temporal Profile Traces:\n");
        push_line(out, temporal.traces.len() as u64);
        out.extend_from_slice(b"# Temporal Profile Trace Stream Size:\n");
        push_line(out, temporal.stream_size);
        for trace in &temporal.traces {
            self.push_trace(out, trace);
        }
        out.push(b'\n');
    }

    fn push_trace(&self, out: &mut Vec<u8>, trace: &TemporalTrace) {
        out.extend_from_slice(b"# Weight:\n");
        push_line(out, trace.weight);
        let speakable = |name: &[u8]| is_speakable_target(name) && !name.contains(&b',') && trim(name) == name;
        if self.fixes && !trace.functions.iter().all(|hash| self.source.symbols.name(*hash).is_some_and(speakable)) {
            out.extend_from_slice(directive::FUNCTIONS);
            for hash in &trace.functions {
                push_hex(out, *hash);
                out.push(b',');
            }
            out.push(b'\n');
        }
        // A name that begins a comment or ends the line would take the line away.
        let keeps = |name: &&[u8]| !self.fixes || speakable(name);
        for hash in &trace.functions {
            out.extend_from_slice(self.source.symbols.name(*hash).filter(keeps).unwrap_or_default());
            out.push(b',');
        }
        out.push(b'\n');
    }

    fn write_functions(&self, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let functions = self.source.functions;
        let format = RecordFormat::new(self.options, self.source.symbols).names_are_plain(self.source.has_plain_names);
        let fixes = if self.fixes && !self.source.has_plain_names { self.find_fixes()? } else { Vec::new() };
        let make = |block: usize, text: &mut Vec<u8>| {
            for at in block * BLOCK..functions.len().min((block + 1) * BLOCK) {
                self.push_function(text, format, at, fixes.get(at).copied().unwrap_or_default())?;
            }
            Ok(())
        };
        let threads = self.options.threads.map_or(1, NonZeroUsize::get);
        write_in_order(functions.len().div_ceil(BLOCK), threads, &make, out)
    }

    /// What each function needs so that it is read as it is.
    fn find_fixes(&self) -> io::Result<Vec<ReadbackFixes>> {
        let functions = self.source.functions;
        let mut place = NamePlace::default();
        let hides = (0..functions.len()).map(|at| place.hides(functions.name(at), functions.has_several_records(at)));
        let fixes = hides.map(|is_hidden| ReadbackFixes { is_hidden, dollar_follows: false });
        let mut fixes = memory::collect(fixes, HOLD_OUTPUT).map_err(|_| OutOfMemory)?;
        // What follows for us, and for LLVM, which does not see hidden records.
        let (mut next, mut next_visible) = (false, false);
        for (at, mend) in fixes.iter_mut().enumerate().rev() {
            mend.dollar_follows = next || next_visible;
            next = functions.name(at).starts_with(b"$");
            if !mend.is_hidden {
                next_visible = next;
            }
        }
        Ok(fixes)
    }

    fn push_function(
        &self,
        out: &mut Vec<u8>,
        format: RecordFormat<'_>,
        at: usize,
        fixes: ReadbackFixes,
    ) -> io::Result<()> {
        let name = self.source.functions.name(at);
        let mut has_room = true;
        self.source.functions.each_record(at, &mut |record, is_last| {
            let start = out.len();
            let dollar_follows = if is_last { fixes.dollar_follows } else { name.starts_with(b"$") };
            has_room = has_room && format.push(out, name, record, dollar_follows);
            if has_room && fixes.is_hidden {
                has_room = hide(out, start, name);
            }
        });
        if has_room { Ok(()) } else { Err(OutOfMemory.into()) }
    }
}

/// What has to be done so that a function is read as it is.
#[derive(Debug, Clone, Copy, Default)]
struct ReadbackFixes {
    /// Its records are hidden from LLVM.
    is_hidden: bool,
    /// The name of the next function begins with `$`.
    dollar_follows: bool,
}
