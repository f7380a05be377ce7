//! Prints sample profiles as llvm-profdata does.

use super::options::{Rules, SymbolList};
use super::order;
use super::profile::{HOT_CUTOFF, SampleProfile, Summary, push_title};
use super::record::{BodyEntry, CallSite, CallTarget, FunctionName, FunctionRecord, LineLocation, NameId, Names};
use crate::digits::push_decimal;
use crate::number_format::six_significant_digits;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::io::{self, Write};

/// The approximate size of the blocks in which text is written.
const BLOCK: usize = 64 << 10;

/// Lists all functions by falling total.
///
/// # Errors
///
/// The errors of `out`.
pub fn write_functions(profile: &SampleProfile, rules: Rules, out: &mut dyn Write) -> io::Result<()> {
    write_records(&profile.names, order::written(profile, rules), rules, out)
}

/// Lists the function with the given name and no context. Without such a function it lists an empty record, as
/// llvm-profdata does.
///
/// # Errors
///
/// The errors of `out`.
pub fn write_function(profile: &SampleProfile, name: &[u8], rules: Rules, out: &mut dyn Write) -> io::Result<()> {
    let wanted = FunctionName::Text(name);
    let hash = wanted.hash();
    let is_it = |record: &&FunctionRecord| {
        let found = profile.names.get(record.name);
        record.context.is_none() && (found == wanted || found == FunctionName::Hash(hash))
    };
    if let Some(record) = profile.functions.iter().find(is_it) {
        return write_records(&profile.names, [record], rules, out);
    }
    let mut names = Names::default();
    let nameless = FunctionRecord::new(names.insert(FunctionName::Text(b"")));
    write_records(&names, [&nameless], rules, out)
}

/// Lists records in the given order.
///
/// # Errors
///
/// The errors of `out`.
pub fn write_records<'a>(
    names: &Names,
    records: impl IntoIterator<Item = &'a FunctionRecord>,
    rules: Rules,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut printer = TextPrinter { names, rules, text: Vec::new() };
    for record in records {
        printer.function(record);
        if printer.text.len() >= BLOCK {
            out.write_all(&printer.text)?;
            printer.text.clear();
        }
    }
    out.write_all(&printer.text)
}

struct TextPrinter<'a> {
    names: &'a Names,
    rules: Rules,
    text: Vec<u8>,
}

impl TextPrinter<'_> {
    fn push(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    fn number(&mut self, number: u64) {
        push_decimal(&mut self.text, number);
    }

    fn location(&mut self, location: LineLocation) {
        self.number(u64::from(location.line));
        if location.discriminator != 0 {
            self.push(".");
            self.number(u64::from(location.discriminator));
        }
    }

    fn indent(&mut self, width: usize) {
        self.text.resize(self.text.len() + width, b' ');
    }

    fn function(&mut self, record: &FunctionRecord) {
        self.push("Function: ");
        push_title(&mut self.text, self.names, record);
        self.push(": ");
        self.record(record, 0);
    }

    fn record(&mut self, record: &FunctionRecord, indent: usize) {
        if record.checksum != 0 {
            self.push("CFG checksum ");
            self.number(record.checksum);
            self.push("\n");
        }
        for number in [record.total, record.head] {
            self.number(number);
            self.push(", ");
        }
        self.number(record.body.len() as u64);
        self.push(" sampled lines\n");
        self.indent(indent);
        if record.body.is_empty() {
            self.push("No samples collected in the function's body\n");
        } else {
            self.body(record, indent);
        }
        self.indent(indent);
        if record.call_sites.is_empty() {
            self.push("No inlined callsites in this function\n");
        } else {
            self.call_sites(record, indent);
        }
    }

    fn body(&mut self, record: &FunctionRecord, indent: usize) {
        self.push("Samples collected in the function's body {\n");
        for entry in &record.body {
            self.indent(indent + 2);
            self.location(entry.location);
            self.push(": ");
            self.number(entry.samples);
            if !entry.targets.is_empty() {
                self.push(", calls:");
                for target in &*order::targets(self.names, &entry.targets) {
                    self.push(" ");
                    self.count(*target);
                }
            }
            self.push("\n");
            self.vtables(record, entry.location, indent + 2);
        }
        self.indent(indent);
        self.push("}\n");
    }

    fn call_sites(&mut self, record: &FunctionRecord, indent: usize) {
        self.push("Samples collected in inlined callsites {\n");
        let sites = order::call_sites(self.names, record);
        for (at, site) in sites.iter().enumerate() {
            self.indent(indent + 2);
            self.location(site.location);
            self.push(": inlined callee: ");
            self.names.get(site.callee.name).push_to(&mut self.text);
            self.push(": ");
            self.record(&site.callee, indent + 4);
            if sites.get(at + 1).is_none_or(|next| next.location != site.location) {
                self.vtables(record, site.location, indent + 2);
            }
        }
        self.indent(indent);
        self.push("}\n");
    }

    fn vtables(&mut self, record: &FunctionRecord, location: LineLocation, indent: usize) {
        if !self.rules.knows_vtables() {
            return;
        }
        let Ok(at) = record.vtables.binary_search_by_key(&location, |entry| entry.location) else { return };
        self.indent(indent);
        self.location(location);
        self.push(": vtables: ");
        for table in order::tables(self.names, &record.vtables[at].tables) {
            self.count(table);
            self.push(" ");
        }
        self.push("\n");
    }

    fn count(&mut self, target: CallTarget) {
        self.names.get(target.callee).push_to(&mut self.text);
        self.push(":");
        self.number(target.samples);
    }
}

