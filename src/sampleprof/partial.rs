//! Partial merges of sample profiles: sums over a run of inputs, with the data to compute, from them and from the runs
//! before and after, exactly the result of one merge of all inputs.
//!
//! Samples add up whatever came before, so [`PartialSamples`] holds their sums, for each function or context. What
//! depends on the inputs before is kept as well:
//!
//! | kept | because |
//! |---|---|
//! | the records of each input, in the order of LLVM's container | they determine the order of the result and the function that a message names |
//! | records with checksums by shape | the first checksum stays; a record with another one is dropped |
//! | records with some checksums, one by one | a checksum may come to a record later |
//! | the kind that an input states | LLVM keeps what an input does not state from the input before |
//!
//! `partial_state` encodes the sums; those that equal a record of the profile in front are not
//! stored again.

use super::merge_record::{RecordFault, merge_record, rename};
use super::merger::{Merger, order_of_input};
use super::options::{Filter, MergeOptions, Rules, SymbolList};
use super::order::each_name;
use super::profile::{SampleProfile, StatedKind, push_title};
use super::record::{Frame, FunctionName, FunctionRecord, NameId, Names};
use crate::error::{Error, Result};
use crate::model::Remapping;
use crate::partial::PartialInput;
use foldhash::HashMap;
use std::collections::HashSet;
use xxhash_rust::xxh3::xxh3_64;

/// The sum of the records with one name or context and one shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) record: FunctionRecord,
    pub(super) shape: Shape,
    /// Whether a filter dropped it: its samples are gone, its place in the order is not.
    pub(super) is_left_out: bool,
}

/// The key of a sum.
type SumKey = (NameId, Option<Box<[Frame]>>, Shape, bool);

/// A fault that was found when an input was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownFault {
    /// The number of the record in its input.
    pub(super) visit: u32,
    pub(super) fault: RecordFault,
}

/// The contribution of one input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Contribution {
    pub(super) stated: StatedKind,
    /// The places of the sums to which its records were added, in the order of LLVM's container; `None` for an unreadable
    /// input.
    pub(super) visits: Option<Vec<u32>>,
    pub(super) faults: Vec<KnownFault>,
}

/// Sums over a run of sample profiles, from which a merge can continue.
#[derive(Debug, Clone, Default)]
pub struct PartialSamples {
    pub(super) rules: Rules,
    pub(super) inputs: Vec<PartialInput>,
    /// One per input.
    pub(super) contributions: Vec<Contribution>,
    pub(super) names: Names,
    pub(super) sums: Vec<Sum>,
    pub(super) places: HashMap<SumKey, u32>,
    pub(super) symbols: SymbolList,
    /// The filters and renamings that were applied, as text.
    pub(super) applied: Vec<String>,
}

impl PartialSamples {
    /// Makes sums without inputs, by the rules of a release.
    pub fn new(rules: Rules) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Returns the rules by which inputs were read and ordered.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// Returns the inputs, in order.
    pub fn inputs(&self) -> &[PartialInput] {
        &self.inputs
    }

    /// Returns the inputs, in order, for changes that keep their number.
    pub(crate) fn inputs_mut(&mut self) -> &mut [PartialInput] {
        &mut self.inputs
    }

    /// Returns the filters and renamings that were applied to inputs, as text, each once.
    pub fn applied(&self) -> &[String] {
        &self.applied
    }

    /// Stores a filter or renaming, as text.
    pub fn note_applied(&mut self, words: String) {
        if !self.applied.contains(&words) {
            self.applied.push(words);
        }
    }

    /// Fails if a rule would rename a function.
    pub(crate) fn require_unchanged(&self, remapping: &Remapping) -> Result<()> {
        let mut found = Ok(());
        for sum in self.sums.iter().filter(|_| !remapping.is_empty()) {
            each_name(&sum.record, false, &mut |id| {
                if let (Ok(()), FunctionName::Text(name)) = (&found, self.names.get(id)) {
                    found = remapping.require_unchanged(name);
                }
            });
        }
        found
    }

    /// Returns the number of sums.
    pub fn len(&self) -> usize {
        self.sums.len()
    }

    /// Returns true if there are no sums.
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    /// Returns true if a function filter was applied. One that dropped no function may drop those of another layout.
    pub(crate) fn is_filtered(&self) -> bool {
        self.sums.iter().any(|sum| sum.is_left_out) || self.applied.iter().any(|words| words.contains("function="))
    }

    /// Returns the sums of an unreadable input; `stated` is the kind that it stated before the error.
    pub(crate) fn of_unreadable(rules: Rules, input: PartialInput, stated: StatedKind) -> Self {
        let contribution = Contribution { stated, visits: None, faults: Vec::new() };
        Self { inputs: vec![input], contributions: vec![contribution], ..Self::new(rules) }
    }

