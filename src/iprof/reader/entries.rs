//! The entries of a profile section: read by one thread or by several, and handed to a [`Sink`] in the order of the
//! text.
//!
//! For several threads the text is cut where an entry seems to begin. That may be a mistake: a section may end in
//! between, or the seeming beginning may be inside of something else. So a piece counts only if the piece before it was
//! entries and nothing else, up to its last byte. Otherwise the rest is read again, in order.

use super::reading::{PartSize, ReadOptions, Reading};
use crate::iprof::context::Frame;
use crate::iprof::document::EntryMember;
use crate::iprof::entry_threads;
use crate::iprof::findings::Code;
use crate::iprof::json::{Scan, Stop};
use crate::iprof::reader::ids::Ids;
use crate::iprof::reader::text::{EntryText, TextOptions};
use crate::iprof::reader::validate::{Batch, Mark, Note, Outcome, Packing, Rules};
use crate::iprof::sections::{Records, SectionKind, TypeCount};
use crate::iprof::tables::Tables;
use crate::iprof::window::{Elements, StopReason, Window};
use crate::threads::ordered_workers::OrderedWorkers;
use hashbrown::HashTable;
use hashbrown::hash_table;
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Scope;

/// One valid entry.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) kind: SectionKind,
    /// Innermost first; empty for monitors.
    pub(crate) frames: &'a [Frame],
    pub(crate) records: Records<'a>,
    /// Equal for entries of equal contexts; present if duplicates are looked for, and not for monitors.
    pub(crate) identity: Option<u128>,
    pub(crate) members: Option<Box<[EntryMember]>>,
}

/// Takes the entries of a file, in order.
pub(crate) trait Sink {
    /// Takes an entry; handles refer to `tables`, which are complete.
    fn entry(&mut self, tables: &Tables, entry: Entry<'_>);

    /// Returns tables of an earlier input that the file may share; they declare everything once.
    fn known_tables(&self) -> Option<Arc<Tables>> {
        None
    }

    /// Takes the complete tables, before the first entry and perhaps again.
    fn tables(&mut self, tables: &Arc<Tables>) {
        let _ = tables;
    }

    /// Takes the outermost frames of the next entries, so that a sink can look them up together.
    fn announce(&mut self, outermost: impl Iterator<Item = Frame> + Clone) {
        drop(outermost);
    }
}

/// Ignores all entries.
pub(crate) struct NullSink;

impl Sink for NullSink {
    fn entry(&mut self, _: &Tables, _: Entry<'_>) {}
}

/// No entry of a batch begins after this many bytes, so that the batch stays in the processor's cache.
pub(super) const BATCH_BYTES: usize = if cfg!(test) { 1 << 9 } else { 1 << 16 };
/// Number of entries that are announced at a time.
const ANNOUNCED: usize = 16;

/// Parses batches of entries, one after the other.
#[derive(Clone, Copy)]
pub(super) struct BatchParser<'r>(Rules<'r>);

impl BatchParser<'_> {
    /// Parses entries of `text` from `start` on, each with the comma after it, until the batch is full or no longer
    /// wanted.
    pub(super) fn parse(&self, text: &[u8], start: usize, batch: &mut Batch, is_wanted: impl Fn() -> bool) {
        batch.clear(start);
        let mut entry = EntryText::default();
        let mut scan = Scan::new(text, start, self.0.options.limits.json_depth);
        while batch.end - start < BATCH_BYTES && is_wanted() {
            let Ok(mark) = self.0.parse(&mut scan, &mut entry, batch) else { return };
            if scan.take(b',') != Ok(true) {
                // The last entry of its section or of the text: the caller checks what follows.
                return batch.rewind(self.0.kind, mark);
            }
            self.0.judge(&mut entry, batch, mark);
            batch.end = scan.pos;
        }
    }
}

/// Reads the entries of one section.
pub(super) struct EntryReader<'r, S> {
    rules: Rules<'r>,
    reading: &'r mut Reading,
    sink: &'r mut S,
    /// The text, the frames and the position of an entry that is read separately.
    text: EntryText,
    mark: Mark,
    base: u64,
    batch: Batch,
    seen: ContextKeys,
    packing: Packing,
    stray_monitor: Option<Vec<TypeCount>>,
    size: PartSize,
}

