//! Writes text profiles with the bytes of `llvm-profdata merge --text`.
//!
//! Names that LLVM's reader would misread are fixed in profbridge mode: comments, which LLVM skips, contain names,
//! hidden records and hashes.

use super::lines::escape_name;
use super::{EXTERNAL, directive, push_hex};
use crate::ascii::trim;
use crate::compat::Compat;
use crate::digits::{parse_decimal, push_decimal, push_decimals};
use crate::error::Error;
use crate::model::{
    FunctionId, FunctionView, Loss, LossKind, Losses, Profile, ProfileKind, RecordView, Release, Selection,
    SymbolTable, TemporalProfile, TemporalTrace, ValueKind,
};
use crate::threads::ordered_writer::write_in_order;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::ops::Range;

/// A text profile.
#[derive(Debug)]
#[non_exhaustive]
pub struct Written {
    /// The text.
    pub bytes: Vec<u8>,
    /// The reason why the text ends after the flags: in llvm-profdata mode, an empty name ends the text without an
    /// error.
    pub stopped: Option<Error>,
}

/// Writes a profile as text.
pub fn write(profile: &Profile, options: &TextOptions<'_>) -> Written {
    let mut bytes = Vec::new();
    let stopped = write_to(profile, options, &mut bytes).expect("a vector takes every byte");
    Written { bytes, stopped }
}

/// Like [`write()`], but writes block by block; returns [`Written::stopped`].
///
/// # Errors
///
/// The errors of `out`.
pub fn write_to(
    profile: &Profile,
    options: &TextOptions<'_>,
    out: &mut (dyn Write + Send),
) -> io::Result<Option<Error>> {
    let functions = Selected::of(profile, options.selection);
    let symbols = symbols_of(profile, &functions, options.compat);
    let source = Source {
        kind: profile.kind,
        temporal: &profile.temporal,
        symbols: &symbols,
        functions: &functions,
        has_plain_names: false,
    };
    write_source(&source, options, out)
}

/// Writes one record like LLVM (`writeRecordInText` in `InstrProfWriter.cpp`). `symbols` are the names of call targets.
///
/// # Errors
///
/// The errors of `out`.
pub fn write_record(out: &mut dyn Write, name: &[u8], record: RecordView<'_>, symbols: &SymbolTable) -> io::Result<()> {
    let mut text = Vec::new();
    RecordFormat::new(&TextOptions::new(Compat::Llvm22), symbols).push(&mut text, name, record, false);
    out.write_all(&text)
}

/// The content of a text profile.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    /// Variant bits.
    pub kind: ProfileKind,
    /// Temporal traces.
    pub temporal: &'a TemporalProfile,
    /// Names of call targets and of functions in traces.
    pub symbols: &'a SymbolTable,
    /// The functions to write, in the order of their names.
    pub functions: &'a dyn Functions,
    /// Whether every name, also of vtables, is known to be [plain](is_plain_name).
    pub has_plain_names: bool,
}

/// Writes like [`write_to`] from any source; the selection of `options` is already applied.
///
/// # Errors
///
/// The errors of `out`.
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

/// The number of functions that one thread writes at a time.
const BLOCK: usize = 256;

/// The number of functions that are brought near in time.
const AT_ONCE: usize = 16;

