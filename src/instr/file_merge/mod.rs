//! The merge of LLVM instrumentation profiles: which inputs are read early, and how raw profiles of one program add
//! their counters outside their turn.

#[cfg(all(test, feature = "correlate"))]
mod fault_tests;
pub(crate) mod files;
mod input_merge;
pub(crate) mod options;
pub(crate) mod report;
mod single_file;
mod staged;
mod state;
#[cfg(all(test, feature = "families"))]
mod tests;
#[cfg(all(test, feature = "families"))]
mod thread_tests;

pub use files::{leave_in_file, merge_files};
pub use options::MergeOptions;
pub use report::{MergeReport, RecordError};

use crate::driver::{InputReport, InputTurn, Merge};
use crate::error::Result;
use crate::input::Input;
use crate::instr::{Merger, SoftError};
use crate::memory::{self, HOLD_SUMS};
use crate::model::{FunctionTable, RecordId};
use input_merge::InputMerge;
use state::Images;
use state::{Sums, Worker};
use std::collections::BTreeSet;
use std::sync::PoisonError;

pub(in crate::instr) use input_merge::MANY_RECORDS;
pub(in crate::instr) use staged::read_ahead;
pub(crate) use state::{FileMerge, MergedFiles};

impl Merge for FileMerge<'_> {
    type Merger = Sums;
    type Worker = Worker;
    type Output = MergedFiles;

    fn merger(&self) -> Sums {
        let merger = Merger::new(self.options.merger_options());
        let (values_out, evicted) = (None, Vec::new());
        Sums { merger, values_out, evicted, bound: 0, has_image_sums: false, has_uniformity: false }
    }

    fn add_input(
        &self,
        worker: &mut Worker,
        input: &Input,
        turn: &mut InputTurn<'_, Sums>,
        report: &mut InputReport,
    ) -> Result<()> {
        let place = turn.place();
        let added = InputMerge::new(self, input, turn, report).run(worker);
        if let Some(mut images) = self.images() {
            images.passed(place);
        }
        if added.is_ok() && !turn.is_passed() {
            turn.wait()?.flush_evicted();
        }
        added
    }

    fn needs_restart(&self, sums: &Sums) -> Result<bool> {
        if sums.merger.is_out_of_memory() {
            return Err(memory::refused(HOLD_SUMS));
        }
        // Pending image sums must not be added too late if counts saturate, or if uniformity is weighted by counts.
        Ok(sums.has_image_sums && (sums.has_uniformity || sums.bound > 1 << 63))
    }

    fn finish(self, mut sums: Sums) -> Result<MergedFiles> {
        sums.restore_value_sites(None);
        let images = self.images.map(|images| images.into_inner().unwrap_or_else(PoisonError::into_inner));
        let known = images.map(Images::into_known).unwrap_or_default();
        sums.evicted.iter().chain(&known).for_each(|known| known.flush(&mut sums.merger));
        if sums.merger.is_out_of_memory() {
            return Err(memory::refused(HOLD_SUMS));
        }
        let mut soft_errors = self.soft_errors.into_inner().unwrap_or_else(PoisonError::into_inner);
        soft_errors.sort_by_key(|(place, ..)| *place);
        let soft_errors = with_names(soft_errors, sums.merger.functions());
        Ok(MergedFiles { merger: sums.merger, soft_errors })
    }
}

/// Adds the names of the functions to soft errors, which have the position of their input and their record.
fn with_names(errors: Vec<(usize, RecordId, SoftError)>, functions: &FunctionTable) -> Vec<RecordError> {
    if errors.is_empty() {
        return Vec::new();
    }
    let (names, mut seen) = (names_of_records(functions), BTreeSet::new());
    let name = |(input, record, error): (usize, RecordId, SoftError)| {
        let function = names[record.index()].to_vec();
        RecordError { input, function, error, is_first: seen.insert(error) }
    };
    errors.into_iter().map(name).collect()
}

/// Returns the name of each record's function.
fn names_of_records(functions: &FunctionTable) -> Vec<&[u8]> {
    let mut names = vec![&[][..]; functions.records_len()];
    for function in functions.iter() {
        function.record_ids().for_each(|record| names[record.index()] = function.name());
    }
    names
}