/// Prints the totals and the rows of the summary.
///
/// # Errors
///
/// The errors of `out`.
pub fn write_summary(summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Total functions: {}", summary.functions)?;
    writeln!(out, "Maximum function count: {}", summary.max_head)?;
    writeln!(out, "Maximum internal block count: 0")?;
    writeln!(out, "Total number of blocks: {}", summary.counts)?;
    writeln!(out, "Total count: {}", summary.total)?;
    writeln!(out, "Detailed summary:")?;
    for row in &summary.rows {
        let share = if summary.counts == 0 { 0.0 } else { 100.0 * row.counts as f64 / summary.counts as f64 };
        let cutoff = six_significant_digits(f64::from(row.cutoff) / 10_000.0);
        writeln!(
            out,
            "{} blocks ({share:.2}%) with count >= {} account for {cutoff}% of the total counts.",
            row.counts, row.min_count
        )?;
    }
    Ok(())
}

/// Prints the profile symbol list.
///
/// # Errors
///
/// The errors of `out`.
pub fn write_symbols(symbols: Option<&SymbolList>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "======== Dump profile symbol list ========")?;
    for symbol in symbols.into_iter().flatten() {
        out.write_all(symbol)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Columns at which the parts of a row begin.
const COLUMNS: [usize; 4] = [0, 24, 42, 58];

/// Lists the functions with a hot line location, by falling total and at most `most` of them (0 means all). Functions of
/// equal totals keep the order of the profile.
///
/// # Errors
///
/// The errors of `out`.
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
    // 0 / 0 is not a number, and C prints it with a sign.
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

/// Returns the largest count of a line location, inlined callees included.
fn max_sample(record: &FunctionRecord) -> u64 {
    let own = record.body.iter().map(|entry| entry.samples);
    own.chain(record.call_sites.iter().map(|site| max_sample(&site.callee))).max().unwrap_or_default()
}

/// Writes the parts of a row at their columns, with at least one space between them.
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

/// Writes functions by falling total as a JSON array, at most `most` of them. Bytes of names that are not UTF-8 are
/// replaced.
///
/// # Errors
///
/// The errors of `out`.
pub fn write_json(profile: &SampleProfile, rules: Rules, most: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut printer = JsonPrinter { names: &profile.names, text: Vec::new(), indent: 0, is_first: true };
    printer.open(b'[');
    for record in order::written(profile, rules).into_iter().take(most) {
        printer.item();
        printer.record(record, true);
        if printer.text.len() >= BLOCK {
            out.write_all(&printer.text)?;
            printer.text.clear();
        }
    }
    printer.close(b']');
    printer.text.push(b'\n');
    out.write_all(&printer.text)
}

struct JsonPrinter<'a> {
    names: &'a Names,
    text: Vec<u8>,
    indent: usize,
    /// Whether the array or object that was opened last is still empty.
    is_first: bool,
}

