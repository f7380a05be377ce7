//! Options of a comparison with a new build.

use crate::families::MergeOptions;
use crate::instr::target::Target;
use crate::limits::Limits;

/// Options of a comparison with a new build.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FitOptions {
    /// The target release; `None` for the compiler of the program, if it is known.
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
