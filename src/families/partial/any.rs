//! A partial merge of any family.

use crate::call_chains::StackTable;
use crate::driver::{FailedMerge, InputReport};
use crate::error::{Error, Result};
use crate::families::MergeReport;
use crate::families::merge::iprof::{IprofMergeReport, merge_iprof_files};
use crate::families::partial::options::PartialOptions;
use crate::families::partial::stored_inputs::{found_of, keep_inputs, kept_inputs};
use crate::families::stack_files;
use crate::families::stack_files::StackSum;
use crate::input::{Family, Input};
use crate::instr::partial::PartialMerge;
use crate::instr::partial::files::{self, finish, merge_partially};
use crate::instr::target::Evidence;
use crate::limits::Limits;
use crate::model::RecordStore;
use crate::partial::{self, Frame, PartialInput, StoredInputs};
use crate::sampleprof::partial::PartialSamples;
use crate::sampleprof::{self, finish_partial};
use crate::stacks::pprof;
use std::path::PathBuf;

/// A merge that can be continued: the sums of a run of inputs, and the merge state.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "there is one for a merge")]
pub enum Partial {
    /// Of instrumentation and memory profiles.
    Instr(PartialMerge),
    /// Of sample profiles.
    SampleProf(PartialSamples),
    /// Of iprof files.
    Iprof(StoredInputs),
    /// Of sampled stacks.
    Stacks(StoredInputs),
}

/// The result of a finished merge.
#[derive(Debug)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "there is one for a merge")]
pub enum Finished {
    /// A profile, to be written with `encode`.
    Instr(MergeReport),
    /// A profile, to be written with [`sampleprof::write`](crate::sampleprof::write()).
    SampleProf(sampleprof::MergeReport),
    /// A document, to be written with a [`Writer`](crate::iprof::Writer).
    Iprof(IprofMergeReport),
    /// The sum of inputs that are all pprof, to be written with
    /// [`pprof::write`](crate::stacks::pprof::write()).
    Pprof(StackSum<(pprof::Profile, pprof::MergeReport)>),
    /// The sum of other sources of stacks.
    Stacks(StackSum<StackTable>),
}

impl Finished {
    /// Returns the inputs and their outcomes, in order.
    pub(crate) fn into_inputs(self) -> Vec<InputReport> {
        match self {
            Self::Instr(report) => report.inputs,
            Self::SampleProf(report) => report.inputs.reports,
            Self::Iprof(report) => report.inputs,
            Self::Pprof(sum) => sum.inputs,
            Self::Stacks(sum) => sum.inputs,
        }
    }
}

impl Partial {
    /// Merges inputs, which may be partial merges. Weights, filters and renamings apply now. Errors of single inputs
    /// are stored, and the failure mode applies when the merge ends.
    ///
    /// # Errors
    ///
    /// Usage for a partial merge with a weight, and for one of sample profiles
    /// that was made for another release.
    pub fn of(inputs: &[Input], family: Family, options: &PartialOptions) -> Result<Self> {
        let keep = |family, allow| keep_inputs(inputs, family, &options.iprof.found, allow, options.limits());
        match family {
            Family::SampleProf => {
                sampleprof::merge_partially(inputs, &options.sample, &mut |_, _| {}).map(Self::SampleProf)
            }
            Family::Iprof => keep(Family::Iprof, options.iprof.llvm.allow_duplicates).map(Self::Iprof),
            Family::Stacks => keep(Family::Stacks, options.stacks.allow_duplicates).map(Self::Stacks),
            _ => merge_partially(inputs, &options.instr, &mut |_, _| {}).map(Self::Instr),
        }
    }

    /// Reads the output of [`to_bytes`](Self::to_bytes), or a file of `merge --partial`.
    ///
    /// # Errors
    ///
    /// Usage for a file that is not a partial merge; the errors of [`Frame::find`], and of a damaged state.
    pub fn from_bytes(bytes: &[u8], options: &PartialOptions) -> Result<Self> {
        let limits = options.limits();
        let frame = Frame::find(bytes, limits)?.ok_or_else(not_a_part)?;
        Self::from_frame(&frame, limits)
    }

    fn from_frame(frame: &Frame<'_>, limits: &Limits) -> Result<Self> {
        match frame.family {
            Family::Instr | Family::MemProf => files::decode(frame, RecordStore::new(), limits).map(Self::Instr),
            Family::SampleProf => sampleprof::decode(frame, limits).map(Self::SampleProf),
            Family::Iprof => StoredInputs::decode(&frame.state).map(Self::Iprof),
            Family::Stacks => StoredInputs::decode(&frame.state).map(Self::Stacks),
        }
    }

