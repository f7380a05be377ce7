//! The orders in which LLVM writes records and their parts.
//!
//! Function metadata has the order of a hash container of libstdc++: one linked list, in which the members of a
//! bucket follow each other. [`Chain`] repeats that list, and the functions after it compute the hashes.

use super::options::Rules;
use super::profile::SampleProfile;
use super::record::{CallSite, CallTarget, FunctionRecord, NameId, Names};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::iter;
use xxhash_rust::xxh3::xxh3_64;

/// Compares two records by name or context: records without a context come first, contexts are compared frame by
/// frame.
pub(super) fn compare_titles(names: &Names, a: &FunctionRecord, b: &FunctionRecord) -> Ordering {
    match (&a.context, &b.context) {
        (None, None) => names.compare(a.name, b.name),
        (Some(a), Some(b)) => {
            let pairs = a.iter().zip(b.iter());
            let frames = pairs
                .map(|(a, b)| names.compare(a.function, b.function).then_with(|| a.location.cmp(&b.location)))
                .find(|order| order.is_ne());
            frames.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

/// Returns the records in the order in which they are written: by falling total, then by name or context.
pub(super) fn written(profile: &SampleProfile, rules: Rules) -> Vec<&FunctionRecord> {
    let mut records: Vec<&FunctionRecord> = profile.functions.iter().collect();
    records.sort_unstable_by(|a, b| {
        b.total.cmp(&a.total).then_with(|| {
            let titles = compare_titles(&profile.names, a, b);
            if rules.ties_rise() { titles } else { titles.reverse() }
        })
    });
    records
}

/// Returns call targets by falling count, then by name.
pub(super) fn targets<'a>(names: &Names, targets: &'a [CallTarget]) -> Cow<'a, [CallTarget]> {
    if targets.len() < 2 {
        return Cow::Borrowed(targets);
    }
    let mut sorted = targets.to_vec();
    sorted.sort_unstable_by(|a, b| b.samples.cmp(&a.samples).then_with(|| names.compare(a.callee, b.callee)));
    Cow::Owned(sorted)
}

/// Returns vtables by name.
pub(super) fn tables(names: &Names, tables: &[CallTarget]) -> Vec<CallTarget> {
    let mut sorted = tables.to_vec();
    sorted.sort_unstable_by(|a, b| names.compare(a.callee, b.callee));
    sorted
}

/// Returns inlined callees by location, then by name.
pub(super) fn call_sites<'a>(names: &Names, record: &'a FunctionRecord) -> Vec<&'a CallSite> {
    let mut sites: Vec<&CallSite> = record.call_sites.iter().collect();
    if sites.windows(2).any(|pair| pair[0].location == pair[1].location) {
        sites.sort_by(|a, b| a.location.cmp(&b.location).then_with(|| names.compare(a.callee.name, b.callee.name)));
    }
    sites
}

/// Calls `each` for every name of a record and its body, inlined callees included.
pub(super) fn each_name(record: &FunctionRecord, with_vtables: bool, each: &mut impl FnMut(NameId)) {
    each(record.name);
    for entry in &record.body {
        entry.targets.iter().for_each(|target| each(target.callee));
    }
    if with_vtables {
        record.vtables.iter().flat_map(|entry| &entry.tables).for_each(|table| each(table.callee));
    }
    for site in &record.call_sites {
        each_name(&site.callee, with_vtables, each);
    }
}

/// The numbers of buckets to which `std::unordered_map` of libstdc++ grows when elements are inserted one by one.
const BUCKETS: [usize; 25] = [
    1,
    13,
    29,
    59,
    127,
    257,
    541,
    1109,
    2357,
    5087,
    10273,
    20753,
    42043,
    85229,
    172_933,
    351_061,
    712_697,
    1_447_153,
    2_938_679,
    5_967_347,
    12_117_689,
    24_607_243,
    49_969_847,
    101_473_717,
    206_062_531,
];

/// No node.
const NONE: u32 = u32::MAX;
/// The position before the first node.
const FRONT: u32 = u32::MAX - 1;

