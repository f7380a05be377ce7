//! Writing: one line without spaces, as GraalVM does, or indented.
//!
//! Content that was read and not changed is written unchanged: order of members and entries, ids, unknown members and
//! their digits. So a compact file comes back byte for byte, except for context numbers with leading zeros and needless
//! string escapes. Any range of entries is written by itself, so that threads can write large sections.

use crate::bytes::without_byte_order_mark;
use crate::digits::push_decimal;
use crate::error::{Error, Result};
use crate::iprof::context::ContextHandle;
use crate::iprof::document::{Document, EntryMember, InstanceofSpelling, MethodHandle, Table, TopMember, TypeHandle};
use crate::iprof::json::{Scan, Stop};
use crate::iprof::sections::{Records, SectionKind};
use crate::iprof::{entry_threads, json};
use crate::limits::Limits;
use crate::threads::ordered_writer::write_in_order;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::ops::Range;
use xxhash_rust::xxh3::Xxh3Default;

/// How a document is written.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Default: [`Layout::Compact`].
    pub layout: Layout,
    /// How to call the instance-of section. Default: as the document says.
    pub instanceof_spelling: Option<InstanceofSpelling>,
    /// Threads that format large sections; `None` asks the machine. The bytes do not depend on it.
    pub threads: Option<NonZeroUsize>,
}

/// Writes documents.
#[derive(Debug, Clone, Copy, Default)]
pub struct Writer {
    options: WriteOptions,
}

impl Writer {
    /// Creates a writer.
    pub fn new(options: &WriteOptions) -> Self {
        Self { options: *options }
    }

    /// Writes the file to a stream, in large pieces.
    ///
    /// # Errors
    ///
    /// The errors of the stream.
    pub fn write(&self, document: &Document, out: &mut (dyn Write + Send)) -> io::Result<()> {
        DocumentWriter::new(document, &self.options, out).document()
    }

    /// Writes the file with a further top-level member, whose value does not have to be held as a whole: `value` writes
    /// it with a number of threads.
    pub(crate) fn write_with_member(
        &self,
        document: &Document,
        name: &[u8],
        value: &WriteValue<'_>,
        out: &mut (dyn Write + Send),
    ) -> io::Result<()> {
        let further = Some((name, value));
        DocumentWriter { further, ..DocumentWriter::new(document, &self.options, out) }.document()
    }

    /// Returns a checksum of the file without its version and one of its members.
    pub(crate) fn checksum_without(&self, document: &Document, member: &[u8]) -> u64 {
        let mut hash = Checksum(Xxh3Default::new());
        let options = WriteOptions { instanceof_spelling: Some(InstanceofSpelling::default()), ..self.options };
        let writer =
            DocumentWriter { checked_without: Some(member), ..DocumentWriter::new(document, &options, &mut hash) };
        writer.document().expect("a checksum can always be computed");
        hash.0.digest()
    }

    /// Returns the bytes of the file.
    pub fn to_bytes(&self, document: &Document) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(document, &mut bytes).expect("writing to memory cannot fail");
        bytes
    }
}

/// Changes the layout of JSON without interpreting it, whatever its version; `data` is not compressed.
///
/// # Errors
///
/// Malformed if the text is not JSON.
pub fn reformat(data: &[u8], options: &WriteOptions, limits: &Limits) -> Result<Vec<u8>> {
    let data = without_byte_order_mark(data);
    let mut scan = Scan::new(data, 0, limits.json_depth);
    let value = scan.skip().map_err(|stop| match stop {
        Stop::End => Error::malformed("the text ends inside the document").at("document", data.len() as u64),
        Stop::Syntax(at, expected) => Error::malformed(format!("expected {expected}")).at("document", at as u64),
    })?;
    let mut compact = Vec::with_capacity(value.len());
    json::write_compact(&mut compact, value);
    let mut text = compact;
    if options.layout == Layout::Pretty {
        let compact = std::mem::take(&mut text);
        json::write_pretty(&mut text, &compact, 0);
        text.push(b'\n');
    }
    Ok(text)
}

