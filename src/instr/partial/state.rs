//! The encoding of a partial merge.

use crate::error::{Error, Result};
use crate::instr::partial::runs;
use crate::instr::partial::runs::SiteLog;
use crate::instr::partial::sums::{
    Contribution, Extra, Group, MemoryInput, NextInput, PartialMerge, Pool, Shape, Summed, Whole,
};
use crate::limits::Limits;
use crate::memprof::ProfileOrder;
use crate::model::symbols::name_refs;
use crate::model::{
    BinaryId, FunctionId, FunctionRecord, FunctionTable, FunctionView, MemProfSection, NameRef, ProfileKind,
    RecordStore, RecordView, TemporalProfile, TemporalTrace, ValueCount, ValueKind,
};
use crate::partial::{Decoder, Encoder, PartialInput};

impl PartialMerge {
    /// Encodes the state for [`decode`](Self::decode).
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn encode(&self) -> Result<Vec<u8>> {
        self.encode_after(&FunctionTable::new(), |_| false, false)
    }

    /// Encodes the state that follows a profile with the functions of `front` that `keeps` accepts, for
    /// [`decode_after`](Self::decode_after). The state does not repeat these names, counters and bitmaps. If not
    /// `has_bitmaps`, the file has no bitmaps.
    pub(in crate::instr) fn encode_after(
        &self,
        front: &FunctionTable,
        keeps: impl Fn(FunctionView<'_>) -> bool,
        has_bitmaps: bool,
    ) -> Result<Vec<u8>> {
        let mut front = Front::new(&self.names, front, keeps, has_bitmaps);
        let mut out = Encoder::default();
        out.number(self.max_count);
        out.list(self.applied.iter(), |out, words| out.text(words.as_bytes()));
        out.list(self.inputs.iter(), |out, input| input.encode(out));
        out.count(self.names.len() - front.functions);
        self.names.iter().filter(|function| front.lacks(function.id())).for_each(|function| out.text(function.name()));
        out.list(self.groups.iter(), |out, group| group.encode(&mut front, out));
        out.list(self.binary_ids.iter(), |out, ids| out.list(ids.iter(), |out, id| out.text(id)));
        out.list(self.vtable_names.iter(), |out, names| out.list(names.iter(), |out, name| out.text(name)));
        for contribution in &self.contributions {
            match contribution {
                None => out.number(0),
                Some(contribution) => contribution.encode(&mut out),
            }
        }
        Ok(out.finish())
    }
}

/// The profile in front of a state that is written.
struct Front<'a> {
    table: &'a FunctionTable,
    has_bitmaps: bool,
    /// The number of functions in the profile.
    functions: usize,
    /// For each function of the sums, its number in the state: functions of the profile by the hashes of their names,
    /// then others. Both sides can compute this order.
    numbers: Vec<u32>,
    /// For each function of the sums, the one of the profile.
    known: Vec<Option<FunctionId>>,
    /// For each record of the profile, whether a sum refers to it.
    is_used: Vec<bool>,
}

/// Returns the order of the functions of a profile in the state after it.
fn in_order(table: &FunctionTable, functions: impl Iterator<Item = FunctionId>) -> Vec<FunctionId> {
    let mut functions: Vec<(NameRef, FunctionId)> = functions.map(|id| (table.function(id).name_ref(), id)).collect();
    functions.sort_unstable_by_key(|(hash, _)| *hash);
    // Names are compared only if their hashes are equal, which is rare.
    for same in functions.chunk_by_mut(|(hash, _), (next, _)| hash == next) {
        same.sort_unstable_by_key(|(_, id)| table.name(*id));
    }
    functions.into_iter().map(|(_, id)| id).collect()
}

