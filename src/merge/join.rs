//! Combining mergers that each took a run of the input list.

use super::counters;
use super::deferred::{Contribution, Deferred};
use super::merger::Merger;
use super::order_events::OrderEvents;
use super::outcome::SoftError;
use super::sites::{SiteOrder, has_repeats, is_long};
use super::states::RecordState;
use crate::instr::{FunctionId, RecordId, RecordView, ValueKind, ValueSites};

impl Merger {
    /// Adds everything of a merger whose inputs come after those of this one.
    ///
    /// When the returned events are none, the result is that of one merger for
    /// all inputs; else the caller merges them again one by one where it needs
    /// exactly that. Joining soft errors are not reported.
    pub fn join(&mut self, mut other: Self) -> OrderEvents {
        self.events = self.events.union(other.events);
        self.had_soft_error |= other.had_soft_error;
        if other.lacks_memory() {
            self.lack_memory();
        }
        self.join_kinds(&other);
        self.join_records(&mut other);
        self.profile.binary_ids.append(&mut other.profile.binary_ids);
        if !self.reservoir.append(&mut other.reservoir) {
            self.events.sampled_traces = true;
            let traces = other.reservoir.kept().clone();
            self.reservoir.add(traces);
        }
        for name in &other.profile.vtable_names {
            self.keep_vtable_name(name);
        }
        if self.memory.join(other.memory).is_err() {
            self.lack_memory();
        }
        self.events
    }

    fn join_kinds(&mut self, other: &Self) {
        if other.kinds == super::merger::KindState::default() {
            return;
        }
        let conflict = self.begin_input(other.profile.kind).is_err();
        self.kinds.front_end |= other.kinds.front_end;
        self.kinds.unmarked |= other.kinds.unmarked;
        let mixed = self.kinds.front_end && self.kinds.unmarked;
        self.events.kinds |= conflict || mixed;
    }

    fn join_records(&mut self, other: &mut Self) {
        let states = std::mem::take(&mut other.states);
        let functions = std::mem::take(&mut other.profile.functions);
        for function in functions.iter() {
            // Whoever has the result asks whether memory was lacking.
            if self.make_room_for_name(function.name()).is_err() {
                return;
            }
            let target = self.profile.functions.intern_shared(function.name(), function.name_ref(), function.text());
            for (id, record) in function.record_ids().zip(function.records()) {
                if self.make_room(function.name(), record).is_err() {
                    return;
                }
                let theirs = Theirs { record, state: states.of(id), logs: logs_of(&mut other.deferred, id) };
                match self.profile.functions.find_record(target, record.func_hash) {
                    Some(known) => self.join_known(known, theirs),
                    None => self.join_new(target, theirs),
                }
            }
        }
    }

    /// Takes over a record that only the later part has.
    fn join_new(&mut self, function: FunctionId, theirs: Theirs<'_>) {
        let mut logs = theirs.logs;
        let has_logs = logs.iter().any(Option::is_some);
        let id = if has_logs && !self.is_later_part {
            // What its first input contributed is not merged but taken over.
            let mut record = theirs.record.to_record();
            for (kind, log) in ValueKind::ALL.into_iter().zip(&mut logs) {
                let Some(first) = log.as_mut().filter(|log| !log.is_empty()).map(|log| log.remove(0)) else { continue };
                let mut sites = first.sites;
                let saturated = first.weight != 1 && counters::scale_values(sites.values_mut(), first.weight);
                self.events.soft_errors |= saturated;
                *record.sites_mut(kind) = sites;
            }
            self.push_record(function, record.view(), 1).record
        } else {
            self.push_record(function, theirs.record, 1).record
        };
        self.states.replace_events(id, OrderEvents::default());
        for (kind, log) in ValueKind::ALL.into_iter().zip(logs) {
            match log {
                None if theirs.record.sites(kind).is_empty() => {}
                None => self.states.of_mut(id).orders[kind as usize] = theirs.state.orders[kind as usize],
                Some(log) if self.is_later_part => log.into_iter().for_each(|one| self.defer(id, kind, one)),
                Some(log) => self.replay(id, kind, log),
            }
        }
        let ours = self.states.of(id).events;
        self.events = self.events.union(ours);
        self.states.replace_events(id, ours.union(theirs.state.events));
    }

    /// Adds a record of the later part to one that is there.
    fn join_known(&mut self, known: RecordId, theirs: Theirs<'_>) {
        let before = self.states.replace_events(known, OrderEvents::default());
        let Theirs { record, state, mut logs } = theirs;
        let error = self.merge_parts(known, record, 1, |merger, kind| {
            if let Some(log) = logs[kind as usize].take() {
                merger.replay(known, kind, log);
                return None;
            }
            merger.join_sites(known, kind, record.sites(kind), 1, state.orders[kind as usize])
        });
        self.note(known, error);
        let sensitive = self.states.of(known).events.union(state.events);
        self.states.replace_events(known, before.union(sensitive));
        self.events = self.events.union(sensitive);
    }

    /// Merges sites of a later part and notes whether a single run might have
    /// done otherwise.
    ///
    /// What one input gave is merged as in a single run, whatever it is; so is
    /// a sum of inputs that repeat no value, as long as equal values of the
    /// other side stay ordered by count.
    fn join_sites(
        &mut self,
        target: RecordId,
        kind: ValueKind,
        sites: &ValueSites,
        weight: u64,
        order: SiteOrder,
    ) -> Option<SoftError> {
        let before = self.states.replace_events(target, OrderEvents::default());
        let error = self.merge_sites(target, kind, sites, weight);
        if order == SiteOrder::ByValue {
            self.deferred.mark_last_as_sum(target, kind);
        }
        let merged = self.profile.functions.record(target).sites(kind);
        let ordered = self.rules.stable_value_sort || !is_long(merged);
        // Asked only where it matters.
        let repeats = if order == SiteOrder::ByValue && ordered { has_repeats(sites) } else { Ok(false) };
        if repeats.is_err() {
            self.lack_memory();
        }
        let events = &mut self.states.of_mut(target).events;
        // Inputs with a weight are joined one by one.
        events.weighted_values = false;
        match order {
            SiteOrder::AsInserted => (events.repeated_values, events.cut_sites) = (false, false),
            SiteOrder::ByValue if ordered && repeats.is_ok_and(|repeats| !repeats) => events.repeated_values = false,
            SiteOrder::ByValue => {}
        }
        *events = events.union(before);
        error
    }

    /// Adds what inputs contributed, one after the other.
    fn replay(&mut self, target: RecordId, kind: ValueKind, log: Vec<Contribution>) {
        for one in log {
            let order = if one.is_sum { SiteOrder::ByValue } else { SiteOrder::AsInserted };
            let error = self.join_sites(target, kind, &one.sites, one.weight, order);
            self.note(target, error);
        }
    }
}

/// A record of a later part.
struct Theirs<'a> {
    record: RecordView<'a>,
    state: RecordState,
    /// Contributions that it left to the join, by kind.
    logs: [Option<Vec<Contribution>>; ValueKind::COUNT],
}

fn logs_of(deferred: &mut Deferred, record: RecordId) -> [Option<Vec<Contribution>>; ValueKind::COUNT] {
    ValueKind::ALL.map(|kind| deferred.take(record, kind))
}
