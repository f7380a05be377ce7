//! What two profiles share, in numbers.

/// Samples and functions, or blocks, of two profiles. Sums are modulo 2^64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Shared {
    /// In both: for samples, the smaller number of each block.
    pub overlap: u64,
    /// In one at least: for samples, the larger number of each block.
    pub union: u64,
    /// Only in the first.
    pub base_unique: u64,
    /// Only in the second.
    pub test_unique: u64,
    /// In the first.
    pub base: u64,
    /// In the second.
    pub test: u64,
}
