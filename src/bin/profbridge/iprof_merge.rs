//! `merge` of iprof files.

use crate::bridged;
use crate::console;
use crate::iprof_files::{IprofWriteArgs, print_findings};
use clap::{Args, ValueEnum};
use profbridge::input::WeightedInput;
use profbridge::iprof::{self, BranchClash, Document, SectionKind, Weight};
use profbridge::pipeline::InputOutcome;
use profbridge::pipeline::iprof_merge::{
    IprofInputReport, IprofMergeObserver, IprofMergeOptions, IprofMergeReport, merge_iprof_files,
};
use profbridge::{Error, ErrorKind, Result, Warning};
use serde::Serialize;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;

/// How iprof files are merged.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Options for iprof inputs")]
pub(crate) struct IprofMergeArgs {
    /// When inputs disagree about the ways out of a branch [default: heavier]
    #[arg(long, value_enum, value_name = "POLICY")]
    on_branch_clash: Option<ClashArg>,
    /// Scale every input to equal totals of each section first, so that long runs do not outweigh short ones
    #[arg(long)]
    normalize: bool,
    /// Multiply all counts by a ratio such as 1/3; no count becomes 0
    #[arg(long, value_name = "RATIO", value_parser = parse_ratio)]
    scale: Option<Weight>,
}

/// The values of `--on-branch-clash`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ClashArg {
    /// Keep the list with more events
    Heavier,
    /// Keep the list of the first input
    First,
    /// Join the lists
    Union,
    /// Keep every list as an entry of its own
    Keep,
    /// Keep none
    Drop,
    /// Fail
    Error,
}

impl IprofMergeArgs {
    /// What happens when inputs disagree about a branch.
    pub(crate) fn branch_clash(&self) -> BranchClash {
        self.on_branch_clash.map_or_else(BranchClash::default, BranchClash::from)
    }

    /// What every count is multiplied by, and whether inputs are scaled to equal totals first.
    pub(crate) fn scaling(&self) -> (Weight, bool) {
        (self.scale.unwrap_or_default(), self.normalize)
    }

    /// Whether inputs are scaled.
    pub(crate) fn scales(&self) -> bool {
        self.normalize || self.scale.is_some()
    }
}

impl From<ClashArg> for BranchClash {
    fn from(argument: ClashArg) -> Self {
        match argument {
            ClashArg::Heavier => Self::Heavier,
            ClashArg::First => Self::First,
            ClashArg::Union => Self::Union,
            ClashArg::Keep => Self::Keep,
            ClashArg::Drop => Self::Drop,
            ClashArg::Error => Self::Error,
        }
    }
}

fn parse_ratio(text: &str) -> std::result::Result<Weight, String> {
    Weight::parse(text).ok_or_else(|| "a ratio has the form 4 or 1/3".to_string())
}

/// A merge of iprof files.
pub(crate) struct IprofMerge<'a> {
    pub(crate) inputs: &'a [WeightedInput],
    pub(crate) output: &'a Path,
    pub(crate) options: IprofMergeOptions,
    pub(crate) write: &'a IprofWriteArgs,
    pub(crate) strict: bool,
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    /// `None` asks the machine.
    pub(crate) threads: Option<NonZeroUsize>,
}

