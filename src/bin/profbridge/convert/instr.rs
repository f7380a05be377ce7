//! `convert` of LLVM profiles, and through the bridge.

use super::arguments::{ConvertArgs, ConvertWork};
use crate::bridged;
use crate::console;
use crate::cross_release;
use crate::iprof_files::holds_nothing_of;
use crate::memory_merge::MemoryRun;
use crate::merge_document::MergeDocument;
use crate::target::ResolvedTarget;
use crate::validate::refuse;
use profbridge::bridge;
use profbridge::bytes::Encoding;
use profbridge::families::merge::iprof;
use profbridge::families::{
    self, Facts, InputOutcome, MergeOptions, MergeReport, OutputForm, OutputFormat, WriteOptions,
};
use profbridge::input::{Family, Input};
use profbridge::instr::FunctionFilter;
use profbridge::instr::cross_release::Origins;
use profbridge::instr::encode::facts_of;
use profbridge::instr::{Profile, Release};
use profbridge::iprof::{BranchClash, SectionKind};
use profbridge::{Error, ErrorKind, Result, Warning};

/// A profile and its target.
type Convertible = (Profile, Origins);

impl ConvertArgs {
    /// Writes an LLVM profile in another format or version, or converts it to another family.
    pub(crate) fn convert_instr(&self, work: &ConvertWork<'_>, document: &mut MergeDocument) -> Result<()> {
        let input = work.only_input()?;
        let (form, is_iprof) = (work.form, input.family()? == Some(Family::Iprof));
        self.refuse_for_llvm(is_iprof, form)?;
        if form == OutputForm::MemProfYaml {
            return self.convert_memory(work.inputs, document);
        }
        let mut target = ResolvedTarget::choose(self.consumer.as_deref(), self.format_version, [input])?;
        if form == OutputForm::Raw {
            target = target.with_raw_version(self.raw_version);
        }
        if form == OutputForm::Iprof {
            return self.convert_to_iprof(input, &target, document);
        }
        let limits = crate::limits::chosen();
        let saved = if is_iprof {
            let (mut profile, origins) = self.bridged_profile(input, form, &target, document)?;
            let write = self.crossed(&mut profile, origins, &mut target, form, document)?;
            self.hold(&facts_of(&profile, &write, &limits, document.wanted())?, document)?;
            families::write_file(&profile, &write, &self.output)?
        } else {
            let mut report = self.merged(input, &target, &self.write_options(&target, form), document)?;
            let origins = report.origins();
            let write = self.crossed(&mut report.profile, origins, &mut target, form, document)?;
            self.hold(&report.facts(&write, &limits, document.wanted())?, document)?;
            report.write_file(&write, &self.output)?
        };
        console::losses(&saved.losses, &target.tolerated(), &self.output);
        document.lose(&saved.losses);
        document.target = Some(target.json());
        document.wrote(&self.output, Family::Instr.name());
        Ok(())
    }

    /// Writes a memory profile to a separate file.
    fn convert_memory(&self, inputs: &[Input], document: &mut MergeDocument) -> Result<()> {
        let (output, strict, quiet) = (&self.output, self.strict, self.quiet);
        let run = MemoryRun { inputs, output, strict, quiet, json: self.json };
        self.gates().write(run.add_up(self.merge_options(Release::DEFAULT), document)?, document)
    }

    /// Writes an iprof. Names and hashes stay unchanged, because no LLVM compiler reads it.
    fn convert_to_iprof(&self, input: &Input, target: &ResolvedTarget, document: &mut MergeDocument) -> Result<()> {
        let report = self.merged(input, target, &WriteOptions::default(), document)?;
        let options = self.bridge.to_iprof_options(BranchClash::default());
        let (result, losses) = bridge::to_iprof(&report.profile, &options)?;
        self.hold(&iprof::facts_of(&result, document.wanted()), document)?;
        bridged::report_losses(&losses, &input.path, self.strict)?;
        self.iprof_write.write(&result, &self.output, None)?;
        document.lose(&losses);
        document.wrote(&self.output, Family::Iprof.name());
        Ok(())
    }

    /// Records the output format, and fails if the result is empty.
    fn hold(&self, facts: &Facts, document: &mut MergeDocument) -> Result<()> {
        document.hold(facts);
        self.gates().require_something(facts)
    }

