//! Whether Go's compiler takes a profile as `default.pgo`.
//!
//! The rules are those of `cmd/internal/pgo` of Go 1.21 to 1.27: the first
//! value called `samples/count` or `cpu/nanoseconds` weighs the edges from
//! caller to callee; a call site is a line relative to the one on which its
//! function begins, so a profile without any start line is refused; a profile
//! without samples or without weight is accepted and changes nothing.

use crate::compression::Compression;
use crate::digits::number_of;
use crate::stacks::pprof::{Line, Location, Profile};
use flate2::bufread::GzDecoder;
use std::io::Read;

/// The effect of a profile on Go's compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GoVerdict {
    /// Takes it.
    OptionValue,
    /// Accepts the profile but optimizes nothing with it.
    Ignores,
    /// Fails the build.
    Refuses,
}

/// One thing that Go's compiler minds, or loses.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GoFinding {
    /// A stable code: `go-value`, `go-start-line` …
    pub code: &'static str,
    /// The fact.
    pub message: String,
    /// The advice.
    pub hint: &'static str,
}

/// Returns true if a file has a form that Go's tools read: not compressed, or with gzip once.
pub(crate) fn is_form_for_go(stored: &[u8]) -> bool {
    match Compression::of(stored) {
        None => true,
        Some(Compression::Gzip) => {
            let mut start = Vec::new();
            // The reader reports damage.
            let _ = GzDecoder::new(stored).take(8).read_to_end(&mut start);
            Compression::of(&start).is_none()
        }
        Some(_) => false,
    }
}

/// Returns the finding about a file that Go's tools cannot read.
pub(crate) fn judge_form_for_go(stored: &[u8], is_partial: bool) -> Option<GoFinding> {
    let (message, hint) = match is_partial {
        true => ("it is a partial merge", "finish the merge for it"),
        false if is_form_for_go(stored) => return None,
        false => ("Go reads plain profiles and those in one gzip stream", "decompress it, or compress it with gzip"),
    };
    Some(GoFinding { code: "go-form", message: message.to_string(), hint })
}

/// Returns how Go's compiler treats a profile, and why.
pub fn judge_for_go(profile: &Profile) -> (GoVerdict, Vec<GoFinding>) {
    if profile.samples.is_empty() {
        return (GoVerdict::Ignores, vec![nothing("no samples")]);
    }
    let Some(value) = profile.value_for_go() else {
        let found = profile.value_names();
        let message = format!("expected a sample type samples/count or cpu/nanoseconds, found {}", found.join(", "));
        let hint = match found.iter().any(|name| name.starts_with("samples/")) {
            true => "count the samples, not their values in another unit",
            false => "record a CPU profile: runtime/pprof.StartCPUProfile, or /debug/pprof/profile of net/http/pprof",
        };
        return (GoVerdict::Refuses, vec![GoFinding { code: "go-value", message, hint }]);
    };
    let weights = weigh(profile, value);
    let mut findings = Vec::new();
    if weights.all == 0 {
        return (GoVerdict::Ignores, vec![nothing("no samples with a value above 0")]);
    }
    if weights.unnamed > 0 {
        findings.push(GoFinding {
            code: "go-names",
            message: format!("{} of {} sample values are in functions without a name", weights.unnamed, weights.all),
            hint: "symbolize the profile with its program: go tool pprof -proto BINARY PROFILE",
        });
    }
    if weights.negative > 0 {
        findings.push(GoFinding {
            code: "go-negative",
            message: format!(
                "{} with a negative value, as in a difference of two profiles",
                number_of(weights.negative, "sample")
            ),
            hint: "pass a profile to the compiler, not a difference",
        });
    }
    if !weights.seen_start_line {
        findings.push(GoFinding {
            code: "go-start-line",
            message: "no function has a start_line".to_string(),
            hint: "profile a program built with Go 1.20 or later, and merge with a tool that keeps start_line, such \
                   as profbridge",
        });
        return (GoVerdict::Refuses, findings);
    }
    if weights.without_start_line > 0 {
        findings.push(GoFinding {
            code: "go-start-line-missing",
            message: format!(
                "{} of {} without start_line, whose call sites the compiler cannot find",
                weights.without_start_line,
                number_of(weights.functions, "function")
            ),
            hint: "the kernel, C and wrappers that the compiler makes have no start_line; if functions of the program have \
                   none, build it with Go 1.20 or later",
        });
    }
    if !weights.has_calls {
        findings.push(nothing("no stacks with a caller and a callee"));
        return (GoVerdict::Ignores, findings);
    }
    (GoVerdict::OptionValue, findings)
}

fn nothing(what: &str) -> GoFinding {
    GoFinding {
        code: "go-nothing",
        message: format!("the profile has {what}, so the compiler ignores it"),
        hint: "profile the program under load for 30 seconds or more",
    }
}

#[derive(Default)]
struct Weights {
    all: u128,
    has_calls: bool,
    unnamed: u128,
    negative: u64,
    seen_start_line: bool,
    functions: usize,
    without_start_line: usize,
}

/// Returns true if Go's compiler finds a call in a stack. It uses the last two locations, with the functions inlined
/// there. A function that calls itself counts only from another place.
fn has_call(profile: &Profile, locations: &[u32]) -> bool {
    let last = locations.iter().take(2).map(|at| &profile.locations[*at as usize]);
    let place = |location: &Location, line: &Line| (location.address, line.function, line.line);
    let places: Vec<_> =
        last.flat_map(|location| location.lines.iter().map(move |line| place(location, line))).collect();
    places.windows(2).any(|pair| pair[0] != pair[1])
}

fn weigh(profile: &Profile, value: usize) -> Weights {
    let mut weights = Weights::default();
    let mut used = vec![false; profile.functions.len()];
    for sample in profile.samples.iter() {
        let weight = sample.values[value];
        weights.negative += u64::from(weight < 0);
        let weight = u128::from(weight.unsigned_abs());
        if weight == 0 {
            continue;
        }
        weights.all += weight;
        let mut is_unnamed = false;
        for at in sample.locations {
            let lines = &profile.locations[*at as usize].lines;
            is_unnamed |= lines.is_empty();
            for line in lines {
                match line.function {
                    Some(function) => used[function as usize] = true,
                    None => is_unnamed = true,
                }
            }
        }
        weights.has_calls = weights.has_calls || has_call(profile, sample.locations);
        weights.unnamed += if is_unnamed { weight } else { 0 };
    }
    for (function, _) in profile.functions.iter().zip(used).filter(|(_, used)| *used) {
        weights.functions += 1;
        weights.without_start_line += usize::from(function.start_line == 0);
        weights.seen_start_line |= function.start_line != 0;
    }
    weights
}
