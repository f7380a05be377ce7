//! One thread reads the records of a large file while another adds them up.

use crate::error::Result;
use crate::instr::{NameRef, NameText, ProfileReader, RecordRef, RecordStore};
use crate::merge::{InputOptions, Merger};
use crate::threads::batch_channel::batch_channel;

/// Files with fewer records are not worth a thread.
pub(super) const FEW_RECORDS: usize = 20_000;

/// Records that are handed over at a time.
const BATCH: usize = 512;
/// Batches that may wait.
const WAITING: usize = 4;

/// Adds the records of `reader` to `merger`, in order, and counts them into
/// `records`. What is wrong with single records is known to the merger alone.
///
/// # Errors
///
/// The first of the reader; the records before it are added.
pub(super) fn merge_ahead(
    reader: &mut dyn ProfileReader,
    merger: &mut Merger,
    adding: &InputOptions<'_>,
    records: &mut u64,
) -> Result<()> {
    std::thread::scope(|scope| {
        let (maker, user) = batch_channel::<Batch>(WAITING);
        let weight = adding.weight;
        scope.spawn(move || {
            let mut batch = Batch::default();
            while user.exchange(&mut batch) {
                batch.add_to(merger, weight);
            }
        });
        let mut batch = Batch::default();
        let read = loop {
            match batch.read_next(reader, adding) {
                Ok(true) => *records += 1,
                end => break end.map(|_| ()),
            }
            if batch.names.len() == BATCH {
                // The other side hangs up only when it panics, which the scope passes on.
                if !maker.hand_over(&mut batch) {
                    break Ok(());
                }
                batch.clear();
            }
        };
        maker.hand_over(&mut batch);
        read
    })
}

/// Records with their names, copied from a reader.
#[derive(Default)]
struct Batch {
    /// All names that are not pieces of a shared text, one behind the other.
    own: Vec<u8>,
    /// Shared texts, in the order in which the names come from them.
    texts: Vec<NameText>,
    names: Vec<Name>,
    /// One for each name.
    records: RecordStore,
}

struct Name {
    /// Within its shared text, else within `own`.
    start: usize,
    len: usize,
    /// Index into `texts`.
    text: Option<usize>,
    /// The hash of the name, where it was computed.
    name_ref: Option<NameRef>,
}

impl Batch {
    fn clear(&mut self) {
        self.own.clear();
        self.texts.clear();
        self.names.clear();
        self.records.clear();
    }

    /// Copies the reader's next record; `false` at the end.
    fn read_next(&mut self, reader: &mut dyn ProfileReader, adding: &InputOptions<'_>) -> Result<bool> {
        let is_hashed = reader.hashes_names();
        let Some(incoming) = reader.next_record()? else { return Ok(false) };
        let RecordRef { name, name_ref, text, record } = adding.prepare(incoming)?;
        let name_ref = name_ref.filter(|_| is_hashed);
        let shared = text.and_then(|text| Some((text, text.start_of(name)?)));
        let (start, text) = match shared {
            Some((text, start)) => (start, Some(place_of(text, &mut self.texts))),
            None => (self.own.len(), None),
        };
        if text.is_none() {
            self.own.extend_from_slice(name);
        }
        self.names.push(Name { start, len: name.len(), text, name_ref });
        self.records.push(record);
        Ok(true)
    }

    fn add_to(&self, merger: &mut Merger, weight: u64) {
        for (at, &Name { start, len, text, name_ref }) in self.names.iter().enumerate() {
            let text = text.map(|text| &self.texts[text]);
            let name = &text.map_or(self.own.as_slice(), |text| text)[start..start + len];
            merger.add_hashed_record(RecordRef { name, name_ref, text, record: self.records.record(at) }, weight);
        }
    }
}

/// Where a text stands among `texts`, at whose end it is put unless it is there.
fn place_of(text: &NameText, texts: &mut Vec<NameText>) -> usize {
    if !texts.last().is_some_and(|last| last.is(text)) {
        texts.push(text.clone());
    }
    texts.len() - 1
}
