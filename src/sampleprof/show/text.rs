//! Records as text.

use crate::digits::push_decimal;
use crate::number_format::six_significant_digits;
use crate::sampleprof::names::{FunctionName, Names};
use crate::sampleprof::order;
use crate::sampleprof::profile::{SampleProfile, SymbolList, push_title};
use crate::sampleprof::record::{FunctionRecord, LineLocation};
use crate::sampleprof::rules::Rules;
use crate::sampleprof::summary::Summary;
use crate::sampleprof::targets::CallTarget;
use std::io::{self, Write};

/// Text is written in blocks of about so many bytes.
pub(super) const BLOCK: usize = 64 << 10;

/// Lists all functions by falling total.
///
/// # Errors
///
/// Those of `out`.
pub fn write_functions(profile: &SampleProfile, rules: Rules, out: &mut dyn Write) -> io::Result<()> {
    let records = order::written(profile, rules).map_err(|_| io::ErrorKind::OutOfMemory)?;
    write_records(&profile.names, records, rules, out)
}

/// Lists the function of that name, without a context, or an empty record when
/// there is none (as llvm-profdata does).
///
/// # Errors
///
/// Those of `out`.
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

/// Lists records in the order given.
///
/// # Errors
///
/// Those of `out`.
pub fn write_records<'a>(
    names: &Names,
    records: impl IntoIterator<Item = &'a FunctionRecord>,
    rules: Rules,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut printer = Printer { names, rules, text: Vec::new() };
    for record in records {
        printer.function(record);
        if printer.text.len() >= BLOCK {
            out.write_all(&printer.text)?;
            printer.text.clear();
        }
    }
    out.write_all(&printer.text)
}

struct Printer<'a> {
    names: &'a Names,
    rules: Rules,
    text: Vec<u8>,
}

impl Printer<'_> {
    fn say(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    fn number(&mut self, number: u64) {
        push_decimal(&mut self.text, number);
    }

    fn location(&mut self, location: LineLocation) {
        self.number(u64::from(location.line));
        if location.discriminator != 0 {
            self.say(".");
            self.number(u64::from(location.discriminator));
        }
    }

    fn indent(&mut self, width: usize) {
        self.text.resize(self.text.len() + width, b' ');
    }

    fn function(&mut self, record: &FunctionRecord) {
        self.say("Function: ");
        push_title(&mut self.text, self.names, record);
        self.say(": ");
        self.record(record, 0);
    }

    fn record(&mut self, record: &FunctionRecord, indent: usize) {
        if record.checksum != 0 {
            self.say("CFG checksum ");
            self.number(record.checksum);
            self.say("\n");
        }
        for number in [record.total, record.head] {
            self.number(number);
            self.say(", ");
        }
        self.number(record.body.len() as u64);
        self.say(" sampled lines\n");
        self.indent(indent);
        if record.body.is_empty() {
            self.say("No samples collected in the function's body\n");
        } else {
            self.body(record, indent);
        }
        self.indent(indent);
        if record.call_sites.is_empty() {
            self.say("No inlined callsites in this function\n");
        } else {
            self.call_sites(record, indent);
        }
    }

    fn body(&mut self, record: &FunctionRecord, indent: usize) {
        self.say("Samples collected in the function's body {\n");
        for entry in &record.body {
            self.indent(indent + 2);
            self.location(entry.location);
            self.say(": ");
            self.number(entry.samples);
            if !entry.targets.is_empty() {
                self.say(", calls:");
                for target in &*order::targets(self.names, &entry.targets) {
                    self.say(" ");
                    self.count(*target);
                }
            }
            self.say("\n");
            self.vtables(record, entry.location, indent + 2);
        }
        self.indent(indent);
        self.say("}\n");
    }

    fn call_sites(&mut self, record: &FunctionRecord, indent: usize) {
        self.say("Samples collected in inlined callsites {\n");
        let sites = order::call_sites(self.names, record);
        for (at, site) in sites.iter().enumerate() {
            self.indent(indent + 2);
            self.location(site.location);
            self.say(": inlined callee: ");
            self.names.get(site.callee.name).push_to(&mut self.text);
            self.say(": ");
            self.record(&site.callee, indent + 4);
            if sites.get(at + 1).is_none_or(|next| next.location != site.location) {
                self.vtables(record, site.location, indent + 2);
            }
        }
        self.indent(indent);
        self.say("}\n");
    }

    fn vtables(&mut self, record: &FunctionRecord, location: LineLocation, indent: usize) {
        if !self.rules.knows_vtables() {
            return;
        }
        let Ok(at) = record.vtables.binary_search_by_key(&location, |entry| entry.location) else { return };
        self.indent(indent);
        self.location(location);
        self.say(": vtables: ");
        for table in order::tables(self.names, &record.vtables[at].tables) {
            self.count(table);
            self.say(" ");
        }
        self.say("\n");
    }

    fn count(&mut self, target: CallTarget) {
        self.names.get(target.callee).push_to(&mut self.text);
        self.say(":");
        self.number(target.samples);
    }
}

/// Prints totals and the rows of the summary.
///
/// # Errors
///
/// Those of `out`.
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

/// Prints the list of symbols.
///
/// # Errors
///
/// Those of `out`.
pub fn write_symbols(symbols: Option<&SymbolList>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "======== Dump profile symbol list ========")?;
    for symbol in symbols.into_iter().flatten() {
        out.write_all(symbol)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}
