//! `merge` of iprof files.

use crate::console;
use crate::iprof_files::{IprofWriteArgs, print_findings};
use clap::{Args, ValueEnum};
use profbridge::bridge;
use profbridge::input::{self, Format, WeightedInput};
use profbridge::iprof::{
    self, BranchClash, Document, MergeOptions, MergeReport, Merger, SectionKind, SectionTotals, SectionWeights, Weight,
};
use profbridge::{Error, Result};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;
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

/// Whether the member that holds LLVM's records was in some input.
fn carries_profile(document: &Document, report: &MergeReport) -> bool {
    let member = bridge::extension::MEMBER;
    document.member(member).is_some() || report.dropped_members.iter().any(|name| name.as_bytes() == member)
}

impl IprofMergeArgs {
    /// What happens when inputs disagree about a branch.
    pub(crate) fn branch_clash(&self) -> BranchClash {
        self.on_branch_clash.map_or_else(BranchClash::default, BranchClash::from)
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
    pub(crate) arguments: &'a IprofMergeArgs,
    pub(crate) write: &'a IprofWriteArgs,
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    /// `None` asks the machine.
    pub(crate) threads: Option<NonZeroUsize>,
}

impl IprofMerge<'_> {
    /// Merges and writes; `None` when some input carries an LLVM profile, which
    /// has to be merged with the others' as LLVM merges.
    pub(crate) fn run(&self) -> Result<Option<ExitCode>> {
        let mut options = MergeOptions::default();
        options.branch_clash = self.arguments.branch_clash();
        let sources = self.sources()?;
        let weights = self.weights(&sources)?;
        let mut merger = Merger::new(options);
        let read = self.read_options();
        let progress = console::Progress::new("merging", self.quiet);
        for (at, ((input, source), weights)) in self.inputs.iter().zip(&sources).zip(&weights).enumerate() {
            let stream = source.open(&input.path)?;
            let findings = merger.add_from(stream, &read, weights).map_err(|error| error.in_file(&input.path))?;
            if !self.quiet {
                print_findings(&input.path, &findings);
            }
            progress.update(at + 1, self.inputs.len());
        }
        progress.finish();
        let (mut document, report) = merger.finish()?;
        if self.changes_counts() && carries_profile(&document, &report) {
            return Ok(None);
        }
        if !self.quiet {
            report.warnings(options.branch_clash).iter().for_each(console::warning);
        }
        if self.write.canonical {
            document = iprof::canonical_with(&document, options.branch_clash);
        }
        self.write.write(&document, self.output, self.threads)?;
        let entries: Vec<(&str, usize)> = SectionKind::ALL
            .iter()
            .map(|kind| (kind.name(), document.sections.entries_count(*kind)))
            .filter(|(_, count)| *count > 0)
            .collect();
        if self.json {
            self.print_json(&report, &entries)?;
        } else if !self.quiet && self.output.as_os_str() != "-" {
            let entries: Vec<String> = entries.iter().map(|(name, count)| format!("{count} {name}")).collect();
            let list = if entries.is_empty() { "no profiles".to_string() } else { entries.join(", ") };
            eprintln!("{}: {list} from {} inputs", self.output.display(), self.inputs.len());
        }
        Ok(Some(ExitCode::SUCCESS))
    }

    fn read_options(&self) -> iprof::ReadOptions {
        let mut options = crate::limits::iprof_options();
        options.threads = self.threads;
        options
    }

    /// Whether the result may differ from the one input.
    fn changes_counts(&self) -> bool {
        self.inputs.len() > 1
            || self.arguments.scale.is_some()
            || self.inputs.iter().any(|input| input.weight.get() > 1)
    }

    /// Where the inputs come from: to be normalized they are read twice, so what
    /// comes but once is kept.
    fn sources(&self) -> Result<Vec<Source>> {
        let source = |input: &WeightedInput| {
            if !self.arguments.normalize || !input::comes_once(&input.path) {
                return Ok(Source::Path);
            }
            let mut bytes = Vec::new();
            input::read_into(&input.path, &mut bytes, &crate::limits::chosen())?;
            Ok(Source::Memory(bytes))
        };
        self.inputs.iter().map(source).collect()
    }

    fn weights(&self, sources: &[Source]) -> Result<Vec<SectionWeights>> {
        let scale = self.arguments.scale.unwrap_or_default();
        let weight = |input: &WeightedInput| {
            let own = Weight::ratio(input.weight.get(), 1).unwrap_or_default();
            scale.times(own).ok_or_else(|| Error::usage("the weight times the scale is too large").in_file(&input.path))
        };
        let weights = self.inputs.iter().map(weight).collect::<Result<Vec<Weight>>>()?;
        if !self.arguments.normalize {
            return Ok(weights.into_iter().map(SectionWeights::uniform).collect());
        }
        let read = self.read_options();
        let totals = |((input, source), weight): ((&WeightedInput, &Source), Weight)| {
            let totals = SectionTotals::read_from(source.open(&input.path)?, &read);
            Ok((weight, totals.map_err(|error| error.in_file(&input.path))?))
        };
        let totals = self.inputs.iter().zip(sources).zip(weights).map(totals).collect::<Result<Vec<_>>>()?;
        Ok(SectionWeights::normalized(&totals))
    }

    fn print_json(&self, report: &MergeReport, entries: &[(&str, usize)]) -> Result<()> {
        let input = |input: &WeightedInput| InputJson {
            path: input.path.to_string_lossy().into_owned(),
            weight: input.weight.get(),
        };
        console::print_json(&Json {
            schema: "profbridge.merge/1",
            format: "iprof",
            output: self.output.to_string_lossy(),
            inputs: self.inputs.iter().map(input).collect(),
            entries: entries.iter().copied().collect(),
            clashed_sites: report.clashed_sites,
            clashed_lists: report.clashed_lists,
            saturated: report.saturated.iter().map(|(kind, count)| (kind.name(), *count)).collect(),
            dropped_members: &report.dropped_members,
        })
    }
}

/// What `--json` prints; see `docs/json-schema/merge-iprof-1.json`.
#[derive(Serialize)]
struct Json<'a> {
    schema: &'static str,
    format: &'static str,
    output: Cow<'a, str>,
    inputs: Vec<InputJson>,
    entries: BTreeMap<&'a str, usize>,
    clashed_sites: u64,
    clashed_lists: u64,
    saturated: BTreeMap<&'static str, u64>,
    dropped_members: &'a [String],
}

#[derive(Serialize)]
struct InputJson {
    path: String,
    weight: u64,
}

/// Where an input comes from.
enum Source {
    /// From its path.
    Path,
    /// It came through a pipe.
    Memory(Vec<u8>),
}

impl Source {
    /// Opens an input that must be an iprof.
    fn open(&self, path: &Path) -> Result<Box<dyn Read + Send + '_>> {
        if let Self::Memory(bytes) = self {
            return Ok(Box::new(bytes.as_slice()));
        }
        let input = input::open_stream(path)?;
        match input.format {
            Format::Raw { .. } | Format::Indexed | Format::Jfr => {
                let detail = format!("{} among iprof files", input.format);
                Err(Error::usage(detail).in_file(path).with_hint("`profbridge convert` turns it into an iprof first"))
            }
            _ => Ok(input.stream),
        }
    }
}
