//! `convert` of LLVM profiles, and through the bridge.

use super::arguments::{ConvertArgs, ConvertWork};
use crate::bridged;
use crate::console;
use crate::iprof_convert::IprofConvertArgs;
use crate::iprof_files::{IprofWriteArgs, holds_nothing_of};
use crate::merge_document::MergeDocument;
use crate::merge_report::{Messages, report_inputs};
use crate::stack_write::WriteStackArgs;
use crate::stacks::StackArgs;
use crate::target;
use crate::validate::{options_of, refuse};
use profbridge::bytes::Encoding;
use profbridge::families::merge::iprof::write_converted;
use profbridge::families::plan::{MergePlan, MergeRequest};
use profbridge::families::{
    self, Facts, InputOutcome, InputReport, MergeSettings, Merged, OutputForm, finish_converted,
};
use profbridge::input::{Family, Input};
use profbridge::instr::resolved_target::ResolvedTarget;
use profbridge::instr::{Loss, Profile};
use profbridge::iprof::{BranchClash, SectionKind};
use profbridge::{Error, ErrorKind, Result, Warning};

impl ConvertArgs {
    /// Writes an LLVM profile in another format or version, or converts it to another family.
    pub(crate) fn convert_instr(&self, work: &ConvertWork<'_>, document: &mut MergeDocument) -> Result<()> {
        let input = work.only_input()?;
        let (form, is_iprof) = (work.form, input.family()? == Some(Family::Iprof));
        self.refuse_for_llvm(is_iprof, form)?;
        let mut settings = self.settings(form)?;
        if form == OutputForm::MemProfYaml {
            let messages = Messages::new(self.quiet, self.json);
            let mut request = MergeRequest::new(&self.output);
            request.form = Some(form);
            return self.merge_and_write(request.plan(work.inputs)?, work, &settings, messages, document);
        }
        let mut target = target::choose(self.consumer.as_deref(), self.format_version, [input])?;
        if form == OutputForm::Raw {
            target = target.with_raw_version(self.raw_version);
            settings.write.raw = Some(self.raw_encoding(&target));
        }
        settings.target = Some(target.clone());
        if form == OutputForm::Iprof {
            return self.convert_to_iprof(input, &settings, document);
        }
        let merged = if is_iprof {
            let profile = self.bridged_profile(input, form, &target, document)?;
            finish_converted(profile, work.inputs, &settings)?
        } else {
            self.merged(input, &settings, document)?
        };
        let is_asked = form == OutputForm::Raw && self.raw_version.is_some();
        let notes = !self.quiet;
        let messages = Messages { warnings: true, notes, target: notes && !is_asked, summary: false };
        self.gates().write(merged, work.inputs, &settings, messages, document)
    }

    /// Returns the settings that are the same for all families.
    pub(super) fn settings(&self, form: OutputForm) -> Result<MergeSettings> {
        let mut settings = MergeSettings::new(&self.output, form);
        (settings.strict, settings.hashes) = (self.strict, self.cross.hashes);
        let options = &mut settings.options.instr;
        options.read.limits = crate::limits::chosen();
        options.read.programs = self.memprof.programs.programs()?;
        options.memprof = self.memprof.options();
        // The traces of one profile are not sampled or cut.
        (options.trace_reservoir_size, options.max_trace_length) = (Some(u64::MAX), Some(u64::MAX));
        options.keep_vtable_names = form != OutputForm::MemProfYaml || options.keep_vtable_names;
        settings.write.sparse = self.sparse;
        Ok(settings)
    }

    /// Converts inputs as a merge does.
    pub(super) fn merge_and_write(
        &self,
        plan: MergePlan,
        work: &ConvertWork<'_>,
        settings: &MergeSettings,
        messages: Messages,
        document: &mut MergeDocument,
    ) -> Result<()> {
        let merged = families::merge(work.inputs, plan, settings, &mut |_, _| {});
        let merged = report_inputs(merged, plan, None, messages, document)?;
        self.gates().write(merged, work.inputs, settings, messages, document)
    }

    /// Writes an iprof. Names and hashes stay unchanged, because no LLVM compiler reads it.
    fn convert_to_iprof(&self, input: &Input, settings: &MergeSettings, document: &mut MergeDocument) -> Result<()> {
        let mut options = settings.options.instr.clone();
        options.release = settings.target.as_ref().map_or(options.release, |target| target.target.release);
        let mut report = families::merge_files(std::slice::from_ref(input), &options, &mut |_, _| {})?;
        self.require_read(&mut report.inputs, document)?;
        let options = self.bridge.to_iprof_options(BranchClash::default());
        let (writing, wanted) = (self.iprof_write.options(None), document.wanted());
        let check = |facts: &Facts, losses: &[Loss]| {
            document.hold(facts);
            self.gates().require_something(facts)?;
            bridged::report_losses(losses, &input.path, self.strict)?;
            document.lose(losses);
            Ok(())
        };
        write_converted(&report.profile, &options, &writing, &self.output, wanted, check)?;
        document.wrote(&self.output, Family::Iprof.name());
        Ok(())
    }

    /// Rejects options that select parts of an iprof or of stacks, because they have no effect on an LLVM profile.
    fn refuse_for_llvm(&self, is_iprof: bool, form: OutputForm) -> Result<()> {
        let mut others = [options_of::<StackArgs>(), options_of::<WriteStackArgs>()].concat();
        if !is_iprof {
            others.extend(options_of::<IprofConvertArgs>());
        }
        if form != OutputForm::Iprof {
            others.extend(options_of::<IprofWriteArgs>());
        }
        refuse(&others, "not for this conversion", "`profbridge convert --help` lists the options of each conversion")
    }

    /// Returns the result of a merge with one LLVM input.
    fn merged(&self, input: &Input, settings: &MergeSettings, document: &mut MergeDocument) -> Result<Merged> {
        let plan = MergePlan::Family(Family::Instr);
        let merged = families::merge(std::slice::from_ref(input), plan, settings, &mut |_, _| {});
        match merged {
            Ok(mut merged) => self.require_read(&mut merged.inputs.reports, document).map(|()| merged),
            Err(mut failed) => self.require_read(&mut failed.inputs.reports, document).and(Err(failed.error)),
        }
    }

    /// Reports warnings about the inputs. Fails if one could not be read, or is empty.
    fn require_read(&self, inputs: &mut [InputReport], document: &mut MergeDocument) -> Result<()> {
        for report in inputs {
            report.warnings.iter().for_each(console::warning);
            document.warn_of(0, report.warnings.iter().map(ToString::to_string));
            match std::mem::replace(&mut report.outcome, InputOutcome::Used) {
                InputOutcome::Failed(error) => return Err(error),
                InputOutcome::Empty if !self.allow_empty => {
                    return Err(Error::new(ErrorKind::EmptyProfile).in_file(&report.input.path));
                }
                outcome => report.outcome = outcome,
            }
        }
        Ok(())
    }

    /// Converts an iprof to a profile for the output format.
    fn bridged_profile(
        &self,
        input: &Input,
        form: OutputForm,
        target: &ResolvedTarget,
        document: &mut MergeDocument,
    ) -> Result<Profile> {
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
        Ok(profile)
    }

    fn raw_version(&self, target: &ResolvedTarget) -> u32 {
        self.raw_version.unwrap_or(target.target.raw_version)
    }

    fn raw_encoding(&self, target: &ResolvedTarget) -> Encoding {
        let (pointer, endian) = self.raw_arch.parts();
        Encoding { endian, pointer, version: self.raw_version(target) }
    }
}
