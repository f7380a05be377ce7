//! The canonical form: what two files of one content have in common.
//!
//! Types stand in order of name, methods of identity, contexts of their
//! frames, all numbered from 0; equal contexts are added up, branch rows stand
//! in order of (index, BCI), types of a site in order of name; empty sections
//! and what is not part of the format are left out; the version is the lowest
//! that has every section used.

use super::context::{ContextHandle, Frame};
use super::document::Document;
use super::merge::branches::sort_canonically;
use super::merge::{BranchClash, MergeOptions, Merger, SectionWeights, Weight};
use super::sections::{BranchRow, CountEntry, RowSection, SectionKind, TypeCount};
use super::tables::{MethodHandle, Tables, TypeHandle};

/// The canonical form of a document. Several shapes of one branch are resolved.
pub fn canonical(document: &Document) -> Document {
    canonical_with(document, BranchClash::Heavier)
}

/// As [`canonical`], with a choice of what to do about clashing branch lists:
/// [`Keep`](BranchClash::Keep) keeps every shape apart.
pub fn canonical_with(document: &Document, branch_clash: BranchClash) -> Document {
    let mut options = MergeOptions::default();
    // Failing is for merges of several files.
    options.branch_clash = if branch_clash == BranchClash::Error { BranchClash::Heavier } else { branch_clash };
    let mut merger = Merger::new(options);
    merger.add(document, &SectionWeights::uniform(Weight::ONE));
    let (sum, _) = merger.finish().expect("one document merges, and no clash is an error");
    sorted(&sum)
}

/// Everything in order, numbered from 0.
fn sorted(document: &Document) -> Document {
    let mut sorted = Document::new();
    let (types, methods) = sort_tables(&document.tables, &mut sorted.tables);
    let order = ContextOrder { document, methods: &methods };
    for kind in SectionKind::ALL {
        let mut entries: Vec<usize> = (0..document.sections.entries_count(kind)).collect();
        let context = |at: usize| document.sections.entry(kind, at).0;
        // Stable: shapes kept apart stay in the order of their weight.
        entries.sort_by(|a, b| order.frames(context(*a)).cmp(order.frames(context(*b))));
        for at in entries {
            let frames: Vec<Frame> = order
                .frames(context(at))
                .map(|(method, bci)| Frame { method: MethodHandle::from_index(method), bci })
                .collect();
            let place = sorted.contexts.add(&frames);
            copy_entry(document, kind, at, place, &types, &mut sorted);
        }
    }
    sorted.version = sorted.lowest_version();
    sorted
}

/// Fills `sorted` and says where each old type and method is in it.
fn sort_tables(tables: &Tables, sorted: &mut Tables) -> (Vec<TypeHandle>, Vec<usize>) {
    let mut types: Vec<TypeHandle> = tables.types().collect();
    types.sort_by(|a, b| tables.type_name(*a).cmp(tables.type_name(*b)));
    let mut new_types = vec![TypeHandle::from_index(0); types.len()];
    for handle in types {
        new_types[handle.index()] = sorted.add_type(tables.type_name(handle));
    }
    // Types are in order of name now: comparing their positions compares names.
    let mut methods: Vec<MethodHandle> = tables.methods().collect();
    methods.sort_by(|a, b| {
        let part = |handle: &MethodHandle, at: usize| tables.signature(*handle).get(at).map(|t| new_types[t.index()]);
        let rest = |handle: &MethodHandle| tables.signature(*handle).iter().skip(1).map(|t| new_types[t.index()]);
        part(a, 0)
            .cmp(&part(b, 0))
            .then_with(|| tables.method_name(*a).cmp(tables.method_name(*b)))
            .then_with(|| rest(a).cmp(rest(b)))
    });
    let mut new_methods = vec![0; methods.len()];
    for handle in methods {
        let signature: Vec<TypeHandle> = tables.signature(handle).iter().map(|t| new_types[t.index()]).collect();
        new_methods[handle.index()] = sorted.add_method(tables.method_name(handle), &signature).index();
    }
    (new_types, new_methods)
}

struct ContextOrder<'a> {
    document: &'a Document,
    methods: &'a [usize],
}

impl ContextOrder<'_> {
    /// The frames with their methods' new positions, innermost first.
    fn frames(&self, context: ContextHandle) -> impl Iterator<Item = (usize, i32)> + '_ {
        self.document.contexts.frames(context).map(|frame| (self.methods[frame.method.index()], frame.bci))
    }
}

fn copy_entry(
    document: &Document,
    kind: SectionKind,
    at: usize,
    context: ContextHandle,
    types: &[TypeHandle],
    sorted: &mut Document,
) {
    let old = &document.sections;
    if let Some(entry) = old.counts(kind).and_then(|entries| entries.get(at)) {
        if let Some(entries) = sorted.sections.counts_mut(kind) {
            entries.push(CountEntry { context, count: entry.count });
        }
    } else if let (Some(section), Some(target)) = (old.types(kind), sorted.sections.types_mut(kind)) {
        let renamed = |pair: &TypeCount| TypeCount { class: types[pair.class.index()], ..*pair };
        let mut pairs: Vec<TypeCount> = section.entry(at).1.iter().map(renamed).collect();
        pairs.sort_by_key(|pair| pair.class);
        target.push(context, &pairs);
    } else {
        push_branches(&mut sorted.sections.conditionals, context, old.conditionals.entry(at).1);
    }
}

fn push_branches(section: &mut RowSection<BranchRow>, context: ContextHandle, rows: &[BranchRow]) {
    let mut rows = rows.to_vec();
    sort_canonically(&mut rows);
    section.push(context, &rows);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iprof::{ReadOptions, WriteOptions, read, write};

    fn canonical_text(text: &str) -> String {
        let (document, _) = read(text.as_bytes(), &ReadOptions::default()).unwrap();
        String::from_utf8(write(&canonical(&document), &WriteOptions::default())).unwrap()
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
}
