//! Options for merging and showing memory profiles.

use crate::console::{self, write_output};
use crate::demangled::DemangleArgs;
use crate::documents::{self, Described, FileJson};
use crate::validate::{options_of, refuse, require_existing};
use clap::Args;
use profbridge::families::memory::{AllocationUnit, MemoryOptions};
use profbridge::input::{Family, Format, Input};
use profbridge::instr::Release;
use profbridge::instr::memory_profiles::{self, MemProfOptions};
use profbridge::memprof::raw::Programs;
use profbridge::memprof::report::{MemoryReport, ReportOptions, SortBy, warnings_about_functions};
use profbridge::memprof::{Hotness, HotnessThresholds};
use profbridge::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// The programs of raw memory profiles.
#[derive(Debug, Args)]
#[command(next_help_heading = "Memory profiles")]
pub(crate) struct ProgramArgs {
    /// The program that wrote raw memory profiles, with debug info; repeat it for several programs
    #[arg(long, value_name = "FILE")]
    profiled_binary: Vec<PathBuf>,
}

impl ProgramArgs {
    /// Returns the programs. Each is opened when a profile needs it.
    pub(crate) fn programs(&self) -> Result<Arc<Programs>> {
        require_existing(&self.profiled_binary)?;
        Ok(Arc::new(Programs::new(self.profiled_binary.clone(), &crate::limits::chosen())))
    }
}

/// Options for drawing memory profiles.
#[derive(Debug, Args)]
#[command(next_help_heading = "Memory profiles")]
pub(crate) struct DrawMemoryArgs {
    /// Draw the memory profile of an indexed profile; not needed for raw memory profiles and YAML
    #[arg(long)]
    memory: bool,
    /// Count allocations of memory profiles instead of bytes
    #[arg(long)]
    allocations: bool,
    #[command(flatten)]
    programs: ProgramArgs,
}

impl DrawMemoryArgs {
    /// Rejects these options if no input has a memory profile.
    pub(crate) fn refuse_without_effect(inputs: &[Input]) -> Result<()> {
        let may_have = |input: &Input| {
            let has = |format: Format| format == Format::Indexed || format.family() == Some(Family::MemProf);
            input.is_pipe() || input.format().map_or(true, has)
        };
        match inputs.iter().any(may_have) {
            true => Ok(()),
            false => refuse(&options_of::<Self>(), "for memory profiles", "omit it: no input has a memory profile"),
        }
    }

    /// Returns the library's options.
    pub(crate) fn options(&self) -> Result<MemoryOptions> {
        let mut options = MemoryOptions::default();
        options.asked_for = self.memory;
        options.unit = if self.allocations { AllocationUnit::Allocations } else { AllocationUnit::Bytes };
        options.programs = self.programs.programs()?;
        Ok(options)
    }
}

/// Options for merging memory profiles.
#[derive(Debug, Args)]
#[command(next_help_heading = "Memory profiles")]
pub(crate) struct MemProfArgs {
    #[command(flatten)]
    pub(crate) programs: ProgramArgs,
    /// Version of the memory profile, 0 to 4 [default: that of the target, or the first that stores all data]
    #[arg(long, value_name = "N")]
    memprof_version: Option<u32>,
    /// Write all data about allocations, not only the data that compilers use
    #[arg(long)]
    memprof_full_schema: bool,
    /// Mark allocations as hot or cold randomly, to test compilers
    #[arg(long, requires = "memprof_random_hotness_seed")]
    memprof_random_hotness: bool,
    /// The seed of the random numbers
    #[arg(long, value_name = "SEED", requires = "memprof_random_hotness")]
    memprof_random_hotness_seed: Option<u32>,
}

impl MemProfArgs {
    /// Returns the library's options.
    pub(crate) fn options(&self) -> MemProfOptions {
        let mut options = MemProfOptions::default();
        options.version = self.memprof_version;
        options.full_schema = self.memprof_full_schema;
        options.random_hotness = self.memprof_random_hotness_seed.filter(|_| self.memprof_random_hotness);
        options
    }
}

/// Options for showing a memory profile.
#[derive(Debug, Args)]
#[command(next_help_heading = "Memory profiles")]
pub(crate) struct ShowMemoryArgs {
    /// Show the memory profile of an indexed profile; not needed for raw memory profiles and YAML
    #[arg(long)]
    memory: bool,
    /// Print everything as YAML, as `llvm-profdata show --memory` does
    #[arg(long, conflicts_with_all = ["json", "demangle", "sort_sites", "only_sites"])]
    yaml: bool,
    /// Sort allocation sites by this value
    #[arg(long, value_enum, value_name = "BY", default_value_t)]
    sort_sites: SortBy,
    /// Show only allocation sites of this class
    #[arg(long, value_enum, value_name = "CLASS")]
    only_sites: Option<Hotness>,
    #[command(flatten)]
    programs: ProgramArgs,
}

impl ShowMemoryArgs {
    /// Rejects these options for other profiles, on which they have no effect.
    pub(crate) fn refuse_for_others() -> Result<()> {
        refuse(&options_of::<Self>(), "for memory profiles", "omit it: the file is another profile")
    }

    /// Returns true if a whole profile is printed, as YAML.
    pub(crate) fn prints_yaml(&self) -> bool {
        self.yaml
    }

    /// Returns true if the memory profile of any file is requested.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.memory
    }

    /// Shows the memory profile.
    pub(crate) fn run(
        &self,
        file: &Input,
        output: &Path,
        topn: usize,
        (json, names): (bool, DemangleArgs),
    ) -> Result<ExitCode> {
        let mut read = crate::limits::read_options();
        read.programs = self.programs.programs()?;
        if self.yaml {
            let mut text = Vec::new();
            let thresholds = HotnessThresholds::default();
            memory_profiles::show_yaml(file, &read, Release::DEFAULT, &thresholds, &mut text)?;
            write_output(output, |out| out.write_all(&text))?;
            return Ok(ExitCode::SUCCESS);
        }
        let profile = memory_profiles::load(file, &read)?;
        let warnings = warnings_about_functions(&profile);
        warnings.into_iter().for_each(|warning| console::warning(&warning.in_file(&file.path)));
        let report = MemoryReport::new(&profile, &self.options(topn));
        if json {
            let file = FileJson::of(file);
            documents::write_named(output, "profbridge.show-memprof/2", &Described { file, report: &report }, names)?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut text = String::new();
        report.write_text(&mut text).map_err(|_| Error::usage("cannot write the report"))?;
        write_output(output, |out| out.write_all(names.apply(&text, false).as_bytes()))?;
        Ok(ExitCode::SUCCESS)
    }

    fn options(&self, topn: usize) -> ReportOptions {
        let mut options = ReportOptions::default();
        options.topn = if topn == 0 { options.topn } else { topn };
        (options.sort, options.only) = (self.sort_sites, self.only_sites);
        options
    }
}
