//! `interop`: toolchains compared with each other. Every compiler instruments small programs, and every other one uses
//! their profiles: directly, and after a merge by profbridge.

mod cell;
mod kind;
mod matrix;
mod measure;
mod process;
mod table;
mod toolchain;
mod work;

use crate::console::{self, Progress};
use crate::documents;
use clap::Args;
use kind::Kind;
use process::Runner;
use profbridge::gates::{self, Bound, GateOutcome, parse_share};
use profbridge::{Error, Result};
use serde::Serialize;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use table::Tables;
use toolchain::{Skipped, Toolchain};
use work::Work;

/// Compare toolchains: which compiler uses the profiles of which
#[derive(Debug, Args)]
#[command(
    after_help = "Finds clang and rustc as doctor does, and those in the directories LLVM_16_BIN, LLVM_17_BIN and so
on. Compiles small programs that are part of profbridge with each of them, and runs these programs.
Then every compiler uses the profiles of every other one, in two ways: merged by its own
llvm-profdata, and merged by profbridge for its release.

A cell such as `refused / 14 of 14` has the functions whose counts the reader uses, directly and
through profbridge, and the functions that the writer counted. A cell holds if the reader uses all
of them through profbridge, except those whose loss profbridge reports.

Exit code: 0 for success, also if cells do not hold; 1 for failure; 2 for usage errors; 3 if a share
is below --fail-below.

Examples:
  profbridge interop
  profbridge interop --toolchain clang-16 --toolchain rustc --kind ir,coverage
  profbridge interop --toolchain build/bin/clang --toolchain clang-19 --keep files
  profbridge interop --json --fail-below 100%"
)]
pub(crate) struct InteropArgs {
    /// Toolchain by name, such as clang-16 or rustc, or by the path of a compiler or its directory; repeat for more
    /// [default: all that are found]
    #[arg(long = "toolchain", value_name = "NAME|PATH")]
    toolchains: Vec<String>,
    /// Kinds of profiles, separated by commas [default: all]
    #[arg(long = "kind", value_enum, value_name = "KIND,…", value_delimiter = ',')]
    kinds: Vec<Kind>,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
    /// Fail if a smaller share of the cells holds through profbridge: 0.9 or 90%
    #[arg(long, value_name = "SHARE", value_parser = parse_threshold)]
    fail_below: Option<f64>,
    /// Keep the programs, profiles and messages in this new or empty directory
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Longest time of each compiler, tool or program
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Number of programs that run at once [default: the number of processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

fn parse_threshold(text: &str) -> std::result::Result<f64, String> {
    parse_share(text).ok_or_else(|| "a share is a number from 0 to 1, or a percentage".to_string())
}

/// The output of `--json`; see `docs/json-schema/interop-1.json`.
#[derive(Serialize)]
struct Document<'a> {
    toolchains: &'a [Toolchain],
    skipped: &'a [Skipped],
    /// Cells that hold through profbridge.
    holding: usize,
    /// Cells that are supported.
    cells: usize,
    gates: &'a [GateOutcome],
    results: &'a [cell::Cell],
}

impl InteropArgs {
    /// Compares the toolchains and prints the matrix.
    pub(crate) fn run(self) -> Result<ExitCode> {
        let mut kinds = if self.kinds.is_empty() { Kind::ALL.to_vec() } else { self.kinds.clone() };
        kinds.sort();
        kinds.dedup();
        let (toolchains, skipped) = toolchain::find(&self.toolchains)?;
        let runner = Runner::new(Duration::from_secs(self.timeout))?;
        // The temporary directory is removed at the end of this function.
        let temporary;
        let root = match &self.keep {
            Some(directory) => kept_directory(directory)?,
            None => {
                temporary = tempfile::tempdir().map_err(|error| Error::io("cannot create a directory", error))?;
                temporary.path().to_path_buf()
            }
        };
        let work = Work::new(&root, runner)?;
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        let jobs = self.jobs.map_or_else(processors, usize::from);
        let progress = Progress::new("comparing", console::is_quiet());
        let cells = matrix::measure(&work, &toolchains, &kinds, jobs, &progress);
        progress.finish();
        let cells = cells?;
        let (holding, all) = table::count(&cells);
        let share = (all > 0).then(|| holding as f64 / all as f64);
        let gate = |wanted| GateOutcome::share("fail-below", Bound::AtLeast, wanted, share);
        let outcomes: Vec<GateOutcome> = self.fail_below.map(gate).into_iter().collect();
        if self.json {
            let (toolchains, skipped, gates, results) = (&toolchains, &skipped, &outcomes, &cells);
            let document = Document { toolchains, skipped, holding, cells: all, gates, results };
            documents::print("profbridge.interop/1", outcomes.iter().all(|outcome| outcome.passed), &document)?;
        } else {
            let has_colours = std::io::stdout().is_terminal() && console::are_colours_allowed();
            console::print_line(Tables::new(has_colours).text(&cells, &toolchains, &skipped).trim_end());
        }
        gates::require(&outcomes)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the absolute path of a new or empty directory.
fn kept_directory(directory: &Path) -> Result<PathBuf> {
    if directory.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Error::usage("the directory is not empty").in_file(directory).with_hint("name another directory"));
    }
    let absolute = std::fs::create_dir_all(directory).and_then(|()| directory.canonicalize());
    absolute.map_err(|error| Error::io("cannot create the directory", error).in_file(directory))
}