impl<'a> Front<'a> {
    fn new(
        names: &FunctionTable,
        table: &'a FunctionTable,
        keeps: impl Fn(FunctionView<'_>) -> bool,
        has_bitmaps: bool,
    ) -> Self {
        let mut known = vec![None; names.len()];
        let written = table.iter().filter(|function| function.records().next().is_some() && keeps(*function));
        let written = written.filter_map(|function| {
            // Most profiles have their functions in the order of the sums.
            let is_same = names.name_at(function.id().index()) == Some(function.name());
            let found = if is_same {
                Some(function.id())
            } else {
                names.find_hashed(function.name(), function.name_ref()).map(FunctionView::id)
            };
            known[found?.index()] = Some(function.id());
            found
        });
        let written = in_order(names, written);
        let mut numbers = vec![u32::MAX; names.len()];
        let mut next = 0u32..;
        written.iter().for_each(|id| numbers[id.index()] = next.next().unwrap_or_default());
        for number in numbers.iter_mut().filter(|number| **number == u32::MAX) {
            *number = next.next().unwrap_or_default();
        }
        Self { table, has_bitmaps, functions: written.len(), numbers, known, is_used: vec![false; table.records_len()] }
    }

    /// Returns true if a function of the sums is not in the profile.
    fn lacks(&self, function: FunctionId) -> bool {
        self.known[function.index()].is_none()
    }

    /// Returns true if the profile has a record with these counts, to which no other sum refers, and marks it.
    fn take(&mut self, sum: &Summed, counts: RecordView<'_>) -> bool {
        let Some(function) = self.known[sum.function.index()].filter(|_| !sum.shape.is_whole) else { return false };
        let Some(id) = self.table.find_record(function, sum.func_hash) else { return false };
        let record = self.table.record(id);
        let is_same = record.counters == counts.counters
            && record.bitmap == counts.bitmap
            && (self.has_bitmaps || counts.bitmap.is_empty());
        is_same && !std::mem::replace(&mut self.is_used[id.index()], true)
    }
}

impl Group {
    fn encode(&self, front: &mut Front<'_>, out: &mut Encoder) {
        out.hash(self.kind.bits());
        out.number(self.is_after_front_end.into());
        out.list(self.records.iter().enumerate(), |out, (at, record)| record.encode(self.sums.record(at), front, out));
        out.list(self.sequences.iter(), |out, visits| runs::encode(visits, self.records.len(), out));
    }
}

impl Summed {
    fn encode(&self, counts: RecordView<'_>, front: &mut Front<'_>, out: &mut Encoder) {
        let shape = self.shape;
        out.number(front.numbers[self.function.index()].into());
        out.hash(self.func_hash);
        let is_in_front = front.take(self, counts);
        let marks = [shape.is_whole, shape.is_left_out, shape.has_sites(), self.extra.is_some(), is_in_front];
        out.number(marks.iter().rev().fold(0, |all, mark| all << 1 | u64::from(*mark)));
        if shape.has_sites() {
            // One byte per site, so that a reader never takes more memory than the length of the state.
            shape.sites.iter().for_each(|count| out.text(&vec![0; *count as usize]));
        }
        if shape.is_whole {
            out.number(shape.counters.into());
            out.number(shape.bitmap.into());
        } else if !is_in_front {
            out.list(counts.counters.iter(), |out, count| out.number(count));
            out.text(counts.bitmap);
        }
        if let Some(extra) = &self.extra {
            extra.encode(out);
        }
    }
}

impl Extra {
    fn encode(&self, out: &mut Encoder) {
        out.text(self.sites.bytes());
        out.list(self.overflows.iter(), |out, input| out.number((*input).into()));
        out.list(self.whole.iter(), |out, whole| {
            out.number(whole.weight);
            encode_record(&whole.record, out);
        });
    }
}

fn encode_record(record: &FunctionRecord, out: &mut Encoder) {
    out.numbers(&record.counters);
    out.text(&record.bitmap);
    out.numbers(&record.uniformity.counts);
    out.text(&record.uniformity.bits);
    for kind in ValueKind::EACH {
        out.list(record.sites(kind).iter(), |out, site| {
            out.list(site.iter(), |out, seen| {
                out.number(seen.value);
                out.number(seen.count);
            });
        });
    }
}

impl Contribution {
    fn encode(&self, out: &mut Encoder) {
        out.number(u64::from(self.group) + 1);
        [self.sequence, self.binary_ids, self.vtable_names].into_iter().for_each(|place| out.number(place.into()));
        encode_traces(&self.traces, out);
        out.list(self.memory.iter(), |out, memory| {
            out.number(if memory.order.is_some() { 2 } else { memory.is_indexed.into() });
            out.number(memory.section.offset);
            out.number(memory.section.indexed_version.into());
            out.text(&memory.section.bytes);
            if let Some(order) = &memory.order {
                out.list(order.unused_stacks.iter(), |out, stack| out.numbers(stack));
                [&order.frames, &order.stacks, &order.records].into_iter().for_each(|order| out.numbers(order));
            }
        });
    }
}

fn encode_traces(temporal: &TemporalProfile, out: &mut Encoder) {
    out.number(temporal.stream_size);
    out.list(temporal.traces.iter(), |out, trace| {
        out.number(trace.weight);
        out.list(trace.functions.iter(), |out, function| out.hash(*function));
    });
}

// Decoding of the state of a partial merge. Every number is checked.

impl PartialMerge {
    /// Reads the output of [`encode`](Self::encode).
    ///
    /// # Errors
    ///
    /// Truncated; malformed for contradictory data; limit exceeded for sequences of records, or binary ids of all
    /// inputs, that take more than [`Limits::inflated_bytes`].
    pub fn decode(state: &[u8], limits: &Limits) -> Result<Self> {
        Self::decode_after(state, FunctionTable::new(), RecordStore::new(), limits)
    }

