//! The meaning of each number of an entry, and the rules it must keep.
//!
//! Entries become a [`Batch`], which depends on nothing but the text and the tables. So threads can make several at a
//! time. Findings are reported, and equal contexts found, when the batch has its turn.

use super::reading::ReadOptions;
use crate::iprof::context::{Frame, bci};
use crate::iprof::document::EntryMember;
use crate::iprof::findings::Code;
use crate::iprof::json::{Scan, Stop};
use crate::iprof::reader::ids::{IdMap, Meaning};
use crate::iprof::reader::text::{Defect, EntryText, TextOptions};
use crate::iprof::sections::{BranchRow, Records, SectionKind, TypeCount};
use crate::iprof::tables::{Tables, TypeHandle};
use std::ops::Range;

/// A message about an entry.
#[derive(Debug, Clone)]
pub(super) enum Note {
    /// A fault; the position is that in the text that was parsed.
    Finding(Defect),
    /// The repair made because of a code.
    Repair(Code, &'static str),
}

/// Whether an entry is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It goes to the sink.
    Sound,
    /// A monitor entry with a wrong context, which is used if it stays the only one.
    Stray,
    /// It is dropped.
    Dropped,
}

/// One entry of a batch: where its parts end. They begin where those of the entry before it end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// Position of the context in the text that was parsed.
    pub(super) context_at: usize,
    pub(super) frames_end: usize,
    pub(super) records_end: usize,
    /// Whether its context is valid, so that another entry may have the same.
    pub(super) is_located: bool,
    /// Where the notes about its context end and those about its records begin.
    pub(super) context_notes_end: usize,
    pub(super) notes_end: usize,
    pub(super) outcome: Outcome,
}

/// The sizes of a batch at some moment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mark {
    pub(super) frames: usize,
    pub(super) records: usize,
}

/// Entries of one section.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) steps: Vec<Step>,
    pub(super) frames: Vec<Frame>,
    pub(super) counts: Vec<u64>,
    pub(super) rows: Vec<BranchRow>,
    pub(super) pairs: Vec<TypeCount>,
    /// A key of each entry's context, if keys are needed.
    pub(super) identities: Vec<u128>,
    pub(super) notes: Vec<Note>,
    /// Members of entries that have others than the known ones in their usual order.
    pub(super) members: Vec<(usize, Box<[EntryMember]>)>,
    pub(super) packing: Packing,
    /// A name of 2022 was used.
    pub(super) legacy: bool,
    /// Whether a writer would write some entry in another way, apart from white space.
    pub(super) respelled: bool,
    /// Where the entry after the last one begins.
    pub(super) end: usize,
}

impl Batch {
    pub(super) fn clear(&mut self, start: usize) {
        self.steps.clear();
        self.frames.clear();
        self.counts.clear();
        self.rows.clear();
        self.pairs.clear();
        self.identities.clear();
        self.notes.clear();
        self.members.clear();
        (self.packing, self.legacy, self.respelled, self.end) = (Packing::default(), false, false, start);
    }

    pub(super) fn mark(&self, kind: SectionKind) -> Mark {
        let records = match kind {
            SectionKind::CallCount | SectionKind::Sampling => self.counts.len(),
            SectionKind::Conditional => self.rows.len(),
            _ => self.pairs.len(),
        };
        Mark { frames: self.frames.len(), records }
    }

    /// Removes frames and records that came after a mark.
    pub(super) fn rewind(&mut self, kind: SectionKind, mark: Mark) {
        self.frames.truncate(mark.frames);
        match kind {
            SectionKind::CallCount | SectionKind::Sampling => self.counts.truncate(mark.records),
            SectionKind::Conditional => self.rows.truncate(mark.records),
            _ => self.pairs.truncate(mark.records),
        }
    }

    pub(super) fn finding(&mut self, defect: Defect) {
        self.notes.push(Note::Finding(defect));
    }

    pub(super) fn repair(&mut self, code: Code, action: &'static str) {
        self.notes.push(Note::Repair(code, action));
    }

