//! The reader of text profiles. It holds a window of the text in memory.

use super::head_has_colon_names;
use super::lines::{Piece, line_ends};
use super::parser::{Batch, Header, Item, Parser};
use crate::bytes::window::Window;
use crate::bytes::{BYTE_ORDER_MARK, without_byte_order_mark};
use crate::compat::Compat;
use crate::error::{ErrorKind, Result};
use crate::model::{BinaryId, NameRef, ProfileKind, ProfileReader, RecordRef, SymbolTable, TemporalProfile};
use crate::threads;
use crate::threads::batch_channel::{User, batch_channel};
use memchr::{memchr, memrchr};

/// Reads the records of a text profile in file order.
#[derive(Debug)]
pub struct TextReader<'data> {
    source: Source<'data>,
    compat: Compat,
    kind: ProfileKind,
    temporal: TemporalProfile,
    symbols: SymbolTable,
    has_colon_names: bool,
    /// Names read since the last request for symbols.
    unlisted: PendingNames,
    vtable_names: Vec<Vec<u8>>,
    batch: Batch,
    /// The number of records of the batch that were returned.
    handed_out: usize,
    /// The last bitmap that a merge did not use, see [`Compat::text_bitmaps_stick`].
    sticking: Vec<u8>,
    finished: bool,
}

/// The source of batches.
#[derive(Debug)]
enum Source<'data> {
    Pieces(Pieces<'data>),
    /// A thread that parses ahead.
    Thread(User<Batch>),
}

/// Names with their hashes, in input order.
#[derive(Debug, Default)]
struct PendingNames {
    /// The end of each name in `bytes`.
    ends: Vec<(NameRef, usize)>,
    bytes: Vec<u8>,
    /// Whether the caller needs no names.
    is_idle: bool,
}

impl PendingNames {
    fn push(&mut self, hash: NameRef, name: &[u8]) {
        if !self.is_idle {
            self.bytes.extend_from_slice(name);
            self.ends.push((hash, self.bytes.len()));
        }
    }

    /// Moves all names into a table.
    fn move_into(&mut self, symbols: &mut SymbolTable) {
        let mut start = 0;
        for (hash, end) in self.ends.drain(..) {
            symbols.insert_hashed(hash, &self.bytes[start..end]);
            start = end;
        }
        self.bytes.clear();
    }
}

/// The number of batches that a thread parses ahead.
const AHEAD: usize = 2;

impl<'data> TextReader<'data> {
    /// Reads the header lines and the traces.
    ///
    /// # Errors
    ///
    /// Bad header for an unknown keyword; malformed or end of file in traces; in LLVM's mode, unrecognized format for a
    /// text with a byte order mark.
    pub fn new(file: &'data [u8], compat: Compat) -> Result<Self> {
        Self::through(Window::over(file, 0), compat)
    }

    /// Like [`new`](Self::new), for a window of a text.
    pub(crate) fn through(mut window: Window<'data>, compat: Compat) -> Result<Self> {
        if window.bytes().starts_with(BYTE_ORDER_MARK) {
            if compat.is_llvm() {
                return Err(ErrorKind::UnrecognizedFormat.into());
            }
            window.pass(BYTE_ORDER_MARK.len());
        }
        let mut pieces = Pieces::new(window, compat);
        let has_colon_names = pieces.has_colon_names()?;
        let header = pieces.read_header()?;
        Ok(Self {
            source: Source::Pieces(pieces),
            compat,
            kind: header.kind,
            temporal: header.temporal,
            symbols: header.symbols,
            has_colon_names,
            unlisted: PendingNames::default(),
            vtable_names: Vec::new(),
            batch: Batch::default(),
            handed_out: 0,
            sticking: Vec::new(),
            finished: false,
        })
    }

    /// Disables [`symbols`](ProfileReader::symbols), which a merge does not request.
    pub(crate) fn without_symbols(mut self) -> Self {
        self.unlisted.is_idle = true;
        self
    }

    /// See [`has_colon_names`](super::has_colon_names).
    pub(crate) fn has_colon_names(&self) -> bool {
        self.has_colon_names
    }