    /// Returns the sums of an input with its weight. Of the options, the remapping, the filter and the symbol lists
    /// apply.
    pub fn of_input(mut profile: SampleProfile, input: PartialInput, options: &MergeOptions) -> Self {
        let mut one = Self::new(options.rules);
        let mut contribution = Contribution { stated: profile.stated, ..Contribution::default() };
        if let Some(symbols) = profile.symbols.take().filter(|_| !options.drop_symbols) {
            one.symbols = symbols;
        }
        let order = order_of_input(options.rules, &profile);
        let of_names = if options.remapping.is_empty() { Vec::new() } else { profile.rename(&options.remapping) };
        one.names = profile.names;
        let mut records: Vec<Option<FunctionRecord>> = profile.functions.into_iter().map(Some).collect();
        let mut visits = Vec::with_capacity(records.len());
        for at in order {
            let Some(record) = records[at].take() else { continue };
            let visit = visits.len() as u32;
            let (record, of_weight) = weighted(record, input.weight);
            if let Some(fault) = of_weight.or(of_names.get(at).copied().flatten()) {
                contribution.faults.push(KnownFault { visit, fault });
            }
            visits.push(one.add_record(record, &options.filter, profile.stated.hashed));
        }
        one.inputs.push(PartialInput { records: visits.len() as u64, ..input });
        contribution.visits = Some(visits);
        one.contributions.push(contribution);
        one
    }

    /// Adds a record of the only input. Returns the place of its sum.
    fn add_record(&mut self, mut record: FunctionRecord, filter: &Filter, hashed: bool) -> u32 {
        let shape = Shape::of(&record, &self.names);
        let is_left_out = !filter.is_none() && !filter.keeps(&title(&self.names, &record), hashed);
        if is_left_out {
            let bare = FunctionRecord { context: record.context, ..FunctionRecord::new(record.name) };
            record = FunctionRecord { checksum: record.checksum, attributes: record.attributes, ..bare };
        }
        self.add_sum(Sum { record, shape, is_left_out }).0
    }

    /// Adds a sum to the one with its key, or as a new one. Returns its place, and whether a count saturated.
    pub(super) fn add_sum(&mut self, sum: Sum) -> (u32, bool) {
        let next = u32::try_from(self.sums.len()).expect("fewer than 2^32 records fit in memory");
        if sum.shape != Shape::Whole {
            let key = (sum.record.name, sum.record.context.clone(), sum.shape, sum.is_left_out);
            let place = *self.places.entry(key).or_insert(next);
            if place != next {
                let fault = merge_record(&mut self.sums[place as usize].record, sum.record, 1);
                return (place, fault.is_some());
            }
        }
        self.sums.push(sum);
        (next, false)
    }

    /// Adds the sums of the inputs that follow those of this one.
    pub fn append(&mut self, other: Self) {
        let Self { inputs, contributions, names, sums, symbols, applied, .. } = other;
        let numbers: Vec<NameId> = names.iter().map(|name| self.names.insert(name)).collect();
        let same_order = numbers.is_sorted();
        let mut overflowed = Vec::new();
        let mut places = Vec::with_capacity(sums.len());
        for (at, mut sum) in sums.into_iter().enumerate() {
            rename(&mut sum.record, &numbers, same_order);
            let (place, has_overflowed) = self.add_sum(sum);
            places.push(place);
            if has_overflowed {
                overflowed.push(at as u32);
            }
        }
        for mut contribution in contributions {
            if let Some(visits) = &mut contribution.visits {
                note_overflows(&mut overflowed, visits, &mut contribution.faults);
                visits.iter_mut().for_each(|visit| *visit = places[*visit as usize]);
            }
            self.contributions.push(contribution);
        }
        self.inputs.extend(inputs);
        self.symbols.extend(symbols);
        applied.into_iter().for_each(|words| self.note_applied(words));
    }
}

/// Reports the saturated counts of joined sums. The input that caused one is no longer known, so the first one that adds
/// to it is named.
fn note_overflows(overflowed: &mut Vec<u32>, visits: &[u32], faults: &mut Vec<KnownFault>) {
    overflowed.retain(|place| {
        let visit = visits.iter().position(|visit| visit == place);
        if let Some(visit) = visit.map(|visit| visit as u32)
            && !faults.iter().any(|known| known.visit == visit)
        {
            faults.push(KnownFault { visit, fault: RecordFault::CounterOverflow });
            faults.sort_by_key(|known| known.visit);
        }
        visit.is_none()
    });
}

/// Determines which records can be summed before it is known to what they will be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Shape {
    /// No checksum anywhere.
    Plain,
    /// Checksums everywhere; the value hashes them and their locations.
    Checked(u64),
    /// Some records with a checksum and some without: never summed.
    Whole,
}

impl Shape {
    pub(super) fn of(record: &FunctionRecord, names: &Names) -> Self {
        match count(record) {
            (_, 0) => Self::Plain,
            (0, _) if record.call_sites.is_empty() => Self::Checked(record.checksum),
            (0, _) => {
                let mut words = Vec::new();
                describe(record, names, &mut words);
                Self::Checked(xxh3_64(&words))
            }
            _ => Self::Whole,
        }
    }
}

