//! Making a sound file of a damaged one.
//!
//! Reading leaves out what is wrong; here follows what only strict or careless
//! readers stumble over: entries without rows, impossible receivers, sections
//! of packed counts, several declarations or entries of one thing.

use super::document::Document;
use super::findings::{Code, Findings, Verdict, refusal};
use super::merge::{BranchClash, MergeOptions, Merger, SectionWeights};
use super::read::{ReadReport, examine_from};
use super::reader::ReadOptions;
use super::sections::SectionKind;
use super::version::Version;
use crate::error::Result;
use crate::java;
use std::io::Read;

/// How a file is repaired.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RepairOptions {
    /// How the damaged file is read; errors are accepted in any case.
    pub read: ReadOptions,
    /// Drop branch entries all of whose counts are 0. Default: `false`.
    pub drop_never_executed: bool,
}

/// A sound document and how it came about.
#[derive(Debug)]
#[non_exhaustive]
pub struct Repaired {
    /// What is left.
    pub document: Document,
    /// What was wrong, and what was done about it.
    pub findings: Findings,
    /// What the damaged file was good for.
    pub verdict: Verdict,
    /// Members that are not part of the format and had to go.
    pub dropped_members: Vec<String>,
}

/// Repairs a file, compressed or not, cut or not.
///
/// # Errors
///
/// The finding because of which nothing can be had from the file.
pub fn repair_from(stream: impl Read, options: &RepairOptions) -> Result<Repaired> {
    let read = ReadOptions { accept_errors: true, find_duplicates: true, ..options.read.clone() };
    let examination = examine_from(stream, &read);
    let ReadReport { document, version, mut findings, verdict, .. } = examination;
    let Some(mut document) = document else {
        return Err(refusal(findings.worst(), version.as_deref()));
    };
    drop_invalid_entries(&mut document, &mut findings, options);
    let (document, dropped_members) = unify(&document, &mut findings)?;
    Ok(Repaired { document, findings, verdict, dropped_members })
}

/// Drops what is readable but cannot be true, or says nothing.
fn drop_invalid_entries(document: &mut Document, findings: &mut Findings, options: &RepairOptions) {
    for kind in SectionKind::ALL {
        let entries = document.sections.entries_count(kind) as u64;
        if findings.iter().any(|finding| finding.code == Code::PackedCounts && finding.path == kind.name()) {
            document.retain_entries(kind, |_, _, _, _| false);
            findings.repaired(Code::PackedCounts, "dropped", kind.name(), entries);
            continue;
        }
        let pairs =
            |document: &Document| document.sections.types(kind).map_or(0, |section| section.rows().len() as u64);
        let before = pairs(document);
        document.retain_entries(kind, |_, _, _, records| !records.is_empty());
        let occupied = document.sections.entries_count(kind) as u64;
        findings.repaired(Code::EmptyRecords, "dropped", kind.name(), entries - occupied);
        document.retain_types(kind, |tables, pair| !java::is_primitive(tables.type_name(pair.class)));
        findings.repaired(Code::PrimitiveReceiver, "dropped pairs", kind.name(), before - pairs(document));
        document.retain_entries(kind, |_, _, _, records| !records.is_empty());
        let left = document.sections.entries_count(kind) as u64;
        findings.repaired(Code::PrimitiveReceiver, "dropped", kind.name(), occupied - left);
    }
    if options.drop_never_executed {
        let before = document.sections.conditionals.len();
        document.retain_entries(SectionKind::Conditional, |_, _, _, records| records.events() > 0);
        let dropped = (before - document.sections.conditionals.len()) as u64;
        findings.repaired(Code::NeverExecuted, "dropped", SectionKind::Conditional.name(), dropped);
    }
}

