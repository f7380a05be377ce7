//! Writing text profiles, byte for byte as `llvm-profdata merge --text`.

use super::lines::escape_name;
use super::numbers::{push_decimal, push_hex};
use super::{EXTERNAL, directive};
use crate::error::Error;
use crate::manner::Manner;
use crate::model::{
    FunctionId, FunctionRecord, FunctionView, Loss, LossKind, Losses, Profile, ProfileKind, Release, Selection,
    SymbolTable, TemporalTrace, ValueKind,
};
use std::borrow::Cow;
use std::io;

/// How a profile is written as text.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct TextOptions<'a> {
    /// Which functions are written.
    pub selection: Selection<'a>,
    /// Whether LLVM's faults are mended; see [`Manner::mends_text_output`].
    pub manner: Manner,
    /// The release that has to read it; older ones know fewer parts.
    pub release: Release,
}

impl<'a> TextOptions<'a> {
    /// Everything, by the rules of `manner`, for release 22.
    pub fn new(manner: Manner) -> Self {
        Self { manner, ..Self::default() }
    }

    /// Writes only what `selection` keeps.
    #[must_use]
    pub fn selection(mut self, selection: Selection<'a>) -> Self {
        self.selection = selection;
        self
    }

    /// Leaves out what a release does not know.
    #[must_use]
    pub fn release(mut self, release: Release) -> Self {
        self.release = release;
        self
    }

    fn has_bitmaps(&self) -> bool {
        self.release >= Release(18)
    }

    fn has_traces(&self) -> bool {
        self.release >= Release(17)
    }

    fn value_kinds(&self) -> &'static [ValueKind] {
        if self.release >= Release(19) { &ValueKind::ALL } else { &ValueKind::ALL[..2] }
    }

    /// Kinds that have a header line of their own, with its two lines.
    fn flags(&self) -> impl Iterator<Item = (ProfileKind, &'static str)> {
        const FLAGS: [(ProfileKind, u32, &str); 3] = [
            (ProfileKind::ENTRY_FIRST, 11, "# Always instrument the function entry block\n:entry_first\n"),
            (ProfileKind::LOOP_ENTRIES, 20, "# Always instrument the loop entry blocks\n:instrument_loop_entries\n"),
            (ProfileKind::BYTE_COVERAGE, 17, "# Instrument block coverage\n:single_byte_coverage\n"),
        ];
        let release = self.release;
        FLAGS.into_iter().filter(move |(_, since, _)| release >= Release(*since)).map(|(kind, _, lines)| (kind, lines))
    }
}

/// A text profile.
#[derive(Debug)]
#[non_exhaustive]
pub struct Written {
    /// The text.
    pub bytes: Vec<u8>,
    /// Why it stops after the flags: in LLVM's manner an empty name ends the
    /// writing, with success.
    pub stopped: Option<Error>,
}

/// Writes a profile as text.
pub fn write(profile: &Profile, options: &TextOptions<'_>) -> Written {
    let mut writer = Writer::new(profile, options);
    writer.write_flags();
    let mends = options.manner.mends_text_output();
    if !mends && writer.functions.first().is_some_and(|id| profile.functions.name(*id).is_empty()) {
        let error = Error::malformed("a function has an empty name").with_llvm_detail("symbol name is empty");
        return Written { bytes: writer.out, stopped: Some(error) };
    }
    if options.has_traces() && profile.kind.contains(ProfileKind::TEMPORAL) {
        writer.write_traces();
    }
    writer.out.reserve(writer.estimate());
    writer.write_functions();
    Written { bytes: writer.out, stopped: None }
}

/// Writes one record as LLVM does (`writeRecordInText` in `InstrProfWriter.cpp`);
/// `symbols` are the names that call targets may be called by.
///
/// # Errors
///
/// Those of `out`.
pub fn write_record(
    out: &mut dyn io::Write,
    name: &[u8],
    record: &FunctionRecord,
    symbols: &SymbolTable,
) -> io::Result<()> {
    let (profile, options) = (Profile::default(), TextOptions::new(Manner::Llvm22));
    let symbols = Cow::Borrowed(symbols);
    let mut writer =
        Writer { profile: &profile, options: &options, functions: Vec::new(), symbols, mends: false, out: Vec::new() };
    writer.write_record(name, record, false);
    out.write_all(&writer.out)
}