impl JsonPrinter<'_> {
    fn open(&mut self, bracket: u8) {
        self.text.push(bracket);
        self.indent += 2;
        self.is_first = true;
    }

    fn close(&mut self, bracket: u8) {
        self.indent -= 2;
        if !self.is_first {
            self.new_line();
        }
        self.text.push(bracket);
        self.is_first = false;
    }

    fn new_line(&mut self) {
        self.text.push(b'\n');
        self.text.resize(self.text.len() + self.indent, b' ');
    }

    /// Begins a member of an array or an object.
    fn item(&mut self) {
        if !self.is_first {
            self.text.push(b',');
        }
        self.new_line();
        self.is_first = false;
    }

    fn key(&mut self, key: &str) {
        self.item();
        for part in ["\"", key, "\": "] {
            self.text.extend_from_slice(part.as_bytes());
        }
    }

    fn number(&mut self, key: &str, value: u64) {
        self.key(key);
        // LLVM prints numbers above 2^63 - 1 unsigned.
        push_decimal(&mut self.text, value);
    }

    fn name(&mut self, key: &str, name: NameId) {
        self.key(key);
        let name = match self.names.get(name) {
            FunctionName::Text(name) => Cow::Borrowed(name),
            hash => Cow::Owned(hash.to_bytes()),
        };
        self.text.push(b'"');
        if name.iter().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
            self.text.extend_from_slice(&name);
            self.text.push(b'"');
            return;
        }
        for character in String::from_utf8_lossy(&name).chars() {
            let mut bytes = [0; 4];
            match character {
                '"' | '\\' => self.text.extend_from_slice(&[b'\\', character as u8]),
                '\t' => self.text.extend_from_slice(b"\\t"),
                '\n' => self.text.extend_from_slice(b"\\n"),
                '\r' => self.text.extend_from_slice(b"\\r"),
                '\0'..='\x1f' => self.text.extend_from_slice(format!("\\u{:04x}", character as u32).as_bytes()),
                _ => self.text.extend_from_slice(character.encode_utf8(&mut bytes).as_bytes()),
            }
        }
        self.text.push(b'"');
    }

    fn location(&mut self, location: LineLocation) {
        self.number("line", u64::from(location.line));
        if location.discriminator != 0 {
            self.number("discriminator", u64::from(location.discriminator));
        }
    }

    fn record(&mut self, record: &FunctionRecord, is_top: bool) {
        self.open(b'{');
        self.name("name", record.name);
        self.number("total", record.total);
        if is_top {
            self.number("head", record.head);
        }
        if !record.body.is_empty() {
            self.key("body");
            self.open(b'[');
            record.body.iter().for_each(|entry| self.entry(entry));
            self.close(b']');
        }
        if !record.call_sites.is_empty() {
            self.key("callsites");
            self.open(b'[');
            for site in order::call_sites(self.names, record) {
                self.call_site(site);
            }
            self.close(b']');
        }
        self.close(b'}');
    }

    fn entry(&mut self, entry: &BodyEntry) {
        self.item();
        self.open(b'{');
        self.location(entry.location);
        self.number("samples", entry.samples);
        if !entry.targets.is_empty() {
            self.key("calls");
            self.open(b'[');
            for target in &*order::targets(self.names, &entry.targets) {
                self.item();
                self.open(b'{');
                self.name("function", target.callee);
                self.number("samples", target.samples);
                self.close(b'}');
            }
            self.close(b']');
        }
        self.close(b'}');
    }

    fn call_site(&mut self, site: &CallSite) {
        self.item();
        self.open(b'{');
        self.location(site.location);
        self.key("samples");
        self.open(b'[');
        self.item();
        self.record(&site.callee, false);
        self.close(b']');
        self.close(b'}');
    }
}
