//! Sample profiles in all encodings that can be written.

use super::generated::{Checksum, Generated, Landmarks, Lengths, add};
use super::kind::{Format, Kind};
use super::names;
use super::random::Random;
use super::request::Generator;
use crate::bytes::{Endian, Sink, leb128};
use crate::error::{Error, Result};
use crate::model::{LossKind, name_ref};
use crate::sampleprof::{
    self, BodyEntry, CallSite, CallTarget, CallTargets, Encoding, Frame, FunctionName, FunctionRecord, LineLocation,
    NameId, Rules, SampleProfile, VtableEntry, WriteOptions,
};
use std::collections::{BTreeMap, BTreeSet};

/// The number of distinct vtables.
const VTABLES: u64 = 16;

/// The deepest inlining.
const INLINE_DEPTH: u32 = 2;

/// Generates a file.
pub(super) fn file(generator: &Generator, number: u32) -> Result<Generated> {
    let profile = Builder::new(generator, number).build();
    let mut options = WriteOptions::default();
    options.rules = Rules::of(generator.target.release);
    options.encoding = match generator.request.format {
        Format::SampleText => Encoding::Text,
        Format::SampleBinary => Encoding::Binary,
        Format::SampleCompact => Encoding::CompactBinary,
        _ => Encoding::ExtBinary,
    };
    options.vtables = generator.has(Kind::Vtables);
    options.version = generator.request.version.map_or(options.version, u64::from);
    let refused = |error: Error| Error::usage(error.to_string());
    sampleprof::check_writable(&profile, &options).map_err(refused)?;
    let mut losses = sampleprof::losses(&profile, &options);
    // The compact binary stores only hashes.
    losses.retain(|loss| loss.kind != LossKind::Names);
    generator.refuse_losses(&losses)?;
    let bytes = sampleprof::write(&profile, &options)?;
    Ok(Generated { bytes, totals: totals(&profile), landmarks: landmarks(generator, &profile) })
}

struct Builder<'a> {
    generator: &'a Generator,
    number: u32,
    profile: SampleProfile,
    /// The numbers of all functions, in order.
    functions: Vec<NameId>,
    vtables: Vec<NameId>,
}

impl<'a> Builder<'a> {
    fn new(generator: &'a Generator, number: u32) -> Self {
        let mut profile = SampleProfile::default();
        let mut insert = |name: String| profile.names.insert(FunctionName::Text(name.as_bytes()));
        let functions = (0..generator.request.functions).map(|index| insert(names::function(index, None))).collect();
        let vtables = match generator.has(Kind::Vtables) {
            true => (0..VTABLES).map(|index| insert(names::vtable(index))).collect(),
            false => Vec::new(),
        };
        Self { generator, number, profile, functions, vtables }
    }

    fn build(mut self) -> SampleProfile {
        let has_contexts = self.generator.has(Kind::Contexts);
        let has_probes = self.generator.has(Kind::Probes);
        for index in 0..self.generator.request.functions {
            let mut shape = self.generator.shape(index);
            let mut counts = self.generator.counts(self.number, index);
            if has_contexts {
                for frames in self.contexts(index, &mut shape) {
                    let mut record = self.record(index, 0, &mut shape, &mut counts);
                    record.context = Some(frames);
                    self.profile.functions.push(record);
                }
            } else {
                let record = self.record(index, 0, &mut shape, &mut counts);
                self.profile.functions.push(record);
            }
        }
        self.profile.stated.context_sensitive = has_contexts.then_some(true);
        self.profile.stated.probe_based = has_probes.then_some(true);
        if self.generator.has(Kind::Symbols) {
            let cold = (0..8).map(|index| format!("cold_{index}").into_bytes());
            self.profile.symbols = Some(cold.collect());
        }
        self.profile
    }

    /// Returns one or two contexts of a function, the outermost frame first.
    fn contexts(&self, index: u32, shape: &mut Random) -> Vec<Box<[Frame]>> {
        let function = self.functions[index as usize];
        let own = Frame { function, location: LineLocation::default() };
        let mut frame =
            |function: NameId| Frame { function, location: LineLocation::new(1 + shape.below(30) as u32, 0) };
        if index == 0 {
            return vec![Box::new([own])];
        }
        let main = frame(self.functions[0]);
        let mut contexts: Vec<Box<[Frame]>> = vec![Box::new([main, own])];
        if index.is_multiple_of(3) {
            let caller = frame(self.functions[index as usize / 3]);
            contexts.push(Box::new([main, caller, own]));
        }
        contexts
    }

