//! Which bucket of the on-disk hash table each name goes to, and in what order.
//!
//! LLVM fills a chained table that doubles as it grows and puts every item at
//! the front of its chain; each doubling turns the chains around
//! (`OnDiskChainedHashTableGenerator` in `OnDiskHashTable.h`).

use crate::error::Result;
use crate::memory::{self, HOLD_OUTPUT};

const NONE: u32 = u32::MAX;

/// Chains of items, as indexes in order of insertion.
pub(crate) struct Buckets {
    heads: Vec<u32>,
    next: Vec<u32>,
}

impl Buckets {
    /// Fills the table with items of these key hashes, in this order. A table
    /// that `shrinks` ends with as many buckets as it needs, else with 64 at
    /// least.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub(crate) fn fill(hashes: &[u64], shrinks: bool) -> Result<Self> {
        let mut table = Self { heads: vec![NONE; 64], next: memory::filled(NONE, hashes.len(), HOLD_OUTPUT)? };
        for at in 0..hashes.len() {
            if 4 * (at + 1) >= 3 * table.heads.len() {
                table.resize(table.heads.len() * 2, hashes)?;
            }
            table.push_front(at as u32, hashes);
        }
        let target = match hashes.len() {
            0..=2 => 1,
            entries => (entries * 4 / 3 + 1).next_power_of_two(),
        };
        if shrinks && target != table.heads.len() {
            table.resize(target, hashes)?;
        }
        Ok(table)
    }

    fn push_front(&mut self, item: u32, hashes: &[u64]) {
        let mask = self.heads.len() - 1;
        let head = &mut self.heads[hashes[item as usize] as usize & mask];
        self.next[item as usize] = std::mem::replace(head, item);
    }

    fn resize(&mut self, len: usize, hashes: &[u64]) -> Result<()> {
        let heads = memory::filled(NONE, len, HOLD_OUTPUT)?;
        let old = std::mem::replace(&mut self.heads, heads);
        for head in old {
            let mut item = head;
            while item != NONE {
                let following = self.next[item as usize];
                self.push_front(item, hashes);
                item = following;
            }
        }
        Ok(())
    }

    /// Number of buckets, a power of two.
    pub(crate) fn len(&self) -> usize {
        self.heads.len()
    }

    /// The items of a bucket, front to back.
    pub(crate) fn items(&self, bucket: usize) -> impl Iterator<Item = u32> + Clone {
        let item = |item: u32| (item != NONE).then_some(item);
        std::iter::successors(item(self.heads[bucket]), move |at| item(self.next[*at as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_the_number_of_items() {
        for (items, buckets) in
            [(0, 1), (2, 1), (3, 8), (5, 8), (6, 16), (11, 16), (12, 32), (23, 32), (24, 64), (47, 64), (48, 128)]
        {
            let hashes: Vec<u64> = (0..items).collect();
            assert_eq!(Buckets::fill(&hashes, true).unwrap().len(), buckets, "{items} items");
        }
    }

    #[test]
    fn every_doubling_turns_the_chains_around() {
        // All in bucket 0; 48 items make the table double once, before the last.
        let hashes = vec![0; 48];
        let table = Buckets::fill(&hashes, true).unwrap();
        let first: Vec<u32> = table.items(0).collect();
        assert!(first.into_iter().eq(std::iter::once(47).chain(0..47)));
    }
}
