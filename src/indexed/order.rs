//! The order of names and hashes in files, which is that of LLVM's hash maps.
//!
//! The writer of LLVM walks its in-memory maps, and files show the walk. Both
//! maps are open-addressing tables with quadratic probing that grow by powers
//! of two, so the order follows from the hash function, the sizes and the
//! order of insertion (`StringMap.cpp`, `DenseMap.h`).

use crate::model::{FunctionRecord, FunctionView, Release};
use xxhash_rust::xxh3::xxh3_64;

/// Free slot of a simulated table.
const FREE: u32 = u32::MAX;

/// Finds the slot for a key: its hash's own, or the next free one.
fn probe(slots: &[u32], hash: u32) -> usize {
    let mask = slots.len() - 1;
    let mut at = hash as usize & mask;
    let mut step = 1;
    while slots[at] != FREE {
        at = (at + step) & mask;
        step += 1;
    }
    at
}

/// Places the entries of `old` into a table of `len` slots, in slot order.
fn rebuild(old: &[u32], len: usize, hash_of: impl Fn(u32) -> u32) -> Vec<u32> {
    let mut new = vec![FREE; len];
    for &entry in old.iter().filter(|entry| **entry != FREE) {
        let at = probe(&new, hash_of(entry));
        new[at] = entry;
    }
    new
}

/// How the string map hashes names, by release.
fn string_hash(release: Release, name: &[u8]) -> u32 {
    if release >= Release(17) {
        xxh3_64(name) as u32
    } else {
        name.iter().fold(0u32, |hash, &byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)))
    }
}

/// The order in which a string map yields names that were inserted in the
/// order given: indexes into `names`, all of which differ.
pub(super) fn string_map_order<'a>(release: Release, names: impl IntoIterator<Item = &'a [u8]>) -> Vec<u32> {
    let mut slots = vec![FREE; 16];
    let mut hashes: Vec<u32> = Vec::new();
    for (name, index) in names.into_iter().zip(0u32..) {
        let hash = string_hash(release, name);
        hashes.push(hash);
        let at = probe(&slots, hash);
        slots[at] = index;
        let entries = hashes.len();
        if entries * 4 > slots.len() * 3 {
            slots = rebuild(&slots, slots.len() * 2, |entry| hashes[entry as usize]);
        } else if slots.len() - entries <= slots.len() / 8 {
            slots = rebuild(&slots, slots.len(), |entry| hashes[entry as usize]);
        }
    }
    slots.retain(|slot| *slot != FREE);
    slots
}

/// How the map of a name's records hashes a FuncHash, by release.
fn func_hash_hash(release: Release, func_hash: u64) -> u32 {
    if release >= Release(19) {
        let mixed = func_hash.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 31)) as u32
    } else {
        func_hash.wrapping_mul(37) as u32
    }
}

/// The records of one name in the order of files: that of a map keyed by
/// FuncHash into which they were inserted by first appearance.
pub(super) fn records_in_file_order<'a>(release: Release, function: FunctionView<'a>) -> Vec<&'a FunctionRecord> {
    let records: Vec<&FunctionRecord> = function.records().collect();
    if records.len() < 2 {
        return records;
    }
    let hash_of = |entry: u32| func_hash_hash(release, records[entry as usize].func_hash);
    let mut slots = vec![FREE; 4];
    for (entry, number) in (0..records.len() as u32).zip(1usize..) {
        if number * 4 >= slots.len() * 3 {
            let len = if slots.len() == 4 { 64 } else { slots.len() * 2 };
            slots = rebuild(&slots, len, hash_of);
        }
        let at = probe(&slots, hash_of(entry));
        slots[at] = entry;
    }
    slots.iter().filter(|slot| **slot != FREE).map(|slot| records[*slot as usize]).collect()
}
