//! `merge` of LLVM sample profiles.

use super::arguments::{MergeArgs, MergeWork};
use super::option::MergeOption;
use crate::merge_document::MergeDocument;
use crate::merge_gates::Sum;
use crate::sample_files::SampleRun;
use profbridge::Result;
use std::num::NonZeroUsize;

impl MergeArgs {
    /// Merges sample profiles.
    pub(crate) fn merge_samples<'a>(
        &'a self,
        work: &'a MergeWork<'a>,
        document: &mut MergeDocument,
    ) -> Result<Box<dyn Sum + 'a>> {
        self.sample_run(work)?.add_up(document)
    }

    /// Returns the settings of a merge of sample profiles.
    pub(super) fn sample_run<'a>(&'a self, work: &'a MergeWork<'a>) -> Result<SampleRun<'a>> {
        Ok(SampleRun {
            inputs: work.inputs,
            output: &self.output,
            arguments: &self.sample,
            encoding: self.written.sample_encoding(work.form),
            consumer: self.consumer.as_deref(),
            function: self.function.as_deref(),
            no_function: self.no_function.as_deref(),
            remapping: self.remapping()?,
            failure_mode: self.failure_mode.into(),
            salvage: self.salvage,
            allow_duplicates: self.allow_duplicates,
            threads: NonZeroUsize::new(self.num_threads),
            strict: self.strict,
            quiet: self.quiet,
            json: self.json,
            applied: self.partial.then(|| self.applied()),
        })
    }

    /// Rejects options that only apply to sample profiles.
    pub(crate) fn refuse_sample_options(&self, _: &str) -> Result<()> {
        self.sample.refuse_for_others()
    }
}

/// Returns the message for options that sample profiles do not support.
pub(crate) fn refused_of_samples(_: MergeOption) -> (&'static str, &'static str) {
    ("not for sample profiles", "`profbridge merge --help` lists the options of sample profiles")
}
