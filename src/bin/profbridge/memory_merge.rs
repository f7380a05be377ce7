//! `merge` and `convert` of memory profiles into one that is a file of its own.

use crate::console;
use crate::merge_document::MergeDocument;
use crate::merge_gates::MergeGateArgs;
use crate::merge_inputs::say_nothing_shared;
use crate::merge_report::{MergeConsole, note, print_warnings};
use crate::words::{inputs_of, number_of};
use profbridge::input::{Family, WeightedInput};
use profbridge::memprof::report::contexts;
use profbridge::pipeline::merge::memprof::{merge_memory_files, write_yaml_file};
use profbridge::pipeline::{Extent, MergeOptions, input_totals};
use profbridge::{Error, ErrorKind, Result, Warning};
use std::path::Path;

/// What was asked of the output.
pub(crate) struct MemoryRun<'a> {
    pub(crate) inputs: &'a [WeightedInput],
    pub(crate) output: &'a Path,
    pub(crate) strict: bool,
    pub(crate) quiet: bool,
    /// The document takes the place of the last line.
    pub(crate) json: bool,
    /// What the result must be.
    pub(crate) gates: &'a MergeGateArgs,
}

impl MemoryRun<'_> {
    /// Merges and writes YAML.
    pub(crate) fn run(&self, options: &MergeOptions, document: &mut MergeDocument) -> Result<()> {
        let mut console = MergeConsole::new(self.quiet);
        let (memory, report) = merge_memory_files(self.inputs, options, &mut console)?;
        console.finish();
        print_warnings(&report, self.quiet);
        note(document, &report, options.salvage);
        let extent = || {
            let bytes = contexts(&memory).iter().map(|(_, site)| u128::from(site.info.total_size())).sum();
            Extent::new(report.used(), memory.records().len(), bytes)
        };
        let total = |input: &WeightedInput| input_totals::instr_total(input, &options.read);
        document.judge(self.gates.outcomes(self.inputs, extent, &total))?;
        self.gates.refuse_nothing(|| memory.records().is_empty())?;
        if report.memory_shares_nothing {
            say_nothing_shared(self.quiet);
        }
        self.say_left_out(report.profile.functions.len())?;
        write_yaml_file(&memory, self.output)?;
        document.wrote(self.output, Family::MemProf.name());
        if !self.quiet && !self.json && self.output.as_os_str() != "-" {
            let contexts = number_of(memory.alloc_sites().count(), "allocation context");
            let inputs = inputs_of(report.used(), report.inputs.len());
            eprintln!("{}: {contexts} from {inputs}", self.output.display());
        }
        Ok(())
    }

    /// Counters of functions beside the memory profile have no place in it.
    fn say_left_out(&self, functions: usize) -> Result<()> {
        if functions == 0 {
            return Ok(());
        }
        let detail =
            format!("a memory profile in YAML has no place for the counters of {}", number_of(functions, "function"));
        if self.strict {
            let error = Error::new(ErrorKind::WouldLose { detail }).in_file(self.output);
            return Err(error.with_hint("name the output .profdata, which holds both"));
        }
        if !self.quiet {
            console::warning(&Warning::new(format!("{detail}; left out")).in_file(self.output));
        }
        Ok(())
    }
}
