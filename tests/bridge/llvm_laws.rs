//! Laws L2, L4, L5 and L6, about LLVM's own profiles.

use super::documents::any_document;
use super::helpers::{
    indexed_bytes, j, j_with_losses, l, merge_documents, merge_profiles, of_one_kind, parse, text_of, without_extension,
};
use super::profiles::any_profile;
use profbridge::bridge::{Parts, ToIprofOptions, ToLlvmOptions, join, split, to_iprof, to_llvm};
use profbridge::instr::{FunctionRecord, LossKind, Profile, ProfileKind};
use profbridge::iprof::{self, Document};
use proptest::prelude::*;

/// `⊕` of documents, some with LLVM profiles.
fn merge_parts(documents: &[Document]) -> Document {
    let parts: Vec<Parts> = documents.iter().map(|document| split(document, None).unwrap().0).collect();
    let rest = merge_documents(parts.iter().map(|parts| &parts.rest));
    let profile = merge_profiles(parts.iter().map(|parts| &parts.profile));
    join(Parts { rest, profile }, &ToIprofOptions::default()).unwrap().0
}

fn validated(document: &Document) -> Document {
    let text = text_of(document);
    let mut options = iprof::ReadOptions::default();
    options.accept_errors = true;
    let (again, findings) = iprof::Reader::from_bytes(text.as_bytes(), &options).read().unwrap();
    let errors: Vec<_> = findings.iter().filter(|finding| finding.level == iprof::Level::Error).collect();
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    again
}

