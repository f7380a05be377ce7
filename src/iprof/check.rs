//! Checking a file without keeping its entries.

use super::findings::{Findings, Verdict};
use super::reader::{NullSink, PartSize, ReadOptions, read_stream};
use std::collections::BTreeMap;
use std::io::Read;

/// What a check found.
#[derive(Debug)]
#[non_exhaustive]
pub struct CheckReport {
    /// The version as the file spells it.
    pub version: Option<String>,
    /// What is wrong or odd.
    pub findings: Findings,
    /// What the file is good for.
    pub verdict: Verdict,
    /// Tables, sections and other members by name, with their sizes.
    pub parts: BTreeMap<String, PartSize>,
}

/// Checks a file, compressed or not. Memory grows with the tables and the
/// number of contexts, not with their length.
pub fn check_from(stream: impl Read, options: &ReadOptions) -> CheckReport {
    let options = ReadOptions { find_duplicates: true, drop_unknown: true, ..options.clone() };
    let reading = read_stream(stream, &options, &mut NullSink);
    let verdict = reading.verdict();
    CheckReport { version: reading.version_text, findings: reading.findings, verdict, parts: reading.parts }
}
