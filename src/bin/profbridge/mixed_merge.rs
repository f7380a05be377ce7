//! `merge` of inputs of both families, or from one into the other.

use crate::merge_document::MergeDocument;
use crate::merge_report::note_input;
use crate::words::number_of;
use profbridge::input::{Family, WeightedInput};
use profbridge::pipeline::InputOutcome;
use profbridge::pipeline::mixed::{MixedSum, is_document};

/// What is about to happen, in words.
pub(crate) fn announcement(inputs: &[WeightedInput], target: Family) -> String {
    let llvm = inputs.iter().filter(|input| !is_document(input)).count();
    let iprof = inputs.len() - llvm;
    let result = match target {
        Family::Iprof => "an iprof",
        _ => "an LLVM profile",
    };
    let (llvm, iprof) = (number_of(llvm, "LLVM profile"), number_of(iprof, "iprof file"));
    format!("through the bridge: {llvm} and {iprof} become {result}")
}

/// Notes what became of the inputs. A document that cannot be used ends the merge.
pub(crate) fn note(document: &mut MergeDocument, inputs: &[WeightedInput], sum: &MixedSum, salvage: bool) {
    let mut reports = sum.llvm.inputs.iter();
    for (at, input) in inputs.iter().enumerate() {
        if is_document(input) {
            document.note_outcome(at, &InputOutcome::Used);
        } else if let Some(report) = reports.next() {
            note_input(document, at, report, salvage);
        }
    }
    document.warn(&sum.warnings);
}