impl<'r, S: Sink> EntryReader<'r, S> {
    pub(super) fn new(
        kind: SectionKind,
        bare: bool,
        tables: &'r Tables,
        ids: &'r Ids,
        reading: &'r mut Reading,
        sink: &'r mut S,
        options: &'r ReadOptions,
    ) -> Self {
        let text = TextOptions {
            methods: &ids.methods,
            keep_others: !options.drop_unknown,
            identities: options.find_duplicates && kind != SectionKind::Monitor,
            bare,
        };
        Self {
            rules: Rules { kind, tables, types: &ids.types, options, text },
            reading,
            sink,
            text: EntryText::default(),
            mark: Mark::default(),
            base: 0,
            batch: Batch::default(),
            seen: ContextKeys::default(),
            packing: Packing::default(),
            stray_monitor: None,
            size: PartSize::default(),
        }
    }

    /// Returns a parser of batches for this reader.
    pub(super) fn parser(&self) -> BatchParser<'r> {
        BatchParser(self.rules)
    }

    /// Hands the entries of a batch to the sink. Its text is at byte `base`; the first entry has number `index`.
    /// Returns the number of entries, and where the next one begins.
    pub(super) fn deliver(&mut self, batch: &mut Batch, base: u64, index: usize) -> (usize, usize) {
        let (kind, group) = (self.rules.kind, self.rules.kind.name());
        let (mut frames, mut records, mut notes) = (0, 0, 0);
        let mut members = std::mem::take(&mut batch.members).into_iter().peekable();
        for (at, step) in batch.steps.iter().enumerate() {
            if at % ANNOUNCED == 0 {
                let coming = at..batch.steps.len().min(at + ANNOUNCED);
                self.sink.announce(batch.outermost(coming.clone()));
                for key in batch.identities.get(coming).unwrap_or_default() {
                    self.seen.announce(*key);
                }
            }
            let (before, after) = batch.notes[notes..step.notes_end].split_at(step.context_notes_end - notes);
            before.iter().for_each(|note| self.record(note, base, index + at));
            let identity = batch.identities.get(at).copied();
            if let Some(key) = identity.filter(|_| step.is_located)
                && !self.seen.insert(key)
            {
                self.reading.repeated.insert(key);
                let (offset, path) = (base + step.context_at as u64, format_args!("{group}[{}].ctx", index + at));
                let message = "the section already has an entry with this context";
                self.reading.findings.report(Code::DuplicateContext, group, Some(offset), path, message);
            }
            after.iter().for_each(|note| self.record(note, base, index + at));
            let found = records..step.records_end;
            let members = members.next_if(|(entry, _)| *entry == at).map(|(_, members)| members);
            match step.outcome {
                Outcome::Sound => {
                    let frames = &batch.frames[frames..step.frames_end];
                    let entry = Entry { kind, frames, records: batch.records(kind, found), identity, members };
                    self.sink.entry(self.rules.tables, entry);
                    self.size.valid += 1;
                }
                Outcome::Stray => self.stray_monitor = Some(batch.pairs[found].to_vec()),
                Outcome::Dropped => {}
            }
            (frames, records, notes) = (step.frames_end, step.records_end, step.notes_end);
        }
        self.size.entries += batch.steps.len() as u64;
        self.packing.join(batch.packing);
        self.reading.legacy |= batch.legacy;
        self.reading.respelled |= batch.respelled;
        (batch.steps.len(), batch.end)
    }

    fn record(&mut self, note: &Note, base: u64, index: usize) {
        let (findings, group) = (&mut self.reading.findings, self.rules.kind.name());
        match note {
            Note::Finding(defect) => {
                let (offset, path) = (base + defect.at as u64, format_args!("{group}[{index}]{}", defect.below));
                findings.report(defect.code, group, Some(offset), path, &defect.message);
            }
            Note::Repair(code, action) => findings.repaired(*code, action, group, 1),
        }
    }

    /// Reports the findings about the section as a whole and returns its size.
    pub(super) fn finish(mut self) -> PartSize {
        let (kind, group, count) = (self.rules.kind, self.rules.kind.name(), self.size.entries);
        let findings = &mut self.reading.findings;
        if let Some(pairs) = self.stray_monitor.take() {
            // The section may have come in two parts.
            let before = self.reading.parts.get(group).map_or(0, |part| part.valid);
            let is_only = count == 1 && before == 0;
            if is_only {
                let records = Records::Types(&pairs);
                let entry = Entry { kind, frames: &[], records, identity: None, members: None };
                self.sink.entry(self.rules.tables, entry);
                self.size.valid += 1;
            }
            let action = if is_only { "set to 0:0" } else { "dropped" };
            findings.repaired(Code::MonitorContext, action, group, 1);
        }
        if kind == SectionKind::Monitor && count > 1 {
            let message = format_args!("{count} entries, expected 1");
            findings.report(Code::MonitorCount, group, None, group, message);
        }
        if self.packing.is_packed() {
            let message = format_args!("{} counts may be two 32-bit counters each", self.packing.alike);
            findings.report(Code::PackedCounts, group, None, group, message);
        }
        self.size
    }
}

