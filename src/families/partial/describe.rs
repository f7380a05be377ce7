//! Checks and descriptions of partial merges.

use crate::driver::check::{CheckFinding, FileCheck};
use crate::error::Result;
use crate::error::{Level, Verdict};
use crate::families::partial::any::Partial;
use crate::families::partial::options::PartialOptions;
use crate::family::Family;
use crate::input::Format;
use crate::limits::Limits;
use crate::model::description::{Description, PartialDescription, PartialInputDescription};
use crate::partial::{Frame, InputState, PartialInput, original_path};
use crate::sampleprof::SAMPLES_OF_PROGRAM;

/// Opens a partial merge; `None` for other files, and for recordings, which need their program.
fn open(data: &[u8], limits: &Limits) -> Result<Option<Partial>> {
    if Frame::find(data, limits)?.is_none() || is_of_recordings(data) {
        return Ok(None);
    }
    let mut options = PartialOptions::default();
    options.instr.read.limits = *limits;
    Partial::from_bytes(data, &options).map(Some)
}

/// Adds what a partial merge holds to the description of the profile in front of it.
pub(crate) fn describe_any(data: &[u8], limits: &Limits, description: &mut Description) {
    let sums = match open(data, limits) {
        Ok(Some(sums)) => sums,
        Ok(None) => return,
        Err(error) => return description.warnings.push(error.to_string()),
    };
    description.partial_merge = Some(of_sums(&sums));
}

fn is_of_recordings(data: &[u8]) -> bool {
    Frame::origins_of_footer(data) == Some(SAMPLES_OF_PROGRAM)
        && Frame::family_of_footer(data) == Some(Family::SampleProf)
}

fn of_sums(sums: &Partial) -> PartialDescription {
    let inputs = sums.inputs().into_iter().map(|input| of_input(input, sums.sums().is_some()));
    let mut found = of_inputs(sums.family(), inputs.collect());
    found.sums = sums.sums();
    found.applied = sums.applied().to_vec();
    found
}

fn of_inputs(family: Family, inputs: Vec<PartialInputDescription>) -> PartialDescription {
    let mut found = PartialDescription::default();
    found.family = family.name();
    found.used = inputs.iter().filter(|input| input.outcome == "used").count();
    found.inputs = inputs;
    found
}

#[cfg(feature = "correlate")]
fn of_recordings(data: &[u8], limits: &Limits) -> Result<Option<PartialDescription>> {
    let samples = crate::profgen::ProgramSamples::from_bytes(data, limits)?;
    let inputs = |samples: crate::profgen::ProgramSamples| {
        samples.inputs().iter().map(|input| of_input(input, false)).collect::<Vec<_>>()
    };
    Ok(samples.map(|samples| of_inputs(Family::SampleProf, inputs(samples))))
}

#[cfg(not(feature = "correlate"))]
fn of_recordings(_: &[u8], _: &Limits) -> Result<Option<PartialDescription>> {
    Ok(None)
}

fn of_input(input: &PartialInput, is_summed: bool) -> PartialInputDescription {
    let mut found = PartialInputDescription::default();
    found.path = original_path(&input.path).as_ref().unwrap_or(&input.path).display().to_string();
    found.weight = input.weight;
    (found.outcome, found.error) = match &input.state {
        InputState::Used => ("used", None),
        InputState::Empty => ("empty", None),
        InputState::Failed(error) => ("failed", Some(input.message(error))),
    };
    found.records = is_summed.then_some(input.records);
    found.warnings = input.warnings.clone();
    found
}

/// Describes a partial merge without a profile in front; `None` for any other file.
pub(crate) fn describe_bare(data: &[u8], limits: &Limits) -> Option<Description> {
    if !Frame::is_bare(data) {
        return None;
    }
    let family = Frame::family_of_footer(data).map(|family| format!(" of {}", family.words())).unwrap_or_default();
    let content = if is_of_recordings(data) { " of recordings".to_string() } else { family };
    let mut description = Description::new(format!("partial merge{content}"), data.len() as u64);
    description.supported = true;
    let found = match is_of_recordings(data) {
        true => of_recordings(data, limits),
        false => open(data, limits).map(|sums| sums.as_ref().map(of_sums)),
    };
    match found {
        Ok(found) => description.partial_merge = found,
        Err(error) => description.set_error(&error),
    }
    Some(description)
}

/// Checks a partial merge without a profile in front; `None` for any other file.
pub(crate) fn check_bare(data: &[u8], limits: &Limits) -> Option<FileCheck> {
    if !Frame::is_bare(data) {
        return None;
    }
    let mut found = FileCheck {
        path: String::new(),
        format: Format::Partial.name(),
        version: None,
        verdict: Verdict::Usable.name(),
        findings: Vec::new(),
        hint: None,
        failed: false,
        density: None,
        hot: Vec::new(),
        distribution: None,
    };
    check(data, limits, &mut found);
    Some(found)
}

/// Adds the faults of the merge state to the check of a profile.
pub(crate) fn check(data: &[u8], limits: &Limits, check: &mut FileCheck) {
    let Err(error) = open(data, limits) else { return };
    check.verdict = Verdict::Unusable.name();
    check.findings.push(CheckFinding {
        level: Level::Error.name(),
        code: format!("{}.partial-merge", check.format),
        path: error.place(),
        offset: error.offset(),
        message: error.kind().to_string(),
        hint: error.hint().cloned(),
        more: 0,
    });
}
