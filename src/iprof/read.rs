//! Reads whole files: into a [`Document`], for a check, for a copy, or only far enough to detect the format.

use crate::bytes::{Confidence, Head, without_byte_order_mark};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::iprof::document::{Document, Table, TopMember};
use crate::iprof::findings::{Findings, Verdict, refusal};
use crate::iprof::reader::{Entry, NullSink, PartSize, ReadOptions, Reading, Sink, is_known_member, read_with};
use crate::iprof::sections::{Records, SectionKind};
use crate::iprof::tables::Tables;
use crate::iprof::window::Window;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::sync::Arc;

/// The content of a file and its faults.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReadReport {
    /// All valid content; `None` if the file is unusable.
    pub document: Option<Document>,
    /// The version, as written in the file.
    pub version: Option<String>,
    /// Faults and unusual content.
    pub findings: Findings,
    /// The usability of the file.
    pub verdict: Verdict,
    /// Tables, sections and other members by name, with their sizes.
    pub parts: BTreeMap<String, PartSize>,
    /// Bytes of decompressed text that were read.
    pub text_bytes: u64,
}

impl ReadReport {
    /// Returns true if the readable content has no entries and no unknown members.
    pub(crate) fn has_tables_only(&self) -> bool {
        self.document.as_ref().is_some_and(Document::has_tables_only)
    }

    /// Returns the error with which [`Reader::read`] rejects the file, if any.
    pub fn refusal(&self) -> Option<Error> {
        let found = self.findings.first_error();
        (self.document.is_none() || found.is_some()).then(|| refusal(found, self.version.as_deref()))
    }
}

/// Reads one file, compressed or not.
///
/// ```
/// use profbridge::iprof::{ReadOptions, Reader};
///
/// let text = br#"{"version":"1.0.0","types":[],"methods":[]}"#;
/// let (document, findings) = Reader::from_bytes(text, &ReadOptions::default()).read()?;
/// assert_eq!(document.version.to_string(), "1.0.0");
/// assert_eq!(findings.iter().len(), 1, "it has no entry");
/// # Ok::<(), profbridge::Error>(())
/// ```
pub struct Reader<'a> {
    window: Window<'a>,
    options: ReadOptions,
}

impl<'a> Reader<'a> {
    /// Creates a reader of a stream, which is never in memory as a whole.
    pub fn new(stream: impl Read + 'a, options: &ReadOptions) -> Self {
        Self { window: Window::from_reader(stream, &options.limits), options: options.clone() }
    }

    /// Creates a reader of a file in memory.
    pub fn from_bytes(data: &'a [u8], options: &ReadOptions) -> Self {
        Self { window: Window::from_slice(data, &options.limits), options: options.clone() }
    }

    /// Reads the document.
    ///
    /// # Errors
    ///
    /// The first finding that is an error; with [`accept_errors`](ReadOptions::accept_errors), only for a file without
    /// valid content. Cancelled.
    pub fn read(self) -> Result<(Document, Findings)> {
        let (cancel, accepts_errors) = (self.options.cancel.clone(), self.options.accept_errors);
        let report = self.examine();
        cancel.check()?;
        let refused = report.refusal();
        match (report.document, refused) {
            (Some(document), refused) if refused.is_none() || accepts_errors => Ok((document, report.findings)),
            (_, refused) => Err(refused.unwrap_or_else(|| refusal(None, None))),
        }
    }

