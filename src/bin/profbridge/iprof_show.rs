//! `show` of an iprof.

use crate::console;
use crate::demangled::DemangleArgs;
use crate::documents;
use crate::iprof_files::print_findings;
use crate::show_stacks::Chains;
use crate::show_stacks::Rows;
use crate::validate::refuse;
use clap::Args;
use profbridge::families;
use profbridge::input::{Format, Input};
use profbridge::iprof::statistics::{ChainsBy, Statistics, StatisticsOptions, write_text};
use profbridge::{Error, Result};
use serde::Serialize;
use std::borrow::Cow;
use std::path::Path;
use std::process::ExitCode;

/// Options for showing an iprof.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Options for iprof and stacks")]
pub(crate) struct IprofShowArgs {
    /// List up to 32 levels of callers of METHOD: a package, class, method, or /REGEX/
    #[arg(long, value_name = "METHOD")]
    callers: Option<String>,
    /// List up to 32 levels of callees of METHOD
    #[arg(long, value_name = "METHOD")]
    callees: Option<String>,
    /// The value of call chains [default: samples if there are any, otherwise calls]
    #[arg(long, value_enum, value_name = "VALUE")]
    chains_by: Option<ChainsBy>,
    /// Distinguish positions within a method in call chains
    #[arg(long)]
    bci: bool,
    /// List sites with at least N events
    #[arg(long, value_name = "N")]
    min_events: Option<u64>,
}

impl IprofShowArgs {
    /// Returns the call chains to show for other sources of stacks.
    pub(crate) fn chains(&self) -> Chains {
        Chains { callers: self.callers.clone(), callees: self.callees.clone(), positions: self.bci }
    }

    /// Rejects LLVM profiles: they count blocks, not calls, so they have no call chains.
    pub(crate) fn refuse_for_llvm() -> Result<()> {
        let given = ["--callers", "--callees", "--chains-by", "--bci", "--min-events"];
        refuse(
            &given,
            "for iprof files and stacks, not for LLVM profiles",
            "use --function and --topn to choose functions",
        )
    }
}

/// The output of `--json`; see `docs/json-schema/show-iprof-2.json`.
#[derive(Serialize)]
struct Json<'a> {
    path: Cow<'a, str>,
    format: &'static str,
    #[serde(flatten)]
    statistics: &'a Statistics,
}

/// Shows an iprof. Lists have `topn` elements, or 10 if it is 0, and only methods that the rows select.
pub(crate) fn run(
    input: &Input,
    output: &Path,
    arguments: &IprofShowArgs,
    Rows { topn, method }: Rows<'_>,
    (json, names): (bool, DemangleArgs),
) -> Result<ExitCode> {
    let mut options = StatisticsOptions::default();
    options.read = crate::limits::iprof_options();
    options.topn = if topn == 0 { options.topn } else { topn };
    options.function = method.cloned();
    options.min_events = arguments.min_events.unwrap_or(options.min_events);
    options.callers = arguments.callers.clone();
    options.callees = arguments.callees.clone();
    options.positions = arguments.bci;
    options.chains_by = arguments.chains_by;
    let (statistics, findings) = families::iprof_statistics(input, &options)?;
    let path = &input.path;
    print_findings(path, &findings);
    if json {
        let json = Json { path: path.to_string_lossy(), format: Format::Iprof.name(), statistics: &statistics };
        documents::write_named(output, "profbridge.show-iprof/2", &json, names)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    write_text(&mut text, &statistics).map_err(|_| Error::usage("cannot write the statistics"))?;
    console::write_output(output, |out| out.write_all(names.apply(&console::escape(&text), false).as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}
