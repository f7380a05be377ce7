//! Entries of tables and sections as text, any range of them by itself.

use crate::iprof::document::{Document, EntryMember, Table};
use crate::iprof::json;
use crate::threads::ordered_writer::write_in_order;
use std::io::{self, Write};
use std::ops::Range;

/// Entries that are written at a time.
const BLOCK_ENTRIES: usize = 1 << 10;
/// Fewer entries are written before threads have started.
const ALONE_ENTRIES: usize = 8 * BLOCK_ENTRIES;

/// How the text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Layout {
    /// One line, no spaces, no final newline: what GraalVM writes.
    #[default]
    Compact,
    /// Indented by two, with a final newline.
    Pretty,
}

/// How the entries of a list are written.
pub(super) struct Entries<'a, K> {
    pub(super) document: &'a Document,
    pub(super) table: Table,
    pub(super) layout: Layout,
    /// How many there are.
    pub(super) count: usize,
    /// Writes one of the members that all entries have: which, and of which entry.
    pub(super) known: K,
}

impl<K: Fn(&mut Vec<u8>, usize, usize) + Sync> Entries<'_, K> {
    /// Writes all of them in order, formatted by so many threads.
    pub(super) fn write_to(&self, out: &mut (dyn Write + Send), threads: impl FnOnce() -> usize) -> io::Result<()> {
        let threads = if self.count < ALONE_ENTRIES { 1 } else { threads() };
        let make = |block: usize, text: &mut Vec<u8>| {
            let start = block * BLOCK_ENTRIES;
            self.write(start..self.count.min(start + BLOCK_ENTRIES), text);
            Ok(())
        };
        write_in_order(self.count.div_ceil(BLOCK_ENTRIES), threads, &make, out)
    }

    /// Writes a range of them.
    pub(super) fn write(&self, range: Range<usize>, out: &mut Vec<u8>) {
        let mut extras = self.document.extras.range((self.table, range.start)..(self.table, range.end)).peekable();
        let mut compact = Vec::new();
        for at in range {
            if at > 0 {
                out.push(b',');
            }
            let members = extras.next_if(|((_, place), _)| *place == at).map(|(_, members)| &**members);
            if self.layout == Layout::Pretty {
                compact.clear();
                self.write_entry(at, members, &mut compact);
                out.extend_from_slice(b"\n    ");
                json::write_pretty(out, &compact, 2);
            } else {
                self.write_entry(at, members, out);
            }
        }
    }

    fn write_entry(&self, at: usize, members: Option<&[EntryMember]>, out: &mut Vec<u8>) {
        let names = self.table.known_members();
        out.push(b'{');
        for position in 0..members.map_or(names.len(), <[_]>::len) {
            if position > 0 {
                out.push(b',');
            }
            match members.map(|members| &members[position]) {
                None => self.write_known(at, position, names[position], out),
                Some(EntryMember::Known(member)) => {
                    let member = usize::from(*member);
                    self.write_known(at, member, names[member], out);
                }
                Some(EntryMember::Other(name, value)) => {
                    json::write_string(out, name);
                    out.push(b':');
                    out.extend_from_slice(value);
                }
            }
        }
        out.push(b'}');
    }

    #[inline]
    fn write_known(&self, at: usize, member: usize, name: &str, out: &mut Vec<u8>) {
        out.push(b'"');
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
        (self.known)(out, member, at);
    }
}

/// Appends a list in brackets.
pub(super) fn write_list<T>(out: &mut Vec<u8>, items: &[T], mut item: impl FnMut(&mut Vec<u8>, &T)) {
    out.push(b'[');
    for (at, value) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        item(out, value);
    }
    out.push(b']');
}
