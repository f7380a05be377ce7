//! `merge --partial` of inputs that are all empty.
//!
//! A program that never ran leaves an empty file or none. The partial merge is then an empty file, which belongs to any
//! family, and which later merges skip like every empty input.

use super::arguments::MergeArgs;
use crate::console;
use crate::merge_document::MergeDocument;
use crate::merge_gates::Sum;
use crate::plural::{PARTIAL_SUFFIX, inputs_of};
use profbridge::families::plan::MergePlan;
use profbridge::families::{Facts, FactsRequest, InputOutcome};
use profbridge::input::output::{self, is_standard_output};
use profbridge::input::{Family, Format, Input};
use profbridge::{Result, Warning};

/// Returns true if every input is empty.
pub(super) fn are_empty(inputs: &[Input]) -> bool {
    inputs.iter().all(|input| input.format().is_ok_and(|format| format == Format::Empty))
}

/// A partial merge of empty inputs.
pub(super) struct EmptyPart<'a> {
    arguments: &'a MergeArgs,
    inputs: &'a [Input],
    family: Family,
}

impl<'a> EmptyPart<'a> {
    pub(super) fn new(arguments: &'a MergeArgs, inputs: &'a [Input], plan: MergePlan) -> Self {
        Self { arguments, inputs, family: plan.family().unwrap_or(Family::Instr) }
    }
}

impl Sum for EmptyPart<'_> {
    fn inputs(&self) -> &[Input] {
        self.inputs
    }

    fn total_of(&self, _: &Input) -> Result<u128> {
        Ok(0)
    }

    fn facts(&self, _: FactsRequest) -> Result<Facts> {
        let mut facts = Facts::default();
        (facts.functions, facts.total_count) = (Some(0), Some(0));
        Ok(facts)
    }

    fn write(self: Box<Self>, _: &Facts, document: &mut MergeDocument) -> Result<()> {
        let (arguments, output) = (self.arguments, &self.arguments.output);
        for (at, input) in self.inputs.iter().enumerate() {
            document.note_outcome(at, &InputOutcome::Empty);
            if !arguments.quiet {
                console::warning(&Warning::new("the file is empty; skipped").in_file(&input.path));
            }
        }
        output::replace(output, &[])?;
        document.wrote(output, self.family.name());
        if !arguments.quiet && !arguments.json && !is_standard_output(output) {
            let inputs = inputs_of(0, self.inputs.len());
            console::status(&format!("{}: no records from {inputs}{PARTIAL_SUFFIX}", output.display()));
        }
        Ok(())
    }
}
