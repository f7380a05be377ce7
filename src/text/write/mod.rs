//! Writing text profiles, byte for byte as `llvm-profdata merge --text`.

mod losses;
mod names;
mod options;
mod record;

pub use losses::losses;
pub use options::TextOptions;

use super::directive;
use super::numbers::push_hex;
use super::parser::trim;
use crate::compat::Compat;
use crate::error::Error;
use crate::instr::{FunctionId, Profile, ProfileKind, RecordView, Release, SymbolTable, TemporalTrace, ValueKind};
use crate::threads::ordered_writer::write_in_order;
use names::{NamePlace, is_speakable_target};
use record::{RecordFormat, hide, push_line};
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
    let content = Content::new(profile, options);
    let mut head = Vec::new();
    push_flags(&mut head, profile.kind, options);
    if content.needs_name_form() {
        head.extend_from_slice(directive::COLON_NAMES);
        head.push(b'\n');
    }
    if !content.mends && content.functions.first().is_some_and(|id| profile.functions.name(*id).is_empty()) {
        out.write_all(&head)?;
        return Ok(Some(Error::malformed("a function has an empty name").with_llvm_detail("symbol name is empty")));
    }
    if options.has_traces() && profile.kind.contains(ProfileKind::TEMPORAL) {
        content.push_traces(&mut head);
    }
    out.write_all(&head)?;
    content.write_functions(out)?;
    Ok(None)
}

/// Writes one record as LLVM does (`writeRecordInText` in `InstrProfWriter.cpp`);
/// `symbols` are the names that call targets may be called by.
///
/// # Errors
///
/// Those of `out`.
pub fn write_record(out: &mut dyn Write, name: &[u8], record: RecordView<'_>, symbols: &SymbolTable) -> io::Result<()> {
    let mut text = Vec::new();
    RecordFormat::new(&TextOptions::new(Compat::Llvm22), symbols).push(&mut text, name, record, false);
    out.write_all(&text)
}

/// A profile that is not in memory as a [`Profile`]: without traces, and with
/// names that are all different and none of them empty.
pub(crate) struct Source<'a> {
    /// Variant bits.
    pub kind: ProfileKind,
    /// Names that call targets may be called by.
    pub symbols: &'a SymbolTable,
    /// Number of functions.
    pub functions: usize,
    /// Hands out the records of a function.
    pub each: &'a HandOut<'a>,
}

/// Hands out the name of a function, which it is given by its place in the order
/// of the names, with each of its records in the order of their FuncHash.
pub(crate) type HandOut<'a> = dyn Fn(usize, &mut dyn FnMut(&[u8], RecordView<'_>)) + Sync + 'a;

impl std::fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("kind", &self.kind).field("functions", &self.functions).finish_non_exhaustive()
    }
}

/// Writes such a profile as [`write()`] writes all of a profile by LLVM's rules.
///
/// # Errors
///
/// Those of `out`.
pub(crate) fn write_source(
    source: &Source<'_>,
    release: Release,
    threads: NonZeroUsize,
    out: &mut (dyn Write + Send),
) -> io::Result<()> {
    let options = TextOptions::new(Compat::Llvm22).release(release);
    let mut head = Vec::new();
    push_flags(&mut head, source.kind, &options);
    out.write_all(&head)?;
    let format = RecordFormat::new(&options, source.symbols);
    let make = |block: usize, text: &mut Vec<u8>| {
        for at in places(block, source.functions) {
            (source.each)(at, &mut |name, record| format.push(text, name, record, false));
        }
    };
    write_in_order(source.functions.div_ceil(BLOCK), threads.get(), &make, out)
}

/// Functions of a block, by their places.
fn places(block: usize, functions: usize) -> std::ops::Range<usize> {
    block * BLOCK..functions.min((block + 1) * BLOCK)
}

fn push_flags(out: &mut Vec<u8>, kind: ProfileKind, options: &TextOptions<'_>) {
    if kind.is_context_sensitive() {
        out.extend_from_slice(b"# CSIR level Instrumentation Flag\n:csir\n");
    } else if kind.is_ir() {
        out.extend_from_slice(b"# IR level Instrumentation Flag\n:ir\n");
    }
    for (_, lines) in options.flags().filter(|(flag, _)| kind.contains(*flag)) {
        out.extend_from_slice(lines.as_bytes());
    }
}

/// Functions that one thread writes at a time.
const BLOCK: usize = 256;

/// What is written.
struct Content<'a> {
    profile: &'a Profile,
    options: &'a TextOptions<'a>,
    /// Those selected, in the order of the text.
    functions: Vec<FunctionId>,
    /// Names that targets and traces may be called by.
    symbols: SymbolTable,
    mends: bool,
}

