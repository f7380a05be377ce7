//! `merge` of LLVM sample profiles.

use super::arguments::{MergeArgs, MergeWork};
use crate::merge_document::MergeDocument;
use crate::refuse::refuse;
use crate::sample_files::SampleRun;
use profbridge::Result;
use profbridge::pipeline::OutputForm;
use profbridge::sampleprof::Encoding;
use std::num::NonZeroUsize;

impl MergeArgs {
    /// Merges sample profiles.
    pub(crate) fn merge_samples(&self, work: &MergeWork<'_>, document: &mut MergeDocument) -> Result<()> {
        let given = [
            (self.sparse, "--sparse"),
            (self.format_version.is_some(), "--format-version"),
            (self.write_prev_version, "--write-prev-version"),
            (self.keep_vtable_symbols, "--keep-vtable-symbols"),
            (self.show, "--show"),
        ];
        refuse(&given, "not for sample profiles", "`profbridge merge --help` has the options of sample profiles last")?;
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
            threads: NonZeroUsize::new(self.num_threads),
            strict: self.strict,
            quiet: self.quiet,
            gates: &self.gates,
            json: self.json,
            applied: self.partial.then(|| self.applied()),
        };
        run.run(document)
    }

    /// Refuses what only sample profiles have.
    pub(crate) fn refuse_sample_options(&self, _: &str) -> Result<()> {
        self.sample.refuse_for_others()
    }
}
