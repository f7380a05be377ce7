//! The merge of files of any family: [`merge`] returns a value, [`Merged::write`] writes it.

use crate::compression::{Compression, Compressor};
use crate::digits::number_of;
use crate::driver::{Facts, FactsRequest, InputOutcome, InputReport};
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::families::merge::iprof::facts_of as iprof_facts;
use crate::families::partial::encode_kept;
use crate::families::settings::MergeSettings;
use crate::families::stack_output::EncodedStacks;
use crate::families::{memprof, partial};
use crate::hint::Hint;
use crate::input::output::{self, Output};
use crate::input::{Family, Input};
use crate::instr::cross_release::Finding as CrossFinding;
use crate::instr::encode::{Saved, WriteOptions, facts_of_memory};
use crate::instr::file_merge::{MergeReport, RecordError};
use crate::instr::partial::PartialMerge;
use crate::instr::resolved_target::ResolvedTarget;
use crate::iprof::{self, Document, Finding};
use crate::limits::Limits;
use crate::memprof::MemoryProfile;
use crate::model::{Loss, refuse_losses};
use crate::partial::StoredInputs;
use crate::sampleprof::partial::PartialSamples;
use crate::sampleprof::{self, FaultReport};

/// A merged profile before it is written, and what is worth knowing about it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Merged {
    /// The profile.
    pub profile: MergedProfile,
    /// The inputs and what was found in them.
    pub inputs: MergedInputs,
    /// The target of an LLVM profile.
    pub target: Option<ResolvedTarget>,
    /// Names and hashes of an LLVM profile that changed for the target.
    pub findings: Vec<CrossFinding>,
    /// Warnings about the result.
    pub warnings: Vec<Warning>,
    /// Content of another family that could not be converted.
    pub unconverted: Vec<Loss>,
    /// Whether several inputs have functions, and no function is in two of them.
    pub shares_nothing: bool,
    pub(super) is_partial: bool,
}

/// A merged profile of each family, with the options for writing it.
#[derive(Debug)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "there is one for a merge")]
pub enum MergedProfile {
    /// A profile in one of LLVM's formats for instrumentation profiles.
    Instr {
        /// The profile; its inputs are those of [`Merged`].
        report: MergeReport,
        /// The options for writing it.
        write: WriteOptions,
        /// The merge state of a partial merge.
        part: Option<PartialMerge>,
        /// Limits for counting a memory profile.
        limits: Limits,
    },
    /// A memory profile that is written as YAML.
    MemProf {
        /// The profile.
        profile: MemoryProfile,
        /// The number of functions with counters, which YAML cannot store.
        dropped_functions: usize,
    },
    /// A sample profile.
    SampleProf {
        /// The profile, with facts about the merge.
        report: sampleprof::MergeReport,
        /// The options for writing it.
        write: sampleprof::WriteOptions,
        /// The merge state of a partial merge.
        part: Option<PartialSamples>,
    },
    /// An iprof document.
    Iprof {
        /// The document.
        document: Document,
        /// Content that could not be merged; `None` for a document that comes from LLVM profiles.
        merged: Option<iprof::MergeReport>,
        /// Whether inputs contain LLVM records, which are merged like LLVM profiles.
        bridged: bool,
        /// The inputs of a partial merge.
        part: Option<StoredInputs>,
    },
    /// Stacks as they are written.
    Stacks {
        /// The stacks.
        encoded: EncodedStacks,
        /// The inputs of a partial merge.
        part: Option<StoredInputs>,
    },
    /// A partial merge of recordings of a program, encoded.
    Recordings {
        /// The bytes of the file.
        bytes: Vec<u8>,
    },
    /// A partial merge of inputs that are all empty. It belongs to any family, and later merges skip it.
    Empty(Family),
}

