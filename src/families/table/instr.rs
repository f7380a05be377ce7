//! LLVM instrumentation profiles.

use crate::families::describe::instr::describe;
use crate::families::diff::FileDiff;
use crate::families::drawings::instr::draw;
use crate::families::drawings::memprof::draws_memory;
use crate::families::table::driver::Driver;
use crate::input::{Access, Family};
use crate::instr::check::check_llvm;
use crate::instr::diff::diff_llvm;

pub(super) const DRIVER: Driver = Driver {
    family: Family::Instr,
    check: |input, options| {
        let (format, limits) = (input.format()?, options.limits);
        Ok(check_llvm(&input.bytes(Access::Read, &limits)?, format, limits))
    },
    describe,
    // An indexed profile can hold a memory profile as well.
    compared_with: &[Family::MemProf],
    diff: |first, second, options| {
        let (report, followed) = diff_llvm(first, second, options)?;
        Ok(FileDiff { followed, ..FileDiff::new(report) })
    },
    draws_memory,
    draw,
};
