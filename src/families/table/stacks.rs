//! Sampled stacks.

use crate::call_chains::Selection;
use crate::families::check::stacks::check_stacks;
use crate::families::describe::{other_formats, stacks};
use crate::families::diff::stacks::diff_stacks;
use crate::families::drawings::stacks::draw;
use crate::families::read::stacks::StackOptions;
use crate::families::table::driver::Driver;
use crate::input::{Family, Format};

pub(super) const DRIVER: Driver = Driver {
    family: Family::Stacks,
    check: |input, options| Ok(check_stacks(&input, input.format()?, options.limits)),
    describe: |data, format, limits| match format {
        Format::Pprof => stacks::describe_pprof(data, limits),
        _ => stacks::add_samples(other_formats::describe(data, format, limits), data, limits),
    },
    // An iprof may have samples.
    compared_with: &[Family::Iprof],
    diff: |first, second, options| {
        let read = StackOptions { limits: options.limits, ..StackOptions::default() };
        Ok(diff_stacks(first, second, &read, &Selection::default(), options)?.0)
    },
    // A recording has allocations of its own.
    draws_memory: |input, options, _| Ok(options.asked_for && input.format()? != Format::Jfr),
    draw,
};
