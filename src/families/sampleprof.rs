//! LLVM sample profiles.

use crate::call_chains::Selection;
use crate::compat::Compat;
use crate::driver::check::FileCheck;
use crate::driver::diff::DiffOptions;
use crate::error::{Result, WithWarnings};
use crate::families::any_profile::AnyProfile;
use crate::families::commands::{Commands, FileDiff};
use crate::families::content::{Content, Drawn};
use crate::families::describe;
use crate::families::partial;
use crate::families::stack_files::StackOptions;
use crate::input::Format;
use crate::input::{Access, Input};
use crate::instr::open;
use crate::iprof;
use crate::limits::Limits;
use crate::model::description::Description;
use crate::sampleprof;
use crate::sampleprof::{ReadOptions, SampleProfile, SampleSum};

/// LLVM sample profiles.
pub(super) struct SampleProf;

impl Commands for SampleProf {
    fn read(&self, input: &Input, options: &open::ReadOptions) -> Result<WithWarnings<AnyProfile>> {
        let mut own = ReadOptions::default();
        own.limits = options.limits;
        let profile = sampleprof::read_file(input, &own, options.compat)?;
        Ok(WithWarnings::new(AnyProfile::SampleProf(profile), Vec::new()))
    }

    fn check(&self, input: Input, options: &iprof::ReadOptions) -> Result<FileCheck> {
        Ok(sampleprof::check(&input.bytes(Access::Read, &options.limits)?, options.limits))
    }

    fn describe(&self, data: &[u8], format: Format, limits: &Limits) -> Description {
        let mut description = describe::describe(data, format, limits);
        partial::describe_any(data, limits, &mut description);
        description
    }

    fn diff(&self, first: &Input, second: &Input, options: &DiffOptions) -> Result<FileDiff> {
        sampleprof::diff_files(first, second, options).map(FileDiff::new)
    }

    fn draw(&self, inputs: &[Input], options: &StackOptions, _: &Selection) -> Result<Drawn> {
        let mut sum = SampleSum::default();
        for input in inputs {
            sampleprof::require_profile(input)?;
            let data = input.bytes(Access::Read, &options.limits)?;
            read(input, &data, &options.limits)
                .and_then(|profile| sum.add(profile))
                .map_err(|error| error.in_file(&input.path))?;
        }
        Ok((Content::Samples(sum.finish()?), Vec::new()))
    }
}

fn read(input: &Input, data: &[u8], limits: &Limits) -> Result<SampleProfile> {
    sampleprof::check_format(data, Compat::Profbridge)?;
    let mut options = ReadOptions::default();
    options.limits = *limits;
    sampleprof::read(data, &options.of_input(input))
}
