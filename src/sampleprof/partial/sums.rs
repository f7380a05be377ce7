//! The sums over a run of inputs.

use super::shape::Shape;
use crate::error::Result;
use crate::instr::Remapping;
use crate::memory::{self, HOLD_NAMES, HOLD_RECORDS};
use crate::partial::PartialInput;
use crate::sampleprof::merge::{RecordFault, merge_record, order_of_input, remap, rename};
use crate::sampleprof::names::{NameId, Names};
use crate::sampleprof::profile::{SampleProfile, StatedKind, SymbolList, push_title};
use crate::sampleprof::record::{Frame, FunctionRecord};
use crate::sampleprof::rules::Rules;
use foldhash::HashMap;

/// A sum of records of one name or context and shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) record: FunctionRecord,
    pub(super) shape: Shape,
    /// A filter left it out: its samples are gone, its place in the order is not.
    pub(super) is_left_out: bool,
}

/// What a sum is found by.
type SumKey = (NameId, Option<Box<[Frame]>>, Shape, bool);

/// A fault that became known when an input was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownFault {
    /// Which of the input's records.
    pub(super) visit: u32,
    pub(super) fault: RecordFault,
    /// It is told only if there was a record before.
    pub(super) is_of_a_join: bool,
}

/// What an input contributed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Contribution {
    pub(super) stated: StatedKind,
    /// Places of the sums that its records were added to, in the order of
    /// LLVM's container; `None` for an input that could not be read.
    pub(super) visits: Option<Vec<u32>>,
    pub(super) faults: Vec<KnownFault>,
}

/// Sums over a run of sample profiles, from which a merge can go on.
#[derive(Debug, Clone, Default)]
pub struct PartialSamples {
    pub(super) rules: Rules,
    pub(super) inputs: Vec<PartialInput>,
    /// One an input.
    pub(super) contributions: Vec<Contribution>,
    pub(super) names: Names,
    pub(super) sums: Vec<Sum>,
    pub(super) places: HashMap<SumKey, u32>,
    pub(super) symbols: SymbolList,
    /// The filters and renamings that were applied, in words.
    pub(super) applied: Vec<String>,
}

/// How an input is added.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Adding<'a> {
    /// Other names for functions.
    pub remapping: &'a Remapping,
    /// How many low bits of discriminators a renaming keeps.
    pub discriminator_bits: u32,
    /// Whether a function or context is kept, by its title.
    pub keeps: &'a dyn Fn(&[u8]) -> bool,
    /// Leave out the input's list of symbols.
    pub drop_symbols: bool,
}

impl<'a> Adding<'a> {
    /// Everything is kept as it is.
    pub fn new(remapping: &'a Remapping) -> Self {
        Self { remapping, discriminator_bits: 32, keeps: &|_| true, drop_symbols: false }
    }
}

impl std::fmt::Debug for Adding<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Adding").field("drop_symbols", &self.drop_symbols).finish_non_exhaustive()
    }
}

impl PartialSamples {
    /// Sums of nothing, by the rules of a release.
    pub fn new(rules: Rules) -> Self {
        Self { rules, ..Self::default() }
    }

    /// By whose rules inputs were read and stand in order.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// The inputs, in order.
    pub fn inputs(&self) -> &[PartialInput] {
        &self.inputs
    }

    /// The filters and renamings that were applied to inputs, in words and each once.
    pub fn applied(&self) -> &[String] {
        &self.applied
    }

    /// Remembers a filter or renaming, in words.
    pub fn note_applied(&mut self, words: String) {
        if !self.applied.contains(&words) {
            self.applied.push(words);
        }
    }

    /// Sums that are kept, of functions and contexts.
    pub fn len(&self) -> usize {
        self.sums.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    /// Whether a filter left out anything.
    pub fn has_left_out(&self) -> bool {
        self.sums.iter().any(|sum| sum.is_left_out)
    }

    /// Adds an input that could not be read; `stated` is what it said of its kind before the fault.
    pub fn add_unused(&mut self, input: PartialInput, stated: StatedKind) {
        self.inputs.push(input);
        self.contributions.push(Contribution { stated, visits: None, faults: Vec::new() });
    }

    /// Adds an input, as often as its weight says.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn add(&mut self, mut profile: SampleProfile, input: PartialInput, adding: &Adding<'_>) -> Result<()> {
        let mut one = Self::new(self.rules);
        let mut contribution = Contribution { stated: profile.stated, ..Contribution::default() };
        if let Some(symbols) = profile.symbols.take().filter(|_| !adding.drop_symbols) {
            one.symbols = symbols;
        }
        let order = order_of_input(self.rules, &profile)?;
        one.names = profile.names;
        let mut records: Vec<Option<FunctionRecord>> =
            memory::collect(profile.functions.into_iter().map(Some), HOLD_RECORDS)?;
        let mut visits = Vec::new();
        memory::reserve(&mut visits, records.len(), HOLD_RECORDS)?;
        for record in order.into_iter().filter_map(|at| records[at].take()) {
            let visit = visits.len() as u32;
            let (record, fault) = one.prepare(record, input.weight, adding)?;
            if let Some((fault, is_of_a_join)) = fault {
                memory::push(&mut contribution.faults, KnownFault { visit, fault, is_of_a_join }, HOLD_RECORDS)?;
            }
            visits.push(one.add_record(record, adding)?);
        }
        contribution.visits = Some(visits);
        let records = contribution.visits.as_ref().map_or(0, Vec::len) as u64;
        one.inputs.push(PartialInput { records, ..input });
        one.contributions.push(contribution);
        self.append(one)
    }

