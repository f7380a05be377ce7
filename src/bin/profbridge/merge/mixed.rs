//! `merge` of inputs of both families, or from one into the other.

use super::arguments::{MergeArgs, MergeWork};
use crate::bridged;
use crate::console;
use crate::cross_release;
use crate::iprof_merge::{self, findings_of, print_input, report_failure};
use crate::merge_document::MergeDocument;
use crate::merge_gates::Sum;
use crate::merge_report::{note_input, print_warnings};
use crate::plural::number_of;
use crate::target::ResolvedTarget;
use profbridge::families::merge::iprof::IprofMergeOptions;
use profbridge::families::merge::mixed::{MixedSum, is_document, merge_mixed};
use profbridge::families::{self, Facts, FactsRequest, WriteOptions, inputs};
use profbridge::input::{Family, Input, WeightedInput};
use profbridge::instr::cross_release::Finding;
use profbridge::instr::encode::facts_of;
use profbridge::instr::{Loss, Profile};
use profbridge::iprof::{Document, SectionKind};
use profbridge::{Error, Result};
use std::num::NonZeroUsize;

impl MergeArgs {
    /// Merges LLVM profiles and iprof files into one of the two formats.
    pub(super) fn merge_mixed<'a>(
        &'a self,
        family: Family,
        work: &'a MergeWork<'a>,
        document: &mut MergeDocument,
    ) -> Result<Box<dyn Sum + 'a>> {
        let (inputs, form) = (work.inputs, work.form);
        if self.iprof.scales() {
            return Err(Error::usage("--scale and --normalize require that all inputs and the output are iprof files"));
        }
        if family == Family::Iprof {
            self.refuse_filters_of_iprof()?;
        }
        let mut target = self.target(inputs)?;
        let mut options = IprofMergeOptions::default();
        options.llvm = self.merge_options(target.target.release, form)?;
        options.read = crate::limits::iprof_options();
        options.read.threads = NonZeroUsize::new(self.num_threads);
        options.failure_mode = self.failure_mode.into();
        options.salvage = self.salvage;
        options.llvm.keep_vtable_names |= family == Family::Iprof;
        options.trust = self.bridge.trust();
        if !self.quiet {
            console::status(&announcement(inputs, family));
        }
        let progress = console::Progress::new("merging", self.quiet);
        let sum = merge_mixed(inputs, &options, &mut |done, total| progress.update(done, total));
        progress.finish();
        let sum = sum.map_err(|failed| report_failure(failed, &options, document))?;
        print_warnings(&sum.llvm, &options.llvm, self.quiet);
        for (at, report) in sum.documents.iter().enumerate() {
            print_input(report, findings_of(&sum.findings, at), self.quiet);
        }
        note_all(document, inputs, &sum, options.salvage);
        let mut origins = sum.llvm.origins();
        if sum.documents_used() > 0 {
            origins.add_unknown();
        }
        let used = sum.used();
        if !self.quiet {
            sum.warnings.iter().for_each(console::warning);
        }
        let (result, losses) = match family {
            Family::Iprof => {
                let (result, losses) = sum.into_iprof(&self.bridge.to_iprof_options(self.iprof.branch_clash()))?;
                (AdaptedProfile::Iprof(Box::new(result)), losses)
            }
            _ => {
                let sections = SectionKind::ALL.to_vec();
                let bridge = self.bridge.to_llvm_options(sections, target.target.indexed_version);
                let (mut profile, losses) = sum.into_llvm(&bridge)?;
                let (filter, hashes) = (&mut options.llvm.filter, self.cross.hashes());
                let findings = target.cross(&mut profile, filter, hashes, origins, self.strict, form)?;
                let write = self.write_options(&options.llvm, &target, form);
                self.refuse_filters_of_memory(&profile, &write)?;
                (AdaptedProfile::Llvm(Box::new(CrossedProfile { profile, findings, write, target })), losses)
            }
        };
        Ok(Box::new(BridgedSum { arguments: self, work, options, used, result, losses }))
    }

    fn report_losses(&self, losses: &[Loss]) -> Result<()> {
        if self.quiet && !self.strict { Ok(()) } else { bridged::report_losses(losses, &self.output, self.strict) }
    }
}

