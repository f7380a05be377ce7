//! Checking sources of stacks: whether they read, whether there is something in
//! them, and for pprof whether Go's compiler takes them as `default.pgo`.

use crate::call_chains::StackTable;
use crate::digits::number_of;
use crate::driver::check::{CheckFinding, FileCheck};
use crate::error::Error;
use crate::error::{Level, Verdict};
use crate::families::read::stacks::{StackOptions, add_file};
use crate::hint::Hint;
use crate::input::{Access, Format, Input};
use crate::limits::Limits;
use crate::stacks::pprof::{self, GoVerdict, Profile};

/// Checks a recording, a text of stacks or a pprof profile.
pub(crate) fn check_stacks(input: &Input, format: Format, limits: Limits) -> FileCheck {
    match format {
        Format::Pprof => check_pprof(input, limits),
        Format::Jfr => check_table(input, "jfr", limits),
        _ => check_table(input, "stacks", limits),
    }
}

fn finding(level: Level, code: String, message: String) -> CheckFinding {
    CheckFinding { level: level.name(), code, path: "$".to_string(), offset: None, message, hint: None, more: 0 }
}

fn check(format: &'static str, findings: Vec<CheckFinding>, hint: Option<Hint>) -> FileCheck {
    let has_errors = findings.iter().any(|finding| finding.level == Level::Error.name());
    let verdict = if has_errors { Verdict::Unusable } else { Verdict::Usable };
    FileCheck { path: String::new(), format, version: None, verdict: verdict.name(), findings, hint, failed: false }
}

/// The finding for a file that does not read.
fn unreadable(format: &'static str, error: &Error) -> FileCheck {
    let message = error.kind().to_string();
    let place = error.section().unwrap_or("$").to_string();
    let found = finding(Level::Error, format!("{format}.malformed"), message);
    check(
        format,
        vec![CheckFinding { path: place, offset: error.offset(), hint: error.hint().cloned(), ..found }],
        None,
    )
}

fn check_table(input: &Input, format: &'static str, limits: Limits) -> FileCheck {
    let mut table = StackTable::new();
    let mut options = StackOptions { limits, ..StackOptions::default() };
    options.text.accept_weights = true;
    match add_file(input, &options, &mut table) {
        Err(error) => unreadable(format, &error),
        Ok(warnings) => {
            let oddity = |message: String| finding(Level::Warning, format!("{format}.oddity"), message);
            let mut findings: Vec<CheckFinding> = warnings.into_iter().map(|found| oddity(found.message)).collect();
            if table.is_empty() {
                let message = "the profile has no samples".to_string();
                findings.push(finding(Level::Warning, format!("{format}.no-samples"), message));
            }
            check(format, findings, None)
        }
    }
}

fn check_pprof(input: &Input, limits: Limits) -> FileCheck {
    let read = input.bytes(Access::Read, &limits).and_then(|data| pprof::read(&data, &limits));
    match read {
        Err(error) => unreadable("pprof", &error),
        Ok((profile, warnings)) => {
            let mut findings: Vec<CheckFinding> = warnings
                .into_iter()
                .map(|found| finding(Level::Warning, "pprof.unknown-fields".to_string(), found.message))
                .collect();
            let is_for_go = input.path.extension().is_some_and(|extension| extension == "pgo");
            let hint = add_go_findings(&profile, is_for_go, &mut findings);
            check("pprof", findings, hint)
        }
    }
}

/// Reports how Go's compiler treats a profile. A rejected profile is an error if it is named for the compiler,
/// otherwise a warning.
fn add_go_findings(profile: &Profile, is_for_go: bool, findings: &mut Vec<CheckFinding>) -> Option<Hint> {
    let (verdict, found) = pprof::judge_for_go(profile);
    let refused = if is_for_go { Level::Error } else { Level::Warning };
    let (level, words) = match verdict {
        GoVerdict::OptionValue => (Level::Info, "Go's compiler uses it as default.pgo"),
        GoVerdict::Ignores => (Level::Warning, "Go's compiler accepts it as default.pgo, but ignores it"),
        GoVerdict::Refuses => (refused, "Go's compiler rejects it as default.pgo"),
    };
    let code = match verdict {
        GoVerdict::OptionValue => "pprof.go-takes",
        GoVerdict::Ignores => "pprof.go-ignores",
        GoVerdict::Refuses => "pprof.go-refuses",
    };
    let value = profile.main_value().map(|at| profile.value_name(profile.sample_types[at]));
    let measure = value.map(|value| format!("; values: {value}")).unwrap_or_default();
    findings.push(finding(
        level,
        code.to_string(),
        format!("{words} ({}{measure})", number_of(profile.samples.len(), "stack")),
    ));
    let hint = found.first().map(|found| found.hint.into());
    findings.extend(found.into_iter().map(|found| {
        let level = if verdict == GoVerdict::Refuses { level } else { Level::Warning };
        finding(level, format!("pprof.{}", found.code), found.message)
    }));
    hint
}
