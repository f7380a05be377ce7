//! Profiles without their own records, which are in the image that ran.
//!
//! To save memory, a program may be built so that names and records are not loaded. Its
//! profile then has counters only. The rest is in the image: in sections that are not loaded
//! (binary correlation, LLVM 18 and later) or in DWARF (debug-info correlation, LLVM 14 and
//! later). [`Images`] reads both.

use super::header::Header;
use super::layout::DataRecord;
use super::names::RawNames;
use crate::error::Result;
use crate::model::BinaryId;
use std::fmt;
use std::sync::Arc;

#[cfg(feature = "correlate")]
mod dwarf;
#[cfg(feature = "correlate")]
mod images;

#[cfg(feature = "correlate")]
pub use dwarf::Probe;
#[cfg(feature = "correlate")]
pub use images::Image;
#[cfg(feature = "correlate")]
pub use images::Images;

/// Where an image keeps what its profiles lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum CorrelationKind {
    /// Debug info (DWARF).
    DebugInfo,
    /// Sections that are not loaded.
    Binary,
}

/// Records and names that an image holds for its profiles.
///
/// Pointers to counters are offsets in the counters section.
#[derive(Debug, Clone, Default)]
pub struct ImageRecords {
    records: Vec<DataRecord>,
    names: Arc<RawNames>,
}

impl ImageRecords {
    /// Records with the names that belong to them.
    pub(crate) fn new(records: Vec<DataRecord>, names: RawNames) -> Self {
        Self { records, names: Arc::new(names) }
    }

    /// The records, in the image's order.
    pub(crate) fn records(&self) -> &[DataRecord] {
        &self.records
    }

    /// Names of functions by their hash.
    pub(crate) fn names(&self) -> Arc<RawNames> {
        Arc::clone(&self.names)
    }
}

/// Finds the records of a profile that has none of its own.
pub trait Correlator: fmt::Debug + Send + Sync {
    /// The records for a profile with that header, of an image with one of
    /// those ids.
    ///
    /// # Errors
    ///
    /// Unable to correlate, with the image's path, if the image does not match the profile or lacks the data.
    fn correlate(&self, header: &Header, binary_ids: &[BinaryId]) -> Result<Arc<ImageRecords>>;
}
