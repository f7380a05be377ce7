//! What `check` and `info` say of partial merges.

use super::any::Partial;
use super::options::PartialOptions;
use crate::error::Result;
use crate::instr::description::{Description, PartDescription};
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

/// Describes a partial merge without a profile in front; `None` for any other file.
pub(in crate::pipeline) fn describe_bare(data: &[u8], limits: &Limits) -> Option<Description> {
    if !Frame::is_bare(data) {
        return None;
    }
    let family = Frame::family_of_footer(data).map(|family| format!(" of {family}")).unwrap_or_default();
    let mut description = Description::new(format!("partial merge{family}"), data.len() as u64);
    description.supported = true;
    match open(data, limits) {
        Ok(_) => {
            description.parts.push(PartDescription::default());
            describe_any(data, limits, &mut description);
        }
        Err(error) => description.set_error(&error),
    }
    Some(description)
}

/// What a partial merge without a profile in front is called where formats are named.
const BARE: &str = "partial";

/// Checks a partial merge without a profile in front; `None` for any other file.
pub(in crate::pipeline) fn check_bare(data: &[u8], limits: &Limits) -> Option<FileCheck> {
    if !Frame::is_bare(data) {
        return None;
    }
    let mut found = FileCheck {
        path: String::new(),
        format: BARE,
        version: None,
        verdict: Verdict::Usable.name(),
        findings: Vec::new(),
        hint: None,
        failed: false,
    };
    check(data, limits, &mut found);
    Some(found)
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
