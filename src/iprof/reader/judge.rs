//! What each number of an entry means, and whether it may.

use super::batch::{Batch, Mark, Outcome, Step};
use super::entry_text::{EntryText, TextOptions};
use super::ids::{IdMap, Meaning};
use super::members::Defect;
use super::options::ReadOptions;
use super::records::{MOST_RECEIVERS, has_repeated_type, index_clash};
use crate::iprof::context::bci;
use crate::iprof::findings::Code;
use crate::iprof::json::{Scan, Stop};
use crate::iprof::sections::{BranchRow, SectionKind, TypeCount};
use crate::iprof::tables::{Tables, TypeHandle};

/// Why an entry is dropped; `None` when that was said where its method or its types were.
type Refusal = Option<Defect>;

/// What entries of one section are read by.
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

    /// Appends what a parsed element comes to, whose frames came after the mark.
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
        batch.legacy |= text.walk.legacy;
        batch.usual_bytes += text.usual_bytes as u64;
        if let Err(refusal) = self.take(text, batch, mark, &mut step) {
            step.outcome = Outcome::Dropped;
            if let Some(defect) = refusal {
                let code = defect.code;
                batch.finding(defect);
                batch.repair(code, "dropped");
            }
            batch.rewind(self.kind, mark);
        } else if let Some(members) = text.walk.members.take() {
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
        if let Some(defect) = text.walk.defect.take() {
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
            return Err(Some(defect(Code::BadContext, "no context of the form method:bci<method:bci…".into())));
        }
        if self.kind == SectionKind::Monitor {
            batch.frames.truncate(mark.frames);
            if context.is_somewhere {
                step.outcome = Outcome::Stray;
                batch.finding(defect(Code::MonitorContext, "the monitor entry's context is 0:0".into()));
            }
            return Ok(());
        }
        if let Some(id) = context.unknown {
            let Meaning::Dropped(code) = self.text.methods.find(id) else {
                return Err(Some(defect(Code::DanglingMethod, format!("no method has the id {id}"))));
            };
            // Reported where the method was dropped; this entry goes with it.
            batch.repair(code, "dropped");
            return Err(None);
        }
        let frames = batch.frames.len() - mark.frames;
        if frames as u64 > u64::from(self.options.limits.context_depth) {
            return Err(Some(defect(Code::BadContext, format!("{frames} frames are more than the limit"))));
        }
        if let Some(odd) = context.odd {
            batch.finding(defect(Code::OddBci, odd_bci(odd)));
        }
        let leaf = batch.frames.get_mut(mark.frames).map(|leaf| &mut leaf.bci);
        if self.kind == SectionKind::CallCount
            && let Some(leaf) = leaf.filter(|leaf| **leaf != 0)
        {
            let defect = defect(Code::CallCountLeafBci, format!("a call count is for position 0, not {leaf}"));
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
                return Err(Some(text.record_defect(Code::IdRange, start, format!("{target} is no Java int"))));
            };
            let Some(index) = i32::try_from(*number).ok().and_then(|n| u32::try_from(n).ok()) else {
                let code = if *number < 0 { Code::NegativeBranchIndex } else { Code::IdRange };
                return Err(Some(text.record_defect(code, start + 1, format!("{number} is no branch index"))));
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
            let message = "a receiver is an object, not of a primitive type";
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

    /// Whether the numbers make whole rows; a cut tail goes if that is wanted.
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

/// What was decided about numbers that are no plain `long`.
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