impl<'a> Content<'a> {
    fn new(profile: &'a Profile, options: &'a TextOptions<'a>) -> Self {
        let table = &profile.functions;
        let mut functions = table.sorted_by_name();
        functions.retain(|id| options.selection.keeps(table.function(*id)));
        let mends = options.compat.mends_text_output();
        let mut symbols = SymbolTable::new();
        if needs_symbols(profile) {
            // LLVM knows the names that it writes; mended text may use all.
            let named: &mut dyn Iterator<Item = FunctionId> =
                if mends { &mut table.iter().map(|f| f.id()) } else { &mut functions.iter().copied() };
            named.for_each(|id| symbols.insert_hashed(table.function(id).name_ref(), table.name(id)));
            profile.vtable_names.iter().for_each(|name| {
                symbols.insert(name);
            });
        }
        Self { profile, options, functions, symbols, mends }
    }

    /// Whether names that are written for LLVM 17 or earlier may be taken for
    /// those of a later release.
    fn needs_name_form(&self) -> bool {
        let has_semicolon = |id: &FunctionId| self.profile.functions.name(*id).contains(&b';');
        let is_old = self.profile.kind.is_ir() && self.options.release < Release(18);
        self.mends && is_old && self.functions.iter().any(has_semicolon)
    }

    fn push_traces(&self, out: &mut Vec<u8>) {
        let temporal = &self.profile.temporal;
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
        if self.mends && !trace.functions.iter().all(|hash| self.symbols.name(*hash).is_some_and(speakable)) {
            out.extend_from_slice(directive::FUNCTIONS);
            for hash in &trace.functions {
                push_hex(out, *hash);
                out.push(b',');
            }
            out.push(b'\n');
        }
        // A name that begins a comment or ends the line would take the line away.
        let keeps = |name: &&[u8]| !self.mends || speakable(name);
        for hash in &trace.functions {
            out.extend_from_slice(self.symbols.name(*hash).filter(keeps).unwrap_or_default());
            out.push(b',');
        }
        out.push(b'\n');
    }

    fn write_functions(&self, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let format = RecordFormat::new(self.options, &self.symbols);
        let mends = if self.mends { self.find_mends() } else { Vec::new() };
        let make = |block: usize, text: &mut Vec<u8>| {
            for at in places(block, self.functions.len()) {
                self.push_function(text, format, self.functions[at], mends.get(at).copied().unwrap_or_default());
            }
        };
        let threads = self.options.threads.map_or(1, NonZeroUsize::get);
        write_in_order(self.functions.len().div_ceil(BLOCK), threads, &make, out)
    }

    /// What each function needs so that it is read as it is.
    fn find_mends(&self) -> Vec<Mends> {
        let table = &self.profile.functions;
        let mut place = NamePlace::default();
        let hides = self.functions.iter().map(|id| place.hides(table.function(*id)));
        let mut mends: Vec<Mends> = hides.map(|is_hidden| Mends { is_hidden, dollar_follows: false }).collect();
        // What follows for us, and for LLVM, which does not see hidden records.
        let (mut next, mut next_visible) = (false, false);
        for (mend, id) in mends.iter_mut().zip(&self.functions).rev() {
            mend.dollar_follows = next || next_visible;
            next = table.name(*id).starts_with(b"$");
            if !mend.is_hidden {
                next_visible = next;
            }
        }
        mends
    }

    fn push_function(&self, out: &mut Vec<u8>, format: RecordFormat<'_>, id: FunctionId, mends: Mends) {
        let function = self.profile.functions.function(id);
        let name = function.name();
        let mut push = |record: RecordView<'_>, dollar_follows: bool| {
            let start = out.len();
            format.push(out, name, record, dollar_follows);
            if mends.is_hidden {
                hide(out, start, name);
            }
        };
        let mut records = function.records();
        if let (Some(only), None) = (records.next(), records.next()) {
            return push(only, mends.dollar_follows);
        }
        let mut records: Vec<RecordView<'_>> = function.records().collect();
        records.sort_by_key(|record| record.func_hash);
        for (number, record) in records.iter().enumerate() {
            let last = number + 1 == records.len();
            push(*record, if last { mends.dollar_follows } else { name.starts_with(b"$") });
        }
    }
}

/// What has to be done so that a function is read as it is.
#[derive(Debug, Clone, Copy, Default)]
struct Mends {
    /// Its records are hidden from LLVM.
    is_hidden: bool,
    /// The name of the next function begins with `$`.
    dollar_follows: bool,
}

/// Whether the text will call something by its name hash.
fn needs_symbols(profile: &Profile) -> bool {
    let named = |record: RecordView<'_>| {
        ValueKind::ALL.iter().any(|kind| kind.is_name() && record.sites(*kind).values_len() != 0)
    };
    !profile.temporal.traces.is_empty() || profile.functions.iter().any(|function| function.records().any(named))
}