/// The order in which libstdc++ walks a hash container. Nodes are numbered in the order of insertion.
#[derive(Debug, Clone)]
pub(crate) struct Chain {
    keys: Vec<u64>,
    next: Vec<u32>,
    first: u32,
    /// For each bucket, the node before its first one.
    buckets: Vec<u32>,
    grown: usize,
    len: usize,
}

impl Default for Chain {
    fn default() -> Self {
        Self { keys: Vec::new(), next: Vec::new(), first: NONE, buckets: vec![NONE; 1], grown: 0, len: 0 }
    }
}

impl Chain {
    fn bucket(&self, node: u32) -> usize {
        (self.keys[node as usize] % self.buckets.len() as u64) as usize
    }

    fn after(&self, node: u32) -> u32 {
        if node == FRONT { self.first } else { self.next[node as usize] }
    }

    fn link(&mut self, node: u32, next: u32) {
        if node == FRONT {
            self.first = next;
        } else {
            self.next[node as usize] = next;
        }
    }

    /// Appends a node. The key must be new.
    pub(crate) fn insert(&mut self, key: u64) {
        if self.len + 1 > self.buckets.len() || self.grown == 0 {
            self.grow();
        }
        let node = u32::try_from(self.keys.len()).expect("fewer than 2^32 records fit in memory");
        self.keys.push(key);
        self.next.push(NONE);
        self.len += 1;
        self.insert_into_bucket(node);
    }

    fn insert_into_bucket(&mut self, node: u32) {
        let bucket = self.bucket(node);
        let before = self.buckets[bucket];
        if before != NONE {
            let next = self.after(before);
            self.link(node, next);
            self.link(before, node);
            return;
        }
        self.link(node, self.first);
        self.first = node;
        let next = self.next[node as usize];
        if next != NONE {
            let of_next = self.bucket(next);
            self.buckets[of_next] = node;
        }
        self.buckets[bucket] = FRONT;
    }

    fn grow(&mut self) {
        let wanted = BUCKETS.get(self.grown + 1).copied().unwrap_or(self.buckets.len() * 2 + 1);
        self.grown += 1;
        let mut node = self.first;
        self.first = NONE;
        self.buckets = vec![NONE; wanted];
        while node != NONE {
            let next = self.next[node as usize];
            self.insert_into_bucket(node);
            node = next;
        }
    }

    /// Removes a node; the number of buckets stays.
    pub(super) fn remove(&mut self, node: usize) {
        let Ok(node) = u32::try_from(node) else { return };
        let bucket = self.bucket(node);
        let mut before = self.buckets[bucket];
        while self.after(before) != node {
            before = self.after(before);
        }
        let next = self.next[node as usize];
        let next_bucket = (next != NONE).then(|| self.bucket(next));
        if before == self.buckets[bucket] {
            if next_bucket != Some(bucket) {
                if let Some(next_bucket) = next_bucket {
                    self.buckets[next_bucket] = before;
                }
                self.buckets[bucket] = NONE;
            }
        } else if let Some(next_bucket) = next_bucket.filter(|next_bucket| *next_bucket != bucket) {
            self.buckets[next_bucket] = before;
        }
        self.link(before, next);
        self.len -= 1;
    }

    /// Returns the nodes, first to last.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        let there = |node: u32| (node != NONE).then_some(node);
        iter::successors(there(self.first), move |node| there(self.next[*node as usize])).map(|node| node as usize)
    }
}

/// The seed of `llvm::hash_value` if the process sets no other.
const SEED: u64 = 0xff51_afd7_ed55_8ccd;
const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;
const K3: u64 = 0xc949_d7c7_509e_6557;

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk))
}

fn u32_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |chunk| u64::from(u32::from_le_bytes(*chunk)))
}

fn shift_mix(value: u64) -> u64 {
    value ^ (value >> 47)
}

