//! The text output of `llvm-profdata show`.

use crate::digits::{push_decimal, push_decimals, push_hex_16, push_padded};
use crate::error::{Error, Result};
use crate::instr::show::ShowOptions;
use crate::instr::show::scan::{Event, SiteCounts, Totals, scan};
use crate::model::{
    Counters, ProfileKind, ProfileReader, ProfileSummary, PseudoCount, RecordStore, RecordView, SymbolTable, ValueKind,
};
use crate::number_format::{push_two_decimals, six_significant_digits};
use crate::threads;
use crate::threads::batch_channel::{BatchSender, User, batch_channel};
use crate::threads::wanted;
use std::io;
use std::io::Write;
use std::thread::ScopedJoinHandle;

/// Writes one record in the text format. The module of that format provides it.
pub type RecordWriter<'a> = &'a dyn Fn(&mut dyn Write, &[u8], RecordView<'_>, &SymbolTable) -> io::Result<()>;

/// Shows a profile as text, byte for byte like llvm-profdata 22.
///
/// Records before a fault are printed. Returns the number of functions that `options` select by name.
///
/// # Errors
///
/// The errors of the reader; I/O if `out` fails; a usage error if the hot list is requested and no cutoff is large
/// enough; nothing found, see [`must_find`](ShowOptions::must_find).
pub fn show(
    reader: &mut dyn ProfileReader,
    options: &ShowOptions,
    write_record: RecordWriter<'_>,
    out: &mut (dyn Write + Send),
) -> Result<u64> {
    let mut page = Page::new(out);
    page.waits = options.must_find;
    let shown = print(reader, options, write_record, &mut page);
    let flushed = page.print();
    shown.and_then(|selected| flushed.map(|()| selected))
}

fn print(
    reader: &mut dyn ProfileReader,
    options: &ShowOptions,
    write_record: RecordWriter<'_>,
    page: &mut Page<'_>,
) -> Result<u64> {
    let is_ir = reader.kind().is_ir();
    if options.only_below_cutoff && !options.text {
        let cutoff = options.value_cutoff;
        printed(writeln!(page.text, "The list of functions with the maximum counter less than {cutoff}:"))?;
    }
    if options.text && is_ir {
        page.text.extend_from_slice(b":ir\n");
    }
    let totals = if can_print(options) {
        print_details(reader, options, page)?
    } else {
        print_events(reader, options, write_record, page)?
    };
    options.require_found(totals.selected).inspect_err(|_| page.text.clear())?;
    if options.text || options.covered {
        return Ok(totals.selected);
    }
    let text = &mut page.text;
    printed(write_totals(&totals, options, text))?;
    if options.hot_functions {
        let threshold = totals.hot_threshold(options)?;
        printed(write_hot(&totals, threshold, text))?;
    }
    printed(write_statistics(&totals, options, text))?;
    printed(write_file_blocks(reader, options, text)?)?;
    Ok(totals.selected)
}

/// Prints the selected records one after the other.
pub(super) fn print_events(
    reader: &mut dyn ProfileReader,
    options: &ShowOptions,
    write_record: RecordWriter<'_>,
    page: &mut Page<'_>,
) -> Result<Totals> {
    let is_ir = reader.kind().is_ir();
    let mut is_first = true;
    scan(reader, options, &mut |event| {
        page.waits &= matches!(event, Event::Covered { .. } | Event::BelowCutoff { .. });
        let text = &mut page.text;
        match event {
            Event::Text { name, record, symbols } => printed(write_record(text, name, record, symbols))?,
            Event::Covered { name } => {
                text.extend_from_slice(name);
                text.push(b'\n');
            }
            Event::BelowCutoff { name, max, sum } => {
                text.extend_from_slice(b"  ");
                text.extend_from_slice(name);
                // The sum of LLVM wraps.
                let sum = sum as u64;
                printed(writeln!(text, ": (Max = {max} Sum = {sum})"))?;
            }
            Event::Details { name, record, symbols } => {
                if std::mem::take(&mut is_first) {
                    text.extend_from_slice(DETAILS_HEADING);
                }
                printed(Details { options, is_ir, symbols }.push(text, name, record))?;
            }
        }
        page.print_if_full()
    })
}

fn write_totals(totals: &Totals, options: &ShowOptions, out: &mut dyn Write) -> io::Result<()> {
    if totals.kind.is_ir() {
        let bit = |bit| u8::from(totals.kind.contains(bit));
        let (entry, loops) = (bit(ProfileKind::ENTRY_FIRST), bit(ProfileKind::LOOP_ENTRIES));
        writeln!(out, "Instrumentation level: IR  entry_first = {entry}  instrument_loop_entries = {loops}")?;
    } else {
        writeln!(out, "Instrumentation level: Front-end")?;
    }
    if options.selects_functions() {
        writeln!(out, "Functions shown: {}", totals.shown)?;
    }
    let summary = &totals.summary;
    writeln!(out, "Total functions: {}", summary.num_functions)?;
    writeln!(out, "Maximum function count: {}", summary.max_function_count)?;
    writeln!(out, "Maximum internal block count: {}", summary.max_internal_count)?;
    writeln!(out, "Total number of blocks: {}", summary.num_counts)?;
    writeln!(out, "Total count: {}", summary.total_count)?;
    if options.value_cutoff > 0 {
        let (cutoff, below) = (options.value_cutoff, totals.below_cutoff);
        let others = u64::from(summary.num_functions).wrapping_sub(below);
        writeln!(out, "Number of functions with maximum count (< {cutoff}): {below}")?;
        writeln!(out, "Number of functions with maximum count (>= {cutoff}): {others}")?;
    }
    if options.top > 0 {
        writeln!(out, "Top {} functions with the largest internal block counts: ", options.top)?;
        for (name, max) in totals.maxima.iter().take(options.top) {
            out.write_all(b"  ")?;
            out.write_all(name)?;
            writeln!(out, ", max count = {max}")?;
        }
    }
    Ok(())
}

fn write_hot(totals: &Totals, threshold: u64, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# Hot count threshold: {threshold}")?;
    for (name, _) in totals.maxima.iter().take_while(|(_, max)| *max >= threshold) {
        out.write_all(name)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn write_statistics(totals: &Totals, options: &ShowOptions, out: &mut dyn Write) -> io::Result<()> {
    let blocks = [
        (options.indirect_call_targets, "indirect call sites", ValueKind::IndirectCallTarget),
        (options.vtables, "vtable", ValueKind::VTableTarget),
        (options.memop_sizes, "memory intrinsic calls sizes", ValueKind::MemOpSize),
    ];
    for (_, heading, kind) in blocks.into_iter().filter(|(shown, ..)| *shown && totals.shown > 0) {
        writeln!(out, "Statistics for {heading} profile:")?;
        write_site_counts(&totals.sites[kind as usize], out)?;
    }
    if options.detailed_summary {
        write_detailed_summary(&totals.summary, out)?;
    }
    Ok(())
}

fn write_site_counts(counts: &SiteCounts, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  Total number of sites: {}", counts.sites)?;
    writeln!(out, "  Total number of sites with values: {}", counts.with_values)?;
    writeln!(out, "  Total number of profiled values: {}", counts.values)?;
    writeln!(out, "  Value sites histogram:\n\tNumTargets, SiteCount")?;
    counts.histogram.iter().try_for_each(|(values, sites)| writeln!(out, "\t{values}, {sites}"))
}

fn write_detailed_summary(summary: &ProfileSummary, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Detailed summary:")?;
    for row in &summary.rows {
        let blocks = row.num_counts;
        let share = match summary.num_counts {
            0 => 0.0,
            all => blocks as f64 * 100.0 / f64::from(all),
        };
        // Single precision, as in LLVM: the last digits of unusual cutoffs depend on it.
        let cutoff = six_significant_digits(f64::from(row.cutoff as f32 / 1e6 * 100.0));
        writeln!(
            out,
            "{blocks} blocks ({share:.2}%) with count >= {} account for {cutoff}% of the total counts.",
            row.min_count
        )?;
    }
    Ok(())
}

/// Writes the blocks about the file: traces, binary ids, version.
fn write_file_blocks(
    reader: &mut dyn ProfileReader,
    options: &ShowOptions,
    out: &mut dyn Write,
) -> Result<io::Result<()>> {
    let mut text: Vec<u8> = Vec::new();
    if options.binary_ids {
        let ids = reader.binary_ids()?;
        if !ids.is_empty() || reader.lists_binary_ids() {
            text.extend_from_slice(b"Binary IDs: \n");
        }
        for id in ids {
            id.iter().for_each(|byte| text.extend_from_slice(format!("{byte:02x}").as_bytes()));
            text.push(b'\n');
        }
    }
    if options.profile_version {
        text.extend_from_slice(format!("Profile version: {}\n", reader.version_word()).as_bytes());
    }
    if options.temporal_traces {
        let temporal = reader.temporal();
        let (samples, seen) = (temporal.traces.len(), temporal.stream_size);
        text.extend_from_slice(format!("Temporal Profile Traces (samples={samples} seen={seen}):\n").as_bytes());
        let symbols = reader.symbols()?;
        for (at, trace) in temporal.traces.iter().enumerate() {
            let (weight, count) = (trace.weight, trace.functions.len());
            text.extend_from_slice(
                format!("  Temporal Profile Trace {at} (weight={weight} count={count}):\n").as_bytes(),
            );
            for id in &trace.functions {
                text.extend_from_slice(b"    ");
                text.extend_from_slice(symbols.name(*id).unwrap_or_default());
                text.push(b'\n');
            }
        }
    }
    Ok(out.write_all(&text))
}

// One thread reads the functions of a large profile while another formats and prints them.

/// The maximum number of pending batches.
const WAITING: usize = 4;

/// Returns true if only functions with details are shown and no names of values are needed, because looking them up
/// would need the reader.
pub(super) fn can_print(options: &ShowOptions) -> bool {
    let only_details = !options.text && !options.covered && !options.only_below_cutoff;
    only_details && !options.shows_names() && wanted(None).get() > 1
}

/// Prints the details of all functions that are shown, in file order.
///
/// # Errors
///
/// The errors of the output, otherwise those of the reader. Records before a fault are printed.
pub(super) fn print_details(
    reader: &mut dyn ProfileReader,
    options: &ShowOptions,
    page: &mut Page<'_>,
) -> Result<Totals> {
    let mut printer = Some(Printer { options, is_ir: reader.kind().is_ir(), is_first: true, page });
    std::thread::scope(|scope| {
        let mut batch = Batch::default();
        // The second thread is started when a batch is full.
        let mut is_alone = false;
        let mut thread: Option<(BatchSender<Batch>, ScopedJoinHandle<'_, Result<()>>)> = None;
        let totals = scan(reader, options, &mut |event| {
            let Event::Details { name, record, .. } = event else { return Ok(()) };
            batch.push(name, record);
            if !batch.is_full() {
                return Ok(());
            }
            if let Some(idle) = printer.take_if(|_| !is_alone) {
                let (maker, user) = batch_channel(WAITING);
                match threads::start_with(scope, idle, move |printer| printer.print_all(&user)) {
                    Ok(started) => thread = Some((maker, started)),
                    Err(idle) => (printer, is_alone) = (Some(idle), true),
                }
            }
            if let Some(printer) = &mut printer {
                let outcome = printer.print(&batch);
                batch.clear();
                return outcome;
            }
            let is_taken = thread.as_ref().is_some_and(|(maker, _)| maker.hand_over(&mut batch));
            batch.clear();
            // The printer reports the error.
            if is_taken { Ok(()) } else { Err(Error::io("cannot write", io::ErrorKind::BrokenPipe.into())) }
        });
        let outcome = match (thread, printer) {
            (Some((maker, thread)), _) => {
                maker.hand_over(&mut batch);
                drop(maker);
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
            (None, Some(mut printer)) => printer.print(&batch),
            (None, None) => Ok(()),
        };
        outcome.and(totals)
    })
}

/// Formats records and prints them.
struct Printer<'a, 'o> {
    options: &'a ShowOptions,
    is_ir: bool,
    is_first: bool,
    page: &'a mut Page<'o>,
}

impl Printer<'_, '_> {
    fn print_all(mut self, batches: &User<Batch>) -> Result<()> {
        let mut batch = Batch::default();
        while batches.exchange(&mut batch) {
            self.print(&batch)?;
        }
        Ok(())
    }

    fn print(&mut self, batch: &Batch) -> Result<()> {
        let nameless = SymbolTable::new();
        let details = Details { options: self.options, is_ir: self.is_ir, symbols: &nameless };
        for (name, record) in batch.records() {
            if std::mem::take(&mut self.is_first) {
                self.page.waits = false;
                self.page.text.extend_from_slice(DETAILS_HEADING);
            }
            printed(details.push(&mut self.page.text, name, record))?;
            self.page.print_if_full()?;
        }
        Ok(())
    }
}

/// Records with their names, copied from a reader.
#[derive(Default)]
struct Batch {
    names: Vec<u8>,
    /// The end of each name.
    ends: Vec<usize>,
    records: RecordStore,
    counters: usize,
}

impl Batch {
    /// The number of records, or of counters, in a full batch.
    const RECORDS: usize = 512;
    const COUNTERS: usize = 1 << 15;

    fn push(&mut self, name: &[u8], record: RecordView<'_>) {
        self.names.extend_from_slice(name);
        self.ends.push(self.names.len());
        self.records.push(record);
        self.counters += record.counters.len();
    }

    fn is_full(&self) -> bool {
        self.ends.len() >= Self::RECORDS || self.counters >= Self::COUNTERS
    }

    fn clear(&mut self) {
        self.names.clear();
        self.ends.clear();
        self.records.clear();
        self.counters = 0;
    }

    fn records(&self) -> impl Iterator<Item = (&[u8], RecordView<'_>)> {
        let mut start = 0;
        self.ends.iter().enumerate().map(move |(at, &end)| {
            let name = &self.names[start..end];
            start = end;
            (name, self.records.record(at))
        })
    }
}

// One function with its counters and values, as `llvm-profdata show` prints it.

/// The heading of the functions with details.
pub(super) const DETAILS_HEADING: &[u8] = b"Counters:\n";

/// The form in which one function is shown.
pub(super) struct Details<'a> {
    pub(super) options: &'a ShowOptions,
    pub(super) is_ir: bool,
    pub(super) symbols: &'a SymbolTable,
}

impl Details<'_> {
    pub(super) fn push(&self, text: &mut Vec<u8>, name: &[u8], record: RecordView<'_>) -> io::Result<()> {
        let options = self.options;
        text.extend_from_slice(b"  ");
        text.extend_from_slice(name);
        text.extend_from_slice(b":\n    Hash: 0x");
        push_hex_16(text, record.func_hash);
        text.extend_from_slice(b"\n    Counters: ");
        push_decimal(text, record.counters.len() as u64);
        match record.pseudo_count() {
            Some(PseudoCount::Hot) => return text.write_all(b"    <PseudoHot>\n"),
            Some(PseudoCount::Warm) => return text.write_all(b"    <PseudoWarm>\n"),
            None => text.push(b'\n'),
        }
        if !self.is_ir {
            writeln!(text, "    Function count: {}", record.counters.first().unwrap_or(0))?;
        }
        let sites = |kind| record.sites(kind).len();
        if options.indirect_call_targets {
            writeln!(text, "    Indirect Call Site Count: {}", sites(ValueKind::IndirectCallTarget))?;
        }
        if options.vtables {
            writeln!(text, "    Number of instrumented vtables: {}", sites(ValueKind::VTableTarget))?;
        }
        let shows_sizes = options.memop_sizes && sites(ValueKind::MemOpSize) > 0;
        if shows_sizes {
            writeln!(text, "    Number of Memory Intrinsics Calls: {}", sites(ValueKind::MemOpSize))?;
        }
        if options.counts {
            self.push_counts(text, record.counters);
            self.push_uniformity(text, record);
        }
        let blocks = [
            (options.indirect_call_targets, "Indirect Target Results", ValueKind::IndirectCallTarget),
            (options.vtables, "VTable Results", ValueKind::VTableTarget),
            (shows_sizes, "Memory Intrinsic Size Results", ValueKind::MemOpSize),
        ];
        for (_, heading, kind) in blocks.into_iter().filter(|(shown, ..)| *shown) {
            writeln!(text, "    {heading}:")?;
            self.push_values(text, record, kind);
        }
        Ok(())
    }

    /// Appends the counts. Front-end profiles show the first counter as the function's count.
    fn push_counts(&self, text: &mut Vec<u8>, counters: Counters<'_>) {
        const SEPARATOR: [u8; 2] = *b", ";
        text.extend_from_slice(b"    Block counts: [");
        let shown = counters.skip(usize::from(!self.is_ir));
        shown.for_each_piece(|counters| push_decimals(text, counters, SEPARATOR));
        if !shown.is_empty() {
            text.truncate(text.len() - SEPARATOR.len());
        }
        text.extend_from_slice(b"]\n");
    }

    /// Appends which blocks most waves of a GPU enter whole, if known.
    fn push_uniformity(&self, text: &mut Vec<u8>, record: RecordView<'_>) {
        if record.uniformity.bits.is_empty() {
            return;
        }
        text.extend_from_slice(b"    Block uniformity: [");
        for counter in usize::from(!self.is_ir)..record.counters.len() {
            let separator = if counter == usize::from(!self.is_ir) { "" } else { ", " };
            text.extend_from_slice(separator.as_bytes());
            let uniform = record.uniformity.is_uniform(counter) == Some(true);
            text.push(if uniform { b'U' } else { b'D' });
        }
        text.extend_from_slice(b"]\n");
    }

    fn push_values(&self, text: &mut Vec<u8>, record: RecordView<'_>, kind: ValueKind) {
        for (index, site) in record.sites(kind).iter().enumerate() {
            let total = site.iter().fold(0u64, |sum, value| sum.wrapping_add(value.count));
            for value in site {
                text.extend_from_slice(b"\t[ ");
                push_padded(text, index as u64, 2);
                text.extend_from_slice(b", ");
                if kind.is_name() {
                    text.extend_from_slice(self.symbols.name(value.value).unwrap_or_default());
                } else {
                    push_padded(text, value.value, 4);
                }
                text.extend_from_slice(b", ");
                // LLVM prints the count as a signed number.
                push_signed(text, value.count.cast_signed());
                let share = if total == 0 { 0.0 } else { value.count as f64 * 100.0 / total as f64 };
                text.extend_from_slice(b" ] (");
                push_two_decimals(text, share);
                text.extend_from_slice(b"%)\n");
            }
        }
    }
}

/// Appends a count, padded to ten characters.
fn push_signed(text: &mut Vec<u8>, count: i64) {
    match u64::try_from(count) {
        Ok(count) => push_padded(text, count, 10),
        Err(_) => text.extend_from_slice(format!("{count:>10}").as_bytes()),
    }
}

// Buffered output.

/// Text that is printed when the buffer is large enough.
pub(super) struct Page<'o> {
    pub(super) text: Vec<u8>,
    /// Whether printing is delayed, because an error may replace the text.
    pub(super) waits: bool,
    out: &'o mut (dyn Write + Send),
}

impl<'o> Page<'o> {
    pub(super) fn new(out: &'o mut (dyn Write + Send)) -> Self {
        Self { text: Vec::new(), waits: false, out }
    }

    /// The number of bytes that are printed at once.
    const ENOUGH: usize = 1 << 16;

    pub(super) fn print_if_full(&mut self) -> Result<()> {
        if self.waits || self.text.len() < Self::ENOUGH { Ok(()) } else { self.print() }
    }

    pub(super) fn print(&mut self) -> Result<()> {
        let written = self.out.write_all(&self.text);
        self.text.clear();
        printed(written)
    }
}

pub(super) fn printed(result: io::Result<()>) -> Result<()> {
    result.map_err(|source| Error::io("cannot write", source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::MemoryReader;
    use crate::model::{FunctionRecord, ProfileKind, ValueCount, ValueKind};
    use std::io::Write;

    /// Returns a profile with the given number of functions, of which some are large, have values or a pseudo count.
    fn profile(functions: usize) -> MemoryReader {
        (0..functions).fold(MemoryReader::new(ProfileKind::IR), |reader, at| {
            let counters = if at % 100 == 99 { 40_000 } else { at % 7 };
            let mut record = FunctionRecord::new(at as u64, (0..counters).map(|count| (count * at) as u64).collect());
            if at % 11 == 3 {
                record.counters.insert(0, u64::MAX);
            }
            if at % 5 == 1 {
                record.sites_mut(ValueKind::MemOpSize).push_site(&[ValueCount { value: 8, count: at as u64 }]);
            }
            reader.record(&format!("function{at}"), record)
        })
    }

    fn options() -> ShowOptions {
        ShowOptions { all_functions: true, counts: true, memop_sizes: true, top: 3, ..ShowOptions::default() }
    }

    fn outcome(totals: Result<Totals>) -> String {
        let facts = |totals: Totals| format!("{} {:?} {:?}", totals.shown, totals.summary, totals.maxima);
        totals.map_or_else(|error| error.to_string(), facts)
    }

    #[test]
    fn two_threads_print_the_output_of_one() {
        let no_text = |_: &mut dyn Write, _: &[u8], _: RecordView<'_>, _: &SymbolTable| Ok(());
        for functions in [0, 1, Batch::RECORDS - 1, Batch::RECORDS, 3000] {
            for fails in [false, true] {
                let reader = || {
                    let mut reader = profile(functions);
                    reader.fails = fails;
                    reader
                };
                let (mut alone, mut together) = (Vec::new(), Vec::new());
                let mut page = Page::new(&mut alone);
                let expected = outcome(print_events(&mut reader(), &options(), &no_text, &mut page));
                page.print().unwrap();
                let mut page = Page::new(&mut together);
                assert_eq!(outcome(print_details(&mut reader(), &options(), &mut page)), expected);
                page.print().unwrap();
                assert!(alone == together, "{functions} functions, fails: {fails}");
                let mut refused = Vec::new();
                let mut page = Page::new(&mut refused);
                let print = || outcome(print_details(&mut reader(), &options(), &mut page));
                assert_eq!(threads::refusal::after(0, print), expected);
                page.print().unwrap();
                assert!(alone == refused, "{functions} functions, fails: {fails}, without a thread");
            }
        }
    }

    #[test]
    fn output_errors_are_returned() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut out = Full;
        let reported = outcome(print_details(&mut profile(5000), &options(), &mut Page::new(&mut out)));
        assert_eq!(reported, Error::io("cannot write", io::ErrorKind::StorageFull.into()).to_string());
    }
}
