//! Values that a part of a run keeps for later.
//!
//! Where a site repeats a value, exceeds 255 values, or an input has a weight,
//! what an input adds depends on the inputs before it. A merger that takes a
//! later part of the input list does not know these. It keeps such values as
//! they came, input by input, and adds them when it is joined.

use crate::error::Result;
use crate::instr::{RecordId, ValueKind, ValueSites};
use std::collections::HashMap;

/// Values that may be kept, in all: 64 MiB of them.
const MOST_VALUES: usize = 4 << 20;

/// Sites of one kind of one record as one input had them.
#[derive(Debug, Clone)]
pub(super) struct Contribution {
    pub(super) sites: ValueSites,
    /// The input's weight.
    pub(super) weight: u64,
    /// Whether it is the sum of several inputs, each of weight 1, in which no
    /// value is repeated.
    pub(super) is_sum: bool,
}

/// What inputs contributed to records, in their order.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    logs: HashMap<(RecordId, ValueKind), Vec<Contribution>>,
    values: usize,
}

impl Deferred {
    /// Whether values of that record and kind are kept for later.
    pub(super) fn has(&self, record: RecordId, kind: ValueKind) -> bool {
        !self.logs.is_empty() && self.logs.contains_key(&(record, kind))
    }

    /// Keeps what one input contributes.
    pub(super) fn push(&mut self, record: RecordId, kind: ValueKind, contribution: Contribution) {
        self.values = self.values.saturating_add(contribution.sites.values_len());
        self.logs.entry((record, kind)).or_default().push(contribution);
    }

    /// Says that what was kept last for a record, if anything, is a sum.
    pub(super) fn mark_last_as_sum(&mut self, record: RecordId, kind: ValueKind) {
        if let Some(last) = self.logs.get_mut(&(record, kind)).and_then(|log| log.last_mut()) {
            last.is_sum = true;
        }
    }

    /// Takes what is kept for a record and kind, in order of inputs.
    pub(super) fn take(&mut self, record: RecordId, kind: ValueKind) -> Option<Vec<Contribution>> {
        if self.logs.is_empty() { None } else { self.logs.remove(&(record, kind)) }
    }

    /// Whether more is kept than is good for memory.
    pub(super) fn is_full(&self) -> bool {
        self.values > MOST_VALUES
    }
}

/// As many sites, all empty.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub(super) fn emptied(sites: &ValueSites) -> Result<ValueSites> {
    let mut empty = ValueSites::new();
    for _ in 0..sites.len() {
        empty.make_room(0)?;
        empty.end_site();
    }
    Ok(empty)
}
