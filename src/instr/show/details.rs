//! One function with its counters and values, as `llvm-profdata show` prints it.

use crate::digits::{push_decimal, push_decimals, push_hex_16, push_padded};
use crate::instr::show::ShowOptions;
use crate::model::{Counters, PseudoCount, RecordView, SymbolTable, ValueKind};
use crate::number_format::push_two_decimals;
use std::io::{self, Write};

/// What stands before the first function with details.
pub(super) const DETAILS_HEADING: &[u8] = b"Counters:\n";

/// How one function is shown.
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

    /// Front-end profiles show the first counter as the function's count.
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

    /// Which blocks the waves of a GPU mostly enter whole, where that is known.
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
