//! Merges of profiles by whole stack and labels.
//!
//! Equal items of the profiles are unified: strings by their bytes; functions by all their data, including the start
//! line, which Go's compiler needs; mappings by size and build; locations by their offset in the mapping, because
//! programs are loaded at different addresses.

use crate::call_chains::{PERIODS_DIFFER, Unit, different_events};
use crate::digits::number_of;
use crate::error::{Error, ErrorKind, Result, Warning, WithWarnings};
use crate::stacks::pprof::profile::StringInterner;
use crate::stacks::pprof::table::unit_name;
use crate::stacks::pprof::{
    Function, Label, Line, Location, Mapping, Profile, SampleRef, Samples, StringId, ValueType, write,
};
use foldhash::HashMap;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::hash::BuildHasher;

/// How profiles are merged.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct MergeOptions {
    /// Leave out addresses and mappings of what has names: stacks of different
    /// builds become one. Default: `false`.
    pub drop_addresses: bool,
    /// Leave out labels: stacks of different requests become one. Default: `false`.
    pub drop_labels: bool,
}

/// Data that a merge dropped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergeReport {
    /// Values that not every profile has, sorted.
    pub dropped_types: Vec<String>,
    /// The profiles were sampled at different rates: numbers of samples do not
    /// weigh alike.
    pub periods_differ: bool,
    /// The events of recordings of perf.
    pub(crate) events: BTreeSet<String>,
    /// The regular expressions for frames of some profile are not those of the first.
    pub frames_differ: bool,
    /// Sums that stopped at 2^63 − 1.
    pub saturated: u64,
}

impl MergeReport {
    /// The warnings.
    pub fn warnings(&self) -> Vec<String> {
        let mut words = Vec::new();
        if !self.dropped_types.is_empty() {
            words.push(format!("dropped {}, which some profiles do not have", self.dropped_types.join(", ")));
        }
        let periods = self.periods_differ.then(|| PERIODS_DIFFER.to_string());
        words.extend(different_events(&self.events).or(periods));
        if self.frames_differ {
            words.push("the profiles drop different frames; the expressions of the first profile are kept".to_string());
        }
        if self.saturated > 0 {
            words.push(format!("{} limited to 2^63-1", number_of(self.saturated, "sum")));
        }
        words
    }
}

/// Adds up profiles.
#[derive(Debug, Default)]
pub struct Merger {
    options: MergeOptions,
    profile: Profile,
    strings: StringInterner,
    mappings: HashMap<(u64, u64, StringId), u32>,
    functions: HashMap<Function, u32>,
    locations: HashMap<Location, u32>,
    samples: HashTable<u32>,
    state: RandomState,
    inputs: u64,
    /// Whether inputs have weights, which can make samples of different periods comparable.
    has_weights: bool,
    report: MergeReport,
}

/// Positions in the merged profile of what was added already.
struct Places {
    strings: Vec<Option<StringId>>,
    mappings: Vec<Option<(u32, u64)>>,
    functions: Vec<Option<u32>>,
    locations: Vec<Option<u32>>,
}

