//! The distribution of the counts of a file over its functions, to find files that differ from the others.
//!
//! Functions are hashed into buckets, so that thousands of files need little memory. Two functions in one bucket can only
//! make files look more alike.

use crate::identify::Family;
use xxhash_rust::xxh3::xxh3_64;

pub(super) const BUCKETS: usize = 1024;

/// The counts of each bucket.
#[derive(Debug, Clone)]
pub(crate) struct Distribution {
    pub(super) family: Family,
    sums: Vec<f64>,
}

impl Distribution {
    /// Creates the distribution of no counts.
    pub(crate) fn new(family: Family) -> Self {
        Self { family, sums: vec![0.0; BUCKETS] }
    }

    /// Adds counts of a function.
    pub(crate) fn add(&mut self, function: &[u8], count: u128) {
        let bucket = xxh3_64(function) % BUCKETS as u64;
        if let Some(sum) = self.sums.get_mut(bucket as usize) {
            *sum += count as f64;
        }
    }

    /// Returns the share of each bucket; `None` if all counts are 0.
    pub(super) fn shares(&self) -> Option<Vec<f64>> {
        let total: f64 = self.sums.iter().sum();
        (total > 0.0).then(|| self.sums.iter().map(|sum| sum / total).collect())
    }
}
