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
pub(super) struct RecordStates(Vec<RecordState>);

impl RecordStates {
    /// The state of a record.
    pub(super) fn of(&self, record: RecordId) -> RecordState {
        self.0.get(record.index()).copied().unwrap_or_default()
    }

    /// The state of a record, to be changed.
    pub(super) fn of_mut(&mut self, record: RecordId) -> &mut RecordState {
        if self.0.len() <= record.index() {
            self.0.resize(record.index() + 1, RecordState::default());
        }
        &mut self.0[record.index()]
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
