//! Contexts that hardly ran: dropped, or folded into shorter ones.

use super::merger::{Merger, Records};
use crate::error::{Error, Result};
use crate::memory::{self, HOLD_RECORDS};
use crate::sampleprof::merge::merge_record;
use crate::sampleprof::record::{Frame, FunctionRecord};
use crate::sampleprof::summary::COLD_CUTOFF;

/// What becomes of cold contexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColdContexts {
    /// Add them to the contexts of their last frames.
    pub merge: bool,
    /// Drop them; with `merge` only what stays cold and has no record yet.
    pub trim: bool,
    /// How many frames are the last ones.
    pub frames: usize,
}

impl Default for ColdContexts {
    fn default() -> Self {
        Self { merge: false, trim: false, frames: 1 }
    }
}

impl Merger {
    /// Folds or drops the records below the cold threshold of the profile; a
    /// record without context is dropped like others. Without a threshold
    /// nothing happens.
    ///
    /// # Errors
    ///
    /// Usage when a record without context is to be folded, or into none of its
    /// frames (LLVM crashes, or reads what is not there).
    pub fn treat_cold_contexts(&mut self, options: ColdContexts) -> Result<()> {
        if !(options.merge || options.trim) {
            return Ok(());
        }
        let threshold = self.summary()?.threshold(COLD_CUTOFF).unwrap_or_default();
        if threshold == 0 {
            return Ok(());
        }
        let is_cold = |record: &FunctionRecord| record.total < threshold;
        let cold = self.records.order()?.into_iter().filter(|at| self.records.get(*at).is_some_and(is_cold));
        let cold: Vec<usize> = memory::collect(cold, HOLD_RECORDS)?;
        let has_context = |at: &usize| self.records.get(*at).is_some_and(|record| record.context.is_some());
        if options.merge && !cold.iter().all(has_context) {
            let text = "cold contexts cannot be merged: the profile has functions without context";
            return Err(Error::usage(text).with_hint("leave the merging of cold contexts out"));
        }
        if options.merge && options.frames == 0 && !cold.is_empty() {
            return Err(Error::usage("cold contexts cannot be merged into contexts without frames"));
        }
        let mut folded = Records::default();
        for at in cold {
            let Some(record) = self.records.remove(at) else { continue };
            if options.merge {
                self.fold(record, options.frames, &mut folded)?;
            }
        }
        for record in folded.into_ordered()? {
            let key = self.key(&record);
            if !(options.trim && is_cold(&record) && self.records.find(key).is_none()) {
                self.merge_record(record)?;
            }
        }
        Ok(())
    }

    /// Adds a record to that of the last frames of its context.
    fn fold(&mut self, record: FunctionRecord, frames: usize, folded: &mut Records) -> Result<()> {
        let frames = if self.rules.folds_to_one_frame() { frames.min(1) } else { frames };
        let context = record.context.as_deref().unwrap_or_default();
        let last: &[Frame] = &context[context.len().saturating_sub(frames)..];
        let shorter = FunctionRecord::in_context(last.into()).unwrap_or_else(|| FunctionRecord::new(record.name));
        let key = self.key(&shorter);
        let at = match folded.find(key) {
            Some(at) => at,
            None => folded.insert(key, shorter)?,
        };
        if let Some(into) = folded.get_mut(at) {
            merge_record(into, record, 1)?;
        }
        Ok(())
    }
}
