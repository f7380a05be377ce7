//! Random profiles of a GPU as files of LLVM 23. They depend only on the seed.

use profbridge::Compat;
use profbridge::bytes::{Encoding, Endian, PointerWidth};
use profbridge::generate::Random;
use profbridge::indexed;
use profbridge::instr::{FunctionRecord, Profile, ProfileKind, ValueCount, ValueKind, name_ref};
use profbridge::raw;
use profbridge::text::{self, TextOptions};

/// The uniformity data of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knows {
    /// The number of uniform entries per block.
    Counts,
    /// One bit per block, sometimes too many or too few.
    Bits,
    /// None.
    Nothing,
}

/// The four forms of raw files.
pub const ENCODINGS: [(PointerWidth, Endian); 4] = [
    (PointerWidth::Bits64, Endian::Little),
    (PointerWidth::Bits64, Endian::Big),
    (PointerWidth::Bits32, Endian::Little),
    (PointerWidth::Bits32, Endian::Big),
];

/// Returns a profile for a seed. Profiles of one family share functions.
pub fn profile(seed: u64, family: u64, knows: Knows) -> Profile {
    let mut shape = Random::new(family);
    let names: Vec<Vec<u8>> = (0..1 + shape.below(14)).map(|at| format!("f{at}").into_bytes()).collect();
    let mismatches = shape.chance(30);
    let mut random = Random::new(seed);
    let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
    for (index, name) in names.iter().enumerate() {
        let mut about = Random::new(family ^ (index as u64 * 7919 + 1));
        for _ in 0..1 + about.below(6) {
            let hash = about.next_number() >> 4;
            if random.chance(20) {
                continue;
            }
            let function = profile.functions.intern(name);
            let record = record(&mut random, &mut Random::new(hash), hash, &names, mismatches, knows);
            profile.functions.push_record(function, &record);
        }
    }
    profile
}

fn count(random: &mut Random) -> u64 {
    match random.below(6) {
        0 => 0,
        1 => random.next_number() >> (9 + random.below(50)),
        _ => random.below(120),
    }
}

fn record(
    random: &mut Random,
    about: &mut Random,
    hash: u64,
    names: &[Vec<u8>],
    mismatches: bool,
    knows: Knows,
) -> FunctionRecord {
    let counters = 1 + about.below(20) + u64::from(mismatches && random.chance(10));
    let zero = random.chance(20);
    let counters: Vec<u64> = (0..counters).map(|_| if zero { 0 } else { count(random) }).collect();
    let mut record = FunctionRecord::new(hash, counters);
    if about.chance(30) {
        let size = 1 + about.below(20) + u64::from(mismatches && random.chance(20));
        record.bitmap = (0..size).map(|_| random.next_number() as u8).collect();
    }
    match knows {
        Knows::Counts => record.uniformity.counts = record.counters.iter().map(|c| uniform(random, *c)).collect(),
        Knows::Bits if random.chance(70) => {
            let right = record.counters.len().div_ceil(8) as u64;
            let size = if random.chance(10) { random.below(12) } else { right };
            record.uniformity.bits = (0..size).map(|_| random.next_number() as u8).collect();
        }
        _ => {}
    }
    for kind in [ValueKind::IndirectCallTarget, ValueKind::MemOpSize] {
        if !about.chance(30) {
            continue;
        }
        for _ in 0..about.below(4) {
            let mut site: Vec<ValueCount> = Vec::new();
            for number in 0..random.below(5) {
                let size = number * 11 + random.below(11);
                let target = name_ref(&names[random.below(names.len() as u64) as usize]);
                let value = if kind == ValueKind::MemOpSize { size } else { target };
                if site.iter().all(|known| known.value != value) {
                    site.push(ValueCount { value, count: count(random) });
                }
            }
            record.sites_mut(kind).push_site(&site);
        }
    }
    record
}

/// Returns a number around nine tenths of a count, where the bit changes.
fn uniform(random: &mut Random, count: u64) -> u64 {
    match random.below(4) {
        0 => count,
        1 => count - count / 10,
        2 => (count - count / 10).saturating_sub(1),
        _ => random.below(count.saturating_add(1).max(1)),
    }
}

/// Returns a raw file of version 11.
pub fn raw_file(profile: &Profile, (pointer, endian): (PointerWidth, Endian)) -> Vec<u8> {
    let encoding = Encoding { endian, pointer, version: 11 };
    raw::write(profile, &raw::WriteOptions::new(encoding)).expect("the profile is small")
}

/// Returns an indexed file of version 14, with the sites in their original order.
pub fn indexed_file(profile: &Profile) -> Vec<u8> {
    indexed::write(profile, &indexed::WriteOptions::for_version(14)).expect("the profile is small")
}

/// Returns a file of any format, with its file extension.
pub fn file(seed: u64, family: u64) -> (Vec<u8>, &'static str) {
    let mut random = Random::new(seed ^ 0x5bd1_e995);
    match random.below(6) {
        sort @ 0..=2 => {
            let knows = if sort == 2 { Knows::Nothing } else { Knows::Counts };
            let encoding = ENCODINGS[random.below(4) as usize];
            (raw_file(&profile(seed, family, knows), encoding), "profraw")
        }
        3 | 4 => (indexed_file(&profile(seed, family, Knows::Bits)), "profdata"),
        _ => {
            let profile = without_bitmaps(&profile(seed, family, Knows::Nothing));
            (text::write(&profile, &TextOptions::new(Compat::Llvm22)).bytes, "proftext")
        }
    }
}

/// LLVM's text reader copies bitmaps to following records that have none, so remove them.
fn without_bitmaps(profile: &Profile) -> Profile {
    let mut without = Profile { kind: profile.kind, ..Profile::default() };
    for function in profile.functions.iter() {
        let id = without.functions.intern(function.name());
        for record in function.records() {
            let mut record = record.to_record();
            record.bitmap.clear();
            without.functions.push_record(id, &record);
        }
    }
    without
}