/// What text written with these options cannot say of a profile.
pub fn losses(profile: &Profile, options: &TextOptions<'_>) -> Vec<Loss> {
    let mut losses = Losses::new();
    if !options.manner.mends_text_output() {
        count_unsaid_names(&mut losses, profile, options);
    }
    if !options.has_bitmaps() || options.value_kinds().len() < ValueKind::COUNT {
        count_unknown_parts(&mut losses, profile, options);
    }
    losses.add(LossKind::BinaryIds, profile.binary_ids.len() as u64);
    losses.add(LossKind::MemProf, u64::from(profile.memprof.is_some()));
    if !options.has_traces() {
        losses.add(LossKind::TemporalTraces, profile.temporal.traces.len() as u64);
    }
    let flags = options.flags().fold(ProfileKind::IR | ProfileKind::CONTEXT_SENSITIVE, |all, (kind, _)| all | kind);
    let counted = ProfileKind::MEMPROF | ProfileKind::TEMPORAL;
    let unsaid = profile.kind.without(flags | counted).indexed_bits();
    losses.add(LossKind::KindBits, u64::from(unsaid.count_ones()));
    losses.into_vec()
}

/// Counts names that LLVM's text loses: of functions and of targets.
fn count_unsaid_names(losses: &mut Losses, profile: &Profile, options: &TextOptions<'_>) {
    let writer = Writer::new(profile, options);
    let mut place = NamePlace::default();
    for id in &writer.functions {
        let function = profile.functions.function(*id);
        losses.add(LossKind::UnspeakableNames, u64::from(place.hides(function)));
        for record in function.records() {
            for kind in options.value_kinds().iter().filter(|kind| kind.is_name()) {
                let values = record.sites(*kind).values();
                let nameless = values.iter().filter(|v| v.value != 0 && writer.symbols.name(v.value).is_none());
                losses.add(LossKind::TargetNames, nameless.count() as u64);
            }
        }
    }
}

/// Counts parts of records that the release does not know.
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

/// What stands before a name, which decides whether the line reads as one.
#[derive(Debug, Default)]
struct NamePlace {
    /// Some record was written.
    after_record: bool,
    /// Some record was written that LLVM sees.
    after_visible_record: bool,
}

impl NamePlace {
    /// Whether a reader would not take the function's name for a name here, so
    /// that its records have to be hidden from LLVM. Moves on behind them.
    fn hides(&mut self, function: FunctionView<'_>) -> bool {
        let name = function.name();
        let breaks_line = || name.ends_with(b"\r") || name.iter().any(|byte| matches!(byte, b'\n' | 0));
        // After a record, another of the same name too, digits alone are a
        // number of value kinds.
        let after_record = self.after_record || function.records().nth(1).is_some();
        let is_number = || super::numbers::parse_decimal(name).is_some_and(|number| number <= u32::MAX.into());
        let hidden = match name.first() {
            None | Some(b'#') => true,
            Some(b':') if !self.after_visible_record => true,
            Some(_) => breaks_line() || (after_record && is_number()),
        };
        self.after_record = true;
        self.after_visible_record |= !hidden;
        hidden
    }
}

/// Whether a target's name can stand in front of `:COUNT`.
fn is_speakable_target(name: &[u8]) -> bool {
    !name.is_empty()
        && name != EXTERNAL
        && !name.starts_with(b"#")
        && !name.iter().any(|byte| matches!(byte, b'\n' | 0))
}

struct Writer<'a> {
    profile: &'a Profile,
    options: &'a TextOptions<'a>,
    functions: Vec<FunctionId>,
    /// Names that targets and traces may be called by.
    symbols: Cow<'a, SymbolTable>,
    mends: bool,
    out: Vec<u8>,
}