impl Merger {
    /// Nothing yet.
    pub fn new(options: MergeOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Adds a profile, its values multiplied by `weight`; 0 counts as 1. Times become nanoseconds, and sizes bytes.
    /// Values beyond 2^63-1 saturate, which the report counts.
    ///
    /// # Errors
    ///
    /// Kind conflict when no type of value is in all profiles.
    pub fn add(&mut self, other: &Profile, weight: u64) -> Result<()> {
        self.add_some(other, weight, |_| true)
    }

    /// Like [`add`](Self::add), but only the samples at positions for which `keep` returns true.
    pub(super) fn add_some(&mut self, other: &Profile, weight: u64, keep: impl Fn(usize) -> bool) -> Result<()> {
        let mut places = Places {
            strings: vec![None; other.strings.len()],
            mappings: vec![None; other.mappings.len()],
            functions: vec![None; other.functions.len()],
            locations: vec![None; other.locations.len()],
        };
        let columns = self.columns(other, &mut places)?;
        let weight = i64::try_from(weight.max(1)).unwrap_or(i64::MAX);
        self.has_weights |= weight > 1;
        self.add_head(other, weight, &mut places);
        self.inputs += 1;
        let (mut locations, mut labels) = (Vec::new(), Vec::new());
        for sample in other.samples.iter().enumerate().filter(|(at, _)| keep(*at)).map(|(_, sample)| sample) {
            locations.clear();
            for at in sample.locations {
                locations.push(self.location(other, *at, &mut places));
            }
            labels.clear();
            if !self.options.drop_labels {
                for label in sample.labels {
                    labels.push(self.label(other, label, &mut places));
                }
                labels.sort_unstable();
            }
            let at = self.sample(&locations, &labels);
            self.add_values(at, sample, &columns, weight);
        }
        Ok(())
    }

    /// Returns the merged profile, and warnings about data that it could not keep.
    ///
    /// # Errors
    ///
    /// None so far; the mergers of all families have the same signature.
    pub fn finish(self) -> Result<WithWarnings<Profile>> {
        let (profile, report) = self.finish_with_report();
        Ok(WithWarnings::new(profile, report.warnings().into_iter().map(Warning::new).collect()))
    }

    /// Like [`finish`](Self::finish), with numbers instead of warnings.
    #[doc(hidden)]
    pub fn finish_with_report(mut self) -> (Profile, MergeReport) {
        let has_value = |kind| self.profile.sample_types.iter().any(|of| of.kind == kind);
        if !self.report.dropped_types.is_empty() && !has_value(self.profile.default_sample_type) {
            self.profile.default_sample_type = StringId::default();
        }
        self.profile.strings = self.strings.strings;
        // Time and memory are comparable whatever the rate.
        let is_measured = |of: &ValueType| matches!(self.profile.unit(*of).0, Unit::Bytes | Unit::Nanoseconds);
        self.report.periods_differ &= !self.has_weights && !self.profile.sample_types.iter().all(is_measured);
        self.report.dropped_types.sort();
        self.report.dropped_types.dedup();
        (self.profile, self.report)
    }

    /// The columns of `other` that are added to ours, each with the factor for its values, after ours were cut down
    /// to what both have.
    fn columns(&mut self, other: &Profile, places: &mut Places) -> Result<Vec<(usize, i64)>> {
        let theirs = other.sample_types.iter().map(|of| self.value_type(other, *of, places));
        let (theirs, scales): (Vec<ValueType>, Vec<i64>) = theirs.unzip();
        if self.inputs == 0 {
            self.profile.samples = Samples::new(theirs.len());
            self.profile.sample_types = theirs;
            return Ok(scales.into_iter().enumerate().collect());
        }
        let ours = self.profile.sample_types.clone();
        let common = ours.iter().enumerate().filter_map(|(at, of)| Some((at, theirs.iter().position(|it| it == of)?)));
        let (kept, columns): (Vec<usize>, Vec<usize>) = common.unzip();
        if kept.is_empty() && !(ours.is_empty() && theirs.is_empty()) {
            let names: Vec<String> = ours.iter().map(|of| self.value_name(*of)).collect();
            let detail = format!(
                "the profiles have no sample type in common: {} and {}",
                names.join(", "),
                other.value_names().join(", ")
            );
            return Err(Error::new(ErrorKind::KindConflict { detail })
                .with_hint("merge CPU, heap and lock profiles separately"));
        }
        let lost = ours.iter().enumerate().filter(|(at, _)| !kept.contains(at)).map(|(_, of)| *of);
        let foreign = theirs.iter().enumerate().filter(|(at, _)| !columns.contains(at)).map(|(_, of)| *of);
        let lost: Vec<String> = lost.chain(foreign).map(|of| self.value_name(of)).collect();
        self.report.dropped_types.extend(lost);
        if kept.len() < ours.len() {
            self.profile.samples.keep_columns(&kept);
            self.profile.sample_types = kept.iter().map(|at| ours[*at]).collect();
        }
        Ok(columns.into_iter().map(|column| (column, scales[column])).collect())
    }

    fn value_name(&self, of: ValueType) -> String {
        let text = |id| String::from_utf8_lossy(self.strings.strings.get(id)).into_owned();
        format!("{}/{}", text(of.kind), text(of.unit))
    }

    /// Adds the other data of a profile. Values come from the first profile that has them; durations are added, multiplied
    /// by the weight.
    fn add_head(&mut self, other: &Profile, weight: i64, places: &mut Places) {
        let is_first = self.inputs == 0;
        let mut string = |id| self.strings_of(other, id, places);
        let (drop, keep) = (string(other.drop_frames), string(other.keep_frames));
        let (default, url) = (string(other.default_sample_type), string(other.doc_url));
        let comments: Vec<StringId> = other.comments.iter().map(|id| string(*id)).collect();
        let (period_type, scale) = match other.period_type {
            Some(of) => {
                let (of, scale) = self.value_type(other, of, places);
                (Some(of), scale)
            }
            None => (None, 1),
        };
        let period = other.period.saturating_mul(scale);
        // The main program comes first, whatever the first sample ran.
        if is_first && !other.mappings.is_empty() && !self.options.drop_addresses {
            self.mapping(other, 0, places);
        }
        let sum = &mut self.profile;
        if is_first {
            (sum.drop_frames, sum.keep_frames) = (drop, keep);
        }
        self.report.frames_differ |= (sum.drop_frames, sum.keep_frames) != (drop, keep);
        // A profile without a period may have any rate.
        let are_known = sum.period != 0 && period != 0;
        self.report.periods_differ |= are_known && (sum.period_type, sum.period) != (period_type, period);
        if sum.default_sample_type.is_empty() {
            sum.default_sample_type = default;
        }
        if sum.doc_url.is_empty() {
            sum.doc_url = url;
        }
        self.report.events.extend(other.perf_events());
        for comment in comments {
            if !sum.comments.contains(&comment) {
                sum.comments.push(comment);
            }
        }
        sum.period_type = sum.period_type.or(period_type);
        sum.period = sum.period.max(period);
        sum.duration_nanos = sum.duration_nanos.saturating_add(other.duration_nanos.saturating_mul(weight));
        if sum.time_nanos == 0 || (other.time_nanos != 0 && other.time_nanos < sum.time_nanos) {
            sum.time_nanos = other.time_nanos;
        }
    }

    fn strings_of(&mut self, other: &Profile, id: StringId, places: &mut Places) -> StringId {
        if let Some(known) = places.strings[id.0 as usize] {
            return known;
        }
        let new = self.strings.intern(other.strings.get(id));
        places.strings[id.0 as usize] = Some(new);
        new
    }

    /// The type of a value, and the factor for it: time is added in nanoseconds, and memory in bytes.
    fn value_type(&mut self, other: &Profile, of: ValueType, places: &mut Places) -> (ValueType, i64) {
        let kind = self.strings_of(other, of.kind, places);
        let (unit, scale) = other.unit(of);
        let unit = match unit {
            Unit::Bytes | Unit::Nanoseconds => self.strings.intern(unit_name(unit).as_bytes()),
            _ => self.strings_of(other, of.unit, places),
        };
        (ValueType { kind, unit }, scale.cast_signed())
    }

    fn label(&mut self, other: &Profile, label: &Label, places: &mut Places) -> Label {
        Label {
            key: self.strings_of(other, label.key, places),
            text: self.strings_of(other, label.text, places),
            number: label.number,
            unit: self.strings_of(other, label.unit, places),
        }
    }

    /// Returns the index of a mapping, and the offset to add to its addresses.
    fn mapping(&mut self, other: &Profile, at: u32, places: &mut Places) -> (u32, u64) {
        if let Some(known) = places.mappings[at as usize] {
            return known;
        }
        let mapping = other.mappings[at as usize];
        let new = Mapping {
            file: self.strings_of(other, mapping.file, places),
            build_id: self.strings_of(other, mapping.build_id, places),
            ..mapping
        };
        let build = if new.build_id.is_empty() { new.file } else { new.build_id };
        let size = mapping.limit.wrapping_sub(mapping.start);
        let mappings = &mut self.profile.mappings;
        let place = *self.mappings.entry((size, mapping.offset, build)).or_insert_with(|| {
            mappings.push(new);
            (mappings.len() - 1) as u32
        });
        let known = &mut mappings[place as usize];
        // What only some profiles have resolved is not resolved in the sum.
        for (known, new) in known.resolved.iter_mut().zip(new.resolved) {
            *known &= new;
        }
        let found = (place, known.start.wrapping_sub(mapping.start));
        places.mappings[at as usize] = Some(found);
        found
    }

    fn function(&mut self, other: &Profile, at: u32, places: &mut Places) -> u32 {
        if let Some(known) = places.functions[at as usize] {
            return known;
        }
        let function = other.functions[at as usize];
        let function = Function {
            name: self.strings_of(other, function.name, places),
            system_name: self.strings_of(other, function.system_name, places),
            file: self.strings_of(other, function.file, places),
            start_line: function.start_line,
        };
        let functions = &mut self.profile.functions;
        let place = *self.functions.entry(function).or_insert_with(|| {
            functions.push(function);
            (functions.len() - 1) as u32
        });
        places.functions[at as usize] = Some(place);
        place
    }

    fn location(&mut self, other: &Profile, at: u32, places: &mut Places) -> u32 {
        if let Some(known) = places.locations[at as usize] {
            return known;
        }
        let location = &other.locations[at as usize];
        let mut lines = Vec::new();
        for line in &location.lines {
            let function = line.function.map(|at| self.function(other, at, places));
            lines.push(Line { function, ..*line });
        }
        let lines: Box<[Line]> = lines.into();
        let mut new = Location { lines, is_folded: location.is_folded, ..Location::default() };
        // Without a mapping, locations may differ in their address only.
        let is_named = !new.lines.is_empty() && location.mapping.is_some();
        if !(self.options.drop_addresses && is_named) {
            let mapping = location.mapping.map(|at| self.mapping(other, at, places));
            new.mapping = mapping.map(|(place, _)| place);
            new.address = location.address.wrapping_add(mapping.map_or(0, |(_, moved)| moved));
        }
        let locations = &mut self.profile.locations;
        let place = match self.locations.get(&new) {
            Some(known) => *known,
            None => {
                let place = locations.len() as u32;
                locations.push(new.clone());
                self.locations.insert(new, place);
                place
            }
        };
        places.locations[at as usize] = Some(place);
        place
    }

    fn sample(&mut self, locations: &[u32], labels: &[Label]) -> usize {
        let hash = self.state.hash_one((locations, labels));
        let samples = &mut self.profile.samples;
        let is_equal = |at: &u32| {
            let known = samples.get(*at as usize);
            known.locations == locations && known.labels == labels
        };
        if let Some(known) = self.samples.find(hash, is_equal) {
            return *known as usize;
        }
        let state = &self.state;
        let hash_of = |samples: &Samples, at: u32| {
            let known = samples.get(at as usize);
            state.hash_one((known.locations, known.labels))
        };
        let at = samples.len();
        samples.push(locations, &vec![0; samples.width], labels);
        self.samples.insert_unique(hash, at as u32, |at| hash_of(samples, *at));
        at
    }

    fn add_values(&mut self, at: usize, sample: SampleRef<'_>, columns: &[(usize, i64)], weight: i64) {
        let values = self.profile.samples.values_mut(at);
        for (sum, (column, scale)) in values.iter_mut().zip(columns) {
            let value = sample.values[*column].checked_mul(*scale).and_then(|value| value.checked_mul(weight));
            let added = value.and_then(|value| sum.checked_add(value));
            self.report.saturated += u64::from(added.is_none());
            *sum = added.unwrap_or(if sample.values[*column] < 0 { i64::MIN } else { i64::MAX });
        }
    }
}

// Profiles of bounded size: the heaviest stacks stay.

/// The profile with its `stacks` heaviest samples, by `Profile::main_value`,
/// in the order they had, and only what these refer to. Of equally heavy ones
/// those that come first stay.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub fn heaviest(profile: &Profile, stacks: usize) -> Result<Profile> {
    let ranks = ranks(profile)?;
    let mut merger = Merger::new(MergeOptions::default());
    merger.add_some(profile, 1, |at| ranks[at] < stacks)?;
    Ok(merger.finish_with_report().0)
}