/// Text is written once it has this many bytes.
const FLUSH_BYTES: usize = 1 << 18;
/// Lists with at most this many entries are written together with the text around them.
const SMALL_LIST: usize = 64;

/// Writes a value without white space, with the given number of threads.
type WriteValue<'a> = dyn Fn(usize, &mut (dyn Write + Send)) -> io::Result<()> + 'a;

/// Computes the checksum of the written bytes.
struct Checksum(Xxh3Default);

impl Write for Checksum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct DocumentWriter<'a> {
    document: &'a Document,
    options: &'a WriteOptions,
    out: &'a mut (dyn Write + Send),
    text: Vec<u8>,
    frames: FrameTexts,
    top_members: usize,
    /// For a checksum: the member that it does not cover. It does not cover the version either.
    checked_without: Option<&'a [u8]>,
    /// A member that is not part of the document: its name, and its value.
    further: Option<(&'a [u8], &'a WriteValue<'a>)>,
}

impl<'a> DocumentWriter<'a> {
    fn new(document: &'a Document, options: &'a WriteOptions, out: &'a mut (dyn Write + Send)) -> Self {
        let (text, frames) = (Vec::new(), FrameTexts::default());
        Self { document, options, out, text, frames, top_members: 0, checked_without: None, further: None }
    }

    fn document(mut self) -> io::Result<()> {
        self.text.push(b'{');
        for member in &self.document.layout {
            match member {
                TopMember::Version if self.checked_without.is_some() => {}
                TopMember::Other(name, _) if self.checked_without == Some(&**name) => {}
                TopMember::Version => self.version(),
                TopMember::Table(table) => self.table(*table)?,
                TopMember::Other(name, value) => {
                    self.key(name);
                    self.value(value)?;
                }
            }
            self.flush(FLUSH_BYTES)?;
        }
        if let Some((name, value)) = self.further {
            self.key(name);
            self.written_value(value)?;
        }
        for kind in SectionKind::EACH {
            let section = Table::Section(kind);
            let listed = self.document.layout.contains(&TopMember::Table(section));
            if !listed && self.document.sections.entries_count(kind) > 0 {
                self.table(section)?;
            }
        }
        self.text.extend_from_slice(if self.pretty() { b"\n}\n" } else { b"}" });
        self.flush(0)
    }

    fn pretty(&self) -> bool {
        self.options.layout == Layout::Pretty
    }