/// The inputs of a merge, and what was found in them.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct MergedInputs {
    /// One report per input, in order. A partial merge is replaced by its inputs.
    pub reports: Vec<InputReport>,
    /// Records of LLVM profiles that were not merged, or only in part.
    pub soft_errors: Vec<RecordError>,
    /// Records of sample profiles that were not added unchanged.
    pub faults: Vec<FaultReport>,
    /// The findings of iprof files, each with the position of its input.
    pub findings: Vec<(usize, Finding)>,
    /// Whether a site of the result lists a memory size twice.
    pub repeats_memory_size: bool,
}

impl MergedInputs {
    pub(super) fn new(reports: Vec<InputReport>) -> Self {
        Self { reports, ..Self::default() }
    }

    /// Moves the inputs of a merge of LLVM profiles out of its report.
    pub(super) fn take(report: &mut MergeReport) -> Self {
        Self {
            reports: std::mem::take(&mut report.inputs),
            soft_errors: std::mem::take(&mut report.soft_errors),
            repeats_memory_size: report.repeats_memory_size,
            ..Self::default()
        }
    }

    /// Returns warnings about data of the inputs that is missing in the result.
    fn losses(&self) -> Vec<Warning> {
        let input = |at: usize| self.reports.get(at).map(|report| &report.input);
        let soft = self.soft_errors.iter().filter_map(|soft| Some(soft.warning(input(soft.input)?)));
        let faults = self.faults.iter().filter_map(|fault| Some(fault.warning(input(fault.input)?)));
        let others = self.reports.iter().flat_map(|report| &report.warnings).filter(|warning| warning.is_loss);
        soft.chain(faults).chain(others.cloned()).collect()
    }

    /// Returns the number of used inputs. Inputs without content do not count, except sample profiles.
    fn used(&self, counts_empty: bool) -> usize {
        let is_used = |report: &&InputReport| {
            matches!(report.outcome, InputOutcome::Used) && (counts_empty || !report.is_empty())
        };
        self.reports.iter().filter(is_used).count()
    }
}

/// A merge that failed, and its inputs as far as they were read.
#[derive(Debug)]
#[non_exhaustive]
pub struct MergeFailure {
    /// The error that ended the merge.
    pub error: Error,
    /// The inputs.
    pub inputs: MergedInputs,
}

impl From<Error> for MergeFailure {
    fn from(error: Error) -> Self {
        Self { error, inputs: MergedInputs::default() }
    }
}

impl From<crate::driver::FailedMerge> for MergeFailure {
    fn from(failed: crate::driver::FailedMerge) -> Self {
        Self { error: failed.error, inputs: MergedInputs::new(failed.inputs) }
    }
}

impl From<sampleprof::FailedMerge> for MergeFailure {
    fn from(failed: sampleprof::FailedMerge) -> Self {
        let mut inputs = MergedInputs::new(failed.inputs.reports);
        inputs.faults = failed.inputs.faults;
        Self { error: failed.error, inputs }
    }
}

impl From<MergeFailure> for Error {
    fn from(failed: MergeFailure) -> Self {
        failed.error
    }
}

impl Merged {
    pub(super) fn new(profile: MergedProfile, inputs: MergedInputs) -> Self {
        let is_partial = match &profile {
            MergedProfile::Instr { part, .. } => part.is_some(),
            MergedProfile::SampleProf { part, .. } => part.is_some(),
            MergedProfile::Iprof { part, .. } | MergedProfile::Stacks { part, .. } => part.is_some(),
            MergedProfile::MemProf { .. } => false,
            MergedProfile::Recordings { .. } | MergedProfile::Empty(_) => true,
        };
        Self {
            profile,
            inputs,
            is_partial,
            target: None,
            findings: Vec::new(),
            warnings: Vec::new(),
            unconverted: Vec::new(),
            shares_nothing: false,
        }
    }

