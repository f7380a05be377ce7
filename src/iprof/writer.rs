//! Writing: one line without spaces, as GraalVM does, or indented.
//!
//! What was read and not changed is written as it stood: order of members and
//! entries, ids, members that nobody knows and their digits. So a compact file
//! comes back byte for byte, but for context numbers with leading zeros and
//! needless string escapes.

use super::context::ContextHandle;
use super::document::{Document, EntryMember, InstanceofSpelling, Table, TopMember};
use super::json::{self, Scan, Stop};
use super::sections::SectionKind;
use crate::error::{Error, Result};
use crate::limits::Limits;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};

/// How the text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// One line, no spaces, no final newline: what GraalVM writes.
    #[default]
    Compact,
    /// Indented by two, with a final newline.
    Pretty,
}

/// How a document is written.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Default: [`Layout::Compact`].
    pub layout: Layout,
    /// Compress the file. Readers recognise it by content. Default: `false`.
    pub gzip: bool,
    /// How to call the instance-of section. Default: as the document says.
    pub instanceof_spelling: Option<InstanceofSpelling>,
}

/// The file's bytes.
pub fn write(document: &Document, options: &WriteOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_to(document, options, &mut bytes).expect("writing to memory cannot fail");
    bytes
}

/// Writes the file to a stream, in large pieces.
///
/// # Errors
///
/// Those of the stream.
pub fn write_to(document: &Document, options: &WriteOptions, out: &mut dyn Write) -> io::Result<()> {
    if options.gzip {
        // No time and no name in the header: the same document gives the same bytes.
        let mut encoder = GzEncoder::new(out, Compression::default());
        Writer::new(document, options, &mut encoder).document()?;
        encoder.finish()?;
        return Ok(());
    }
    Writer::new(document, options, out).document()
}

/// Lays JSON out anew without interpreting it, whatever its version; `data` is not compressed.
///
/// # Errors
///
/// Malformed for what is no JSON.
pub fn reformat(data: &[u8], options: &WriteOptions, limits: &Limits) -> Result<Vec<u8>> {
    let data = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data);
    let mut scan = Scan::new(data, 0, limits.json_depth);
    let value = scan.skip().map_err(|stop| match stop {
        Stop::End => Error::malformed("the text ends inside the document").at("document", data.len() as u64),
        Stop::Syntax(at, expected) => Error::malformed(format!("{expected} was expected")).at("document", at as u64),
    })?;
    let mut compact = Vec::with_capacity(value.len());
    json::write_compact(&mut compact, value);
    let mut text = compact;
    if options.layout == Layout::Pretty {
        let compact = std::mem::take(&mut text);
        json::write_pretty(&mut text, &compact, 0);
        text.push(b'\n');
    }
    if options.gzip {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let packed = encoder.write_all(&text).and_then(|()| encoder.finish());
        text = packed.expect("writing to memory cannot fail");
    }
    Ok(text)
}

/// Text is handed on once so much of it has gathered.
const FLUSH_BYTES: usize = 1 << 18;

struct Writer<'a> {
    document: &'a Document,
    options: &'a WriteOptions,
    out: &'a mut dyn Write,
    text: Vec<u8>,
    /// One entry in compact form, on its way to being indented.
    entry: Vec<u8>,
    frames: FrameTexts,
    top_members: usize,
}

impl<'a> Writer<'a> {
    fn new(document: &'a Document, options: &'a WriteOptions, out: &'a mut dyn Write) -> Self {
        Self {
            document,
            options,
            out,
            text: Vec::with_capacity(2 * FLUSH_BYTES),
            entry: Vec::new(),
            frames: FrameTexts::default(),
            top_members: 0,
        }
    }

