//! What a version cannot hold of a profile.

use super::layout::since;
use super::trailing;
use super::write::WriteOptions;
use crate::model::value::MAX_VALUES_PER_SITE;
use crate::model::{FunctionView, Loss, LossKind, Losses, Profile, ProfileKind, ValueKind};

/// What the version asked for cannot hold of a profile.
pub fn losses(profile: &Profile, options: &WriteOptions<'_>) -> Vec<Loss> {
    let dialect = options.dialect();
    let mut losses = Losses::new();
    count_values_beyond_limit(&mut losses, profile, options);
    if !dialect.has(since::BITMAPS) || dialect.value_kinds().len() < ValueKind::COUNT {
        count_unknown_parts(&mut losses, profile, options);
    }
    if !dialect.has(since::UNIFORMITY) {
        let kept = |function: FunctionView<'_>| options.selection.keeps(function);
        losses.add(LossKind::UniformityBits, profile.functions.uniformity_bits(kept));
    }
    if !dialect.has(since::BINARY_IDS) {
        losses.add(LossKind::BinaryIds, trailing::sorted_ids(profile).len() as u64);
    }
    if !dialect.has(since::TRACES) {
        losses.add(LossKind::TemporalTraces, profile.temporal.traces.len() as u64);
    }
    if !dialect.has(since::VTABLES) {
        losses.add(LossKind::VTableNames, profile.vtable_names.len() as u64);
    }
    if !dialect.has(since::MEMPROF) {
        losses.add(LossKind::MemProf, u64::from(profile.memprof.is_some()));
    }
    // The bits of parts that are counted above are no loss of their own.
    let counted = ProfileKind::MEMPROF | ProfileKind::TEMPORAL;
    let kind = profile.kind.without(counted);
    losses.add_properties(ProfileKind::from_bits(kind.indexed_bits() & !dialect.kind_bits(kind)));
    losses.into_vec()
}

/// Counts the values that full sites lose; a merge has cut them before.
fn count_values_beyond_limit(losses: &mut Losses, profile: &Profile, options: &WriteOptions<'_>) {
    if !profile.functions.has_value_sites() {
        return;
    }
    let dialect = options.dialect();
    let functions = profile.functions.iter().filter(|function| options.selection.keeps(*function));
    for record in functions.flat_map(FunctionView::records).filter(|record| record.has_value_sites()) {
        for sites in dialect.value_kinds().iter().map(|kind| record.sites(*kind)) {
            let beyond = sites.iter().map(|site| site.len().saturating_sub(MAX_VALUES_PER_SITE)).sum::<usize>();
            losses.add(LossKind::ValuesBeyondLimit, beyond as u64);
        }
    }
}

/// Counts parts of records that the version or the release does not know.
fn count_unknown_parts(losses: &mut Losses, profile: &Profile, options: &WriteOptions<'_>) {
    let dialect = options.dialect();
    for function in profile.functions.iter().filter(|function| options.selection.keeps(*function)) {
        if !dialect.has(since::RECORD_COUNTS) {
            losses.add(LossKind::FurtherRecords, (function.records().count() as u64).saturating_sub(1));
        }
        for record in function.records() {
            if !dialect.has(since::BITMAPS) {
                losses.add(LossKind::BitmapBytes, record.bitmap.len() as u64);
            }
            for kind in ValueKind::ALL.into_iter().filter(|kind| !dialect.value_kinds().contains(kind)) {
                let lost = if kind == ValueKind::VTableTarget { LossKind::VTableSites } else { LossKind::ValueSites };
                losses.add(lost, record.sites(kind).len() as u64);
            }
        }
    }
}