/// One declaration of each thing, and one entry of each context. Ids stay.
fn unify(document: &Document, findings: &mut Findings) -> Result<(Document, Vec<String>)> {
    let mut options = MergeOptions::default();
    // Shapes of a branch that do not go together are no damage.
    options.branch_clash = BranchClash::Keep;
    let mut merger = Merger::new(options);
    merger.add(document, &SectionWeights::default());
    let (sum, report) = merger.finish()?;
    let gone = |before: usize, after: usize| before.saturating_sub(after) as u64;
    let types = gone(document.tables.types_count(), sum.tables.types_count());
    let methods = gone(document.tables.methods_count(), sum.tables.methods_count());
    let type_code = if findings.has(Code::DuplicateTypeName) { Code::DuplicateTypeName } else { Code::RepeatedType };
    let method_code = if findings.has(Code::DuplicateMethod) { Code::DuplicateMethod } else { Code::RepeatedMethod };
    findings.repaired(type_code, "unified", "types", types);
    findings.repaired(method_code, "unified", "methods", methods);
    for kind in SectionKind::ALL {
        let (before, after) = (document.sections.entries_count(kind), sum.sections.entries_count(kind));
        let code = if kind == SectionKind::Monitor { Code::MonitorCount } else { Code::DuplicateContext };
        findings.repaired(code, "added", kind.name(), gone(before, after));
        if let (Some(old), Some(new)) = (document.sections.types(kind), sum.sections.types(kind))
            && before == after
        {
            let pairs = gone(old.rows().len(), new.rows().len());
            findings.repaired(Code::RepeatedTypeInRecords, "added pairs", kind.name(), pairs);
        }
    }
    if document.has_instanceof() && document.version < Version::V1_1 {
        findings.repaired(Code::SectionNewerThanVersion, "raised", "version", 1);
    }
    if document.version < Version::V1_0 {
        findings.repaired(Code::PreReleaseVersion, "converted", "version", 1);
    }
    if findings.has(Code::LegacyLayout) {
        findings.repaired(Code::LegacyLayout, "converted", "document", 1);
    }
    Ok((sum, report.dropped_members))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iprof::{WriteOptions, check_from, write};

    fn repaired(text: &str) -> (String, Vec<String>) {
        let repaired = repair_from(text.as_bytes(), &RepairOptions::default()).unwrap();
        let bytes = write(&repaired.document, &WriteOptions::default());
        let report = check_from(&bytes[..], &ReadOptions::default());
        assert!(!report.findings.has_errors(), "{:?}", report.findings);
        let repairs =
            repaired.findings.repairs().map(|(r, n)| format!("{}: {} {n} {}", r.code, r.action, r.what)).collect();
        (String::from_utf8(bytes).unwrap(), repairs)
    }

    const HEAD: &str = r#"{"version":"1.0.0","types":[{"id":0,"name":"int"},{"id":1,"name":"A"},{"id":2,"name":"A"}],"methods":[{"id":0,"name":"m","signature":[1,0]},{"id":4,"name":"m","signature":[2,0]}]"#;

    #[test]
    fn duplicate_entries_are_added() {
        let text = format!(
            r#"{HEAD},"callCountProfiles":[{{"ctx":"0:0","records":[1]}},{{"ctx":"4:0","records":[2]}}],"virtualInvokeProfiles":[{{"ctx":"0:3","records":[1,4,2,5,0,9]}},{{"ctx":"0:4","records":[0,9]}},{{"ctx":"0:5","records":[]}}]}}"#
        );
        let (text, repairs) = repaired(&text);
        assert_eq!(
            text,
            r#"{"version":"1.0.0","types":[{"id":0,"name":"int"},{"id":1,"name":"A"}],"methods":[{"id":0,"name":"m","signature":[1,0]}],"callCountProfiles":[{"ctx":"0:0","records":[3]}],"virtualInvokeProfiles":[{"ctx":"0:3","records":[1,9]}]}"#
        );
        assert_eq!(
            repairs,
            [
                "duplicate-type-name: unified 1 types",
                "duplicate-method: unified 1 methods",
                "empty-records: dropped 1 virtualInvokeProfiles",
                "duplicate-context: added 1 callCountProfiles",
                "repeated-type-in-records: added pairs 1 virtualInvokeProfiles",
                "primitive-receiver: dropped 1 virtualInvokeProfiles",
                "primitive-receiver: dropped pairs 2 virtualInvokeProfiles",
            ]
        );
    }

    #[test]
    fn counters_read_in_pairs_are_not_believed() {
        let packed = |upper: u64, lower: u64| (upper << 32) + lower;
        let text = format!(
            r#"{HEAD},"virtualInvokeProfiles":[{{"ctx":"0:3","records":[1,{}]}},{{"ctx":"0:4","records":[1,{}]}}],"callCountProfiles":[{{"ctx":"0:0","records":[23900000000]}}]}}"#,
            packed(1500, 6858),
            packed(70, 11)
        );
        let (text, repairs) = repaired(&text);
        assert!(
            text.contains(r#""virtualInvokeProfiles":[],"callCountProfiles":[{"ctx":"0:0","records":[23900000000]}]"#)
        );
        assert!(repairs.contains(&"packed-counts: dropped 2 virtualInvokeProfiles".to_string()), "{repairs:?}");
    }

    #[test]
    fn unrepairable_files_give_a_reason() {
        let error = repair_from(&b"{\"version\":\"7.0.0\"}"[..], &RepairOptions::default()).unwrap_err();
        assert!(error.to_string().contains("unsupported-major"), "{error}");
    }
}
