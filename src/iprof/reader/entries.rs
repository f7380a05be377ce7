//! Reading the entries of profile sections: what each number means, and whether it may.

use super::batch::{Batch, Irregular, Rules};
use super::context_text::RawFrame;
use super::entry_text::{ParseOptions, Parsed, TroubleKind};
use super::ids::{IdMap, Meaning};
use super::members::Defect;
use super::options::ReadOptions;
use super::records::{MOST_RECEIVERS, Packing, has_repeated_type, index_clash};
use super::sink::{Entry, Sink};
use crate::iprof::context::{Frame, bci};
use crate::iprof::findings::{Code, Findings};
use crate::iprof::index::KeySet;
use crate::iprof::json::{Scan, Stop};
use crate::iprof::sections::{BranchRow, Records, SectionKind, TypeCount};
use crate::iprof::tables::{MethodHandle, Tables, TypeHandle};
use crate::iprof::window::Elements;

/// Entries that are announced at a time.
const ANNOUNCED: usize = 16;

/// What reading entries needs from the reader.
pub(super) struct EntryContext<'r, S> {
    pub(super) tables: &'r Tables,
    pub(super) types: &'r IdMap,
    pub(super) methods: &'r IdMap,
    pub(super) findings: &'r mut Findings,
    pub(super) sink: &'r mut S,
    pub(super) options: &'r ReadOptions,
    pub(super) legacy: &'r mut bool,
    /// Entries of this kind delivered before, when a section comes in two parts.
    pub(super) delivered: u64,
}

/// Reads the entries of one section.
pub(super) struct EntryReader<'r, S> {
    context: EntryContext<'r, S>,
    kind: SectionKind,
    group: &'static str,
    parse: ParseOptions,
    parsed: Parsed,
    seen: KeySet,
    frames: Vec<Frame>,
    rows: Vec<BranchRow>,
    pairs: Vec<TypeCount>,
    packing: Packing,
    /// A monitor entry with a wrong context, which is right if it stays the only one.
    stray_monitor: Option<Vec<TypeCount>>,
    batch: Batch,
    count: u64,
    delivered: u64,
}

impl<'r, S: Sink> EntryReader<'r, S> {
    pub(super) fn new(kind: SectionKind, bare: bool, context: EntryContext<'r, S>) -> Self {
        let identities = context.options.find_duplicates && kind != SectionKind::Monitor;
        let keep_others = context.options.keep_unknown;
        Self {
            context,
            kind,
            group: kind.name(),
            parse: ParseOptions { keep_others, identities, bare },
            parsed: Parsed::default(),
            seen: KeySet::default(),
            frames: Vec::new(),
            rows: Vec::new(),
            pairs: Vec::new(),
            packing: Packing::default(),
            stray_monitor: None,
            batch: Batch::default(),
            count: 0,
            delivered: 0,
        }
    }

    fn report(&mut self, index: usize, defect: &Defect) {
        let group = self.group;
        self.context.findings.report(defect.code, group, Some(self.parsed.base + defect.at as u64), || {
            (format!("{group}[{index}]{}", defect.below), defect.message.clone())
        });
    }

    fn warn(&mut self, index: usize, code: Code, at: usize, detail: impl FnOnce() -> (String, String)) {
        let group = self.group;
        self.context.findings.report(code, group, Some(self.parsed.base + at as u64), || {
            let (below, message) = detail();
            (format!("{group}[{index}]{below}"), message)
        });
    }

    fn drop_entry(&mut self, index: usize, defect: &Defect) {
        self.report(index, defect);
        self.context.findings.repaired(defect.code, "dropped", self.group, 1);
    }

