//! `convert` of sampled stacks, and of an iprof to stacks.

use super::arguments::{ConvertArgs, ConvertWork};
use crate::merge_document::MergeDocument;
use crate::stack_merge::StackJob;
use crate::validate::refuse;
use profbridge::families::plan::{StackOutput, stack_outputs};
use profbridge::families::{FailureMode, OutputForm};
use profbridge::input::{Family, Input};
use profbridge::{Error, Result};

impl ConvertArgs {
    /// Adds sources of stacks and writes them in another format.
    pub(crate) fn convert_stacks(&self, work: &ConvertWork<'_>, document: &mut MergeDocument) -> Result<()> {
        self.refuse_for_stacks()?;
        let job = StackJob {
            inputs: work.inputs.into(),
            partial: None,
            format: StackOutput::of_form(work.form).unwrap_or(StackOutput::Collapsed),
            output: &self.output,
            read: &self.stacks,
            write: &self.write_stacks,
            strict: self.strict,
            quiet: self.quiet,
            json: true,
            failure_mode: FailureMode::Any,
            allow_empty: self.allow_empty,
            salvage: false,
        };
        self.gates().write(job.add_up(document)?, document)
    }

    /// Returns the format to write stacks in; `None` if the inputs are not stacks.
    pub(super) fn stack_format(&self, inputs: &[Input], form: OutputForm) -> Result<Option<StackOutput>> {
        let found = StackOutput::of_form(form);
        let holds_stacks = self.holds_stacks(inputs)?;
        match found {
            Some(StackOutput::Iprof) => Ok(holds_stacks.then_some(StackOutput::Iprof)),
            None if holds_stacks => {
                let error = Error::usage(format!("{} cannot be written as {}", Family::Stacks.words(), form.words()));
                Err(error.in_file(&self.output).with_hint(stack_outputs(inputs)))
            }
            found => Ok(found),
        }
    }

    fn holds_stacks(&self, inputs: &[Input]) -> Result<bool> {
        for input in inputs {
            if !self.stacks.are_in(input)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn refuse_for_stacks(&self) -> Result<()> {
        let others = [self.for_llvm(), self.bridge.given(), self.iprof.given(), self.iprof_write.given()];
        refuse(&others.concat(), "not for stacks", "`profbridge convert --help` lists the options for stacks")
    }
}
