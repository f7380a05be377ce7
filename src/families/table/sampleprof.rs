//! LLVM sample profiles.

use crate::families::describe::other_formats;
use crate::families::diff::FileDiff;
use crate::families::drawings::sampleprof::draw;
use crate::families::partial;
use crate::families::table::driver::Driver;
use crate::input::{Access, Family};
use crate::sampleprof;

pub(super) const DRIVER: Driver = Driver {
    family: Family::SampleProf,
    check: |input, options| Ok(sampleprof::check(&input.bytes(Access::Read, &options.limits)?, options.limits)),
    describe: |data, format, limits| {
        let mut description = other_formats::describe(data, format, limits);
        partial::describe_any(data, limits, &mut description);
        description
    },
    compared_with: &[],
    diff: |first, second, options| sampleprof::diff_files(first, second, options).map(FileDiff::new),
    draws_memory: |_, options, _| Ok(options.asked_for),
    draw,
};