    /// Reads the output of [`encode_after`](Self::encode_after); `front` has the functions and records of the profile
    /// in front of the state.
    pub(super) fn decode_after(
        state: &[u8],
        front: FunctionTable,
        no_sums: RecordStore,
        limits: &Limits,
    ) -> Result<Self> {
        // Positions and lengths have 32 bits, and every counted item takes at least one byte.
        let (found, limit) = (state.len() as u64, u64::from(u32::MAX));
        if found > limit {
            return Err(Error::above_limit(None, "state of a partial merge", found, limit));
        }
        let mut from = Decoder::new(state);
        let mut sequences = runs::Reader::new(limits);
        let max_count = from.number("maximum of counters")?;
        let applied = from.list("filters", |from| Ok(String::from_utf8_lossy(from.text("filter")?).into_owned()))?;
        let inputs = from.list("inputs", PartialInput::decode)?;
        let is_used = vec![false; front.records_len()];
        let (names, functions) = decode_names(front, &mut from)?;
        let mut known = Known { names, functions, is_used, no_sums, inputs: inputs.len() };
        let groups = from.list("groups", |from| Group::decode(&mut known, &mut sequences, from))?;
        let Known { mut names, no_sums, .. } = known;
        names.clear_records();
        let binary_ids = decode_pool("binary ids", &mut from)?;
        let vtable_names = decode_pool("names of vtables", &mut from)?;
        let mut whole = Self {
            max_count,
            limits: *limits,
            contributions: Vec::with_capacity(inputs.len()),
            inputs,
            names,
            groups,
            binary_ids,
            vtable_names,
            applied,
            no_sums,
            next: NextInput::default(),
        };
        for _ in 0..whole.inputs.len() {
            let contribution = Contribution::decode(&whole, &mut from)?;
            whole.contributions.push(contribution);
        }
        whole.check_binary_ids()?;
        whole.check_visits(&from)?;
        from.end()?;
        Ok(whole)
    }

    /// Limits the binary ids. Many inputs can share a long list of ids, and a merge stores each of them once per input.
    fn check_binary_ids(&self) -> Result<()> {
        let size_of_list = |ids: &Vec<BinaryId>| ids.iter().map(|id| (size_of::<BinaryId>() + id.len()) as u64).sum();
        let sizes: Vec<u64> = self.binary_ids.iter().map(size_of_list).collect();
        let places = self.contributions.iter().flatten().map(|contribution| contribution.binary_ids);
        let found = places.fold(0u64, |all, place| all.saturating_add(sizes[place as usize]));
        let limit = self.limits.inflated_bytes;
        if found > limit {
            return Err(Error::above_limit(
                Some("inflated-bytes"),
                "size of the binary ids of all inputs",
                found,
                limit,
            ));
        }
        Ok(())
    }

    /// Checks that every visit of a record that is stored one by one has its data.
    fn check_visits(&self, from: &Decoder<'_>) -> Result<()> {
        let mut visits: Vec<Vec<u64>> = self.groups.iter().map(|group| vec![0; group.records.len()]).collect();
        let mut inputs: Vec<Vec<u64>> = self.groups.iter().map(|group| vec![0; group.sequences.len()]).collect();
        for contribution in self.contributions.iter().flatten() {
            inputs[contribution.group as usize][contribution.sequence as usize] += 1;
        }
        for (number, group) in self.groups.iter().enumerate() {
            for (visited, times) in group.sequences.iter().zip(&inputs[number]) {
                visited.iter().for_each(|place| visits[number][*place as usize] += times);
            }
            for (record, visits) in group.records.iter().zip(&visits[number]) {
                record.check_visits(*visits).map_err(|error| from.placed(error))?;
            }
        }
        Ok(())
    }
}

/// The parts of a state that its records refer to.
struct Known {
    /// All functions, with the records of the profile in front.
    names: FunctionTable,
    /// Functions by their numbers in the state.
    functions: Vec<FunctionId>,
    /// For each record of the profile, whether a sum referred to it. Otherwise, many sums could share long records.
    is_used: Vec<bool>,
    no_sums: RecordStore,
    inputs: usize,
}

impl Known {
    /// Returns the counts of a record of the profile in front that no other sum has.
    fn take(&mut self, function: FunctionId, func_hash: u64) -> Option<RecordView<'_>> {
        let id = self.names.find_record(function, func_hash)?;
        let is_used = std::mem::replace(&mut self.is_used[id.index()], true);
        (!is_used).then(|| self.names.record(id))
    }
}

