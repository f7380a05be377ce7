//! The sum of the records of one name, FuncHash and shape.

use crate::instr::add_counters;
use crate::instr::partial::log::SiteLog;
use crate::model::{FunctionId, FunctionRecord, PseudoCount, RecordView, ValueKind};

/// What decides whether two records of one name and FuncHash can be added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) counters: u32,
    pub(super) bitmap: u32,
    /// Value sites by kind.
    pub(super) sites: [u32; ValueKind::COUNT],
    /// Whether records are kept one by one: those with pseudo counts, counts beyond
    /// the maximum, or uniformity.
    pub(super) is_whole: bool,
    /// A function filter left it out: its counts are gone, its name still
    /// decides about the order of others.
    pub(super) is_left_out: bool,
}

impl Shape {
    pub(super) fn of(record: RecordView<'_>, is_left_out: bool) -> Self {
        // A mark, or a count that no sum of counts keeps as it is.
        let beyond = record.counters.iter().any(|count| PseudoCount::from_counter(count).is_some());
        let length = |len: usize| u32::try_from(len).expect("a record has fewer than 2^32 parts");
        Self {
            counters: length(record.counters.len()),
            bitmap: length(record.bitmap.len()),
            sites: ValueKind::ALL.map(|kind| length(record.sites(kind).len())),
            is_whole: beyond || !record.uniformity.is_empty(),
            is_left_out,
        }
    }

    pub(super) fn has_sites(self) -> bool {
        self.sites != [0; ValueKind::COUNT]
    }
}

/// A record of one input that is not added up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Whole {
    pub(super) record: FunctionRecord,
    pub(super) weight: u64,
}

/// What few records have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Extra {
    /// The sites that each visit brought.
    pub(super) sites: SiteLog,
    /// The records of each visit, when the shape is whole.
    pub(super) whole: Vec<Whole>,
    /// Inputs with which a counter went beyond its maximum, in order.
    pub(super) overflows: Vec<u32>,
}

/// A sum. An input *visits* it with each record that it adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Summed {
    pub(super) function: FunctionId,
    pub(super) func_hash: u64,
    pub(super) shape: Shape,
    pub(super) counters: Box<[u64]>,
    pub(super) bitmap: Box<[u8]>,
    pub(super) extra: Option<Box<Extra>>,
}

impl Summed {
    /// A sum of nothing.
    pub(super) fn new(function: FunctionId, func_hash: u64, shape: Shape) -> Self {
        let (counters, bitmap) = match shape.is_whole {
            true => (0, 0),
            false => (shape.counters as usize, shape.bitmap as usize),
        };
        Self {
            function,
            func_hash,
            shape,
            counters: vec![0; counters].into(),
            bitmap: vec![0; bitmap].into(),
            extra: None,
        }
    }

    pub(super) fn extra_mut(&mut self) -> &mut Extra {
        self.extra.get_or_insert_default()
    }

    /// Whether every visit has to be looked at when the merge goes on.
    pub(super) fn is_visited_one_by_one(&self) -> bool {
        self.shape.is_whole || self.extra.is_some() || (self.shape.has_sites() && !self.shape.is_left_out)
    }

    /// Adds a record of this shape from the only input, which is number 0.
    pub(super) fn add(&mut self, record: RecordView<'_>, weight: u64, max: u64) {
        if self.shape.is_whole {
            let mut copy = FunctionRecord::default();
            copy.copy_from(record);
            self.extra_mut().whole.push(Whole { record: copy, weight });
            return;
        }
        if self.shape.is_left_out {
            return;
        }
        if add_counters::add_weighted(&mut self.counters, record.counters, weight, max) {
            self.extra_mut().overflows.push(0);
        }
        self.bitmap.iter_mut().zip(record.bitmap).for_each(|(all, byte)| *all |= byte);
        if self.shape.has_sites() {
            self.extra_mut().sites.push(record);
        }
    }

    /// Adds a sum of later inputs, whose numbers begin at `first_input`;
    /// returns whether a counter went beyond its maximum only now.
    pub(super) fn append(&mut self, other: Self, first_input: u32, max: u64) -> bool {
        let overflows = add_counters::add_weighted(&mut self.counters, (&*other.counters).into(), 1, max);
        self.bitmap.iter_mut().zip(&other.bitmap).for_each(|(all, byte)| *all |= byte);
        let mut new = overflows;
        if let Some(theirs) = other.extra {
            new &= theirs.overflows.is_empty();
            let ours = self.extra_mut();
            ours.sites.append(theirs.sites);
            ours.whole.extend(theirs.whole);
            ours.overflows.extend(theirs.overflows.iter().map(|input| first_input + input));
        }
        new
    }
}