    /// The records of an entry that is not dropped.
    #[inline]
    pub(super) fn records(&self, kind: SectionKind, range: Range<usize>) -> Records<'_> {
        match kind {
            SectionKind::CallCount | SectionKind::Sampling => Records::Count(self.counts[range.start]),
            SectionKind::Conditional => Records::Branches(&self.rows[range]),
            _ => Records::Types(&self.pairs[range]),
        }
    }

    /// The outermost frames of a range of entries.
    pub(super) fn outermost(&self, steps: Range<usize>) -> impl Iterator<Item = Frame> + Clone {
        self.steps[steps].iter().filter_map(|step| self.frames.get(step.frames_end.checked_sub(1)?).copied())
    }
}

/// The fault for which an entry is dropped; `None` if it was reported with the method or the types of the entry.
type Refusal = Option<Defect>;

/// Everything needed to read the entries of one section.
#[derive(Clone, Copy)]
pub(super) struct Rules<'r> {
    pub(super) kind: SectionKind,
    pub(super) tables: &'r Tables,
    pub(super) types: &'r IdMap,
    pub(super) options: &'r ReadOptions,
    pub(super) text: TextOptions<'r>,
}

impl Rules<'_> {
    /// Parses the element at the scan's position, whose frames are appended to the batch's.
    #[inline]
    pub(super) fn parse(&self, scan: &mut Scan<'_>, text: &mut EntryText, batch: &mut Batch) -> Result<Mark, Stop> {
        scan.space();
        let mark = batch.mark(self.kind);
        text.parse(scan, &self.text, &mut batch.frames).inspect_err(|_| batch.frames.truncate(mark.frames))?;
        Ok(mark)
    }

    /// Checks a parsed entry, whose frames came after the mark, and appends it to the batch.
    #[inline]
    pub(super) fn judge(&self, text: &mut EntryText, batch: &mut Batch, mark: Mark) {
        let mut step = Step {
            context_at: text.context_at,
            frames_end: 0,
            records_end: 0,
            is_located: false,
            context_notes_end: batch.notes.len(),
            notes_end: 0,
            outcome: Outcome::Sound,
        };
        batch.legacy |= text.members.legacy;
        batch.respelled |= text.members.respelled;
        if let Err(refusal) = self.take(text, batch, mark, &mut step) {
            step.outcome = Outcome::Dropped;
            if let Some(defect) = refusal {
                let code = defect.code;
                batch.finding(defect);
                batch.repair(code, "dropped");
            }
            batch.rewind(self.kind, mark);
        } else if let Some(members) = text.members.kept.take() {
            batch.members.push((batch.steps.len(), members));
        }
        let end = batch.mark(self.kind);
        (step.frames_end, step.records_end, step.notes_end) = (end.frames, end.records, batch.notes.len());
        if self.text.identities {
            batch.identities.push(text.identity);
        }
        batch.steps.push(step);
    }

    #[inline]
    fn take(&self, text: &mut EntryText, batch: &mut Batch, mark: Mark, step: &mut Step) -> Result<(), Refusal> {
        if let Some(defect) = text.members.defect.take() {
            return Err(Some(defect));
        }
        self.context(text, batch, mark, step)?;
        step.context_notes_end = batch.notes.len();
        if !text.troubles.is_empty() {
            decide_numbers(text, batch)?;
        }
        match self.kind {
            SectionKind::CallCount | SectionKind::Sampling => count_record(text, batch),
            SectionKind::Conditional => self.branch_records(text, batch, mark),
            _ => self.type_records(text, batch, mark),
        }
    }

    #[inline]
    fn context(&self, text: &EntryText, batch: &mut Batch, mark: Mark, step: &mut Step) -> Result<(), Refusal> {
        let (at, context) = (text.context_at, &text.context);
        let defect = |code, message: String| Defect::new(code, at, ".ctx", message);
        if !context.valid {
            return Err(Some(defect(Code::BadContext, "not a context of the form method:bci<method:bci…".into())));
        }
        if self.kind == SectionKind::Monitor {
            batch.frames.truncate(mark.frames);
            if context.is_somewhere {
                step.outcome = Outcome::Stray;
                batch.finding(defect(Code::MonitorContext, "the context of a monitor entry must be 0:0".into()));
            }
            return Ok(());
        }
        if let Some(id) = context.unknown {
            let Meaning::Dropped(code) = self.text.methods.find(id) else {
                return Err(Some(defect(Code::DanglingMethod, format!("no method has the id {id}"))));
            };
            // The finding was reported with the method.
            batch.repair(code, "dropped");
            return Err(None);
        }
        let frames = batch.frames.len() - mark.frames;
        if frames as u64 > u64::from(self.options.limits.context_depth) {
            return Err(Some(defect(
                Code::BadContext,
                format!("{frames} frames are more than the limit context-depth"),
            )));
        }
        if let Some(odd) = context.odd {
            batch.finding(defect(Code::OddBci, odd_bci(odd)));
        }
        let leaf = batch.frames.get_mut(mark.frames).map(|leaf| &mut leaf.bci);
        if self.kind == SectionKind::CallCount
            && let Some(leaf) = leaf.filter(|leaf| **leaf != 0)
        {
            let defect = defect(Code::CallCountLeafBci, format!("a call count is at BCI {leaf}, expected 0"));
            if !self.options.reset_call_count_leaf {
                return Err(Some(defect));
            }
            *leaf = 0;
            batch.finding(defect);
            batch.repair(Code::CallCountLeafBci, "set to 0");
        }
        step.is_located = true;
        Ok(())
    }

    #[inline]
    fn branch_records(&self, text: &mut EntryText, batch: &mut Batch, mark: Mark) -> Result<(), Refusal> {
        self.check_tuples(text, batch, 3, "a multiple of 3")?;
        let mut odd = None;
        for (row, [target, number, _]) in text.numbers.as_chunks::<3>().0.iter().enumerate() {
            let start = 3 * row;
            let Ok(bci) = i32::try_from(*target) else {
                return Err(Some(text.record_defect(Code::IdRange, start, format!("{target} is not a Java int"))));
            };
            let Some(index) = i32::try_from(*number).ok().and_then(|n| u32::try_from(n).ok()) else {
                let code = if *number < 0 { Code::NegativeBranchIndex } else { Code::IdRange };
                return Err(Some(text.record_defect(code, start + 1, format!("{number} is not a branch index"))));
            };
            let count = count_at(text, start + 2)?;
            if bci::is_odd(bci) {
                odd = Some((start, bci));
            }
            batch.packing.add(count);
            batch.rows.push(BranchRow { index, bci, count });
        }
        if let Some((position, bci)) = odd {
            batch.finding(text.record_defect(Code::OddBci, position, odd_bci(bci)));
        }
        let rows = &batch.rows[mark.records..];
        let (never, clash) = (!rows.is_empty() && rows.iter().all(|row| row.count == 0), index_clash(rows));
        if never {
            batch.finding(text.records_defect(Code::NeverExecuted, "all counts are 0"));
        }
        if let Some(clash) = clash {
            batch.finding(text.records_defect(Code::BranchIndexClash, format!("the index {clash} has two targets")));
        }
        Ok(())
    }

    #[inline]
    fn type_records(&self, text: &mut EntryText, batch: &mut Batch, mark: Mark) -> Result<(), Refusal> {
        self.check_tuples(text, batch, 2, "an even number")?;
        let mut primitive = None;
        for (pair, [id, _]) in text.numbers.as_chunks::<2>().0.iter().enumerate() {
            let start = 2 * pair;
            let count = count_at(text, start + 1)?;
            batch.packing.add(count);
            match self.types.find(*id) {
                Meaning::Entry(handle) => {
                    let class = TypeHandle::from_index(handle as usize);
                    if self.tables.is_primitive(class) {
                        primitive.get_or_insert(start);
                    }
                    batch.pairs.push(TypeCount { class, count });
                }
                Meaning::Unknown => {
                    let message = format!("no type has the id {id}");
                    batch.finding(text.record_defect(Code::DanglingType, start, message));
                    batch.repair(Code::DanglingType, "dropped pairs");
                }
                Meaning::Dropped(code) => batch.repair(code, "dropped pairs"),
            }
        }
        let pairs = &batch.pairs[mark.records..];
        if pairs.is_empty() && !text.numbers.is_empty() {
            batch.repair(Code::DanglingType, "dropped");
            return Err(None);
        }
        let (repeated, found) = (has_repeated_type(pairs), pairs.len());
        if let Some(start) = primitive {
            let message = "a receiver cannot have a primitive type";
            batch.finding(text.record_defect(Code::PrimitiveReceiver, start, message));
        }
        if repeated {
            batch.finding(text.records_defect(Code::RepeatedTypeInRecords, "a type is listed twice"));
        }
        if self.kind != SectionKind::Monitor && found > MOST_RECEIVERS {
            let message = format!("{found} types; producers record at most {MOST_RECEIVERS}");
            batch.finding(text.records_defect(Code::ManyReceivers, message));
        }
        Ok(())
    }

    /// Requires whole rows; an incomplete last row is removed if the options say so.
    #[inline]
    fn check_tuples(
        &self,
        text: &mut EntryText,
        batch: &mut Batch,
        size: usize,
        expected: &str,
    ) -> Result<(), Refusal> {
        let tail = text.numbers.len() % size;
        if tail > 0 {
            let whole = text.numbers.len() - tail;
            let defect = arity_defect(text, expected);
            if !self.options.keep_whole_rows || whole == 0 {
                return Err(Some(defect));
            }
            batch.finding(defect);
            text.numbers.truncate(whole);
            batch.repair(Code::BadArity, "cut to whole rows");
        }
        if text.numbers.is_empty() {
            batch.finding(text.records_defect(Code::EmptyRecords, "the entry has no rows"));
        }
        Ok(())
    }
}