    /// Reads all valid content and reports faults. If [`ReadOptions::cancel`] stops the reading, the report is
    /// incomplete.
    pub fn examine(self) -> ReadReport {
        let mut stored = StoredDocument(Document::default());
        let reading = self.feed(&mut stored);
        let StoredDocument(mut document) = stored;
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

    /// Reads the file like [`examine`](Self::examine), but keeps only the tables in memory.
    pub(crate) fn overview(self) -> Overview {
        let reading = self.feed(&mut NullSink);
        let verdict = reading.verdict();
        let is_read = reading.version.is_some() && !reading.unreadable;
        let tables = is_read.then(|| (reading.tables.types_count(), reading.tables.methods_count()));
        let Reading { version_text, findings, parts, .. } = reading;
        Overview { tables, version: version_text, findings, verdict, parts }
    }

    /// Checks the file. Memory grows with the tables and the number of contexts, not with their length.
    pub fn check(self) -> CheckReport {
        let options = ReadOptions { find_duplicates: true, drop_unknown: true, ..self.options };
        let mut counts = MethodCounts::default();
        let reading = Reader { options, ..self }.feed(&mut counts);
        let verdict = reading.verdict();
        let Reading { version_text: version, findings, parts, tables, .. } = reading;
        CheckReport { version, findings, verdict, parts, methods: MethodCounts { tables, ..counts } }
    }

    /// Copies the file without the white space between its tokens, if this gives the output of
    /// [`Writer`](crate::iprof::Writer): the file must be valid, have entries, and use the canonical spelling. Only the
    /// tables are in memory.
    ///
    /// Returns `None` for any other file. A part of it may have been copied.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn copy_to(self, out: &'a mut dyn Write) -> io::Result<Option<Findings>> {
        let options = ReadOptions { only_as_written: true, drop_unknown: true, ..self.options };
        let mut window = self.window.copying_to(out);
        let reading = read_with(&mut window, &options, &mut NullSink);
        window.finish_copy()?;
        let is_valid = !reading.unreadable && !reading.findings.has_errors();
        Ok((is_valid && !reading.respelled && reading.valid_entries() > 0).then_some(reading.findings))
    }

    pub(crate) fn options(&self) -> &ReadOptions {
        &self.options
    }

    /// Passes the entries to a sink. Returns the other content.
    pub(crate) fn feed(mut self, sink: &mut impl Sink) -> Reading {
        read_with(&mut self.window, &self.options, sink)
    }
}

/// Returns true if a document has types and methods but counts nothing: it has no entry and no unknown member.
pub(crate) fn has_tables_only(data: &[u8]) -> bool {
    let found = Reader::from_bytes(data, &ReadOptions::default()).examine();
    found.has_tables_only() && !found.findings.has_errors()
}

/// Passes the entries of a document to a sink, like reading its file.
///
/// # Errors
///
/// Cancelled.
pub(crate) fn replay(document: &Document, sink: &mut impl Sink, cancel: &Cancel) -> Result<()> {
    let mut frames = Vec::new();
    for kind in SectionKind::EACH {
        for (at, (context, records)) in document.sections.entries(kind).enumerate() {
            cancel.check()?;
            frames.clear();
            frames.extend(document.contexts.frames(context));
            let members = document.extras.get(&(Table::Section(kind), at)).cloned();
            sink.entry(&document.tables, Entry { kind, frames: &frames, records, identity: None, members });
        }
    }
    Ok(())
}

/// A sink that stores every entry in a document.
struct StoredDocument(Document);

