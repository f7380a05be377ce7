//! What is asked of a run beside its command line: the release that results
//! are for, and whether versions that llvm-profdata 22 refuses are refused.

use super::Failure;
use profbridge::Manner;
use profbridge::input::WeightedInput;
use profbridge::model::Release;
use profbridge::pipeline::ReadOptions;
use profbridge::pipeline::target::{ENVIRONMENT, InputVersions, Target, TargetRequest};
use std::ffi::OsStr;

/// How the program behaves in llvm-profdata's place.
pub(super) struct Conduct {
    /// Whose rules apply to inputs.
    pub(super) manner: Manner,
    /// The release that somebody asked for.
    asked: Option<Target>,
}

impl Conduct {
    /// What the environment and the program's name say.
    pub(super) fn of(program: &OsStr) -> Result<Self, Failure> {
        let environment = std::env::var_os(ENVIRONMENT);
        let mut request = TargetRequest::default();
        request.environment = environment.as_deref();
        request.program = Some(program);
        let manner = if request.is_exact() { Manner::Llvm22 } else { Manner::InPlaceOfLlvm22 };
        Ok(Self { manner, asked: request.target()? })
    }

    /// The release that the program stands for.
    pub(super) fn release(&self) -> Release {
        self.asked.map_or(Release::DEFAULT, |target| target.release)
    }

    /// For whom the sum of these inputs is.
    pub(super) fn target(&self, inputs: &[WeightedInput]) -> Target {
        self.asked.unwrap_or_else(|| {
            let paths = inputs.iter().map(|input| input.path.as_path());
            Target::in_place_of_llvm_22(&InputVersions::look(paths, self.manner))
        })
    }

    /// How inputs are read.
    pub(super) fn read_options(&self) -> ReadOptions {
        ReadOptions::new(self.manner)
    }
}