    /// The state with its footer, without a profile in front of it: versioned,
    /// checksummed, deflated.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let (origins, state) = match self {
            Self::Instr(sums) => (files::origins(sums), sums.encode()?),
            Self::SampleProf(sums) => (0, sums.encode(None)?),
            Self::Iprof(kept) | Self::Stacks(kept) => (0, kept.encode()?),
        };
        partial::append(Vec::new(), self.family(), origins, &state)
    }

    /// The family of the inputs.
    pub fn family(&self) -> Family {
        match self {
            Self::Instr(_) => Family::Instr,
            Self::SampleProf(_) => Family::SampleProf,
            Self::Iprof(_) => Family::Iprof,
            Self::Stacks(_) => Family::Stacks,
        }
    }

    /// Adds a partial merge of the inputs that follow.
    ///
    /// # Errors
    ///
    /// Usage for one of another family, or for another release; this one is
    /// unchanged then.
    pub fn append(&mut self, later: Self) -> Result<()> {
        match (self, later) {
            (Self::Instr(sums), Self::Instr(later)) => sums.append(later),
            (Self::SampleProf(sums), Self::SampleProf(later)) if sums.rules().release() == later.rules().release() => {
                sums.append(later);
            }
            (Self::Iprof(kept), Self::Iprof(later)) | (Self::Stacks(kept), Self::Stacks(later)) => kept.append(later),
            (Self::SampleProf(_), Self::SampleProf(_)) => {
                return Err(Error::usage("the partial merges of sample profiles have different targets"));
            }
            (this, later) => {
                let (one, other) = (later.family().words(), this.family().words());
                let detail = format!("a partial merge of {one} after one of {other}");
                return Err(Error::usage(detail));
            }
        }
        Ok(())
    }

    /// Returns the inputs so far, in order, with their outcomes.
    pub fn inputs(&self) -> Vec<&PartialInput> {
        match self {
            Self::Instr(sums) => sums.inputs().iter().collect(),
            Self::SampleProf(sums) => sums.inputs().iter().collect(),
            Self::Iprof(kept) | Self::Stacks(kept) => kept.inputs().iter().map(|kept| &kept.about).collect(),
        }
    }

    /// Replaces the paths of the inputs, in order.
    pub(crate) fn rename_inputs(&mut self, paths: &[PathBuf]) {
        let inputs: Vec<&mut PartialInput> = match self {
            Self::Instr(sums) => sums.inputs_mut().iter_mut().collect(),
            Self::SampleProf(sums) => sums.inputs_mut().iter_mut().collect(),
            Self::Iprof(kept) | Self::Stacks(kept) => {
                kept.inputs_mut().iter_mut().map(|kept| &mut kept.about).collect()
            }
        };
        inputs.into_iter().zip(paths).for_each(|(input, path)| input.path.clone_from(path));
    }

    /// Returns the evidence of the inputs about the target release, for
    /// [`Target::of_inputs`](crate::families::Target::of_inputs).
    pub fn evidence(&self) -> Evidence {
        files::evidence(self.inputs())
    }

    /// Sums that are kept, of functions and contexts; `None` where inputs are kept.
    pub fn sums(&self) -> Option<usize> {
        match self {
            Self::Instr(sums) => Some(sums.records()),
            Self::SampleProf(sums) => Some(sums.len()),
            Self::Iprof(_) | Self::Stacks(_) => None,
        }
    }

    /// Notes a setting in words: a filter or renaming that was applied to the inputs, or one that the caller needs to
    /// finish the merge.
    pub fn note_applied(&mut self, words: String) {
        match self {
            Self::Instr(sums) => sums.note_applied(words),
            Self::SampleProf(sums) => sums.note_applied(words),
            Self::Iprof(kept) | Self::Stacks(kept) => kept.note_applied(words),
        }
    }

    /// The filters and renamings that were applied to inputs, in words.
    pub fn applied(&self) -> &[String] {
        match self {
            Self::Instr(sums) => sums.applied(),
            Self::SampleProf(sums) => sums.applied(),
            Self::Iprof(kept) | Self::Stacks(kept) => kept.applied(),
        }
    }

    /// Ends the merge.
    ///
    /// # Errors
    ///
    /// The errors of the merge of the family; for iprof files, that of the first input that failed.
    pub fn finish(&self, options: &PartialOptions) -> Result<Finished> {
        match self {
            Self::Instr(sums) => finish(sums, &options.instr).map(Finished::Instr),
            Self::SampleProf(sums) => Ok(finish_partial(sums, &options.sample).map(Finished::SampleProf)?),
            Self::Iprof(kept) => {
                let mut iprof = options.iprof.clone();
                iprof.found.extend(found_of(kept));
                let inputs = kept_inputs(kept, options.limits())?;
                let report = merge_iprof_files(&inputs, &iprof, &mut |_, _| {});
                report.map(Finished::Iprof).map_err(FailedMerge::into_first_failure)
            }
            Self::Stacks(kept) => {
                let inputs = kept_inputs(kept, options.limits())?;
                if stack_files::are_pprof(&inputs) {
                    return Ok(Finished::Pprof(stack_files::merge_pprof(&inputs, &options.stacks, &mut |_, _| {})?));
                }
                Ok(Finished::Stacks(stack_files::merge_tables(&inputs, &options.stacks, &mut |_, _| {})?))
            }
        }
    }
}

fn not_a_part() -> Error {
    Error::usage("the file is not a partial merge").with_hint("write partial merges of the inputs first")
}
