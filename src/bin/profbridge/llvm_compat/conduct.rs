//! What is asked of a run beside its command line: the release that results
//! are for, and whether versions that llvm-profdata 22 refuses are refused.

use super::failure::Failure;
use profbridge::families::{MergeReport, ReadOptions};
use profbridge::input::WeightedInput;
use profbridge::instr::FunctionFilter;
use profbridge::instr::Release;
use profbridge::instr::cross_release::apply::cross;
use profbridge::instr::cross_release::{CrossReleaseOptions, Finding};
use profbridge::instr::target::{ENVIRONMENT, Evidence, Target, TargetRequest};
use profbridge::{Compat, Error};
use std::ffi::OsStr;

/// How the program behaves in llvm-profdata's place.
pub(super) struct CompatMode {
    /// Whose rules apply to inputs.
    pub(super) compat: Compat,
    /// The release that somebody asked for.
    asked: Option<Target>,
}

/// For whom a sum is.
#[derive(Debug, Clone, Copy)]
pub(super) struct MergeTarget {
    /// The release and its versions.
    pub(super) target: Target,
    /// Whether somebody asked for it.
    is_given: bool,
    /// Whether there are inputs that the release's own llvm-profdata refuses for
    /// their version. Where it takes all of them its bytes stand, and what its
    /// compilers make of names and hashes of other eras with them.
    pub(super) is_needed: bool,
}

impl MergeTarget {
    /// Gives a sum the names and hashes that its reader computes, if it needs that.
    pub(super) fn cross(
        &mut self,
        report: &mut MergeReport,
        filter: &mut FunctionFilter,
        version_is_given: bool,
    ) -> Result<Vec<Finding>, Error> {
        if !self.is_needed {
            return Ok(Vec::new());
        }
        let target = &mut self.target;
        let mut options = CrossReleaseOptions::new(target.release, target.indexed_version, report.origins());
        options.release_is_given = self.is_given || version_is_given;
        options.version_is_given = version_is_given;
        let crossed = cross(&mut report.profile, filter, &options, false)?;
        (target.release, target.indexed_version) = (crossed.release, crossed.indexed_version);
        Ok(crossed.findings)
    }
}

impl CompatMode {
    /// What the environment and the program's name say.
    pub(super) fn of(program: &OsStr) -> Result<Self, Failure> {
        let environment = std::env::var_os(ENVIRONMENT);
        let mut request = TargetRequest::default();
        request.environment = environment.as_deref();
        request.program = Some(program);
        let compat = if request.is_exact() { Compat::Llvm22 } else { Compat::InPlaceOfLlvm22 };
        Ok(Self { compat, asked: request.target()? })
    }

    /// The release that the program stands for.
    pub(super) fn release(&self) -> Release {
        self.asked.map_or(Release::DEFAULT, |target| target.release)
    }

    /// For whom the sum of these inputs is, and how it gets there.
    pub(super) fn crossing(&self, inputs: &[WeightedInput]) -> MergeTarget {
        let evidence = Evidence::look(inputs, self.compat);
        let target = self.asked.unwrap_or_else(|| Target::in_place_of_llvm_22(&evidence));
        let reads_all = self.compat == Compat::Llvm22 || !evidence.are_refused_by(target.release);
        MergeTarget { target, is_given: self.asked.is_some(), is_needed: !reads_all }
    }

    /// How inputs are read.
    pub(super) fn read_options(&self) -> ReadOptions {
        ReadOptions::new(self.compat)
    }
}