/// The content and the options.
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

    /// Returns true if names written for LLVM 17 or earlier could be read as names of a later release.
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
        // A name that starts a comment or contains a line end would break the line.
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
        let fixes = if self.fixes && !self.source.has_plain_names { self.find_fixes() } else { Vec::new() };
        let make = |block: usize, text: &mut Vec<u8>| {
            let end = functions.len().min((block + 1) * BLOCK);
            for start in (block * BLOCK..end).step_by(AT_ONCE) {
                let few = start..end.min(start + AT_ONCE);
                functions.prefetch(few.clone());
                for at in few {
                    self.push_function(text, format, at, fixes.get(at).copied().unwrap_or_default());
                }
            }
            Ok(())
        };
        let threads = self.options.threads.map_or(1, NonZeroUsize::get);
        write_in_order(functions.len().div_ceil(BLOCK), threads, &make, out)
    }

    /// Returns the fixes of each function that would otherwise be misread.
    fn find_fixes(&self) -> Vec<ReadbackFixes> {
        let functions = self.source.functions;
        let mut place = NamePlace::default();
        let hides = (0..functions.len()).map(|at| place.hides(functions.name(at), functions.has_several_records(at)));
        let fixes = hides.map(|is_hidden| ReadbackFixes { is_hidden, dollar_follows: false });
        let mut fixes: Vec<ReadbackFixes> = fixes.collect();
        // The next function for profbridge, and for LLVM, which does not see hidden records.
        let (mut next, mut next_visible) = (false, false);
        for (at, fix) in fixes.iter_mut().enumerate().rev() {
            fix.dollar_follows = next || next_visible;
            next = functions.name(at).starts_with(b"$");
            if !fix.is_hidden {
                next_visible = next;
            }
        }
        fixes
    }

    fn push_function(&self, out: &mut Vec<u8>, format: RecordFormat<'_>, at: usize, fixes: ReadbackFixes) {
        let name = self.source.functions.name(at);
        self.source.functions.each_record(at, &mut |record, is_last| {
            let start = out.len();
            let dollar_follows = if is_last { fixes.dollar_follows } else { name.starts_with(b"$") };
            format.push(out, name, record, dollar_follows);
            if fixes.is_hidden {
                hide(out, start, name);
            }
        });
    }
}

/// The fixes of a function that would otherwise be misread.
#[derive(Debug, Clone, Copy, Default)]
struct ReadbackFixes {
    /// Whether its records are hidden from LLVM.
    is_hidden: bool,
    /// Whether the name of the next function starts with `$`.
    dollar_follows: bool,
}

/// Options of the text writer.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct TextOptions<'a> {
    /// The functions to write.
    pub selection: Selection<'a>,
    /// Whether to fix the faults of LLVM's text format; see `Compat::fixes_text_output`.
    pub compat: Compat,
    /// The target release. Older releases support fewer parts.
    pub release: Release,
    /// The number of threads; `None` is one. The text does not depend on it.
    pub threads: Option<NonZeroUsize>,
}

impl<'a> TextOptions<'a> {
    /// Returns options for all functions and release 22.
    pub fn new(compat: Compat) -> Self {
        Self { compat, ..Self::default() }
    }

    /// Writes only what `selection` keeps.
    #[must_use]
    pub fn selection(mut self, selection: Selection<'a>) -> Self {
        self.selection = selection;
        self
    }

    /// Drops the parts that a release does not support.
    #[must_use]
    pub fn release(mut self, release: Release) -> Self {
        self.release = release;
        self
    }

    /// Writes with several threads.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = Some(threads);
        self
    }

    pub(super) fn has_bitmaps(&self) -> bool {
        self.release >= Release(18)
    }

    pub(super) fn has_traces(&self) -> bool {
        self.release >= Release(17)
    }

    pub(super) fn value_kinds(&self) -> &'static [ValueKind] {
        if self.release >= Release(19) { &ValueKind::EACH } else { &ValueKind::EACH[..2] }
    }

    /// Returns the kinds with a header line, with their two lines.
    pub(super) fn flags(&self) -> impl Iterator<Item = (ProfileKind, &'static str)> {
        const FLAGS: [(ProfileKind, u32, &str); 3] = [
            (ProfileKind::ENTRY_FIRST, 12, "# Always instrument the function entry block\n:entry_first\n"),
            (ProfileKind::LOOP_ENTRIES, 20, "# Always instrument the loop entry blocks\n:instrument_loop_entries\n"),
            (ProfileKind::BYTE_COVERAGE, 18, "# Instrument block coverage\n:single_byte_coverage\n"),
        ];
        let release = self.release;
        FLAGS.into_iter().filter(move |(_, since, _)| release >= Release(*since)).map(|(kind, _, lines)| (kind, lines))
    }
}

/// Functions in the order of their names, from any source.
pub(crate) trait Functions: Sync {
    /// Returns the number of functions.
    fn len(&self) -> usize;

    /// Returns the name of the function with this index.
    fn name(&self, at: usize) -> &[u8];

    /// Returns true if the function has more than one record.
    fn has_several_records(&self, at: usize) -> bool;

