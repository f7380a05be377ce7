//! LLVM sample profiles for reports and flame graphs.

use super::content::{Content, Drawn};
use crate::call_chains::Selection;
use crate::compat::Compat;
use crate::error::Result;
use crate::families::read::stacks::StackOptions;
use crate::input::{Access, Input};
use crate::limits::Limits;
pub use crate::sampleprof::SampleContent;
use crate::sampleprof::{self, ReadOptions, SampleProfile, SampleSum};

/// Reads sample profiles.
pub(crate) fn draw(inputs: &[Input], options: &StackOptions, _: &Selection) -> Result<Drawn> {
    let mut sum = SampleSum::default();
    for input in inputs {
        let data = input.bytes(Access::Read, &options.limits)?;
        read(&data, &options.limits)
            .and_then(|profile| sum.add(profile))
            .map_err(|error| error.in_file(&input.path))?;
    }
    Ok((Content::Samples(sum.finish()?), Vec::new()))
}

fn read(data: &[u8], limits: &Limits) -> Result<SampleProfile> {
    sampleprof::check_format(data, Compat::Profbridge)?;
    let mut options = ReadOptions::default();
    options.limits = *limits;
    sampleprof::read(data, &options)
}
