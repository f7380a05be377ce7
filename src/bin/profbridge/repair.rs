//! `repair`: a valid file from a damaged one.

use crate::check::parse_version;
use crate::console;
use crate::documents::{self, FileJson, SectionEntries};
use crate::outputs::guard;
use clap::Args;
use profbridge::families::Written;
use profbridge::input::{self, Family, Format, Input};
use profbridge::iprof::{self, Layout, RepairOptions, Repaired, Verdict, Version, WriteOptions};
use profbridge::system::is_same_file;
use profbridge::{Error, Result, Warning};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// Repair a damaged or truncated iprof file
#[derive(Debug, Args)]
#[command(after_help = "Prints the dropped entries by finding; `profbridge check` explains each finding.

Examples:
  profbridge repair default.iprof -o repaired.iprof
  profbridge repair truncated.iprof.gz -o repaired.iprof.gz")]
pub(crate) struct RepairArgs {
    /// The damaged file; `-` is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// The output file; `-` is standard output. The input is replaced only if it is named here
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The version of a file without a usable version
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    assume_version: Option<Version>,
    /// Keep the entries before a syntax error
    #[arg(long)]
    salvage: bool,
    /// Keep the complete rows of entries that end within a row
    #[arg(long)]
    keep_whole_rows: bool,
    /// Move call counts at other positions to position 0
    #[arg(long)]
    reset_call_counts: bool,
    /// Join sections that occur twice
    #[arg(long)]
    join_sections: bool,
    /// Drop branches that never ran
    #[arg(long)]
    drop_never_executed: bool,
    /// Write the output even if no profile is left
    #[arg(long)]
    allow_empty: bool,
    /// Indent the output
    #[arg(long)]
    pretty: bool,
    /// Print the repairs as JSON on standard output (needs an output file)
    #[arg(long)]
    json: bool,
}

/// The hint for files of other formats.
const ONLY_IPROF: &str = "only iprof files can be repaired; run `profbridge check` to list the problems of this file";

impl RepairArgs {
    /// Returns the given input files.
    pub(crate) fn named(&self) -> Vec<PathBuf> {
        vec![self.input.clone()]
    }

    /// Repairs the file and writes it.
    pub(crate) fn run(self) -> Result<ExitCode> {
        if self.json {
            console::needs_file(&self.output)?;
        }
        let input = Input::argument(&self.input);
        let format = input.format()?;
        if let (Format::Other(_), Some(error)) = (format, format.not_a_profile()) {
            return Err(error.in_file(&self.input));
        }
        if matches!(format, Format::Raw { .. } | Format::Indexed) {
            let what = format!("repairing an {format}");
            return Err(Error::new(profbridge::ErrorKind::Unsupported { what })
                .in_file(&self.input)
                .with_hint(ONLY_IPROF));
        }
        if let Some(other) = input.family()?.filter(|family| *family != Family::Iprof) {
            let what = format!("repairing {}", other.words());
            return Err(Error::new(profbridge::ErrorKind::Unsupported { what })
                .in_file(&self.input)
                .with_hint(ONLY_IPROF));
        }
        if !is_same_file(&self.input, &self.output) {
            guard(&[], &self.output, "the repaired iprof", Written::Profile(Family::Iprof))?;
        }
        let repaired =
            iprof::repair_from(input.into_stream()?, &self.options()).map_err(|error| error.in_file(&self.input))?;
        if !self.allow_empty && entries_by_section(&repaired).is_empty() {
            let error = Error::nothing_found("no entries are left: the file has no valid entry");
            return Err(error
                .in_file(&self.input)
                .with_hint("record the profile again, or use --allow-empty to write the tables without entries"));
        }
        let mut write = WriteOptions::default();
        write.layout = if self.pretty { Layout::Pretty } else { Layout::Compact };
        input::output::replace_by_name_with(&self.output, |out| {
            iprof::Writer::new(&write).write(&repaired.document, out)
        })?;
        for name in &repaired.dropped_members {
            let text = format!("dropped the member \"{name}\", which may refer to merged entries");
            console::warning(&Warning::new(text).in_file(&self.input));
        }
        if self.json {
            self.print_json(&repaired)?
        } else {
            self.print(&repaired)
        }
        Ok(ExitCode::SUCCESS)
    }

    fn options(&self) -> RepairOptions {
        let mut options = RepairOptions::default();
        options.read.limits = crate::limits::chosen();
        options.read.assume_version = self.assume_version;
        options.read.salvage = self.salvage;
        options.read.keep_whole_rows = self.keep_whole_rows;
        options.read.reset_call_count_leaf = self.reset_call_counts;
        options.read.join_sections = self.join_sections;
        options.drop_never_executed = self.drop_never_executed;
        options
    }

    /// Prints the repairs on standard error, because the result may go to standard output.
    fn print(&self, repaired: &Repaired) {
        let entries = entries_by_section(repaired);
        if repaired.findings.repairs().next().is_none() {
            console::status(&format!("{}: nothing to repair", self.input.display()));
        }
        for (repair, count) in repaired.findings.repairs() {
            console::status(&format!(
                "{}: {}: {} {count} ({})",
                self.input.display(),
                repair.code,
                repair.action,
                repair.what
            ));
        }
        let left: Vec<String> = entries.iter().map(|(name, count)| format!("{count} of {name}")).collect();
        let left =
            if left.is_empty() { "no profile is left".to_string() } else { format!("left: {}", left.join(", ")) };
        let verdict = if entries.is_empty() { Verdict::TablesOnly } else { repaired.verdict };
        console::status(&format!("{}: {}; {left}", self.input.display(), verdict.name()));
    }

    fn print_json(&self, repaired: &Repaired) -> Result<()> {
        let repairs = repaired.findings.repairs().map(|(repair, count)| RepairJson {
            code: repair.code.name(),
            action: repair.action,
            what: repair.what,
            count,
        });
        let entries = entries_by_section(repaired).into_iter();
        let json = Json {
            path: self.input.to_string_lossy(),
            format: Format::Iprof.name(),
            version: repaired.document.version.to_string(),
            output: FileJson::of_output(&self.output),
            verdict: repaired.verdict.name(),
            repairs: repairs.collect(),
            entries: entries.map(|(section, entries)| SectionEntries { section, entries: entries as u64 }).collect(),
        };
        documents::print("profbridge.repair/2", true, &json)
    }
}

/// The output of `--json`; see `docs/json-schema/repair-2.json`.
#[derive(Serialize)]
struct Json<'a> {
    path: Cow<'a, str>,
    format: &'static str,
    version: String,
    output: FileJson,
    verdict: &'static str,
    repairs: Vec<RepairJson>,
    entries: Vec<SectionEntries>,
}

#[derive(Serialize)]
struct RepairJson {
    code: &'static str,
    action: &'static str,
    what: &'static str,
    count: u64,
}

fn entries_by_section(repaired: &Repaired) -> BTreeMap<&'static str, usize> {
    let sections = &repaired.document.sections;
    iprof::SectionKind::ALL
        .iter()
        .map(|kind| (kind.name(), sections.entries_count(*kind)))
        .filter(|(_, count)| *count > 0)
        .collect()
}
