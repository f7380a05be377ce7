//! Partial merges of sample profiles.

use crate::driver::report::{failed, no_weight, remembered, unknown_failure};
use crate::error::{Error, ErrorKind, Result};
use crate::families::merge::FailureMode;
use crate::families::merge::sampleprof::{
    SampleMergeObserver, SampleMergeOptions, SampleMergeReport, check_format, complete, open_sample,
};
use crate::input::{Access, Input, WeightedInput};
use crate::limits::Limits;
use crate::partial::{Family, Frame, InputState, PartialInput};
use crate::sampleprof::partial::{Adding, PartialSamples, ReplayObserver};
use crate::sampleprof::{self, Encoding, ReadOptions, RecordFault, SampleProfile, WriteOptions};
use std::num::NonZeroU64;

/// Adds up sample profiles, partial merges among them. What is wrong with single
/// inputs is noted with them.
///
/// # Errors
///
/// Usage for a partial merge with a weight, and for one that was made for
/// another release.
pub fn sum_samples(inputs: &[WeightedInput], options: &SampleMergeOptions) -> Result<PartialSamples> {
    let mut sums = PartialSamples::new(options.read.rules);
    inputs.iter().try_for_each(|input| add_input(&mut sums, input, options))?;
    Ok(sums)
}

fn add_input(sums: &mut PartialSamples, input: &Input, options: &SampleMergeOptions) -> Result<()> {
    let (limits, weight) = (&options.read.limits, input.weight.get());
    let mut about = PartialInput::new(&input.path, weight);
    let mut profile = SampleProfile::default();
    let read = match open_part(input, limits) {
        Ok(None) => open_sample(input, &options.read, options.compat)
            .and_then(|bytes| sampleprof::read_into(&bytes, &options.read, &mut profile)),
        Ok(Some(_)) if weight != 1 => return Err(no_weight().in_file(&input.path)),
        Ok(Some(part)) if part.rules().release() != sums.rules().release() => {
            let detail =
                format!("a partial merge for {}, the result is for {}", part.rules().release(), sums.rules().release());
            let hint = "make the parts and the whole for the same release: sample profiles are read by its rules";
            return Err(Error::usage(detail).in_file(&input.path).with_hint(hint));
        }
        Ok(Some(part)) => {
            sums.append(part);
            return Ok(());
        }
        Err(error) => Err(error),
    };
    match read {
        Ok(()) => {
            let hashed = profile.stated.hashed;
            let mut adding = Adding::new(&options.remapping);
            adding.discriminator_bits = options.read.discriminator_bits;
            adding.drop_symbols = options.drop_symbols;
            let keeps = |title: &[u8]| options.filter.keeps(title, hashed);
            adding.keeps = &keeps;
            sums.add(profile, about, &adding);
        }
        Err(error) => {
            about.state = match error.kind() {
                ErrorKind::EmptyProfile => InputState::Empty,
                _ => failed(&error.in_file(&input.path)),
            };
            sums.add_unused(about, profile.stated);
        }
    }
    Ok(())
}

/// The sums in a partial merge; `None` for other files.
fn open_part(input: &Input, limits: &Limits) -> Result<Option<PartialSamples>> {
    if !input.ends_as_part()? {
        return Ok(None);
    }
    let bytes = input.stored_bytes(Access::Read, limits)?;
    let opened = Frame::find(&bytes, limits).and_then(|frame| frame.map(|frame| open(&frame, limits)).transpose());
    opened.map_err(|error| error.in_file(&input.path))
}