    /// Calls `read` with a reader, while another thread parses ahead. The reader returns the same records.
    ///
    /// # Errors
    ///
    /// The errors of [`new`](Self::new) and of `read`.
    pub(crate) fn parse_ahead<T>(
        file: &'data [u8],
        compat: Compat,
        read: impl FnOnce(&mut TextReader<'data>) -> Result<T>,
    ) -> Result<T> {
        Self::new(file, compat)?.ahead(read)
    }

    /// Calls `read` with this reader, like [`parse_ahead`](Self::parse_ahead).
    ///
    /// # Errors
    ///
    /// The errors of `read`.
    pub(crate) fn ahead<T>(mut self, read: impl FnOnce(&mut TextReader<'data>) -> Result<T>) -> Result<T> {
        std::thread::scope(|scope| {
            let (maker, user) = batch_channel(AHEAD);
            if let Source::Pieces(pieces) = std::mem::replace(&mut self.source, Source::Thread(user)) {
                let parse = move |mut pieces: Pieces<'data>| {
                    let mut batch = Batch::default();
                    loop {
                        pieces.parse_batch(&mut batch);
                        let is_last = batch.items().is_empty() || batch.error.is_some();
                        if !maker.hand_over(&mut batch) || is_last {
                            return;
                        }
                    }
                };
                if let Err(pieces) = threads::start_with(scope, pieces, parse) {
                    self.source = Source::Pieces(pieces);
                }
            }
            let done = read(&mut self);
            // Ends a thread that is waiting to send a batch.
            drop(self);
            done
        })
    }

    /// Gets the next records. The batch is empty at the end.
    fn next_batch(&mut self) {
        self.handed_out = 0;
        match &mut self.source {
            Source::Pieces(pieces) => pieces.parse_batch(&mut self.batch),
            Source::Thread(batches) => {
                if !batches.exchange(&mut self.batch) {
                    self.batch.clear();
                }
            }
        }
    }

    /// Returns the next record of the batch.
    fn hand_out(&mut self) -> RecordRef<'_> {
        let at = self.handed_out;
        self.learn_targets(self.target_count(), self.batch.items()[at].targets_end);
        self.handed_out += 1;
        let Item { name, name_ref, record, has_bitmap, .. } = self.batch.item_mut(at);
        self.unlisted.push(*name_ref, name);
        if self.compat.text_bitmaps_stick() {
            let (from, to) = match *has_bitmap {
                true => (&record.bitmap, &mut self.sticking),
                false => (&self.sticking, &mut record.bitmap),
            };
            to.clear();
            to.extend_from_slice(from);
        }
        RecordRef { name, name_ref: Some(*name_ref), text: None, record: record.view() }
    }

    /// Collects the names of targets between two positions in the batch.
    fn learn_targets(&mut self, from: usize, to: usize) {
        for target in &self.batch.targets[from..to] {
            let name = self.batch.target_name(target);
            self.unlisted.push(target.hash, name);
            if target.is_vtable {
                self.vtable_names.push(name.to_vec());
            }
        }
    }

    /// Returns the number of targets in the returned records.
    fn target_count(&self) -> usize {
        self.handed_out.checked_sub(1).map_or(0, |last| self.batch.items()[last].targets_end)
    }
}

impl ProfileReader for TextReader<'_> {
    fn kind(&self) -> ProfileKind {
        self.kind
    }

    fn version_word(&self) -> u64 {
        0
    }

    /// A text has names only, so batches hash them.
    fn hashes_names(&self) -> bool {
        true
    }

    fn next_record(&mut self) -> Result<Option<RecordRef<'_>>> {
        while self.handed_out == self.batch.items().len() {
            if self.finished {
                return Ok(None);
            }
            if let Some(error) = self.batch.error.take() {
                self.finished = true;
                self.learn_targets(self.target_count(), self.batch.targets.len());
                return Err(error);
            }
            self.next_batch();
            self.finished = self.batch.items().is_empty() && self.batch.error.is_none();
        }
        Ok(Some(self.hand_out()))
    }

    fn record_taken_over(&mut self) {
        self.sticking.clear();
    }

    fn symbols(&mut self) -> Result<&SymbolTable> {
        self.unlisted.move_into(&mut self.symbols);
        Ok(&self.symbols)
    }

    fn binary_ids(&mut self) -> Result<Vec<BinaryId>> {
        Ok(Vec::new())
    }

    fn temporal(&mut self) -> TemporalProfile {
        self.temporal.clone()
    }

    fn vtable_names(&mut self) -> Result<Vec<Vec<u8>>> {
        Ok(self.vtable_names.clone())
    }
}

/// Parses a text from front to back. An item that does not end in the current chunk is parsed again with more text.
#[derive(Debug)]
pub(super) struct Pieces<'data> {
    window: Window<'data>,
    compat: Compat,
    /// The length of the current chunk, which is at the start of the view.
    len: usize,
    /// The number of lines before the chunk.
    lines: usize,
    /// Whether a NUL byte ends the text, like in LLVM.
    is_cut: bool,
}

