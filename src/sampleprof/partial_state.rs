//! Encodes and decodes the state of a partial merge. Every number that is decoded is checked.

use super::merge_record::{RecordFault, rename};
use super::options::Rules;
use super::partial::{Contribution, KnownFault, PartialSamples, Shape, Sum};
use super::profile::{SampleProfile, StatedKind};
use super::record::{
    BodyEntry, CallSite, CallTarget, Frame, FunctionName, FunctionRecord, LineLocation, MAX_INLINE_DEPTH, NameId,
    Names, VtableEntry,
};
use crate::error::{Error, Result};
use crate::model::Release;
use crate::partial::{Decoder, Encoder, PartialInput};
use foldhash::HashMap;

impl PartialSamples {
    /// Encodes the state that follows the profile `front` in a partial merge. The state does not repeat the content of
    /// `front`, which must be the profile as it is read again.
    ///
    /// # Errors
    ///
    /// Memory for the state is refused.
    pub fn encode(&self, front: Option<&SampleProfile>) -> Result<Vec<u8>> {
        let mut out = Encoder::default();
        out.number(self.rules.release().0.into());
        out.list(self.applied.iter(), |out, words| out.text(words.as_bytes()));
        out.list(self.inputs.iter(), |out, input| input.encode(out));
        let none = SampleProfile::default();
        let front = front.unwrap_or(&none);
        encode_names(&self.names, &front.names, &mut out);
        let same = SameRecords::new(self, front);
        out.list(self.sums.iter(), |out, sum| match same.place(sum) {
            Some(place) => out.number(place + 1),
            None => {
                out.number(0);
                sum.encode(out);
            }
        });
        let known = front.symbols.as_ref() == Some(&self.symbols);
        out.number(known.into());
        if !known {
            out.list(self.symbols.iter(), |out, symbol| out.text(symbol));
        }
        self.contributions.iter().for_each(|contribution| contribution.encode(&mut out));
        Ok(out.finish())
    }
}

/// Encodes the names of the profile in front by their number plus 2, and others in full.
fn encode_names(names: &Names, front: &Names, out: &mut Encoder) {
    out.list(names.iter(), |out, name| match (front.find(name), name) {
        (Some(place), _) => out.number(place.index() as u64 + 2),
        (None, FunctionName::Text(text)) => {
            out.number(0);
            out.text(text);
        }
        (None, FunctionName::Hash(hash)) => {
            out.number(1);
            out.hash(hash);
        }
    });
}

/// A name, and its calling context.
type Title = (NameId, Option<Box<[Frame]>>);

/// The records of the profile in front, with the names of the sums.
struct SameRecords {
    records: Vec<FunctionRecord>,
    places: HashMap<Title, u64>,
}

impl SameRecords {
    fn new(sums: &PartialSamples, front: &SampleProfile) -> Self {
        let numbers: Option<Vec<NameId>> = front.names.iter().map(|name| sums.names.find(name)).collect();
        let mut same = Self { records: Vec::new(), places: HashMap::default() };
        let Some(numbers) = numbers else { return same };
        for (at, record) in front.functions.iter().enumerate() {
            let mut record = record.clone();
            rename(&mut record, &numbers, false);
            same.places.insert((record.name, record.context.clone()), at as u64);
            same.records.push(record);
        }
        same
    }

    fn place(&self, sum: &Sum) -> Option<u64> {
        if self.records.is_empty() || sum.is_left_out || sum.shape == Shape::Whole {
            return None;
        }
        let place = *self.places.get(&(sum.record.name, sum.record.context.clone()))?;
        (self.records[place as usize] == sum.record).then_some(place)
    }
}

impl Sum {
    fn encode(&self, out: &mut Encoder) {
        out.number(self.is_left_out.into());
        match self.shape {
            Shape::Plain => out.number(0),
            Shape::Whole => out.number(1),
            Shape::Checked(hash) => {
                out.number(2);
                out.hash(hash);
            }
        }
        out.list(self.record.context.iter(), |out, frames| {
            out.list(frames.iter(), |out, frame| {
                out.count(frame.function.index());
                encode_location(frame.location, out);
            });
        });
        encode_record(&self.record, out);
    }
}

/// Encodes a record without its context.
fn encode_record(record: &FunctionRecord, out: &mut Encoder) {
    out.count(record.name.index());
    [record.total, record.head].into_iter().for_each(|count| out.number(count));
    out.hash(record.checksum);
    out.number(record.attributes.into());
    out.list(record.body.iter(), |out, entry| {
        encode_location(entry.location, out);
        out.number(entry.samples);
        encode_targets(&entry.targets, out);
    });
    out.list(record.vtables.iter(), |out, entry| {
        encode_location(entry.location, out);
        encode_targets(&entry.tables, out);
    });
    out.list(record.call_sites.iter(), |out, site| {
        encode_location(site.location, out);
        encode_record(&site.callee, out);
    });
}

fn encode_location(location: LineLocation, out: &mut Encoder) {
    out.number(location.line.into());
    out.number(location.discriminator.into());
}

