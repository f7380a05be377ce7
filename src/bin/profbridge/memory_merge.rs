//! `merge` and `convert` of memory profiles into a file of their own.

use crate::console;
use crate::merge_document::MergeDocument;
use crate::merge_gates::Sum;
use crate::merge_inputs::warn_of_nothing_shared;
use crate::merge_report::{note, print_warnings, summary};
use crate::plural::number_of;
use profbridge::families::memprof::{merge_memory_files, write_yaml_file};
use profbridge::families::{Facts, FactsRequest, MergeOptions, MergeReport, inputs};
use profbridge::input::output::is_standard_output;
use profbridge::input::{Family, Input, WeightedInput};
use profbridge::instr::encode::facts_of_memory;
use profbridge::memprof::MemoryProfile;
use profbridge::{Error, ErrorKind, Result, Warning};
use std::path::Path;

/// The options for the output.
pub(crate) struct MemoryRun<'a> {
    pub(crate) inputs: &'a [WeightedInput],
    pub(crate) output: &'a Path,
    pub(crate) strict: bool,
    pub(crate) quiet: bool,
    /// Whether a document replaces the last line.
    pub(crate) json: bool,
}

impl<'a> MemoryRun<'a> {
    /// Merges memory profiles, to write them as YAML.
    pub(crate) fn add_up(self, options: MergeOptions, document: &mut MergeDocument) -> Result<Box<dyn Sum + 'a>> {
        let progress = console::Progress::new("merging", self.quiet);
        let (memory, report) =
            merge_memory_files(self.inputs, &options, &mut |done, total| progress.update(done, total))?;
        progress.finish();
        print_warnings(&report, &options, self.quiet);
        note(document, &report, options.salvage);
        Ok(Box::new(MemorySum { run: self, options, memory, report }))
    }
}

/// The merged memory profiles.
struct MemorySum<'a> {
    run: MemoryRun<'a>,
    options: MergeOptions,
    memory: MemoryProfile,
    report: MergeReport,
}

impl Sum for MemorySum<'_> {
    fn inputs(&self) -> &[Input] {
        self.run.inputs
    }

    fn total_of(&self, input: &Input) -> Result<u128> {
        inputs::instr_total(input, &self.options.read)
    }

    fn facts(&self, wanted: FactsRequest) -> Result<Facts> {
        Ok(facts_of_memory(&self.memory, wanted).of_inputs(self.report.used()))
    }

    fn write(self: Box<Self>, facts: &Facts, document: &mut MergeDocument) -> Result<()> {
        let (run, report) = (&self.run, &self.report);
        if report.memory_shares_nothing {
            warn_of_nothing_shared(run.quiet);
        }
        run.report_dropped(report.profile.functions.len())?;
        write_yaml_file(&self.memory, run.output)?;
        document.wrote(run.output, Family::MemProf.name());
        if !run.quiet && !run.json && !is_standard_output(run.output) {
            console::status(&summary(facts, report, run.output, self.options.salvage));
        }
        Ok(())
    }
}

impl MemoryRun<'_> {
    /// Reports counters of functions, which a memory profile cannot store.
    fn report_dropped(&self, functions: usize) -> Result<()> {
        if functions == 0 {
            return Ok(());
        }
        let detail =
            format!("a memory profile in YAML cannot store the counters of {}", number_of(functions, "function"));
        if self.strict {
            let error = Error::new(ErrorKind::WouldLose { detail }).in_file(self.output);
            return Err(error.with_hint("name the output .profdata, which stores both"));
        }
        if !self.quiet {
            console::warning(&Warning::new(format!("{detail}; dropped")).in_file(self.output));
        }
        Ok(())
    }
}
