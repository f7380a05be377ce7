//! Sums as the state of a partial merge.

use super::shape::Shape;
use super::sums::{Contribution, PartialSamples, Sum};
use crate::error::Result;
use crate::partial::Encoder;
use crate::sampleprof::merge::{RecordFault, rename};
use crate::sampleprof::names::{FunctionName, NameId, Names};
use crate::sampleprof::profile::{SampleProfile, StatedKind};
use crate::sampleprof::record::{Frame, FunctionRecord, LineLocation};
use crate::sampleprof::targets::CallTarget;
use foldhash::HashMap;

impl PartialSamples {
    /// The state, for the frame of a partial merge behind `front`, as that is read
    /// again: what it holds is not stored in the state.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
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
        out.finish()
    }
}

/// Names by the number that they have in front, plus 2; others in full.
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

/// The records of the profile in front, under the names of the sums.
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

/// A record without its context.
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
            // Places mostly follow each other: the way from where the next one was expected.
            let mut expected = 0;
            out.list(visits.iter(), |out, place| {
                let step = i64::from(*place) - expected;
                out.number((step.unsigned_abs() << 1) - u64::from(step < 0));
                expected = i64::from(*place) + 1;
            });
        });
        out.list(self.faults.iter(), |out, known| {
            out.number(known.visit.into());
            out.number(u64::from(known.is_of_a_join) << 1 | u64::from(known.fault == RecordFault::HashMismatch));
        });
    }
}

fn encode_stated(stated: StatedKind, out: &mut Encoder) {
    for said in [stated.context_sensitive, stated.probe_based, stated.preinlined, stated.flow_sensitive] {
        out.number(said.map_or(0, |is_so| 1 + u64::from(is_so)));
    }
    out.number(u64::from(stated.hashed) << 1 | u64::from(stated.partial));
}