/// Keys of contexts, which are spread as hashes are. Several tables, so that only a part of the keys is in memory twice
/// while a table grows.
#[derive(Default)]
struct ContextKeys([HashTable<u128>; 16]);

impl ContextKeys {
    fn table(&mut self, key: u128) -> &mut HashTable<u128> {
        &mut self.0[(key >> 124) as usize]
    }

    /// Adds a key; false when it was there.
    #[inline]
    fn insert(&mut self, key: u128) -> bool {
        match self.table(key).entry(key as u64, |known| *known == key, |known| *known as u64) {
            hash_table::Entry::Occupied(_) => false,
            hash_table::Entry::Vacant(place) => {
                place.insert(key);
                true
            }
        }
    }

    /// Loads the memory where a key would be.
    fn announce(&mut self, key: u128) {
        black_box(self.table(key).find(key as u64, |_| false));
    }
}

impl<S: Sink> Elements for EntryReader<'_, S> {
    fn parse(&mut self, scan: &mut Scan<'_>, base: u64, _: usize) -> Result<(), Stop> {
        self.base = base;
        self.batch.clear(scan.pos);
        self.mark = self.rules.parse(scan, &mut self.text, &mut self.batch)?;
        Ok(())
    }

    fn run(&mut self, text: &[u8], pos: usize, base: u64, index: usize) -> (usize, usize) {
        let mut batch = std::mem::take(&mut self.batch);
        self.parser().parse(text, pos, &mut batch, || true);
        let done = self.deliver(&mut batch, base, index);
        self.batch = batch;
        done
    }

    fn commit(&mut self, index: usize) {
        let mut batch = std::mem::take(&mut self.batch);
        self.rules.judge(&mut self.text, &mut batch, self.mark);
        self.deliver(&mut batch, self.base, index);
        self.batch = batch;
    }
}

/// Bytes of text in a piece, which makes one batch; few in tests, to cut often.
const PIECE_BYTES: usize = BATCH_BYTES;
/// Bytes of a section that are read before threads start.
const ALONE_BYTES: u64 = 4 * PIECE_BYTES as u64;

/// Reads the entries of a section; its array begins at the window's position.
pub(super) fn read_section<S: Sink>(
    window: &mut Window<'_>,
    reader: &mut EntryReader<'_, S>,
    threads: Option<NonZeroUsize>,
) -> Result<(), StopReason> {
    let start = window.offset();
    let mut index = 0;
    if !window.open_array()? {
        return Ok(());
    }
    while window.next_elements(reader, &mut index)? {
        if window.offset() - start >= ALONE_BYTES {
            let threads = entry_threads(threads);
            return if threads > 1 {
                read_in_pieces(window, reader, index, threads)
            } else {
                window.remaining_elements(reader, index)
            };
        }
    }
    Ok(())
}

fn read_in_pieces<S: Sink>(
    window: &mut Window<'_>,
    reader: &mut EntryReader<'_, S>,
    mut index: usize,
    threads: usize,
) -> Result<(), StopReason> {
    let parser = reader.parser();
    std::thread::scope(|scope| {
        let mut line = Line::new(scope, parser, threads, window.offset());
        loop {
            if window.cancel.is_cancelled() {
                return Err(StopReason::Cancelled);
            }
            line.fill(window);
            let whole = match line.turns.take() {
                Some(mut piece) => {
                    let (count, next) = reader.deliver(&mut piece.batch, piece.base, index);
                    index += count;
                    window.advance_to(piece.base + next as u64);
                    let whole = next == piece.text.len();
                    line.spare.push(piece);
                    whole
                }
                None => false,
            };
            if !whole {
                line.discard(window.offset());
                if !window.next_elements(reader, &mut index)? {
                    return Ok(());
                }
                line.ahead = window.offset();
            }
        }
    })
}

/// A piece of text and the batch that it makes.
#[derive(Default)]
struct Piece {
    text: Vec<u8>,
    /// Offset of its first byte.
    base: u64,
    batch: Batch,
}

