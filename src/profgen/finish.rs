//! The last steps for every profile: removing cold functions, and measuring the density of the samples.

use super::names::is_ambiguous;
use super::program::Program;
use crate::error::Result;
use crate::sampleprof::{
    FunctionName, FunctionRecord, NameId, Names, Rules, SampleProfile, Summary, Threshold, add_saturating, attributes,
};
use std::collections::HashMap;

/// Options for the last steps.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct FinishOptions {
    /// Whether to remove functions that the summary classifies as cold.
    pub trim_cold: bool,
    /// Whether to mark every inlined function to be inlined again.
    pub mark_preinlined: bool,
    /// The share of all samples, in millionths, that determines the density.
    pub density_cutoff: u32,
    /// The total below which a function is cold.
    pub cold: Threshold,
    /// Whether functions stay whose name many translation units use.
    pub keep_ambiguous: bool,
}

impl Default for FinishOptions {
    fn default() -> Self {
        Self {
            trim_cold: false,
            mark_preinlined: false,
            density_cutoff: 990_000,
            cold: Threshold::COLD,
            keep_ambiguous: false,
        }
    }
}

/// Finishes a profile. Returns its density: the samples per location in the functions with most of the samples.
///
/// # Errors
///
/// Usage, if the cutoff of cold functions is larger than those of the summary.
pub(super) fn finish(profile: &mut SampleProfile, options: &FinishOptions) -> Result<f64> {
    if options.trim_cold {
        let threshold = Summary::of(&profile.functions, Rules::default()).count_of(options.cold)?;
        profile.functions.retain(|record| record.total >= threshold);
    }
    if !options.keep_ambiguous {
        let names = &profile.names;
        profile.functions.retain_mut(|record| keep(record, names));
    }
    if options.mark_preinlined {
        profile.functions.iter_mut().for_each(mark_preinlined);
        profile.stated.preinlined = Some(true);
    }
    Ok(density(&profile.functions, options.density_cutoff))
}

/// Returns the density as before LLVM 19: the samples per byte of code of the hot function that has the fewest; 0 without
/// hot functions.
///
/// # Errors
///
/// Usage, if the cutoff is larger than those of the summary.
pub(super) fn density_of_code(profile: &SampleProfile, program: &Program<'_>, hot: Threshold) -> Result<f64> {
    let hot = Summary::of(&profile.functions, program.rules).count_of(hot)?;
    let mut totals: HashMap<NameId, u64> = HashMap::new();
    for record in &profile.functions {
        add_saturating(totals.entry(record.name).or_default(), record.total);
    }
    let sizes = program.functions.iter().filter_map(|function| {
        let total = totals.get(&profile.names.find(FunctionName::Text(&function.name))?)?;
        let size: u64 = function.ranges.iter().map(|(start, end)| end - start).sum();
        (*total >= hot && size > 0).then(|| *total as f64 / size as f64)
    });
    Ok(sizes.min_by(f64::total_cmp).unwrap_or(0.0))
}

/// Marks a function and all that were inlined into it.
fn mark_preinlined(record: &mut FunctionRecord) {
    record.attributes |= attributes::SHOULD_BE_INLINED;
    record.call_sites.iter_mut().for_each(|site| mark_preinlined(&mut site.callee));
}

/// Removes inlined functions with ambiguous names. Returns false if the name of the function itself is ambiguous.
fn keep(record: &mut FunctionRecord, names: &Names) -> bool {
    if matches!(names.get(record.name), FunctionName::Text(name) if is_ambiguous(name)) {
        return false;
    }
    record.call_sites.retain_mut(|site| keep(&mut site.callee, names));
    true
}

fn density(records: &[FunctionRecord], cutoff: u32) -> f64 {
    let mut total = 0u64;
    let mut densities = Vec::new();
    for record in records {
        let (samples, locations) = body(record);
        if locations > 0 {
            total = total.wrapping_add(samples);
            densities.push((samples as f64 / locations as f64, samples));
        }
    }
    densities.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    // In single precision like LLVM, because it affects the result.
    let wanted = total as f32 * cutoff as f32 / 1_000_000.0;
    let (mut sum, mut density) = (0u64, 0.0);
    for (of_function, samples) in densities {
        if sum as f32 >= wanted {
            break;
        }
        sum = sum.wrapping_add(samples);
        density = of_function;
    }
    density
}

/// Returns the sum of the counts of a function and its inlined callees, and the number of locations.
fn body(record: &FunctionRecord) -> (u64, u64) {
    let own = record.body.iter().fold((0u64, 0u64), |sum, entry| (sum.0.wrapping_add(entry.samples), sum.1 + 1));
    record.call_sites.iter().fold(own, |sum, site| {
        let inlined = body(&site.callee);
        (sum.0.wrapping_add(inlined.0), sum.1 + inlined.1)
    })
}
