//! How much call stacks may take.
//!
//! A function that is inlined stands once in debug info, and in the stack of each
//! address inside it; so what comes of a dump and its program may be as much as
//! the product of their sizes. No program inlines like that.

use crate::error::{ErrorKind, Result};
use crate::memprof::model::AllocSite;

/// Bytes for each byte of the dump and its programs.
const BYTES: usize = 32;
/// Bytes beside these.
const BASE: usize = 1 << 20;

/// About what a function at an address takes: its frame, and the call site that
/// the function has there.
pub(super) const PLACE: usize = 128;
/// A frame of a stack, in a list that grows.
pub(super) const FRAME: usize = 8;
/// An allocation in one of the functions that it belongs to.
pub(super) const SITE: usize = size_of::<AllocSite>();

/// Memory that is left for call stacks.
pub(super) struct MemoryBudget {
    most: usize,
    left: usize,
}

impl MemoryBudget {
    /// For a dump and programs of so many bytes together.
    pub(super) fn of(bytes: usize) -> Self {
        let most = bytes.saturating_mul(BYTES).saturating_add(BASE);
        Self { most, left: most }
    }

    /// How many things of that size there is room for.
    pub(super) fn left_for(&self, size: usize) -> usize {
        self.left / size
    }

    /// Takes room for things of that size.
    ///
    /// # Errors
    ///
    /// Limit exceeded when there is none.
    pub(super) fn take(&mut self, count: usize, size: usize) -> Result<()> {
        let bytes = count.saturating_mul(size);
        let Some(left) = self.left.checked_sub(bytes) else {
            let what = "memory in bytes for call stacks with their inlined calls";
            let found = (self.most - self.left).saturating_add(bytes) as u64;
            return Err(ErrorKind::LimitExceeded { what, found, limit: self.most as u64 }.into());
        };
        self.left = left;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_shrinks_with_each_use() {
        let mut room = MemoryBudget::of(1000);
        assert_eq!(room.left_for(BASE), 1);
        room.take(1, BASE).unwrap();
        room.take(1000, BYTES - 1).unwrap();
        assert_eq!((room.left_for(1), room.left_for(1000)), (1000, 1));
        let error = room.take(1001, 1).unwrap_err().to_string();
        let (found, limit) = (BASE + BYTES * 1000 + 1, BASE + BYTES * 1000);
        assert!(error.contains(&format!("{found}, the limit is {limit}")), "{error}");
        assert!(room.take(usize::MAX, usize::MAX).is_err());
        room.take(1000, 1).unwrap();
    }
}
