//! `merge` of LLVM instrumentation and memory profiles.

use super::arguments::{MergeArgs, MergeWork, OPTIONS_OF_EACH};
use crate::console;
use crate::cross_release;
use crate::memory_merge::MemoryRun;
use crate::merge_document::MergeDocument;
use crate::merge_gates::Sum;
use crate::merge_inputs::warn_of_nothing_shared;
use crate::merge_report::{note, print_warnings, summary};
use crate::plural::PARTIAL_SUFFIX;
use crate::target::ResolvedTarget;
use crate::validate::refuse;
use profbridge::Result;
use profbridge::families;
use profbridge::families::{Facts, FactsRequest, MergeOptions, MergeReport, OutputForm, WriteOptions, inputs, partial};
use profbridge::input::{Family, Input};
use profbridge::instr::cross_release::Finding;
use profbridge::instr::partial::PartialMerge;
use profbridge::instr::{Profile, Release};

impl MergeArgs {
    /// Merges LLVM profiles into one of LLVM's formats.
    pub(crate) fn merge_instr<'a>(
        &'a self,
        work: &'a MergeWork<'a>,
        document: &mut MergeDocument,
    ) -> Result<Box<dyn Sum + 'a>> {
        match (work.form, self.partial) {
            (OutputForm::MemProfYaml, false) => self.merge_memory(work.inputs, document),
            _ => Ok(Box::new(self.merge_llvm(work, document)?)),
        }
    }

    /// Rejects options that only apply to instrumentation profiles.
    pub(crate) fn refuse_instr_options(&self, meant: &str) -> Result<()> {
        refuse(&[(self.correlate.asks(), "--binary-file or --debug-info")], meant, OPTIONS_OF_EACH)
    }

    /// Rejects options that only apply to memory profiles.
    pub(crate) fn refuse_memory_options(&self, meant: &str) -> Result<()> {
        refuse(&self.memprof.given(), meant, OPTIONS_OF_EACH)
    }

    fn merge_llvm<'a>(&'a self, work: &'a MergeWork<'a>, document: &mut MergeDocument) -> Result<LlvmSum<'a>> {
        let (inputs, form) = (work.inputs, work.form);
        let refused = [(self.partial && form != OutputForm::Indexed, "--partial")];
        refuse(&refused, &format!("not for {}", form.words()), "name the output .profdata")?;
        let target = self.target(inputs)?;
        let options = self.merge_options(target.target.release, form)?;
        let progress = console::Progress::new("merging", self.quiet);
        let mut on_progress = |done, total| progress.update(done, total);
        let (report, part) = if self.partial {
            let mut part = partial::merge_partially(inputs, &options, &mut on_progress)?;
            self.applied().into_iter().for_each(|words| part.note_applied(words));
            (partial::finish(&part, &options)?, Some(part))
        } else {
            let (write, crossing) = (self.write_options(&options, &target, form), target.crossing(self.cross.hashes()));
            (families::merge_for_output(inputs, &options, &write, Some(&crossing), &mut on_progress)?, None)
        };
        progress.finish();
        print_warnings(&report, &options, self.quiet);
        note(document, &report, options.salvage);
        report.verdict(&options)?;
        self.finish_llvm(work, target, options, report, part)
    }

    /// Prepares the merged profile for writing.
    fn finish_llvm<'a>(
        &'a self,
        work: &'a MergeWork<'a>,
        mut target: ResolvedTarget,
        mut options: MergeOptions,
        mut report: MergeReport,
        part: Option<PartialMerge>,
    ) -> Result<LlvmSum<'a>> {
        let (shares_nothing, origins) = (report.shares_nothing(), report.origins());
        options.filter = options.filter.without(std::mem::take(&mut report.left_out));
        let findings = match &part {
            // A partial merge has no target until it is finished, so its names and hashes stay unchanged.
            Some(_) => Vec::new(),
            None => target.cross(
                &mut report.profile,
                &mut options.filter,
                self.cross.hashes(),
                origins,
                self.strict,
                work.form,
            )?,
        };
        let write = self.write_options(&options, &target, work.form);
        self.refuse_filters_of_memory(&report.profile, &write)?;
        Ok(LlvmSum {
            arguments: self,
            inputs: work.inputs,
            target,
            options,
            report,
            shares_nothing,
            findings,
            write,
            part,
        })
    }

    /// Rejects function filters: a memory profile stores hashes instead of names, and is written completely.
    pub(super) fn refuse_filters_of_memory(&self, profile: &Profile, write: &WriteOptions) -> Result<()> {
        if profile.memprof.is_none() || !(self.partial || write.format.holds_memory()) {
            return Ok(());
        }
        let hint = "omit the option: memory profiles contain hashes instead of names";
        refuse(&self.filters(), "not for memory profiles", hint)
    }

    /// Merges memory profiles into a separate file.
    fn merge_memory<'a>(&'a self, inputs: &'a [Input], document: &mut MergeDocument) -> Result<Box<dyn Sum + 'a>> {
        let given = [
            (self.sparse, "--sparse"),
            (self.show, "--show"),
            (self.format_version.is_some(), "--format-version"),
            (self.consumer.is_some(), "--for"),
        ];
        refuse(&given, "not for a memory profile in YAML", "name the output .profdata")?;
        refuse(&self.filters(), "not for memory profiles", "omit the option")?;
        let options = self.merge_options(Release::DEFAULT, OutputForm::MemProfYaml)?;
        let (output, strict, quiet) = (&self.output, self.strict, self.quiet);
        MemoryRun { inputs, output, strict, quiet, json: self.json }.add_up(options, document)
    }
}

