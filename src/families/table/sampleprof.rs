//! LLVM sample profiles.

use crate::families::describe::foreign;
use crate::families::diff::FileDiff;
use crate::families::partial;
use crate::families::pictures::sampleprof::draw;
use crate::families::table::driver::Driver;
use crate::input::{Access, Family};
use crate::sampleprof;

pub(super) const DRIVER: Driver = Driver {
    family: Family::SampleProf,
    check: |input, options| Ok(sampleprof::check(&input.bytes(Access::Read, &options.limits)?, options.limits)),
    describe: |data, format, limits| {
        let mut description = foreign::describe(data, format, limits);
        partial::describe_any(data, limits, &mut description);
        description
    },
    compared_with: &[],
    diff: |first, second, options| sampleprof::diff_files(first, second, options).map(FileDiff::new),
    draws_memory: |_, options, _| Ok(options.asked_for),
    draw,
};
