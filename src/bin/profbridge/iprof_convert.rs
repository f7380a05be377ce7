//! `convert` of an iprof into an iprof: parts of it, another form or version.

use crate::check::parse_version;
use crate::console;
use crate::iprof_files::{IprofWriteArgs, print_findings};
use crate::merge_document::MergeDocument;
use clap::{Args, ValueEnum};
use profbridge::bridge::{self, MEMBER, ToIprofOptions};
use profbridge::families::FactsRequest;
use profbridge::families::merge::iprof::facts_of;
use profbridge::input::output::is_replaced;
use profbridge::input::{Access, Input};
use profbridge::iprof::{self, BranchClash, Document, Findings, Layout, Level, MethodFilter, SectionKind, Version};
use profbridge::{Error, ErrorKind, Hint, Result, Warning};
use std::path::Path;

/// The parts of an iprof to write.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Options for iprof to iprof")]
pub(crate) struct IprofConvertArgs {
    /// Drop methods and types that no entry uses
    #[arg(long)]
    prune: bool,
    /// Keep entries whose innermost method is in this package or class, or matches /REGEX/
    #[arg(long, visible_alias = "filter", value_name = "PATTERN", value_delimiter = ',')]
    only: Vec<String>,
    /// Drop entries whose innermost method is in this package or class, or matches /REGEX/
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    exclude: Vec<String>,
    /// Sections to keep
    #[arg(long, value_enum, value_name = "SECTION", value_delimiter = ',')]
    sections: Vec<SectionArg>,
    /// Version to write, 1.0.0 or 1.1.0
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    to_version: Option<Version>,
}

/// A section, by a short name or its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SectionArg {
    /// All sections except samples
    Counts,
    /// Call counts
    #[value(alias = "callCountProfiles")]
    Calls,
    /// Branch counts
    #[value(alias = "conditionalProfiles")]
    Conditionals,
    /// Receivers of virtual calls
    #[value(alias = "virtualInvokeProfiles")]
    Virtual,
    /// Types used for synchronization
    #[value(alias = "monitorProfiles")]
    Monitors,
    /// Sampled stacks
    #[value(alias = "samplingProfiles")]
    Samples,
    /// Types tested by instanceof
    #[value(aliases = ["instanceofProfiles", "instanceOfProfiles"])]
    Instanceof,
}

impl SectionArg {
    fn has(self, kind: SectionKind) -> bool {
        match self {
            Self::Counts => kind != SectionKind::Sampling,
            Self::Calls => kind == SectionKind::CallCount,
            Self::Conditionals => kind == SectionKind::Conditional,
            Self::Virtual => kind == SectionKind::VirtualInvoke,
            Self::Monitors => kind == SectionKind::Monitor,
            Self::Samples => kind == SectionKind::Sampling,
            Self::Instanceof => kind == SectionKind::Instanceof,
        }
    }
}

/// Permissions of a conversion.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowed {
    /// Write a result without entries.
    pub(crate) empty: bool,
    /// Drop data.
    pub(crate) losses: bool,
}

/// Makes a document canonical. LLVM's records in it stay, unless the sections were edited since.
fn canonical(document: Document, losses: &mut Vec<String>) -> Result<Document> {
    if document.member(MEMBER).is_some()
        && let Ok((parts, lost)) = bridge::split(&document, None)
    {
        let mut options = ToIprofOptions::default();
        options.branch_clash = BranchClash::Keep;
        let (document, more) = bridge::join(parts, &options)?;
        losses.extend(lost.iter().chain(&more).map(ToString::to_string));
        return Ok(document);
    }
    let members = document.members().map(|(name, _)| iprof::display_name(name));
    losses.extend(members.map(|name| format!("the member \"{name}\", which is not part of the format")));
    Ok(iprof::canonical_with(document, BranchClash::Keep))
}