/// The place of each sample, heaviest first.
fn ranks(profile: &Profile) -> Result<Vec<usize>> {
    let value = profile.main_value();
    let mut order: Vec<usize> = (0..profile.samples.len()).collect();
    // The position decides where the values are equal.
    let value = |at: usize| value.map(|value| profile.samples.get(at).values[value].unsigned_abs());
    order.sort_unstable_by_key(|at| (Reverse(value(*at)), *at));
    let mut ranks = vec![0; order.len()];
    for (rank, at) in order.into_iter().enumerate() {
        ranks[at] = rank;
    }
    Ok(ranks)
}

/// As many of the heaviest stacks as fit into `bytes` when `encode` has made a
/// file of them, and that file.
///
/// # Errors
///
/// A usage error when not even a profile without stacks fits; those of `encode`.
pub(crate) fn trim_to_bytes(
    profile: &Profile,
    bytes: usize,
    encode: impl Fn(Vec<u8>) -> Result<Vec<u8>>,
) -> Result<(Profile, Vec<u8>)> {
    let attempt = |stacks: usize| {
        let kept = heaviest(profile, stacks)?;
        let file = encode(write(&kept)?)?;
        Ok::<_, Error>((file.len() <= bytes).then_some((kept, file)))
    };
    let all = profile.samples.len();
    if let Some(whole) = attempt(all)? {
        return Ok(whole);
    }
    let Some(mut best) = attempt(0)? else {
        return Err(Error::usage(format!("a profile without stacks is larger than {}", number_of(bytes, "byte"))));
    };
    // `fits` do fit, `too_many` do not.
    let (mut fits, mut too_many) = (0, all);
    while too_many - fits > 1 {
        let middle = fits + (too_many - fits) / 2;
        match attempt(middle)? {
            Some(found) => (fits, best) = (middle, found),
            None => too_many = middle,
        }
    }
    Ok(best)
}