impl Piece {
    /// Parses the piece, unless it comes after `last`: the first piece that has something else than entries at its end.
    fn parse(&mut self, parser: BatchParser<'_>, last: &AtomicU64) {
        parser.parse(&self.text, 0, &mut self.batch, || self.base <= last.load(Ordering::Relaxed));
        if self.batch.end < self.text.len() {
            last.fetch_min(self.base, Ordering::Relaxed);
        }
    }
}

/// The pieces that threads work on.
struct Line<'scope> {
    turns: OrderedWorkers<'scope, Piece>,
    /// Where the next piece begins.
    ahead: u64,
    /// No piece is cut before this, because there was no place to cut or a cut was a mistake.
    resume: u64,
    spare: Vec<Piece>,
    /// The last piece that can count, if that is known.
    last: Arc<AtomicU64>,
}

impl<'scope> Line<'scope> {
    fn new(scope: &'scope Scope<'scope, '_>, parser: BatchParser<'scope>, threads: usize, ahead: u64) -> Self {
        let last = Arc::new(AtomicU64::new(u64::MAX));
        let known = Arc::clone(&last);
        let turns = OrderedWorkers::start(scope, threads, move |piece: &mut Piece| piece.parse(parser, &known));
        Self { turns, ahead, resume: ahead, spare: Vec::new(), last }
    }

    /// Cuts pieces until every thread has enough, if threads will soon have nothing to do.
    fn fill(&mut self, window: &mut Window<'_>) {
        if !self.turns.is_low() {
            return;
        }
        while self.ahead >= self.resume && !self.turns.is_full() {
            let text = window.look(self.ahead, PIECE_BYTES);
            let Some(end) = last_entry_end(text).filter(|_| text.len() == PIECE_BYTES) else {
                self.resume = self.ahead + PIECE_BYTES as u64;
                return;
            };
            let mut piece = self.spare.pop().unwrap_or_default();
            piece.text.clear();
            piece.text.extend_from_slice(&text[..end]);
            piece.base = self.ahead;
            self.ahead += piece.text.len() as u64;
            self.turns.give(piece);
        }
    }

    /// Discards the pieces, which do not follow the text that ends at `offset`.
    fn discard(&mut self, offset: u64) {
        if !self.turns.is_empty() {
            self.resume = offset + PIECE_BYTES as u64;
        }
        while let Some(piece) = self.turns.take() {
            self.spare.push(piece);
        }
        self.last.store(u64::MAX, Ordering::Relaxed);
    }
}

/// Where an entry seems to end, with the comma after it: as late as possible in a text.
fn last_entry_end(text: &[u8]) -> Option<usize> {
    memchr::memrchr_iter(b'{', text).find_map(|start| {
        let before = text[..start].trim_ascii_end().strip_suffix(b",")?;
        before.trim_ascii_end().ends_with(b"}").then_some(before.len() + 1)
    })
}

#[cfg(test)]
mod tests {
    use crate::iprof::{Finding, ReadOptions, Reader, WriteOptions, Writer};
    use proptest::prelude::*;
    use std::num::NonZeroUsize;

    const HEAD: &str = concat!(
        r#"{"version":"1.1.0","types":[{"id":0,"name":"A"},{"id":5,"name":"int"},{"id":7,"name":"B"}],"#,
        r#""methods":[{"id":3,"name":"m","signature":[0,5]},{"id":40,"name":"n","signature":[7,5]}]"#
    );
    /// Entries by what they hold; `#` becomes a number.
    const ENTRIES: [&str; 22] = [
        r#"{"ctx":"3:0","records":[#]}"#,
        r#"{"ctx":"40:0<3:#<3:7<40:2","records":[7]}"#,
        r#"{"ctx":"3:#<40:9","records":[9]}"#,
        r#"{"ctx":"3:0<40:#","records":[0,#]}"#,
        r#"{"ctx":"3:-6<40:#","records":[4,0,1,9,1,#]}"#,
        r#"{"ctx":"3:2<40:#","records":[4,0,0,9,1,0]}"#,
        r#"{"ctx":"3:2<40:#","records":[4,0,1,9,0,#]}"#,
        r#"{"ctx":"3:3<40:#","records":[7,#,0,1]}"#,
        r#"{"ctx":"3:3<40:#","records":[7,#,7,1]}"#,
        r#"{"ctx":"3:3<40:#","records":[5,#]}"#,
        r#"{"ctx":"3:3<40:#","records":[]}"#,
        r#"{"ctx":"3:-7<40:#","records":[1]}"#,
        r#"{"ctx":"03:0<40:#","records":[1]}"#,
        r#"{"ctx":"4:0<40:#","records":[1]}"#,
        r#"{"ctx":"3:0<40:#","records":[-1]}"#,
        r#"{"ctx":"3:0<40:#","records":[18446744073709551616]}"#,
        r#"{"ctx":"3:0<40:#","records":[12345678901234567]}"#,
        r#"{"records":[#],"ctx":"3:0"}"#,
        r#"{"ctx":"3:0","records":[1],"x":[{},{"ctx":"3:0","records":[2]},{"ctx":"3:1","records":[#]}]}"#,
        r#"{"ctx":"3:0<40:#","records":[1],"x":"},{\"ctx\":\"3:0\""}"#,
        r#" {"ctx" : "3:0<40:#", "records":[ 1 ]} "#,
        "null",
    ];

