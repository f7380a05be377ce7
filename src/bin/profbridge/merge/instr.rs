//! `merge` of LLVM instrumentation and memory profiles.

use super::arguments::{MergeArgs, MergeWork, OPTIONS_OF_EACH};
use crate::console;
use crate::cross_release;
use crate::memory_merge::MemoryRun;
use crate::merge_document::MergeDocument;
use crate::merge_gates::{NO_FUNCTIONS, Sum};
use crate::merge_inputs::say_nothing_shared;
use crate::merge_report::{MergeConsole, note, print_warnings, summary};
use crate::refuse::refuse;
use crate::target::Whom;
use crate::words::A_PART;
use profbridge::Result;
use profbridge::input::{Family, Input};
use profbridge::instr::{Loss, Release};
use profbridge::merge::partial::PartialMerge;
use profbridge::pipeline::{self, Extent, MergeOptions, MergeReport, OutputForm, WriteOptions, input_totals, partial};

impl MergeArgs {
    /// Adds up LLVM profiles for one of LLVM's formats.
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

    /// Refuses what only instrumentation profiles have.
    pub(crate) fn refuse_instr_options(&self, meant: &str) -> Result<()> {
        refuse(&[(self.correlate.asks(), "--binary-file or --debug-info")], meant, OPTIONS_OF_EACH)
    }

    /// Refuses what only memory profiles have.
    pub(crate) fn refuse_memory_options(&self, meant: &str) -> Result<()> {
        refuse(&self.memprof.given(), meant, OPTIONS_OF_EACH)
    }

    fn merge_llvm<'a>(&'a self, work: &'a MergeWork<'a>, document: &mut MergeDocument) -> Result<LlvmSum<'a>> {
        let (inputs, form) = (work.inputs, work.form);
        let refused = [(self.partial && form != OutputForm::Indexed, "--partial")];
        refuse(&refused, &format!("not for {}", form.words()), "name the output .profdata")?;
        let whom = self.whom(inputs)?;
        let options = self.merge_options(whom.target.release, form)?;
        let mut console = MergeConsole::new(self.quiet);
        let (report, part) = if self.partial {
            let mut part = partial::merge_partially(inputs, &options, &mut console)?;
            self.applied().into_iter().for_each(|words| part.note_applied(words));
            (partial::finish(&part, &options, &mut console)?, Some(part))
        } else {
            let (write, crossing) = (self.write_options(&options, &whom, form), whom.crossing(self.cross.hashes()));
            (pipeline::merge_for_output(inputs, &options, &write, Some(&crossing), &mut console)?, None)
        };
        console.finish();
        let mut sum = LlvmSum { arguments: self, inputs, form, whom, options, report, part };
        sum.tell(document)?;
        Ok(sum)
    }

    /// Adds up memory profiles into one that is a file of its own.
    fn merge_memory<'a>(&'a self, inputs: &'a [Input], document: &mut MergeDocument) -> Result<Box<dyn Sum + 'a>> {
        let given = [
            (self.sparse, "--sparse"),
            (self.show, "--show"),
            (self.format_version.is_some(), "--format-version"),
            (self.consumer.is_some(), "--for"),
        ];
        refuse(&given, "not for a memory profile in YAML", "name the output .profdata")?;
        let options = self.merge_options(Release::DEFAULT, OutputForm::MemProfYaml)?;
        let (output, strict, quiet) = (&self.output, self.strict, self.quiet);
        MemoryRun { inputs, output, strict, quiet, json: self.json }.add_up(options, document)
    }
}

/// LLVM profiles that were added up.
struct LlvmSum<'a> {
    arguments: &'a MergeArgs,
    inputs: &'a [Input],
    form: OutputForm,
    whom: Whom,
    options: MergeOptions,
    report: MergeReport,
    /// What a later merge needs to go on.
    part: Option<PartialMerge>,
}

impl Sum for LlvmSum<'_> {
    fn inputs(&self) -> &[Input] {
        self.inputs
    }

    fn total_of(&self, input: &Input) -> Result<u128> {
        input_totals::instr_total(input, &self.options.read)
    }

    fn extent(&self) -> Extent {
        self.report.extent(&self.options)
    }

    fn lacks(&self) -> Option<&'static str> {
        (self.report.profile.memprof.is_none() && self.report.functions_len() == 0).then_some(NO_FUNCTIONS)
    }

    fn write(mut self: Box<Self>, document: &mut MergeDocument) -> Result<()> {
        if self.report.shares_nothing() {
            say_nothing_shared(self.arguments.quiet);
        }
        match self.part.take() {
            Some(part) => self.write_part(&part, document),
            None => self.write_result(document),
        }
    }
}

impl LlvmSum<'_> {
    /// Says what became of the inputs, and whether enough could be read. What the filter means is known from now on.
    fn tell(&mut self, document: &mut MergeDocument) -> Result<()> {
        print_warnings(&self.report, self.arguments.quiet);
        note(document, &self.report, self.options.salvage);
        let left_out = std::mem::take(&mut self.report.left_out);
        self.options.filter = std::mem::take(&mut self.options.filter).without(left_out);
        self.report.verdict_of_inputs(&self.options)
    }

    /// Writes what a later merge goes on from. Names and hashes stay those of the
    /// inputs: for whom they are is decided when the merge is finished.
    fn write_part(&self, part: &PartialMerge, document: &mut MergeDocument) -> Result<()> {
        let write = self.write_options();
        let saved = partial::write_file(part, &self.report.profile, &write, &self.arguments.output)?;
        self.say_losses(&[], &saved.losses, &write, document);
        self.say_written(A_PART, document);
        Ok(())
    }

    fn write_result(&mut self, document: &mut MergeDocument) -> Result<()> {
        let (arguments, origins) = (self.arguments, self.report.origins());
        let (profile, filter) = (&mut self.report.profile, &mut self.options.filter);
        let findings = self.whom.cross(profile, filter, arguments.cross.hashes(), origins, arguments.strict)?;
        // Only now functions have the names that the filter may mean.
        arguments.gates.refuse_report_of_nothing(&self.report, &self.options.filter, arguments.sparse, self.form)?;
        let write = self.write_options();
        let saved = self.report.write_file(&write, &arguments.output)?;
        self.say_losses(&self.report.memprof_losses, &saved.losses, &write, document);
        cross_release::print_findings(&findings, &arguments.output, arguments.quiet);
        document.findings = cross_release::findings_json(&findings);
        self.say_written("", document);
        Ok(())
    }

    /// How it is written; says for whom.
    fn write_options(&self) -> WriteOptions {
        let write = self.arguments.write_options(&self.options, &self.whom, self.form);
        self.arguments.announced(write, &self.whom)
    }

    /// Says what the output could not hold: of memory profiles, and of the rest.
    fn say_losses(&self, of_memory: &[Loss], losses: &[Loss], write: &WriteOptions, document: &mut MergeDocument) {
        if !self.arguments.quiet {
            console::losses(of_memory, &[], &self.arguments.output);
            console::losses(losses, &write.tolerated, &self.arguments.output);
        }
        document.lose(of_memory.iter().chain(losses));
    }

    fn say_written(&self, addition: &str, document: &mut MergeDocument) {
        let arguments = self.arguments;
        document.target = Some(self.whom.json());
        document.wrote(&arguments.output, Family::Instr.name());
        if !arguments.quiet && !arguments.json {
            console::say(&format!("{}{addition}", summary(&self.report, &arguments.output, self.options.salvage)));
        }
    }
}
