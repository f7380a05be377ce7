//! What of a comparison can be chosen.

use crate::families::merge::MergeOptions;
use crate::instr::target::Target;
use crate::limits::Limits;

/// What of a comparison can be chosen.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FitOptions {
    /// The release of LLVM that reads the profile; `None` takes the one that
    /// built the program, where it tells.
    pub reader: Option<Target>,
    /// Length of each list. Default: 10.
    pub topn: usize,
    /// How the profile is read: raw profiles may need the program that ran.
    pub merge: MergeOptions,
    /// Bounds on hostile input.
    pub limits: Limits,
}

impl Default for FitOptions {
    fn default() -> Self {
        Self { reader: None, topn: 10, merge: MergeOptions::default(), limits: Limits::default() }
    }
}
