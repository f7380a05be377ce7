//! What the merger has to remember of records between inputs.

use super::order_events::OrderEvents;
use super::sites::SiteOrder;
use crate::instr::{RecordId, ValueKind};

/// What has to be remembered of one record; at first nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RecordState {
    /// Order of the sites, by kind.
    pub(super) orders: [SiteOrder; ValueKind::COUNT],
    /// What would have had another outcome had other inputs come before.
    pub(super) events: OrderEvents,
}

/// The states of all records. Those without value sites mostly have none, so
/// the list reaches only as far as the last record that has one.
#[derive(Debug, Default)]
pub(super) struct RecordStates {
    states: Vec<RecordState>,
    of_none: RecordState,
    lacks_memory: bool,
}

impl RecordStates {
    /// The state of a record.
    pub(super) fn of(&self, record: RecordId) -> RecordState {
        self.states.get(record.index()).copied().unwrap_or_default()
    }

    /// The state of a record, to be changed. Where memory is refused it is that of no record, which
    /// [`lacks_memory`](Self::lacks_memory) says.
    pub(super) fn of_mut(&mut self, record: RecordId) -> &mut RecordState {
        let len = record.index() + 1;
        if self.states.len() < len {
            if self.states.try_reserve(len - self.states.len()).is_err() {
                self.lacks_memory = true;
                return &mut self.of_none;
            }
            self.states.resize(len, RecordState::default());
        }
        &mut self.states[record.index()]
    }

    /// Whether the state of some record is not known, for it did not fit the memory.
    pub(super) fn lacks_memory(&self) -> bool {
        self.lacks_memory
    }

    /// Replaces the events of a record and returns those before.
    pub(super) fn replace_events(&mut self, record: RecordId, events: OrderEvents) -> OrderEvents {
        let before = self.of(record).events;
        if events != before {
            self.of_mut(record).events = events;
        }
        before
    }
}
