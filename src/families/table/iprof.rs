//! GraalVM's profiles.

use crate::families::check::iprof::check_iprof;
use crate::families::describe::describe_iprof;
use crate::families::diff::iprof::diff_iprof;
use crate::families::drawings::iprof::draw;
use crate::families::table::driver::Driver;
use crate::input::Family;

pub(super) const DRIVER: Driver = Driver {
    family: Family::Iprof,
    check: |input, options| Ok(check_iprof(input.into_stream()?, options)),
    describe: |data, _, limits| describe_iprof(data, limits),
    // LLVM profiles are converted to iprof first.
    compared_with: &[Family::Instr],
    diff: diff_iprof,
    draws_memory: |_, options, _| Ok(options.asked_for),
    draw,
};
