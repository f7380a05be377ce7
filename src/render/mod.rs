//! Reports as self-contained HTML pages, flame graphs as SVG. Knows tables and stacks, and no family of profiles.
//!
//! ```text
//! StackTable ─▶ FlameGraph ─▶ svg
//!                   │
//! tables, facts ─▶ Report ──▶ html   (style, script and data inside, no network)
//! ```
//!
//! Families make reports of their profiles in their `draw` modules.
//!
//! All text from a profile is escaped. Scripts and styles are in `assets/`. The colors are distinguishable with color
//! blindness (the palette of Okabe and Ito; blue and orange for differences), in light and dark mode.

use std::cmp::Reverse;

mod flame;
mod html;
mod label;
pub(crate) mod sections;
mod svg;

use crate::names::demangle_text;

pub use flame::{FlameGraph, FlameLabels, FlameNode, FrameColor, Totals};
pub use html::write_html;
pub use svg::{SvgOptions, least_hits, write_svg};

/// A report: what a profile is and what it shows.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Report {
    /// The page's heading.
    pub title: String,
    /// Properties of the file, as pairs of label and value.
    pub facts: Vec<(String, String)>,
    /// How far the statistics can be trusted.
    pub notes: Vec<String>,
    /// The sections, in order.
    pub sections: Vec<Section>,
}

impl Report {
    /// Shortens each table to this number of rows, and counts the others as left out.
    pub(crate) fn keep_rows(&mut self, rows: usize) {
        for section in &mut self.sections {
            if let Section::Table(table) = section {
                table.left_out += table.rows.len().saturating_sub(rows);
                table.rows.truncate(rows);
            }
        }
    }

    /// Demangles the names of C++ and Rust functions in tables and flame graphs.
    pub(crate) fn demangle(&mut self) {
        let readable = |text: &mut String| *text = demangle_text(text, |name| name);
        self.notes.iter_mut().for_each(readable);
        for section in &mut self.sections {
            match section {
                Section::Table(table) => table.rows.iter_mut().flatten().for_each(|cell| {
                    if let Cell::Text(text) = cell {
                        readable(text);
                    }
                }),
                Section::Flame(graph) => graph.demangle(),
                Section::Histogram(_) => {}
            }
        }
    }
}

/// One part of a report.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Section {
    /// Rows and columns.
    Table(Table),
    /// The number of items by the size of their counts.
    Histogram(Histogram),
    /// Stacks.
    Flame(FlameGraph),
}

/// Rows and columns.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Heading.
    pub title: String,
    /// The meaning of the columns, or empty.
    pub text: String,
    /// Headings of the columns.
    pub columns: Vec<&'static str>,
    /// As many cells as columns each.
    pub rows: Vec<Vec<Cell>>,
    /// Rows that are not shown.
    pub left_out: usize,
}

/// A cell of a [`Table`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Cell {
    /// A name or other words.
    Text(String),
    /// A number.
    Count(u128),
    /// Percent, with three decimals.
    Percent(f64),
    /// Percentage points gained or lost.
    Change(f64),
    /// Empty.
    Empty,
}

/// The number of items by the size of their counts.
#[derive(Debug, Clone, Default)]
pub struct Histogram {
    /// Heading.
    pub title: String,
    /// The counted items.
    pub text: String,
    /// Label and number of each class.
    pub rows: Vec<(String, u64)>,
}

/// Rows that a table shows at most.
pub const MAX_ROWS: usize = 500;

impl Table {
    /// A table that keeps the first [`MAX_ROWS`] rows.
    pub fn new(title: &str, text: &str, columns: &[&'static str], rows: Vec<Vec<Cell>>) -> Self {
        let all = rows.len();
        Self::of_largest(title, text, columns, rows, all)
    }

    /// A table that keeps the first [`MAX_ROWS`] rows, which are the first of `all` rows.
    pub(crate) fn of_largest(
        title: &str,
        text: &str,
        columns: &[&'static str],
        mut rows: Vec<Vec<Cell>>,
        all: usize,
    ) -> Self {
        rows.truncate(MAX_ROWS);
        let left_out = all - rows.len();
        Self { title: title.to_string(), text: text.to_string(), columns: columns.to_vec(), rows, left_out }
    }

    /// A table of the [`largest`] items, given with their counts.
    pub(crate) fn of_largest_items<T>(
        title: &str,
        text: &str,
        columns: &[&'static str],
        items: Vec<(u128, T)>,
        name: impl Fn(&T) -> String,
        cells: impl Fn(u128, T, String) -> Vec<Cell>,
    ) -> Self {
        let all = items.len();
        let named = largest(items, |(count, _)| *count, |(_, item)| name(item));
        let rows = named.into_iter().map(|(name, (count, item))| cells(count, item, name)).collect();
        Self::of_largest(title, text, columns, rows, all)
    }
}

/// Returns the first [`MAX_ROWS`] items by descending `total`, then by `name`, with their names. Only items that may be
/// among them are named.
pub(crate) fn largest<T>(
    mut items: Vec<T>,
    total: impl Fn(&T) -> u128,
    name: impl Fn(&T) -> String,
) -> Vec<(String, T)> {
    if items.len() > MAX_ROWS {
        let mut totals: Vec<u128> = items.iter().map(&total).collect();
        let (_, least, _) = totals.select_nth_unstable_by_key(MAX_ROWS - 1, |total| Reverse(*total));
        let least = *least;
        items.retain(|item| total(item) >= least);
    }
    let mut named: Vec<(String, T)> = items.into_iter().map(|item| (name(&item), item)).collect();
    named.sort_by(|a, b| total(&b.1).cmp(&total(&a.1)).then_with(|| a.0.cmp(&b.0)));
    named.truncate(MAX_ROWS);
    named
}

impl Histogram {
    /// Classes by powers of two: 0, 1, 2–3, 4–7 …
    pub(crate) fn by_powers_of_two(title: &str, text: &str, counts: impl Iterator<Item = u64>) -> Self {
        let mut classes = [0u64; 65];
        for count in counts {
            let class = (u64::BITS - count.leading_zeros()) as usize;
            classes[class] += 1;
        }
        let last = classes.iter().rposition(|number| *number > 0);
        let rows = classes.iter().take(last.map_or(0, |last| last + 1)).enumerate();
        let rows = rows.map(|(class, number)| (class_label(class), *number)).collect();
        Self { title: title.to_string(), text: text.to_string(), rows }
    }
}

fn class_label(class: usize) -> String {
    match class {
        0 => "0".to_string(),
        1 => "1".to_string(),
        _ => {
            let low = 1u128 << (class - 1);
            format!("{} – {}", group_digits(low), group_digits(low * 2 - 1))
        }
    }
}

/// A number with commas between thousands.
pub(crate) fn group_digits(number: u128) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests;
