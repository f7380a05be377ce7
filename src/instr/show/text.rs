//! The text that `llvm-profdata show` prints.

use crate::error::Result;
use crate::instr::show::ShowOptions;
use crate::instr::show::ahead;
use crate::instr::show::details::{DETAILS_HEADING, Details};
use crate::instr::show::page::{Page, printed};
use crate::instr::show::scan::{Event, SiteCounts, Totals, scan};
use crate::model::{ProfileKind, ProfileReader, ProfileSummary, RecordView, SymbolTable, ValueKind};
use crate::number_format::six_significant_digits;
use std::io::{self, Write};

/// Writes one record in the text format; the module of that format provides it.
pub type RecordWriter<'a> = &'a dyn Fn(&mut dyn Write, &[u8], RecordView<'_>, &SymbolTable) -> io::Result<()>;

/// Shows a profile as text, to the byte what llvm-profdata 22 prints.
///
/// What was read before a fault is printed. The answer is how many functions are
/// among those that `options` choose by name.
///
/// # Errors
///
/// Those of the reader; I/O when `out` fails; usage when the hot list is asked
/// for and no cutoff is large enough; nothing found as
/// [`must_find`](ShowOptions::must_find) says.
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
    let totals = if ahead::can_print(options) {
        ahead::print_details(reader, options, page)?
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

/// Prints what is shown of the records, one after the other.
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
        // Single precision, as in LLVM: it shows in the last digits of odd cutoffs.
        let cutoff = six_significant_digits(f64::from(row.cutoff as f32 / 1e6 * 100.0));
        writeln!(
            out,
            "{blocks} blocks ({share:.2}%) with count >= {} account for {cutoff}% of the total counts.",
            row.min_count
        )?;
    }
    Ok(())
}

/// What is known of the file beside its functions.
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
