//! Many entries at once: those that look as GraalVM writes them and are sound.
//!
//! A batch is parsed without looking at anything but the tables, so several can
//! be parsed at a time. Every entry that is irregular in any way is only stepped
//! over here; the [`EntryReader`](super::entries::EntryReader) parses it again,
//! in its turn, and says what there is to say.

use super::context_text::{self, Digits};
use super::ids::IdMap;
use super::records::{MOST_RECEIVERS, has_repeated_type, index_clash};
use crate::iprof::context::{Frame, bci};
use crate::iprof::json::Scan;
use crate::iprof::sections::{BranchRow, SectionKind, TypeCount};
use crate::iprof::tables::{MethodHandle, Tables, TypeHandle};
use std::ops::Range;

/// A batch begins no entry behind so many bytes: what it holds stays in the processor's cache.
pub(super) const BATCH_BYTES: usize = if cfg!(test) { 1 << 9 } else { 1 << 18 };

/// A batch ends when so much of it, and the greater part, is irregular: more likely it is of another section.
const MOST_UNUSUAL_BYTES: usize = BATCH_BYTES >> 5;

/// What entries of one section are read by.
#[derive(Clone, Copy)]
pub(super) struct Rules<'r> {
    pub(super) kind: SectionKind,
    pub(super) tables: &'r Tables,
    pub(super) types: &'r IdMap,
    pub(super) methods: &'r IdMap,
    pub(super) context_depth: u32,
    pub(super) json_depth: u32,
    /// Whether keys of contexts are wanted.
    pub(super) identities: bool,
}

/// What to do with an entry that is not taken at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Irregular {
    /// The batch ends before it.
    Stop,
    /// It is stepped over if it is well-formed JSON.
    StepOver,
}

/// One entry of a batch. Positions are those in the text that was parsed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) start: usize,
    pub(super) context_at: usize,
    pub(super) records_at: usize,
    pub(super) frames_end: usize,
    pub(super) records_end: usize,
    /// It has to be parsed and judged by itself.
    pub(super) irregular: bool,
    /// A branch whose counts are all 0, which is worth a warning.
    pub(super) never_executed: bool,
}

/// Entries in the order of the text.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) steps: Vec<Step>,
    pub(super) frames: Vec<Frame>,
    pub(super) counts: Vec<u64>,
    pub(super) rows: Vec<BranchRow>,
    pub(super) pairs: Vec<TypeCount>,
    /// A key for each entry's context, if such are wanted.
    pub(super) identities: Vec<u128>,
    /// Where the entry after the last one begins.
    pub(super) end: usize,
    numbers: Vec<i64>,
}

impl Batch {
    fn clear(&mut self, start: usize) {
        self.steps.clear();
        self.frames.clear();
        self.counts.clear();
        self.rows.clear();
        self.pairs.clear();
        self.identities.clear();
        self.end = start;
    }

    /// Parses entries of `text` from `start` on, each with the comma behind it, to the end or a good deal.
    pub(super) fn parse(&mut self, rules: &Rules<'_>, text: &[u8], start: usize, irregular: Irregular) {
        self.clear(start);
        let mut stepped_over = 0;
        while self.end - start < BATCH_BYTES {
            let (frames, records) = (self.frames.len(), self.records_len(rules.kind));
            let mut step = Step {
                start: self.end,
                context_at: 0,
                records_at: 0,
                frames_end: frames,
                records_end: records,
                irregular: false,
                never_executed: false,
            };
            let next = match self.fast_path(rules, text, &mut step) {
                Some(next) => next,
                None => {
                    self.frames.truncate(frames);
                    self.truncate_records(rules.kind, records);
                    self.identities.truncate(self.steps.len());
                    step = Step { frames_end: frames, records_end: records, irregular: true, ..step };
                    let after =
                        |text, at| (irregular == Irregular::StepOver).then(|| step_over(text, at, rules)).flatten();
                    let Some(next) = after(text, self.end) else { return };
                    stepped_over += next - self.end;
                    if stepped_over > MOST_UNUSUAL_BYTES && 2 * stepped_over > next - start {
                        return;
                    }
                    if rules.identities {
                        self.identities.push(0);
                    }
                    next
                }
            };
            self.steps.push(step);
            self.end = next;
        }
    }

    /// The outermost frames of a range of entries.
    pub(super) fn outermost(&self, steps: Range<usize>) -> impl Iterator<Item = Frame> {
        self.steps[steps].iter().filter_map(|step| self.frames.get(step.frames_end.checked_sub(1)?).copied())
    }

    fn records_len(&self, kind: SectionKind) -> usize {
        match kind {
            SectionKind::CallCount | SectionKind::Sampling => self.counts.len(),
            SectionKind::Conditional => self.rows.len(),
            _ => self.pairs.len(),
        }
    }

    fn truncate_records(&mut self, kind: SectionKind, len: usize) {
        match kind {
            SectionKind::CallCount | SectionKind::Sampling => self.counts.truncate(len),
            SectionKind::Conditional => self.rows.truncate(len),
            _ => self.pairs.truncate(len),
        }
    }