impl<'data> Pieces<'data> {
    pub(super) fn new(window: Window<'data>, compat: Compat) -> Self {
        let mut pieces = Self { window, compat, len: 0, lines: 0, is_cut: false };
        pieces.take_lines(0);
        pieces
    }

    /// Parses the header lines and the traces.
    pub(super) fn read_header(&mut self) -> Result<Header> {
        loop {
            let mut parser = self.parser();
            let header = parser.read_header();
            if !parser.needs_more() {
                let position = parser.position();
                self.window.pass(position - self.window.passed());
                return header;
            }
            self.more()?;
        }
    }

    /// Parses the next records. The batch is empty at the end.
    pub(super) fn parse_batch(&mut self, batch: &mut Batch) {
        loop {
            let mut parser = self.parser();
            parser.parse_batch(batch);
            let (position, needs_more) = (parser.position(), parser.needs_more());
            self.window.pass(position - self.window.passed());
            if !needs_more || !batch.items().is_empty() {
                return;
            }
            if let Err(error) = self.more() {
                batch.error = Some(error);
                return;
            }
        }
    }

    /// See [`has_colon_names`](super::has_colon_names). Call it before parsing.
    pub(super) fn has_colon_names(&mut self) -> Result<bool> {
        loop {
            let piece = self.piece();
            match head_has_colon_names(without_byte_order_mark(piece.data)) {
                None if !piece.is_last => self.more()?,
                has => return Ok(has.unwrap_or(false)),
            }
        }
    }

