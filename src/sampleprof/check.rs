//! Checks sample profiles: whether they can be read, and whether their content is consistent.

use super::density::{HotFunction, hot_functions};
use super::ext_binary;
use super::options::{Encoding, ReadOptions};
use super::profile::{SampleProfile, Summary, summary_depends_on_order};
use super::reader::{SampleProfileView, detect, read};
use super::record::{CallSite, FunctionName, FunctionRecord};
use crate::driver::check::{CheckFinding, FileCheck};
use crate::driver::distribution::Distribution;
use crate::error::{Error, ErrorKind, Level, Result, Verdict};
use crate::identify::Family;
use crate::limits::Limits;
use crate::partial::Frame;

/// Checks the bytes of a profile of any encoding.
pub(crate) fn check(bytes: &[u8], limits: Limits) -> FileCheck {
    let mut options = ReadOptions::default();
    options.limits = limits;
    let (mut findings, mut found_density, mut hot) = (Vec::new(), None, Vec::new());
    let mut counts = Distribution::new(Family::SampleProf);
    let verdict = match read(bytes, &options) {
        Ok(profile) => {
            let functions = hot_functions(&profile.functions);
            found_density = functions.last().map(HotFunction::density);
            let title = |record: &FunctionRecord| profile.title(record).escape_ascii().to_string();
            hot.extend(functions.iter().rev().map(|hot| (title(&profile.functions[hot.at]), hot.density())));
            for record in &profile.functions {
                counts.add(&profile.title(record), record.total.into());
            }
            let is_empty = profile.functions.is_empty();
            check_profile(profile, &options, &mut findings);
            check_after(bytes, &options, &mut findings);
            match check_offsets(bytes, &options) {
                Ok(()) if is_empty => Verdict::Empty,
                Ok(()) => Verdict::Usable,
                // A merge reads all records and writes a new table.
                Err(error) => {
                    findings.push(finding_of(&error.with_hint("merge the file to write a new table of offsets")));
                    Verdict::PartlyUsable
                }
            }
        }
        Err(error) => {
            findings.push(finding_of(&error));
            Verdict::Unusable
        }
    };
    FileCheck {
        path: String::new(),
        format: "sample",
        version: None,
        verdict: verdict.name(),
        findings,
        hint: None,
        failed: false,
        density: found_density,
        hot,
        distribution: Some(counts),
    }
}

/// Reports bytes after the sections of an extensible binary, which readers ignore.
fn check_after(bytes: &[u8], options: &ReadOptions, findings: &mut Vec<CheckFinding>) {
    if detect(bytes) != Some(Encoding::ExtBinary) || Frame::is_at_end_of(bytes) {
        return;
    }
    let Ok(end) = ext_binary::extent(bytes, options) else { return };
    let count = (bytes.len() as u64).saturating_sub(end);
    if count > 0 {
        findings.push(CheckFinding {
            level: Level::Warning.name(),
            code: "sample.bytes-behind-the-profile".to_string(),
            path: "$".to_string(),
            offset: Some(end),
            message: format!(
                "{count} {} at {end:#x} follow the profile and are ignored; they are not a partial merge",
                if count == 1 { "byte" } else { "bytes" },
            ),
            hint: None,
            more: 0,
        });
    }
}

/// Checks the table of offsets. A reader of all records does not use it, but compilers find functions by it.
fn check_offsets(bytes: &[u8], options: &ReadOptions) -> Result<()> {
    SampleProfileView::open(bytes, options)?.map_or(Ok(()), |view| view.check_offsets())
}

fn finding_of(error: &Error) -> CheckFinding {
    let code = match error.kind() {
        ErrorKind::Truncated { .. } => "truncated",
        ErrorKind::UnsupportedVersion { .. } => "unsupported-version",
        ErrorKind::UncompressFailed { .. } => "uncompress-failed",
        ErrorKind::LimitExceeded { .. } => "limit-exceeded",
        ErrorKind::UnrecognizedFormat => "unrecognized",
        ErrorKind::Unsupported { .. } => "unsupported",
        _ => "malformed",
    };
    CheckFinding {
        level: Level::Error.name(),
        code: format!("sample.{code}"),
        path: error.place(),
        offset: error.offset(),
        message: error.kind().to_string(),
        hint: error.hint().cloned(),
        more: 0,
    }
}

/// A finding about several places. It names the first one.
struct Places {
    first: Option<(String, String)>,
    count: u64,
}

impl Places {
    fn new() -> Self {
        Self { first: None, count: 0 }
    }

    fn add(&mut self, path: impl FnOnce() -> String, message: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.is_none() {
            self.first = Some((path(), message()));
        }
    }

