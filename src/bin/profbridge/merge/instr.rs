//! `merge` of LLVM instrumentation and memory profiles.

use super::arguments::{MergeArgs, MergeWork, OPTIONS_OF_EACH};
use crate::console;
use crate::cross_release;
use crate::memory_merge::MemoryRun;
use crate::merge_document::MergeDocument;
use crate::merge_inputs::say_nothing_shared;
use crate::merge_report::{MergeConsole, note, print_warnings, summary};
use crate::refuse::refuse;
use crate::target::Whom;
use crate::words::A_PART;
use profbridge::Result;
use profbridge::input::{Family, Input, WeightedInput};
use profbridge::instr::Release;
use profbridge::pipeline::{self, MergeOptions, MergeReport, OutputForm, input_totals, partial};

impl MergeArgs {
    /// Merges LLVM profiles into one of LLVM's formats.
    pub(crate) fn merge_instr(&self, work: &MergeWork<'_>, document: &mut MergeDocument) -> Result<()> {
        if self.partial {
            self.merge_partially(work, document)
        } else if work.form == OutputForm::MemProfYaml {
            self.merge_memory(work.inputs, document)
        } else {
            self.merge_llvm(work, document)
        }
    }

    /// Refuses what only instrumentation profiles have.
    pub(crate) fn refuse_instr_options(&self, meant: &str) -> Result<()> {
        refuse(&[(self.correlate.asks(), "--binary-file or --debug-info")], meant, OPTIONS_OF_EACH)
    }

    /// Refuses what only memory profiles have.
    pub(crate) fn refuse_memory_options(&self, meant: &str) -> Result<()> {
        refuse(&self.memprof.given(), meant, OPTIONS_OF_EACH)
    }

    /// Writes what a later merge goes on from. Names and hashes stay those of the
    /// inputs: for whom they are is decided when the merge is finished.
    fn merge_partially(&self, work: &MergeWork<'_>, document: &mut MergeDocument) -> Result<()> {
        let (inputs, form) = (work.inputs, work.form);
        let refused = [(form != OutputForm::Indexed, "--partial")];
        refuse(&refused, &format!("not for {}", form.words()), "name the output .profdata")?;
        let whom = self.whom(inputs)?;
        let mut options = self.merge_options(whom.target.release, form)?;
        let mut console = MergeConsole::new(self.quiet);
        let mut sums = partial::merge_partially(inputs, &options, &mut console)?;
        self.applied().into_iter().for_each(|words| sums.note_applied(words));
        let mut report = partial::finish(&sums, &options, &mut console)?;
        console.finish();
        self.tell(inputs, &mut report, &mut options, document)?;
        let write = self.announced(self.write_options(&options, &whom, form), &whom);
        let saved = partial::write_file(&sums, &report.profile, &write, &self.output)?;
        if !self.quiet {
            console::losses(&saved.losses, &write.tolerated, &self.output);
        }
        document.lose(&saved.losses);
        self.note_written(document, &whom);
        if !self.quiet && !self.json {
            eprintln!("{}{A_PART}", summary(&report, &self.output, options.salvage));
        }
        Ok(())
    }

    fn merge_llvm(&self, work: &MergeWork<'_>, document: &mut MergeDocument) -> Result<()> {
        let (inputs, form) = (work.inputs, work.form);
        let mut whom = self.whom(inputs)?;
        let mut options = self.merge_options(whom.target.release, form)?;
        let mut console = MergeConsole::new(self.quiet);
        let (write, crossing) = (self.write_options(&options, &whom, form), whom.crossing(self.cross.hashes()));
        let mut report = pipeline::merge_for_output(inputs, &options, &write, Some(&crossing), &mut console)?;
        console.finish();
        self.tell(inputs, &mut report, &mut options, document)?;
        let origins = report.origins();
        let (profile, filter) = (&mut report.profile, &mut options.filter);
        let findings = whom.cross(profile, filter, self.cross.hashes(), origins, self.strict)?;
        // Only now functions have the names that the filter may mean.
        self.gates.refuse_report_of_nothing(&report, &options.filter, self.sparse, form)?;
        let write = self.announced(self.write_options(&options, &whom, form), &whom);
        let saved = report.write_file(&write, &self.output)?;
        if !self.quiet {
            console::losses(&report.memprof_losses, &[], &self.output);
            console::losses(&saved.losses, &write.tolerated, &self.output);
        }
        cross_release::print_findings(&findings, &self.output, self.quiet);
        document.lose(report.memprof_losses.iter().chain(&saved.losses));
        document.findings = cross_release::findings_json(&findings);
        self.note_written(document, &whom);
        if !self.quiet && !self.json {
            eprintln!("{}", summary(&report, &self.output, options.salvage));
        }
        Ok(())
    }

    /// Says what became of the inputs, and whether the result may be written. What the filter means is known from now on.
    fn tell(
        &self,
        inputs: &[WeightedInput],
        report: &mut MergeReport,
        options: &mut MergeOptions,
        document: &mut MergeDocument,
    ) -> Result<()> {
        print_warnings(report, self.quiet);
        note(document, report, options.salvage);
        options.filter = std::mem::take(&mut options.filter).without(std::mem::take(&mut report.left_out));
        self.judge(inputs, report, options, document)?;
        if report.shares_nothing() {
            say_nothing_shared(self.quiet);
        }
        Ok(())
    }

    /// Whether the result may be written.
    fn judge(
        &self,
        inputs: &[WeightedInput],
        report: &MergeReport,
        options: &MergeOptions,
        document: &mut MergeDocument,
    ) -> Result<()> {
        report.verdict_of_inputs(options)?;
        let total = |input: &Input| input_totals::instr_total(input, &options.read);
        document.judge(self.gates.outcomes(inputs, || report.extent(options), &total))?;
        self.gates.refuse_nothing(|| report.profile.memprof.is_none() && report.functions_len() == 0)
    }

    fn note_written(&self, document: &mut MergeDocument, whom: &Whom) {
        document.target = Some(whom.json());
        document.wrote(&self.output, Family::Instr.name());
    }

    /// Adds up memory profiles into one that is a file of its own.
    fn merge_memory(&self, inputs: &[WeightedInput], document: &mut MergeDocument) -> Result<()> {
        let given = [
            (self.sparse, "--sparse"),
            (self.show, "--show"),
            (self.format_version.is_some(), "--format-version"),
            (self.consumer.is_some(), "--for"),
        ];
        refuse(&given, "not for a memory profile in YAML", "name the output .profdata")?;
        let options = self.merge_options(Release::DEFAULT, OutputForm::MemProfYaml)?;
        let (output, strict, quiet) = (&self.output, self.strict, self.quiet);
        MemoryRun { inputs, output, strict, quiet, json: self.json, gates: &self.gates }.run(&options, document)
    }
}
