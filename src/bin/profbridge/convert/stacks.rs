//! `convert` of sampled stacks, and of an iprof to stacks.

use super::arguments::for_llvm;
use super::arguments::{ConvertArgs, ConvertWork};
use crate::bridged::BridgeArgs;
use crate::iprof_convert::IprofConvertArgs;
use crate::iprof_files::IprofWriteArgs;
use crate::merge_document::MergeDocument;
use crate::merge_report::Messages;
use crate::validate::{options_of, refuse};
use profbridge::families::OutputForm;
use profbridge::families::plan::{MergePlan, StackOutput, stack_outputs};
use profbridge::input::{Family, Input};
use profbridge::{Error, Result};

impl ConvertArgs {
    /// Adds sources of stacks and writes them in another format.
    pub(crate) fn convert_stacks(&self, work: &ConvertWork<'_>, document: &mut MergeDocument) -> Result<()> {
        self.refuse_for_stacks()?;
        let format = StackOutput::of_form(work.form).unwrap_or(StackOutput::Collapsed);
        self.write_stacks.refuse_for(format)?;
        self.stacks.refuse_without_effect(work.inputs)?;
        let mut settings = self.settings(work.form)?;
        settings.options.stacks.read = self.stacks.read_options();
        settings.options.stacks.accepts_nothing = self.allow_empty;
        settings.options.stacks.pprof = self.write_stacks.pprof.merge_options();
        self.write_stacks.set_options(&self.stacks, &mut settings.write.stacks);
        let messages = Messages { summary: false, ..Messages::new(self.quiet, self.json) };
        self.merge_and_write(MergePlan::Stacks(format), work, &settings, messages, document)
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
        let others =
            [for_llvm(), options_of::<BridgeArgs>(), options_of::<IprofConvertArgs>(), options_of::<IprofWriteArgs>()];
        refuse(&others.concat(), "not for stacks", "`profbridge convert --help` lists the options for stacks")
    }
}
