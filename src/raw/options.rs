//! How raw files are read.

use super::chunks::NameChunks;
use super::correlate::Correlator;
use super::names::RawNames;
use crate::compat::Compat;
use crate::limits::Limits;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// How a raw file is read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RawOptions<'a> {
    /// Whose rules apply.
    pub compat: Compat,
    /// Bounds on hostile input.
    pub limits: Limits,
    /// Finds the records of profiles that have none of their own.
    pub correlator: Option<&'a dyn Correlator>,
    /// Names read from another file, used again if they are this file's too.
    pub names: Option<Arc<RawNames>>,
    /// Chunks of names met in other files, which need no work again.
    pub(crate) known_chunks: Option<Arc<NameChunks>>,
    /// What a counter above [`LARGEST_PLAUSIBLE_COUNTER`](super::reader::LARGEST_PLAUSIBLE_COUNTER) means.
    pub large_counters: LargeCounters,
    /// Threads that may share reading the names; `None` is one.
    pub threads: Option<NonZeroUsize>,
}

/// What a counter above [`LARGEST_PLAUSIBLE_COUNTER`](super::reader::LARGEST_PLAUSIBLE_COUNTER) means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LargeCounters {
    /// As `Compat` says: a failure at the end of the file for LLVM's
    /// `merge`, else a warning.
    #[default]
    ByCompat,
    /// A warning; the value is kept.
    Warn,
    /// Nothing is said, as in LLVM's `show`.
    Accept,
}

impl RawOptions<'_> {
    /// The defaults under those rules.
    pub fn new(compat: Compat) -> Self {
        Self { compat, ..Self::default() }
    }
}