/// Reads the names that the profile in front does not have.
fn decode_names(front: FunctionTable, from: &mut Decoder<'_>) -> Result<(FunctionTable, Vec<FunctionId>)> {
    let mut functions = in_order(&front, front.iter().map(FunctionView::id));
    let mut names = front;
    let texts = from.list("names", |from| from.text("name"))?;
    let hashed = texts.iter().zip(name_refs(&texts));
    functions.extend(hashed.map(|(name, hash)| names.intern_hashed(name, hash)));
    if names.len() != functions.len() {
        return Err(from.malformed("a name occurs twice"));
    }
    Ok((names, functions))
}

fn decode_pool(what: &'static str, from: &mut Decoder<'_>) -> Result<Pool<Vec<Vec<u8>>>> {
    let mut pool = Pool::default();
    let lists = from.list(what, |from| from.list(what, |from| Ok(from.text(what)?.to_vec())))?;
    for (number, list) in lists.into_iter().enumerate() {
        if pool.place(list) as usize != number {
            return Err(from.malformed(format!("a list of {what} occurs twice")));
        }
    }
    Ok(pool)
}

impl Group {
    fn decode(known: &mut Known, sequences: &mut runs::Reader, from: &mut Decoder<'_>) -> Result<Self> {
        let kind = ProfileKind::from_bits(from.hash("kind")?);
        let is_after_front_end = from.place("mark of a group", 2)? == 1;
        let mut group = Self { kind, is_after_front_end, sums: known.no_sums.clone(), ..Self::default() };
        group.records = from.list("records", |from| Summed::decode(known, &mut group.sums, from))?;
        if !group.list_all() {
            return Err(from.malformed("a record occurs twice"));
        }
        let limit = group.records.len();
        for (number, visits) in from.list("sequences", |from| sequences.decode(limit, from))?.into_iter().enumerate() {
            if group.sequences.place(visits) as usize != number {
                return Err(from.malformed("a sequence of records occurs twice"));
            }
        }
        Ok(group)
    }
}

impl Summed {
    /// Reads a sum, and appends its counts to `sums`.
    fn decode(known: &mut Known, sums: &mut RecordStore, from: &mut Decoder<'_>) -> Result<Self> {
        let function = known.functions[from.place("function", known.functions.len())?];
        let func_hash = from.hash("FuncHash")?;
        let marks = from.place("marks of a record", 32)?;
        let mark = |bit: usize| marks >> bit & 1 == 1;
        let (is_whole, is_left_out, has_sites, has_extra, is_in_front) = (mark(0), mark(1), mark(2), mark(3), mark(4));
        let mut sites = [0; ValueKind::COUNT];
        if has_sites {
            for count in &mut sites {
                *count = from.text("sites")?.len() as u32;
            }
        }
        let counters;
        let mut counts = RecordView::of_counters(func_hash, (&[][..]).into());
        let mut lens = None;
        if is_whole {
            lens = Some((from.place("counters", MOST_PARTS)?, from.place("bitmap bytes", MOST_PARTS)?));
        } else if is_in_front {
            let found = known.take(function, func_hash);
            counts = found.ok_or_else(|| from.malformed("the profile in front has no such record"))?;
        } else {
            counters = from.numbers("counters")?;
            (counts.counters, counts.bitmap) = ((&counters).into(), from.text("bitmap")?);
        }
        let lens = lens.unwrap_or((counts.counters.len(), counts.bitmap.len()));
        sums.push(counts);
        let shape = Shape { counters: lens.0 as u32, bitmap: lens.1 as u32, sites, is_whole, is_left_out };
        let extra = if has_extra { Some(Box::new(Extra::decode(func_hash, known.inputs, from)?)) } else { None };
        if shape.has_sites() != has_sites {
            return Err(from.malformed("the marks of a record contradict each other"));
        }
        Ok(Self { function, func_hash, shape, extra })
    }

