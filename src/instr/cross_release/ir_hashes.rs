//! FuncHashes of IR records.
//!
//! Up to LLVM 11, a hash has the numbers of selects (8 bits), indirect calls (8 bits) and edges (16 bits), and a CRC of
//! the control flow (32 bits). Since LLVM 12, it is a CRC of such numbers, shifted by 28 bits, plus the same CRC of the
//! control flow, and the four highest bits are zero. Neither can be computed from the other. Files of rustc 1.51
//! (LLVM 11) and 1.95 (LLVM 22) confirm this.

use crate::instr::cross_release::finding::{Counted, CrossReleaseOptions, FindingKind};
use crate::model::record::is_of_bridge;
use crate::model::{Profile, Release};

/// The first release that computes the later hashes.
const LATER_SINCE: Release = Release(12);

/// Returns true if a hash is probably of LLVM 11 or earlier: it has 1 to 64 edges and fewer than 16 indirect calls, as
/// most functions do. Of the later hashes, one in 16,384 looks like this.
fn looks_early(hash: u64) -> bool {
    let (calls, edges) = (hash >> 48 & 0xff, hash >> 32 & 0xffff);
    calls < 16 && (1..=64).contains(&edges)
}

/// Returns true if two hashes are of one function, of LLVM 11 or earlier and of a later release.
#[cfg(feature = "correlate")]
pub(crate) fn are_of_both_algorithms(one: u64, other: u64) -> bool {
    const COMMON_BITS: u64 = (1 << 28) - 1;
    one & COMMON_BITS == other & COMMON_BITS && looks_early(one) != looks_early(other)
}

/// Counts hashes to find those that the target does not compute.
#[derive(Debug)]
pub(super) struct IrHashes {
    target_is_later: bool,
    may_be_early: bool,
    may_be_later: bool,
    early: usize,
    all: usize,
}

impl IrHashes {
    pub(super) fn new(options: &CrossReleaseOptions) -> Self {
        Self {
            target_is_later: options.release >= LATER_SINCE,
            may_be_early: options.origins.may_be_early_ir,
            may_be_later: options.origins.may_be_later_ir,
            early: 0,
            all: 0,
        }
    }

    /// Returns true if some input may have hashes that the target does not compute.
    fn may_differ(&self) -> bool {
        if self.target_is_later { self.may_be_early } else { self.may_be_later }
    }

    /// Counts the hashes of a function.
    pub(super) fn add(&mut self, hashes: impl Iterator<Item = u64>) {
        if self.may_differ() {
            hashes.for_each(|hash| {
                self.early += usize::from(looks_early(hash));
                self.all += 1;
            });
        }
    }

    /// Returns true if the target does not compute some hashes.
    pub(super) fn differ(&self) -> bool {
        self.all > 0 && self.may_differ() && if self.target_is_later { self.has_early() } else { !self.is_early() }
    }

    /// Returns true if there are early hashes. A few of the later ones look early, too.
    fn has_early(&self) -> bool {
        self.may_be_early && (!self.may_be_later || self.early * 16 >= self.all)
    }

    /// Returns true if all hashes are early. Those of a few functions with more edges or calls do not look early.
    fn is_early(&self) -> bool {
        self.may_be_early && (!self.may_be_later || self.early * 4 > self.all * 3)
    }

    fn is_computed(&self, hash: u64) -> bool {
        let is_early = self.has_early() && (self.is_early() || looks_early(hash));
        is_early != self.target_is_later
    }
}

/// Counts the functions that the target will not find because of their hashes.
pub(super) fn note_ir_hashes(profile: &Profile, options: &CrossReleaseOptions, counted: &mut Counted) {
    let mut found = IrHashes::new(options);
    profile.functions.iter().for_each(|function| found.add(function.records().map(|record| record.func_hash)));
    if !found.differ() {
        return;
    }
    for function in profile.functions.iter() {
        let mut hashes = function.records().map(|record| record.func_hash);
        if hashes.any(|hash| !found.is_computed(hash) && !is_of_bridge(function.name(), hash)) {
            counted.add(FindingKind::IrHashOfOtherRelease, function.id());
        }
    }
}
