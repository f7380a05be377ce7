//! The order in which libstdc++ walks a hash container: that of one linked
//! list, in which the members of a bucket stand together.
//!
//! LLVM writes function metadata in the order of such a container.

use crate::error::Result;
use crate::memory::{self, HOLD_RECORDS};
use std::iter;

/// Numbers of buckets, from the first element on: what `std::unordered_map`
/// of libstdc++ grows to when elements are inserted one by one.
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
/// The place in front of the first node.
const FRONT: u32 = u32::MAX - 1;

/// The list and its buckets. Nodes are numbered in the order of insertion.
#[derive(Debug, Clone)]
pub(super) struct Chain {
    keys: Vec<u64>,
    next: Vec<u32>,
    first: u32,
    /// For each bucket the node in front of its first one.
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

    /// Appends a node; the caller knows that the key is new.
    pub(super) fn insert(&mut self, key: u64) -> Result<()> {
        memory::reserve(&mut self.keys, 1, HOLD_RECORDS)?;
        memory::reserve(&mut self.next, 1, HOLD_RECORDS)?;
        if self.len + 1 > self.buckets.len() || self.grown == 0 {
            self.grow()?;
        }
        let node = self.keys.len() as u32;
        self.keys.push(key);
        self.next.push(NONE);
        self.len += 1;
        self.insert_into_bucket(node);
        Ok(())
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

    fn grow(&mut self) -> Result<()> {
        let wanted = BUCKETS.get(self.grown + 1).copied().unwrap_or(self.buckets.len() * 2 + 1);
        let buckets = memory::filled(NONE, wanted, HOLD_RECORDS)?;
        self.grown += 1;
        let mut node = self.first;
        self.first = NONE;
        self.buckets = buckets;
        while node != NONE {
            let next = self.next[node as usize];
            self.insert_into_bucket(node);
            node = next;
        }
        Ok(())
    }

    /// Takes out a node; the number of buckets stays.
    pub(super) fn remove(&mut self, node: usize) {
        let node = node as u32;
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

    /// The nodes, first to last.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        let there = |node: u32| (node != NONE).then_some(node);
        iter::successors(there(self.first), move |node| there(self.next[*node as usize])).map(|node| node as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_takes_new_members_in_front() {
        let mut chain = Chain::default();
        for key in [1, 2, 14, 27, 3] {
            chain.insert(key).unwrap();
        }
        // 1, 14 and 27 share a bucket of 13; the newest bucket comes first.
        assert_eq!(chain.iter().collect::<Vec<_>>(), [4, 1, 3, 2, 0]);
        chain.remove(2);
        chain.remove(4);
        assert_eq!(chain.iter().collect::<Vec<_>>(), [1, 3, 0]);
        chain.remove(3);
        chain.remove(0);
        chain.insert(14).unwrap();
        assert_eq!(chain.iter().collect::<Vec<_>>(), [5, 1]);
    }
}