/// Counts the records without and with a checksum.
fn count(record: &FunctionRecord) -> (usize, usize) {
    let own = if record.checksum == 0 { (1, 0) } else { (0, 1) };
    record.call_sites.iter().fold(own, |(without, with), site| {
        let (more_without, more_with) = count(&site.callee);
        (without + more_without, with + more_with)
    })
}

fn describe(record: &FunctionRecord, names: &Names, words: &mut Vec<u8>) {
    words.extend_from_slice(&record.checksum.to_le_bytes());
    words.extend_from_slice(&(record.call_sites.len() as u64).to_le_bytes());
    // Callees of one location have the order of their ids, which differs between profiles.
    let mut sites: Vec<_> = record.call_sites.iter().collect();
    sites.sort_by(|a, b| a.location.cmp(&b.location).then_with(|| names.compare(a.callee.name, b.callee.name)));
    for site in sites {
        words.extend_from_slice(&site.location.line.to_le_bytes());
        words.extend_from_slice(&site.location.discriminator.to_le_bytes());
        let name = names.get(site.callee.name).to_bytes();
        words.extend_from_slice(&xxh3_64(&name).to_le_bytes());
        describe(&site.callee, names, words);
    }
}

/// The progress of a replay in one sum.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    is_added: bool,
    /// The checksums differ, for this input and all later ones.
    mismatches: bool,
}

impl PartialSamples {
    /// Merges all inputs in order, and the records of each input in their order. The first visit of a sum adds all of it.
    /// Calls `on_fault` with the number of the input and the name or context of each record that is not added unchanged.
    ///
    /// # Errors
    ///
    /// A kind conflict between inputs, with the number of the input.
    pub fn replay(
        &self,
        options: &MergeOptions,
        on_fault: &mut dyn FnMut(usize, &[u8], RecordFault),
    ) -> Result<Merger, (usize, Error)> {
        let options = MergeOptions { rules: self.rules, ..options.clone() };
        let mut merger = Merger::of_names(&options, self.names.clone());
        let mut progress = vec![Progress::default(); self.sums.len()];
        for (number, contribution) in self.contributions.iter().enumerate() {
            let Some(visits) = &contribution.visits else { continue };
            merger.begin(contribution.stated).map_err(|error| (number, error))?;
            let on_fault = &mut |title: &[u8], fault| on_fault(number, title, fault);
            self.visit(&mut merger, &mut progress, contribution, visits, on_fault);
        }
        merger.symbols.extend(self.symbols.iter().cloned());
        merger.left_out = self.left_out();
        Ok(merger)
    }

    fn visit(
        &self,
        merger: &mut Merger,
        progress: &mut [Progress],
        contribution: &Contribution,
        visits: &[u32],
        on_fault: &mut dyn FnMut(&[u8], RecordFault),
    ) {
        let mut known = contribution.faults.iter().peekable();
        for (at, place) in visits.iter().enumerate() {
            let sum = &self.sums[*place as usize];
            let known = known.next_if(|known| known.visit as usize == at);
            let so_far = &mut progress[*place as usize];
            let mut merged = None;
            if !so_far.is_added {
                so_far.is_added = true;
                merged = merger.add_sum(sum.record.clone());
                so_far.mismatches = merged == Some(RecordFault::HashMismatch);
            } else if so_far.mismatches {
                merged = Some(RecordFault::HashMismatch);
            }
            if let Some(fault) = merged.or(known.map(|known| known.fault)) {
                on_fault(&title(&self.names, &sum.record), fault);
            }
        }
    }

    /// Returns the titles that filters dropped and no input kept.
    fn left_out(&self) -> HashSet<Vec<u8>> {
        let titles = |wanted: bool| {
            self.sums.iter().filter(move |sum| sum.is_left_out == wanted).map(|sum| title(&self.names, &sum.record))
        };
        let gone: HashSet<Vec<u8>> = titles(true).collect();
        if gone.is_empty() {
            return gone;
        }
        let kept: HashSet<Vec<u8>> = titles(false).collect();
        gone.difference(&kept).cloned().collect()
    }
}

/// Returns a record with a weight, and the fault.
fn weighted(mut record: FunctionRecord, weight: u64) -> (FunctionRecord, Option<RecordFault>) {
    if weight == 1 {
        return (record, None);
    }
    let mut scaled = FunctionRecord::new(record.name);
    scaled.context = record.context.take();
    scaled.attributes = record.attributes;
    let fault = merge_record(&mut scaled, record, weight);
    (scaled, fault)
}

fn title(names: &Names, record: &FunctionRecord) -> Vec<u8> {
    let mut title = Vec::new();
    push_title(&mut title, names, record);
    title
}