fn pair(low: u64, high: u64) -> u64 {
    const MULTIPLIER: u64 = 0x9ddf_ea08_eb38_2d69;
    let a = shift_mix((low ^ high).wrapping_mul(MULTIPLIER));
    let b = shift_mix((high ^ a).wrapping_mul(MULTIPLIER));
    b.wrapping_mul(MULTIPLIER)
}

/// Hashes bytes as `llvm::hash_combine_range` does up to LLVM 22.
pub(super) fn hash_range(bytes: &[u8]) -> u64 {
    let n = bytes.len() as u64;
    match bytes.len() {
        0 => K2 ^ SEED,
        1..=3 => {
            let y = u64::from(bytes[0]) + (u64::from(bytes[bytes.len() / 2]) << 8);
            let z = n + (u64::from(bytes[bytes.len() - 1]) << 2);
            shift_mix(y.wrapping_mul(K2) ^ z.wrapping_mul(K3) ^ SEED).wrapping_mul(K2)
        }
        4..=8 => pair(n.wrapping_add(u32_at(bytes, 0) << 3), SEED ^ u32_at(bytes, bytes.len() - 4)),
        9..=16 => {
            let (a, b) = (u64_at(bytes, 0), u64_at(bytes, bytes.len() - 8));
            pair(SEED ^ a, b.wrapping_add(n).rotate_right(n as u32)) ^ b
        }
        17..=32 => {
            let end = bytes.len();
            let a = u64_at(bytes, 0).wrapping_mul(K1);
            let b = u64_at(bytes, 8);
            let c = u64_at(bytes, end - 8).wrapping_mul(K2);
            let d = u64_at(bytes, end - 16).wrapping_mul(K0);
            let low = a.wrapping_sub(b).rotate_right(43).wrapping_add((c ^ SEED).rotate_right(30)).wrapping_add(d);
            let high = a.wrapping_add((b ^ K3).rotate_right(20)).wrapping_sub(c).wrapping_add(n).wrapping_add(SEED);
            pair(low, high)
        }
        33..=64 => hash_up_to_64(bytes),
        _ => hash_long(bytes),
    }
}

fn hash_up_to_64(bytes: &[u8]) -> u64 {
    let (end, n) = (bytes.len(), bytes.len() as u64);
    let round = |z: u64, mut a: u64, x: u64, y: u64| {
        let mut b = a.wrapping_add(z).rotate_right(52);
        let mut c = a.rotate_right(37);
        a = a.wrapping_add(x);
        c = c.wrapping_add(a.rotate_right(7));
        a = a.wrapping_add(y);
        b = b.wrapping_add(a.rotate_right(31)).wrapping_add(c);
        (a.wrapping_add(z), b)
    };
    let first = u64_at(bytes, 0).wrapping_add(n.wrapping_add(u64_at(bytes, end - 16)).wrapping_mul(K0));
    let (vf, vs) = round(u64_at(bytes, 24), first, u64_at(bytes, 8), u64_at(bytes, 16));
    let second = u64_at(bytes, 16).wrapping_add(u64_at(bytes, end - 32));
    let (wf, ws) = round(u64_at(bytes, end - 8), second, u64_at(bytes, end - 24), u64_at(bytes, end - 16));
    let r = shift_mix(vf.wrapping_add(ws).wrapping_mul(K2).wrapping_add(wf.wrapping_add(vs).wrapping_mul(K0)));
    shift_mix((SEED ^ r.wrapping_mul(K0)).wrapping_add(vs)).wrapping_mul(K2)
}

fn hash_long(bytes: &[u8]) -> u64 {
    let mut h = [0, SEED, pair(SEED, K1), (SEED ^ K1).rotate_right(49), SEED.wrapping_mul(K1), shift_mix(SEED), 0];
    h[6] = pair(h[4], h[5]);
    let (blocks, rest) = bytes.as_chunks::<64>();
    blocks.iter().for_each(|block| mix(&mut h, block));
    if !rest.is_empty() {
        mix(&mut h, &bytes[bytes.len() - 64..]);
    }
    let n = bytes.len() as u64;
    let low = pair(h[3], h[5]).wrapping_add(shift_mix(h[1]).wrapping_mul(K1)).wrapping_add(h[2]);
    let high = pair(h[4], h[6]).wrapping_add(shift_mix(n).wrapping_mul(K1)).wrapping_add(h[0]);
    pair(low, high)
}

