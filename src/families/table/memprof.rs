//! LLVM memory profiles that are files of their own.

use crate::families::describe::other_formats;
use crate::families::drawings::memprof::draw;
use crate::families::table::driver::Driver;
use crate::input::Family;

/// An indexed profile holds one of either family, and is checked and compared
/// by the same code.
pub(super) const DRIVER: Driver = Driver {
    family: Family::MemProf,
    describe: other_formats::describe,
    compared_with: &[],
    draws_memory: |_, _, _| Ok(true),
    draw: |inputs, options, _| draw(inputs, &options.memory, &options.limits),
    ..crate::families::table::instr::DRIVER
};