    /// Checks the entry and hands it on; `Err` drops it.
    fn take(&mut self, index: usize) -> Result<(), Option<Defect>> {
        if let Some(defect) = self.parsed.walk.defect.take() {
            return Err(Some(defect));
        }
        if !self.parsed.sound_context {
            let message = "no context of the form method:bci<method:bci…";
            return Err(Some(Defect::new(Code::BadContext, self.parsed.context_at, ".ctx", message)));
        }
        let stray = self.kind == SectionKind::Monitor && self.parsed.frames != [RawFrame { method: 0, bci: 0 }];
        if stray {
            let message = "the monitor entry's context is 0:0";
            self.report(index, &Defect::new(Code::MonitorContext, self.parsed.context_at, ".ctx", message));
        } else if self.kind != SectionKind::Monitor {
            self.resolve_frames(index)?;
        }
        if self.parse.identities {
            self.find_twin(index, self.parsed.identity);
        }
        let records = self.records(index)?;
        if stray {
            self.stray_monitor = Some(self.pairs.clone());
            return Ok(());
        }
        let members = self.parsed.walk.members.take();
        let records = match records {
            RecordsKind::Count(count) => Records::Count(count),
            RecordsKind::Rows => Records::Branches(&self.rows),
            RecordsKind::Pairs => Records::Types(&self.pairs),
        };
        let frames: &[Frame] = if self.kind == SectionKind::Monitor { &[] } else { &self.frames };
        self.context.sink.entry(self.context.tables, Entry { kind: self.kind, frames, records, members });
        self.delivered += 1;
        Ok(())
    }

    fn resolve_frames(&mut self, index: usize) -> Result<(), Option<Defect>> {
        self.frames.clear();
        let mut odd = None;
        for frame in &self.parsed.frames {
            match self.context.methods.find(frame.method) {
                Meaning::Entry(handle) => {
                    if bci::is_odd(frame.bci) {
                        odd = Some(frame.bci);
                    }
                    self.frames.push(Frame { method: MethodHandle::from_index(handle as usize), bci: frame.bci });
                }
                Meaning::Unknown => {
                    let message = format!("no method has the id {}", frame.method);
                    return Err(Some(Defect::new(Code::DanglingMethod, self.parsed.context_at, ".ctx", message)));
                }
                Meaning::Dropped(code) => {
                    // Reported where the method was dropped; this entry goes with it.
                    self.context.findings.repaired(code, "dropped", self.group, 1);
                    return Err(None);
                }
            }
        }
        let at = self.parsed.context_at;
        if self.parsed.frames.len() as u64 > u64::from(self.context.options.limits.context_depth) {
            let message = format!("{} frames are more than the limit", self.parsed.frames.len());
            return Err(Some(Defect::new(Code::BadContext, at, ".ctx", message)));
        }
        if let Some(odd) = odd {
            self.warn_odd(index, at, ".ctx", odd);
        }
        if self.kind == SectionKind::CallCount
            && let Some(leaf) = self.frames.first_mut()
            && leaf.bci != 0
        {
            let message = format!("a call count is for position 0, not {}", leaf.bci);
            let defect = Defect::new(Code::CallCountLeafBci, at, ".ctx", message);
            if !self.context.options.reset_call_count_leaf {
                return Err(Some(defect));
            }
            leaf.bci = 0;
            self.report(index, &defect);
            self.context.findings.repaired(Code::CallCountLeafBci, "set to 0", self.group, 1);
        }
        Ok(())
    }

    fn warn_odd(&mut self, index: usize, at: usize, below: &str, odd: i32) {
        self.warn(index, Code::OddBci, at, || {
            (below.to_string(), format!("{odd} is neither a bytecode index nor a known placeholder"))
        });
    }

    fn find_twin(&mut self, index: usize, key: u128) {
        if !self.seen.insert(key) {
            let at = self.parsed.context_at;
            self.warn(index, Code::DuplicateContext, at, || {
                (".ctx".to_string(), "the section has an entry of this context already".to_string())
            });
        }
    }

    fn records(&mut self, index: usize) -> Result<RecordsKind, Option<Defect>> {
        self.resolve_numbers(index)?;
        match self.kind {
            SectionKind::CallCount | SectionKind::Sampling => self.count_record(),
            SectionKind::Conditional => self.branch_records(index),
            SectionKind::VirtualInvoke | SectionKind::Monitor | SectionKind::Instanceof => self.type_records(index),
        }
    }

