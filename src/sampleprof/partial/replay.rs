//! The merge of all inputs, made of their sums.
//!
//! Inputs are taken in order, and the records of each in theirs. The first visit
//! of a sum adds all of it.

use super::sums::{Contribution, KnownFault, PartialSamples};
use crate::error::Result;
use crate::memory::{self, HOLD_RECORDS};
use crate::sampleprof::merge::{Merger, RecordFault};
use crate::sampleprof::profile::push_title;
use std::collections::HashSet;

/// What came of a merge that went on.
#[derive(Debug)]
#[non_exhaustive]
pub struct Replayed {
    /// The merger, with everything added.
    pub merger: Merger,
    /// Titles of functions and contexts that filters left out of the inputs,
    /// which still stand among the records of the merger.
    pub left_out: HashSet<Vec<u8>>,
}

/// Hears of inputs as their turn comes: of one that was left out, by its number;
/// and of records that were not added as they are, by name or context.
pub trait ReplayObserver {
    /// An input could not be read; an error ends the merge.
    ///
    /// # Errors
    ///
    /// What the observer decides.
    fn unused(&mut self, input: usize) -> Result<()>;
    /// A record of an input was not added as it is.
    fn record_fault(&mut self, input: usize, title: &[u8], fault: RecordFault);
}

/// Where the merge stands in one sum.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    is_added: bool,
    /// Checksums differ, for this input and all later ones.
    mismatches: bool,
}

impl PartialSamples {
    /// Merges all inputs.
    ///
    /// # Errors
    ///
    /// A kind conflict between inputs, with the number of the input; what the
    /// observer says of inputs that could not be read.
    pub fn replay(&self, observer: &mut dyn ReplayObserver) -> Result<Replayed, (usize, crate::Error)> {
        let names = self.names.try_clone().map_err(|error| (0, error))?;
        let mut merger = Merger::of_names(self.rules, names);
        let progress = memory::filled(Progress::default(), self.sums.len(), HOLD_RECORDS);
        let mut progress = progress.map_err(|error| (0, error))?;
        for (number, contribution) in self.contributions.iter().enumerate() {
            let Some(visits) = &contribution.visits else {
                merger.learn_failed(contribution.stated);
                observer.unused(number).map_err(|error| (number, error))?;
                continue;
            };
            merger.begin(contribution.stated).map_err(|error| (number, error))?;
            let visited = self.visit(&mut merger, &mut progress, number, contribution, visits, observer);
            visited.map_err(|error| (number, error))?;
        }
        merger.add_symbols(self.symbols.iter().cloned());
        Ok(Replayed { merger, left_out: self.left_out() })
    }

    fn visit(
        &self,
        merger: &mut Merger,
        progress: &mut [Progress],
        number: usize,
        contribution: &Contribution,
        visits: &[u32],
        observer: &mut dyn ReplayObserver,
    ) -> Result<(), crate::Error> {
        let mut known = contribution.faults.iter().peekable();
        for (at, place) in visits.iter().enumerate() {
            let sum = &self.sums[*place as usize];
            let known = known.next_if(|known| known.visit as usize == at);
            let so_far = &mut progress[*place as usize];
            let (mut was_there, mut merged) = (true, None);
            if !so_far.is_added {
                so_far.is_added = true;
                (was_there, merged) = merger.add_sum(sum.record.clone())?;
                so_far.mismatches = merged == Some(RecordFault::HashMismatch);
            } else if so_far.mismatches {
                merged = Some(RecordFault::HashMismatch);
            }
            if let Some(fault) = reported(known, was_there, merged) {
                let mut title = Vec::new();
                push_title(&mut title, &self.names, &sum.record);
                observer.record_fault(number, &title, fault);
            }
        }
        Ok(())
    }

    /// Titles of what filters left out and nothing else kept.
    fn left_out(&self) -> HashSet<Vec<u8>> {
        let titles = |wanted: bool| {
            self.sums.iter().filter(move |sum| sum.is_left_out == wanted).map(|sum| {
                let mut title = Vec::new();
                push_title(&mut title, &self.names, &sum.record);
                title
            })
        };
        let gone: HashSet<Vec<u8>> = titles(true).collect();
        if gone.is_empty() {
            return gone;
        }
        let kept: HashSet<Vec<u8>> = titles(false).collect();
        gone.difference(&kept).cloned().collect()
    }
}

/// What is told of a visit: a fault of renaming first, then another checksum of
/// the function itself, then a product that was too large.
fn reported(known: Option<&KnownFault>, was_there: bool, merged: Option<RecordFault>) -> Option<RecordFault> {
    match known {
        Some(known) if known.is_of_a_join && was_there => Some(known.fault),
        Some(known) if !known.is_of_a_join && merged.is_none() => Some(known.fault),
        _ => merged,
    }
}