/// Reports numbers that are not a plain `long`. One without a repair drops the entry.
#[cold]
fn decide_numbers(text: &mut EntryText, batch: &mut Batch) -> Result<(), Refusal> {
    for (defect, done) in text.troubles.drain(..) {
        let Some(done) = done else { return Err(Some(defect)) };
        batch.repair(defect.code, done);
        batch.finding(defect);
    }
    Ok(())
}

#[inline]
fn count_record(text: &EntryText, batch: &mut Batch) -> Result<(), Refusal> {
    if text.numbers.len() != 1 {
        return Err(Some(arity_defect(text, "exactly 1")));
    }
    let count = count_at(text, 0)?;
    batch.packing.add(count);
    batch.counts.push(count);
    Ok(())
}

/// A count, which is never negative.
#[inline]
fn count_at(text: &EntryText, position: usize) -> Result<u64, Refusal> {
    let value = text.numbers[position];
    let below_zero = || text.record_defect(Code::NegativeCount, position, format!("{value} is below 0"));
    u64::try_from(value).map_err(|_| Some(below_zero()))
}

fn arity_defect(text: &EntryText, expected: &str) -> Defect {
    text.records_defect(Code::BadArity, format!("{} values, {expected} expected", text.numbers.len()))
}

fn odd_bci(odd: i32) -> String {
    format!("{odd} is neither a bytecode index nor a known placeholder")
}