    /// Decides about numbers that are no plain `long`.
    fn resolve_numbers(&mut self, index: usize) -> Result<(), Option<Defect>> {
        if self.parsed.troubles.is_empty() {
            return Ok(());
        }
        for trouble in std::mem::take(&mut self.parsed.troubles) {
            let below = format!(".records[{}]", trouble.position);
            let defect = |code, message: &str| Defect::new(code, trouble.at, below.clone(), message);
            match trouble.kind {
                TroubleKind::Huge { negative: true } => {
                    return Err(Some(defect(Code::NegativeCount, "no count is below 0")));
                }
                TroubleKind::Huge { negative: false } => {
                    self.report(index, &defect(Code::CountRange, "no count is above 2^63-1"));
                    self.context.findings.repaired(Code::CountRange, "clamped", self.group, 1);
                }
                TroubleKind::Spelling => {
                    self.report(index, &defect(Code::NotAnInteger, "the number has a point or exponent"));
                    self.context.findings.repaired(Code::NotAnInteger, "rewritten", self.group, 1);
                }
                TroubleKind::NotIntegral => return Err(Some(defect(Code::NotAnInteger, "the number is no integer"))),
            }
        }
        Ok(())
    }

    fn arity_defect(&self, expected: &str) -> Option<Defect> {
        let message = format!("{} values, {expected} expected", self.parsed.numbers.len());
        Some(Defect::new(Code::BadArity, self.parsed.records_at, ".records", message))
    }

    /// A count, which is never negative.
    fn count_at(&self, position: usize) -> Result<u64, Option<Defect>> {
        let value = self.parsed.numbers.get(position).copied().unwrap_or_default();
        u64::try_from(value).map_err(|_| {
            let below = format!(".records[{position}]");
            Some(Defect::new(Code::NegativeCount, self.parsed.records_at, below, format!("{value} is below 0")))
        })
    }

    fn count_record(&mut self) -> Result<RecordsKind, Option<Defect>> {
        if self.parsed.numbers.len() != 1 {
            return Err(self.arity_defect("exactly 1"));
        }
        let count = self.count_at(0)?;
        self.packing.add(count);
        Ok(RecordsKind::Count(count))
    }

    fn branch_records(&mut self, index: usize) -> Result<RecordsKind, Option<Defect>> {
        let at = self.parsed.records_at;
        self.check_tuples(index, 3, "a multiple of 3")?;
        self.rows.clear();
        let mut odd = None;
        for row in 0..self.parsed.numbers.len() / 3 {
            let start = 3 * row;
            let (target, number) = (self.parsed.numbers[start], self.parsed.numbers[start + 1]);
            let Ok(bci) = i32::try_from(target) else {
                let message = format!("{target} is no Java int");
                return Err(Some(Defect::new(Code::IdRange, at, format!(".records[{start}]"), message)));
            };
            let Some(branch) = i32::try_from(number).ok().and_then(|n| u32::try_from(n).ok()) else {
                let code = if number < 0 { Code::NegativeBranchIndex } else { Code::IdRange };
                let message = format!("{number} is no branch index");
                return Err(Some(Defect::new(code, at, format!(".records[{}]", start + 1), message)));
            };
            let count = self.count_at(start + 2)?;
            if bci::is_odd(bci) {
                odd = Some((start, bci));
            }
            self.packing.add(count);
            self.rows.push(BranchRow { index: branch, bci, count });
        }
        if let Some((position, bci)) = odd {
            self.warn_odd(index, at, &format!(".records[{position}]"), bci);
        }
        if !self.rows.is_empty() && self.rows.iter().all(|row| row.count == 0) {
            self.warn_never_executed(index, at);
        }
        if let Some(clash) = index_clash(&self.rows) {
            self.warn(index, Code::BranchIndexClash, at, || {
                (".records".into(), format!("the index {clash} has two targets"))
            });
        }
        Ok(RecordsKind::Rows)
    }

