//! One section read by several threads.
//!
//! The text is cut where an entry seems to begin. That may be a mistake: a
//! section may end in between, or the seeming beginning be part of something
//! else. So a piece counts only when the one before it was entries and nothing
//! else, up to its last byte; otherwise what follows is read again, in order.
//! Entries are handed on in the order of the text, by the calling thread.

use super::batch::Batch;
use super::entries::{BATCH_BYTES, BatchParser, EntryReader};
use super::sink::Sink;
use crate::iprof::entry_threads;
use crate::iprof::window::{StopReason, Window};
use crate::threads::ordered_workers::OrderedWorkers;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Scope;

/// Bytes of text that a thread is given at a time, which make one batch; few in tests, to cut often.
const PIECE_BYTES: usize = BATCH_BYTES;
/// So much of a section is read before it is worth starting threads.
const ALONE_BYTES: u64 = 4 * PIECE_BYTES as u64;
/// What stands between two entries.
const BETWEEN: &[u8] = b"},{\"ctx\":\"";

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
            line.fill(window);
            let whole = match line.turns.take() {
                Some(mut piece) => {
                    let done = reader.deliver(&mut piece.batch, piece.base, index);
                    let (count, next) = done.ok_or(StopReason::OutOfMemory)?;
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

/// Text to parse, and what came of it.
#[derive(Default)]
struct Piece {
    text: Vec<u8>,
    /// Offset of its first byte.
    base: u64,
    batch: Batch,
}

impl Piece {
    /// Parses it, unless a piece before it was not entries to its end: `last` is where the first such piece
    /// stands, behind which none counts.
    fn parse(&mut self, parser: BatchParser<'_>, last: &AtomicU64) {
        parser.parse(&self.text, 0, &mut self.batch, || self.base <= last.load(Ordering::Relaxed));
        if self.batch.end < self.text.len() {
            last.fetch_min(self.base, Ordering::Relaxed);
        }
    }
}

/// The pieces on their way.
struct Line<'scope> {
    turns: OrderedWorkers<'scope, Piece>,
    /// Where the next piece begins.
    ahead: u64,
    /// No piece is cut before this: there was no place to cut, or a cut was a mistake.
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

    /// Cuts pieces, if threads will soon have nothing to do, until every thread has enough.
    fn fill(&mut self, window: &mut Window<'_>) {
        if !self.turns.is_low() {
            return;
        }
        while self.ahead >= self.resume && !self.turns.is_full() {
            let text = window.look(self.ahead, PIECE_BYTES);
            let between = text.windows(BETWEEN.len()).rposition(|bytes| bytes == BETWEEN);
            let Some(between) = between.filter(|_| text.len() == PIECE_BYTES) else {
                self.resume = self.ahead + PIECE_BYTES as u64;
                return;
            };
            let mut piece = self.spare.pop().unwrap_or_default();
            piece.text.clear();
            piece.text.extend_from_slice(&text[..between + 2]);
            piece.base = self.ahead;
            self.ahead += piece.text.len() as u64;
            self.turns.give(piece);
        }
    }

    /// Forgets the pieces on their way, which do not follow what ends at `offset`.
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

#[cfg(test)]
mod tests {
    use crate::iprof::{Finding, ReadOptions, WriteOptions, copy_from, examine, examine_from, write};
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
        let found = if streamed { examine_from(text, &options) } else { examine(text, &options) };
        let plain = |finding: &Finding| format!("{:?}", Finding { offset: None, ..finding.clone() });
        let findings = found.findings.iter().map(|finding| (plain(finding), finding.offset)).collect();
        let repairs = found.findings.repairs().map(|repair| format!("{repair:?}"));
        let parts = found.parts.iter().map(|part| format!("{part:?}"));
        (
            found.document.map(|document| write(&document, &WriteOptions::default())),
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
            if copy_from(text, &ReadOptions::default(), &mut copy).unwrap().is_some() {
                prop_assert_eq!(Some(&copy), alone.0.as_ref());
            }
            // Nothing is usual about entries with a space in them: they are judged one by one.
            if cut.is_none() {
                prop_assert_eq!(outcome_of_spaced(&whole), (alone.0, alone.1));
            }
        }
    }
}
