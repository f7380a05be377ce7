//! Changes to whole documents: dropping parts, the canonical form, and repairs.
//!
//! The canonical form is equal for files of equal content. Types are in order of name, methods of identity, contexts of
//! their frames, all numbered from 0. Equal contexts are merged, branch rows are in order of (index, BCI), types of a
//! site in order of name. Empty sections and members that are not part of the format are dropped. The version is the
//! lowest that has every section used.
//!
//! A repair starts with reading, which drops damaged entries. Then it removes what strict or careless readers reject:
//! entries without rows, impossible receivers, sections of packed counts, repeated declarations and entries.

use crate::call_chains::MethodPattern;
use crate::error::{Error, ErrorKind, Result};
use crate::hint::Hint;
use crate::iprof::context::{Adoption, ContextHandle, ContextTree};
use crate::iprof::document::{Document, Table, TopMember, Version, move_extras};
use crate::iprof::findings::{Code, Findings, Verdict, refusal};
use crate::iprof::merge::branches::sort_canonically;
use crate::iprof::merge::{BranchClash, MergeOptions, Merger};
use crate::iprof::read::{ReadReport, Reader};
use crate::iprof::reader::ReadOptions;
use crate::iprof::sections::{Records, SectionKind, Sections, TypeCount};
use crate::iprof::tables::{self, ImportMode, Mapping, MethodHandle, Tables, TypeHandle};
use crate::java;
use std::collections::BTreeSet;
use std::io::Read;

impl Document {
    /// Keeps the entries of a section that `keep` wants. Ids stay as they are.
    pub fn retain_entries(
        &mut self,
        kind: SectionKind,
        mut keep: impl FnMut(&Tables, &ContextTree, ContextHandle, Records<'_>) -> bool,
    ) {
        let (tables, contexts) = (&self.tables, &self.contexts);
        let kept = self.sections.retain(kind, |context, records| keep(tables, contexts, context, records));
        move_extras(&mut self.extras, Table::Section(kind), &kept);
    }

    /// Keeps the type counts of a section that `keep` wants, and entries even without any.
    pub fn retain_types(&mut self, kind: SectionKind, keep: impl Fn(&Tables, TypeCount) -> bool) {
        let tables = &self.tables;
        if let Some(section) = self.sections.types_mut(kind) {
            let kept = |pairs: &[TypeCount]| -> Vec<TypeCount> {
                pairs.iter().filter(|pair| keep(tables, **pair)).copied().collect()
            };
            *section = section.iter().map(|(context, pairs)| (context, kept(pairs))).collect();
        }
    }

    /// Drops a section, also from the list of members.
    pub fn remove_section(&mut self, kind: SectionKind) {
        self.retain_entries(kind, |_, _, _, _| false);
        self.layout.retain(|member| *member != TopMember::Table(Table::Section(kind)));
    }

    /// Drops members that are not part of the format. Returns their names.
    pub fn remove_members(&mut self) -> Vec<String> {
        let names = self.members().map(|(name, _)| tables::display_name(name)).collect();
        self.layout.retain(|member| !matches!(member, TopMember::Other(..)));
        names
    }

    /// Drops methods that no context has and types that no method and no record needs. Ids do not change. Members that
    /// are not part of the format may refer to dropped ones, so they are dropped, too. Returns their names.
    pub fn prune(&mut self) -> Vec<String> {
        let dropped = self.remove_members();
        let contexts = self.used_contexts();
        let mut methods = vec![false; self.tables.methods_count()];
        let mut types = vec![false; self.tables.types_count()];
        for (context, _, frame) in self.contexts.iter() {
            if contexts[context.index()] {
                methods[frame.method.index()] = true;
            }
        }
        for method in self.tables.methods().filter(|method| methods[method.index()]) {
            self.tables.signature(method).iter().for_each(|part| types[part.index()] = true);
        }
        for kind in SectionKind::EACH {
            if let Some(section) = self.sections.types(kind) {
                section.rows().iter().for_each(|pair| types[pair.class.index()] = true);
            }
        }
        self.keep_tables(&types, &methods, &contexts);
        dropped
    }

    /// Which contexts entries refer to, callers included.
    fn used_contexts(&self) -> Vec<bool> {
        let mut used = vec![false; self.contexts.len()];
        for kind in SectionKind::EACH {
            for (mut context, _) in self.sections.entries(kind) {
                while !std::mem::replace(&mut used[context.index()], true) {
                    context = self.contexts.caller(context);
                }
            }
        }
        used
    }

    /// Rebuilds tables and contexts with the given items, which must include all referenced items.
    fn keep_tables(&mut self, types: &[bool], methods: &[bool], contexts: &[bool]) {
        let (tables, mapping) = self.tables.selected(types, methods);
        move_extras(&mut self.extras, Table::Types, types);
        move_extras(&mut self.extras, Table::Methods, methods);
        let mut tree = ContextTree::default();
        let places = tree.adopt(&self.contexts, &mapping.methods, |context| contexts[context.index()]);
        self.sections.rename(|context| places[context.index()], |class| mapping.types[class.index()]);
        (self.tables, self.contexts) = (tables, tree);
    }

    /// Changes the version to write.
    ///
    /// # Errors
    ///
    /// Usage for a version that is not 1.0.x or 1.1.x; would lose for 1.0.x
    /// when there are instance-of profiles.
    pub fn convert_to(&mut self, version: Version) -> Result<()> {
        if version < Version::V1_0 || version.major > 1 || version.minor > 1 {
            return Err(Error::usage(format!(
                "cannot write version {version}; supported versions are 1.0.0 and 1.1.0"
            )));
        }
        if version < Version::V1_1 && self.has_instanceof() {
            if !self.sections.instanceofs.is_empty() {
                let detail = format!("version {version} cannot store instance-of profiles");
                return Err(Error::new(ErrorKind::WouldLose { detail }).with_hint(Hint::ChooseSections));
            }
            self.remove_section(SectionKind::Instanceof);
        }
        self.version = version;
        Ok(())
    }
}

/// Selects methods by package or by pattern.
#[derive(Debug, Clone, Default)]
pub struct MethodFilter {
    only: Vec<MethodPattern>,
    exclude: Vec<MethodPattern>,
}

impl MethodFilter {
    /// Methods that match one of `only` (all, if there are none) and none of `exclude`.
    ///
    /// # Errors
    ///
    /// Usage for an invalid pattern.
    pub fn new(only: &[String], exclude: &[String]) -> Result<Self> {
        let parse = |texts: &[String]| texts.iter().map(|text| MethodPattern::parse(text)).collect::<Result<_>>();
        Ok(Self { only: parse(only)?, exclude: parse(exclude)? })
    }

