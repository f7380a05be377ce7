//! Collects the records of a profile without calling contexts.

use crate::sampleprof::{FunctionName, FunctionRecord, NameId, Rules, SampleProfile, add_saturating};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// The records of functions that are not inlined, in the order in which they were first needed.
#[derive(Debug, Default)]
pub(super) struct ProfileBuilder {
    profile: SampleProfile,
    positions: HashMap<NameId, usize, RandomState>,
}

impl ProfileBuilder {
    /// The number of a name.
    pub(super) fn name(&mut self, name: &[u8]) -> NameId {
        self.profile.names.insert(FunctionName::Text(name))
    }

    /// The record of a function that is not inlined.
    pub(super) fn top_level(&mut self, function: NameId) -> &mut FunctionRecord {
        let functions = &mut self.profile.functions;
        let at = *self.positions.entry(function).or_insert_with(|| {
            functions.push(FunctionRecord::new(function));
            functions.len() - 1
        });
        &mut functions[at]
    }

    /// Returns the profile, with counts of locations that include their calls. With `update_totals`, totals are the sums of
    /// the counts of locations.
    pub(super) fn finish(self, update_totals: bool, rules: Rules) -> SampleProfile {
        let mut profile = self.profile;
        for record in &mut profile.functions {
            if rules.raises_to_calls() {
                raise_to_calls(record);
            }
            if update_totals {
                update_total(record);
            }
        }
        profile
    }

    /// Returns the profile without calls in the counts of locations.
    pub(super) fn into_profile(self) -> SampleProfile {
        self.profile
    }
}

/// A location is executed at least as often as the calls from there. Returns how much the counts grew.
pub(super) fn raise_to_calls(record: &mut FunctionRecord) -> u64 {
    let mut raised = 0;
    for entry in &mut record.body {
        let calls = entry.targets.iter().fold(0, |sum: u64, target| sum.wrapping_add(target.samples));
        add_saturating(&mut raised, calls.saturating_sub(entry.samples));
        entry.samples = entry.samples.max(calls);
    }
    raised
}

/// Like [`raise_to_calls`], also for inlined functions, and totals grow with the counts.
pub(super) fn raise_with_totals(record: &mut FunctionRecord) -> u64 {
    let mut raised = raise_to_calls(record);
    for site in &mut record.call_sites {
        add_saturating(&mut raised, raise_with_totals(&mut site.callee));
    }
    add_saturating(&mut record.total, raised);
    raised
}

/// Makes the total the sum of the counts of locations, with those of inlined functions.
pub(super) fn update_total(record: &mut FunctionRecord) {
    let mut sum = 0;
    for entry in &record.body {
        add_saturating(&mut sum, entry.samples);
    }
    for site in &mut record.call_sites {
        update_total(&mut site.callee);
        add_saturating(&mut sum, site.callee.total);
    }
    record.total = sum;
}