impl<'a> Writer<'a> {
    fn new(profile: &'a Profile, options: &'a TextOptions<'a>) -> Self {
        let table = &profile.functions;
        let mut functions = table.sorted_by_name();
        functions.retain(|id| options.selection.keeps(table.function(*id)));
        let mends = options.manner.mends_text_output();
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
        Self { profile, options, functions, symbols: Cow::Owned(symbols), mends, out: Vec::new() }
    }

    fn write_flags(&mut self) {
        let kind = self.profile.kind;
        if kind.is_context_sensitive() {
            self.out.extend_from_slice(b"# CSIR level Instrumentation Flag\n:csir\n");
        } else if kind.is_ir() {
            self.out.extend_from_slice(b"# IR level Instrumentation Flag\n:ir\n");
        }
        for (_, lines) in self.options.flags().filter(|(flag, _)| kind.contains(*flag)) {
            self.out.extend_from_slice(lines.as_bytes());
        }
    }

    fn write_traces(&mut self) {
        let temporal = &self.profile.temporal;
        self.out.extend_from_slice(b":temporal_prof_traces\n# Num Temporal Profile Traces:\n");
        self.number(temporal.traces.len() as u64);
        self.out.extend_from_slice(b"# Temporal Profile Trace Stream Size:\n");
        self.number(temporal.stream_size);
        for trace in &temporal.traces {
            self.write_trace(trace);
        }
        self.out.push(b'\n');
    }

    fn write_trace(&mut self, trace: &TemporalTrace) {
        self.out.extend_from_slice(b"# Weight:\n");
        self.number(trace.weight);
        let speakable = |name: &[u8]| is_speakable_target(name) && !name.contains(&b',') && name.trim_ascii() == name;
        if self.mends && !trace.functions.iter().all(|hash| self.symbols.name(*hash).is_some_and(speakable)) {
            self.out.extend_from_slice(directive::FUNCTIONS);
            for hash in &trace.functions {
                push_hex(&mut self.out, *hash);
                self.out.push(b',');
            }
            self.out.push(b'\n');
        }
        // A name that begins a comment or ends the line would take the line away.
        let keeps = |name: &&[u8]| !self.mends || speakable(name);
        for hash in &trace.functions {
            self.out.extend_from_slice(self.symbols.name(*hash).filter(keeps).unwrap_or_default());
            self.out.push(b',');
        }
        self.out.push(b'\n');
    }

    /// About how many bytes the records take: six for a count and its line end.
    fn estimate(&self) -> usize {
        let table = &self.profile.functions;
        let of_record = |record: &FunctionRecord| {
            let values: usize = ValueKind::ALL.iter().map(|kind| record.sites(*kind).values_len()).sum();
            100 + 6 * record.counters.len() + 5 * record.bitmap.len() + 40 * values
        };
        let of_function = |id: &FunctionId| {
            let function = table.function(*id);
            function.records().map(|record| function.name().len() + of_record(record)).sum::<usize>()
        };
        self.functions.iter().map(of_function).sum()
    }

    fn write_functions(&mut self) {
        let table = &self.profile.functions;
        let functions = std::mem::take(&mut self.functions);
        let mut place = NamePlace::default();
        let hidden: Vec<bool> = functions.iter().map(|id| self.mends && place.hides(table.function(*id))).collect();
        for (index, id) in functions.iter().enumerate() {
            let name = table.name(*id);
            // What follows for us, and for LLVM, which does not see hidden records.
            let next = index + 1..functions.len();
            let visible = next.clone().find(|next| !hidden[*next]);
            let dollar_next =
                [next.clone().next(), visible].iter().flatten().any(|at| table.name(functions[*at]).starts_with(b"$"));
            let mut records: Vec<&FunctionRecord> = table.function(*id).records().collect();
            records.sort_by_key(|record| record.func_hash);
            for (number, record) in records.iter().enumerate() {
                let last = number + 1 == records.len();
                let start = self.out.len();
                self.write_record(name, record, if last { dollar_next } else { name.starts_with(b"$") });
                if hidden[index] {
                    self.hide(start, name);
                }
            }
        }
    }

