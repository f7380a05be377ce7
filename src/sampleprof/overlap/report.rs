//! The report as llvm-profdata prints it.

use super::{FunctionOverlap, OverlapReport, Shared};
use crate::compat::Compat;
use std::io::{self, Write};

/// Columns at which the parts of a row begin.
const COLUMNS: [usize; 9] = [0, 15, 30, 43, 53, 67, 81, 96, 111];

fn percent(part: u64, whole: u64) -> f64 {
    if whole > 0 { part as f64 / whole as f64 * 100.0 } else { 0.0 }
}

impl OverlapReport {
    /// Prints the report of two files. When one of them has no samples, only
    /// that is said. llvm-profdata divides by zero where no function or block is hot, and so
    /// does this in its place.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write_text(&self, base: &[u8], test: &[u8], compat: Compat, out: &mut dyn Write) -> io::Result<()> {
        let mut is_empty = false;
        for (name, samples) in [(base, self.samples.base), (test, self.samples.test)] {
            if samples == 0 {
                out.write_all(&[b"Sum of sample counts for profile ", name, b" is 0.\n"].concat())?;
                is_empty = true;
            }
        }
        if is_empty {
            return Ok(());
        }
        out.write_all(b"Profile overlap information for base_profile: ")?;
        out.write_all(&[base, b" and test_profile: ", test, b"\nProgram level:\n"].concat())?;
        self.write_program(out)?;
        for (what, hot) in [("function", &self.hot_functions), ("block", &self.hot_blocks)] {
            let shared = match hot.union {
                0 if compat.is_llvm() => "-nan%".to_string(),
                union => share(hot.overlap, union),
            };
            write_hot(out, what, &shared, hot)?;
        }
        if self.details.is_empty() {
            return Ok(());
        }
        writeln!(out, "Function-level details:")?;
        let titles = [
            "Base weight",
            "Test weight",
            "Similarity",
            "Overlap",
            "Base unique",
            "Test unique",
            "Base samples",
            "Test samples",
            "Function name",
        ];
        write_row(out, &titles.map(|title| title.as_bytes().to_vec()))?;
        self.details.iter().try_for_each(|function| write_function(out, function))
    }

    fn write_program(&self, out: &mut dyn Write) -> io::Result<()> {
        let (samples, functions) = (&self.samples, &self.functions);
        writeln!(out, "  Whole program profile similarity: {:.3}%", self.similarity * 100.0)?;
        writeln!(out, "  Whole program sample overlap: {:.3}%", percent(samples.overlap, samples.union))?;
        let base_unique = percent(samples.base_unique, samples.base);
        writeln!(out, "    percentage of samples unique in base profile: {base_unique:.3}%")?;
        let test_unique = percent(samples.test_unique, samples.test);
        writeln!(out, "    percentage of samples unique in test profile: {test_unique:.3}%")?;
        writeln!(out, "    total samples in base profile: {}", samples.base)?;
        writeln!(out, "    total samples in test profile: {}", samples.test)?;
        writeln!(out, "  Function overlap: {:.3}%", percent(functions.overlap, functions.union))?;
        writeln!(out, "    overlap functions: {}", functions.overlap)?;
        writeln!(out, "    functions unique in base profile: {}", functions.base_unique)?;
        writeln!(out, "    functions unique in test profile: {}", functions.test_unique)
    }
}

fn share(part: u64, whole: u64) -> String {
    format!("{:.3}%", percent(part, whole))
}

fn write_hot(out: &mut dyn Write, what: &str, shared: &str, hot: &Shared) -> io::Result<()> {
    writeln!(out, "  Hot-{what} overlap: {shared}")?;
    writeln!(out, "    overlap hot {what}s: {}", hot.overlap)?;
    writeln!(out, "    hot {what}s unique in base profile: {}", hot.base - hot.overlap)?;
    writeln!(out, "    hot {what}s unique in test profile: {}", hot.test - hot.overlap)
}

fn write_function(out: &mut dyn Write, function: &FunctionOverlap) -> io::Result<()> {
    let samples = &function.samples;
    let share = |value: f64| format!("{value:.2}%").into_bytes();
    write_row(
        out,
        &[
            share(function.base_weight * 100.0),
            share(function.test_weight * 100.0),
            share(function.similarity * 100.0),
            share(percent(samples.overlap, samples.union)),
            share(percent(samples.base_unique, samples.base)),
            share(percent(samples.test_unique, samples.test)),
            samples.base.to_string().into_bytes(),
            samples.test.to_string().into_bytes(),
            function.title.clone(),
        ],
    )
}

/// Parts begin at their columns, and a blank behind the part in front at least.
fn write_row(out: &mut dyn Write, parts: &[Vec<u8>; 9]) -> io::Result<()> {
    let mut row = Vec::new();
    for (part, column) in parts.iter().zip(COLUMNS) {
        if column > 0 {
            row.resize(column.max(row.len() + 1), b' ');
        }
        row.extend_from_slice(part);
    }
    row.push(b'\n');
    out.write_all(&row)
}