fn encode_targets(targets: &[CallTarget], out: &mut Encoder) {
    out.list(targets.iter(), |out, target| {
        out.count(target.callee.index());
        out.number(target.samples);
    });
}

impl Contribution {
    fn encode(&self, out: &mut Encoder) {
        encode_stated(self.stated, out);
        out.list(self.visits.iter(), |out, visits| {
            // Places mostly follow each other, so the difference from the expected one is stored.
            let mut expected = 0;
            out.list(visits.iter(), |out, place| {
                let step = i64::from(*place) - expected;
                out.number((step.unsigned_abs() << 1) - u64::from(step < 0));
                expected = i64::from(*place) + 1;
            });
        });
        out.list(self.faults.iter(), |out, known| {
            out.number(known.visit.into());
            out.number(u64::from(known.fault == RecordFault::HashMismatch));
        });
    }
}

fn encode_stated(stated: StatedKind, out: &mut Encoder) {
    for flag in [stated.context_sensitive, stated.probe_based, stated.preinlined, stated.flow_sensitive] {
        out.number(flag.map_or(0, |is_set| 1 + u64::from(is_set)));
    }
    out.number(u64::from(stated.hashed) << 1 | u64::from(stated.partial));
}

impl PartialSamples {
    /// Returns the rules by which the inputs of a state were read. They also apply to the profile in front of it.
    ///
    /// # Errors
    ///
    /// Truncated or malformed.
    pub(crate) fn rules_of(state: &[u8]) -> Result<Rules> {
        let mut from = Decoder::new(state);
        Ok(Rules::of(Release(from.place("release", 1 << 16)? as u32)))
    }

    /// Decodes a state that [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// Truncated; malformed if the state contradicts itself or the profile in front; limit exceeded for a state above
    /// 4 GiB.
    pub fn decode(state: &[u8], front: Option<&SampleProfile>) -> Result<Self> {
        let (found, limit) = (state.len() as u64, u64::from(u32::MAX));
        if found > limit {
            return Err(Error::above_limit(None, "state of a partial merge", found, limit));
        }
        let none = SampleProfile::default();
        let front = front.unwrap_or(&none);
        let mut from = Decoder::new(state);
        let mut all = Self::new(Rules::of(Release(from.place("release", 1 << 16)? as u32)));
        all.applied = from.list("filters", |from| Ok(String::from_utf8_lossy(from.text("filter")?).into_owned()))?;
        all.inputs = from.list("inputs", PartialInput::decode)?;
        let names = decode_names(&mut all.names, &front.names, &mut from)?;
        let in_front: Option<Vec<NameId>> = front.names.iter().map(|name| all.names.find(name)).collect();
        // Each record in front occurs once, so clones take no more memory than the file has bytes.
        let mut taken = vec![false; front.functions.len()];
        let sums = from.list("sums", |from| match from.place("sum", front.functions.len() + 1)? {
            0 => Sum::decode(&names, from),
            place => {
                if std::mem::replace(&mut taken[place - 1], true) {
                    return Err(from.malformed("a record of the profile occurs twice"));
                }
                let numbers = in_front.as_deref().ok_or_else(|| from.malformed("names of the profile are missing"))?;
                let mut record = front.functions[place - 1].clone();
                rename(&mut record, numbers, false);
                let shape = Shape::of(&record, &all.names);
                Ok(Sum { record, shape, is_left_out: false })
            }
        })?;
        for (at, sum) in sums.into_iter().enumerate() {
            if all.add_sum(sum).0 as usize != at {
                return Err(from.malformed("a record occurs twice"));
            }
        }
        all.symbols = match from.place("mark of the symbols", 2)? {
            1 => front.symbols.clone().unwrap_or_default(),
            _ => from.list("symbols", |from| Ok(from.text("symbol")?.to_vec()))?.into_iter().collect(),
        };
        for _ in 0..all.inputs.len() {
            let contribution = Contribution::decode(all.sums.len(), &mut from)?;
            all.contributions.push(contribution);
        }
        from.end()?;
        Ok(all)
    }
}

fn decode_names(names: &mut Names, front: &Names, from: &mut Decoder<'_>) -> Result<Vec<NameId>> {
    let in_front: Vec<FunctionName<'_>> = front.iter().collect();
    let ids = from.list("names", |from| {
        Ok(match from.place("name", in_front.len() + 2)? {
            0 => names.insert(FunctionName::Text(from.text("name")?)),
            1 => names.insert(FunctionName::Hash(from.hash("name")?)),
            place => names.insert(in_front[place - 2]),
        })
    })?;
    if names.len() != ids.len() {
        return Err(from.malformed("a name occurs twice"));
    }
    Ok(ids)
}

fn name(names: &[NameId], from: &mut Decoder<'_>) -> Result<NameId> {
    Ok(names[from.place("name", names.len())?])
}

fn location(from: &mut Decoder<'_>) -> Result<LineLocation> {
    let mut part = |field| Ok::<_, Error>(from.place(field, 1 << 32)? as u32);
    Ok(LineLocation::new(part("line")?, part("discriminator")?))
}