    fn write_record(&mut self, name: &[u8], record: &FunctionRecord, dollar_follows: bool) {
        self.out.extend_from_slice(name);
        self.out.extend_from_slice(b"\n# Func Hash:\n");
        self.number(record.func_hash);
        self.out.extend_from_slice(b"# Num Counters:\n");
        self.number(record.counters.len() as u64);
        self.out.extend_from_slice(b"# Counter Values:\n");
        record.counters.iter().for_each(|counter| self.number(*counter));
        if self.options.has_bitmaps() {
            self.write_bitmap(&record.bitmap);
        }
        let has_bitmap = self.options.has_bitmaps() && !record.bitmap.is_empty();
        let has_values = self.write_values(record);
        if self.mends && dollar_follows && !has_bitmap && !has_values {
            self.out.extend_from_slice(b"$0\n");
        }
        self.out.push(b'\n');
    }

    fn write_bitmap(&mut self, bitmap: &[u8]) {
        if bitmap.is_empty() {
            return;
        }
        self.out.extend_from_slice(b"# Num Bitmap Bytes:\n$");
        self.number(bitmap.len() as u64);
        self.out.extend_from_slice(b"# Bitmap Byte Values:\n");
        for &byte in bitmap {
            push_hex(&mut self.out, byte.into());
            self.out.push(b'\n');
        }
        self.out.push(b'\n');
    }

    fn write_values(&mut self, record: &FunctionRecord) -> bool {
        let with_sites = || self.options.value_kinds().iter().filter(|kind| !record.sites(**kind).is_empty());
        let kinds: Vec<ValueKind> = with_sites().copied().collect();
        if kinds.is_empty() {
            return false;
        }
        self.out.extend_from_slice(b"# Num Value Kinds:\n");
        self.number(kinds.len() as u64);
        for kind in kinds {
            let sites = record.sites(kind);
            self.out.extend_from_slice(b"# ValueKind = ");
            self.out.extend_from_slice(kind.label().as_bytes());
            self.out.extend_from_slice(b":\n");
            self.number(kind.number().into());
            self.out.extend_from_slice(b"# NumValueSites:\n");
            self.number(sites.len() as u64);
            for site in sites.iter() {
                self.number(site.len() as u64);
                for v in site {
                    self.write_value(kind, v.value);
                    self.out.push(b':');
                    self.number(v.count);
                }
            }
        }
        true
    }

    fn write_value(&mut self, kind: ValueKind, value: u64) {
        if !kind.is_name() {
            push_decimal(&mut self.out, value);
            return;
        }
        match self.symbols.name(value).filter(|name| !self.mends || is_speakable_target(name)) {
            Some(name) => self.out.extend_from_slice(name),
            None => {
                if self.mends && value != 0 {
                    self.out.extend_from_slice(directive::TARGET);
                    push_hex(&mut self.out, value);
                    self.out.push(b'\n');
                }
                self.out.extend_from_slice(EXTERNAL);
            }
        }
    }

    /// Makes comments of the lines since `start`, the first of which is `name`.
    fn hide(&mut self, start: usize, name: &[u8]) {
        let text = self.out.split_off(start);
        self.out.extend_from_slice(directive::NAME);
        escape_name(&mut self.out, name);
        self.out.push(b'\n');
        let rest = text.get(name.len() + 1..).unwrap_or_default();
        for line in rest.split_inclusive(|byte| *byte == b'\n') {
            if !line.starts_with(b"#") && line != b"\n" {
                self.out.extend_from_slice(directive::HIDDEN);
            }
            self.out.extend_from_slice(line);
        }
    }

    fn number(&mut self, number: u64) {
        push_decimal(&mut self.out, number);
        self.out.push(b'\n');
    }
}

/// Whether the text will call something by its name hash.
fn needs_symbols(profile: &Profile) -> bool {
    let named = |record: &FunctionRecord| {
        ValueKind::ALL.iter().any(|kind| kind.is_name() && record.sites(*kind).values_len() != 0)
    };
    !profile.temporal.traces.is_empty() || profile.functions.iter().any(|function| function.records().any(named))
}