    /// Whether nothing is filtered.
    pub fn is_empty(&self) -> bool {
        self.only.is_empty() && self.exclude.is_empty()
    }

    /// Returns true if a method is selected, given its readable name.
    pub fn matches(&self, method: &str) -> bool {
        (self.only.is_empty() || self.only.iter().any(|pattern| pattern.matches(method)))
            && !self.exclude.iter().any(|pattern| pattern.matches(method))
    }

    /// Keeps entries whose innermost method is selected. Monitors belong to no method, and stay only if methods are not
    /// restricted.
    pub fn apply(&self, document: &mut Document) {
        let wanted: BTreeSet<MethodHandle> =
            document.tables.methods().filter(|method| self.matches(&document.tables.human_name(*method))).collect();
        let monitors_stay = self.only.is_empty();
        for kind in SectionKind::EACH {
            document.retain_entries(kind, |_, contexts, context, _| match contexts.leaf(context) {
                Some(leaf) => wanted.contains(&leaf.method),
                None => monitors_stay,
            });
        }
    }
}

/// The canonical form of a document. Several shapes of one branch are resolved.
pub fn canonical(document: &Document) -> Document {
    canonical_with(document.clone(), BranchClash::Heavier)
}

/// Like [`canonical`], with a policy for contradictory branch lists: [`Keep`](BranchClash::Keep) keeps every shape.
pub fn canonical_with(document: Document, branch_clash: BranchClash) -> Document {
    let mut options = MergeOptions::default();
    // Failing is for merges of several files.
    options.branch_clash = if branch_clash == BranchClash::Error { BranchClash::Heavier } else { branch_clash };
    let mut merger = Merger::new(options);
    let added = merger.add_owned(document);
    let sum = added.and_then(|()| merger.finish_with_report());
    let (sum, _) = sum.expect("one document merges, no clash is an error, and nothing cancels it");
    sorted(&sum).0
}

/// Everything in order, numbered from 0, and where its types and methods are now. The contexts of each section must be
/// distinct, unless shapes are kept apart.
pub(crate) fn sorted(document: &Document) -> (Document, Mapping) {
    let mut sorted = Document::new();
    let mapping = sort_tables(&document.tables, &mut sorted.tables);
    let Mapping { types, methods, .. } = &mapping;
    let frames = |context: ContextHandle| {
        document.contexts.frames(context).map(|frame| (methods[frame.method.index()], frame.bci))
    };
    let mut adoption = Adoption::new(&document.contexts, methods);
    for kind in SectionKind::EACH {
        let leaf = |context| document.contexts.leaf(context).map(|frame| (methods[frame.method.index()], frame.bci));
        let entries = document.sections.entries(kind).map(|(context, records)| (leaf(context), context, records));
        let mut entries: Vec<_> = entries.collect();
        // Stable: shapes kept apart stay in the order of their weight.
        entries.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| frames(a.1).cmp(frames(b.1))));
        for (_, context, records) in entries {
            let context = sorted.contexts.adopt_one(context, &mut adoption);
            push_sorted(&mut sorted.sections, kind, context, records, types);
        }
    }
    sorted.version = sorted.lowest_version();
    (sorted, mapping)
}

