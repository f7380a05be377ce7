//! Tests of documents whose sections were edited, but not their extension.

use super::helpers::{j, l, parse, text_of};
use profbridge::bridge::{ToLlvmOptions, Trust, to_llvm};
use profbridge::instr::{FunctionRecord, Profile, ProfileKind, ValueCount, ValueKind, name_ref};

fn profile() -> Profile {
    let mut profile = Profile { kind: ProfileKind::IR | ProfileKind::ENTRY_FIRST, ..Profile::default() };
    let main = profile.functions.intern(b"main");
    let mut record = FunctionRecord::new(7, vec![10, 4]);
    record.sites_mut(ValueKind::IndirectCallTarget).push_site(&[ValueCount { value: name_ref(b"f"), count: 3 }]);
    record.sites_mut(ValueKind::VTableTarget).push_site(&[ValueCount { value: 5, count: 6 }]);
    profile.functions.push_record(main, &record);
    let f = profile.functions.intern(b"f");
    profile.functions.push_record(f, &FunctionRecord::new(8, vec![3]));
    profile
}

/// Returns the document with one string replaced by another.
fn changed(from: &str, to: &str) -> Vec<u8> {
    let text = text_of(&j(&profile()));
    assert_eq!(text.matches(from).count(), 1, "{from} in {text}");
    text.replace(from, to).into_bytes()
}

fn refusal(text: &[u8]) -> String {
    to_llvm(&parse(text), &ToLlvmOptions::default()).unwrap_err().to_string()
}

#[test]
fn a_changed_count_is_found_and_its_context_named() {
    let error = refusal(&changed(r#""records":[10]"#, r#""records":[11]"#));
    assert!(error.contains("callCountProfiles at <global>#main()?:0 has 11, the extension has 10"), "{error}");
    let error = refusal(&changed(r#""records":[2,6]"#, r#""records":[2,60]"#));
    assert!(error.contains("virtualInvokeProfiles at <global>#main()?:0 has (60), the extension has (6)"), "{error}");
    let error = refusal(&changed(r#"{"ctx":"0:0","records":[3]},"#, ""));
    assert!(error.contains("callCountProfiles at <global>#f()?:0 has nothing, the extension has 3"), "{error}");
    let error = refusal(&changed(
        r#""virtualInvokeMethodProfiles":[{"ctx":"1:0","records":[0,3]}]"#,
        r#""virtualInvokeMethodProfiles":[{"ctx":"1:0","records":[1,3]}]"#,
    ));
    assert!(
        error.contains("virtualInvokeMethodProfiles at <global>#main()?:0 has (3), the extension has the same counts"),
        "{error}"
    );
}

#[test]
fn a_changed_type_is_found() {
    let error = refusal(&changed("?0000000000000005", "?0000000000000006"));
    assert!(error.contains("virtualInvokeProfiles at <global>#main()?:0"), "{error}");
}

#[test]
fn counts_unknown_to_llvm_are_not_a_contradiction() {
    let section =
        r#""samplingProfiles":[{"ctx":"1:4","records":[8]},{"ctx":"0:1<1:2","records":[9]}],"callCountProfiles""#;
    let document = parse(&changed(r#""callCountProfiles""#, section));
    let (back, losses) = to_llvm(&document, &ToLlvmOptions::default()).unwrap();
    assert!(losses.is_empty());
    assert!(back.functions.find(b"[<global>#main()?:2 @ <global>#f()?:1]").is_some());
    assert_eq!(text_of(&j(&back)).matches("samplingProfiles").count(), 1);
}

#[test]
fn whoever_is_trusted_is_believed() {
    let text = changed(r#""records":[10]"#, r#""records":[11]"#);
    let document = parse(&text);
    let trusting = |trust| {
        let mut options = ToLlvmOptions::default();
        options.trust = Some(trust);
        to_llvm(&document, &options).unwrap()
    };
    let (extension, losses) = trusting(Trust::Extension);
    assert!(losses.is_empty());
    let main = extension.functions.find(b"main").unwrap();
    assert_eq!(main.records().next().unwrap().counters, [10, 4]);
    let (standard, losses) = trusting(Trust::Standard);
    assert!(standard.functions.find(b"main").is_none());
    let main = standard.functions.find(b"<global>#main()? {calls 0v}").unwrap();
    assert_eq!(main.records().next().unwrap().counters, [11]);
    let words: Vec<String> = losses.iter().map(ToString::to_string).collect();
    assert_eq!(words, ["1 section outside the format"], "the targets, which only the extension explains");
}

#[test]
fn unchanged_counts_are_not_a_contradiction() {
    let document = parse(text_of(&j(&profile())).as_bytes());
    assert_eq!(text_of(&j(&l(&document))), text_of(&document));
}

#[test]
fn a_tool_that_dropped_the_unknown_section_did_not_contradict() {
    let mut document = j(&profile());
    document.remove_member(b"virtualInvokeMethodProfiles").unwrap();
    assert_eq!(text_of(&j(&l(&document))), text_of(&j(&profile())));
}

#[test]
fn a_damaged_extension_has_a_location() {
    let error = refusal(&changed(r#""hash":7"#, r#""hash":-7"#));
    assert!(error.starts_with("iprof, section llvm: malformed: cannot read the extension"), "{error}");
}