    /// A record with other names and multiplied, and what went wrong with that.
    fn prepare(
        &mut self,
        mut record: FunctionRecord,
        weight: u64,
        adding: &Adding<'_>,
    ) -> Result<(FunctionRecord, Option<(RecordFault, bool)>)> {
        let mut fault = None;
        if !adding.remapping.is_empty() {
            let bits = adding.discriminator_bits;
            let mask = if bits < 32 { (1 << bits) - 1 } else { u32::MAX };
            record = remap(&record, &mut self.names, adding.remapping, mask, &mut fault)?;
        }
        if weight == 1 {
            return Ok((record, fault.map(|fault| (fault, true))));
        }
        let mut scaled = FunctionRecord::new(record.name);
        scaled.context = record.context.take();
        scaled.attributes = record.attributes;
        let of_scaling = merge_record(&mut scaled, record, weight)?;
        Ok((scaled, fault.or(of_scaling).map(|fault| (fault, false))))
    }

    /// Adds a record of the only input.
    fn add_record(&mut self, mut record: FunctionRecord, adding: &Adding<'_>) -> Result<u32> {
        let mut title = Vec::new();
        push_title(&mut title, &self.names, &record);
        let shape = Shape::of(&record, &self.names);
        let is_left_out = !(adding.keeps)(&title);
        if is_left_out {
            let bare = FunctionRecord { context: record.context, ..FunctionRecord::new(record.name) };
            record = FunctionRecord { checksum: record.checksum, attributes: record.attributes, ..bare };
        }
        Ok(self.add_sum(Sum { record, shape, is_left_out })?.0)
    }

    /// Adds a sum to the one that it can be added to; says whether a count
    /// became too large.
    pub(super) fn add_sum(&mut self, sum: Sum) -> Result<(u32, bool)> {
        memory::reserve(&mut self.places, 1, HOLD_RECORDS)?;
        let next = u32::try_from(self.sums.len()).expect("fewer than 2^32 records fit in memory");
        if sum.shape != Shape::Whole {
            let key = (sum.record.name, sum.record.context.clone(), sum.shape, sum.is_left_out);
            let place = *self.places.entry(key).or_insert(next);
            if place != next {
                let fault = merge_record(&mut self.sums[place as usize].record, sum.record, 1)?;
                return Ok((place, fault.is_some()));
            }
        }
        memory::push(&mut self.sums, sum, HOLD_RECORDS)?;
        Ok((next, false))
    }

    /// Adds the sums of inputs that come after those of this one.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error: only a part was added then.
    pub fn append(&mut self, other: Self) -> Result<()> {
        let Self { inputs, contributions, names, sums, symbols, applied, .. } = other;
        let numbers = names.iter().map(|name| self.names.insert(name));
        let numbers: Vec<NameId> = memory::collect(numbers, HOLD_NAMES)?;
        self.names.check_memory()?;
        let same_order = numbers.is_sorted();
        let mut overflowed = Vec::new();
        let mut places = Vec::new();
        memory::reserve(&mut places, sums.len(), HOLD_RECORDS)?;
        for (at, mut sum) in sums.into_iter().enumerate() {
            rename(&mut sum.record, &numbers, same_order);
            let (place, has_overflowed) = self.add_sum(sum)?;
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
        Ok(())
    }
}

/// Which of several inputs brought a count beyond its maximum is not known any
/// more when sums are joined: the first that adds to it is named.
fn note_overflows(overflowed: &mut Vec<u32>, visits: &[u32], faults: &mut Vec<KnownFault>) {
    overflowed.retain(|place| {
        let visit = visits.iter().position(|visit| visit == place);
        if let Some(visit) = visit.map(|visit| visit as u32)
            && !faults.iter().any(|known| known.visit == visit)
        {
            faults.push(KnownFault { visit, fault: RecordFault::CounterOverflow, is_of_a_join: false });
            faults.sort_by_key(|known| known.visit);
        }
        visit.is_none()
    });
}