    fn flush(&mut self, threshold: usize) -> io::Result<()> {
        if self.text.len() > threshold {
            self.out.write_all(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }

    fn key(&mut self, name: &[u8]) {
        if self.top_members > 0 {
            self.text.push(b',');
        }
        self.top_members += 1;
        if self.pretty() {
            self.text.extend_from_slice(b"\n  ");
        }
        json::write_string(&mut self.text, name);
        self.text.extend_from_slice(if self.pretty() { b": " } else { b":" });
    }

    fn value(&mut self, compact: &[u8]) -> io::Result<()> {
        if self.pretty() {
            json::write_pretty(&mut self.text, compact, 1);
        } else if compact.len() > FLUSH_BYTES {
            self.flush(0)?;
            self.out.write_all(compact)?;
        } else {
            self.text.extend_from_slice(compact);
        }
        Ok(())
    }

    fn written_value(&mut self, value: &WriteValue<'_>) -> io::Result<()> {
        let threads = entry_threads(self.options.threads);
        if self.pretty() {
            let mut compact = Vec::new();
            value(threads, &mut compact)?;
            return self.value(&compact);
        }
        self.flush(0)?;
        value(threads, self.out)
    }

    fn version(&mut self) {
        self.key(b"version");
        json::write_string(&mut self.text, self.document.version.to_string().as_bytes());
    }

    fn table(&mut self, table: Table) -> io::Result<()> {
        let document = self.document;
        let (tables, sections) = (&document.tables, &document.sections);
        let spelling = self.options.instanceof_spelling.unwrap_or(document.instanceof_spelling);
        let is_instanceof = table == Table::Section(SectionKind::Instanceof);
        self.key(if is_instanceof { spelling.name() } else { table.name() }.as_bytes());
        let write_id = |out: &mut Vec<u8>, class: TypeHandle| push_decimal(out, u64::from(tables.type_id(class)));
        match table {
            Table::Types => self.entries(table, tables.types_count(), |out, member, at| {
                let handle = TypeHandle::from_index(at);
                match member {
                    0 => write_id(out, handle),
                    _ => json::write_string(out, tables.type_name(handle)),
                }
            }),
            Table::Methods => self.entries(table, tables.methods_count(), |out, member, at| {
                let handle = MethodHandle::from_index(at);
                match member {
                    0 => push_decimal(out, u64::from(tables.method_id(handle))),
                    1 => json::write_string(out, tables.method_name(handle)),
                    _ => write_list(out, tables.signature(handle), |out, class| write_id(out, *class)),
                }
            }),
            Table::Section(kind) => {
                let frames = std::mem::take(&mut self.frames).ready(document);
                let result = self.entries(table, sections.entries_count(kind), |out, member, at| {
                    let (context, records) = sections.entry(kind, at);
                    match records {
                        _ if member == 0 => frames.write_context(out, document, context),
                        Records::Count(count) => write_list(out, &[count], |out, count| push_decimal(out, *count)),
                        Records::Branches(rows) => write_list(out, rows, |out, row| {
                            write_signed(out, row.bci);
                            out.push(b',');
                            push_decimal(out, u64::from(row.index));
                            out.push(b',');
                            push_decimal(out, row.count);
                        }),
                        Records::Types(pairs) => write_list(out, pairs, |out, pair| {
                            write_id(out, pair.class);
                            out.push(b',');
                            push_decimal(out, pair.count);
                        }),
                    }
                });
                self.frames = frames;
                result
            }
        }
    }

    /// A list of entries; `known` writes one of the members that all of them have.
    fn entries(
        &mut self,
        table: Table,
        count: usize,
        known: impl Fn(&mut Vec<u8>, usize, usize) + Sync,
    ) -> io::Result<()> {
        self.text.push(b'[');
        let (document, layout) = (self.document, self.options.layout);
        let entries = Entries { document, table, layout, count, known };
        if entries.count <= SMALL_LIST {
            entries.write(0..count, &mut self.text);
        } else {
            self.flush(0)?;
            entries.write_to(self.out, || entry_threads(self.options.threads))?;
        }
        self.text.extend_from_slice(if self.pretty() && count > 0 { b"\n  ]" } else { b"]" });
        Ok(())
    }
}

/// Entries that are written at a time.
const BLOCK_ENTRIES: usize = 1 << 10;
/// Fewer entries are written before threads have started.
const ALONE_ENTRIES: usize = 8 * BLOCK_ENTRIES;

/// How the text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Layout {
    /// One line, no spaces, no final newline: what GraalVM writes.
    #[default]
    Compact,
    /// Indented by two, with a final newline.
    Pretty,
}

/// How the entries of a list are written.
struct Entries<'a, K> {
    document: &'a Document,
    table: Table,
    layout: Layout,
    /// The number of items.
    count: usize,
    /// Writes one of the members that all entries have: which, and of which entry.
    known: K,
}