/// The sums of a partial merge that was taken apart.
pub(super) fn open(frame: &Frame<'_>, limits: &Limits) -> Result<PartialSamples> {
    if frame.family != Family::SampleProf {
        return Err(Error::usage(format!("a partial merge of {}, not of {}", frame.family, Family::SampleProf)));
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
    sampleprof::read(bytes, options).map(Some)
}

/// Puts the state behind a profile, which is an extensible binary: the other
/// encodings end where the file does.
///
/// # Errors
///
/// Usage for other encodings; those of [`sampleprof::write`].
pub fn encode_samples(sums: &PartialSamples, profile: &SampleProfile, options: &WriteOptions) -> Result<Vec<u8>> {
    if options.encoding != Encoding::ExtBinary {
        let detail = format!("a partial merge is an extensible binary, not a {}", options.encoding);
        return Err(Error::usage(detail).with_hint("the encoding is chosen when the merge is finished"));
    }
    let front = sampleprof::write(profile, options)?;
    let limits = Limits::default();
    let read = read_front(&front, &ReadOptions { rules: sums.rules(), limits, ..ReadOptions::default() })?;
    let state = sums.encode(read.as_ref())?;
    crate::partial::append(front, Family::SampleProf, 0, &state)
}

/// Makes the result of a merge of all inputs that the sums hold.
///
/// # Errors
///
/// As [`merge_sample_files`](crate::families::merge::sampleprof::merge_sample_files);
/// usage when functions were left out of parts and layouts or cold contexts,
/// which come before filters, are to be treated.
pub fn finish_samples(
    sums: &PartialSamples,
    options: &SampleMergeOptions,
    observer: &mut dyn SampleMergeObserver,
) -> Result<SampleMergeReport> {
    let treats = options.cold.merge || options.cold.trim || options.layout.is_some();
    if treats && sums.has_left_out() {
        let detail = "functions were left out of parts: layouts and cold contexts have to be treated before that";
        return Err(Error::usage(detail).with_hint("make the parts without a filter, and filter when they are merged"));
    }
    let inputs: Vec<WeightedInput> = sums.inputs().iter().map(weighted).collect();
    observer.opened_parts(&inputs);
    let mut reported =
        ObserverAdapter { sums, inputs: &inputs, options, observer, used: inputs.len(), last_error: None };
    let replayed = sums.replay(&mut reported);
    let (used, last_error) = (reported.used, reported.last_error);
    let replayed = replayed.map_err(|(number, error)| match error.kind() {
        ErrorKind::KindConflict { .. } => error.in_file(&inputs[number].path),
        // What is remembered of an input says its path.
        _ => error,
    })?;
    if used == 0
        && options.failure_mode != FailureMode::Warn
        && let Some(error) = last_error
    {
        return Err(error);
    }
    complete(replayed.merger, options, used, &replayed.left_out)
}

fn weighted(about: &PartialInput) -> WeightedInput {
    WeightedInput::with_weight(&about.path, NonZeroU64::new(about.weight).unwrap_or(NonZeroU64::MIN))
}

/// Passes on what is told of inputs by number.
struct ObserverAdapter<'a> {
    sums: &'a PartialSamples,
    inputs: &'a [WeightedInput],
    options: &'a SampleMergeOptions,
    observer: &'a mut dyn SampleMergeObserver,
    used: usize,
    last_error: Option<Error>,
}

impl ReplayObserver for ObserverAdapter<'_> {
    fn unused(&mut self, input: usize) -> Result<()> {
        self.used -= 1;
        let about = &self.sums.inputs()[input];
        let error = failure(about);
        let is_empty = about.state == InputState::Empty;
        if self.options.failure_mode == FailureMode::Any && !is_empty {
            return Err(error);
        }
        self.observer.left_out(input, &self.inputs[input], &error);
        if !is_empty {
            self.last_error = Some(error);
        }
        Ok(())
    }

    fn record_fault(&mut self, input: usize, title: &[u8], fault: RecordFault) {
        self.observer.record_fault(input, &self.inputs[input], title, fault);
    }
}

/// Why an input could not be read.
fn failure(about: &PartialInput) -> Error {
    if about.state == InputState::Empty {
        return Error::new(ErrorKind::EmptyProfile).in_file(&about.path);
    }
    remembered(&about.state).unwrap_or_else(|| unknown_failure().in_file(&about.path))
}

/// The sums in a file that a merge wrote; `None` for other files.
///
/// # Errors
///
/// Those of [`Frame::find`] and of a damaged state.
pub fn open_samples(data: &[u8], limits: &Limits) -> Result<Option<PartialSamples>> {
    let frame = Frame::find(data, limits)?.filter(|frame| frame.family == Family::SampleProf);
    frame.map(|frame| open(&frame, limits)).transpose()
}