    /// Adapts names and hashes to the target, reports the target, and returns the profile with its format.
    fn crossed(
        &self,
        profile: &mut Profile,
        origins: Origins,
        target: &mut ResolvedTarget,
        form: OutputForm,
        document: &mut MergeDocument,
    ) -> Result<WriteOptions> {
        let mut filter = FunctionFilter::default();
        let findings = target.cross(profile, &mut filter, self.cross.hashes(), origins, self.strict, form)?;
        cross_release::print_findings(&findings, &self.output, self.quiet);
        document.findings = cross_release::findings_json(&findings);
        let mut write = self.write_options(target, form);
        write.filter = filter;
        let is_asked = form == OutputForm::Raw && self.raw_version.is_some();
        if !self.quiet && !is_asked {
            target.announce(write.format, &self.output);
        }
        Ok(write)
    }

    /// The format of a profile.
    fn write_options(&self, target: &ResolvedTarget, form: OutputForm) -> WriteOptions {
        let mut write = WriteOptions::default();
        write.strict = self.strict;
        write.tolerated = target.tolerated();
        write.sparse = self.sparse;
        write.compress_by_name = true;
        write.format = match form {
            OutputForm::Raw => OutputFormat::Raw { encoding: self.raw_encoding(target) },
            _ => target.target.format(form),
        };
        write
    }

    /// Rejects options that select parts of an iprof or of stacks, because they have no effect on an LLVM profile.
    fn refuse_for_llvm(&self, is_iprof: bool, form: OutputForm) -> Result<()> {
        let mut others = [self.stacks.given(), self.write_stacks.given()].concat();
        if !is_iprof {
            others.extend(self.iprof.given());
        }
        if form != OutputForm::Iprof {
            others.extend(self.iprof_write.given());
        }
        refuse(&others, "not for this conversion", "`profbridge convert --help` lists the options of each conversion")
    }

    /// Returns the result of a merge with one LLVM input.
    fn merged(
        &self,
        input: &Input,
        target: &ResolvedTarget,
        write: &WriteOptions,
        document: &mut MergeDocument,
    ) -> Result<MergeReport> {
        let (options, crossing) = (self.merge_options(target.target.release), target.crossing(self.cross.hashes()));
        let inputs = std::slice::from_ref(input);
        let mut report = families::merge_for_output(inputs, &options, write, Some(&crossing), &mut |_, _| {})?;
        for input in &mut report.inputs {
            input.warnings.iter().for_each(console::warning);
            document.warn_of(0, input.warnings.iter().map(ToString::to_string));
            match std::mem::replace(&mut input.outcome, InputOutcome::Used) {
                InputOutcome::Failed(error) => return Err(error),
                InputOutcome::Empty if !self.allow_empty => {
                    return Err(Error::new(ErrorKind::EmptyProfile).in_file(&input.input.path));
                }
                _ => {}
            }
        }
        Ok(report)
    }

    fn merge_options(&self, release: Release) -> MergeOptions {
        let mut options = MergeOptions::default();
        options.read.limits = crate::limits::chosen();
        options.read.programs = self.memprof.programs.programs();
        options.memprof = self.memprof.options();
        options.release = release;
        options.keep_vtable_names = true;
        options
    }

    /// Converts an iprof to a profile for the output format.
    fn bridged_profile(
        &self,
        input: &Input,
        form: OutputForm,
        target: &ResolvedTarget,
        document: &mut MergeDocument,
    ) -> Result<Convertible> {
        let version = match form {
            OutputForm::Raw => bridged::indexed_version_of_raw(self.raw_version(target)),
            _ => target.target.indexed_version,
        };
        let options = self.bridge.to_llvm_options(self.iprof.section_kinds(), version);
        let (profile, losses) = bridged::read_profile(input, &options, self.strict, document, |document| {
            let left_out = self
                .iprof
                .filter(document)?
                .into_iter()
                .map(|name| Warning::new(format!("dropped the member \"{name}\"")).in_file(&input.path));
            let left_out = left_out.collect();
            let is_chosen = |kind: &SectionKind| options.sections.contains(kind);
            self.gates().reject_empty_result("no entries are left", || holds_nothing_of(document, is_chosen))?;
            Ok(left_out)
        })?;
        document.lose(&losses);
        let mut origins = Origins::default();
        origins.add_unknown();
        Ok((profile, origins))
    }

    fn raw_version(&self, target: &ResolvedTarget) -> u32 {
        self.raw_version.unwrap_or(target.target.raw_version)
    }

    fn raw_encoding(&self, target: &ResolvedTarget) -> Encoding {
        let (pointer, endian) = self.raw_arch.parts();
        Encoding { endian, pointer, version: self.raw_version(target) }
    }
}
