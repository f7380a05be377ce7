//! The merge of all inputs of a partial merge.
//!
//! Inputs are replayed in order, and the records of each in their order. The first visit of a sum adds all of it,
//! because sums of one shape can be added in any order. Data that depends on the order, mainly the values of each
//! visit, is added at that visit.

use crate::error::Result;
use crate::instr::partial::runs::SiteReader;
use crate::instr::partial::sums::{Contribution, Group, PartialMerge};
use crate::instr::partial::sums::{Shape, Summed};
use crate::instr::rules::Weights;
use crate::instr::{MergeOptions, Merger, SoftError};
use crate::memprof::{self, Source};
use crate::model::{FunctionId, FunctionRecord, FunctionTable, RecordId, RecordView, ValueKind};
use std::collections::HashSet;

/// The result of a continued merge.
#[derive(Debug)]
#[non_exhaustive]
pub struct Replayed {
    /// The merger, with everything added.
    pub merger: Merger,
    /// Inputs that were left out because their kind conflicts with earlier ones: their numbers and the errors.
    pub conflicts: Vec<(usize, crate::Error)>,
    /// Functions that filters dropped from the inputs. Their names are still in the profile.
    pub left_out: HashSet<Vec<u8>>,
}

/// The progress within one sum.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    record: Option<RecordId>,
    /// Whether the sum was left out because its counters do not match.
    is_refused: bool,
    sites: SiteReader,
    wholes: usize,
    overflows: usize,
}

/// A callback for records that were not merged, or only in part: the input's number, the function and the fault.
pub type OnSoftError<'a> = dyn FnMut(usize, &[u8], SoftError) + 'a;

impl PartialMerge {
    /// Merges all inputs.
    ///
    /// # Errors
    ///
    /// Malformed memory profiles and value sites of a damaged state.
    pub fn replay(&self, options: MergeOptions, on_soft_error: &mut OnSoftError<'_>) -> Result<Replayed> {
        let mut replay = Replay {
            merger: Merger::new(options),
            names: &self.names,
            functions: vec![None; self.names.len()],
            groups: self.groups.iter().map(GroupReplay::new).collect(),
            sums_can_exceed: false,
            scratch: FunctionRecord::default(),
        };
        replay.sums_can_exceed = self.max_count > replay.merger.rules.max_count;
        self.no_sums.file().into_iter().for_each(|file| replay.merger.keep(file.clone()));
        replay.merger.keep_narrow();
        replay.merger.reserve(self.records());
        let mut conflicts = Vec::new();
        for (number, contribution) in self.contributions.iter().enumerate() {
            let Some(contribution) = contribution else { continue };
            let group = &self.groups[contribution.group as usize];
            let about = &self.inputs[number];
            let begun = match group.sequences.at(contribution.sequence).is_empty() {
                true => replay.merger.begin_without_records(group.kind),
                false => replay.merger.begin_named_input(group.kind, Some(&about.path)),
            };
            if let Err(conflict) = begun {
                conflicts.push((number, conflict));
                continue;
            }
            let weight = about.weight;
            replay.visit_records(contribution, number, weight, on_soft_error)?;
            replay.merger.add_binary_ids(self.binary_ids.at(contribution.binary_ids).iter().cloned());
            replay.merger.add_traces(contribution.traces.clone());
            replay.merger.add_vtable_names(self.vtable_names.at(contribution.vtable_names).iter().cloned());
            replay.add_memory(contribution, weight)?;
        }
        let merger = replay.merger;
        Ok(Replayed { left_out: left_out(&self.groups, &self.names), merger, conflicts })
    }
}

/// Returns the names of functions without any stored record.
fn left_out(groups: &[Group], names: &FunctionTable) -> HashSet<Vec<u8>> {
    let records = || groups.iter().flat_map(|group| &group.records);
    if records().all(|record| !record.shape.is_left_out) {
        return HashSet::new();
    }
    let kept: HashSet<FunctionId> =
        records().filter(|record| !record.shape.is_left_out).map(|record| record.function).collect();
    let gone = records().filter(|record| record.shape.is_left_out && !kept.contains(&record.function));
    gone.map(|record| names.name(record.function).to_vec()).collect()
}