    fn check_visits(&self, visits: u64) -> Result<()> {
        let none = Extra::default();
        let extra = self.extra.as_deref().unwrap_or(&none);
        let wholes = if self.shape.is_whole { visits } else { 0 };
        if extra.whole.len() as u64 != wholes {
            return Err(Error::malformed("a function has more visits than records"));
        }
        if extra.whole.iter().any(|whole| Shape::of(whole.record.view(), self.shape.is_left_out) != self.shape) {
            return Err(Error::malformed("a record does not have the shape of its sum"));
        }
        let logged = self.shape.has_sites() && !self.shape.is_whole && !self.shape.is_left_out;
        runs::check(&extra.sites, self.shape.sites, if logged { visits } else { 0 })
    }
}

/// An upper bound for the number of counters, bytes or sites of a record.
const MOST_PARTS: usize = 1 << 26;

impl Extra {
    fn decode(func_hash: u64, inputs: usize, from: &mut Decoder<'_>) -> Result<Self> {
        Ok(Self {
            sites: SiteLog::from_bytes(from.text("value sites")?.to_vec()),
            overflows: from.list("overflows", |from| Ok(from.place("input", inputs)? as u32))?,
            whole: from.list("records", |from| {
                let weight = from.number("weight")?;
                if weight == 0 {
                    return Err(from.malformed("a weight of 0"));
                }
                Ok(Whole { weight, record: decode_record(func_hash, from)? })
            })?,
        })
    }
}

fn decode_record(func_hash: u64, from: &mut Decoder<'_>) -> Result<FunctionRecord> {
    let mut record = FunctionRecord::new(func_hash, from.numbers("counters")?);
    record.bitmap = from.text("bitmap")?.to_vec();
    record.uniformity.counts = from.numbers("uniform counts")?;
    record.uniformity.bits = from.text("uniformity bits")?.to_vec();
    for kind in ValueKind::EACH {
        for _ in 0..from.count("sites")? {
            for _ in 0..from.count("values of a site")? {
                let value = from.number("value")?;
                record.sites_mut(kind).push_value(ValueCount { value, count: from.number("count of a value")? });
            }
            record.sites_mut(kind).end_site();
        }
    }
    Ok(record)
}

impl Contribution {
    fn decode(whole: &PartialMerge, from: &mut Decoder<'_>) -> Result<Option<Self>> {
        let Some(group) = from.place("group", whole.groups.len() + 1)?.checked_sub(1) else { return Ok(None) };
        let sequence = from.place("sequence", whole.groups[group].sequences.len())? as u32;
        let binary_ids = from.place("list of binary ids", whole.binary_ids.len())? as u32;
        let vtable_names = from.place("list of vtables", whole.vtable_names.len())? as u32;
        let traces = decode_traces(from)?;
        let memory = from.list("memory profile", |from| {
            let mark = from.place("mark of a memory profile", 3)?;
            let offset = from.number("offset of a memory profile")?;
            let indexed_version = from.place("version of a memory profile", 1 << 16)? as u32;
            let section = MemProfSection { bytes: from.text("memory profile")?.to_vec(), offset, indexed_version };
            let order = (mark == 2).then(|| decode_order(from)).transpose()?;
            Ok(MemoryInput { section, is_indexed: mark == 1, order })
        })?;
        let memory = memory.into_iter().next();
        Ok(Some(Self { group: group as u32, sequence, binary_ids, vtable_names, traces, memory }))
    }
}

fn decode_order(from: &mut Decoder<'_>) -> Result<ProfileOrder> {
    let unused_stacks = from.list("unused call stacks", |from| from.numbers("frames of a call stack"))?;
    let (frames, stacks) = (from.numbers("order of frames")?, from.numbers("order of call stacks")?);
    Ok(ProfileOrder { unused_stacks, frames, stacks, records: from.numbers("order of records")? })
}

fn decode_traces(from: &mut Decoder<'_>) -> Result<TemporalProfile> {
    let stream_size = from.number("traces seen")?;
    let traces = from.list("traces", |from| {
        let weight = from.number("weight of a trace")?;
        Ok(TemporalTrace { weight, functions: from.list("functions of a trace", |from| from.hash("function"))? })
    })?;
    Ok(TemporalProfile { traces, stream_size })
}
