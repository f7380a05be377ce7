//! Sums from the state of a partial merge, every number checked.

use super::shape::Shape;
use super::sums::{Contribution, KnownFault, PartialSamples, Sum};
use crate::error::{ErrorKind, Result};
use crate::memory::{self, HOLD_NAMES};
use crate::model::Release;
use crate::partial::{Decoder, PartialInput};
use crate::sampleprof::merge::{RecordFault, rename};
use crate::sampleprof::names::{FunctionName, NameId, Names};
use crate::sampleprof::profile::{SampleProfile, StatedKind};
use crate::sampleprof::record::{
    BodyEntry, CallSite, Frame, FunctionRecord, LineLocation, MAX_INLINE_DEPTH, VtableEntry,
};
use crate::sampleprof::rules::Rules;
use crate::sampleprof::targets::CallTarget;

impl PartialSamples {
    /// By whose rules the inputs of a state were read: also the profile in front
    /// of it has to be read by them.
    ///
    /// # Errors
    ///
    /// Truncated and malformed.
    pub fn rules_of(state: &[u8]) -> Result<Rules> {
        let mut from = Decoder::new(state);
        Ok(Rules::of(Release(from.place("release", 1 << 16)? as u32)))
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// Truncated, and malformed for whatever contradicts itself or the profile
    /// in front; limit exceeded for a state above 4 GiB.
    pub fn decode(state: &[u8], front: Option<&SampleProfile>) -> Result<Self> {
        let (found, limit) = (state.len() as u64, u64::from(u32::MAX));
        if found > limit {
            return Err(ErrorKind::LimitExceeded { what: "state of a partial merge", found, limit }.into());
        }
        let none = SampleProfile::default();
        let front = front.unwrap_or(&none);
        let mut from = Decoder::new(state);
        let mut all = Self::new(Rules::of(Release(from.place("release", 1 << 16)? as u32)));
        all.applied = from.list("filters", |from| Ok(String::from_utf8_lossy(from.text("filter")?).into_owned()))?;
        all.inputs = from.list("inputs", PartialInput::decode)?;
        let names = decode_names(&mut all.names, &front.names, &mut from)?;
        let in_front: Option<Vec<NameId>> = front.names.iter().map(|name| all.names.find(name)).collect();
        // Each record in front once: clones must not take more memory than there are bytes.
        let mut taken = vec![false; front.functions.len()];
        let sums = from.list("sums", |from| match from.place("sum", front.functions.len() + 1)? {
            0 => Sum::decode(&names, from),
            place => {
                if std::mem::replace(&mut taken[place - 1], true) {
                    return Err(from.malformed("a record of the profile stands twice"));
                }
                let numbers = in_front.as_deref().ok_or_else(|| from.malformed("names of the profile are missing"))?;
                let mut record = front.functions[place - 1].clone();
                rename(&mut record, numbers, false);
                let shape = Shape::of(&record, &all.names);
                Ok(Sum { record, shape, is_left_out: false })
            }
        })?;
        for (at, sum) in sums.into_iter().enumerate() {
            if all.add_sum(sum)?.0 as usize != at {
                return Err(from.malformed("a record stands twice"));
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
    let in_front: Vec<FunctionName<'_>> = memory::collect(front.iter(), HOLD_NAMES)?;
    let ids = from.list("names", |from| {
        Ok(match from.place("name", in_front.len() + 2)? {
            0 => names.insert(FunctionName::Text(from.text("name")?)),
            1 => names.insert(FunctionName::Hash(from.hash("name")?)),
            place => names.insert(in_front[place - 2]),
        })
    })?;
    names.check_memory()?;
    if names.len() != ids.len() {
        return Err(from.malformed("a name stands twice"));
    }
    Ok(ids)
}

fn name(names: &[NameId], from: &mut Decoder<'_>) -> Result<NameId> {
    Ok(names[from.place("name", names.len())?])
}

fn location(from: &mut Decoder<'_>) -> Result<LineLocation> {
    let mut part = |field| Ok::<_, crate::Error>(from.place(field, 1 << 32)? as u32);
    Ok(LineLocation::new(part("line")?, part("discriminator")?))
}

fn targets(names: &[NameId], from: &mut Decoder<'_>) -> Result<Vec<CallTarget>> {
    let targets =
        from.list("targets", |from| Ok(CallTarget { callee: name(names, from)?, samples: from.number("samples")? }))?;
    rising(targets, |target| target.callee, from)
}

/// A list that has to be sorted, each key once.
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
            return Err(from.malformed("a context ends in another function"));
        }
        Ok(Self { record, shape, is_left_out })
    }
}

fn decode_record(names: &[NameId], depth: usize, from: &mut Decoder<'_>) -> Result<FunctionRecord> {
    if depth == 0 {
        let (found, limit) = (MAX_INLINE_DEPTH as u64 + 1, MAX_INLINE_DEPTH as u64);
        return Err(ErrorKind::LimitExceeded { what: "depth of inlining", found, limit }.into());
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
                let place = place.ok_or_else(|| from.malformed("a visit of a record that is not there"))?;
                expected = place + 1;
                Ok(place as u32)
            })
        })?;
        let visits = visits.into_iter().next();
        let limit = visits.as_ref().map_or(0, Vec::len);
        let faults = from.list("faults", |from| {
            let visit = from.place("visit of a fault", limit)? as u32;
            let marks = from.place("fault", 4)?;
            let fault = if marks & 1 == 1 { RecordFault::HashMismatch } else { RecordFault::CounterOverflow };
            Ok(KnownFault { visit, fault, is_of_a_join: marks & 2 != 0 })
        })?;
        Ok(Self { stated, visits, faults: rising(faults, |known| known.visit, from)? })
    }
}

fn decode_stated(from: &mut Decoder<'_>) -> Result<StatedKind> {
    let mut said = |field| {
        Ok::<_, crate::Error>(match from.place(field, 3)? {
            0 => None,
            word => Some(word == 2),
        })
    };
    let [context_sensitive, probe_based] = [said("contexts")?, said("probes")?];
    let [preinlined, flow_sensitive] = [said("pre-inlined")?, said("flow-sensitive")?];
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