    /// Returns the family of the result.
    pub fn family(&self) -> Family {
        match &self.profile {
            MergedProfile::Instr { .. } => Family::Instr,
            MergedProfile::MemProf { .. } => Family::MemProf,
            MergedProfile::SampleProf { .. } | MergedProfile::Recordings { .. } => Family::SampleProf,
            MergedProfile::Iprof { .. } => Family::Iprof,
            MergedProfile::Stacks { encoded, .. } if encoded.is_iprof() => Family::Iprof,
            MergedProfile::Stacks { .. } => Family::Stacks,
            MergedProfile::Empty(family) => *family,
        }
    }

    /// Returns true for a partial merge.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Returns the number of used inputs.
    pub fn used(&self) -> usize {
        let counts_empty = matches!(self.profile, MergedProfile::SampleProf { .. } | MergedProfile::Recordings { .. });
        self.inputs.used(counts_empty)
    }

    /// Returns the figures of the result as it will be written.
    ///
    /// # Errors
    ///
    /// The errors of the writers.
    pub fn facts(&self, wanted: FactsRequest) -> Result<Facts> {
        let facts = match &self.profile {
            MergedProfile::Instr { report, write, limits, .. } => report.facts(write, limits, wanted)?,
            MergedProfile::MemProf { profile, .. } => facts_of_memory(profile, wanted),
            MergedProfile::SampleProf { report, write, .. } => report.facts(write, wanted)?,
            MergedProfile::Iprof { document, .. } => iprof_facts(document, wanted),
            MergedProfile::Stacks { encoded, .. } => encoded.facts(wanted)?,
            MergedProfile::Recordings { .. } | MergedProfile::Empty(_) => Facts::new(0, Some(0)),
        };
        Ok(facts.of_inputs(self.used()))
    }

    /// Fails if there is nothing to write.
    ///
    /// # Errors
    ///
    /// Nothing found, with the missing data.
    pub fn require_something(&self, facts: &Facts) -> Result<()> {
        match &self.profile {
            // The last merge selects, and can select other samples.
            MergedProfile::Stacks { .. } if self.is_partial => Ok(()),
            MergedProfile::Stacks { encoded, .. } => encoded.require_something(),
            _ => facts.require_something(),
        }
    }

    /// Returns the inputs whose total counts can be compared. Of families whose partial merges keep their inputs, these are
    /// the kept inputs.
    pub fn counted_inputs(&self, given: &[Input]) -> Vec<Input> {
        match &self.profile {
            MergedProfile::Iprof { merged: Some(_), .. } | MergedProfile::Stacks { .. } => {
                self.inputs.reports.iter().map(|report| report.input.clone()).collect()
            }
            _ => given.to_vec(),
        }
    }

    /// Fails if content would be lost, and losses are forbidden.
    ///
    /// # Errors
    ///
    /// A loss error with the path of the output.
    pub fn refuse_losses(&self, settings: &MergeSettings) -> Result<()> {
        if !settings.strict {
            return Ok(());
        }
        let lost = |detail: String| Error::new(ErrorKind::WouldLose { detail });
        match &self.profile {
            MergedProfile::Instr { report, .. } => {
                refuse_losses(&report.losses).map_err(|error| error.in_file(&settings.output))?;
            }
            MergedProfile::MemProf { dropped_functions: 1.., .. } => {
                let error = lost(self.dropped_counters().unwrap_or_default()).in_file(&settings.output);
                return Err(error.with_hint("name the output .profdata, which stores both"));
            }
            MergedProfile::Iprof { merged: Some(merged), .. }
                if merged.dropped_entry_members > 0 || !merged.dropped_members.is_empty() =>
            {
                let members = merged.dropped_members.join(", ");
                let error = lost(format!("members that are not part of the format would be lost: {members}"));
                return Err(error.with_hint(Hint::AllowLeavingOut));
            }
            MergedProfile::Stacks { encoded, .. } if !encoded.losses.is_empty() => {
                let error = lost(encoded.losses.join("; ")).in_file(&settings.output);
                return Err(error.with_hint(Hint::AllowLeavingOut));
            }
            _ => {}
        }
        self.refuse_missing()?;
        refuse_losses(&self.unconverted).map_err(|error| error.in_file(&settings.output))
    }

