//! Checks of instrumentation profiles and memory profiles.
//!
//! The readers stop at the first fault, so each file has at most one error.

use crate::compat::Compat;
use crate::digits::number_of;
use crate::driver::check::{CheckFinding, FileCheck};
use crate::driver::distribution::Distribution;
use crate::error::{Error, ErrorKind, Result};
use crate::error::{Level, Verdict};
use crate::indexed;
use crate::input::{Family, Format};
use crate::instr::memory_profiles;
use crate::instr::open::{ReadOptions, open_reader};
use crate::instr::partial::files::open;
use crate::limits::Limits;
use crate::model::symbols::name_ref;
use crate::model::{LARGEST_COUNT, NameRef, ProfileKind, ProfileReader, RecordView};

/// The codes of the findings for a file without records.
const EMPTY_CODES: [&str; 2] = [".no-functions", ".no-allocations"];

/// The findings of an LLVM profile.
struct LlvmCheck {
    format: &'static str,
    findings: Vec<CheckFinding>,
    records: u64,
    functions: u64,
    /// Functions that ran.
    executed: u64,
    /// Counters that cannot count further.
    at_maximum: u64,
    counts: Distribution,
    /// Whether the file contains a memory profile.
    has_memory: bool,
}

/// Checks an instrumentation or memory profile. Other formats are reported as an error.
pub(crate) fn check_llvm(bytes: &[u8], format: Format, limits: Limits) -> FileCheck {
    let name = match format {
        Format::Raw { .. } => "raw",
        Format::Indexed => "indexed",
        Format::Text => "text",
        Format::RawMemProf => "memprof-raw",
        Format::YamlMemProf => "memprof-yaml",
        _ => "unknown",
    };
    let mut check = LlvmCheck {
        format: name,
        findings: Vec::new(),
        records: 0,
        functions: 0,
        executed: 0,
        at_maximum: 0,
        counts: Distribution::new(Family::Instr),
        has_memory: false,
    };
    let options = ReadOptions { limits, ..ReadOptions::new(Compat::Profbridge) };
    let mut version = None;
    let memory = memory_profiles::verify(bytes, &options);
    let is_memory = matches!(format, Format::RawMemProf | Format::YamlMemProf);
    match open_reader(bytes, &options) {
        Err(_) if is_memory => version = check.memory(&memory),
        Err(error) => check.error(&error),
        Ok(mut reader) => {
            check.has_memory = matches!(memory, Ok(Some(_)));
            // The high byte of a raw version word contains flags.
            let number = reader.version_word() & 0x00ff_ffff_ffff_ffff;
            version = (name != "text").then(|| number.to_string());
            check.records(&mut *reader);
            check.index(bytes, options.limits);
            if check.findings.iter().all(|finding| finding.level != Level::Error.name()) {
                check.memory(&memory);
            }
        }
    }
    let has_errors = check.findings.iter().any(|finding| finding.level == Level::Error.name());
    let is_empty = check.findings.iter().any(|finding| EMPTY_CODES.iter().any(|code| finding.code.ends_with(code)));
    let verdict = match (has_errors, check.records) {
        (false, 0) if is_empty => Verdict::Empty,
        (false, _) => Verdict::Usable,
        (true, 1..) => Verdict::PartlyUsable,
        (true, 0) if format.is_unread() => Verdict::NotAProfile,
        (true, 0) => Verdict::Unusable,
    };
    FileCheck {
        path: String::new(),
        format: name,
        version,
        verdict: verdict.name(),
        findings: check.findings,
        hint: None,
        failed: false,
        density: None,
        hot: Vec::new(),
        distribution: Some(check.counts),
    }
}

impl LlvmCheck {
    /// Reports the fault of a memory profile. Returns the version of a raw one.
    fn memory(&mut self, found: &Result<Option<memory_profiles::Verified>>) -> Option<String> {
        match found {
            Err(error) => {
                self.error(error);
                None
            }
            Ok(None) => None,
            Ok(Some(found)) => {
                if found.contexts == 0 && !found.has_data_accesses {
                    self.warn("no-allocations", "$", "the memory profile has no allocations");
                }
                if self.records == 0 {
                    self.counts = found.bytes.clone();
                }
                found.version.map(|version| version.to_string())
            }
        }
    }

    /// Checks the index of an indexed profile. Merges do not use it, compilers do.
    fn index(&mut self, bytes: &[u8], limits: Limits) {
        if self.format != "indexed" || self.findings.iter().any(|finding| finding.level == Level::Error.name()) {
            return;
        }
        let options = indexed::ReadOptions::new(limits, Compat::Profbridge);
        let end = indexed::IndexedProfile::read(bytes, options).and_then(|profile| {
            profile.verify().map_err(|error| error.with_hint("merge the file to write a new hash table"))?;
            profile.extent()
        });
        match end {
            Ok(end) => self.after(bytes, end, &limits),
            Err(error) => self.error(&error),
        }
    }

