//! Partial merges of files that are sample profiles.

use super::files::{SAMPLES_OF_PROGRAM, check_format, open_input, require_profile, without_program};
use super::merge_report::{FailedMerge, FileMergeOptions, InputReports, MergeReport};
use super::options::{Encoding, ReadOptions, WriteOptions};
use super::partial::PartialSamples;
use super::profile::SampleProfile;
use super::{reader, writer};
use crate::driver::report::{failed, no_weight, remembered, unknown_failure};
use crate::driver::{self, InputOutcome, InputReport, InputTurn, Merge, OnProgress};
use crate::error::{Error, ErrorKind, Result};
use crate::family::Family;
use crate::input::{Access, Input};
use crate::limits::Limits;
use crate::model::Release;
use crate::partial::{self, Duplicates, Frame, InputState, PartialInput};
use std::num::NonZeroU64;

/// Merges sample profiles and partial merges of them into a partial merge. Unreadable inputs are noted in it.
///
/// # Errors
///
/// Usage for a partial merge with a weight or for another release, and for a profile that occurs in a partial merge and in
/// another input, unless the options allow it; cancelled.
pub fn merge_partially(
    inputs: &[Input],
    options: &FileMergeOptions,
    progress: OnProgress<'_>,
) -> Result<PartialSamples> {
    let merged = driver::merge(inputs, &options.run(), |_| PartialMerge { options }, progress)?;
    merged.output
}

/// The inputs added so far.
struct Added {
    sums: PartialSamples,
    /// `None` if duplicates are allowed.
    duplicates: Option<Duplicates>,
}

impl Added {
    /// Appends the sums of one input.
    fn append(&mut self, input: &Input, one: Summed) -> Result<()> {
        if let Some(duplicates) = &mut self.duplicates {
            duplicates.append(Duplicates::of(&input.path, one.is_partial, one.sums.inputs()))?;
        }
        self.sums.append(one.sums);
        Ok(())
    }
}

/// The sums of one input.
struct Summed {
    sums: PartialSamples,
    is_partial: bool,
}

/// The merge of sums in the merge loop.
struct PartialMerge<'a> {
    options: &'a FileMergeOptions,
}

impl Merge for PartialMerge<'_> {
    type Merger = Result<Added>;
    type Worker = ();
    type Output = Result<PartialSamples>;

    /// Reading an input takes longer than adding its sums.
    const INPUTS_PER_THREAD: usize = 1;

    fn merger(&self) -> Result<Added> {
        let duplicates = (!self.options.allow_duplicates).then(Duplicates::default);
        Ok(Added { sums: PartialSamples::new(self.options.read.rules), duplicates })
    }

    fn add_input(
        &self,
        (): &mut (),
        input: &Input,
        turn: &mut InputTurn<'_, Result<Added>>,
        _: &mut InputReport,
    ) -> Result<()> {
        let one = sum_of(input, self.options);
        let added = turn.wait()?;
        // If an earlier input ended the merge, there is nothing to append to.
        if let Ok(before) = added
            && let Err(error) = one.and_then(|one| before.append(input, one))
        {
            *added = Err(error);
        }
        Ok(())
    }

    fn needs_restart(&self, _: &Result<Added>) -> Result<bool> {
        Ok(false)
    }

    fn finish(self, added: Result<Added>) -> Result<Result<PartialSamples>> {
        Ok(added.map(|added| added.sums))
    }
}

/// Returns the sums of one input.
fn sum_of(input: &Input, options: &FileMergeOptions) -> Result<Summed> {
    require_profile(input)?;
    let rules = options.read.rules;
    let mut about = PartialInput::new(&input.path, input.weight.get());
    let mut profile = SampleProfile::default();
    let read = match open_partial(input, &options.read.limits) {
        Ok(None) => open_input(input, &options.read, options.compat).and_then(|bytes| {
            about.digest = Some(PartialInput::digest_of(&bytes));
            reader::read_into(&bytes, &options.read.of_input(input), &mut profile)
        }),
        Ok(Some(_)) if about.weight != 1 => return Err(no_weight().in_file(&input.path)),
        Ok(Some(part)) if part.rules().release() != rules.release() => {
            let detail = format!(
                "the partial merge targets {}, but the result targets {}",
                part.rules().release(),
                rules.release()
            );
            let hint = "use the same target for all partial merges and the result";
            return Err(Error::usage(detail).in_file(&input.path).with_hint(hint));
        }
        Ok(Some(sums)) => {
            sums.require_unchanged(&options.merge_options().remapping).map_err(|error| error.in_file(&input.path))?;
            return Ok(Summed { sums, is_partial: true });
        }
        Err(error) => Err(error),
    };
    let sums = match read {
        Ok(()) => PartialSamples::of_input(profile, about, &options.merge_options()),
        Err(error) => {
            about.digest = None;
            about.state = match error.kind() {
                ErrorKind::EmptyProfile => InputState::Empty,
                _ => failed(&error.in_file(&input.path)),
            };
            PartialSamples::of_unreadable(rules, about, profile.stated)
        }
    };
    Ok(Summed { sums, is_partial: false })
}