fn targets(names: &[NameId], from: &mut Decoder<'_>) -> Result<Vec<CallTarget>> {
    let targets =
        from.list("targets", |from| Ok(CallTarget { callee: name(names, from)?, samples: from.number("samples")? }))?;
    rising(targets, |target| target.callee, from)
}

/// Checks that a list is sorted, and has each key once.
fn rising<T, K: Ord>(list: Vec<T>, key: impl Fn(&T) -> K, from: &Decoder<'_>) -> Result<Vec<T>> {
    if list.windows(2).all(|pair| key(&pair[0]) < key(&pair[1])) {
        Ok(list)
    } else {
        Err(from.malformed("a list of a record is not in order"))
    }
}

impl Sum {
    fn decode(names: &[NameId], from: &mut Decoder<'_>) -> Result<Self> {
        let is_left_out = from.place("mark of a sum", 2)? == 1;
        let shape = match from.place("shape", 3)? {
            0 => Shape::Plain,
            1 => Shape::Whole,
            _ => Shape::Checked(from.hash("shape")?),
        };
        let context = from.list("contexts", |from| {
            let frame = |from: &mut Decoder<'_>| Ok(Frame { function: name(names, from)?, location: location(from)? });
            Ok(from.list("frames", frame)?.into_boxed_slice())
        })?;
        let mut record = decode_record(names, MAX_INLINE_DEPTH, from)?;
        record.context = context.into_iter().next();
        let leaf = record.context.as_ref().map(|frames| frames.last().map(|frame| frame.function));
        if leaf.is_some_and(|leaf| leaf != Some(record.name)) {
            return Err(from.malformed("the last frame of a context is another function"));
        }
        Ok(Self { record, shape, is_left_out })
    }
}

fn decode_record(names: &[NameId], depth: usize, from: &mut Decoder<'_>) -> Result<FunctionRecord> {
    if depth == 0 {
        let (found, limit) = (MAX_INLINE_DEPTH as u64 + 1, MAX_INLINE_DEPTH as u64);
        return Err(Error::above_limit(None, "depth of inlining", found, limit));
    }
    let mut record = FunctionRecord::new(name(names, from)?);
    (record.total, record.head) = (from.number("total")?, from.number("head")?);
    record.checksum = from.hash("checksum")?;
    record.attributes = from.place("attributes", 1 << 32)? as u32;
    let body = from.list("body", |from| {
        Ok(BodyEntry {
            location: location(from)?,
            samples: from.number("samples")?,
            targets: targets(names, from)?.into(),
        })
    })?;
    record.body = rising(body, |entry| entry.location, from)?;
    let vtables =
        from.list("vtables", |from| Ok(VtableEntry { location: location(from)?, tables: targets(names, from)? }))?;
    record.vtables = rising(vtables, |entry| entry.location, from)?;
    let sites = from.list("call sites", |from| {
        Ok(CallSite { location: location(from)?, callee: decode_record(names, depth - 1, from)? })
    })?;
    record.call_sites = rising(sites, |site| (site.location, site.callee.name), from)?;
    Ok(record)
}

impl Contribution {
    fn decode(sums: usize, from: &mut Decoder<'_>) -> Result<Self> {
        let stated = decode_stated(from)?;
        let visits = from.list("visits of an input", |from| {
            let mut expected = 0i64;
            from.list("visits", |from| {
                let word = from.number("visit")?;
                let half = (word >> 1) as i64;
                let step = if word & 1 == 1 { -half - 1 } else { half };
                let place = expected.checked_add(step).filter(|place| (0..sums as i64).contains(place));
                let place = place.ok_or_else(|| from.malformed("a visit of a missing record"))?;
                expected = place + 1;
                Ok(place as u32)
            })
        })?;
        let visits = visits.into_iter().next();
        let limit = visits.as_ref().map_or(0, Vec::len);
        let faults = from.list("faults", |from| {
            let visit = from.place("visit of a fault", limit)? as u32;
            // Earlier versions also marked faults of renaming.
            let marks = from.place("fault", 4)?;
            let fault = if marks & 1 == 1 { RecordFault::HashMismatch } else { RecordFault::CounterOverflow };
            Ok(KnownFault { visit, fault })
        })?;
        Ok(Self { stated, visits, faults: rising(faults, |known| known.visit, from)? })
    }
}

fn decode_stated(from: &mut Decoder<'_>) -> Result<StatedKind> {
    let mut flag = |field| {
        Ok::<_, Error>(match from.place(field, 3)? {
            0 => None,
            word => Some(word == 2),
        })
    };
    let [context_sensitive, probe_based] = [flag("contexts")?, flag("probes")?];
    let [preinlined, flow_sensitive] = [flag("pre-inlined")?, flag("flow-sensitive")?];
    let marks = from.place("marks of a kind", 4)?;
    Ok(StatedKind {
        context_sensitive,
        probe_based,
        preinlined,
        flow_sensitive,
        hashed: marks & 2 != 0,
        partial: marks & 1 != 0,
    })
}