    /// Passes its records to `push` in the order of their FuncHash, and whether each is the last one.
    fn each_record(&self, at: usize, push: &mut dyn FnMut(RecordView<'_>, bool));

    /// Touches functions that are all over the memory back to back, so that their cache misses overlap.
    fn prefetch(&self, _functions: Range<usize>) {}
}

/// The selected functions of a profile in memory.
pub(super) struct Selected<'a> {
    profile: &'a Profile,
    ids: Vec<FunctionId>,
}

impl<'a> Selected<'a> {
    /// Selects functions.
    fn of(profile: &'a Profile, selection: Selection<'_>) -> Self {
        let mut ids = profile.functions.sorted_by_name();
        ids.retain(|id| selection.keeps(profile.functions.function(*id)));
        Self { profile, ids }
    }

    fn function(&self, at: usize) -> FunctionView<'a> {
        self.profile.functions.function(self.ids[at])
    }

    /// Returns the functions in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = FunctionView<'a>> {
        (0..self.ids.len()).map(|at| self.function(at))
    }
}

impl Functions for Selected<'_> {
    fn len(&self) -> usize {
        self.ids.len()
    }

    fn name(&self, at: usize) -> &[u8] {
        self.profile.functions.name(self.ids[at])
    }

    fn has_several_records(&self, at: usize) -> bool {
        self.function(at).records().nth(1).is_some()
    }

    fn each_record(&self, at: usize, push: &mut dyn FnMut(RecordView<'_>, bool)) {
        let function = self.function(at);
        let mut records = function.records();
        if let (Some(only), None) = (records.next(), records.next()) {
            return push(only, true);
        }
        let mut records: Vec<RecordView<'_>> = function.records().collect();
        records.sort_by_key(|record| record.func_hash);
        for (number, record) in records.iter().enumerate() {
            push(*record, number + 1 == records.len());
        }
    }
}

/// Collects the names of call targets and of functions in traces. LLVM knows only the names that it writes; in
/// profbridge mode all names are used. Empty if the text needs no names for hashes.
fn symbols_of(profile: &Profile, functions: &Selected<'_>, compat: Compat) -> SymbolTable {
    let mut symbols = SymbolTable::new();
    if !needs_symbols(profile) {
        return symbols;
    }
    let mut insert = |function: FunctionView<'_>| symbols.insert_hashed(function.name_ref(), function.name());
    if compat.fixes_text_output() {
        profile.functions.iter().for_each(&mut insert);
    } else {
        functions.iter().for_each(&mut insert);
    }
    for name in &profile.vtable_names {
        symbols.insert(name);
    }
    symbols
}

/// Returns true if the text must name an item of which the profile stores the hash only.
fn needs_symbols(profile: &Profile) -> bool {
    let named = |record: RecordView<'_>| {
        ValueKind::EACH.iter().any(|kind| kind.is_name() && record.sites(*kind).values_len() != 0)
    };
    !profile.temporal.traces.is_empty() || profile.functions.iter().any(|function| function.records().any(named))
}

/// The length of the longest number with its line end.
const LONGEST_NUMBER: usize = 21;
/// The length of the comments between the lists of a record.
const COMMENTS: usize = 512;

/// Settings for the format of records.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordFormat<'a> {
    /// Names of targets.
    symbols: &'a SymbolTable,
    kinds: &'static [ValueKind],
    has_bitmaps: bool,
    fixes: bool,
    /// Whether all names are known to be plain.
    names_are_plain: bool,
}

impl<'a> RecordFormat<'a> {
    pub(super) fn new(options: &TextOptions<'_>, symbols: &'a SymbolTable) -> Self {
        Self {
            symbols,
            kinds: options.value_kinds(),
            has_bitmaps: options.has_bitmaps(),
            fixes: options.compat.fixes_text_output(),
            names_are_plain: false,
        }
    }

    /// Sets whether all names of targets are known to be plain.
    pub(super) fn names_are_plain(self, names_are_plain: bool) -> Self {
        Self { names_are_plain, ..self }
    }

