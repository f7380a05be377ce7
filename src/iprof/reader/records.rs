//! What records can give away by themselves.

use crate::iprof::sections::{BranchRow, TypeCount};
use crate::iprof::tables::TypeHandle;

/// Producers record no more types at a site.
pub(super) const MOST_RECEIVERS: usize = 8;

/// Counts ≥ 2^32 whose halves are alike betray 32-bit counters read in pairs.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Packing {
    positive: u64,
    large: u64,
    pub(super) alike: u64,
}

impl Packing {
    #[inline]
    pub(super) fn add(&mut self, count: u64) {
        self.positive += u64::from(count > 0);
        let (upper, lower) = (count >> 32, count & 0xffff_ffff);
        if upper == 0 {
            return;
        }
        self.large += 1;
        // Of honest counts not one in a million has halves within a factor of 16.
        self.alike += u64::from(upper.max(lower) <= 16 * upper.min(lower));
    }

    pub(super) fn join(&mut self, other: Self) {
        self.positive += other.positive;
        self.large += other.large;
        self.alike += other.alike;
    }

    pub(super) fn is_packed(self) -> bool {
        self.alike >= 2 && 2 * self.alike >= self.large && 10 * self.alike >= self.positive
    }
}

/// An index with two real targets.
pub(super) fn index_clash(rows: &[BranchRow]) -> Option<u32> {
    if let [a, b] = rows {
        return (a.index == b.index && a.bci != b.bci && a.bci >= 0 && b.bci >= 0).then_some(a.index);
    }
    let mut real: Vec<(u32, i32)> = rows.iter().filter(|row| row.bci >= 0).map(|row| (row.index, row.bci)).collect();
    real.sort_unstable();
    real.windows(2).find(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1).map(|pair| pair[0].0)
}

pub(super) fn has_repeated_type(pairs: &[TypeCount]) -> bool {
    if pairs.len() <= MOST_RECEIVERS {
        return pairs.iter().enumerate().any(|(at, pair)| pairs[..at].iter().any(|other| other.class == pair.class));
    }
    let mut classes: Vec<TypeHandle> = pairs.iter().map(|pair| pair.class).collect();
    classes.sort_unstable();
    classes.windows(2).any(|pair| pair[0] == pair[1])
}