    /// Takes an entry, and says where the next one begins; `None` when anything about it is irregular.
    #[inline]
    fn fast_path(&mut self, rules: &Rules<'_>, text: &[u8], step: &mut Step) -> Option<usize> {
        const HEAD: &[u8] = b"{\"ctx\":\"";
        const RECORDS: &[u8] = b",\"records\":[";
        text.get(self.end..)?.strip_prefix(HEAD)?;
        let context = self.end + HEAD.len();
        step.context_at = context - 1;
        let quote = self.context(rules, text, context)?;
        if rules.identities {
            self.identities.push(context_text::plain_identity(&text[context..quote]));
        }
        text.get(quote + 1..)?.strip_prefix(RECORDS)?;
        let records = quote + 1 + RECORDS.len();
        step.records_at = records - 1;
        let close = self.numbers(text, records)?;
        self.judge(rules, step)?;
        step.frames_end = self.frames.len();
        step.records_end = self.records_len(rules.kind);
        text.get(close + 1..)?.starts_with(b"},").then_some(close + 3)
    }

    /// Takes the frames of a context; returns where its closing quote is.
    #[inline]
    fn context(&mut self, rules: &Rules<'_>, text: &[u8], start: usize) -> Option<usize> {
        let first = self.frames.len();
        let mut at = start;
        loop {
            let method = Digits::at(text, at).filter(|method| (1..8).contains(&method.len))?;
            if method.next() != b':' || method.has_needless_zero() {
                return None;
            }
            let handle = rules.methods.entry(method.value())?;
            at += method.len + 1;
            let mut bci = Digits::at(text, at)?;
            let negative = bci.len == 0 && bci.next() == b'-';
            if negative {
                at += 1;
                bci = Digits::at(text, at)?;
            }
            if !(1..8).contains(&bci.len) || bci.has_needless_zero() {
                return None;
            }
            let mut value = bci.value() as i32;
            if negative {
                value = -value;
                // Nobody writes a zero with a sign.
                if value == 0 {
                    return None;
                }
            }
            if bci::is_odd(value) {
                return None;
            }
            self.frames.push(Frame { method: MethodHandle::from_number(handle), bci: value });
            at += bci.len + 1;
            match bci.next() {
                b'<' => {}
                b'"' => break,
                _ => return None,
            }
        }
        let frames = &self.frames[first..];
        let fits = frames.len() as u64 <= u64::from(rules.context_depth);
        (fits && (rules.kind != SectionKind::CallCount || frames[0].bci == 0)).then_some(at - 1)
    }

    /// Takes the numbers of a list that is not empty; returns where its bracket is.
    #[inline]
    fn numbers(&mut self, text: &[u8], start: usize) -> Option<usize> {
        self.numbers.clear();
        let mut at = start;
        loop {
            let negative = text.get(at) == Some(&b'-');
            let (value, after) = context_text::plain_number(text, at + usize::from(negative))?;
            self.numbers.push(if negative { -value } else { value });
            match text.get(after) {
                Some(b',') => at = after + 1,
                Some(b']') => return Some(after),
                _ => return None,
            }
        }
    }

    /// Makes records of the numbers; `None` when there is something to say about them.
    #[inline]
    fn judge(&mut self, rules: &Rules<'_>, step: &mut Step) -> Option<()> {
        let count = |value: i64| u64::try_from(value).ok();
        match rules.kind {
            SectionKind::CallCount | SectionKind::Sampling => {
                let [value] = self.numbers[..] else { return None };
                self.counts.push(count(value)?);
            }
            SectionKind::Conditional => {
                let (rows, rest) = self.numbers.as_chunks::<3>();
                let first = self.rows.len();
                for [target, index, value] in rows {
                    let bci = i32::try_from(*target).ok().filter(|bci| !bci::is_odd(*bci))?;
                    let index = u32::try_from(i32::try_from(*index).ok()?).ok()?;
                    self.rows.push(BranchRow { index, bci, count: count(*value)? });
                }
                let rows = &self.rows[first..];
                step.never_executed = rows.iter().all(|row| row.count == 0);
                if !rest.is_empty() || index_clash(rows).is_some() {
                    return None;
                }
            }
            SectionKind::VirtualInvoke | SectionKind::Monitor | SectionKind::Instanceof => {
                let (pairs, rest) = self.numbers.as_chunks::<2>();
                let first = self.pairs.len();
                for [id, value] in pairs {
                    let class = TypeHandle::from_index(rules.types.entry(*id)? as usize);
                    if rules.tables.is_primitive(class) {
                        return None;
                    }
                    self.pairs.push(TypeCount { class, count: count(*value)? });
                }
                let pairs = &self.pairs[first..];
                if !rest.is_empty() || pairs.len() > MOST_RECEIVERS || has_repeated_type(pairs) {
                    return None;
                }
            }
        }
        Some(())
    }
}

/// Where the element after the one at `start` begins, if there is a comma between them.
fn step_over(text: &[u8], start: usize, rules: &Rules<'_>) -> Option<usize> {
    // The element is a level itself, which its parser does not count.
    let mut scan = Scan::new(text, start, rules.json_depth.saturating_add(1));
    scan.skip().ok()?;
    scan.take(b',').ok()?.then_some(scan.pos)
}