    fn record(&self, index: u32, depth: u32, shape: &mut Random, counts: &mut Random) -> FunctionRecord {
        let generator = self.generator;
        let mut record = FunctionRecord::new(self.functions[index as usize]);
        let has_probes = generator.has(Kind::Probes);
        if has_probes {
            // The checksum is that of the function, wherever it was inlined.
            record.checksum = Random::of(&[generator.request.seed, 2, index.into()]).next_number() >> 8;
        }
        let drawn = 1 + shape.below(7);
        // Inlined callees stay small: their number grows with the number of locations.
        let requested = generator.request.counters.filter(|_| depth == 0);
        let mut line = 0;
        for _ in 0..requested.map_or(drawn, u64::from) {
            line += 1 + shape.below(4) as u32;
            let discriminator = if !has_probes && shape.chance(20) { 1 + shape.below(6) as u32 } else { 0 };
            let location = LineLocation::new(line, discriminator);
            if generator.has(Kind::Inlined) && depth < INLINE_DEPTH && shape.chance(15) {
                let callee = shape.below(u64::from(generator.request.functions)) as u32;
                let callee = self.record(callee, depth + 1, shape, counts);
                record.total = record.total.saturating_add(callee.total);
                record.call_sites.push(CallSite { location, callee });
                continue;
            }
            let samples = counts.count();
            record.total = record.total.saturating_add(samples);
            let targets = self.targets(shape, counts);
            record.body.push(BodyEntry { location, samples, targets });
            if !self.vtables.is_empty() && shape.chance(20) {
                let callee = self.vtables[shape.position(self.vtables.len())];
                let tables = vec![CallTarget { callee, samples: 1 + counts.below(500) }];
                record.vtables.push(VtableEntry { location, tables });
            }
        }
        if depth == 0 {
            record.head = counts.below(1000);
        }
        record
    }

    /// Returns the call targets of some line locations.
    fn targets(&self, shape: &mut Random, counts: &mut Random) -> CallTargets {
        if !self.generator.has(Kind::Targets) || !shape.chance(25) {
            return CallTargets::default();
        }
        let mut targets = BTreeMap::new();
        for _ in 0..1 + shape.below(3) {
            targets.insert(self.functions[shape.position(self.functions.len())], 1 + counts.below(500));
        }
        let list = targets.into_iter().map(|(callee, samples)| CallTarget { callee, samples });
        CallTargets::from(list.collect::<Vec<_>>())
    }
}

fn totals(profile: &SampleProfile) -> BTreeMap<&'static str, u64> {
    let mut totals = BTreeMap::from([("functions", profile.functions.len() as u64)]);
    for name in ["head_samples", "total_samples", "body_locations", "inlined_callsites", "call_targets", "vtables"] {
        totals.insert(name, 0);
    }
    for record in &profile.functions {
        add(&mut totals, "head_samples", record.head);
        add(&mut totals, "total_samples", record.total);
        add_record(&mut totals, record);
    }
    totals.insert("symbols", profile.symbols.as_ref().map_or(0, |symbols| symbols.len() as u64));
    totals
}

fn add_record(totals: &mut BTreeMap<&'static str, u64>, record: &FunctionRecord) {
    add(totals, "body_locations", record.body.len() as u64);
    record.body.iter().for_each(|entry| add(totals, "call_targets", entry.targets.len() as u64));
    add(totals, "vtables", record.vtables.len() as u64);
    add(totals, "inlined_callsites", record.call_sites.len() as u64);
    record.call_sites.iter().for_each(|site| add_record(totals, &site.callee));
}

/// The number of names that a binary stores: all functions, and the vtables that records refer to.
fn names_count(generator: &Generator, profile: &SampleProfile) -> u64 {
    let tables = profile.functions.iter().flat_map(|record| &record.vtables).flat_map(|entry| &entry.tables);
    let vtables: BTreeSet<NameId> = tables.map(|table| table.callee).collect();
    u64::from(generator.request.functions) + vtables.len() as u64
}

/// Chooses the function that damage hits.
fn landmarks(generator: &Generator, profile: &SampleProfile) -> Landmarks {
    let at = generator.shape(u32::MAX - 1).position(profile.functions.len());
    let found = profile.functions.get(at);
    let uleb = |number: u64| {
        let mut sink = Sink::new(Endian::Little);
        leb128::write_uleb128(&mut sink, number);
        sink.as_slice().to_vec()
    };
    let is_text = generator.request.format == Format::SampleText;
    let checksum = found.map(|record| record.checksum).filter(|checksum| *checksum != 0);
    let checksum = checksum.map(|checksum| match is_text {
        true => Checksum::Digits(checksum.to_string()),
        false => Checksum::Bytes(uleb(checksum)),
    });
    let name = found.map(|record| profile.names.get(record.name).to_bytes());
    match generator.request.format {
        Format::SampleText => Landmarks { name, checksum, lengths: Lengths::None },
        Format::SampleCompact => {
            let name = name.map(|name| uleb(name_ref(&name)));
            Landmarks { name, checksum, lengths: Lengths::None }
        }
        _ => Landmarks { name, checksum, lengths: Lengths::NameTable(names_count(generator, profile)) },
    }
}
