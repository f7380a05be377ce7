//! Functions for iprof files that several commands share: detecting, reading, writing.

use crate::console;
use clap::Args;
use profbridge::bridge::MEMBER;
use profbridge::input;
use profbridge::iprof::{self, Document, Finding, InstanceofSpelling, Layout, SectionKind, WriteOptions};
use profbridge::{Result, Warning};
use std::num::NonZeroUsize;
use std::path::Path;

/// Options for writing iprof files.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Options for iprof output")]
pub(crate) struct IprofWriteArgs {
    /// Indent iprof output instead of writing one line
    #[arg(long)]
    pub(crate) pretty: bool,
    /// Sort all entries and number them from 0, so that equal content has equal bytes
    #[arg(long)]
    pub(crate) canonical: bool,
    /// Name the instance-of section `instanceOfProfiles`, as GraalVM does
    #[arg(long)]
    pub(crate) graal_spelling: bool,
}

impl IprofWriteArgs {
    /// Returns true if an option is given that only iprof output supports.
    pub(crate) fn asks(&self) -> bool {
        self.pretty || self.canonical || self.graal_spelling
    }

    /// Writes a document with the given number of threads, compressed according to the file extension of `output`.
    pub(crate) fn write(&self, document: &Document, output: &Path, threads: Option<NonZeroUsize>) -> Result<()> {
        let options = self.options(threads);
        input::output::replace_by_name_with(output, |out| iprof::Writer::new(&options).write(document, out))
    }

    /// Returns the options for writing with the given number of threads.
    pub(crate) fn options(&self, threads: Option<NonZeroUsize>) -> WriteOptions {
        let mut options = WriteOptions::default();
        options.layout = if self.pretty { Layout::Pretty } else { Layout::Compact };
        options.threads = threads;
        options.instanceof_spelling = self.graal_spelling.then_some(InstanceofSpelling::Graal);
        options
    }
}

/// Returns true if no selected section has an entry, and there are no LLVM records.
pub(crate) fn holds_nothing_of(document: &Document, is_wanted: impl Fn(&SectionKind) -> bool) -> bool {
    let carries_llvm = || document.members().any(|(name, _)| name == MEMBER);
    let mut wanted = SectionKind::ALL.iter().filter(|kind| is_wanted(kind));
    wanted.all(|kind| document.sections.entries_count(*kind) == 0) && !carries_llvm()
}

/// Prints warnings that affect the interpretation of the whole file. `check` and `info` report that a version is old
/// but readable.
pub(crate) fn print_findings<'f>(path: &Path, findings: impl IntoIterator<Item = &'f Finding>) {
    for finding in findings.into_iter().filter(|finding| finding.code.is_about_content()) {
        console::warning(&Warning::new(format!("{}: {}", finding.code, finding.message)).in_file(path));
    }
}
