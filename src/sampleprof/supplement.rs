//! Supplements an instrumentation profile: raises the counters of functions that hardly ran while they were instrumented
//! and that a sampler found warm.

use super::profile::{COLD_CUTOFF, CUTOFFS, HOT_CUTOFF, SampleProfile, Summary};
use super::record::{FunctionName, FunctionRecord};
use crate::error::Result;
use crate::model::summary::SummaryRules;
use crate::model::{LARGEST_COUNT, Profile, RecordId, Release, SummaryBuilder, ValueKind};
use std::collections::{BTreeMap, HashMap};

/// The mark in the name of a unique static function.
const UNIQUE_SUFFIX: &[u8] = b".__uniq.";
/// File extensions before the names of static functions, which a separator follows.
const FILE_ENDS: [&str; 5] = [".cpp", "cc", ".c", ".hpp", ".h"];
/// The largest counter becomes this multiple of the threshold.
const FACTOR: u64 = 3;

/// The release that introduced marks in the first counter, and supplements static and inlined functions.
const FIRST_WITH_MARKS: Release = Release(16);

/// Options of supplementing.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct SupplementOptions {
    /// Functions with a larger share of zeros are marked as hot or warm.
    pub zero_counter_threshold: f32,
    /// Functions with fewer counters stay unchanged.
    pub min_size_threshold: usize,
    /// Functions with a larger counter stay unchanged; 0 selects the cold threshold of the instrumentation profile.
    pub cold_threshold: u64,
    /// The release whose rules apply. Before 16, only functions that were called in the samples are raised, and all of
    /// their counters are marked.
    pub release: Release,
}

impl Default for SupplementOptions {
    fn default() -> Self {
        Self { zero_counter_threshold: 0.7, min_size_threshold: 10, cold_threshold: 0, release: Release::DEFAULT }
    }
}

/// The full names of static functions whose name without the file is equal.
#[derive(Debug)]
enum Static {
    One(Vec<u8>),
    Several,
}

/// Raises the counters of an instrumentation profile. Returns the names of static functions that are ambiguous, and
/// therefore stay unchanged, and the number of counts that are too large to be scaled. `sample` has the order of
/// `Merger::load`.
///
/// # Errors
///
/// Memory for the functions of the instrumentation profile is refused.
pub fn supplement(
    instr: &mut Profile,
    sample: &SampleProfile,
    summary: &Summary,
    options: &SupplementOptions,
) -> Result<(Vec<Vec<u8>>, u64)> {
    let has_marks = options.release >= FIRST_WITH_MARKS;
    let rules = if has_marks { SummaryRules::PseudoCounts } else { SummaryRules::BeforePseudoCounts };
    let mut builder = SummaryBuilder::new(rules);
    let mut candidates: HashMap<Vec<u8>, RecordId> = HashMap::new();
    let mut statics: HashMap<Vec<u8>, Static> = HashMap::new();
    let is_unique = |record: &FunctionRecord| contains(&sample.title(record), UNIQUE_SUFFIX);
    let samples_are_unique = sample.functions.iter().any(is_unique);
    for id in instr.functions.sorted_by_name() {
        let function = instr.functions.function(id);
        function.records().for_each(|record| builder.add_record(record));
        let mut records = function.record_ids();
        if let (Some(record), None) = (records.next(), records.next()) {
            candidates.insert(function.name().to_vec(), record);
            add_static(&mut statics, function.name(), options.release, samples_are_unique);
        }
    }
    let of_instr = builder.finish(CUTOFFS);
    let threshold = |cutoff| of_instr.rows.iter().find(|row| row.cutoff >= cutoff).map_or(0, |row| row.min_count);
    let (hot, mut cold) = (threshold(HOT_CUTOFF), threshold(COLD_CUTOFF));
    if options.cold_threshold > 0 {
        cold = options.cold_threshold;
    }
    let (hot_samples, cold_samples) =
        (summary.threshold(HOT_CUTOFF).unwrap_or_default(), summary.threshold(COLD_CUTOFF).unwrap_or_default());
    if !has_marks {
        let called = sample.functions.iter().filter(|record| record.head > cold_samples);
        let found = called.filter_map(|record| candidates.get(&*sample.title(record)));
        let saturated = found.map(|record| adjust(instr, *record, cold, (hot, u64::MAX), options)).sum();
        return Ok((Vec::new(), saturated));
    }
    let mut flat = Flat { sample, candidates: &candidates, statics: &statics, counts: BTreeMap::new() };
    sample.functions.iter().for_each(|record| flat.add(record, None));
    let (mut ambiguous, mut saturated) = (Vec::new(), 0);
    for (name, (entry, body)) in flat.counts {
        let value = entry.max(body);
        if value < cold_samples {
            continue;
        }
        let found = candidates.get(&name).or_else(|| match statics.get(&name) {
            Some(Static::One(full)) => candidates.get(full),
            Some(Static::Several) => {
                ambiguous.push(name.clone());
                None
            }
            None => None,
        });
        if let Some(record) = found {
            let target = if value >= hot_samples { (hot, u64::MAX) } else { (cold, u64::MAX - 1) };
            saturated += adjust(instr, *record, cold, target, options);
        }
    }
    Ok((ambiguous, saturated))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Adds a static function under its name without the file.
fn add_static(statics: &mut HashMap<Vec<u8>, Static>, full: &[u8], release: Release, samples_are_unique: bool) {
    let lower = full.to_ascii_lowercase();
    let separator = if release >= Release(18) { ";" } else { ":" };
    let end = FILE_ENDS.iter().find_map(|end| {
        let end = [*end, separator].concat();
        let at = lower.windows(end.len()).position(|window| window == end.as_bytes())?;
        Some(at + end.len())
    });
    let Some(end) = end.filter(|end| *end < full.len()) else { return };
    let (file, mut name) = (&full[..end - 1], &full[end..]);
    let suffix = name.windows(UNIQUE_SUFFIX.len()).position(|window| window == UNIQUE_SUFFIX);
    match suffix {
        Some(suffix) if !samples_are_unique => name = &name[..suffix],
        None if samples_are_unique => {
            let number = u128::from_be_bytes(md5::compute(file).0);
            let unique = [name, UNIQUE_SUFFIX, number.to_string().as_bytes()].concat();
            statics.insert(unique, Static::One(full.to_vec()));
            return;
        }
        _ => {}
    }
    statics
        .entry(name.to_vec())
        .and_modify(|known| *known = Static::Several)
        .or_insert_with(|| Static::One(full.to_vec()));
}

/// The samples of each function of the instrumentation profile: those of the entry, and the largest count of a line
/// location.
struct Flat<'a> {
    sample: &'a SampleProfile,
    candidates: &'a HashMap<Vec<u8>, RecordId>,
    statics: &'a HashMap<Vec<u8>, Static>,
    counts: BTreeMap<Vec<u8>, (u64, u64)>,
}