/// The converted result.
enum AdaptedProfile {
    Iprof(Box<Document>),
    Llvm(Box<CrossedProfile>),
}

/// An LLVM profile with the names and hashes of the target.
struct CrossedProfile {
    profile: Profile,
    /// The changes of names and hashes.
    findings: Vec<Finding>,
    write: WriteOptions,
    target: ResolvedTarget,
}

/// Merged inputs of both families.
struct BridgedSum<'a> {
    arguments: &'a MergeArgs,
    work: &'a MergeWork<'a>,
    options: IprofMergeOptions,
    /// Inputs that were used.
    used: usize,
    result: AdaptedProfile,
    /// Data that could not be converted.
    losses: Vec<Loss>,
}

impl Sum for BridgedSum<'_> {
    fn inputs(&self) -> &[Input] {
        self.work.inputs
    }

    fn total_of(&self, input: &Input) -> Result<u128> {
        match is_document(input) {
            true => inputs::iprof_total(input, &self.options.read),
            false => inputs::instr_total(input, &self.options.llvm.read),
        }
    }

    fn facts(&self, wanted: FactsRequest) -> Result<Facts> {
        let facts = match &self.result {
            AdaptedProfile::Iprof(result) => families::merge::iprof::facts_of(result, wanted),
            AdaptedProfile::Llvm(crossed) => {
                facts_of(&crossed.profile, &crossed.write, &self.options.llvm.read.limits, wanted)?
            }
        };
        Ok(facts.of_inputs(self.used))
    }

    fn write(self: Box<Self>, _: &Facts, document: &mut MergeDocument) -> Result<()> {
        let Self { arguments, result, losses, .. } = *self;
        arguments.report_losses(&losses)?;
        document.lose(&losses);
        let family = match result {
            AdaptedProfile::Iprof(result) => {
                let threads = NonZeroUsize::new(arguments.num_threads);
                arguments.iprof_write.write(&result, &arguments.output, threads)?;
                Family::Iprof
            }
            AdaptedProfile::Llvm(crossed) => {
                arguments.write_crossed(&crossed, document)?;
                Family::Instr
            }
        };
        document.wrote(&arguments.output, family.name());
        Ok(())
    }
}

impl MergeArgs {
    fn write_crossed(&self, crossed: &CrossedProfile, document: &mut MergeDocument) -> Result<()> {
        let CrossedProfile { profile, findings, write, target } = crossed;
        if !self.quiet {
            target.announce(write.format, &self.output);
        }
        let saved = families::write_file(profile, write, &self.output)?;
        if !self.quiet {
            console::losses(&saved.losses, &write.tolerated, &self.output);
        }
        cross_release::print_findings(findings, &self.output, self.quiet);
        document.findings = cross_release::findings_json(findings);
        document.lose(&saved.losses);
        document.target = Some(target.json());
        Ok(())
    }
}

/// Describes the conversion.
fn announcement(inputs: &[WeightedInput], target: Family) -> String {
    let llvm = inputs.iter().filter(|input| !is_document(input)).count();
    let iprof = inputs.len() - llvm;
    let result = match target {
        Family::Iprof => "an iprof",
        _ => "an LLVM profile",
    };
    let (llvm, iprof) = (number_of(llvm, "LLVM profile"), number_of(iprof, "iprof file"));
    format!("converting {llvm} and {iprof} to {result}")
}

/// Records the outcome of the inputs.
fn note_all(document: &mut MergeDocument, inputs: &[WeightedInput], sum: &MixedSum, salvage: bool) {
    let reports = sum.inputs(inputs);
    document.name_inputs(reports.iter().map(|report| &report.input));
    for (at, report) in reports.into_iter().enumerate() {
        match is_document(&report.input) {
            true => iprof_merge::note_input(document, at, report, salvage),
            false => note_input(document, at, report, salvage),
        }
    }
    document.warn(&sum.warnings);
}
