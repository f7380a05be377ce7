//! LLVM sample profiles.

use super::driver::Driver;
use crate::input::{Access, Family};
use crate::pipeline::check::sampleprof::check_samples;
use crate::pipeline::describe::foreign;
use crate::pipeline::diff::FileDiff;
use crate::pipeline::diff::sampleprof::diff_samples;
use crate::pipeline::partial;
use crate::pipeline::pictures::sampleprof::draw;

pub(super) const DRIVER: Driver = Driver {
    family: Family::SampleProf,
    check: |input, options| Ok(check_samples(&input.bytes(Access::Read, &options.limits)?, options.limits)),
    describe: |data, format, limits| {
        let mut description = foreign::describe(data, format, limits);
        partial::describe_any(data, limits, &mut description);
        description
    },
    compared_with: &[],
    diff: |first, second, options| diff_samples(first, second, options).map(FileDiff::new),
    draws_memory: |_, options, _| Ok(options.asked_for),
    draw,
};