/// Fills `sorted`. Returns where each old type and method is in it.
fn sort_tables(tables: &Tables, sorted: &mut Tables) -> Mapping {
    let mut order: Vec<TypeHandle> = tables.types().collect();
    order.sort_by(|a, b| tables.type_name(*a).cmp(tables.type_name(*b)));
    let types = sorted.adopt_types(tables, order, ImportMode::Renumbered);
    // Types are in order of name now: comparing their positions compares names.
    let parts = |method| tables.signature(method).iter().map(|part| types[part.index()]);
    let mut order: Vec<(Option<TypeHandle>, &[u8], MethodHandle)> =
        tables.methods().map(|method| (parts(method).next(), tables.method_name(method), method)).collect();
    order.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| parts(a.2).skip(1).cmp(parts(b.2).skip(1))));
    let order = order.into_iter().map(|(_, _, method)| method);
    let methods = sorted.adopt_methods(tables, order, ImportMode::Renumbered, &types);
    Mapping { types, methods, same: false, renumbered: true }
}

fn push_sorted(
    sorted: &mut Sections,
    kind: SectionKind,
    context: ContextHandle,
    records: Records<'_>,
    types: &[TypeHandle],
) {
    match records {
        Records::Count(_) => sorted.push(kind, context, records),
        Records::Branches(rows) => {
            let mut rows = rows.to_vec();
            sort_canonically(&mut rows);
            sorted.push(kind, context, Records::Branches(&rows));
        }
        Records::Types(pairs) => {
            let renamed = |pair: &TypeCount| TypeCount { class: types[pair.class.index()], ..*pair };
            let mut pairs: Vec<TypeCount> = pairs.iter().map(renamed).collect();
            pairs.sort_by_key(|pair| pair.class);
            sorted.push(kind, context, Records::Types(&pairs));
        }
    }
}

/// How a file is repaired.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RepairOptions {
    /// How the damaged file is read; errors are accepted in any case.
    pub read: ReadOptions,
    /// Drop branch entries all of whose counts are 0. Default: `false`.
    pub drop_never_executed: bool,
}

/// A valid document, and how it was repaired.
#[derive(Debug)]
#[non_exhaustive]
pub struct Repaired {
    /// The valid content.
    pub document: Document,
    /// The faults, and their repairs.
    pub findings: Findings,
    /// How far the damaged file was usable.
    pub verdict: Verdict,
    /// Members that are not part of the format and were dropped.
    pub dropped_members: Vec<String>,
}

