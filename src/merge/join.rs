//! Combining mergers that each took a run of the input list.

use super::merger::{Merger, RecordState};
use super::sites::SiteOrder;
use crate::model::{FunctionRecord, RecordId};

/// Why joined parts may differ from one merger's work on all inputs.
///
/// When none of these happened, they are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct OrderEvents {
    /// A record was left out, in part or whole, or a count reached its maximum
    /// (the sum is right then, yet the complaint may belong to another input).
    pub soft_errors: bool,
    /// Values came with a weight; values new to a site are not weighted.
    pub weighted_values: bool,
    /// A site had more than 255 values and was cut.
    pub cut_sites: bool,
    /// A value stood twice at one site.
    pub repeated_values: bool,
    /// There were more traces than are kept.
    pub sampled_traces: bool,
    /// The kinds of inputs conflict, or would in another order.
    pub kinds: bool,
}

impl OrderEvents {
    /// Whether something happened.
    pub fn any(self) -> bool {
        self != Self::default()
    }

    /// What happened in either of two parts.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self {
            soft_errors: self.soft_errors | other.soft_errors,
            weighted_values: self.weighted_values | other.weighted_values,
            cut_sites: self.cut_sites | other.cut_sites,
            repeated_values: self.repeated_values | other.repeated_values,
            sampled_traces: self.sampled_traces | other.sampled_traces,
            kinds: self.kinds | other.kinds,
        }
    }
}

impl Merger {
    /// Adds everything of a merger whose inputs come after those of this one.
    ///
    /// When the returned events are none, the result is that of one merger for
    /// all inputs; else the caller merges them again one by one where it needs
    /// exactly that. Joining soft errors are not complained about.
    pub fn join(&mut self, mut other: Self) -> OrderEvents {
        self.events = self.events.union(other.events);
        self.complained |= other.complained;
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
        self.memprof_sections += other.memprof_sections;
        self.profile.memprof = match self.memprof_sections {
            1 => self.profile.memprof.take().or(other.profile.memprof),
            _ => None,
        };
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
            let target = self.profile.functions.intern_hashed(function.name(), function.name_ref());
            for (id, record) in function.record_ids().zip(function.records()) {
                let state = states[id.index()];
                match self.profile.functions.find_record(target, record.func_hash) {
                    Some(known) => self.join_record(known, record, state),
                    None => {
                        let outcome = self.push_record(target, record.clone(), 1);
                        self.states[outcome.record.index()] = state;
                    }
                }
            }
        }
    }

    fn join_record(&mut self, known: RecordId, record: &FunctionRecord, theirs: RecordState) {
        let before = self.states[known.index()];
        self.states[known.index()].events = OrderEvents::default();
        self.merge_record(known, record, 1);
        let now = &mut self.states[known.index()].events;
        // A site that one input gave, or that repeats nothing, is merged as in
        // a single run; sums of several inputs with repeated values are not.
        let several_inputs = theirs.orders.iter().any(|order| *order != SiteOrder::AsInserted);
        now.repeated_values &= several_inputs;
        let sensitive = now.union(theirs.events);
        *now = before.events.union(sensitive);
        self.events = self.events.union(sensitive);
    }
}