impl<K: Fn(&mut Vec<u8>, usize, usize) + Sync> Entries<'_, K> {
    /// Writes all items in order, formatted by the given number of threads.
    fn write_to(&self, out: &mut (dyn Write + Send), threads: impl FnOnce() -> usize) -> io::Result<()> {
        let threads = if self.count < ALONE_ENTRIES { 1 } else { threads() };
        let make = |block: usize, text: &mut Vec<u8>| {
            let start = block * BLOCK_ENTRIES;
            self.write(start..self.count.min(start + BLOCK_ENTRIES), text);
            Ok(())
        };
        write_in_order(self.count.div_ceil(BLOCK_ENTRIES), threads, &make, out)
    }

    /// Writes a range of them.
    fn write(&self, range: Range<usize>, out: &mut Vec<u8>) {
        let mut extras = self.document.extras.range((self.table, range.start)..(self.table, range.end)).peekable();
        let mut compact = Vec::new();
        for at in range {
            if at > 0 {
                out.push(b',');
            }
            let members = extras.next_if(|((_, place), _)| *place == at).map(|(_, members)| &**members);
            if self.layout == Layout::Pretty {
                compact.clear();
                self.write_entry(at, members, &mut compact);
                out.extend_from_slice(b"\n    ");
                json::write_pretty(out, &compact, 2);
            } else {
                self.write_entry(at, members, out);
            }
        }
    }

    fn write_entry(&self, at: usize, members: Option<&[EntryMember]>, out: &mut Vec<u8>) {
        let names = self.table.known_members();
        out.push(b'{');
        for position in 0..members.map_or(names.len(), <[_]>::len) {
            if position > 0 {
                out.push(b',');
            }
            match members.map(|members| &members[position]) {
                None => self.write_known(at, position, names[position], out),
                Some(EntryMember::Known(member)) => {
                    let member = usize::from(*member);
                    self.write_known(at, member, names[member], out);
                }
                Some(EntryMember::Other(name, value)) => {
                    json::write_string(out, name);
                    out.push(b':');
                    out.extend_from_slice(value);
                }
            }
        }
        out.push(b'}');
    }

    #[inline]
    fn write_known(&self, at: usize, member: usize, name: &str, out: &mut Vec<u8>) {
        out.push(b'"');
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
        (self.known)(out, member, at);
    }
}

/// Appends a list in brackets.
fn write_list<T>(out: &mut Vec<u8>, items: &[T], mut item: impl FnMut(&mut Vec<u8>, &T)) {
    out.push(b'[');
    for (at, value) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        item(out, value);
    }
    out.push(b']');
}

/// Appends the first `len` bytes of a text. A copy of fixed length is quicker than one of the right length.
#[inline]
fn write_short<const N: usize>(out: &mut Vec<u8>, text: &[u8; N], len: usize) {
    let end = out.len() + len;
    out.extend_from_slice(text);
    out.truncate(end);
}

/// Appends a number with its sign.
#[inline]
fn write_signed(out: &mut Vec<u8>, number: i32) {
    if number < 0 {
        out.push(b'-');
    }
    push_decimal(out, u64::from(number.unsigned_abs()));
}

/// The text `<id:` of every method, made once: contexts repeat it for each frame.
#[derive(Default)]
struct FrameTexts(Vec<[u8; FrameTexts::BYTES]>);

impl FrameTexts {
    /// The size of a text: a bracket, ten digits, a colon, and the number of used bytes. This size is copied quickly.
    const BYTES: usize = 16;

    /// Creates the strings unless they exist or are not needed.
    fn ready(mut self, document: &Document) -> Self {
        if !self.0.is_empty() || document.contexts.is_empty() {
            return self;
        }
        let tables = &document.tables;
        let mut number = Vec::new();
        let text = |handle| {
            number.clear();
            number.push(b'<');
            push_decimal(&mut number, u64::from(tables.method_id(handle)));
            number.push(b':');
            let mut text = [0; Self::BYTES];
            text[..number.len()].copy_from_slice(&number);
            text[Self::BYTES - 1] = number.len() as u8;
            text
        };
        self.0.extend(tables.methods().map(text));
        self
    }

    /// Appends a context in quotes.
    fn write_context(&self, out: &mut Vec<u8>, document: &Document, context: ContextHandle) {
        if context == ContextHandle::ROOT {
            out.extend_from_slice(b"\"0:0\"");
            return;
        }
        let start = out.len();
        for run in document.contexts.runs(context) {
            for frame in run.rev().map(|at| document.contexts.frame(at)) {
                let text = &self.0[frame.method.index()];
                write_short(out, text, usize::from(text[Self::BYTES - 1]));
                write_signed(out, frame.bci);
            }
        }
        // Nothing is before the innermost frame.
        if let Some(first) = out.get_mut(start) {
            *first = b'"';
        }
        out.push(b'"');
    }
}

