//! `merge` of sampled stacks.

use super::arguments::{MergeArgs, MergeWork, OPTIONS_OF_EACH};
use crate::merge_document::MergeDocument;
use crate::refuse::refuse;
use crate::stack_merge::{self, StackJob};
use profbridge::Result;
use profbridge::pipeline::partial::{KeptFamily, open_kept};
use profbridge::pipeline::plan::StackOutput;

impl MergeArgs {
    /// Adds up sources of stacks.
    pub(crate) fn merge_stacks(&self, work: &MergeWork<'_>, document: &mut MergeDocument) -> Result<()> {
        let given = [
            (self.function.is_some(), "--function"),
            (self.no_function.is_some(), "--no-function"),
            (self.remapping_file.is_some(), "--remapping-file"),
            (self.format_version.is_some(), "--format-version"),
            (self.write_prev_version, "--write-prev-version"),
            (self.keep_vtable_symbols, "--keep-vtable-symbols"),
            (self.text, "--text"),
            (self.sparse, "--sparse"),
            (self.consumer.is_some(), "--for"),
            (self.show, "--show"),
        ];
        refuse(&given, "not for stacks", "weights, gates and --failure-mode are")?;
        let later = [(self.partial && self.salvage, "--salvage")];
        refuse(&later, "for the end of the merge", "give it when the parts are merged")?;
        let opened = open_kept(work.inputs, KeptFamily::Stacks, &crate::limits::chosen())?;
        if let Some((inputs, _)) = &opened {
            document.name_inputs(inputs);
        }
        let job = StackJob {
            inputs: opened.as_ref().map_or(work.inputs, |(inputs, _)| inputs),
            partial: self.partial.then_some(work.inputs),
            format: StackOutput::of_form(work.form).unwrap_or(StackOutput::Collapsed),
            output: &self.output,
            read: &self.stacks,
            write: &self.write_stacks,
            strict: self.strict,
            quiet: self.quiet,
            failure_mode: self.failure_mode.into(),
            gates: Some(&self.gates),
            allow_empty: self.gates.allow_empty,
            salvage: self.salvage,
        };
        stack_merge::run(&job, self.json, document)
    }

    /// Refuses what only stacks have.
    pub(crate) fn refuse_stack_options(&self, meant: &str) -> Result<()> {
        refuse(&[self.stacks.given(), self.write_stacks.given()].concat(), meant, OPTIONS_OF_EACH)
    }
}