/// Converts an iprof and writes it.
pub(crate) fn run(
    input: &Input,
    output: &Path,
    arguments: &IprofConvertArgs,
    write: &IprofWriteArgs,
    allowed: Allowed,
    reported: &mut MergeDocument,
) -> Result<()> {
    let interprets = arguments.changes() || write.canonical || write.graal_spelling;
    if !interprets && !write.pretty && copy(input, output, reported)? {
        return Ok(());
    }
    let mut note_loss = |text: &str| {
        let warning = Warning::new(text).in_file(&input.path);
        console::warning(&warning);
        reported.warn([&warning]);
    };
    let path = &input.path;
    let read = iprof::Reader::new(input.stream()?, &crate::limits::iprof_options()).read();
    let (mut document, findings) = match read {
        Ok(read) => read,
        Err(error) if !interprets && is_unsupported_major(&error) => {
            note_loss("unknown version: only the text layout changes");
            return reformat(input, output, write);
        }
        Err(error) => return Err(error.in_file(path)),
    };
    print_findings(path, &findings);
    if interprets {
        document.version = document.version.released();
    }
    let is_empty = |document: &Document| facts_of(document, FactsRequest::default()).lack.is_some();
    let had_nothing = is_empty(&document);
    let dropped = arguments.apply(&mut document)?;
    if is_empty(&document) {
        let text = match had_nothing {
            true => "the file has types and methods, but no profiles",
            false => "no entries are left after filtering",
        };
        if !allowed.empty {
            let error = Error::nothing_found(text).in_file(path);
            return Err(error.with_hint("use --allow-empty to write the tables without entries"));
        }
        note_loss(text);
    }
    let reason = "which may refer to dropped entries";
    let mut losses: Vec<String> = dropped.iter().map(|name| format!("the member \"{name}\", {reason}")).collect();
    if write.canonical {
        document = canonical(document, &mut losses)?;
    }
    if !allowed.losses && !losses.is_empty() {
        let error =
            Error::new(ErrorKind::WouldLose { detail: format!("this would be dropped: {}", losses.join("; ")) });
        return Err(error.in_file(path).with_hint(Hint::AllowLeavingOut));
    }
    losses.iter().for_each(|loss| note_loss(&format!("dropped {loss}")));
    if let Some(version) = arguments.to_version {
        document.convert_to(version)?;
    }
    record_findings(reported, &findings);
    write.write(&document, output, None)
}

fn record_findings(reported: &mut MergeDocument, findings: &Findings) {
    reported.warn_of(0, findings.iter().filter(|finding| finding.level != Level::Info).map(ToString::to_string));
}

/// Copies a file if it would be written with the same tokens. Otherwise returns false and writes nothing.
fn copy(input: &Input, output: &Path, reported: &mut MergeDocument) -> Result<bool> {
    // If the copy turns out to be impossible, a pipe or a device has already received its start.
    if !is_replaced(output) || input.is_pipe() {
        return Ok(false);
    }
    let stream = input.stream()?;
    let mut copied = None;
    let written = profbridge::input::output::replace_by_name_with(output, |out| {
        copied = iprof::Reader::new(stream, &crate::limits::iprof_options()).copy_to(out)?;
        if copied.is_some() { Ok(()) } else { Err(std::io::ErrorKind::InvalidData.into()) }
    });
    let Some(findings) = copied else { return Ok(false) };
    written?;
    print_findings(&input.path, &findings);
    record_findings(reported, &findings);
    Ok(true)
}

impl IprofConvertArgs {
    /// Returns true if options request more than a new text layout.
    pub(crate) fn changes(&self) -> bool {
        self.prune
            || self.to_version.is_some()
            || !(self.only.is_empty() && self.exclude.is_empty() && self.sections.is_empty())
    }

    /// Returns the sections to keep.
    pub(crate) fn section_kinds(&self) -> Vec<SectionKind> {
        let kept = |kind: &SectionKind| self.sections.is_empty() || self.sections.iter().any(|s| s.has(*kind));
        SectionKind::ALL.iter().copied().filter(kept).collect()
    }

    /// Drops unselected parts. Returns the members that were dropped with them.
    fn apply(&self, document: &mut Document) -> Result<Vec<String>> {
        let kept = self.section_kinds();
        for kind in SectionKind::ALL.iter().copied().filter(|kind| !kept.contains(kind)) {
            document.remove_section(kind);
        }
        self.filter(document)
    }

    /// Drops unselected methods. Returns the members that were dropped with them.
    pub(crate) fn filter(&self, document: &mut Document) -> Result<Vec<String>> {
        let filter = MethodFilter::new(&self.only, &self.exclude)?;
        let mut dropped = Vec::new();
        if !filter.is_empty() {
            filter.apply(document);
            dropped = document.remove_members();
        }
        if self.prune {
            dropped.extend(document.prune());
        }
        Ok(dropped)
    }
}

fn is_unsupported_major(error: &Error) -> bool {
    iprof::Code::of(error) == Some(iprof::Code::UnsupportedMajor)
}

/// Rewrites the text layout without interpreting the content.
fn reformat(input: &Input, output: &Path, write: &IprofWriteArgs) -> Result<()> {
    let limits = crate::limits::chosen();
    let bytes = input.bytes(Access::Read, &limits)?;
    let mut options = iprof::WriteOptions::default();
    options.layout = if write.pretty { Layout::Pretty } else { Layout::Compact };
    let text = iprof::reformat(&bytes, &options, &limits).map_err(|error| error.in_file(&input.path))?;
    profbridge::input::output::replace_by_name(output, &text)
}