    fn document(mut self) -> io::Result<()> {
        self.text.push(b'{');
        for member in &self.document.layout {
            match member {
                TopMember::Version => self.version(),
                TopMember::Types => self.types()?,
                TopMember::Methods => self.methods()?,
                TopMember::Section(kind) => self.section(*kind)?,
                TopMember::Other(name, value) => {
                    self.key(name);
                    self.value(value, 1);
                }
            }
            self.flush(FLUSH_BYTES)?;
        }
        for kind in SectionKind::ALL {
            let listed = self.document.layout.contains(&TopMember::Section(kind));
            if !listed && self.document.sections.entries_count(kind) > 0 {
                self.section(kind)?;
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

    fn value(&mut self, compact: &[u8], level: usize) {
        if self.pretty() {
            json::write_pretty(&mut self.text, compact, level);
        } else {
            self.text.extend_from_slice(compact);
        }
    }

    fn version(&mut self) {
        self.key(b"version");
        json::write_string(&mut self.text, self.document.version.to_string().as_bytes());
    }

    fn types(&mut self) -> io::Result<()> {
        let tables = &self.document.tables;
        self.key(b"types");
        self.entries(Table::Types, tables.types(), |out, member, handle| match member {
            0 => write_number(out, u64::from(tables.type_id(handle))),
            _ => json::write_string(out, tables.type_name(handle)),
        })
    }

    fn methods(&mut self) -> io::Result<()> {
        let tables = &self.document.tables;
        self.key(b"methods");
        self.entries(Table::Methods, tables.methods(), |out, member, handle| match member {
            0 => write_number(out, u64::from(tables.method_id(handle))),
            1 => json::write_string(out, tables.method_name(handle)),
            _ => write_list(out, tables.signature(handle), |out, t| write_number(out, u64::from(tables.type_id(*t)))),
        })
    }

    fn section(&mut self, kind: SectionKind) -> io::Result<()> {
        let document = self.document;
        let spelling = self.options.instanceof_spelling.unwrap_or(document.instanceof_spelling);
        let name = if kind == SectionKind::Instanceof { spelling.name() } else { kind.name() };
        self.key(name.as_bytes());
        let table = Table::Section(kind);
        let frames = std::mem::take(&mut self.frames).ready(document);
        let result = self.section_entries(kind, table, &frames);
        self.frames = frames;
        result
    }

    fn section_entries(&mut self, kind: SectionKind, table: Table, frames: &FrameTexts) -> io::Result<()> {
        let document = self.document;
        if let Some(counts) = document.sections.counts(kind) {
            return self.entries(table, counts.iter(), |out, member, entry| match member {
                0 => frames.write_context(out, document, entry.context),
                _ => {
                    out.push(b'[');
                    write_number(out, entry.count);
                    out.push(b']');
                }
            });
        }
        if let Some(types) = document.sections.types(kind) {
            return self.entries(table, types.iter(), |out, member, (context, pairs)| match member {
                0 => frames.write_context(out, document, context),
                _ => write_list(out, pairs, |out, pair| {
                    write_number(out, u64::from(document.tables.type_id(pair.class)));
                    out.push(b',');
                    write_number(out, pair.count);
                }),
            });
        }
        self.entries(table, document.sections.conditionals.iter(), |out, member, (context, rows)| match member {
            0 => frames.write_context(out, document, context),
            _ => write_list(out, rows, |out, row| {
                write_signed(out, row.bci);
                out.push(b',');
                write_number(out, u64::from(row.index));
                out.push(b',');
                write_number(out, row.count);
            }),
        })
    }

    /// A list of entries; `known` writes one of the members that all of them have.
    fn entries<E: Clone>(
        &mut self,
        table: Table,
        entries: impl Iterator<Item = E>,
        known: impl Fn(&mut Vec<u8>, usize, E),
    ) -> io::Result<()> {
        let pretty = self.pretty();
        let document = self.document;
        let mut extras = document.extras.range((table, 0)..=(table, usize::MAX)).peekable();
        let mut count = 0usize;
        self.text.push(b'[');
        for entry in entries {
            if count > 0 {
                self.text.push(b',');
            }
            let members = extras.next_if(|((_, at), _)| *at == count).map(|(_, members)| members);
            count += 1;
            if pretty {
                self.entry.clear();
                write_entry(&mut self.entry, table, members.map(|m| &**m), entry, &known);
                self.text.extend_from_slice(b"\n    ");
                json::write_pretty(&mut self.text, &self.entry, 2);
            } else {
                write_entry(&mut self.text, table, members.map(|m| &**m), entry, &known);
            }
            self.flush(FLUSH_BYTES)?;
        }
        self.text.extend_from_slice(if pretty && count > 0 { b"\n  ]" } else { b"]" });
        Ok(())
    }
}

fn write_entry<E: Clone>(
    out: &mut Vec<u8>,
    table: Table,
    members: Option<&[EntryMember]>,
    entry: E,
    known: &impl Fn(&mut Vec<u8>, usize, E),
) {
    let known_member = |out: &mut Vec<u8>, at: usize, name: &str, entry: E| {
        out.push(b'"');
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
        known(out, at, entry);
    };
    let names = table.known_members();
    out.push(b'{');
    match members {
        None => {
            for (at, name) in names.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                known_member(out, at, name, entry.clone());
            }
        }
        Some(members) => {
            for (position, member) in members.iter().enumerate() {
                if position > 0 {
                    out.push(b',');
                }
                match member {
                    EntryMember::Known(at) => {
                        let at = usize::from(*at);
                        known_member(out, at, names[at], entry.clone());
                    }
                    EntryMember::Other(name, value) => {
                        json::write_string(out, name);
                        out.push(b':');
                        out.extend_from_slice(value);
                    }
                }
            }
        }
    }
    out.push(b'}');
}

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

/// The text `id:` of every method, made once: contexts repeat it for each frame.
#[derive(Default)]
struct FrameTexts(Vec<[u8; FrameTexts::BYTES]>);

impl FrameTexts {
    /// Ten digits, a colon, and last how many bytes of these are used.
    const BYTES: usize = 12;

    fn ready(self, document: &Document) -> Self {
        if !self.0.is_empty() || document.contexts.is_empty() {
            return self;
        }
        let tables = &document.tables;
        let mut number = Vec::new();
        let text = |handle| {
            number.clear();
            write_number(&mut number, u64::from(tables.method_id(handle)));
            number.push(b':');
            let mut text = [0; Self::BYTES];
            text[..number.len()].copy_from_slice(&number);
            text[Self::BYTES - 1] = number.len() as u8;
            text
        };
        Self(tables.methods().map(text).collect())
    }

    fn write_context(&self, out: &mut Vec<u8>, document: &Document, context: ContextHandle) {
        if context == ContextHandle::ROOT {
            out.extend_from_slice(b"\"0:0\"");
            return;
        }
        let mut separator = b'"';
        for frame in document.contexts.frames(context) {
            out.push(separator);
            let text = &self.0[frame.method.index()];
            let end = out.len() + usize::from(text[Self::BYTES - 1]);
            // A copy of fixed length is quicker than one of the right length.
            out.extend_from_slice(text);
            out.truncate(end);
            write_signed(out, frame.bci);
            separator = b'<';
        }
        out.push(b'"');
    }
}

fn write_signed(out: &mut Vec<u8>, number: i32) {
    if number < 0 {
        out.push(b'-');
    }
    write_number(out, u64::from(number.unsigned_abs()));
}

/// Appends a decimal number.
pub(crate) fn write_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0u8; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iprof::context::Frame;
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
        let text = String::from_utf8(write(&sample(), &WriteOptions::default())).unwrap();
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
        let pretty = write(&sample(), &options);
        let mut compact = Vec::new();
        json::write_compact(&mut compact, &pretty);
        assert_eq!(compact, write(&sample(), &WriteOptions::default()));
        assert!(pretty.starts_with(b"{\n  \"version\": \"1.0.0\",\n  \"types\": [\n    {\n      \"id\": 0,"));
        assert!(pretty.ends_with(b"    }\n  ]\n}\n"));
    }

    #[test]
    fn unknown_versions_can_be_laid_out_anew() {
        let text = br#"{"version":"2.0.0","n":[1.50,{}]}"#;
        let mut options = WriteOptions { layout: Layout::Pretty, ..WriteOptions::default() };
        let pretty = reformat(text, &options, &Limits::default()).unwrap();
        assert_eq!(pretty, b"{\n  \"version\": \"2.0.0\",\n  \"n\": [\n    1.50,\n    {}\n  ]\n}\n");
        options.layout = Layout::Compact;
        assert_eq!(reformat(&pretty, &options, &Limits::default()).unwrap(), text);
        assert!(reformat(b"{\"a\":", &options, &Limits::default()).is_err());
    }

    #[test]
    fn gzip_holds_neither_time_nor_name() {
        let options = WriteOptions { gzip: true, ..WriteOptions::default() };
        let packed = write(&sample(), &options);
        assert_eq!(packed[..8], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0]);
        let mut text = Vec::new();
        io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&packed[..]), &mut text).unwrap();
        assert_eq!(text, write(&sample(), &WriteOptions::default()));
    }
}
