//! Merging files of both families.

use super::documents::any_document;
use super::helpers::{indexed_bytes, j, l, merge_profiles, of_kind, of_one_kind, text_of, without_extension};
use super::profiles::any_profile;
use profbridge::bridge::{ToIprofOptions, ToLlvmOptions};
use profbridge::families::merge::iprof::IprofMergeOptions;
use profbridge::families::merge::mixed::{MixedSum, merge_mixed};
use profbridge::input::WeightedInput;
use profbridge::instr::{Profile, ProfileKind};
use profbridge::iprof::Document;
use proptest::prelude::*;
use std::path::Path;

/// Writes one file of each and merges them.
fn merge_both(folder: &Path, profile: &Profile, documents: &[Document], weight: u64) -> MixedSum {
    let mut inputs = vec![WeightedInput::new(folder.join("a.profdata"))];
    std::fs::write(&inputs[0].path, indexed_bytes(profile, 12)).expect("the folder can be written");
    for (at, document) in documents.iter().enumerate() {
        let path = folder.join(format!("{at}.iprof"));
        std::fs::write(&path, text_of(document)).expect("the folder can be written");
        inputs.push(WeightedInput::new(path));
    }
    inputs.iter_mut().for_each(|input| input.weight = weight.try_into().expect("no test multiplies by 0"));
    let mut options = IprofMergeOptions::default();
    options.llvm.keep_vtable_names = true;
    merge_mixed(&inputs, &options, &mut |_, _| {}).expect("inputs that go together")
}

fn mergeable() -> impl Strategy<Value = Profile> {
    any_profile().prop_map(|profile| {
        let kind = profile.kind.without(ProfileKind::FUNCTION_ENTRY_ONLY | ProfileKind::BYTE_COVERAGE);
        merge_profiles([&Profile { kind, memprof: None, ..profile }])
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn both_families_meet_in_either(profile in mergeable(), document in any_document(), other in mergeable()) {
        let [profile, other] = of_one_kind([profile, other]);
        let folder = tempfile::tempdir().unwrap();
        let documents = [document, j(&other)];
        let sum = || merge_both(folder.path(), &profile, &documents, 1);
        let in_iprof = sum().into_iprof(&ToIprofOptions::default()).unwrap().0;
        let in_llvm = sum().into_llvm(&ToLlvmOptions::default()).unwrap().0;
        prop_assert_eq!(text_of(&j(&in_llvm)), text_of(&in_iprof));
        // Records of the bridge get the kind of LLVM's records.
        let direct = merge_profiles(&of_kind(profile.kind, [profile, l(&documents[0]), other]));
        // Not `l(&in_iprof) == in_llvm`: a type that also occurs in a signature does not need its own record.
        prop_assert_eq!(text_of(&j(&l(&in_iprof))), text_of(&in_iprof));
        prop_assert_eq!(without_extension(&j(&direct)), without_extension(&in_iprof));
    }

    #[test]
    fn weights_reach_every_count_of_a_document(document in any_document()) {
        let folder = tempfile::tempdir().unwrap();
        let empty = Profile::default();
        let twice = merge_both(folder.path(), &empty, std::slice::from_ref(&document), 2);
        let both = merge_both(folder.path(), &empty, &[document.clone(), document], 1);
        let text = |sum: MixedSum| text_of(&sum.into_iprof(&ToIprofOptions::default()).unwrap().0);
        prop_assert_eq!(text(twice), text(both));
    }
}
