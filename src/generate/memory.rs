//! Memory profiles: YAML, and the section of indexed profiles.

use super::generated::{Generated, Landmarks, Lengths, add};
use super::kind::{Format, Kind};
use super::names;
use super::random::Random;
use super::request::Generator;
use crate::error::{Error, Result};
use crate::memprof::indexed::{self, WriteOptions};
use crate::memprof::yaml::{self, Comments, EmptySites};
use crate::memprof::{
    AllocSite, CallSite, DataAccessProfile, DataAccessRecord, DataSymbol, Field, Frame, FrameHandle, MemInfoBlock,
    MemoryProfile, Schema, SourceLocation, guid,
};
use crate::model::release::written_memory_versions;
use crate::model::{LossKind, MemProfSection, Profile, ProfileKind, Release};
use std::collections::BTreeMap;

/// The deepest call stack above a function.
const STACK_DEPTH: u64 = 6;

/// The first release that reads YAML with callees and data.
const CALLEES_SINCE: Release = Release(21);

/// Generates a file.
pub(super) fn file(generator: &Generator, number: u32) -> Result<Generated> {
    let release = generator.target.release;
    let is_yaml = generator.request.format == Format::MemoryYaml;
    // The newest version stores callees and data, which the default one of a release may not.
    let needs_newest = !generator.kinds.is_empty();
    let newest = written_memory_versions(release).map(|versions| *versions.end()).filter(|_| needs_newest);
    let options = WriteOptions::new(release, generator.request.version.or(newest), true)?;
    let schema = options.schema;
    let profile = profile(generator, number, schema);
    let bytes = if is_yaml {
        if needs_newest && release < CALLEES_SINCE {
            return Err(Error::usage(format!("{release} does not read callees and static data of memory profiles"))
                .with_hint("LLVM 21 and later do"));
        }
        let mut bytes = Vec::new();
        yaml::write(&profile, Comments::None, EmptySites::Printed, &mut bytes)
            .map_err(|source| Error::io("cannot write", source))?;
        bytes
    } else {
        let mut losses = indexed::losses(&profile, &options);
        losses.retain(|loss| loss.kind != LossKind::MemProfFields);
        generator.refuse_losses(&losses)?;
        let section = MemProfSection {
            bytes: indexed::write(&profile, &options)?,
            offset: 0,
            indexed_version: generator.indexed_version(),
        };
        let whole = Profile { kind: ProfileKind::MEMPROF, memprof: Some(section), ..Profile::default() };
        whole.to_bytes(generator.output_format())?.bytes
    };
    Ok(Generated { bytes, totals: totals(&profile), landmarks: landmarks(generator, &profile) })
}

fn profile(generator: &Generator, number: u32, schema: Schema) -> MemoryProfile {
    let mut profile = MemoryProfile::new(schema);
    let ids: Vec<u64> =
        (0..generator.request.functions).map(|index| guid(names::function(index, None).as_bytes())).collect();
    for index in 0..generator.request.functions {
        let (mut shape, mut counts) = (generator.shape(index), generator.counts(number, index));
        // Some functions only call others that allocate.
        let sites = if index == 0 { 1 } else { shape.below(3) };
        for site in 0..sites {
            let stack = stack(&mut profile, &ids, index, site as u32, &mut shape);
            let handle = profile.stacks.intern(&stack);
            let info = block(schema, &mut counts);
            let record = profile.record_mut(ids[index as usize]);
            record.alloc_sites.push(AllocSite { stack: handle, info, histogram: None });
            add_call_site(&mut profile, generator, &stack, index, &ids);
        }
    }
    if generator.has(Kind::Data) {
        profile.data_access = Some(data_access(generator, number));
    }
    profile
}

/// Makes a call stack, the allocating function first. Callers have smaller numbers, so stacks end.
fn stack(profile: &mut MemoryProfile, ids: &[u64], index: u32, site: u32, shape: &mut Random) -> Vec<FrameHandle> {
    let mut at = index;
    let mut line = 10 * (site + 1);
    let mut stack = Vec::new();
    for _ in 0..=STACK_DEPTH {
        let frame = Frame { function: ids[at as usize], line_offset: line, column: 1 + line % 7, is_inline: false };
        stack.push(profile.stacks.intern_frame(frame));
        if at == 0 {
            break;
        }
        at = shape.below(at.into()) as u32;
        line = 1 + shape.below(9) as u32;
    }
    stack
}

