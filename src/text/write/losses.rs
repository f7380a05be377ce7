//! What text cannot say of a profile.

use super::functions::{Functions, Selected, symbols_of};
use super::names::NamePlace;
use super::options::TextOptions;
use crate::error::Result;
use crate::model::{FunctionView, Loss, LossKind, Losses, Profile, ProfileKind, ValueKind};

/// What text written with these options cannot say of a profile.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub fn losses(profile: &Profile, options: &TextOptions<'_>) -> Result<Vec<Loss>> {
    let mut losses = Losses::new();
    if !options.compat.fixes_text_output() {
        count_unrepresentable_names(&mut losses, profile, options)?;
    }
    if !options.has_bitmaps() || options.value_kinds().len() < ValueKind::COUNT {
        count_unknown_parts(&mut losses, profile, options);
    }
    let kept = |function: FunctionView<'_>| options.selection.keeps(function);
    losses.add(LossKind::UniformityBits, profile.functions.uniformity_bits(kept));
    losses.add(LossKind::BinaryIds, profile.binary_ids.len() as u64);
    losses.add(LossKind::MemProf, u64::from(profile.memprof.is_some()));
    if !options.has_traces() {
        losses.add(LossKind::TemporalTraces, profile.temporal.traces.len() as u64);
    }
    let flags = options.flags().fold(ProfileKind::IR | ProfileKind::CONTEXT_SENSITIVE, |all, (kind, _)| all | kind);
    let counted = ProfileKind::MEMPROF | ProfileKind::TEMPORAL;
    let unrepresentable = profile.kind.without(flags | counted).indexed_bits();
    losses.add_properties(ProfileKind::from_bits(unrepresentable));
    Ok(losses.into_vec())
}

/// Counts names that LLVM's text loses: of functions and of targets.
fn count_unrepresentable_names(losses: &mut Losses, profile: &Profile, options: &TextOptions<'_>) -> Result<()> {
    let functions = Selected::of(profile, options.selection)?;
    let symbols = symbols_of(profile, &functions, options.compat)?;
    let mut place = NamePlace::default();
    for (at, function) in functions.iter().enumerate() {
        let is_hidden = place.hides(function.name(), functions.has_several_records(at));
        losses.add(LossKind::UnrepresentableNames, u64::from(is_hidden));
        for record in function.records() {
            for kind in options.value_kinds().iter().filter(|kind| kind.is_name()) {
                let values = record.sites(*kind).values();
                let nameless = values.iter().filter(|v| v.value != 0 && symbols.name(v.value).is_none());
                losses.add(LossKind::TargetNames, nameless.count() as u64);
            }
        }
    }
    Ok(())
}

/// Counts parts of records that the release does not know.
fn count_unknown_parts(losses: &mut Losses, profile: &Profile, options: &TextOptions<'_>) {
    for function in profile.functions.iter().filter(|function| options.selection.keeps(*function)) {
        for record in function.records() {
            if !options.has_bitmaps() {
                losses.add(LossKind::BitmapBytes, record.bitmap.len() as u64);
            }
            if !options.value_kinds().contains(&ValueKind::VTableTarget) {
                losses.add(LossKind::VTableSites, record.sites(ValueKind::VTableTarget).len() as u64);
            }
        }
    }
}
