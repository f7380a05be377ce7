//! GraalVM's profiles.

use super::driver::Driver;
use crate::input::Family;
use crate::pipeline::check::iprof::check_iprof;
use crate::pipeline::describe::describe_iprof;
use crate::pipeline::diff::iprof::diff_iprof;
use crate::pipeline::pictures::iprof::draw;

pub(super) const DRIVER: Driver = Driver {
    family: Family::Iprof,
    check: |input, options| Ok(check_iprof(input.into_stream()?, options)),
    describe: |data, _, limits| describe_iprof(data, limits),
    // The bridge makes an iprof of them first.
    compared_with: &[Family::Instr],
    diff: diff_iprof,
    draws_memory: |_, options, _| Ok(options.asked_for),
    draw,
};