    /// The document, the findings with their offsets, and everything else.
    type Outcome = (Option<Vec<u8>>, Located, Vec<String>);
    type Located = Vec<(String, Option<u64>)>;

    fn outcome(text: &[u8], threads: usize, streamed: bool) -> Outcome {
        let mut options = ReadOptions::default();
        (options.find_duplicates, options.accept_errors, options.salvage) = (true, true, true);
        options.threads = NonZeroUsize::new(threads);
        let found =
            if streamed { Reader::new(text, &options).examine() } else { Reader::from_bytes(text, &options).examine() };
        let plain = |finding: &Finding| format!("{:?}", Finding { offset: None, ..finding.clone() });
        let findings = found.findings.iter().map(|finding| (plain(finding), finding.offset)).collect();
        let repairs = found.findings.repairs().map(|repair| format!("{repair:?}"));
        let parts = found.parts.iter().map(|part| format!("{part:?}"));
        (
            found.document.map(|document| Writer::new(&WriteOptions::default()).to_bytes(&document)),
            findings,
            parts.chain(repairs).collect(),
        )
    }

    /// Document and findings of the text with a space in every entry; the offsets are those without.
    fn outcome_of_spaced(whole: &str) -> (Option<Vec<u8>>, Located) {
        let spaced = whole.replace("{\"ctx\"", "{ \"ctx\"");
        let (document, mut findings, _) = outcome(spaced.as_bytes(), 1, false);
        for offset in findings.iter_mut().filter_map(|(_, offset)| offset.as_mut()) {
            *offset -= spaced[..*offset as usize].matches("{ \"ctx\"").count() as u64;
        }
        (document, findings)
    }

    fn section(entries: &[(usize, u32)]) -> String {
        let entry = |(kind, number): &(usize, u32)| ENTRIES[*kind].replace('#', &number.to_string());
        format!("[{}]", entries.iter().map(entry).collect::<Vec<_>>().join(","))
    }

    /// Usual entries more often than others, so that whole pieces are taken.
    fn entries() -> impl Strategy<Value = Vec<(usize, u32)>> {
        proptest::collection::vec(
            (prop_oneof![8 => 0..3usize, 2 => 3..9usize, 1 => 9..ENTRIES.len()], 0u32..300),
            0..150,
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_number_of_threads_changes_nothing(
            sections in proptest::collection::vec(entries(), 4),
            cut in proptest::option::of(0.0f64..1.0),
        ) {
            let names = ["callCountProfiles", "conditionalProfiles", "virtualInvokeProfiles", "samplingProfiles"];
            let members: Vec<String> =
                names.iter().zip(&sections).map(|(name, entries)| format!(",\"{name}\":{}", section(entries))).collect();
            let whole = format!("{HEAD}{}}}", members.concat());
            let len = cut.map_or(whole.len(), |cut| (whole.len() as f64 * cut) as usize);
            let text = &whole.as_bytes()[..len];
            let alone = outcome(text, 1, false);
            for threads in 1..4 {
                prop_assert_eq!(&outcome(text, threads, true), &alone);
            }
            prop_assert_eq!(&outcome(text, 3, false), &alone);
            prop_assert_eq!(&crate::threads::refusal::after(0, || outcome(text, 3, true)), &alone);
            let mut copy = Vec::new();
            if Reader::new(text, &ReadOptions::default()).copy_to(&mut copy).unwrap().is_some() {
                prop_assert_eq!(Some(&copy), alone.0.as_ref());
            }
            if cut.is_none() {
                prop_assert_eq!(outcome_of_spaced(&whole), (alone.0, alone.1));
            }
        }
    }
}
