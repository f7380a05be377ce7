//! Generated LLVM profiles.

use profbridge::instr::{
    FunctionRecord, MemProfSection, Profile, ProfileKind, TemporalProfile, TemporalTrace, ValueCount, ValueKind,
    name_ref,
};
use proptest::prelude::*;

const NAMES: [&[u8]; 14] = [
    b"main",
    b"foo",
    b"_Z3foov",
    b"_ZN5ShapeD0Ev",
    b"_ZN5ShapeD2Ev",
    b"a.c;helper",
    b"a.c:helper",
    b"b.cpp;_ZL3foov",
    b"_RNvC1a3foo",
    b"?area@Shape@@QEAAHXZ",
    b"odd \xff%\x01",
    b"[main:3 @ x]",
    b"int",
    b"app.Main#main()void",
];

const VTABLES: [&[u8]; 3] = [b"_ZTV5Shape", b"_ZTVN2ns6CircleE", b"a.cpp;_ZTVN12_GLOBAL__N_15ShapeE"];

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 0..100u64, 1 => Just(1u64 << 60), 1 => Just(u64::MAX - 2)]
}

fn value(kind: ValueKind) -> BoxedStrategy<u64> {
    let names: Vec<u64> = NAMES.iter().map(|name| name_ref(name)).collect();
    let vtables: Vec<u64> = VTABLES.iter().map(|name| name_ref(name)).collect();
    match kind {
        ValueKind::MemOpSize => (0..64u64).boxed(),
        ValueKind::IndirectCallTarget => prop_oneof![prop::sample::select(names), Just(0u64), Just(77u64)].boxed(),
        _ => prop_oneof![prop::sample::select(vtables), Just(78u64)].boxed(),
    }
}

fn sites(kind: ValueKind) -> impl Strategy<Value = Vec<Vec<ValueCount>>> {
    let site = prop::collection::btree_map(value(kind), count(), 0..4)
        .prop_map(|values| values.into_iter().map(|(value, count)| ValueCount { value, count }).collect());
    prop::collection::vec(site, 0..3)
}

fn record() -> impl Strategy<Value = FunctionRecord> {
    let hash = prop_oneof![0..4u64, Just((1u64 << 60) | 5)];
    let first = prop_oneof![8 => count(), 1 => Just(u64::MAX), 1 => Just(u64::MAX - 1)];
    let counters = (first, prop::collection::vec(count(), 0..4)).prop_map(|(first, rest)| [vec![first], rest].concat());
    let bitmap = prop_oneof![3 => Just(vec![]), 1 => prop::collection::vec(any::<u8>(), 1..4)];
    let values = (sites(ValueKind::IndirectCallTarget), sites(ValueKind::MemOpSize), sites(ValueKind::VTableTarget));
    (hash, counters, bitmap, values).prop_map(|(hash, counters, bitmap, values)| {
        let mut record = FunctionRecord::new(hash, counters);
        record.bitmap = bitmap;
        for (kind, sites) in ValueKind::ALL.iter().copied().zip([values.0, values.1, values.2]) {
            for site in sites {
                record.sites_mut(kind).push_site(&site);
            }
        }
        record
    })
}

fn kind() -> impl Strategy<Value = ProfileKind> {
    prop::sample::select(vec![
        ProfileKind::NONE,
        ProfileKind::IR,
        ProfileKind::IR | ProfileKind::ENTRY_FIRST,
        ProfileKind::IR | ProfileKind::CONTEXT_SENSITIVE,
        ProfileKind::IR | ProfileKind::BYTE_COVERAGE | ProfileKind::FUNCTION_ENTRY_ONLY,
    ])
}

/// Any profile of LLVM's own.
pub fn any_profile() -> impl Strategy<Value = Profile> {
    let records = prop::collection::vec((0..NAMES.len(), record()), 0..12);
    let extras = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (kind(), records, extras).prop_map(|(kind, records, (ids, traces, vtables, memprof))| {
        let mut profile = Profile { kind, ..Profile::default() };
        for (at, record) in records {
            let function = profile.functions.intern(NAMES[at]);
            if profile.functions.find_record(function, record.func_hash).is_none() {
                profile.functions.push_record(function, &record);
            }
        }
        if ids {
            profile.binary_ids = vec![vec![1, 2, 0xff], vec![0]];
        }
        if traces {
            profile.kind |= ProfileKind::TEMPORAL;
            let trace = TemporalTrace { weight: 3, functions: vec![name_ref(b"main"), u64::MAX] };
            profile.temporal = TemporalProfile { traces: vec![trace], stream_size: 9 };
        }
        if vtables {
            profile.vtable_names = VTABLES.iter().map(|name| name.to_vec()).collect();
        }
        if memprof {
            profile.memprof =
                Some(MemProfSection { bytes: empty_memory_profile(512), offset: 512, indexed_version: 12 });
        }
        profile
    })
}

/// Returns the section of a memory profile without functions that starts at byte `start` of a file.
fn empty_memory_profile(start: u64) -> Vec<u8> {
    let table = start + 72;
    let words = [3, table, table, table, 4, 1, 5, 10, 23, 1, 0, 0];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
