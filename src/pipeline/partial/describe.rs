//! What `check` and `info` say of partial merges.

use super::any::Partial;
use super::options::PartialOptions;
use crate::error::Result;
use crate::instr::description::Description;
use crate::iprof::{Level, Verdict};
use crate::limits::Limits;
use crate::partial::{Frame, InputState};
use crate::pipeline::check::{CheckFinding, FileCheck};

fn open(data: &[u8], limits: &Limits) -> Result<Option<Partial>> {
    if Frame::find(data, limits)?.is_none() {
        return Ok(None);
    }
    let mut options = PartialOptions::default();
    options.instr.read.limits = *limits;
    Partial::from_bytes(data, &options).map(Some)
}

/// Adds what a partial merge holds to the description of the profile in front of it.
pub(in crate::pipeline) fn describe_any(data: &[u8], limits: &Limits, description: &mut Description) {
    let sums = match open(data, limits) {
        Ok(Some(sums)) => sums,
        Ok(None) => return,
        Err(error) => return description.warnings.push(error.to_string()),
    };
    let Some(part) = description.parts.first_mut() else { return };
    let inputs = sums.inputs();
    let used = inputs.iter().filter(|input| input.state == InputState::Used).count();
    part.fact("partial merge", format!("{used} of {} inputs", inputs.len()));
    if let Some(count) = sums.sums() {
        part.fact("sums", count.to_string());
    }
    for words in sums.applied() {
        part.fact("applied", words.clone());
    }
    for input in inputs {
        let path = input.path.display();
        let weight = if input.weight == 1 { String::new() } else { format!(", weight {}", input.weight) };
        let became = match &input.state {
            InputState::Used if sums.sums().is_none() => "kept".to_string(),
            InputState::Used => format!("{} records", input.records),
            InputState::Empty => "empty".to_string(),
            InputState::Failed { message, .. } => format!("not used: {message}"),
        };
        part.fact("input", format!("{path}: {became}{weight}"));
    }
}

/// Adds to the check of a profile what is wrong with the state behind it.
pub(in crate::pipeline) fn check(data: &[u8], limits: &Limits, check: &mut FileCheck) {
    let Err(error) = open(data, limits) else { return };
    check.verdict = Verdict::Unusable.name();
    check.findings.push(CheckFinding {
        level: Level::Error.name(),
        code: format!("{}.partial-merge", check.format),
        path: error.section().unwrap_or("$").to_string(),
        offset: error.offset(),
        message: error.kind().to_string(),
        hint: error.hint().cloned(),
        more: 0,
    });
}