/// Returns true if an input is a partial merge. A pipe is read to its end for that.
///
/// # Errors
///
/// An input cannot be opened, and none is a partial merge.
pub(super) fn has_partial(inputs: &[Input], limits: &Limits) -> Result<bool> {
    let mut unknown = None;
    for input in inputs {
        if input.is_pipe() {
            // The merge reports an error when it reads the input.
            let _ = input.stored_bytes(Access::Read, limits);
        }
        match input.ends_as_part() {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(error) => unknown = unknown.or(Some(error)),
        }
    }
    unknown.map_or(Ok(false), Err)
}

/// Returns the release that the first partial merge among the inputs targets.
pub(crate) fn release_of_parts(inputs: &[Input], limits: &Limits) -> Option<Release> {
    // Faults are reported when the input is merged.
    inputs.iter().filter(|input| !input.is_pipe() && input.ends_as_part().unwrap_or(false)).find_map(|input| {
        let bytes = input.bytes(Access::Read, limits).ok()?;
        let frame = Frame::find(&bytes, limits).ok()??;
        let has_sums = frame.family == Family::SampleProf && frame.origins != SAMPLES_OF_PROGRAM;
        has_sums.then(|| PartialSamples::rules_of(&frame.state).ok()).flatten().map(|rules| rules.release())
    })
}

/// Returns the sums of a partial merge; `None` for other files.
fn open_partial(input: &Input, limits: &Limits) -> Result<Option<PartialSamples>> {
    if !input.ends_as_part()? {
        return Ok(None);
    }
    let bytes = input.bytes(Access::Read, limits)?;
    let decoded = Frame::find(&bytes, limits).and_then(|frame| frame.map(|frame| decode(&frame, limits)).transpose());
    decoded.map_err(|error| error.in_file(&input.path))
}

/// Decodes the sums in the frame of a partial merge.
pub(crate) fn decode(frame: &Frame<'_>, limits: &Limits) -> Result<PartialSamples> {
    if (frame.family, frame.origins) == (Family::SampleProf, SAMPLES_OF_PROGRAM) {
        return Err(without_program());
    }
    if frame.family != Family::SampleProf {
        let (found, wanted) = (frame.family.words(), Family::SampleProf.words());
        return Err(Error::usage(format!("a partial merge of {found}, not of {wanted}")));
    }
    let rules = PartialSamples::rules_of(&frame.state)?;
    let front = read_front(frame.profile, &ReadOptions { rules, limits: *limits, ..ReadOptions::default() })?;
    PartialSamples::decode(&frame.state, front.as_ref())
}

fn read_front(bytes: &[u8], options: &ReadOptions) -> Result<Option<SampleProfile>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    check_format(bytes, Default::default())?;
    reader::read(bytes, options).map(Some)
}

/// Encodes a partial merge: a profile, followed by the state. The profile is an extensible binary, because other encodings
/// end at the end of the file.
///
/// # Errors
///
/// Usage for other encodings; the errors of [`write`](super::write()).
pub(crate) fn encode_partial(
    sums: &PartialSamples,
    profile: &SampleProfile,
    options: &WriteOptions,
) -> Result<Vec<u8>> {
    if options.encoding != Encoding::ExtBinary {
        let detail = format!("a partial merge is an extensible binary, not a {}", options.encoding);
        return Err(Error::usage(detail).with_hint("choose the encoding when you finish the merge"));
    }
    let front = writer::write(profile, options)?;
    let limits = Limits::default();
    let read = read_front(&front, &ReadOptions { rules: sums.rules(), limits, ..ReadOptions::default() })?;
    let state = sums.encode(read.as_ref())?;
    partial::append(front, Family::SampleProf, 0, &state)
}

/// Finishes a partial merge. The result is that of one merge of all its inputs.
///
/// # Errors
///
/// The errors of [`merge_files`](super::merge_files); usage if parts were filtered and the options change the layout or
/// the cold contexts, which precede filters.
pub fn finish_partial(sums: &PartialSamples, options: &FileMergeOptions) -> Result<MergeReport, FailedMerge> {
    let merge = options.merge_options();
    if (merge.cold.merge || merge.cold.trim || merge.layout.is_some()) && sums.is_filtered() {
        let detail = "a filter was applied to partial merges, so layouts and cold contexts cannot be converted";
        let hint = "write the partial merges without a filter, and filter when you finish the merge";
        return Err(Error::usage(detail).with_hint(hint).into());
    }
    let mut inputs = InputReports::default();
    inputs.reports = sums.inputs().iter().map(input_report).collect();
    let replayed = sums.replay(&merge, &mut |input, title, fault| inputs.push_fault(input, title, fault));
    match replayed {
        Ok(merger) => inputs.finish(merger, options).map(|report| MergeReport { shares_nothing: false, ..report }),
        Err((number, error)) => {
            let error = error.in_file(&inputs.reports[number].input.path);
            inputs.reports[number..].iter_mut().for_each(|report| report.outcome = InputOutcome::NotReached);
            Err(FailedMerge { error, inputs })
        }
    }
}

/// Returns the report of an input of a partial merge.
fn input_report(about: &PartialInput) -> InputReport {
    let weight = NonZeroU64::new(about.weight).unwrap_or(NonZeroU64::MIN);
    let outcome = match &about.state {
        InputState::Used => InputOutcome::Used,
        InputState::Empty => InputOutcome::Empty,
        state => {
            let error = remembered(state).unwrap_or_else(|| unknown_failure().in_file(&about.path));
            InputOutcome::Failed(error)
        }
    };
    let mut report = InputReport::new(&Input::with_weight(&about.path, weight), outcome);
    report.records = about.records;
    report
}
