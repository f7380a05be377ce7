//! The orders in which records and their parts are written.

use super::names::{NameId, Names};
use super::profile::SampleProfile;
use super::record::{CallSite, FunctionRecord};
use super::rules::Rules;
use super::targets::CallTarget;
use crate::error::Result;
use crate::memory::{self, HOLD_OUTPUT};
use std::borrow::Cow;
use std::cmp::Ordering;

/// Which of two records comes first by name or context: those without a
/// context, then frame by frame.
pub(super) fn compare_titles(names: &Names, a: &FunctionRecord, b: &FunctionRecord) -> Ordering {
    match (&a.context, &b.context) {
        (None, None) => names.compare(a.name, b.name),
        (Some(a), Some(b)) => {
            let pairs = a.iter().zip(b.iter());
            let frames = pairs
                .map(|(a, b)| names.compare(a.function, b.function).then_with(|| a.location.cmp(&b.location)))
                .find(|order| order.is_ne());
            frames.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

/// Records as they are written: by falling total, then by name or context.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub(super) fn written(profile: &SampleProfile, rules: Rules) -> Result<Vec<&FunctionRecord>> {
    let mut records: Vec<&FunctionRecord> = memory::collect(&profile.functions, HOLD_OUTPUT)?;
    records.sort_unstable_by(|a, b| {
        b.total.cmp(&a.total).then_with(|| {
            let titles = compare_titles(&profile.names, a, b);
            if rules.ties_rise() { titles } else { titles.reverse() }
        })
    });
    Ok(records)
}

/// Call targets by falling count, then by name.
pub(super) fn targets<'a>(names: &Names, targets: &'a [CallTarget]) -> Cow<'a, [CallTarget]> {
    if targets.len() < 2 {
        return Cow::Borrowed(targets);
    }
    let mut sorted = targets.to_vec();
    sorted.sort_unstable_by(|a, b| b.samples.cmp(&a.samples).then_with(|| names.compare(a.callee, b.callee)));
    Cow::Owned(sorted)
}

/// Virtual tables by name.
pub(super) fn tables(names: &Names, tables: &[CallTarget]) -> Vec<CallTarget> {
    let mut sorted = tables.to_vec();
    sorted.sort_unstable_by(|a, b| names.compare(a.callee, b.callee));
    sorted
}

/// Inlined callees by place, then by name.
pub(super) fn call_sites<'a>(names: &Names, record: &'a FunctionRecord) -> Vec<&'a CallSite> {
    let mut sites: Vec<&CallSite> = record.call_sites.iter().collect();
    if sites.windows(2).any(|pair| pair[0].location == pair[1].location) {
        sites.sort_by(|a, b| a.location.cmp(&b.location).then_with(|| names.compare(a.callee.name, b.callee.name)));
    }
    sites
}

/// Calls `each` for every name that a record's body mentions, its own and
/// those of inlined callees included.
pub(super) fn each_name(record: &FunctionRecord, with_vtables: bool, each: &mut impl FnMut(NameId)) {
    each(record.name);
    for entry in &record.body {
        entry.targets.iter().for_each(|target| each(target.callee));
    }
    if with_vtables {
        record.vtables.iter().flat_map(|entry| &entry.tables).for_each(|table| each(table.callee));
    }
    for site in &record.call_sites {
        each_name(&site.callee, with_vtables, each);
    }
}