impl IprofMerge<'_> {
    /// Merges and writes.
    pub(crate) fn run(mut self) -> Result<ExitCode> {
        self.options.read.threads = self.threads;
        let mut console = IprofConsole { quiet: self.quiet, progress: console::Progress::new("merging", self.quiet) };
        let mut report = merge_iprof_files(self.inputs, &self.options, &mut console)?;
        console.progress.finish();
        report.verdict(&self.options)?;
        self.report_what_is_lost(&report)?;
        if self.write.canonical {
            report.document = iprof::canonical_with(&report.document, self.options.to_iprof.branch_clash);
        }
        self.write.write(&report.document, self.output, self.threads)?;
        if self.json {
            console::print_json(&self.to_json(&report))?;
        } else if !self.quiet && self.output.as_os_str() != "-" {
            self.print_summary(&report);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Warns of what the sum does not hold, or fails for it.
    fn report_what_is_lost(&self, report: &IprofMergeReport) -> Result<()> {
        if self.strict && (report.merged.dropped_entry_members > 0 || !report.merged.dropped_members.is_empty()) {
            let members = report.merged.dropped_members.join(", ");
            let detail = format!("members of the inputs that are not part of the format would be lost: {members}");
            let hint = "without --strict they are left out and listed";
            return Err(Error::new(ErrorKind::WouldLose { detail }).with_hint(hint));
        }
        if self.quiet && !self.strict {
            return Ok(());
        }
        if report.bridged && !self.quiet {
            console::note("inputs carry LLVM's records, which are merged as LLVM merges");
        }
        if !self.quiet {
            report.warnings(&self.options).iter().for_each(console::warning);
        }
        bridged::report_losses(&report.losses, self.output, self.strict)
    }

    fn print_summary(&self, report: &IprofMergeReport) {
        let entries: Vec<String> = entries(&report.document).map(|(name, count)| format!("{count} {name}")).collect();
        let list = if entries.is_empty() { "no profiles".to_string() } else { entries.join(", ") };
        let all = report.inputs.len();
        let inputs = if all == 1 { "input" } else { "inputs" };
        let of = match report.used() {
            used if used == all => format!("{all} {inputs}"),
            used => format!("{used} of {all} {inputs}"),
        };
        let passed_over = report.count(|outcome| matches!(outcome, InputOutcome::NotAProfile));
        let skipped = [
            (report.count(|outcome| matches!(outcome, InputOutcome::Empty)), "empty"),
            (report.count(|outcome| matches!(outcome, InputOutcome::Failed(_))), "unreadable"),
            (passed_over, "of something else"),
        ];
        let skipped: Vec<String> =
            skipped.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        let skipped = if skipped.is_empty() { String::new() } else { format!(", skipped {}", skipped.join(" and ")) };
        eprintln!("{}: {list} from {of}{skipped}", self.output.display());
    }

    fn to_json<'r>(&self, report: &'r IprofMergeReport) -> Json<'r> {
        let (merged, output) = (&report.merged, self.output.to_string_lossy().into_owned());
        Json {
            schema: "profbridge.merge/1",
            format: if report.bridged { "bridged" } else { "iprof" },
            family: "iprof",
            output,
            inputs: report.inputs.iter().map(InputJson::new).collect(),
            used: report.used(),
            entries: entries(&report.document).collect(),
            clashed_sites: merged.clashed_sites,
            clashed_lists: merged.clashed_lists,
            saturated: merged.saturated.iter().map(|(kind, count)| (kind.name(), *count)).collect(),
            dropped_members: &merged.dropped_members,
            losses: report.losses.iter().map(ToString::to_string).collect(),
        }
    }
}

/// Sections that have entries, and how many.
fn entries(document: &Document) -> impl Iterator<Item = (&'static str, usize)> {
    let counts = SectionKind::ALL.into_iter().map(|kind| (kind.name(), document.sections.entries_count(kind)));
    counts.filter(|(_, count)| *count > 0)
}

/// Says what became of each input, and shows progress on a terminal.
struct IprofConsole {
    quiet: bool,
    progress: console::Progress,
}

impl IprofMergeObserver for IprofConsole {
    fn input_done(&mut self, report: &IprofInputReport) {
        let path = &report.input.path;
        match &report.outcome {
            InputOutcome::Failed(error) => console::error_as_warning(error),
            InputOutcome::Empty if !self.quiet => {
                console::warning(&Warning::new("the file is empty; skipped").in_file(path));
            }
            _ => {}
        }
        if !self.quiet {
            print_findings(path, &report.findings);
        }
    }

    fn progress(&mut self, done: usize, total: usize) {
        self.progress.update(done, total);
    }
}

/// What `--json` prints; see `docs/json-schema/merge-iprof-1.json`, and
/// `merge-bridged-1.json` where inputs carry LLVM's records.
#[derive(Serialize)]
struct Json<'a> {
    schema: &'static str,
    format: &'static str,
    family: &'static str,
    output: String,
    inputs: Vec<InputJson>,
    used: usize,
    entries: BTreeMap<&'a str, usize>,
    clashed_sites: u64,
    clashed_lists: u64,
    saturated: BTreeMap<&'static str, u64>,
    dropped_members: &'a [String],
    losses: Vec<String>,
}

#[derive(Serialize)]
struct InputJson {
    path: String,
    weight: u64,
    family: &'static str,
    outcome: &'static str,
    error: Option<String>,
}

impl InputJson {
    fn new(report: &IprofInputReport) -> Self {
        let (outcome, error) = match &report.outcome {
            InputOutcome::Used => ("used", None),
            InputOutcome::Empty => ("empty", None),
            InputOutcome::NotAProfile => ("not a profile", None),
            InputOutcome::Failed(error) => ("failed", Some(error.to_string())),
            _ => ("other", None),
        };
        let path = report.input.path.to_string_lossy().into_owned();
        Self { path, weight: report.input.weight.get(), family: "iprof", outcome, error }
    }
}
