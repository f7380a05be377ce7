//! Sums as the state of a partial merge.

use crate::error::Result;
use crate::instr::partial::record::{Extra, Summed};
use crate::instr::partial::runs;
use crate::instr::partial::sums::{Contribution, Group, PartialMerge};
use crate::model::{FunctionRecord, TemporalProfile, ValueKind};
use crate::partial::Encoder;

impl PartialMerge {
    /// The state that [`decode`](Self::decode) reads.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let mut out = Encoder::default();
        out.number(self.max_count);
        out.list(self.applied.iter(), |out, words| out.text(words.as_bytes()));
        out.list(self.inputs.iter(), |out, input| input.encode(out));
        out.list(self.names.iter(), |out, function| out.text(function.name()));
        out.list(self.groups.iter(), |out, group| group.encode(out));
        out.list(self.binary_ids.iter(), |out, ids| out.list(ids.iter(), |out, id| out.text(id)));
        out.list(self.vtable_names.iter(), |out, names| out.list(names.iter(), |out, name| out.text(name)));
        for contribution in &self.contributions {
            match contribution {
                None => out.number(0),
                Some(contribution) => contribution.encode(&mut out),
            }
        }
        out.finish()
    }
}

impl Group {
    fn encode(&self, out: &mut Encoder) {
        out.hash(self.kind.bits());
        out.number(self.is_after_front_end.into());
        out.list(self.records.iter(), |out, record| record.encode(out));
        out.list(self.sequences.iter(), |out, visits| runs::encode(visits, self.records.len(), out));
    }
}

impl Summed {
    fn encode(&self, out: &mut Encoder) {
        let shape = self.shape;
        out.count(self.function.index());
        out.hash(self.func_hash);
        let marks = [shape.is_whole, shape.is_left_out, shape.has_sites(), self.extra.is_some()];
        out.number(marks.iter().rev().fold(0, |all, mark| all << 1 | u64::from(*mark)));
        if shape.has_sites() {
            // As many bytes as sites, so that a reader never takes more memory than a state is long.
            shape.sites.iter().for_each(|count| out.text(&vec![0; *count as usize]));
        }
        if shape.is_whole {
            out.number(shape.counters.into());
            out.number(shape.bitmap.into());
        } else {
            out.numbers(&self.counters);
            out.text(&self.bitmap);
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
    for kind in ValueKind::ALL {
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
            out.number(memory.is_indexed.into());
            out.number(memory.section.offset);
            out.number(memory.section.indexed_version.into());
            out.text(&memory.section.bytes);
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
