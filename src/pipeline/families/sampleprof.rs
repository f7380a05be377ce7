//! LLVM sample profiles.

use super::driver::Driver;
use crate::input::{Access, Family};
use crate::pipeline::check_samples::check_samples;
use crate::pipeline::describe::foreign;
use crate::pipeline::diff_samples::diff_samples;
use crate::pipeline::file_diff::FileDiff;
use crate::pipeline::sample_stacks::draw;

pub(super) const DRIVER: Driver = Driver {
    family: Family::SampleProf,
    check: |input, options| Ok(check_samples(&input.bytes(Access::Read, &options.limits)?, options.limits)),
    describe: foreign::describe,
    compared_with: &[],
    diff: |first, second, options| Ok(FileDiff { report: diff_samples(first, second, options)?, fit: None }),
    draw,
};