impl Sink for StoredDocument {
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

/// The content of a file, without its entries.
pub(crate) struct Overview {
    /// The number of types and methods; `None` for a file without valid content.
    pub(crate) tables: Option<(usize, usize)>,
    /// The version, as written in the file.
    pub(crate) version: Option<String>,
    /// Faults and unusual content.
    pub(crate) findings: Findings,
    /// The usability of the file.
    pub(crate) verdict: Verdict,
    /// Tables, sections and other members by name, with their sizes.
    pub(crate) parts: BTreeMap<String, PartSize>,
}

/// The result of a check.
#[derive(Debug)]
#[non_exhaustive]
pub struct CheckReport {
    /// The version, as written in the file.
    pub version: Option<String>,
    /// Faults and unusual content.
    pub findings: Findings,
    /// The usability of the file.
    pub verdict: Verdict,
    /// Tables, sections and other members by name, with their sizes.
    pub parts: BTreeMap<String, PartSize>,
    /// The call counts and samples of the methods.
    pub(crate) methods: MethodCounts,
}

/// The call counts and samples of each method.
#[derive(Debug, Default)]
pub(crate) struct MethodCounts {
    counts: Vec<u64>,
    tables: Arc<Tables>,
}

impl MethodCounts {
    /// Passes the methods that have counts, under a name of class and method.
    pub(crate) fn each(&self, mut take: impl FnMut(&[u8], u64)) {
        let (tables, mut name) = (&self.tables, Vec::new());
        for (method, count) in tables.methods().zip(&self.counts).filter(|(_, count)| **count > 0) {
            name.clear();
            name.extend(tables.signature(method).first().map_or(&[][..], |class| tables.type_name(*class)));
            name.extend(tables.method_name(method));
            take(&name, *count);
        }
    }
}

impl Sink for MethodCounts {
    fn entry(&mut self, tables: &Tables, entry: Entry<'_>) {
        let (Records::Count(count), Some(innermost)) = (entry.records, entry.frames.first()) else { return };
        if self.counts.is_empty() {
            self.counts.resize(tables.methods_count(), 0);
        }
        if let Some(sum) = self.counts.get_mut(innermost.method.index()) {
            *sum = sum.saturating_add(count);
        }
    }
}

/// Returns how likely a text is an iprof. A member that only this format has makes it certain. Other members, or only
/// `version`, which many formats have, do not.
pub(crate) fn evidence(head: &Head<'_>) -> Option<Confidence> {
    let mut keys = Keys::new(head.bytes())?;
    let (mut versions, mut others) = (0, 0);
    while let Some(key) = keys.next_key() {
        match key {
            b"version" => versions += 1,
            key if is_known_member(key) => return Some(Confidence::Certain),
            _ => others += 1,
        }
    }
    match (versions, others) {
        (1.., 0) => Some(Confidence::Likely),
        (0, 0) => Some(Confidence::Possible),
        _ => None,
    }
}

/// Returns true if a text is a JSON object or array.
pub(crate) fn is_json(head: &Head<'_>) -> bool {
    let bytes = without_byte_order_mark(head.bytes()).trim_ascii_start();
    let follows = |open: u8, next: &[u8]| {
        let inside = bytes.strip_prefix(&[open])?.trim_ascii_start();
        Some(inside.first().is_none_or(|byte| next.contains(byte)))
    };
    follows(b'{', b"\"}").or_else(|| follows(b'[', b"{[\"]")).unwrap_or(false)
}

/// Iterates over the names of an object's members, as far as the text goes. It skips values by their brackets and
/// strings only.
struct Keys<'a> {
    rest: &'a [u8],
}

impl<'a> Keys<'a> {
    /// Creates the iterator. Returns `None` if the text is not an object; a name in braces is a function of an LLVM
    /// text profile.
    fn new(bytes: &'a [u8]) -> Option<Self> {
        let inside = without_byte_order_mark(bytes).trim_ascii_start().strip_prefix(b"{")?.trim_ascii_start();
        inside.first().is_none_or(|byte| matches!(byte, b'"' | b'}')).then_some(Self { rest: inside })
    }

    /// Returns the next name, with its escapes.
    fn next_key(&mut self) -> Option<&'a [u8]> {
        let mut depth = 0usize;
        loop {
            let (&byte, rest) = self.rest.split_first()?;
            match byte {
                b'"' => {
                    let end = string_end(rest)?;
                    let text = &rest[..end];
                    self.rest = rest[end + 1..].trim_ascii_start();
                    if depth == 0 && self.rest.first() == Some(&b':') {
                        return Some(text);
                    }
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.checked_sub(1)?,
                _ => {}
            }
            self.rest = rest;
        }
    }
}

/// Returns the end of the string whose opening quote is before `text`.
fn string_end(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match text.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests;
