//! Functions with hot places.

use crate::sampleprof::profile::SampleProfile;
use crate::sampleprof::record::FunctionRecord;
use crate::sampleprof::summary::{HOT_CUTOFF, Summary};
use std::cmp::Reverse;
use std::io::{self, Write};

/// Columns at which the parts of a row begin.
const COLUMNS: [usize; 4] = [0, 24, 42, 58];

/// Lists the functions that have a place with at least the samples that are hot
/// by the summary, by falling total and at most `most` of them (0 is all).
/// Those of equal totals stay in the order of the profile.
///
/// # Errors
///
/// Those of `out`.
pub fn write_hot_functions(
    profile: &SampleProfile,
    summary: &Summary,
    most: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let hot_row = summary.rows.iter().find(|row| row.cutoff == HOT_CUTOFF);
    let threshold = hot_row.map_or(0, |row| row.min_count);
    let functions = &profile.functions;
    let all = functions.iter().fold(0u64, |sum, record| sum.wrapping_add(record.total));
    let mut hot: Vec<(&FunctionRecord, u64)> = functions.iter().map(|record| (record, max_sample(record))).collect();
    hot.retain(|(_, max)| *max >= threshold);
    hot.sort_by_key(|(record, _)| Reverse(record.total));
    let of_hot = hot.iter().fold(0u64, |sum, (record, _)| sum.wrapping_add(record.total));
    // Nothing of nothing is no number, which C prints with a sign.
    let share = match functions.len() {
        0 => "-nan".to_string(),
        all => format!("{:.2}", hot.len() as f64 / all as f64 * 100.0),
    };
    writeln!(
        out,
        "{} out of {} functions with profile ({share}%) are considered hot functions (max sample >= {threshold}).",
        hot.len(),
        functions.len(),
    )?;
    let share = if all == 0 { 0.0 } else { of_hot as f64 / all as f64 * 100.0 };
    writeln!(out, "{of_hot} out of {all} profile counts ({share:.2}%) are from hot functions.")?;
    write_row(out, [b"Total sample (%)", b"Max sample", b"Entry sample", b"Function name"])?;
    let has_contexts = profile.kind().context_sensitive;
    let shown = if most == 0 { hot.len() } else { most };
    for (record, max) in hot.into_iter().take(shown) {
        let share = if all == 0 { 0.0 } else { record.total as f64 * 100.0 / all as f64 };
        write_row(
            out,
            [
                format!("{} ({share:.2}%)", record.total).as_bytes(),
                max.to_string().as_bytes(),
                record.entry_estimate(has_contexts).to_string().as_bytes(),
                &profile.title(record),
            ],
        )?;
    }
    Ok(())
}

/// The largest count of a place, in inlined callees too.
fn max_sample(record: &FunctionRecord) -> u64 {
    let own = record.body.iter().map(|entry| entry.samples);
    own.chain(record.call_sites.iter().map(|site| max_sample(&site.callee))).max().unwrap_or_default()
}

/// Parts begin at their columns, and a blank behind the part in front at least.
fn write_row(out: &mut dyn Write, parts: [&[u8]; 4]) -> io::Result<()> {
    let mut row = Vec::new();
    for (part, column) in parts.into_iter().zip(COLUMNS) {
        let start = column.max(row.len() + 1);
        row.resize(start, b' ');
        row.extend_from_slice(part);
    }
    row.push(b'\n');
    out.write_all(&row)
}
