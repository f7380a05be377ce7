//! The settings of a run apart from its command line: the target release, and whether versions that llvm-profdata 22
//! rejects are rejected.

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

/// The behaviour in llvm-profdata mode.
pub(super) struct CompatMode {
    /// The rules for inputs.
    pub(super) compat: Compat,
    /// The requested release.
    asked: Option<Target>,
}

/// The target of a merge.
#[derive(Debug, Clone, Copy)]
pub(super) struct MergeTarget {
    /// The release and its versions.
    pub(super) target: Target,
    /// Whether the user requested it.
    is_given: bool,
    /// Whether the release's own llvm-profdata rejects some inputs because of their version. If it accepts all of them,
    /// the output must be identical to its own, including names and hashes that its compilers cannot use.
    pub(super) is_needed: bool,
}

impl MergeTarget {
    /// Gives the merged profile the names and hashes that the target computes, if necessary.
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
    /// Reads the environment and the program's name.
    pub(super) fn of(program: &OsStr) -> Result<Self, Failure> {
        let environment = std::env::var_os(ENVIRONMENT);
        let mut request = TargetRequest::default();
        request.environment = environment.as_deref();
        request.program = Some(program);
        let compat = if request.is_exact() { Compat::Llvm22 } else { Compat::InPlaceOfLlvm22 };
        Ok(Self { compat, asked: request.target()? })
    }

    /// Returns the release that the program imitates.
    pub(super) fn release(&self) -> Release {
        self.asked.map_or(Release::DEFAULT, |target| target.release)
    }

    /// Returns the target of the merge of these inputs.
    pub(super) fn crossing(&self, inputs: &[WeightedInput]) -> MergeTarget {
        let evidence = Evidence::look(inputs, self.compat);
        let target = self.asked.unwrap_or_else(|| Target::in_place_of_llvm_22(&evidence));
        let reads_all = self.compat == Compat::Llvm22 || !evidence.are_refused_by(target.release);
        MergeTarget { target, is_given: self.asked.is_some(), is_needed: !reads_all }
    }

    /// Returns the options for reading inputs.
    pub(super) fn read_options(&self) -> ReadOptions {
        ReadOptions::new(self.compat)
    }
}
