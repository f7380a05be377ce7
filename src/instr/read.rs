//! A whole instrumentation profile of any format.

use crate::driver::InputOutcome;
use crate::error::{Error, ErrorKind, Result};
use crate::input::Input;
use crate::instr::file_merge::{MergeOptions, Silent, merge_files};
use crate::limits::Limits;
use crate::model::Profile;

/// Reads all of a profile, as a merge of this file alone gives it.
pub(crate) fn read_profile(input: &Input, limits: &Limits) -> Result<Profile> {
    let mut options = MergeOptions::default();
    options.read.limits = *limits;
    options.keep_vtable_names = true;
    let mut report = merge_files(std::slice::from_ref(input), &options, &mut Silent)?;
    for merged in &mut report.inputs {
        match std::mem::replace(&mut merged.outcome, InputOutcome::Used) {
            InputOutcome::Failed(error) => return Err(error),
            InputOutcome::Empty => return Err(Error::new(ErrorKind::EmptyProfile).in_file(&input.path)),
            InputOutcome::Used | InputOutcome::NotAProfile | InputOutcome::NotReached => {}
        }
    }
    Ok(report.profile)
}
