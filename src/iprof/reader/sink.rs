//! Who takes the entries of a file.

use crate::iprof::context::Frame;
use crate::iprof::document::EntryMember;
use crate::iprof::sections::{Records, SectionKind};
use crate::iprof::tables::Tables;
use std::sync::Arc;

/// One sound entry.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) kind: SectionKind,
    /// Innermost first; empty for monitors.
    pub(crate) frames: &'a [Frame],
    pub(crate) records: Records<'a>,
    pub(crate) members: Option<Box<[EntryMember]>>,
}

/// How much some entries hold in all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntrySizes {
    pub(crate) entries: usize,
    pub(crate) frames: usize,
    pub(crate) rows: usize,
}

/// Takes the entries of a file, in order.
pub(crate) trait Sink {
    /// Makes room for entries to come. Where there is none they are not handed on, and reading ends.
    fn try_reserve(&mut self, kind: SectionKind, room: EntrySizes) -> bool {
        let _ = (kind, room);
        true
    }

    /// Takes one; handles refer to `tables`, which are complete.
    fn entry(&mut self, tables: &Tables, entry: Entry<'_>);

    /// Tables that the file may have in common with what was read before; everything
    /// in them is declared once.
    fn known_tables(&self) -> Option<Arc<Tables>> {
        None
    }

    /// Tells the complete tables, before the first entry and perhaps again.
    fn tables(&mut self, tables: &Arc<Tables>) {
        let _ = tables;
    }

    /// Tells the outermost frames of entries that come soon, for those who have to look them up.
    fn announce(&mut self, outermost: impl Iterator<Item = Frame> + Clone) {
        drop(outermost);
    }
}

/// Wants no entries.
pub(crate) struct NullSink;

impl Sink for NullSink {
    fn entry(&mut self, _: &Tables, _: Entry<'_>) {}
}
