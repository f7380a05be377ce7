//! `merge` of LLVM sample profiles.

use super::arguments::{MergeArgs, MergeWork};
use super::option::MergeOption;
use crate::merge_document::MergeDocument;
use crate::merge_gates::Sum;
use crate::sample_files::SampleRun;
use profbridge::Result;
use profbridge::families::OutputForm;
use profbridge::sampleprof::Encoding;
use std::num::NonZeroUsize;

impl MergeArgs {
    /// Adds up sample profiles.
    pub(crate) fn merge_samples<'a>(
        &'a self,
        work: &'a MergeWork<'a>,
        document: &mut MergeDocument,
    ) -> Result<Box<dyn Sum + 'a>> {
        let run = SampleRun {
            inputs: work.inputs,
            output: &self.output,
            arguments: &self.sample,
            encoding: (work.form == OutputForm::Text).then_some(Encoding::Text),
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
        };
        run.add_up(document)
    }

    /// Refuses what only sample profiles have.
    pub(crate) fn refuse_sample_options(&self, _: &str) -> Result<()> {
        self.sample.refuse_for_others()
    }
}

/// What is refused of the options for instrumentation profiles.
pub(crate) fn refused_of_samples(_: MergeOption) -> (&'static str, &'static str) {
    ("not for sample profiles", "`profbridge merge --help` has the options of sample profiles last")
}
