//! `merge` of inputs of both families, or from one into the other.

use super::arguments::{MergeArgs, MergeWork};
use crate::bridged;
use crate::console;
use crate::cross_release;
use crate::iprof_files::NO_PROFILES;
use crate::merge_document::MergeDocument;
use crate::merge_gates::Sum;
use crate::merge_report::{MergeConsole, note_input, print_warnings, profile_extent};
use crate::target::Whom;
use crate::words::number_of;
use profbridge::input::{Family, Input, WeightedInput};
use profbridge::instr::{Loss, Profile};
use profbridge::iprof::{Document, SectionKind};
use profbridge::merge::cross_release::Origins;
use profbridge::pipeline::merge::mixed::{MixedOptions, MixedSum, is_document, merge_mixed};
use profbridge::pipeline::{self, Extent, InputOutcome, MergeOptions, OutputForm, input_totals};
use profbridge::{Error, Result};
use std::num::NonZeroUsize;

impl MergeArgs {
    /// Takes inputs of both families, or to the other one, through the bridge.
    pub(super) fn merge_mixed<'a>(
        &'a self,
        target: Family,
        work: &'a MergeWork<'a>,
        document: &mut MergeDocument,
    ) -> Result<Box<dyn Sum + 'a>> {
        let (inputs, form) = (work.inputs, work.form);
        if self.iprof.scales() {
            return Err(Error::usage("--scale and --normalize are for inputs that are all iprof and stay so"));
        }
        let whom = self.whom(inputs)?;
        let mut options = MixedOptions::default();
        options.llvm = self.merge_options(whom.target.release, form)?;
        options.iprof = crate::limits::iprof_options();
        options.llvm.keep_vtable_names |= target == Family::Iprof;
        options.trust = self.bridge.trust();
        if !self.quiet {
            console::say(&announcement(inputs, target));
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
        let is_empty = sum.is_empty();
        let (result, losses) = match target {
            Family::Iprof => {
                let (result, losses) = sum.into_iprof(&self.bridge.to_iprof_options(self.iprof.branch_clash()))?;
                (Crossed::Iprof(Box::new(result)), losses)
            }
            _ => {
                let sections = SectionKind::ALL.to_vec();
                let bridge = self.bridge.to_llvm_options(sections, whom.target.indexed_version);
                let (profile, losses) = sum.into_llvm(&bridge)?;
                (Crossed::Llvm(Box::new(profile)), losses)
            }
        };
        Ok(Box::new(BridgedSum { arguments: self, work, whom, options, origins, used, is_empty, result, losses }))
    }

    fn report_losses(&self, losses: &[Loss]) -> Result<()> {
        if self.quiet && !self.strict { Ok(()) } else { bridged::report_losses(losses, &self.output, self.strict) }
    }
}

/// What came out on the other side of the bridge.
enum Crossed {
    Iprof(Box<Document>),
    Llvm(Box<Profile>),
}

/// Inputs of both families that were added up.
struct BridgedSum<'a> {
    arguments: &'a MergeArgs,
    work: &'a MergeWork<'a>,
    whom: Whom,
    options: MixedOptions,
    origins: Origins,
    /// Inputs that were used.
    used: usize,
    /// Whether the inputs hold no profile.
    is_empty: bool,
    result: Crossed,
    /// What could not cross.
    losses: Vec<Loss>,
}

impl Sum for BridgedSum<'_> {
    fn inputs(&self) -> &[Input] {
        self.work.inputs
    }

    fn total_of(&self, input: &Input) -> Result<u128> {
        match is_document(input) {
            true => input_totals::iprof_total(input, &self.options.iprof),
            false => input_totals::instr_total(input, &self.options.llvm.read),
        }
    }

    fn extent(&self) -> Extent {
        match &self.result {
            Crossed::Iprof(result) => pipeline::merge::iprof::extent_of(result, self.used),
            Crossed::Llvm(profile) => profile_extent(profile, self.used, &self.options.llvm),
        }
    }

    /// Which functions of an LLVM profile are left is known when they have the names that their reader computes.
    fn lacks(&self) -> Option<&'static str> {
        (matches!(self.result, Crossed::Iprof(_)) && self.is_empty).then_some(NO_PROFILES)
    }

    fn write(self: Box<Self>, document: &mut MergeDocument) -> Result<()> {
        let Self { arguments, work, whom, options, origins, result, losses, .. } = *self;
        arguments.report_losses(&losses)?;
        let family = match result {
            Crossed::Iprof(result) => {
                let threads = NonZeroUsize::new(arguments.num_threads);
                arguments.iprof_write.write(&result, &arguments.output, threads)?;
                Family::Iprof
            }
            Crossed::Llvm(profile) => {
                arguments.write_crossed(*profile, whom, options.llvm, origins, work.form, document)?;
                Family::Instr
            }
        };
        document.lose(&losses);
        document.wrote(&arguments.output, family.name());
        Ok(())
    }
}

impl MergeArgs {
    /// Writes an LLVM profile with the names and hashes that its reader computes.
    fn write_crossed(
        &self,
        mut profile: Profile,
        mut whom: Whom,
        mut options: MergeOptions,
        origins: Origins,
        form: OutputForm,
        document: &mut MergeDocument,
    ) -> Result<()> {
        let findings = whom.cross(&mut profile, &mut options.filter, self.cross.hashes(), origins, self.strict)?;
        self.gates.refuse_profile_of_nothing(&profile, &options.filter, self.sparse)?;
        let write = self.announced(self.write_options(&options, &whom, form), &whom);
        let saved = pipeline::write_file(&profile, &write, &self.output)?;
        if !self.quiet {
            console::losses(&saved.losses, &write.tolerated, &self.output);
        }
        cross_release::print_findings(&findings, &self.output, self.quiet);
        document.findings = cross_release::findings_json(&findings);
        document.lose(&saved.losses);
        document.target = Some(whom.json());
        Ok(())
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
