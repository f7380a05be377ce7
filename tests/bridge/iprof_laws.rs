//! Laws L1 and L3: an iprof document survives the conversion to LLVM and back, and a merge as LLVM equals a merge as
//! iprof.

use super::documents::any_document;
use super::helpers::{
    canon, indexed_bytes, j, l, merge_documents, merge_profiles, parse, read_profile, text_bytes, text_of,
};
use profbridge::bridge::{ToIprofOptions, ToLlvmOptions, to_iprof, to_llvm};
use profbridge::instr::LossKind;
use profbridge::iprof::{self, BranchClash, Document, SectionKind};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_document_comes_back_canonical(document in any_document()) {
        let expected = canon(&document);
        let profile = l(&document);
        prop_assert_eq!(text_of(&j(&profile)), &expected[..]);
        // Also through files.
        prop_assert_eq!(text_of(&j(&read_profile(&indexed_bytes(&profile, 12)))), &expected[..]);
        prop_assert_eq!(text_of(&j(&read_profile(&text_bytes(&profile)))), &expected[..]);
    }

    #[test]
    fn a_document_comes_back_from_older_versions(document in any_document(), version in 4u32..12) {
        let mut options = ToLlvmOptions::default();
        options.indexed_version = version;
        let (profile, _) = to_llvm(&document, &options).unwrap();
        let profile = read_profile(&indexed_bytes(&profile, version));
        prop_assert_eq!(text_of(&j(&profile)), canon(&document));
    }

    #[test]
    fn the_profile_depends_on_content_alone(document in any_document()) {
        let again = parse(canon(&document).as_bytes());
        let keep = iprof::canonical_with(document.clone(), BranchClash::Keep);
        prop_assert_eq!(indexed_bytes(&l(&document), 12), indexed_bytes(&l(&keep), 12));
        prop_assert_eq!(canon(&again), canon(&document));
    }

    #[test]
    fn merging_as_llvm_is_merging_as_iprof(documents in prop::collection::vec(any_document(), 1..5)) {
        let expected = canon(&merge_documents(&documents));
        let profiles: Vec<_> = documents.iter().map(l).collect();
        let merged = merge_profiles(&profiles);
        prop_assert_eq!(text_of(&j(&merged)), &expected[..]);
        // In stages, in a different order, and through files.
        let (head, tail) = profiles.split_at(profiles.len() / 2);
        let staged = merge_profiles([&merge_profiles(tail.iter().rev()), &merge_profiles(head)]);
        prop_assert_eq!(text_of(&j(&read_profile(&indexed_bytes(&staged, 12)))), &expected[..]);
        prop_assert_eq!(text_of(&j(&read_profile(&text_bytes(&staged)))), &expected[..]);
    }

    #[test]
    fn shapes_kept_apart_merge_in_any_stages(documents in prop::collection::vec(any_document(), 2..4)) {
        let mut options = ToIprofOptions::default();
        options.branch_clash = BranchClash::Keep;
        let keep = |profile: &_| to_iprof(profile, &options).unwrap().0;
        let at_once = keep(&merge_profiles(&documents.iter().map(l).collect::<Vec<_>>()));
        let staged = documents.iter().skip(1).fold(documents[0].clone(), |sum, document| {
            keep(&merge_profiles([&l(&sum), &l(document)]))
        });
        prop_assert_eq!(text_of(&staged), text_of(&at_once));
    }

    #[test]
    fn sections_can_cross_alone(document in any_document()) {
        let counts: Vec<SectionKind> = SectionKind::ALL.iter().copied().filter(|k| *k != SectionKind::Sampling).collect();
        for sections in [counts, vec![SectionKind::Sampling]] {
            let mut options = ToLlvmOptions::default();
            options.sections.clone_from(&sections);
            let back = j(&to_llvm(&document, &options).unwrap().0);
            let full = iprof::canonical(&document);
            for kind in SectionKind::ALL.iter().copied() {
                let expected = if sections.contains(&kind) { full.sections.entries_count(kind) } else { 0 };
                prop_assert_eq!(back.sections.entries_count(kind), expected);
            }
        }
    }
}

fn fibonacci() -> Document {
    parse(include_bytes!("fibonacci.iprof"))
}

#[test]
fn the_example_of_the_documentation() {
    let document = fibonacci();
    let profile = l(&document);
    assert_eq!(text_of(&j(&profile)), canon(&document));
    let names: Vec<String> =
        profile.functions.iter().map(|function| String::from_utf8_lossy(function.name()).into_owned()).collect();
    let expected = "[app.Fibonacci#main(java.lang.String[])void:12 @ app.Fibonacci#fib(int)int] {calls 2?7,14}";
    assert!(names.iter().any(|name| name == expected), "{names:#?}");
}

#[test]
fn the_empty_document_needs_no_extension() {
    let document = Document::new();
    assert_eq!(text_of(&j(&l(&document))), canon(&document));
}

#[test]
fn unsupported_data_is_counted() {
    let mut document = fibonacci();
    document.set_member(b"ceConditionalProfilesV2", b"[]");
    document.set_entry_member(iprof::Table::Types, 0, b"note", b"1");
    let (_, losses) = to_llvm(&document, &ToLlvmOptions::default()).unwrap();
    let words: Vec<String> = losses.iter().map(ToString::to_string).collect();
    assert_eq!(words, ["1 section outside the format", "1 member of an entry outside the format"]);
}

#[test]
fn types_beyond_the_limit_of_a_site_are_counted() {
    let mut document = Document::new();
    let types: Vec<_> = (0..300).map(|at| document.add_type(format!("app.T{at}").as_bytes())).collect();
    let method = document.add_method(b"m", &[types[0], types[0]]);
    let context = document.add_context(&[iprof::Frame { method, bci: 3 }]);
    let pairs: Vec<iprof::TypeCount> =
        types.iter().zip(1..).map(|(class, count)| iprof::TypeCount { class: *class, count }).collect();
    document.sections.virtual_invokes.push(context, &pairs);
    document.sections.monitors.push(iprof::ContextHandle::ROOT, &pairs);
    let (profile, losses) = to_llvm(&document, &ToLlvmOptions::default()).unwrap();
    assert_eq!(
        losses.iter().map(|loss| (loss.kind, loss.count)).collect::<Vec<_>>(),
        [(LossKind::ValuesBeyondLimit, 45)]
    );
    let (back, losses) = to_iprof(&profile, &ToIprofOptions::default()).unwrap();
    assert_eq!(losses.iter().map(|loss| (loss.kind, loss.count)).collect::<Vec<_>>(), [(LossKind::FullSites, 1)]);
    let site = back.sections.virtual_invokes.entry(0).1;
    assert_eq!(site.len(), 255);
    assert_eq!(site.iter().map(|pair| pair.count).min(), Some(46), "the heaviest stay");
    assert_eq!(back.sections.monitors.entry(0).1.len(), 300);
}