    /// Appends a record. `dollar_follows` states that the next line may start with `$` and is not a bitmap.
    fn push(self, out: &mut Vec<u8>, name: &[u8], record: RecordView<'_>, dollar_follows: bool) {
        let numbers = record.counters.len() + record.bitmap.len();
        out.reserve(numbers * LONGEST_NUMBER + name.len() + COMMENTS);
        out.extend_from_slice(name);
        out.extend_from_slice(b"\n# Func Hash:\n");
        push_line(out, record.func_hash);
        out.extend_from_slice(b"# Num Counters:\n");
        push_line(out, record.counters.len() as u64);
        out.extend_from_slice(b"# Counter Values:\n");
        record.counters.for_each_piece(|counters| push_decimals(out, counters, *b"\n"));
        let has_bitmap = self.has_bitmaps && !record.bitmap.is_empty();
        if has_bitmap {
            push_bitmap(out, record.bitmap);
        }
        let has_values = self.push_values(out, record);
        if self.fixes && dollar_follows && !has_bitmap && !has_values {
            out.extend_from_slice(b"$0\n");
        }
        out.push(b'\n');
    }

    /// Appends the values. Returns true if there are any.
    fn push_values(self, out: &mut Vec<u8>, record: RecordView<'_>) -> bool {
        let with_sites = || self.kinds.iter().copied().filter(|kind| !record.sites(*kind).is_empty());
        let kinds = with_sites().count();
        if kinds == 0 {
            return false;
        }
        out.extend_from_slice(b"# Num Value Kinds:\n");
        push_line(out, kinds as u64);
        for kind in with_sites() {
            let sites = record.sites(kind);
            out.extend_from_slice(b"# ValueKind = ");
            out.extend_from_slice(kind.label().as_bytes());
            out.extend_from_slice(b":\n");
            push_line(out, kind.number().into());
            out.extend_from_slice(b"# NumValueSites:\n");
            push_line(out, sites.len() as u64);
            for site in sites.iter() {
                push_line(out, site.len() as u64);
                for v in site {
                    self.push_value(out, kind, v.value);
                    out.push(b':');
                    push_line(out, v.count);
                }
            }
        }
        true
    }

    fn push_value(self, out: &mut Vec<u8>, kind: ValueKind, value: u64) {
        if !kind.is_name() {
            push_decimal(out, value);
            return;
        }
        match self.symbols.name(value).filter(|name| !self.fixes || self.names_are_plain || is_speakable_target(name)) {
            Some(name) => out.extend_from_slice(name),
            None => {
                if self.fixes && value != 0 {
                    out.extend_from_slice(directive::TARGET);
                    push_hex(out, value);
                    out.push(b'\n');
                }
                out.extend_from_slice(EXTERNAL);
            }
        }
    }
}

/// Appends a number and a line end.
pub(super) fn push_line(out: &mut Vec<u8>, number: u64) {
    push_decimals(out, &[number], *b"\n");
}

fn push_bitmap(out: &mut Vec<u8>, bitmap: &[u8]) {
    out.extend_from_slice(b"# Num Bitmap Bytes:\n$");
    push_line(out, bitmap.len() as u64);
    out.extend_from_slice(b"# Bitmap Byte Values:\n");
    for &byte in bitmap {
        push_hex(out, byte.into());
        out.push(b'\n');
    }
    out.push(b'\n');
}

/// Turns the lines starting at `start` into comments. The first line is `name`.
fn hide(out: &mut Vec<u8>, start: usize, name: &[u8]) {
    let text = out.split_off(start);
    out.extend_from_slice(directive::NAME);
    escape_name(out, name);
    out.push(b'\n');
    let rest = text.get(name.len() + 1..).unwrap_or_default();
    for line in rest.split_inclusive(|byte| *byte == b'\n') {
        if !line.starts_with(b"#") && line != b"\n" {
            out.extend_from_slice(directive::HIDDEN);
        }
        out.extend_from_slice(line);
    }
}

/// The lines before a name, which determine whether a reader treats it as a name.
#[derive(Debug, Default)]
pub(super) struct NamePlace {
    /// Whether a record was written.
    after_record: bool,
    /// Whether a record was written that LLVM sees.
    after_visible_record: bool,
}