impl Flat<'_> {
    /// Adds a record and its inlined callees. An inlined callee that is not in the instrumentation profile counts for the
    /// function around it.
    fn add(&mut self, record: &FunctionRecord, around: Option<&[u8]>) {
        let name: FunctionName<'_> = self.sample.name(record.name);
        let name = name.to_bytes();
        let mut entry = record.entry_estimate(self.sample.kind().context_sensitive);
        let body = record.body.iter().map(|entry| entry.samples).max().unwrap_or_default();
        let outer = around.unwrap_or(&name).to_vec();
        let root = if self.candidates.contains_key(&name) {
            name
        } else {
            match self.statics.get(&name) {
                Some(Static::One(full)) => full.clone(),
                Some(Static::Several) => outer,
                None => {
                    entry = 0;
                    outer
                }
            }
        };
        let sum = self.counts.entry(root.clone()).or_default();
        *sum = (sum.0.wrapping_add(entry), sum.1.max(body));
        record.call_sites.iter().for_each(|site| self.add(&site.callee, Some(&root)));
    }
}

/// Marks or scales the counters of a record that is cold and large enough. Returns the number of counts that saturated.
fn adjust(instr: &mut Profile, id: RecordId, cold: u64, target: (u64, u64), options: &SupplementOptions) -> u64 {
    let counters = instr.functions.counters_mut(id);
    let max = counters.iter().copied().max().unwrap_or_default();
    if max > cold || counters.len() < options.min_size_threshold {
        return 0;
    }
    let zeros = counters.iter().filter(|counter| **counter == 0).count();
    let (threshold, mark) = target;
    if max == 0 || zeros as f32 / counters.len() as f32 > options.zero_counter_threshold {
        // Since release 16, a mark in the first counter marks the function.
        let marked = if options.release >= FIRST_WITH_MARKS { 1 } else { counters.len() };
        counters.iter_mut().take(marked).for_each(|counter| *counter = mark);
        return 0;
    }
    let wanted = threshold.wrapping_mul(FACTOR);
    if wanted <= max {
        return 0;
    }
    let mut saturated = 0;
    let mut scale = |count: u64, largest: u64| {
        let product = count.checked_mul(wanted);
        let scaled = product.unwrap_or(u64::MAX) / max;
        saturated += u64::from(product.is_none() || scaled > largest);
        scaled.min(largest)
    };
    let largest = if options.release >= FIRST_WITH_MARKS { LARGEST_COUNT } else { u64::MAX };
    counters.iter_mut().for_each(|counter| *counter = scale(*counter, largest));
    for kind in ValueKind::EACH {
        for value in instr.functions.sites_mut(id, kind).values_mut() {
            value.count = scale(value.count, u64::MAX);
        }
    }
    saturated
}