/// Repairs a file, which may be compressed or truncated.
///
/// # Errors
///
/// The finding that makes the file unusable.
pub fn repair_from(stream: impl Read, options: &RepairOptions) -> Result<Repaired> {
    let read = ReadOptions { accept_errors: true, find_duplicates: true, ..options.read.clone() };
    let examination = Reader::new(stream, &read).examine();
    let ReadReport { document, version, mut findings, verdict, .. } = examination;
    let Some(mut document) = document else {
        return Err(refusal(findings.worst(), version.as_deref()));
    };
    drop_invalid_entries(&mut document, &mut findings, options);
    let (document, dropped_members) = unify(&document, &mut findings)?;
    Ok(Repaired { document, findings, verdict, dropped_members })
}

/// Drops entries that parse but are impossible or empty.
fn drop_invalid_entries(document: &mut Document, findings: &mut Findings, options: &RepairOptions) {
    for kind in SectionKind::EACH {
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
    // Contradictory branch lists are not damage.
    options.branch_clash = BranchClash::Keep;
    let mut merger = Merger::new(options);
    merger.add(document, 1)?;
    let (sum, report) = merger.finish_with_report()?;
    let gone = |before: usize, after: usize| before.saturating_sub(after) as u64;
    let types = gone(document.tables.types_count(), sum.tables.types_count());
    let methods = gone(document.tables.methods_count(), sum.tables.methods_count());
    let type_code = if findings.has(Code::DuplicateTypeName) { Code::DuplicateTypeName } else { Code::RepeatedType };
    let method_code = if findings.has(Code::DuplicateMethod) { Code::DuplicateMethod } else { Code::RepeatedMethod };
    findings.repaired(type_code, "unified", "types", types);
    findings.repaired(method_code, "unified", "methods", methods);
    for kind in SectionKind::EACH {
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
    use crate::iprof::{ReadOptions, WriteOptions, Writer};

    const FILE: &str = concat!(
        r#"{"version":"1.1.0","types":[{"id":1,"name":"app.Main"},{"id":2,"name":"void"},{"id":3,"name":"java.util.Map$Entry"},{"id":4,"name":"unused.T"}],"#,
        r#""methods":[{"id":5,"name":"run","signature":[1,2]},{"id":6,"name":"idle","signature":[4,2]},{"id":7,"name":"get","signature":[3,1],"k":1}],"#,
        r#""callCountProfiles":[{"ctx":"5:0","records":[1]},{"ctx":"7:0<5:2","records":[2],"x":9}],"#,
        r#""virtualInvokeProfiles":[{"ctx":"5:3","records":[]},{"ctx":"5:4","records":[3,1],"y":8}],"mine":[5],"instanceofProfiles":[]}"#
    );

    fn document() -> Document {
        Reader::from_bytes(FILE.as_bytes(), &ReadOptions::default()).read().unwrap().0
    }

    fn text(document: &Document) -> String {
        String::from_utf8(Writer::new(&WriteOptions::default()).to_bytes(document)).unwrap()
    }

    #[test]
    fn pruning_keeps_used_entries_and_their_ids() {
        let mut pruned = document();
        assert_eq!(pruned.prune(), ["mine"]);
        let expected = FILE
            .replace(r#",{"id":4,"name":"unused.T"}"#, "")
            .replace(r#"{"id":6,"name":"idle","signature":[4,2]},"#, "")
            .replace(r#""mine":[5],"#, "");
        assert_eq!(text(&pruned), expected);
    }

    #[test]
    fn filters_look_at_the_innermost_method() {
        let filtered = |only: &[&str], exclude: &[&str]| {
            let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
            let mut document = document();
            MethodFilter::new(&owned(only), &owned(exclude)).unwrap().apply(&mut document);
            (document.sections.call_counts.len(), document.sections.virtual_invokes.len())
        };
        assert_eq!(filtered(&["app"], &[]), (1, 2));
        assert_eq!(filtered(&["java.util.*"], &[]), (1, 0));
        assert_eq!(filtered(&["java.util.Map"], &[]), (1, 0));
        assert_eq!(filtered(&["jav"], &[]), (0, 0));
        assert_eq!(filtered(&[], &["app.Main.run"]), (1, 0));
        assert_eq!(filtered(&["/get\\(\\)$/"], &[]), (1, 0));
        assert!(MethodFilter::new(&["*".to_string()], &[]).is_err());
    }

    #[test]
    fn members_follow_their_entries() {
        let mut changed = document();
        changed.retain_entries(SectionKind::VirtualInvoke, |_, _, _, records| !records.is_empty());
        MethodFilter::new(&[], &["app.Main.run".to_string()]).unwrap().apply(&mut changed);
        assert!(text(&changed).contains(r#""callCountProfiles":[{"ctx":"7:0<5:2","records":[2],"x":9}]"#));
        let mut emptied = document();
        emptied.retain_entries(SectionKind::VirtualInvoke, |_, _, _, records| !records.is_empty());
        assert!(text(&emptied).contains(r#""virtualInvokeProfiles":[{"ctx":"5:4","records":[3,1],"y":8}]"#));
    }

    #[test]
    fn versions_go_down_only_where_nothing_is_lost() {
        let mut plain = document();
        plain.convert_to(Version::V1_0).unwrap();
        assert!(text(&plain).starts_with(r#"{"version":"1.0.0""#) && !text(&plain).contains("instanceof"));
        let mut with = document();
        with.sections.instanceofs.push(ContextHandle::from_index(1), &[]);
        assert!(with.convert_to(Version::V1_0).unwrap_err().to_string().contains("instance-of"));
        assert!(with.convert_to(Version { major: 2, minor: 0, patch: 0 }).is_err());
    }

    fn canonical_text(text: &str) -> String {
        let (document, _) = Reader::from_bytes(text.as_bytes(), &ReadOptions::default()).read().unwrap();
        String::from_utf8(Writer::new(&WriteOptions::default()).to_bytes(&canonical(&document))).unwrap()
    }

    #[test]
    fn equal_content_gives_equal_bytes_whatever_the_ids() {
        let one = r#"{"version":"0.4.0","types":[{"id":4,"name":"b.B"},{"id":9,"name":"a.A"}],"methods":[{"id":7,"name":"m","signature":[4,9]},{"id":2,"name":"m","signature":[9,9]}],"samplingProfiles":[],"x":1,"conditionalProfiles":[{"ctx":"7:3<2:1","records":[9,1,5,4,0,6]}],"callCountProfiles":[{"ctx":"7:0","records":[1]},{"ctx":"2:0","records":[2]},{"ctx":"7:0","records":[3]}]}"#;
        let other = r#"{"types":[{"id":1,"name":"a.A"},{"id":2,"name":"b.B"}],"methods":[{"id":0,"name":"m","signature":[1,1]},{"id":1,"name":"m","signature":[2,1]}],"callCountProfiles":[{"ctx":"0:0","records":[2]},{"ctx":"1:0","records":[4]}],"conditionalProfiles":[{"ctx":"1:3<0:1","records":[4,0,6,9,1,5]}],"version":"1.1.0"}"#;
        let expected = r#"{"version":"1.0.0","types":[{"id":0,"name":"a.A"},{"id":1,"name":"b.B"}],"methods":[{"id":0,"name":"m","signature":[0,0]},{"id":1,"name":"m","signature":[1,0]}],"callCountProfiles":[{"ctx":"0:0","records":[2]},{"ctx":"1:0","records":[4]}],"conditionalProfiles":[{"ctx":"1:3<0:1","records":[4,0,6,9,1,5]}]}"#;
        assert_eq!(canonical_text(one), expected);
        assert_eq!(canonical_text(other), expected);
        assert_eq!(canonical_text(expected), expected);
    }

    fn repaired(text: &str) -> (String, Vec<String>) {
        let repaired = repair_from(text.as_bytes(), &RepairOptions::default()).unwrap();
        let bytes = Writer::new(&WriteOptions::default()).to_bytes(&repaired.document);
        let report = Reader::new(&bytes[..], &ReadOptions::default()).check();
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
