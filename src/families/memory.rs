//! Whether reports and flame graphs show the memory profile of a file.

use crate::compat::Compat;
use crate::error::Result;
use crate::indexed::{self, IndexedProfile};
use crate::input::{Access, Format, Input};
use crate::instr::open::ReadOptions;
use crate::limits::Limits;
pub use crate::memprof::AllocationUnit;
#[cfg(feature = "correlate")]
use crate::memprof::raw::Programs;
use crate::model::ProfileKind;
#[cfg(feature = "correlate")]
use std::sync::Arc;

/// How memory profiles are drawn.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MemoryOptions {
    /// Use the memory profile of an indexed profile that also has function records. Other files with a memory profile
    /// have no other data.
    pub asked_for: bool,
    /// The unit of the drawing.
    pub unit: AllocationUnit,
    /// The programs that wrote raw memory profiles.
    #[cfg(feature = "correlate")]
    pub programs: Arc<Programs>,
}

/// Returns true if the memory profile of an LLVM profile is drawn. An indexed profile can have a memory profile with or
/// without counters.
pub(crate) fn draws_memory(input: &Input, options: &MemoryOptions, limits: &Limits) -> Result<bool> {
    Ok(options.asked_for || has_only_memory(input, limits)?)
}

/// Returns true for an indexed profile that has a memory profile and no functions.
///
/// # Errors
///
/// I/O errors with the path.
pub fn has_only_memory(input: &Input, limits: &Limits) -> Result<bool> {
    if input.format()? != Format::Indexed {
        return Ok(false);
    }
    // The word after the magic number has the version and the kind.
    let word = input.look()?.start().get(8..16).and_then(|word| word.try_into().ok()).map_or(0, u64::from_le_bytes);
    if !ProfileKind::from_bits(word).contains(ProfileKind::MEMPROF) {
        return Ok(false);
    }
    Ok(is_only_memory(&input.bytes(Access::Read, limits)?, limits))
}

impl MemoryOptions {
    pub(super) fn read_options(&self, limits: &Limits) -> ReadOptions {
        let mut options = ReadOptions { limits: *limits, ..ReadOptions::new(Compat::Profbridge) };
        #[cfg(feature = "correlate")]
        options.programs.clone_from(&self.programs);
        #[cfg(not(feature = "correlate"))]
        let _ = &mut options;
        options
    }
}

/// Whether this is an indexed profile with a memory profile and no function.
fn is_only_memory(data: &[u8], limits: &Limits) -> bool {
    let options = indexed::ReadOptions::new(*limits, Compat::Profbridge);
    // Damage is for the reader to name.
    IndexedProfile::read(data, options).is_ok_and(|profile| profile.entries().next().is_none() && profile.has_memprof())
}