    fn finish(self, level: Level, code: &str, findings: &mut Vec<CheckFinding>) {
        if let Some((path, message)) = self.first {
            let code = format!("sample.{code}");
            findings.push(CheckFinding {
                level: level.name(),
                code,
                path,
                offset: None,
                message,
                hint: None,
                more: self.count - 1,
            });
        }
    }
}

fn check_profile(mut profile: SampleProfile, options: &ReadOptions, findings: &mut Vec<CheckFinding>) {
    if profile.functions.is_empty() {
        let mut empty = Places::new();
        empty.add(|| "$".to_string(), || "the profile has no functions".to_string());
        empty.finish(Level::Warning, "empty", findings);
    }
    let mut sums = Places::new();
    let title = |record: &FunctionRecord| profile.title(record).escape_ascii().to_string();
    for record in &profile.functions {
        check_totals(record, None, &mut |site, sum, total| {
            let copy = site.map(|site| {
                let name = profile.names.get(site.callee.name).to_bytes().escape_ascii().to_string();
                format!(" of {name}, inlined at {},", site.location)
            });
            let copy = copy.unwrap_or_default();
            sums.add(|| title(record), || format!("the total{copy} is {total}, but the sum of its parts is {sum}"));
        });
    }
    // Not a warning: lines of unrolled code count every iteration, but totals of plain samples count the samples once.
    sums.finish(Level::Info, "total-below-sum", findings);
    let mut mixed = Places::new();
    if profile.kind().context_sensitive {
        for record in profile.functions.iter().filter(|record| record.context.is_none()) {
            mixed.add(|| title(record), || "a function without context among contexts".to_string());
        }
    }
    mixed.finish(Level::Warning, "mixed-contexts", findings);
    let mut hashes = Places::new();
    for name in profile.names.iter().filter(|name| matches!(name, FunctionName::Hash(_))) {
        hashes.add(|| "names".to_string(), || format!("the name {name:?} is stored only as a hash"));
    }
    hashes.finish(Level::Info, "hashed-name", findings);
    let mut unlisted = Places::new();
    for record in &profile.functions {
        let (Some(symbols), FunctionName::Text(name)) = (&profile.symbols, profile.name(record.name)) else { continue };
        // Without a list, no function is unlisted.
        if !symbols.is_empty() && !symbols.contains(name) {
            unlisted.add(|| title(record), || "the function is not in the profile symbol list".to_string());
        }
    }
    unlisted.finish(Level::Info, "unlisted-function", findings);
    let stored = profile.summary.take();
    let profile = profile.in_container_order(options.rules);
    let computed = profile.compute_summary(options.rules);
    let is_stale = |stored: &Summary| {
        // The file does not keep the order in which its writer merged the contexts.
        let depends_on_order = *stored != computed
            && profile.kind().context_sensitive
            && summary_depends_on_order(&profile.functions, &profile.names);
        if depends_on_order { stored.functions != computed.functions } else { *stored != computed }
    };
    if let Some(stored) = stored.filter(is_stale) {
        let mut stale = Places::new();
        stale.add(|| "summary".to_string(), || difference(&stored, &computed));
        stale.finish(Level::Warning, "stale-summary", findings);
    }
}

/// Describes how a summary differs from that of the records.
fn difference(stored: &Summary, computed: &Summary) -> String {
    let numbers = [
        ("number of functions", stored.functions, computed.functions),
        ("total", stored.total, computed.total),
        ("largest count", stored.max, computed.max),
        ("largest entry count", stored.max_head, computed.max_head),
        ("number of counts", stored.counts, computed.counts),
    ];
    let differing = numbers.into_iter().filter(|(_, stored, computed)| stored != computed);
    let mut parts: Vec<String> =
        differing.map(|(what, stored, computed)| format!("its {what} is {stored}, expected {computed}")).collect();
    if parts.is_empty() {
        parts.push("its rows of cutoffs differ".to_string());
    }
    format!("the summary is not that of the records: {}", parts.join(", "))
}

/// Calls `report` with the sum and the total of a record whose body and inlined callees exceed its total.
fn check_totals<'a>(
    record: &'a FunctionRecord,
    site: Option<&'a CallSite>,
    report: &mut impl FnMut(Option<&'a CallSite>, u128, u64),
) {
    let own: u128 = record.body.iter().map(|entry| u128::from(entry.samples)).sum();
    let inlined: u128 = record.call_sites.iter().map(|site| u128::from(site.callee.total)).sum();
    let sum = own + inlined;
    if sum > u128::from(record.total) {
        report(site, sum, record.total);
    }
    record.call_sites.iter().for_each(|site| check_totals(&site.callee, Some(site), report));
}