/// Merged LLVM profiles, ready for writing.
struct LlvmSum<'a> {
    arguments: &'a MergeArgs,
    inputs: &'a [Input],
    target: ResolvedTarget,
    options: MergeOptions,
    report: MergeReport,
    /// Whether no function is in two inputs.
    shares_nothing: bool,
    /// The changes of names and hashes.
    findings: Vec<Finding>,
    write: WriteOptions,
    /// The merge state of a partial merge.
    part: Option<PartialMerge>,
}

impl Sum for LlvmSum<'_> {
    fn inputs(&self) -> &[Input] {
        self.inputs
    }

    fn total_of(&self, input: &Input) -> Result<u128> {
        inputs::instr_total(input, &self.options.read)
    }

    fn facts(&self, wanted: FactsRequest) -> Result<Facts> {
        self.report.facts(&self.write, &self.options.read.limits, wanted)
    }

    fn write(mut self: Box<Self>, facts: &Facts, document: &mut MergeDocument) -> Result<()> {
        let (arguments, output) = (self.arguments, &self.arguments.output);
        let part = self.part.take();
        let is_part = part.is_some();
        if self.shares_nothing {
            warn_of_nothing_shared(arguments.quiet);
        }
        if !arguments.quiet {
            self.target.announce(self.write.format, output);
        }
        let saved = match part {
            Some(part) => partial::write_file(part, &self.report.profile, &self.write, output)?,
            None => self.report.write_file(&self.write, output)?,
        };
        // The state of a part has the whole memory profile.
        let of_memory = if is_part { &[][..] } else { &self.report.memprof_losses };
        if !arguments.quiet {
            console::losses(of_memory, &[], output);
            console::losses(&saved.losses, &self.write.tolerated, output);
        }
        document.lose(of_memory.iter().chain(&saved.losses));
        cross_release::print_findings(&self.findings, output, arguments.quiet);
        document.findings = cross_release::findings_json(&self.findings);
        document.target = Some(self.target.json());
        document.wrote(output, Family::Instr.name());
        if !arguments.quiet && !arguments.json {
            let addition = if is_part { PARTIAL_SUFFIX } else { "" };
            console::status(&format!("{}{addition}", summary(facts, &self.report, output, self.options.salvage)));
        }
        Ok(())
    }
}