/// Producers record at most this many types at a site.
const MOST_RECEIVERS: usize = 8;

/// Detects 32-bit counters that were read in pairs: counts ≥ 2^32 whose halves are of similar size.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Packing {
    positive: u64,
    large: u64,
    pub(super) alike: u64,
}

impl Packing {
    #[inline]
    fn add(&mut self, count: u64) {
        self.positive += u64::from(count > 0);
        let (upper, lower) = (count >> 32, count & 0xffff_ffff);
        if upper == 0 {
            return;
        }
        self.large += 1;
        // Of honest counts not one in a million has halves within a factor of 16.
        self.alike += u64::from(upper.max(lower) <= 16 * upper.min(lower));
    }

    pub(super) fn join(&mut self, other: Self) {
        self.positive += other.positive;
        self.large += other.large;
        self.alike += other.alike;
    }

    pub(super) fn is_packed(self) -> bool {
        self.alike >= 2 && 2 * self.alike >= self.large && 10 * self.alike >= self.positive
    }
}

/// An index with two real targets.
fn index_clash(rows: &[BranchRow]) -> Option<u32> {
    if let [a, b] = rows {
        return (a.index == b.index && a.bci != b.bci && a.bci >= 0 && b.bci >= 0).then_some(a.index);
    }
    let mut real: Vec<(u32, i32)> = rows.iter().filter(|row| row.bci >= 0).map(|row| (row.index, row.bci)).collect();
    real.sort_unstable();
    real.windows(2).find(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1).map(|pair| pair[0].0)
}

fn has_repeated_type(pairs: &[TypeCount]) -> bool {
    if pairs.len() <= MOST_RECEIVERS {
        return pairs.iter().enumerate().any(|(at, pair)| pairs[..at].iter().any(|other| other.class == pair.class));
    }
    let mut classes: Vec<TypeHandle> = pairs.iter().map(|pair| pair.class).collect();
    classes.sort_unstable();
    classes.windows(2).any(|pair| pair[0] == pair[1])
}
