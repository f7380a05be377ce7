//! Checking an iprof.

use crate::driver::check::{CheckFinding, FileCheck};
use crate::iprof;
use std::io::Read;

/// Checks an iprof.
pub(crate) fn check_iprof(stream: impl Read, options: &iprof::ReadOptions) -> FileCheck {
    let report = iprof::Reader::new(stream, options).check();
    let findings = report.findings.iter().map(|finding| CheckFinding {
        level: finding.level.name(),
        code: finding.code.name().to_string(),
        path: finding.path.clone(),
        offset: finding.offset,
        message: finding.message.clone(),
        hint: None,
        more: finding.more,
    });
    FileCheck {
        path: String::new(),
        format: "iprof",
        version: report.version,
        verdict: report.verdict.name(),
        findings: findings.collect(),
        hint: report.findings.iter().find_map(iprof::Finding::remedy),
        failed: false,
    }
}
