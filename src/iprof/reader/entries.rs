//! Reading the entries of profile sections, alone or many at a time.

use super::batch::{Batch, Mark, Note, Outcome};
use super::entry_text::{EntryText, TextOptions};
use super::ids::Ids;
use super::judge::Rules;
use super::options::ReadOptions;
use super::part::PartSize;
use super::reading::Reading;
use super::records::Packing;
use super::sink::{Entry, EntrySizes, Sink};
use crate::iprof::findings::Code;
use crate::iprof::json::{Scan, Stop};
use crate::iprof::sections::{Records, SectionKind, TypeCount};
use crate::iprof::tables::Tables;
use crate::iprof::window::Elements;
use hashbrown::HashTable;
use hashbrown::hash_table;
use std::hint::black_box;

/// A batch begins no entry behind so many bytes: what it holds stays in the processor's cache, and is so little
/// that no list of it is among the large allocations, which may be refused.
pub(super) const BATCH_BYTES: usize = if cfg!(test) { 1 << 9 } else { 1 << 16 };
/// Entries that are announced at a time.
const ANNOUNCED: usize = 16;

/// Parses batches of entries, one after the other.
#[derive(Clone, Copy)]
pub(super) struct BatchParser<'r>(Rules<'r>);

impl BatchParser<'_> {
    /// Parses entries of `text` from `start` on, each with the comma behind it, to the end or a good deal
    /// or as long as they are wanted.
    pub(super) fn parse(&self, text: &[u8], start: usize, batch: &mut Batch, is_wanted: impl Fn() -> bool) {
        batch.clear(start);
        let mut entry = EntryText::default();
        let mut scan = Scan::new(text, start, self.0.options.limits.json_depth);
        while batch.end - start < BATCH_BYTES && is_wanted() {
            let Ok(mark) = self.0.parse(&mut scan, &mut entry, batch) else { return };
            if scan.take(b',') != Ok(true) {
                // The last one of its section, or of the text: what follows has to be looked at.
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
    /// The entry that is read by itself, where its frames begin, and where its text stands.
    text: EntryText,
    mark: Mark,
    base: u64,
    batch: Batch,
    /// Keys of contexts, which are spread as hashes are.
    seen: HashTable<u128>,
    packing: Packing,
    stray_monitor: Option<Vec<TypeCount>>,
    size: PartSize,
    usual_bytes: u64,
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
            seen: HashTable::new(),
            packing: Packing::default(),
            stray_monitor: None,
            size: PartSize::default(),
            usual_bytes: 0,
        }
    }

    /// What parses batches for this reader.
    pub(super) fn parser(&self) -> BatchParser<'r> {
        BatchParser(self.rules)
    }

    /// Hands on a batch whose text stands at byte `base`; the first entry is number `index`.
    /// Returns how many entries there were, and where the next begins; nothing where they do not fit the memory.
    pub(super) fn deliver(&mut self, batch: &mut Batch, base: u64, index: usize) -> Option<(usize, usize)> {
        let (kind, group) = (self.rules.kind, self.rules.kind.name());
        self.try_reserve(batch).then_some(())?;
        let (mut frames, mut records, mut notes) = (0, 0, 0);
        let mut members = std::mem::take(&mut batch.members).into_iter().peekable();
        for (at, step) in batch.steps.iter().enumerate() {
            if at % ANNOUNCED == 0 {
                let coming = at..batch.steps.len().min(at + ANNOUNCED);
                self.sink.announce(batch.outermost(coming.clone()));
                for key in batch.identities.get(coming).unwrap_or_default() {
                    black_box(self.seen.find(*key as u64, |_| false));
                }
            }
            let (before, after) = batch.notes[notes..step.notes_end].split_at(step.context_notes_end - notes);
            before.iter().for_each(|note| self.tell(note, base, index + at));
            if let Some(key) = batch.identities.get(at).filter(|_| step.is_located)
                && !is_new(&mut self.seen, *key)
            {
                let (offset, path) = (base + step.context_at as u64, format_args!("{group}[{}].ctx", index + at));
                let message = "the section has an entry of this context already";
                self.reading.findings.report(Code::DuplicateContext, group, Some(offset), path, message);
            }
            after.iter().for_each(|note| self.tell(note, base, index + at));
            let found = records..step.records_end;
            let members = members.next_if(|(entry, _)| *entry == at).map(|(_, members)| members);
            match step.outcome {
                Outcome::Sound => {
                    let frames = &batch.frames[frames..step.frames_end];
                    let entry = Entry { kind, frames, records: batch.records(kind, found), members };
                    self.sink.entry(self.rules.tables, entry);
                    self.size.valid += 1;
                }
                Outcome::Stray => self.stray_monitor = Some(batch.pairs[found].to_vec()),
                Outcome::Dropped => {}
            }
            (frames, records, notes) = (step.frames_end, step.records_end, step.notes_end);
        }
        self.size.entries += batch.steps.len() as u64;
        self.usual_bytes += batch.usual_bytes;
        self.packing.join(batch.packing);
        self.reading.legacy |= batch.legacy;
        Some((batch.steps.len(), batch.end))
    }

    fn try_reserve(&mut self, batch: &Batch) -> bool {
        let end = batch.mark(self.rules.kind);
        let room = EntrySizes { entries: batch.steps.len(), frames: end.frames, rows: end.records };
        let is_there = self.seen.try_reserve(batch.identities.len(), |known| *known as u64).is_ok();
        is_there && self.sink.try_reserve(self.rules.kind, room)
    }

    fn tell(&mut self, note: &Note, base: u64, index: usize) {
        let (findings, group) = (&mut self.reading.findings, self.rules.kind.name());
        match note {
            Note::Finding(defect) => {
                let (offset, path) = (base + defect.at as u64, format_args!("{group}[{index}]{}", defect.below));
                findings.report(defect.code, group, Some(offset), path, &defect.message);
            }
            Note::Repair(code, action) => findings.repaired(*code, action, group, 1),
        }
    }

    /// After the last entry: what concerns the section as a whole. Returns how many entries there
    /// were, and how many bytes of them a writer would write.
    pub(super) fn finish(mut self) -> (PartSize, u64) {
        let (kind, group, count) = (self.rules.kind, self.rules.kind.name(), self.size.entries);
        let findings = &mut self.reading.findings;
        if let Some(pairs) = self.stray_monitor.take() {
            // The section may have come in two parts.
            let before = self.reading.parts.get(group).map_or(0, |part| part.valid);
            let is_only = count == 1 && before == 0;
            if is_only {
                let entry = Entry { kind, frames: &[], records: Records::Types(&pairs), members: None };
                self.sink.entry(self.rules.tables, entry);
                self.size.valid += 1;
            }
            let action = if is_only { "set to 0:0" } else { "dropped" };
            findings.repaired(Code::MonitorContext, action, group, 1);
        }
        if kind == SectionKind::Monitor && count > 1 {
            let message = format_args!("{count} entries, one was expected");
            findings.report(Code::MonitorCount, group, None, group, message);
        }
        if self.packing.is_packed() {
            let message = format_args!("{} counts look like two 32-bit counters read as one", self.packing.alike);
            findings.report(Code::PackedCounts, group, None, group, message);
        }
        (self.size, self.usual_bytes)
    }
}

