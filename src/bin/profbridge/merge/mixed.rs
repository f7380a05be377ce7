//! `merge` of inputs of both families, or from one into the other.

use super::arguments::{MergeArgs, MergeWork};
use crate::bridged;
use crate::console;
use crate::cross_release;
use crate::iprof_files::NO_PROFILES;
use crate::merge_document::MergeDocument;
use crate::merge_report::{MergeConsole, note_input, print_warnings, profile_extent};
use crate::words::number_of;
use profbridge::input::{Family, Input, WeightedInput};
use profbridge::instr::Loss;
use profbridge::iprof::SectionKind;
use profbridge::pipeline::merge::mixed::{MixedOptions, MixedSum, is_document, merge_mixed};
use profbridge::pipeline::{self, InputOutcome, input_totals};
use profbridge::{Error, Result};
use std::num::NonZeroUsize;

impl MergeArgs {
    /// Takes inputs of both families, or to the other one, through the bridge.
    pub(super) fn merge_mixed(&self, target: Family, work: &MergeWork<'_>, document: &mut MergeDocument) -> Result<()> {
        let (inputs, form) = (work.inputs, work.form);
        if self.iprof.scales() {
            return Err(Error::usage("--scale and --normalize are for inputs that are all iprof and stay so"));
        }
        let mut whom = self.whom(inputs)?;
        let mut options = MixedOptions::default();
        options.llvm = self.merge_options(whom.target.release, form)?;
        options.iprof = crate::limits::iprof_options();
        options.llvm.keep_vtable_names |= target == Family::Iprof;
        options.trust = self.bridge.trust();
        if !self.quiet {
            eprintln!("{}", announcement(inputs, target));
        }
        let mut console = MergeConsole::new(self.quiet);
        let sum = merge_mixed(inputs, &options, &mut console)?;
        console.finish();
        print_warnings(&sum.llvm, self.quiet);
        note_all(document, inputs, &sum, options.llvm.salvage);
        sum.llvm.verdict_of_inputs(&options.llvm)?;
        let mut origins = sum.llvm.origins();
        origins.add_unknown();
        let used = sum.llvm.used() + inputs.iter().filter(|input| is_document(input)).count();
        if !self.quiet {
            sum.warnings.iter().for_each(console::warning);
        }
        let total = |input: &Input| match is_document(input) {
            true => input_totals::iprof_total(input, &options.iprof),
            false => input_totals::instr_total(input, &options.llvm.read),
        };
        let is_empty = sum.is_empty();
        let losses = match target {
            Family::Iprof => {
                let (result, losses) = sum.into_iprof(&self.bridge.to_iprof_options(self.iprof.branch_clash()))?;
                let extent = || pipeline::merge::iprof::extent_of(&result, used);
                document.judge(self.gates.outcomes(inputs, extent, &total))?;
                self.gates.refuse_nothing_but(NO_PROFILES, || is_empty)?;
                self.report_losses(&losses)?;
                self.iprof_write.write(&result, &self.output, NonZeroUsize::new(self.num_threads))?;
                losses
            }
            _ => {
                let sections = SectionKind::ALL.to_vec();
                let bridge = self.bridge.to_llvm_options(sections, whom.target.indexed_version);
                let (mut profile, losses) = sum.into_llvm(&bridge)?;
                let extent = || profile_extent(&profile, used, &options.llvm);
                document.judge(self.gates.outcomes(inputs, extent, &total))?;
                self.report_losses(&losses)?;
                let filter = &mut options.llvm.filter;
                let findings = whom.cross(&mut profile, filter, self.cross.hashes(), origins, self.strict)?;
                self.gates.refuse_profile_of_nothing(&profile, filter, self.sparse)?;
                let write = self.announced(self.write_options(&options.llvm, &whom, form), &whom);
                let saved = pipeline::write_file(&profile, &write, &self.output)?;
                if !self.quiet {
                    console::losses(&saved.losses, &write.tolerated, &self.output);
                }
                cross_release::print_findings(&findings, &self.output, self.quiet);
                document.findings = cross_release::findings_json(&findings);
                document.lose(&saved.losses);
                document.target = Some(whom.json());
                losses
            }
        };
        document.lose(&losses);
        document.wrote(&self.output, target.name());
        Ok(())
    }

    fn report_losses(&self, losses: &[Loss]) -> Result<()> {
        if self.quiet && !self.strict { Ok(()) } else { bridged::report_losses(losses, &self.output, self.strict) }
    }
}

/// What is about to happen, in words.
fn announcement(inputs: &[WeightedInput], target: Family) -> String {
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
fn note_all(document: &mut MergeDocument, inputs: &[WeightedInput], sum: &MixedSum, salvage: bool) {
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