    fn piece(&self) -> Piece<'_> {
        let is_last = self.is_cut || self.window.is_last();
        Piece { data: &self.window.view()[..self.len], offset: self.window.base(), lines: self.lines, is_last }
    }

    fn parser(&self) -> Parser<'_> {
        Parser::new(self.piece(), self.window.passed(), self.compat)
    }

    /// Extends the chunk, and drops its parsed part.
    fn more(&mut self) -> Result<()> {
        let passed = self.window.passed();
        self.lines += line_ends(&self.window.view()[..passed]);
        let known = self.window.bytes().len();
        self.window.more()?;
        self.take_lines(known);
        Ok(())
    }

    /// Makes all complete lines in view the current chunk. The first `known` bytes were searched before.
    fn take_lines(&mut self, known: usize) {
        let view = self.window.view();
        let nul = memchr(0, &view[known..]);
        self.is_cut = nul.is_some();
        self.len = match nul {
            Some(nul) => known + nul,
            None if self.window.is_last() => view.len(),
            None => memrchr(b'\n', view).map_or(0, |last| last + 1),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::StableFile;
    use crate::model::name_ref;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// Returns all data of a reader as text.
    fn read(reader: &mut TextReader<'_>, taken_over: u8) -> String {
        let mut seen = format!("{:?} {:?}\n", reader.kind(), reader.temporal());
        for number in 0.. {
            match reader.next_record() {
                Ok(Some(found)) => {
                    // Guaranteed by `hashes_names`.
                    assert_eq!(found.name_ref, Some(name_ref(found.name)));
                    let record = found.record.to_record();
                    seen += &format!("{} {:?} {record:?}\n", found.name.escape_ascii(), found.name_ref);
                }
                Ok(None) => break,
                Err(error) => seen += &format!("{error:?}\n"),
            }
            // Every other record merges into an earlier one.
            if taken_over >> (number % 8) & 1 == 1 {
                reader.record_taken_over();
            }
            if number % 5 == 0 {
                seen += &format!("{} names\n", reader.symbols().map_or(0, SymbolTable::len));
            }
        }
        let vtables = reader.vtable_names().unwrap_or_default();
        seen + &format!("{vtables:?} {}\n", reader.symbols().map_or(0, SymbolTable::len))
    }

    fn both_ways(text: &[u8], compat: Compat, taken_over: u8) -> (String, String) {
        let said = |outcome: Result<String>| outcome.unwrap_or_else(|error| format!("{error:?}"));
        let here = TextReader::new(text, compat).map(|mut reader| read(&mut reader, taken_over));
        let parse_ahead = || TextReader::parse_ahead(text, compat, |reader| Ok(read(reader, taken_over)));
        let (ahead, refused) = (said(parse_ahead()), said(threads::refusal::after(0, parse_ahead)));
        assert_eq!(ahead, refused, "without a thread");
        (said(here), ahead)
    }

    /// Reads a file through a window of `chunk` bytes.
    fn through_a_window(text: &[u8], chunk: usize, compat: Compat, taken_over: u8) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let steady = Arc::new(StableFile::open(file.path()).unwrap().unwrap());
        let window = Window::in_chunks(steady, 0..text.len() as u64, chunk);
        let seen = TextReader::through(window, compat).map(|mut reader| read(&mut reader, taken_over));
        seen.unwrap_or_else(|error| format!("{error:?}"))
    }

    /// Returns records, some with bitmaps, targets or hidden lines.
    fn record(index: usize) -> String {
        let rest = match index % 5 {
            0 => "$2\n0x1\n0xff\n",
            1 => "2\n0\n1\n2\ncallee:3\n** External Symbol **:1\n2\n1\n1\nvtable:7\n",
            2 => "$0\n",
            _ => "",
        };
        let content = format!("# Func Hash:\n0x{index:x}\n3\n1\n{}\n{index}\n{rest}", u64::MAX);
        if index % 7 != 3 {
            return format!("f{index}\n{content}\n");
        }
        let hidden: String = content.lines().map(|line| format!("#!|{line}\n")).collect();
        format!("#!name=%23{index}\n{hidden}\n")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn parsing_ahead_changes_nothing(
            records in prop_oneof![0usize..12, 500usize..800],
            damage in prop_oneof![Just(None), (any::<prop::sample::Index>(), prop_oneof![any::<u8>(), Just(0), Just(b'\n')]).prop_map(Some)],
            taken_over in any::<u8>(),
            chunk in prop_oneof![1usize..100, 1000usize..20_000],
            traces in prop_oneof![Just(""), Just(":temporal_prof_traces\n2\n9\n1\nf1,f2\n3\nf3\n")],
        ) {
            let mut text: Vec<u8> = [b"# of a test\n:ir\n", traces.as_bytes()].concat();
            (0..records).for_each(|index| text.extend_from_slice(record(index).as_bytes()));
            if let Some((at, byte)) = damage {
                let at = at.index(text.len());
                text[at] = byte;
            }
            for compat in [Compat::Llvm22, Compat::Profbridge] {
                let (here, ahead) = both_ways(&text, compat, taken_over);
                prop_assert_eq!(&here, &ahead);
                prop_assert_eq!(through_a_window(&text, chunk, compat, taken_over), here);
            }
        }
    }

    #[test]
    fn colon_names_are_detected_after_the_first_chunk() {
        let head = "# a comment\n".repeat(20);
        for (text, has) in [
            (format!("{head}#!names=file:function\nf\n1\n1\n5\n"), true),
            (format!("{head}#!names=file:function"), true),
            (format!("{head}f\n1\n1\n5\n#!names=file:function\n"), false),
            (head.clone(), false),
        ] {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), &text).unwrap();
            for chunk in [1, 12, 100, 1000] {
                let steady = Arc::new(StableFile::open(file.path()).unwrap().unwrap());
                let window = Window::in_chunks(steady, 0..text.len() as u64, chunk);
                let reader = TextReader::through(window, Compat::Profbridge).unwrap();
                assert_eq!(reader.has_colon_names(), has, "{text}");
                assert_eq!(super::super::has_colon_names(text.as_bytes()), has, "{text}");
            }
        }
    }

    #[test]
    fn a_text_that_changes_after_the_window_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text: String = (0..50).map(record).collect();
        std::fs::write(file.path(), &text).unwrap();
        let steady = Arc::new(StableFile::open(file.path()).unwrap().unwrap());
        let window = Window::in_chunks(steady, 0..text.len() as u64, 500);
        let mut reader = TextReader::through(window, Compat::Llvm22).unwrap();
        assert!(reader.next_record().unwrap().is_some());
        file.as_file().set_len(text.len() as u64 / 2).unwrap();
        let seen = read(&mut reader, 0);
        assert!(seen.contains("changed during the read"), "{seen}");
        assert!(reader.next_record().unwrap().is_none());
    }

    #[test]
    fn records_before_an_error_are_read_first() {
        let mut text: String = (0..600).map(record).collect();
        text += "broken\n12\n1\nx\n";
        let (here, ahead) = both_ways(text.as_bytes(), Compat::Llvm22, 0);
        assert_eq!(here, ahead);
        let hidden = (0..600).filter(|index| index % 7 == 3).count();
        assert_eq!(here.matches("FunctionRecord").count(), 600 - hidden);
        assert!(here.contains("invalid counter: x"), "{here}");
    }

    #[test]
    fn readers_may_stop_early() {
        let text: String = (0..5000).map(record).collect();
        let first = TextReader::parse_ahead(text.as_bytes(), Compat::Llvm22, |reader| {
            Ok(reader.next_record()?.map(|found| found.name.to_vec()))
        });
        assert_eq!(first.unwrap(), Some(b"f0".to_vec()));
    }
}