    /// Checks the bytes after an indexed profile: either the state of a partial merge, or bytes that no reader looks
    /// at.
    fn after(&mut self, bytes: &[u8], end: u64, limits: &Limits) {
        match open(bytes, limits) {
            Ok(Some(_)) => {}
            Ok(None) if end == bytes.len() as u64 => {}
            Ok(None) => {
                let count = bytes.len() as u64 - end;
                let message = format!(
                    "{} at {end:#x} follow the profile and are ignored; they are not a partial merge",
                    number_of(count, "byte"),
                );
                self.warn("bytes-behind-the-profile", "$", &message);
            }
            Err(error) => self.error(&error),
        }
    }

    fn records(&mut self, reader: &mut dyn ProfileReader) {
        let kind = reader.kind();
        // The function of the last record, and whether it ran. The records of a function are adjacent.
        let mut last: Option<(NameRef, bool)> = None;
        loop {
            match reader.next_record() {
                Ok(Some(record)) => {
                    let (unnamed, executed) = (record.name.is_empty(), is_executed(record.record));
                    self.records += 1;
                    let name = record.name_ref.unwrap_or_else(|| name_ref(record.name));
                    let (is_known, ran) =
                        last.filter(|(last, _)| *last == name).map_or((false, false), |(_, ran)| (true, ran));
                    // The second record of a function counts its runs again.
                    let is_second = is_known && kind.is_context_sensitive() && record.record.is_context_sensitive();
                    let runs = executed && !is_second;
                    self.functions += u64::from(!is_known);
                    self.executed += u64::from(runs && !ran);
                    last = Some((name, ran || runs));
                    if record.record.pseudo_count().is_none() {
                        let counters = || record.record.counters.iter();
                        if !is_second {
                            self.counts.add(record.name, counters().map(u128::from).sum());
                        }
                        self.at_maximum += counters().filter(|count| *count >= LARGEST_COUNT).count() as u64;
                    }
                    if unnamed {
                        self.warn("unnamed-function", "names", "the name of a function is missing");
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    self.error(&error);
                    break;
                }
            }
        }
        for warning in reader.take_warnings() {
            self.warn("oddity", "$", &warning.to_string());
        }
        if self.findings.iter().any(|finding| finding.level == Level::Error.name()) {
            return;
        }
        if self.records == 0 && self.has_memory {
            return;
        }
        if kind.contains(ProfileKind::FUNCTION_ENTRY_ONLY) {
            let message =
                "the profile has function entries only: it is for coverage, and no compiler optimizes with it";
            self.warn("function-entries-only", "$", message);
        }
        if self.records == 0 {
            self.warn("no-functions", "$", "the profile has no functions");
        } else if self.executed == 0 {
            self.warn("never-executed", "$", "all counts are 0: no instrumented code ran");
        } else if self.executed < self.functions {
            let functions = number_of(self.functions - self.executed, "function");
            self.push(Level::Info, "never-run", "$", &format!("{functions} of {} never ran", self.functions));
        }
        if self.at_maximum > 0 {
            let counters = number_of(self.at_maximum, "counter");
            let message = format!("{counters} reached the maximum, so the counts are too small");
            self.warn("counter-at-maximum", "$", &message);
        }
    }

    fn warn(&mut self, code: &str, path: &str, message: &str) {
        self.push(Level::Warning, code, path, message);
    }

    fn push(&mut self, level: Level, code: &str, path: &str, message: &str) {
        let code = format!("{}.{code}", self.format);
        match self.findings.iter_mut().find(|finding| finding.code == code) {
            Some(known) => known.more += 1,
            None => self.findings.push(CheckFinding {
                level: level.name(),
                code,
                path: path.to_string(),
                offset: None,
                message: message.to_string(),
                hint: None,
                more: 0,
            }),
        }
    }

    fn error(&mut self, error: &Error) {
        let code = match error.kind() {
            ErrorKind::EmptyProfile => "empty-file",
            ErrorKind::UnrecognizedFormat => "unrecognized-format",
            ErrorKind::NotAProfile { .. } => "not-a-profile",
            ErrorKind::BadMagic { .. } => "bad-magic",
            ErrorKind::BadHeader { .. } => "bad-header",
            ErrorKind::UnsupportedVersion { .. } => "unsupported-version",
            ErrorKind::UnsupportedHashType { .. } => "unsupported-hash-type",
            ErrorKind::Truncated { .. } | ErrorKind::EndOfFile => "truncated",
            ErrorKind::TooLarge { .. } => "too-large",
            ErrorKind::UncompressFailed { .. } => "uncompress-failed",
            ErrorKind::CounterValueTooLarge { .. } => "counter-too-large",
            ErrorKind::MissingCorrelation => "missing-correlation",
            ErrorKind::LimitExceeded { .. } => "limit-exceeded",
            ErrorKind::Unsupported { .. } => "unsupported",
            ErrorKind::Io { .. } => "unreadable",
            _ => "malformed",
        };
        // The image has the records. Such a profile is complete without it.
        let level = if matches!(error.kind(), ErrorKind::MissingCorrelation) { Level::Warning } else { Level::Error };
        let message = error.kind().to_string();
        self.findings.push(CheckFinding {
            level: level.name(),
            code: format!("{}.{code}", self.format),
            path: error.place(),
            offset: error.offset(),
            message,
            hint: error.hint().cloned(),
            more: 0,
        });
    }
}

fn is_executed(record: RecordView<'_>) -> bool {
    record.counters.iter().any(|count| count > 0)
}
