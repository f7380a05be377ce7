//! LLVM memory profiles that are files of their own.

use super::driver::Driver;
use crate::input::Family;
use crate::pipeline::describe::foreign;

/// An indexed profile holds one of either family, and is checked and compared
/// by the same code.
pub(super) const DRIVER: Driver =
    Driver { family: Family::MemProf, describe: foreign::describe, compared_with: &[], ..super::instr::DRIVER };