struct Replay<'a> {
    merger: Merger,
    names: &'a FunctionTable,
    /// The merger's function for each function in `names`.
    functions: Vec<Option<FunctionId>>,
    groups: Vec<GroupReplay<'a>>,
    /// Whether the rules have a lower maximum of counters than the sums.
    sums_can_exceed: bool,
    scratch: FunctionRecord,
}

struct GroupReplay<'a> {
    group: &'a Group,
    progress: Vec<Progress>,
    /// Per sequence: after its first input, the visits that the next input with it makes.
    again: Vec<Option<Vec<u32>>>,
}

impl<'a> GroupReplay<'a> {
    fn new(group: &'a Group) -> Self {
        let (progress, again) = (vec![Progress::default(); group.records.len()], vec![None; group.sequences.len()]);
        Self { group, progress, again }
    }
}

impl Replay<'_> {
    fn visit_records(
        &mut self,
        contribution: &Contribution,
        number: usize,
        weight: u64,
        on_soft_error: &mut OnSoftError<'_>,
    ) -> Result<()> {
        let (at, sequence) = (contribution.group as usize, contribution.sequence as usize);
        let group = self.groups[at].group;
        let again = self.groups[at].again[sequence].take();
        let visits = again.as_deref().unwrap_or_else(|| group.sequences.at(contribution.sequence));
        for &place in visits {
            let (record, counts) = (&group.records[place as usize], group.sums.record(place as usize));
            let mut progress = self.groups[at].progress[place as usize];
            let error = self.visit(record, counts, &mut progress, number, weight)?;
            self.groups[at].progress[place as usize] = progress;
            if let Some(error) = error {
                on_soft_error(number, self.names.name(record.function), error);
            }
        }
        let again = match again {
            Some(again) => again,
            None => visits.iter().copied().filter(|place| self.matters_again(at, *place)).collect(),
        };
        self.groups[at].again[sequence] = Some(again);
        Ok(())
    }

    /// Returns true if a further visit of a sum adds something or has a fault.
    fn matters_again(&self, group: usize, place: u32) -> bool {
        let GroupReplay { group, progress, .. } = &self.groups[group];
        let (record, progress) = (&group.records[place as usize], &progress[place as usize]);
        record.is_visited_one_by_one() || progress.is_refused || !self.fits(record.shape, progress)
    }

    /// Returns true if the bitmap and the sites of a sum match the record into which it was merged.
    fn fits(&self, shape: Shape, progress: &Progress) -> bool {
        let Some(record) = progress.record else { return true };
        let record = self.merger.profile.functions.record(record);
        record.bitmap.len() == shape.bitmap as usize
            && ValueKind::EACH.into_iter().all(|kind| record.sites(kind).len() == shape.sites[kind as usize] as usize)
    }

    /// Adds one record of an input. Returns its fault.
    fn visit(
        &mut self,
        sum: &Summed,
        counts: RecordView<'_>,
        progress: &mut Progress,
        number: usize,
        weight: u64,
    ) -> Result<Option<SoftError>> {
        let function = self.function(sum.function);
        if sum.shape.is_whole {
            let whole = sum.extra.as_ref().and_then(|extra| extra.whole.get(progress.wholes));
            progress.wholes += 1;
            let Some(whole) = whole else { return Err(missing()) };
            let weights = Weights::of_input(whole.weight);
            return Ok(self.merger.add_to_function(function, whole.record.view(), weights).error);
        }
        let overflowed = progress.overflows(sum, number);
        let first = progress.record.is_none() && !progress.is_refused;
        self.read_sites(sum, progress)?;
        let error = if first {
            self.place(sum, counts, function, progress, weight)
        } else {
            self.merge_again(sum, progress, weight)
        };
        Ok(match error {
            Some(SoftError::CountMismatch) => error,
            _ if overflowed => Some(SoftError::CounterOverflow),
            _ => error,
        })
    }

    fn function(&mut self, known: FunctionId) -> FunctionId {
        let name = self.names.function(known);
        *self.functions[known.index()].get_or_insert_with(|| {
            self.merger.profile.functions.intern_shared(name.name(), name.name_ref(), name.text())
        })
    }

    /// Reads the sites of this visit into the scratch record.
    fn read_sites(&mut self, sum: &Summed, progress: &mut Progress) -> Result<()> {
        if !sum.shape.has_sites() {
            return Ok(());
        }
        if sum.shape.is_left_out {
            for kind in ValueKind::EACH {
                let sites = self.scratch.sites_mut(kind);
                sites.clear();
                (0..sum.shape.sites[kind as usize]).for_each(|_| sites.end_site());
            }
            return Ok(());
        }
        let extra = sum.extra.as_ref().ok_or_else(missing)?;
        progress.sites.next(&extra.sites, sum.shape.sites, &mut self.scratch)
    }

    /// Adds all counters of a sum, with the values of this visit.
    fn place(
        &mut self,
        sum: &Summed,
        counts: RecordView<'_>,
        function: FunctionId,
        progress: &mut Progress,
        weight: u64,
    ) -> Option<SoftError> {
        let scratch = &mut self.scratch;
        if !sum.shape.has_sites() {
            ValueKind::EACH.into_iter().for_each(|kind| scratch.sites_mut(kind).clear());
        }
        scratch.counters.clear();
        let max = self.merger.rules.max_count;
        if self.sums_can_exceed && counts.max_counter() > max {
            scratch.counters.extend(counts.counters.iter().map(|count| count.min(max)));
        }
        let mut record = scratch.view();
        (record.func_hash, record.bitmap) = (sum.func_hash, counts.bitmap);
        if record.counters.is_empty() {
            record.counters = counts.counters;
        }
        let outcome = self.merger.add_to_function(function, record, Weights::of_sum(weight));
        progress.record = Some(outcome.record);
        progress.is_refused = outcome.error == Some(SoftError::CountMismatch);
        outcome.error
    }

    /// Adds the values of a further visit. The other data was added before.
    fn merge_again(&mut self, sum: &Summed, progress: &Progress, weight: u64) -> Option<SoftError> {
        if progress.is_refused {
            return Some(SoftError::CountMismatch);
        }
        let target = progress.record?;
        let record = self.merger.profile.functions.record(target);
        if record.bitmap.len() != sum.shape.bitmap as usize {
            return Some(SoftError::BitmapMismatch);
        }
        if !record.has_value_sites() && !sum.shape.has_sites() {
            return None;
        }
        let mut error = None;
        for kind in ValueKind::EACH {
            if !sum.shape.has_sites() {
                self.scratch.sites_mut(kind).clear();
            }
            let sites = std::mem::take(self.scratch.sites_mut(kind));
            error = error.or(self.merger.merge_sites(target, kind, &sites, weight));
            *self.scratch.sites_mut(kind) = sites;
        }
        error
    }

    fn add_memory(&mut self, contribution: &Contribution, weight: u64) -> Result<()> {
        let Some(memory) = &contribution.memory else { return Ok(()) };
        if memory.is_indexed {
            return self.merger.add_memprof(memory.section.try_clone()?, weight);
        }
        let limits = self.merger.options.limits;
        let stored = memprof::indexed::read(&memory.section.bytes, memory.section.offset, &limits)?;
        let profile = match &memory.order {
            Some(order) => order.apply(stored.profile)?,
            None => stored.profile,
        };
        self.merger.add_memory(profile, Source::Raw, weight)
    }
}

impl Progress {
    /// Returns true if a counter exceeded its maximum at this visit.
    fn overflows(&mut self, sum: &Summed, number: usize) -> bool {
        let noted = sum.extra.as_ref().map_or(&[][..], |extra| &extra.overflows);
        let is_noted = noted.get(self.overflows).is_some_and(|input| *input as usize == number);
        self.overflows += usize::from(is_noted);
        is_noted
    }
}

fn missing() -> crate::Error {
    crate::Error::malformed("a visit without its record").at("state of a partial merge", 0)
}
