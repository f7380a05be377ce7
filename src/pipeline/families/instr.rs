//! LLVM instrumentation profiles.

use super::driver::Driver;
use crate::input::{Access, Family};
use crate::pipeline::check::instr::check_llvm;
use crate::pipeline::describe::instr::describe;
use crate::pipeline::diff::instr::diff_llvm;
use crate::pipeline::pictures::instr::draw;
use crate::pipeline::pictures::memprof::draws_memory;

pub(super) const DRIVER: Driver = Driver {
    family: Family::Instr,
    check: |input, options| {
        let (format, limits) = (input.format()?, options.limits);
        Ok(check_llvm(&input.bytes(Access::Read, &limits)?, format, limits))
    },
    describe,
    // An indexed profile can hold a memory profile as well.
    compared_with: &[Family::MemProf],
    diff: diff_llvm,
    draws_memory,
    draw,
};