/// Equal if both are written the same.
impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        let writer = Writer::new(&WriteOptions::default());
        writer.to_bytes(self) == writer.to_bytes(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iprof::context::{ContextHandle, Frame};
    use crate::iprof::sections::{BranchRow, CountEntry, TypeCount};

    fn sample() -> Document {
        let mut document = Document::new();
        let (main, void) = (document.add_type(b"app.Main"), document.add_type(b"void"));
        let method = document.add_method(b"run", &[main, void]);
        let outer = document.add_context(&[Frame { method, bci: 0 }]);
        let inner = document.add_context(&[Frame { method, bci: -1 }, Frame { method, bci: 7 }]);
        document.sections.call_counts.push(CountEntry { context: outer, count: u64::MAX >> 1 });
        document.sections.conditionals.push(inner, &[BranchRow { bci: -5, index: 2, count: 9 }]);
        document.sections.monitors.push(ContextHandle::ROOT, &[TypeCount { class: main, count: 3 }]);
        document.set_member(b"extra", b"{ \"a\" : 1e400 }");
        document.set_entry_member(Table::Types, 1, b"note", b"[ ]");
        document
    }

    #[test]
    fn compact_files_look_like_graalvms() {
        let text = String::from_utf8(Writer::new(&WriteOptions::default()).to_bytes(&sample())).unwrap();
        assert_eq!(
            text,
            concat!(
                r#"{"version":"1.0.0","types":[{"id":0,"name":"app.Main"},{"id":1,"name":"void","note":[]}],"#,
                r#""methods":[{"id":0,"name":"run","signature":[0,1]}],"extra":{"a":1e400},"#,
                r#""callCountProfiles":[{"ctx":"0:0","records":[9223372036854775807]}],"#,
                r#""conditionalProfiles":[{"ctx":"0:-1<0:7","records":[-5,2,9]}],"#,
                r#""monitorProfiles":[{"ctx":"0:0","records":[0,3]}]}"#
            )
        );
    }

    #[test]
    fn pretty_files_hold_the_same_tokens() {
        let options = WriteOptions { layout: Layout::Pretty, ..WriteOptions::default() };
        let pretty = Writer::new(&options).to_bytes(&sample());
        let mut compact = Vec::new();
        json::write_compact(&mut compact, &pretty);
        assert_eq!(compact, Writer::new(&WriteOptions::default()).to_bytes(&sample()));
        assert!(pretty.starts_with(b"{\n  \"version\": \"1.0.0\",\n  \"types\": [\n    {\n      \"id\": 0,"));
        assert!(pretty.ends_with(b"    }\n  ]\n}\n"));
    }

    #[test]
    fn long_members_are_between_their_neighbours() {
        let mut document = sample();
        let long = format!("\"{}\"", "x".repeat(FLUSH_BYTES));
        document.set_member(b"extra", b"0");
        document.set_member(b"more", b"[]");
        let short = String::from_utf8(Writer::default().to_bytes(&document)).unwrap();
        document.set_member(b"extra", long.as_bytes());
        let text = String::from_utf8(Writer::default().to_bytes(&document)).unwrap();
        assert_eq!(text, short.replacen("\"extra\":0", &format!("\"extra\":{long}"), 1));
    }

    #[test]
    fn documents_of_unknown_versions_can_be_reformatted() {
        let text = br#"{"version":"2.0.0","n":[1.50,{}]}"#;
        let mut options = WriteOptions { layout: Layout::Pretty, ..WriteOptions::default() };
        let pretty = reformat(text, &options, &Limits::default()).unwrap();
        assert_eq!(pretty, b"{\n  \"version\": \"2.0.0\",\n  \"n\": [\n    1.50,\n    {}\n  ]\n}\n");
        options.layout = Layout::Compact;
        assert_eq!(reformat(&pretty, &options, &Limits::default()).unwrap(), text);
        assert!(reformat(b"{\"a\":", &options, &Limits::default()).is_err());
    }

    #[test]
    fn numbers_keep_their_sign() {
        let mut text = Vec::new();
        [i32::MIN, -6, 0, 65534].into_iter().for_each(|number| write_signed(&mut text, number));
        assert_eq!(text, b"-2147483648-6065534");
    }
}
