//! One record as text.

use super::names::is_speakable_target;
use super::options::TextOptions;
use crate::digits::{push_decimal, push_decimals};
use crate::instr::{RecordView, SymbolTable, ValueKind};
use crate::text::lines::escape_name;
use crate::text::numbers::push_hex;
use crate::text::{EXTERNAL, directive};

/// How records are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordFormat<'a> {
    /// Names that targets may be called by.
    symbols: &'a SymbolTable,
    kinds: &'static [ValueKind],
    has_bitmaps: bool,
    mends: bool,
    /// No name has to be looked at.
    names_are_plain: bool,
}

impl<'a> RecordFormat<'a> {
    pub(super) fn new(options: &TextOptions<'_>, symbols: &'a SymbolTable) -> Self {
        Self {
            symbols,
            kinds: options.value_kinds(),
            has_bitmaps: options.has_bitmaps(),
            mends: options.compat.mends_text_output(),
            names_are_plain: false,
        }
    }

    /// Whether all names that targets may be called by are known to be plain.
    pub(super) fn names_are_plain(self, names_are_plain: bool) -> Self {
        Self { names_are_plain, ..self }
    }

    /// Appends a record; `dollar_follows` says whether the next line may begin
    /// with `$` and is no bitmap.
    pub(super) fn push(self, out: &mut Vec<u8>, name: &[u8], record: RecordView<'_>, dollar_follows: bool) {
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
        if self.mends && dollar_follows && !has_bitmap && !has_values {
            out.extend_from_slice(b"$0\n");
        }
        out.push(b'\n');
    }

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
        match self.symbols.name(value).filter(|name| !self.mends || self.names_are_plain || is_speakable_target(name)) {
            Some(name) => out.extend_from_slice(name),
            None => {
                if self.mends && value != 0 {
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

/// Makes comments of the lines since `start`, the first of which is `name`.
pub(super) fn hide(out: &mut Vec<u8>, start: usize, name: &[u8]) {
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