/// Adds a key; false when it was there.
#[inline]
fn is_new(seen: &mut HashTable<u128>, key: u128) -> bool {
    match seen.entry(key as u64, |known| *known == key, |known| *known as u64) {
        hash_table::Entry::Occupied(_) => false,
        hash_table::Entry::Vacant(place) => {
            place.insert(key);
            true
        }
    }
}

impl<S: Sink> Elements for EntryReader<'_, S> {
    fn parse(&mut self, scan: &mut Scan<'_>, base: u64, _: usize) -> Result<(), Stop> {
        self.base = base;
        self.batch.clear(scan.pos);
        self.mark = self.rules.parse(scan, &mut self.text, &mut self.batch)?;
        Ok(())
    }

    fn run(&mut self, text: &[u8], pos: usize, base: u64, index: usize) -> Option<(usize, usize)> {
        let mut batch = std::mem::take(&mut self.batch);
        self.parser().parse(text, pos, &mut batch, || true);
        let done = self.deliver(&mut batch, base, index);
        self.batch = batch;
        done
    }

    fn commit(&mut self, index: usize) -> bool {
        let mut batch = std::mem::take(&mut self.batch);
        self.rules.judge(&mut self.text, &mut batch, self.mark);
        let done = self.deliver(&mut batch, self.base, index);
        self.batch = batch;
        done.is_some()
    }
}