    /// Whether the numbers make whole rows; a cut tail goes if that is wanted.
    fn check_tuples(&mut self, index: usize, size: usize, expected: &str) -> Result<(), Option<Defect>> {
        let tail = self.parsed.numbers.len() % size;
        if tail > 0 {
            let whole = self.parsed.numbers.len() - tail;
            let defect = self.arity_defect(expected);
            if !self.context.options.keep_whole_rows || whole == 0 {
                return Err(defect);
            }
            if let Some(defect) = &defect {
                self.report(index, defect);
            }
            self.parsed.numbers.truncate(whole);
            self.context.findings.repaired(Code::BadArity, "cut to whole rows", self.group, 1);
        }
        if self.parsed.numbers.is_empty() {
            let at = self.parsed.records_at;
            self.warn(index, Code::EmptyRecords, at, || (".records".into(), "the entry has no rows".into()));
        }
        Ok(())
    }

    fn type_records(&mut self, index: usize) -> Result<RecordsKind, Option<Defect>> {
        let at = self.parsed.records_at;
        self.check_tuples(index, 2, "an even number")?;
        self.pairs.clear();
        let mut primitive = None;
        for pair in 0..self.parsed.numbers.len() / 2 {
            let start = 2 * pair;
            let id = self.parsed.numbers[start];
            let count = self.count_at(start + 1)?;
            self.packing.add(count);
            let below = || format!(".records[{start}]");
            match self.context.types.find(id) {
                Meaning::Entry(handle) => {
                    let class = TypeHandle::from_index(handle as usize);
                    if self.context.tables.is_primitive(class) {
                        primitive.get_or_insert(start);
                    }
                    self.pairs.push(TypeCount { class, count });
                }
                Meaning::Unknown => {
                    let message = format!("no type has the id {id}");
                    self.report(index, &Defect::new(Code::DanglingType, at, below(), message));
                    self.context.findings.repaired(Code::DanglingType, "dropped pairs", self.group, 1);
                }
                Meaning::Dropped(code) => self.context.findings.repaired(code, "dropped pairs", self.group, 1),
            }
        }
        if self.pairs.is_empty() && !self.parsed.numbers.is_empty() {
            self.context.findings.repaired(Code::DanglingType, "dropped", self.group, 1);
            return Err(None);
        }
        if let Some(start) = primitive {
            self.warn(index, Code::PrimitiveReceiver, at, || {
                (format!(".records[{start}]"), "a receiver is an object, not of a primitive type".into())
            });
        }
        if has_repeated_type(&self.pairs) {
            self.warn(index, Code::RepeatedTypeInRecords, at, || (".records".into(), "a type is listed twice".into()));
        }
        if self.kind != SectionKind::Monitor && self.pairs.len() > MOST_RECEIVERS {
            let found = self.pairs.len();
            self.warn(index, Code::ManyReceivers, at, || {
                (".records".into(), format!("{found} types; producers record at most {MOST_RECEIVERS}"))
            });
        }
        Ok(RecordsKind::Pairs)
    }

    /// Whether entries may come in batches. Monitors have no context, and one entry at most.
    pub(super) fn takes_batches(&self) -> bool {
        self.kind != SectionKind::Monitor
    }

