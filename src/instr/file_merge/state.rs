//! The state of a merge of files: what all threads share, what changes in input order, and what one thread reuses.

use crate::driver::{Attempt, MergeJob};
use crate::input::{Input, ReadBuffer};
use crate::instr::file_merge::MergeOptions;
use crate::instr::file_merge::images::{self, Images, Known};
use crate::instr::file_merge::staged::Batch;
use crate::instr::{Merger, SoftError};
use crate::model::RecordId;
use crate::raw::{NameChunks, RawNames};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One merge of files.
pub(crate) struct FileMerge<'a> {
    pub(super) options: &'a MergeOptions,
    /// The size of each input when the merge began; 0 if unknown.
    pub(super) sizes: Vec<u64>,
    /// Whether the counters of the only input may stay in its bytes.
    pub(super) keeps_file: bool,
    pub(super) workers: usize,
    pub(super) threads_per_input: usize,
    /// Programs seen so far; `None` if every input is read record by record.
    pub(super) images: Option<Mutex<Images>>,
    /// Chunks of names of all raw profiles so far; `None` for a single input.
    pub(super) chunks: Option<Arc<NameChunks>>,
    pub(super) soft_errors: Mutex<Vec<(usize, RecordId, SoftError)>>,
}

/// What inputs are added to.
pub(crate) struct Sums {
    pub(super) merger: Merger,
    /// The image whose value sites are not in the merger.
    pub(super) values_out: Option<Arc<Known>>,
    /// Images that were dropped and whose counters are not in the merger yet.
    pub(super) evicted: Vec<Arc<Known>>,
    /// No counter of the result is larger, as far as images matter.
    pub(super) bound: u64,
    pub(super) has_image_sums: bool,
    pub(super) has_uniformity: bool,
}

/// Buffers of one thread.
#[derive(Default)]
pub(crate) struct Worker {
    /// The bytes of the current input.
    pub(super) buffer: ReadBuffer,
    /// Its records, if they are read before its turn.
    pub(super) batch: Batch,
    /// Names of the last raw profile that was read record by record: the next one mostly has the same.
    pub(super) names: Option<Arc<RawNames>>,
}

/// The result of a merge of files.
pub(crate) struct MergedFiles {
    pub(crate) merger: Merger,
    /// Records that were not, or only partly, merged: the place of the input, the record and why. In input order.
    pub(crate) soft_errors: Vec<(usize, RecordId, SoftError)>,
}

impl<'a> FileMerge<'a> {
    /// Starts a merge. If `keeps_file`, the counters of a single input may stay in its bytes, which are then kept.
    pub(crate) fn new(job: &MergeJob<'_>, options: &'a MergeOptions, keeps_file: bool) -> Self {
        let is_single = job.inputs.len() == 1;
        let size = |input: &Input| match input.is_pipe() {
            true => 0,
            false => std::fs::metadata(&input.path).map_or(0, |found| found.len()),
        };
        Self {
            options,
            sizes: job.inputs.iter().map(size).collect(),
            keeps_file: keeps_file && is_single,
            workers: job.workers,
            threads_per_input: job.threads_per_input,
            images: (job.attempt == Attempt::Fast && !is_single).then(|| Mutex::new(Images::new(images::MOST_BYTES))),
            chunks: (!is_single).then(Arc::default),
            soft_errors: Mutex::default(),
        }
    }

    pub(super) fn images(&self) -> Option<MutexGuard<'_, Images>> {
        self.images.as_ref().map(|images| images.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn add_soft_errors(&self, place: usize, errors: Vec<(RecordId, SoftError)>) {
        if !errors.is_empty() {
            let mut all = self.soft_errors.lock().unwrap_or_else(PoisonError::into_inner);
            all.extend(errors.into_iter().map(|(record, error)| (place, record, error)));
        }
    }
}

impl Sums {
    /// Puts the value sites of an image back into the merger, unless it is `next`.
    pub(super) fn restore_value_sites(&mut self, next: Option<&Arc<Known>>) {
        let is_another = |known: &mut Arc<Known>| !next.is_some_and(|next| Arc::ptr_eq(known, next));
        if let Some(known) = self.values_out.take_if(is_another) {
            known.values.put_back(&mut self.merger);
        }
    }

    /// Adds the counters of dropped images to which no thread adds any more.
    pub(super) fn flush_evicted(&mut self) {
        let Self { evicted, merger, .. } = self;
        evicted.retain(|known| {
            let is_in_use = Arc::strong_count(known) > 1;
            if !is_in_use {
                known.flush(merger);
            }
            is_in_use
        });
    }
}
