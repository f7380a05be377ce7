//! One record as text.

use super::names::is_speakable_target;
use super::options::TextOptions;
use crate::digits::{push_decimal, push_decimals};
use crate::memory;
use crate::model::{RecordView, SymbolTable, ValueKind};
use crate::text::lines::escape_name;
use crate::text::numbers::push_hex;
use crate::text::{EXTERNAL, directive};

/// Bytes of the longest number with the end of its line.
const LONGEST_NUMBER: usize = 21;
/// Bytes of all that stands between the lists of a record, or behind a value.
const COMMENTS: usize = 512;

/// How records are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordFormat<'a> {
    /// Names that targets may be called by.
    symbols: &'a SymbolTable,
    kinds: &'static [ValueKind],
    has_bitmaps: bool,
    fixes: bool,
    /// No name has to be looked at.
    names_are_plain: bool,
}

impl<'a> RecordFormat<'a> {
    pub(super) fn new(options: &TextOptions<'_>, symbols: &'a SymbolTable) -> Self {
        Self {
            symbols,
            kinds: options.value_kinds(),
            has_bitmaps: options.has_bitmaps(),
            fixes: options.compat.fixes_text_output(),
            names_are_plain: false,
        }
    }

    /// Whether all names that targets may be called by are known to be plain.
    pub(super) fn names_are_plain(self, names_are_plain: bool) -> Self {
        Self { names_are_plain, ..self }
    }

    /// Appends a record; `dollar_follows` says whether the next line may begin
    /// with `$` and is no bitmap. `false` where there is no room for it.
    #[must_use]
    pub(super) fn push(self, out: &mut Vec<u8>, name: &[u8], record: RecordView<'_>, dollar_follows: bool) -> bool {
        let numbers = record.counters.len() + record.bitmap.len();
        if out.try_reserve(numbers.saturating_mul(LONGEST_NUMBER).saturating_add(name.len() + COMMENTS)).is_err() {
            return false;
        }
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
        let Some(has_values) = self.push_values(out, record) else { return false };
        if self.fixes && dollar_follows && !has_bitmap && !has_values {
            out.extend_from_slice(b"$0\n");
        }
        out.push(b'\n');
        true
    }

    /// Whether there are values; nothing where there is no room for them.
    fn push_values(self, out: &mut Vec<u8>, record: RecordView<'_>) -> Option<bool> {
        let with_sites = || self.kinds.iter().copied().filter(|kind| !record.sites(*kind).is_empty());
        let kinds = with_sites().count();
        if kinds == 0 {
            return Some(false);
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
                out.try_reserve(COMMENTS).ok()?;
                for v in site {
                    self.push_value(out, kind, v.value)?;
                    out.push(b':');
                    push_line(out, v.count);
                }
            }
        }
        Some(true)
    }

    /// Appends a value, and makes room for what stands behind it; nothing where there is none.
    fn push_value(self, out: &mut Vec<u8>, kind: ValueKind, value: u64) -> Option<()> {
        out.try_reserve(COMMENTS).ok()?;
        if !kind.is_name() {
            push_decimal(out, value);
            return Some(());
        }
        match self.symbols.name(value).filter(|name| !self.fixes || self.names_are_plain || is_speakable_target(name)) {
            Some(name) => {
                out.try_reserve(name.len() + COMMENTS).ok()?;
                out.extend_from_slice(name);
            }
            None => {
                if self.fixes && value != 0 {
                    out.extend_from_slice(directive::TARGET);
                    push_hex(out, value);
                    out.push(b'\n');
                }
                out.extend_from_slice(EXTERNAL);
            }
        }
        Some(())
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

/// Makes comments of the lines since `start`, the first of which is `name`. `false` where there is no room for that.
#[must_use]
pub(super) fn hide(out: &mut Vec<u8>, start: usize, name: &[u8]) -> bool {
    let Some(text) = memory::copy_of(&out[start..]) else { return false };
    out.truncate(start);
    // Every line but the first gets a mark, and is two bytes long at least.
    let marks = (text.len() / 2).saturating_mul(directive::HIDDEN.len());
    if out.try_reserve(text.len().saturating_add(marks).saturating_add(3 * name.len() + COMMENTS)).is_err() {
        return false;
    }
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
    true
}