    /// What entries are read by that need no judgement of their own.
    pub(super) fn rules(&self) -> Rules<'r> {
        let limits = &self.context.options.limits;
        Rules {
            kind: self.kind,
            tables: self.context.tables,
            types: self.context.types,
            methods: self.context.methods,
            context_depth: limits.context_depth,
            json_depth: limits.json_depth,
            identities: self.parse.identities,
        }
    }

    /// Hands on a batch of `text`, which stands at byte `base`; the first entry is number
    /// `index`. Returns how many entries there were, and where the next begins.
    pub(super) fn deliver(&mut self, batch: &Batch, text: &[u8], base: u64, index: usize) -> (usize, usize) {
        let (mut frames, mut records) = (0, 0);
        for (at, step) in batch.steps.iter().enumerate() {
            if at % ANNOUNCED == 0 {
                let coming = at..batch.steps.len().min(at + ANNOUNCED);
                self.context.sink.announce(batch.outermost(coming.clone()));
                self.seen.fetch(batch.identities.get(coming).unwrap_or_default());
            }
            if step.irregular {
                let mut scan = Scan::new(text, step.start, self.context.options.limits.json_depth);
                if Elements::parse(self, &mut scan, base, index + at).is_err() {
                    // It is well-formed, so this cannot be; if it is, let it be said where it stands.
                    return (at, step.start);
                }
                self.commit(index + at);
                continue;
            }
            (self.parsed.base, self.parsed.context_at) = (base, step.context_at);
            if let Some(key) = batch.identities.get(at) {
                self.find_twin(index + at, *key);
            }
            let found = records..step.records_end;
            let records_of = match self.kind {
                SectionKind::CallCount | SectionKind::Sampling => {
                    self.packing.add(batch.counts[found.start]);
                    Records::Count(batch.counts[found.start])
                }
                SectionKind::Conditional => {
                    batch.rows[found.clone()].iter().for_each(|row| self.packing.add(row.count));
                    Records::Branches(&batch.rows[found])
                }
                SectionKind::VirtualInvoke | SectionKind::Monitor | SectionKind::Instanceof => {
                    batch.pairs[found.clone()].iter().for_each(|pair| self.packing.add(pair.count));
                    Records::Types(&batch.pairs[found])
                }
            };
            if step.never_executed {
                self.warn_never_executed(index + at, step.records_at);
            }
            let entry = Entry {
                kind: self.kind,
                frames: &batch.frames[frames..step.frames_end],
                records: records_of,
                members: None,
            };
            self.context.sink.entry(self.context.tables, entry);
            (frames, records) = (step.frames_end, step.records_end);
            self.count += 1;
            self.delivered += 1;
        }
        (batch.steps.len(), batch.end)
    }

    fn warn_never_executed(&mut self, index: usize, at: usize) {
        self.warn(index, Code::NeverExecuted, at, || (".records".into(), "all counts are 0".into()));
    }

    /// After the last entry: what concerns the section as a whole. Returns how
    /// many entries there were, and how many of them were handed on.
    pub(super) fn finish(mut self) -> (u64, u64) {
        if let Some(pairs) = self.stray_monitor.take() {
            if self.count == 1 && self.context.delivered == 0 {
                let entry = Entry { kind: self.kind, frames: &[], records: Records::Types(&pairs), members: None };
                self.context.sink.entry(self.context.tables, entry);
                self.context.findings.repaired(Code::MonitorContext, "set to 0:0", self.group, 1);
                self.delivered += 1;
            } else {
                self.context.findings.repaired(Code::MonitorContext, "dropped", self.group, 1);
            }
        }
        if self.kind == SectionKind::Monitor && self.count > 1 {
            let count = self.count;
            self.context.findings.report(Code::MonitorCount, self.group, None, || {
                ("monitorProfiles".to_string(), format!("{count} entries, one was expected"))
            });
        }
        if self.packing.is_packed() {
            let (group, alike) = (self.group, self.packing.alike);
            self.context.findings.report(Code::PackedCounts, group, None, || {
                (group.to_string(), format!("{alike} counts look like two 32-bit counters read as one"))
            });
        }
        (self.count, self.delivered)
    }
}

enum RecordsKind {
    Count(u64),
    Rows,
    Pairs,
}

impl<S: Sink> Elements for EntryReader<'_, S> {
    #[inline]
    fn parse(&mut self, scan: &mut Scan<'_>, base: u64, _: usize) -> Result<(), Stop> {
        self.parsed.parse(scan, base, &self.parse)
    }

    fn run(&mut self, text: &[u8], pos: usize, base: u64, index: usize) -> (usize, usize) {
        if !self.takes_batches() {
            return (0, pos);
        }
        let mut batch = std::mem::take(&mut self.batch);
        batch.parse(&self.rules(), text, pos, Irregular::Stop);
        let done = self.deliver(&batch, text, base, index);
        self.batch = batch;
        done
    }

    fn commit(&mut self, index: usize) {
        self.count += 1;
        *self.context.legacy |= self.parsed.walk.legacy;
        match self.take(index) {
            Ok(()) | Err(None) => {}
            Err(Some(defect)) => self.drop_entry(index, &defect),
        }
    }
}
