//! LLVM instrumentation profiles.

use crate::call_chains::Selection;
use crate::compat::Compat;
use crate::driver::InputOutcome;
use crate::driver::check::FileCheck;
use crate::driver::diff::DiffOptions;
use crate::driver::output_form::OutputForm;
use crate::error::{Error, ErrorKind, Result, WithWarnings};
use crate::families::any_profile::AnyProfile;
use crate::families::commands::{Commands, FileDiff};
use crate::families::content::{Content, Drawn};
use crate::families::memory::{MemoryOptions, draws_memory};
use crate::families::partial;
use crate::families::stack_files::StackOptions;
use crate::input::{Access, Family, Format, Input};
use crate::instr::InstrContent;
use crate::instr::check::check_llvm;
use crate::instr::cross_release::HashPolicy;
use crate::instr::diff::{LlvmDiff, diff_llvm};
use crate::instr::file_merge::{MergeOptions, merge_files};
use crate::instr::memory_profiles;
use crate::instr::open::ReadOptions;
use crate::instr::resolved_target::ResolvedTarget;
use crate::instr::target::Evidence;
use crate::limits::Limits;
use crate::model::Profile;
use crate::model::description::Description;
use crate::{indexed, iprof, raw, text};

/// LLVM instrumentation profiles: raw, indexed and text.
pub(super) struct Instr;

impl Commands for Instr {
    fn read(&self, input: &Input, options: &ReadOptions) -> Result<WithWarnings<AnyProfile>> {
        let read = Profile::open(input, options)?;
        let is_memory = read.value.functions.is_empty() && read.value.memprof.is_some();
        if !is_memory {
            return Ok(read.map(AnyProfile::Instr));
        }
        let memory = AnyProfile::MemProf(memory_profiles::load(input, options)?);
        Ok(read.map(|_| memory))
    }

    fn check(&self, input: Input, options: &iprof::ReadOptions) -> Result<FileCheck> {
        let (format, limits) = (input.format()?, options.limits);
        Ok(check_llvm(&input.bytes(Access::Read, &limits)?, format, limits))
    }

    fn describe(&self, data: &[u8], format: Format, limits: &Limits) -> Description {
        match format {
            Format::Raw { .. } => raw::describe(data, limits),
            Format::Indexed => {
                let mut description = indexed::describe(data, limits);
                partial::describe_any(data, limits, &mut description);
                description
            }
            _ => text::describe(data),
        }
    }

    /// An indexed profile can also contain a memory profile.
    fn compares_with(&self) -> &'static [Family] {
        &[Family::MemProf]
    }

    fn diff(&self, first: &Input, second: &Input, options: &DiffOptions) -> Result<FileDiff> {
        let LlvmDiff { report, followed, warnings } = diff_llvm(first, second, options)?;
        Ok(FileDiff { followed, warnings, ..FileDiff::new(report) })
    }

    fn draws_memory(&self, input: &Input, options: &MemoryOptions, limits: &Limits) -> Result<bool> {
        draws_memory(input, options, limits)
    }

    fn draw(&self, inputs: &[Input], options: &StackOptions, _: &Selection) -> Result<Drawn> {
        let source = match inputs.first() {
            Some(first) => words_of(first)?,
            None => return Err(Error::usage("no input files")),
        };
        let mut merge = MergeOptions { keep_vtable_names: true, ..MergeOptions::default() };
        merge.read.limits = options.limits;
        // The functions of several profiles have the names and hashes of one release, as in a merge.
        let mut target =
            (inputs.len() > 1).then(|| ResolvedTarget::of_inputs(&Evidence::look(inputs, Compat::Profbridge)));
        merge.release = target.as_ref().map_or(merge.release, |target| target.target.release);
        let mut report = merge_files(inputs, &merge, &mut |_, _| {})?;
        let origins = report.origins();
        let mut warnings = Vec::new();
        for input in std::mem::take(&mut report.inputs) {
            match input.outcome {
                InputOutcome::Failed(error) => return Err(error),
                InputOutcome::Empty => return Err(Error::new(ErrorKind::EmptyProfile).in_file(&input.input.path)),
                _ => warnings.extend(input.warnings),
            }
        }
        if let Some(target) = &mut target {
            let (hashes, form) = (HashPolicy::default(), OutputForm::Indexed);
            target.cross(&mut report.profile, &mut merge.filter, hashes, origins, false, form)?;
        }
        Ok((Content::Instr(InstrContent { source, profile: report.profile }), warnings))
    }
}

/// Returns the format of a profile and its version.
fn words_of(input: &Input) -> Result<String> {
    let look = input.look()?;
    Ok(match look.version {
        Some(version) => format!("{}, version {version}", look.identity.format),
        None => look.identity.format.to_string(),
    })
}