impl NamePlace {
    /// Returns true if a reader would not treat a function's name as a name here, so that its records must be hidden
    /// from LLVM. Updates the state.
    pub(super) fn hides(&mut self, name: &[u8], has_several_records: bool) -> bool {
        // After a record, also of the same name, a line of digits is the number of value kinds.
        let after_record = self.after_record || has_several_records;
        let hidden = match name.first() {
            None | Some(b'#') => true,
            Some(b':') if !self.after_visible_record => true,
            Some(_) => breaks_line(name) || (after_record && is_number(name)),
        };
        self.after_record = true;
        self.after_visible_record |= !hidden;
        hidden
    }
}

/// Returns true if a name can be written unchanged anywhere in a text, also as a target.
pub(crate) fn is_plain_name(name: &[u8]) -> bool {
    let begins_plainly = name.first().is_some_and(|first| !matches!(first, b'#' | b':' | b'$'));
    begins_plainly && !breaks_line(name) && !is_number(name) && name != EXTERNAL
}

fn breaks_line(name: &[u8]) -> bool {
    name.ends_with(b"\r") || name.iter().any(|byte| matches!(byte, b'\n' | 0))
}

fn is_number(name: &[u8]) -> bool {
    parse_decimal(name).is_some_and(|number| number <= u32::MAX.into())
}

/// Returns true if a target's name can be written before `:COUNT`.
fn is_speakable_target(name: &[u8]) -> bool {
    !name.is_empty()
        && name != EXTERNAL
        && !name.starts_with(b"#")
        && !name.iter().any(|byte| matches!(byte, b'\n' | 0))
}

/// Returns the losses of writing a profile as text with these options.
pub fn losses(profile: &Profile, options: &TextOptions<'_>) -> Vec<Loss> {
    let mut losses = Losses::new();
    if !options.compat.fixes_text_output() {
        count_unrepresentable_names(&mut losses, profile, options);
    }
    if !options.has_bitmaps() || options.value_kinds().len() < ValueKind::COUNT {
        count_unknown_parts(&mut losses, profile, options);
    }
    let kept = |function: FunctionView<'_>| options.selection.keeps(function);
    losses.add(LossKind::UniformityBits, profile.functions.uniformity_bits(kept));
    losses.add(LossKind::BinaryIds, profile.binary_ids.len() as u64);
    losses.add(LossKind::MemProf, u64::from(profile.memprof.is_some()));
    if !options.has_traces() {
        losses.add(LossKind::TemporalTraces, profile.temporal.traces.len() as u64);
    }
    let flags = options.flags().fold(ProfileKind::IR | ProfileKind::CONTEXT_SENSITIVE, |all, (kind, _)| all | kind);
    let counted = ProfileKind::MEMPROF | ProfileKind::TEMPORAL;
    let unrepresentable = profile.kind.without(flags | counted).indexed_bits();
    losses.add_properties(ProfileKind::from_bits(unrepresentable));
    losses.into_vec()
}

/// Counts names of functions and targets that LLVM's text format loses.
fn count_unrepresentable_names(losses: &mut Losses, profile: &Profile, options: &TextOptions<'_>) {
    let functions = Selected::of(profile, options.selection);
    let symbols = symbols_of(profile, &functions, options.compat);
    let mut place = NamePlace::default();
    for (at, function) in functions.iter().enumerate() {
        let is_hidden = place.hides(function.name(), functions.has_several_records(at));
        losses.add(LossKind::UnrepresentableNames, u64::from(is_hidden));
        for record in function.records() {
            for kind in options.value_kinds().iter().filter(|kind| kind.is_name()) {
                let values = record.sites(*kind).values();
                let nameless = values.iter().filter(|v| v.value != 0 && symbols.name(v.value).is_none());
                losses.add(LossKind::TargetNames, nameless.count() as u64);
            }
        }
    }
}

/// Counts parts of records that the release does not support.
fn count_unknown_parts(losses: &mut Losses, profile: &Profile, options: &TextOptions<'_>) {
    for function in profile.functions.iter().filter(|function| options.selection.keeps(*function)) {
        for record in function.records() {
            if !options.has_bitmaps() {
                losses.add(LossKind::BitmapBytes, record.bitmap.len() as u64);
            }
            if !options.value_kinds().contains(&ValueKind::VTableTarget) {
                losses.add(LossKind::VTableSites, record.sites(ValueKind::VTableTarget).len() as u64);
            }
        }
    }
}
