use super::*;
use crate::model::{FunctionRecord, MemProfSection, Profile, ProfileKind, TemporalTrace, ValueCount, ValueKind};
use std::borrow::Cow;

fn sample() -> Profile {
    let mut profile = Profile { kind: ProfileKind::IR | ProfileKind::ENTRY_FIRST, ..Profile::default() };
    let main = profile.functions.intern(b"main");
    let mut record = FunctionRecord::new(7, vec![1, u64::MAX]);
    record.bitmap = vec![0, 255];
    let sites = record.sites_mut(ValueKind::VTableTarget);
    sites.push_site(&[ValueCount { value: 1 << 63, count: 5 }]);
    sites.push_site(&[]);
    profile.functions.push_record(main, &record);
    profile.functions.push_record(main, &FunctionRecord::new(1 << 60, vec![3]));
    let odd = profile.functions.intern(b"a\xff");
    profile.functions.push_record(odd, &FunctionRecord::new(1, vec![0]));
    profile.functions.intern(b"");
    profile
}

fn with_everything() -> Profile {
    let mut profile = sample();
    profile.kind |= ProfileKind::TEMPORAL | ProfileKind::from_bits(1 << 40);
    profile.binary_ids = vec![vec![0x0a, 0xff], vec![]];
    profile.temporal.stream_size = 9;
    profile.temporal.traces = vec![TemporalTrace { weight: 2, functions: vec![u64::MAX, 1] }];
    profile.vtable_names = vec![b"_ZTV5Shape".to_vec()];
    profile.memprof = Some(MemProfSection { bytes: vec![1, 2], offset: 4096, indexed_version: 12 });
    profile
}

fn assert_same(a: &Profile, b: &Profile) {
    assert_eq!(
        (a.kind, &a.binary_ids, &a.temporal, &a.vtable_names, &a.memprof),
        (b.kind, &b.binary_ids, &b.temporal, &b.vtable_names, &b.memprof)
    );
    let functions = |profile: &Profile| -> Vec<(Vec<u8>, Vec<FunctionRecord>)> {
        profile
            .functions
            .iter()
            .map(|f| (f.name().to_vec(), f.records().map(|record| record.to_record()).collect()))
            .collect()
    };
    assert_eq!(functions(a), functions(b));
}

#[test]
fn a_profile_comes_back_exactly() {
    for profile in [Profile::default(), sample(), with_everything()] {
        for checksum in [None, Some(0x0123_4567_89ab_cdef)] {
            let profile = Some(Cow::Borrowed(&profile));
            let extension = Extension { profile, checksum, ..Extension::default() };
            let again = Extension::read(&extension.to_bytes()).unwrap();
            assert_same(again.profile.as_ref().unwrap(), extension.profile.as_ref().unwrap());
            assert_eq!(again.checksum, checksum);
        }
    }
}

#[test]
fn the_layout_is_the_documented_one() {
    let approximate = Approximations::from([("callCountProfiles".to_string(), "because".to_string())]);
    let mut extension = Extension { approximate, profile: Some(Cow::Owned(sample())), checksum: None };
    let text = String::from_utf8(extension.to_bytes()).unwrap();
    let expected = concat!(
        r#"{"version":1,"approximate":{"callCountProfiles":"because"},"kind":["ir","entry-first"],"functions":["#,
        r#"{"name":"main","records":[{"hash":7,"counters":[1,"18446744073709551615"],"bitmap":"00ff","#,
        r#""values":[{"kind":2,"sites":[["9223372036854775808",5],[]]}]},"#,
        r#"{"hash":1152921504606846976,"counters":[3]}]},"#,
        r#"{"name":{"hex":"61ff"},"records":[{"hash":1,"counters":[0]}]},{"name":"","records":[]}]}"#
    );
    assert_eq!(text, expected);
    extension.checksum = Some(0x0123_4567_89ab_cdef);
    let second = String::from_utf8(extension.to_bytes()).unwrap();
    assert_eq!(second, expected.replace(r#""version":1"#, r#""version":2,"sections":"0123456789abcdef""#));
}

#[test]
fn remarks_without_records_are_an_error() {
    let extension = Extension::read(br#"{"version":1,"approximate":{"a":"b"}}"#).unwrap();
    assert!(extension.profile.is_none());
    assert_eq!(extension.approximate["a"], "b");
}

#[test]
fn unknown_layout_members_are_errors() {
    for (json, reason) in [
        (r#"{"version":3,"functions":7}"#, "version 3 of the extension"),
        (r#"{}"#, "missing field `version`"),
        (r#"{"version":1,"functions":[],"more":1}"#, "unknown field `more`"),
        (r#"{"version":1,"kind":["odd"],"functions":[]}"#, "\"odd\" is not a known kind"),
        (r#"{"version":1,"functions":[{"name":"f","records":[]},{"name":"f","records":[]}]}"#, "f is listed twice"),
        (
            r#"{"version":1,"functions":[{"name":"f","records":[{"hash":1,"counters":[]},{"hash":"1","counters":[]}]}]}"#,
            "two records of hash 1",
        ),
        (
            r#"{"version":1,"functions":[{"name":"f","records":[{"hash":1,"counters":["+1"]}]}]}"#,
            "\"+1\" is not a number below 2^64",
        ),
        (
            r#"{"version":1,"functions":[{"name":"f","records":[{"hash":1,"counters":[],"values":[{"kind":3,"sites":[]}]}]}]}"#,
            "values of kind 3",
        ),
        (
            r#"{"version":1,"functions":[{"name":"f","records":[{"hash":1,"counters":[],"values":[{"kind":1,"sites":[[1]]}]}]}]}"#,
            "expected pairs",
        ),
        (r#"{"version":1,"functions":[],"binaryIds":["0"]}"#, "pairs of hexadecimal digits"),
        (r#"{"version":1,"functions":["#, "EOF"),
    ] {
        let error = Extension::read(json.as_bytes()).unwrap_err();
        assert!(error.to_string().contains(reason), "{json}: {error}");
    }
}
