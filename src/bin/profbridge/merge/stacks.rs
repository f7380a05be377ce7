//! `merge` of sampled stacks.

use super::arguments::{MergeArgs, MergeWork, OPTIONS_OF_EACH};
use super::option::MergeOption;
use crate::merge_document::MergeDocument;
use crate::merge_gates::Sum;
use crate::stack_merge::StackJob;
use crate::validate::refuse;
use profbridge::Result;
use profbridge::families::partial::{StoredFamily, open_kept};
use profbridge::families::plan::StackOutput;

impl MergeArgs {
    /// Merges sources of stacks.
    pub(crate) fn merge_stacks<'a>(
        &'a self,
        work: &'a MergeWork<'a>,
        document: &mut MergeDocument,
    ) -> Result<Box<dyn Sum + 'a>> {
        let later = [(self.partial && self.salvage, "--salvage")];
        refuse(&later, "not for partial merges", "use it when you finish the merge")?;
        let opened = open_kept(work.inputs, StoredFamily::Stacks, self.allow_duplicates, &crate::limits::chosen())?;
        if let Some((inputs, _)) = &opened {
            document.name_inputs(inputs);
        }
        let job = StackJob {
            inputs: opened.map_or(work.inputs.into(), |(inputs, _)| inputs.into()),
            partial: self.partial.then_some(work.inputs),
            format: StackOutput::of_form(work.form).unwrap_or(StackOutput::Collapsed),
            output: &self.output,
            read: &self.stacks,
            write: &self.write_stacks,
            strict: self.strict,
            quiet: self.quiet,
            json: self.json,
            failure_mode: self.failure_mode.into(),
            allow_empty: self.gates.allow_empty,
            salvage: self.salvage,
        };
        job.add_up(document)
    }

    /// Rejects options that only apply to stacks.
    pub(crate) fn refuse_stack_options(&self, meant: &str) -> Result<()> {
        refuse(&[self.stacks.given(), self.write_stacks.given()].concat(), meant, OPTIONS_OF_EACH)
    }
}

/// Returns the message for options that stacks do not support.
pub(crate) fn refused_of_stacks(_: MergeOption) -> (&'static str, &'static str) {
    ("not for stacks", "use weights, thresholds and --failure-mode")
}
