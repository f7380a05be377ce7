//! Reading a whole file into a [`Document`].

use super::document::{Document, Table, TopMember};
use super::findings::{Findings, Verdict, refusal};
use super::reader::{Entry, EntrySizes, PartSize, ReadOptions, Reading, Sink, read_with};
use super::sections::SectionKind;
use super::tables::Tables;
use super::window::Window;
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

/// What a file turned out to be.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReadReport {
    /// Everything sound in it; `None` when nothing can be had.
    pub document: Option<Document>,
    /// The version as the file spells it.
    pub version: Option<String>,
    /// What is wrong or odd.
    pub findings: Findings,
    /// What it is good for.
    pub verdict: Verdict,
    /// Tables, sections and other members by name, with their sizes.
    pub parts: BTreeMap<String, PartSize>,
    /// Bytes of (decompressed) text that were read.
    pub text_bytes: u64,
}

impl ReadReport {
    /// Whether nothing was counted in what can be read: there is no entry, and no member that the format does not know.
    pub fn has_tables_only(&self) -> bool {
        self.document.as_ref().is_some_and(Document::has_tables_only)
    }

    /// The error for which [`read()`] refuses the file, unless it accepts it.
    pub fn refusal(&self) -> Option<Error> {
        let found = self.findings.first_error();
        (self.document.is_none() || found.is_some()).then(|| refusal(found, self.version.as_deref()))
    }
}

/// Reads a file in memory, compressed or not.
///
/// # Errors
///
/// The first finding that is an error, unless
/// [`accept_errors`](ReadOptions::accept_errors) is set; then only files of
/// which nothing can be had are errors.
pub fn read(data: &[u8], options: &ReadOptions) -> Result<(Document, Findings)> {
    strict(examine(data, options), options)
}

/// As [`read`], from a stream that is never in memory as a whole.
///
/// # Errors
///
/// As [`read`].
pub fn read_from(stream: impl Read, options: &ReadOptions) -> Result<(Document, Findings)> {
    strict(examine_from(stream, options), options)
}

/// Reads what can be read of a file in memory, and says what is wrong with it.
pub fn examine(data: &[u8], options: &ReadOptions) -> ReadReport {
    examine_window(Window::from_slice(data, &options.limits), options)
}

/// As [`examine`], from a stream that is never in memory as a whole.
pub fn examine_from(stream: impl Read, options: &ReadOptions) -> ReadReport {
    examine_window(Window::from_reader(stream, &options.limits), options)
}

/// Whether a document has types and methods but nothing that was counted, not even a member that the format does not know.
pub fn has_tables_only(data: &[u8]) -> bool {
    let found = examine(data, &ReadOptions::default());
    found.has_tables_only() && !found.findings.has_errors()
}

fn examine_window(window: Window<'_>, options: &ReadOptions) -> ReadReport {
    let mut kept = StoredDocument(Document::default());
    let reading = read_with(window, options, &mut kept);
    let StoredDocument(mut document) = kept;
    let verdict = reading.verdict();
    let version = reading.version.filter(|_| !reading.unreadable);
    let document = version.map(|version| {
        document.version = if reading.legacy { version.released() } else { version };
        document.tables = Arc::unwrap_or_clone(reading.tables);
        document.extras.extend(reading.extras);
        document.instanceof_spelling = reading.spelling;
        document.layout = reading.layout;
        for required in TopMember::REQUIRED {
            if !document.layout.contains(&required) {
                document.layout.push(required);
            }
        }
        document
    });
    let Reading { version_text, findings, parts, text_bytes, .. } = reading;
    ReadReport { document, version: version_text, findings, verdict, parts, text_bytes }
}

fn strict(examination: ReadReport, options: &ReadOptions) -> Result<(Document, Findings)> {
    let refused = examination.refusal();
    match (examination.document, refused) {
        (Some(document), refused) if refused.is_none() || options.accept_errors => Ok((document, examination.findings)),
        (_, refused) => Err(refused.unwrap_or_else(|| refusal(None, None))),
    }
}

/// Hands the entries of a document to a sink, as reading its file would.
pub(crate) fn replay(document: &Document, sink: &mut impl Sink) {
    let mut frames = Vec::new();
    for kind in SectionKind::ALL {
        for (at, (context, records)) in document.sections.entries(kind).enumerate() {
            frames.clear();
            frames.extend(document.contexts.frames(context));
            let members = document.extras.get(&(Table::Section(kind), at)).cloned();
            if !sink.try_reserve(kind, EntrySizes { entries: 1, frames: frames.len(), rows: records.len() }) {
                return;
            }
            sink.entry(&document.tables, Entry { kind, frames: &frames, records, members });
        }
    }
}

/// A document that keeps every entry.
struct StoredDocument(Document);

impl Sink for StoredDocument {
    fn try_reserve(&mut self, kind: SectionKind, room: EntrySizes) -> bool {
        let Self(document) = self;
        let has_contexts = document.contexts.try_reserve(room.entries, room.frames);
        has_contexts && document.sections.try_reserve(kind, room.entries, room.rows)
    }

    fn entry(&mut self, _: &Tables, entry: Entry<'_>) {
        let Self(document) = self;
        let context = document.contexts.add(entry.frames);
        if let Some(members) = entry.members {
            let at = document.sections.entries_count(entry.kind);
            document.extras.insert((Table::Section(entry.kind), at), members);
        }
        document.sections.push(entry.kind, context, entry.records);
    }
}

#[cfg(test)]
mod tests;