/// Adds the call of the allocating function to the record of its caller.
fn add_call_site(profile: &mut MemoryProfile, generator: &Generator, stack: &[FrameHandle], index: u32, ids: &[u64]) {
    let Some(caller) = stack.get(1) else { return };
    let function = profile.stacks.frame(*caller).function;
    let frames = profile.stacks.intern(&[*caller]);
    let callee = ids[index as usize];
    let has_callees = generator.has(Kind::Callees);
    let record = profile.record_mut(function);
    let site = match record.call_sites.iter().position(|site| site.frames == frames) {
        Some(at) => &mut record.call_sites[at],
        None => {
            record.call_sites.push(CallSite { frames, callees: Vec::new() });
            let last = record.call_sites.len() - 1;
            &mut record.call_sites[last]
        }
    };
    if has_callees && let Err(at) = site.callees.binary_search(&callee) {
        site.callees.insert(at, callee);
    }
}

/// Measurements that do not contradict each other: no minimum is above its maximum or its total.
fn block(schema: Schema, random: &mut Random) -> MemInfoBlock {
    use Field::*;
    let mut info = MemInfoBlock::default();
    let allocations = 1 + random.below(100);
    let mut set = |field: Field, value: u64| {
        if schema.contains(field) {
            info.set(field, value);
        }
    };
    set(AllocCount, allocations);
    let groups = [
        (TotalAccessCount, MinAccessCount, MaxAccessCount),
        (TotalSize, MinSize, MaxSize),
        (TotalLifetime, MinLifetime, MaxLifetime),
        (TotalAccessDensity, MinAccessDensity, MaxAccessDensity),
        (TotalLifetimeAccessDensity, MinLifetimeAccessDensity, MaxLifetimeAccessDensity),
    ];
    for (total, min, max) in groups {
        let least = 1 + random.below(500);
        let most = if allocations == 1 { least } else { least + random.below(5000) };
        set(min, least);
        set(max, most);
        set(total, if allocations == 1 { least } else { least + most + (allocations - 2) * least });
    }
    let start = random.below(10_000);
    set(AllocTimestamp, start);
    set(DeallocTimestamp, start + random.below(10_000));
    set(AllocCpuId, random.below(8));
    set(DeallocCpuId, random.below(8));
    for field in [NumMigratedCpu, NumLifetimeOverlaps, NumSameAllocCpu, NumSameDeallocCpu] {
        set(field, random.below(allocations));
    }
    info
}

fn data_access(generator: &Generator, number: u32) -> DataAccessProfile {
    let mut random = generator.counts(number, u32::MAX);
    let mut data = DataAccessProfile::default();
    for index in 0..8u32 {
        let symbol = match index % 2 {
            0 => DataSymbol::Name(format!("table_{index}").into_bytes()),
            _ => DataSymbol::StringHash(Random::of(&[index.into()]).next_number()),
        };
        let location = SourceLocation { file: b"data.c".to_vec(), line: index + 1 };
        let access_count = 1 + random.below(10_000);
        data.records.push(DataAccessRecord { symbol, access_count, locations: vec![location] });
        data.cold_symbols.push(format!("cold_table_{index}").into_bytes());
    }
    data
}

fn totals(profile: &MemoryProfile) -> BTreeMap<&'static str, u64> {
    let mut totals = BTreeMap::from([("records", profile.records().len() as u64)]);
    for name in ["alloc_sites", "call_sites", "callees", "allocations", "bytes"] {
        totals.insert(name, 0);
    }
    for record in profile.records() {
        add(&mut totals, "alloc_sites", record.alloc_sites.len() as u64);
        add(&mut totals, "call_sites", record.call_sites.len() as u64);
        record.call_sites.iter().for_each(|site| add(&mut totals, "callees", site.callees.len() as u64));
        for site in &record.alloc_sites {
            add(&mut totals, "allocations", site.info.alloc_count());
            add(&mut totals, "bytes", site.info.total_size());
        }
    }
    totals.insert("frames", profile.stacks.frames().len() as u64);
    totals.insert("data_records", profile.data_access.as_ref().map_or(0, |data| data.records.len() as u64));
    totals
}

/// Chooses the function that damage hits: both formats store its identity instead of its name.
fn landmarks(generator: &Generator, profile: &MemoryProfile) -> Landmarks {
    let at = generator.shape(u32::MAX - 1).position(profile.records().len());
    let function = profile.records().get(at).map(|record| record.function);
    match generator.request.format {
        Format::MemoryYaml => Landmarks {
            name: function.map(|function| format!("{function:x}").into_bytes()),
            checksum: None,
            lengths: Lengths::None,
        },
        _ => Landmarks {
            name: function.map(|function| function.to_le_bytes().to_vec()),
            checksum: None,
            lengths: Lengths::IndexedHeader,
        },
    }
}