fn mix(h: &mut [u64; 7], block: &[u8]) {
    let f = |at| u64_at(block, at);
    h[0] = h[0].wrapping_add(h[1]).wrapping_add(h[3]).wrapping_add(f(8)).rotate_right(37).wrapping_mul(K1);
    h[1] = h[1].wrapping_add(h[4]).wrapping_add(f(48)).rotate_right(42).wrapping_mul(K1);
    h[0] ^= h[6];
    h[1] = h[1].wrapping_add(h[3]).wrapping_add(f(40));
    h[2] = h[2].wrapping_add(h[5]).rotate_right(33).wrapping_mul(K1);
    h[3] = h[4].wrapping_mul(K1);
    h[4] = h[0].wrapping_add(h[5]);
    let (a, b) = mix_half(block, 0, h[3], h[4]);
    (h[3], h[4]) = (a, b);
    h[5] = h[2].wrapping_add(h[6]);
    h[6] = h[1].wrapping_add(f(16));
    let (a, b) = mix_half(block, 32, h[5], h[6]);
    (h[5], h[6]) = (a, b);
    h.swap(0, 2);
}

fn mix_half(block: &[u8], at: usize, mut a: u64, mut b: u64) -> (u64, u64) {
    a = a.wrapping_add(u64_at(block, at));
    let c = u64_at(block, at + 24);
    b = b.wrapping_add(a).wrapping_add(c).rotate_right(21);
    let d = a;
    a = a.wrapping_add(u64_at(block, at + 8)).wrapping_add(u64_at(block, at + 16));
    b = b.wrapping_add(a.rotate_right(44)).wrapping_add(d);
    (a.wrapping_add(c), b)
}

/// Hashes bytes as LLVM 23 and later do.
pub(super) fn hash_range_xxh3(bytes: &[u8]) -> u64 {
    xxh3_64(bytes) ^ SEED
}

/// Hashes a string as `std::hash` of libstdc++ does on 64-bit hosts.
pub(super) fn std_hash(bytes: &[u8]) -> u64 {
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    let mut hash = 0xc70f_6907 ^ (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let value = shift_mix(u64::from_le_bytes(*word).wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
        hash = (hash ^ value).wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        hash = (hash ^ u64::from_le_bytes(last)).wrapping_mul(MULTIPLIER);
    }
    shift_mix(shift_mix(hash).wrapping_mul(MULTIPLIER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_takes_new_members_in_front() {
        let mut chain = Chain::default();
        for key in [1, 2, 14, 27, 3] {
            chain.insert(key);
        }
        // 1, 14 and 27 share a bucket of 13; the newest bucket comes first.
        assert_eq!(chain.iter().collect::<Vec<_>>(), [4, 1, 3, 2, 0]);
        chain.remove(2);
        chain.remove(4);
        assert_eq!(chain.iter().collect::<Vec<_>>(), [1, 3, 0]);
        chain.remove(3);
        chain.remove(0);
        chain.insert(14);
        assert_eq!(chain.iter().collect::<Vec<_>>(), [5, 1]);
    }

    #[test]
    fn strings_hash_as_in_libstdcxx() {
        // Printed by a program that was built with libstdc++.
        let cases: [(&str, u64); 5] = [
            ("", 6_142_509_188_972_423_790),
            ("a", 4_993_892_634_952_068_459),
            ("foo", 9_631_199_822_919_835_226),
            ("12345678", 10_113_836_418_918_046_885),
            ("123456789012345678", 9_272_190_511_951_556_031),
        ];
        for (text, expected) in cases {
            assert_eq!(std_hash(text.as_bytes()), expected, "{text}");
        }
    }
}