    /// Fails if data of the inputs is missing in the result.
    fn refuse_missing(&self) -> Result<()> {
        let mut missing = self.inputs.losses();
        for warning in self.warnings.iter().filter(|warning| warning.is_loss) {
            // Warnings about stacks are also those of their inputs.
            if !missing.contains(warning) {
                missing.push(warning.clone());
            }
        }
        let Some(first) = missing.first() else { return Ok(()) };
        let more = if missing.len() > 1 { format!(" (and {} more)", missing.len() - 1) } else { String::new() };
        let detail = format!("some data of the inputs would be missing: {first}{more}");
        Err(Error::new(ErrorKind::WouldLose { detail }).with_hint(Hint::AllowLeavingOut))
    }

    /// Returns the counters that a memory profile cannot store, in words.
    pub fn dropped_counters(&self) -> Option<String> {
        match self.profile {
            MergedProfile::MemProf { dropped_functions: functions @ 1.., .. } => Some(format!(
                "a memory profile in YAML cannot store the counters of {}",
                number_of(functions as u64, "function")
            )),
            _ => None,
        }
    }

    /// Replaces the output with the profile, or writes it to standard output for `-`. Returns the losses. The merge state of
    /// a partial merge moves to the file.
    ///
    /// # Errors
    ///
    /// The errors of [`refuse_losses`](Self::refuse_losses), of the writers and of the file.
    pub fn write(&mut self, settings: &MergeSettings) -> Result<Saved> {
        self.refuse_losses(settings)?;
        let path = &*settings.output;
        let mut losses = Vec::new();
        match &mut self.profile {
            MergedProfile::Instr { report, write, part, .. } => {
                return match part.take() {
                    Some(part) => partial::write_file(part, &report.profile, write, path),
                    None => report.write_file(write, path),
                };
            }
            MergedProfile::MemProf { profile, .. } => memprof::write_yaml_file(profile, path)?,
            MergedProfile::SampleProf { report, write, part: None } => {
                losses = sampleprof::write_file(&report.profile, write, settings.strict, path)?;
            }
            // Data that the profile cannot store is in the merge state.
            MergedProfile::SampleProf { report, write, part: Some(part) } => {
                let bytes =
                    sampleprof::encode_partial(part, &report.profile, write).map_err(|error| error.in_file(path))?;
                output::replace_by_name(path, &bytes)?;
            }
            MergedProfile::Iprof { document, part: None, .. } => {
                let writer = iprof::Writer::new(&settings.write.iprof);
                let mut output = Output::create(path, Compression::of_output(path)?)?;
                let written = writer.write(document, output.writer());
                output.finish(written)?;
            }
            MergedProfile::Iprof { document, part: Some(part), .. } => {
                let writer = iprof::Writer::new(&settings.write.iprof);
                let compression = Compression::of_output(path)?;
                let state = part.encode()?;
                let mut output = Output::create(path, None)?;
                let written = crate::partial::write(output.writer(), Family::Iprof, 0, &state, |out| {
                    // The merge state must not look like a part of the document.
                    let mut content = match compression {
                        Some(_) => Compressor::new(out, compression)?,
                        None => Compressor::enclosing(out),
                    };
                    writer.write(document, content.writer())?;
                    content.finish().map(drop)
                });
                output.finish(written)?;
            }
            MergedProfile::Stacks { encoded, part } => match part {
                None => output::replace(path, &encoded.bytes)?,
                Some(part) => {
                    output::replace(path, &encode_kept(part, Family::Stacks, encoded.bytes.clone())?)?;
                }
            },
            MergedProfile::Recordings { bytes } => output::replace(path, bytes)?,
            MergedProfile::Empty(_) => output::replace(path, &[])?,
        }
        Ok(Saved { losses, stopped: None })
    }
}
