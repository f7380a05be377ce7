//! `merge` and `convert` of memory profiles into one that is a file of its own.

use crate::console;
use crate::merge_report::{MergeConsole, print_warnings};
use profbridge::input::WeightedInput;
use profbridge::pipeline::MergeOptions;
use profbridge::pipeline::memory_merge::{merge_memory_files, write_yaml_file};
use profbridge::{Error, ErrorKind, Result, Warning};
use std::path::Path;
use std::process::ExitCode;

/// What was asked of the output.
pub(crate) struct MemoryRun<'a> {
    pub(crate) inputs: &'a [WeightedInput],
    pub(crate) output: &'a Path,
    pub(crate) strict: bool,
    pub(crate) quiet: bool,
}

impl MemoryRun<'_> {
    /// Merges and writes YAML.
    pub(crate) fn run(&self, options: &MergeOptions) -> Result<ExitCode> {
        let mut console = MergeConsole::new(self.quiet);
        let (memory, report) = merge_memory_files(self.inputs, options, &mut console)?;
        console.finish();
        print_warnings(&report, self.quiet);
        self.say_left_out(report.profile.functions.len())?;
        write_yaml_file(&memory, self.output)?;
        if !self.quiet && self.output.as_os_str() != "-" {
            let (used, all, sites) = (report.used(), report.inputs.len(), memory.alloc_sites().count());
            eprintln!("{}: {sites} allocation contexts from {used} of {all} inputs", self.output.display());
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Counters of functions beside the memory profile have no place in it.
    fn say_left_out(&self, functions: usize) -> Result<()> {
        if functions == 0 {
            return Ok(());
        }
        let detail = format!("a memory profile in YAML has no place for the counters of {functions} functions");
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