/// Profiles of LLVM, of the bridge, and of both.
fn both_kinds() -> impl Strategy<Value = Profile> {
    // Entry-only coverage cannot be merged with profiles whose entry counter comes first.
    let mergeable = || {
        any_profile()
            .prop_map(|profile| Profile { kind: profile.kind.without(ProfileKind::FUNCTION_ENTRY_ONLY), ..profile })
    };
    prop_oneof![
        2 => mergeable(),
        1 => any_document().prop_map(|document| l(&document)),
        2 => (mergeable(), any_document()).prop_map(|(profile, document)| merge_profiles(&of_one_kind([profile, l(&document)]))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn an_llvm_profile_comes_back_byte_for_byte(profile in any_profile()) {
        // The writer sorts value sites like a merge, so merge the original as well.
        let profile = merge_profiles([&profile]);
        let document = validated(&j(&profile));
        let back = l(&document);
        for version in [4, 9, 12, 13] {
            prop_assert_eq!(indexed_bytes(&back, version), indexed_bytes(&profile, version));
        }
    }

    #[test]
    fn a_mixed_profile_comes_back_as_the_same_document(profile in both_kinds()) {
        let document = validated(&j(&profile));
        let again = j(&l(&document));
        prop_assert_eq!(text_of(&again), text_of(&document));
    }

    #[test]
    fn merging_documents_is_merging_profiles(profiles in [both_kinds(), both_kinds(), both_kinds()], count in 1..4usize) {
        let profiles = &of_one_kind(profiles)[..count];
        let documents: Vec<Document> = profiles.iter().map(j).collect();
        let expected = j(&merge_profiles(profiles));
        let merged = merge_parts(&documents);
        // The order of records with the same name depends on the inputs.
        prop_assert_eq!(without_extension(&merged), without_extension(&expected));
        prop_assert_eq!(sorted_records(&l(&merged)), sorted_records(&l(&expected)));
    }

    #[test]
    fn counts_are_never_lost_silently(profile in any_profile()) {
        let mut options = ToIprofOptions::default();
        options.extension = false;
        let (document, losses) = to_iprof(&profile, &options).unwrap();
        validated(&document);
        let records: u64 = profile.functions.records_len() as u64;
        let hashes = losses.iter().find(|loss| loss.kind == LossKind::FuncHashes).map_or(0, |loss| loss.count);
        prop_assert_eq!(hashes, records);
        // The document can still be converted to LLVM, as methods.
        to_llvm(&document, &ToLlvmOptions::default()).unwrap();
        prop_assert!(j_with_losses(&profile).1.is_empty());
    }

    #[test]
    fn counters_can_be_seen_as_branches(profile in both_kinds()) {
        let mut options = ToIprofOptions::default();
        options.counters_as_branches = true;
        let document = validated(&to_iprof(&profile, &options).unwrap().0);
        let (back, _) = to_llvm(&document, &ToLlvmOptions::default()).unwrap();
        prop_assert_eq!(sorted_records(&back), sorted_records(&l(&j(&profile))));
    }
}

type Records = Vec<(Vec<u8>, Vec<FunctionRecord>)>;

fn sorted_records(profile: &Profile) -> (ProfileKind, Records) {
    let mut functions: Records = profile
        .functions
        .iter()
        .map(|function| {
            let mut records: Vec<FunctionRecord> = function.records().map(|record| record.to_record()).collect();
            records.sort_by_key(|record| record.func_hash);
            (function.name().to_vec(), records)
        })
        .filter(|(_, records)| !records.is_empty())
        .collect();
    functions.sort_by(|a, b| a.0.cmp(&b.0));
    (profile.kind, functions)
}

fn one_record(kind: ProfileKind, name: &[u8], record: FunctionRecord) -> Profile {
    let mut profile = Profile { kind, ..Profile::default() };
    let function = profile.functions.intern(name);
    profile.functions.push_record(function, &record);
    profile
}

fn approximate(profile: &Profile) -> String {
    let document = j(profile);
    let json: serde_json::Value = serde_json::from_slice(document.member(b"llvm").unwrap()).unwrap();
    json["approximate"]["callCountProfiles"].as_str().unwrap_or("exact").to_string()
}

#[test]
fn call_counts_are_marked_where_they_are_not_quite_that() {
    let profile = |kind| one_record(kind, b"f", FunctionRecord::new(1, vec![3, 4]));
    assert_eq!(approximate(&profile(ProfileKind::NONE)), "exact");
    assert_eq!(approximate(&profile(ProfileKind::IR | ProfileKind::ENTRY_FIRST)), "exact");
    assert!(approximate(&profile(ProfileKind::IR)).contains("not entry-first"));
    assert!(approximate(&profile(ProfileKind::BYTE_COVERAGE)).contains("at least once"));
    let large = one_record(ProfileKind::NONE, b"f", FunctionRecord::new(1, vec![1 << 63]));
    assert!(approximate(&large).contains("1 counts above 2^63-1"));
}

#[test]
fn context_sensitive_and_marked_records_stay_out_of_the_sections() {
    let kind = ProfileKind::IR | ProfileKind::CONTEXT_SENSITIVE;
    for record in [FunctionRecord::new((1 << 60) | 1, vec![3]), FunctionRecord::new(1, vec![u64::MAX, 4])] {
        let document = j(&one_record(kind, b"f", record));
        assert!(document.sections.is_empty());
        assert_eq!(document.tables.methods_count(), 1);
    }
}

#[test]
fn a_record_whose_place_is_taken_stays_apart() {
    // The same method, as an LLVM function and as a method of an iprof file.
    let ours = parse(
        concat!(
            r#"{"version":"1.0.0","types":[{"id":0,"name":"<global>"},{"id":1,"name":"?"}],"#,
            r#""methods":[{"id":0,"name":"main","signature":[0,1]}],"callCountProfiles":[{"ctx":"0:0","records":[5]}]}"#
        )
        .as_bytes(),
    );
    let theirs = one_record(ProfileKind::NONE, b"main", FunctionRecord::new(7, vec![2, 9]));
    let both = merge_profiles(&of_one_kind([theirs.clone(), l(&ours)]));
    let document = j(&both);
    assert_eq!(document.sections.call_counts[0].count, 7);
    assert_eq!(sorted_records(&l(&document)), sorted_records(&both));
    let merged = merge_parts(&[document, ours, j(&theirs)]);
    assert_eq!(merged.sections.call_counts[0].count, 14);
}
