use crate::compression::Compression;
use crate::iprof::findings::Code;
use crate::iprof::findings::Level;
use crate::iprof::read::*;
use crate::iprof::writer::{WriteOptions, Writer};

const TABLES: &str = r#""types":[{"id":3,"name":"app.Main"},{"id":8,"name":"void"},{"id":4,"name":"int"}],"methods":[{"id":1,"name":"main","signature":[3,8]},{"id":2,"name":"loop","signature":[3,8,4]}]"#;

fn whole(sections: &str) -> String {
    format!("{{\"version\":\"1.1.0\",{TABLES}{sections}}}")
}

fn codes(text: &str) -> Vec<&'static str> {
    let options = ReadOptions { find_duplicates: true, ..ReadOptions::default() };
    Reader::from_bytes(text.as_bytes(), &options).examine().findings.iter().map(|finding| finding.code.name()).collect()
}

#[test]
fn compact_files_come_back_byte_for_byte() {
    let text = whole(concat!(
        r#","monitorProfiles":[{"ctx":"0:0","records":[3,7]}],"other":{"n":184467440737095516160,"m":[1.50,true]},"#,
        r#""callCountProfiles":[{"ctx":"2:0<1:3","records":[9007199254740993]},{"records":[0],"x":null,"ctx":"1:0"}],"#,
        r#""conditionalProfiles":[{"ctx":"2:5","records":[-5,1,3,9,1,0]},{"ctx":"2:-4<1:-6","records":[]}],"#,
        r#""samplingProfiles":[],"instanceOfProfiles":[{"ctx":"1:7","records":[3,1]}]"#
    ));
    let (document, findings) = Reader::from_bytes(text.as_bytes(), &ReadOptions::default()).read().unwrap();
    assert!(!findings.has_errors());
    assert_eq!(String::from_utf8(Writer::new(&WriteOptions::default()).to_bytes(&document)).unwrap(), text);
}

#[test]
fn sections_may_come_before_their_tables() {
    let text = r#"{"callCountProfiles":[{"ctx":"1:0","records":[5]}],"methods":[{"id":1,"name":"m","signature":[2,2]}],"types":[{"id":2,"name":"A"}],"version":"1.0.0"}"#;
    let (document, findings) = Reader::from_bytes(text.as_bytes(), &ReadOptions::default()).read().unwrap();
    assert_eq!(findings.iter().count(), 0);
    assert_eq!(document.sections.call_counts.len(), 1);
    assert_eq!(String::from_utf8(Writer::new(&WriteOptions::default()).to_bytes(&document)).unwrap(), text);
}

#[test]
fn compression_is_detected_from_content() {
    let text = whole(r#","samplingProfiles":[{"ctx":"2:4<1:3","records":[5]}]"#);
    for compression in Compression::ALL.iter().copied().filter(|compression| compression.is_written()) {
        let packed = compression.compress(text.as_bytes()).unwrap();
        let (again, _) = Reader::from_bytes(&packed, &ReadOptions::default()).read().unwrap();
        assert_eq!(Writer::new(&WriteOptions::default()).to_bytes(&again), text.as_bytes());
        let cut = Reader::from_bytes(&packed[..packed.len() - 12], &ReadOptions::default()).examine();
        assert!(cut.findings.has(Code::Unreadable), "{compression}: {:?}", cut.findings);
        assert!(cut.document.is_some() || compression != Compression::Gzip, "gzip gives the content before the cut");
    }
}

#[test]
fn leading_zeros_are_ignored() {
    let text = whole(r#","callCountProfiles":[{"ctx":"01:00","records":[5]},{"ctx":"1:0","records":[6]}]"#);
    assert_eq!(codes(&text), ["duplicate-context"]);
    let (document, _) = Reader::from_bytes(text.as_bytes(), &ReadOptions::default()).read().unwrap();
    assert!(
        String::from_utf8(Writer::new(&WriteOptions::default()).to_bytes(&document))
            .unwrap()
            .contains(r#""ctx":"1:0""#)
    );
}

#[test]
fn the_layout_of_2022_is_read_as_todays() {
    let text = r#"{
  "version" : "0.2.0",
  "types" : [ { "id" : 0, "typeName" : "A" } ],
  "methods" : [ { "id" : 5, "methodName" : "m", "signature" : [ 0, 0 ] } ],
  "monitorsProfile" : { "records" : [ 0, 3 ] },
  "hotnessPoints" : [ { "methodBciList" : "5:0,5:3", "records" : [ 12 ] } ],
  "invokePoints" : [ { "methodBciList" : "5:-6", "records" : [ 0, 12 ] } ],
  "conditionalPoints" : [ ]
}
"#;
    assert_eq!(codes(text), ["pre-release-version", "legacy-layout"]);
    let (document, _) = Reader::from_bytes(text.as_bytes(), &ReadOptions::default()).read().unwrap();
    assert_eq!(
        String::from_utf8(Writer::new(&WriteOptions::default()).to_bytes(&document)).unwrap(),
        concat!(
            r#"{"version":"1.0.0","types":[{"id":0,"name":"A"}],"methods":[{"id":5,"name":"m","signature":[0,0]}],"#,
            r#""monitorProfiles":[{"ctx":"0:0","records":[0,3]}],"callCountProfiles":[{"ctx":"5:0<5:3","records":[12]}],"#,
            r#""virtualInvokeProfiles":[{"ctx":"5:-6","records":[0,12]}],"conditionalProfiles":[]}"#
        )
    );
}

#[test]
fn a_cut_file_keeps_its_complete_entries_wherever_it_is_cut() {
    let text = whole(r#","callCountProfiles":[{"ctx":"2:0<1:3","records":[12]},{"ctx":"1:0","records":[345]}]"#);
    for end in 1..text.len() {
        let cut = Reader::from_bytes(&text.as_bytes()[..end], &ReadOptions::default()).examine();
        assert!(cut.findings.has(Code::Truncated), "{end}: {:?}", cut.findings);
        let document = cut.document.expect("the complete entries are returned");
        let again = Writer::new(&WriteOptions::default()).to_bytes(&document);
        let (_, findings) = Reader::from_bytes(&again, &ReadOptions::default()).read().unwrap();
        assert!(!findings.has_errors());
        // The last entry counts once something follows it.
        let kept =
            if end > text.find("},{\"ctx\":\"1:0").unwrap() + 1 { 1 } else { 0 } + usize::from(end == text.len() - 1);
        assert_eq!(document.sections.call_counts.len(), kept, "cut at {end}");
    }
}

#[test]
fn entries_with_unknown_references_are_dropped() {
    let text = whole(concat!(
        r#","callCountProfiles":[{"ctx":"9:0","records":[1]},{"ctx":"1:0","records":[1]}],"#,
        r#""virtualInvokeProfiles":[{"ctx":"1:4","records":[77,1,3,2]},{"ctx":"1:5","records":[77,1]}]"#
    ));
    assert_eq!(codes(&text), ["dangling-method", "dangling-type"]);
    let error = Reader::from_bytes(text.as_bytes(), &ReadOptions::default()).read().unwrap_err().to_string();
    assert!(
        error.contains("iprof 1.1.0, section callCountProfiles, byte 0x") && error.contains("no method has the id 9"),
        "{error}"
    );
    let options = ReadOptions { accept_errors: true, ..ReadOptions::default() };
    let (document, _) = Reader::from_bytes(text.as_bytes(), &options).read().unwrap();
    assert_eq!((document.sections.call_counts.len(), document.sections.virtual_invokes.len()), (1, 1));
    assert_eq!(document.sections.virtual_invokes.entry(0).1.len(), 1);
}

#[test]
fn one_id_of_two_meanings_takes_its_users_along() {
    let text = r#"{"version":"1.0.0","types":[{"id":0,"name":"A"},{"id":1,"name":"B"},{"id":1,"name":"C"}],"methods":[{"id":0,"name":"m","signature":[0,1]},{"id":1,"name":"m","signature":[0,0]},{"id":2,"name":"n","signature":[0,0]},{"id":2,"name":"o","signature":[0,0]}],"callCountProfiles":[{"ctx":"0:0","records":[1]},{"ctx":"1:0","records":[2]},{"ctx":"2:0","records":[3]}]}"#;
    assert_eq!(codes(text), ["duplicate-type-id", "duplicate-method-id"]);
    let options = ReadOptions { accept_errors: true, ..ReadOptions::default() };
    let (document, _) = Reader::from_bytes(text.as_bytes(), &options).read().unwrap();
    assert_eq!(
        String::from_utf8(Writer::new(&WriteOptions::default()).to_bytes(&document)).unwrap(),
        r#"{"version":"1.0.0","types":[{"id":0,"name":"A"}],"methods":[{"id":1,"name":"m","signature":[0,0]}],"callCountProfiles":[{"ctx":"1:0","records":[2]}]}"#
    );
}

#[test]
fn ids_beyond_java_ints_get_others() {
    let text = r#"{"version":"1.0.0","types":[{"id":-7,"name":"A"},{"id":4,"name":"B"}],"methods":[{"id":3000000000,"name":"m","signature":[-7,4]}],"callCountProfiles":[{"ctx":"3000000000:0","records":[1]}]}"#;
    assert_eq!(codes(text), ["id-range", "id-range"]);
    let options = ReadOptions { accept_errors: true, ..ReadOptions::default() };
    let (document, _) = Reader::from_bytes(text.as_bytes(), &options).read().unwrap();
    assert_eq!(
        String::from_utf8(Writer::new(&WriteOptions::default()).to_bytes(&document)).unwrap(),
        r#"{"version":"1.0.0","types":[{"id":4,"name":"B"},{"id":5,"name":"A"}],"methods":[{"id":0,"name":"m","signature":[5,4]}],"callCountProfiles":[{"ctx":"0:0","records":[1]}]}"#
    );
}

#[test]
fn counts_are_exact_and_other_values_are_reported() {
    let entry = |records: &str| whole(&format!(r#","callCountProfiles":[{{"ctx":"1:0","records":{records}}}]"#));
    assert_eq!(codes(&entry("[9223372036854775807]")), Vec::<&str>::new());
    for (records, code) in [
        ("[9223372036854775808]", "count-range"),
        ("[-1]", "negative-count"),
        ("[3.0]", "not-an-integer"),
        ("[3.5]", "not-an-integer"),
        ("[]", "bad-arity"),
        ("[1,2]", "bad-arity"),
        ("[\"1\"]", "wrong-json-type"),
        ("{}", "wrong-json-type"),
        ("[1,]", "bad-json"),
        ("[NaN]", "bad-json"),
    ] {
        let found = codes(&entry(records));
        assert_eq!(found.first(), Some(&code), "{records}: {found:?}");
    }
    let options = ReadOptions { accept_errors: true, ..ReadOptions::default() };
    let (clamped, _) = Reader::from_bytes(entry("[99999999999999999999]").as_bytes(), &options).read().unwrap();
    assert_eq!(clamped.sections.call_counts[0].count, i64::MAX as u64);
    let (integral, _) = Reader::from_bytes(entry("[1e3]").as_bytes(), &options).read().unwrap();
    assert_eq!(integral.sections.call_counts[0].count, 1000);
}

#[test]
fn findings_have_a_location() {
    let text = whole(
        r#","callCountProfiles":[{"ctx":"1:0","records":[1]},{"ctx":"1:0<","records":[1]},{"ctx":"","records":[1]}]"#,
    );
    let examination = Reader::from_bytes(text.as_bytes(), &ReadOptions::default()).examine();
    let finding = examination.findings.iter().next().unwrap();
    let offset = text.find("\"1:0<\"").unwrap() as u64;
    assert_eq!((finding.path.as_str(), finding.offset, finding.more), ("callCountProfiles[1].ctx", Some(offset), 1));
    assert_eq!(examination.verdict, Verdict::PartlyUsable);
}

#[test]
fn a_stream_gives_the_same_as_a_slice() {
    let text = whole(r#","callCountProfiles":[{"ctx":"2:0<1:3","records":[12]}],"llvm":{"a":[1,2]}"#);
    let (from_slice, _) = Reader::from_bytes(text.as_bytes(), &ReadOptions::default()).read().unwrap();
    let (from_stream, _) = Reader::new(text.as_bytes(), &ReadOptions::default()).read().unwrap();
    let bytes = Writer::new(&WriteOptions::default()).to_bytes(&from_slice);
    assert_eq!(Writer::new(&WriteOptions::default()).to_bytes(&from_stream), bytes);
    assert_eq!(bytes, text.as_bytes());
}

#[test]
fn unreadable_files_have_distinct_codes() {
    for (text, code) in [
        (&b""[..], "empty-file"),
        (b" \n", "empty-file"),
        (b"[]", "root-not-object"),
        (b"hello", "bad-json"),
        (b"{\"version\":\"2.0.0\",\"stuff\":[]}", "unsupported-major"),
        (b"{\"version\":\"1x0y0\",\"types\":[],\"methods\":[]}", "bad-version"),
        (b"{\"types\":[],\"methods\":[]}", "missing-field"),
        (b"{\"version\":\"1.0.0\",\"types\":[],\"methods\":[]} x", "bad-json"),
        (b"{\"version\":\"1.0.0\",\"types\":[\"\xff\"]}", "bad-encoding"),
        (b"{\"version\":\"1.0.0\",\"version\":\"1.0.0\",\"types\":[],\"methods\":[]}", "duplicate-key"),
    ] {
        let examination = Reader::from_bytes(text, &ReadOptions::default()).examine();
        let found: Vec<_> = examination.findings.iter().map(|finding| finding.code.name()).collect();
        assert_eq!(found.first(), Some(&code), "{found:?}");
        assert_eq!(examination.verdict, Verdict::Unusable);
        assert!(examination.document.is_none());
    }
}

#[test]
fn known_and_unknown_members_are_distinguished() {
    let text = whole(r#","llvm":{},"ceConditionalProfilesV2":[],"newProfiles":[],"moreProfiles":[]"#);
    let examination = Reader::from_bytes(text.as_bytes(), &ReadOptions::default()).examine();
    let unknown = examination.findings.iter().filter(|finding| finding.code == Code::UnknownSection);
    let found: Vec<_> = unknown.map(|finding| (finding.level, finding.path.as_str(), finding.more)).collect();
    assert_eq!(found, [(Level::Info, "llvm", 1), (Level::Warning, "newProfiles", 1)]);
}

#[test]
fn very_many_members_are_read_in_reasonable_time() {
    let members: Vec<String> = (0..100_000).map(|n| format!("\"m{n}\":{n}")).collect();
    let text = whole(&format!(",{}", members.join(",")));
    let (document, _) = Reader::from_bytes(text.as_bytes(), &ReadOptions::default()).read().unwrap();
    assert_eq!(Writer::new(&WriteOptions::default()).to_bytes(&document), text.as_bytes());
    let entry = whole(&format!(r#","callCountProfiles":[{{"ctx":"1:0","records":[1],{}}}]"#, members.join(",")));
    let (document, _) = Reader::from_bytes(entry.as_bytes(), &ReadOptions::default()).read().unwrap();
    assert_eq!(Writer::new(&WriteOptions::default()).to_bytes(&document), entry.as_bytes());
}

mod copying {
    use super::*;
    use crate::compression::Compression;
    use crate::iprof::{Layout, WriteOptions, Writer, reformat};
    use crate::limits::Limits;

    const TYPES: &str = r#""types":[{"id":0,"name":"A"},{"id":5,"name":"B"}]"#;
    const METHODS: &str = r#""methods":[{"id":3,"name":"m","signature":[0,5]}]"#;

    fn copied(text: &[u8]) -> Option<Vec<u8>> {
        let mut copy = Vec::new();
        Reader::new(text, &ReadOptions::default()).copy_to(&mut copy).unwrap().map(|_| copy)
    }

    fn file(version: &str, members: &str) -> String {
        format!(r#"{{"version":"{version}",{TYPES},{METHODS},{members}}}"#)
    }

    fn calls(entries: &str) -> String {
        file("1.0.0", &format!(r#""callCountProfiles":[{entries}]"#))
    }

    /// The same document with spaces and lines between its tokens.
    fn pretty(text: &str) -> String {
        let mut options = WriteOptions::default();
        options.layout = Layout::Pretty;
        String::from_utf8(reformat(text.as_bytes(), &options, &Limits::default()).unwrap()).unwrap()
    }

    #[test]
    fn files_are_copied_whatever_their_white_space_and_order() {
        for text in [
            calls(r#"{"ctx":"3:0","records":[4]},{"ctx":"3:0<3:-6","records":[5]}"#),
            file("0.4.0", r#""x":{"a":[1.50]},"callCountProfiles":[{"ctx":"3:0","records":[4]}],"y":[{},2]"#),
            file("1.7.0", r#""samplingProfiles":[],"instanceOfProfiles":[{"ctx":"3:9","records":[5,1]}]"#),
            file("1.0.0", r#""monitorProfiles":[{"ctx":"0:0","records":[5,1]}]"#),
            calls(r#"{"records":[4],"ctx":"3:0"},{"ctx":"3:0<3:2","x y":[1,"  \" "],"records":[4]}"#),
            file("1.0.0", r#""a b":"c\n d","callCountProfiles":[{"ctx":"3:0","records":[4]}]"#),
            calls(r#"{"ctx":"3:0","records":[4]}"#).replace("\"m\"", "\"a \\\"b\\\" \""),
            calls(r#"{"ctx":"3:0","records":[4]}"#).replace("{\"id\":0,\"name\":\"A\"}", "{\"name\":\"A\",\"id\":0}"),
            format!(r#"{{"version":"1.0.0",{TYPES},"callCountProfiles":[{{"ctx":"3:0","records":[4]}}],{METHODS}}}"#),
        ] {
            let (document, _) = Reader::from_bytes(text.as_bytes(), &ReadOptions::default()).read().unwrap();
            assert_eq!(Writer::new(&WriteOptions::default()).to_bytes(&document), text.as_bytes(), "{text}");
            let packed = Compression::Gzip.compress(text.as_bytes()).unwrap();
            let others =
                [format!("{text}\n"), format!("\u{feff} {text} \r\n\t"), pretty(&text)].map(String::into_bytes);
            for same in others.into_iter().chain([text.clone().into_bytes(), packed]) {
                assert_eq!(copied(&same).as_deref(), Some(text.as_bytes()), "{}", String::from_utf8_lossy(&same));
            }
        }
    }

    #[test]
    fn files_that_would_be_written_in_another_way_are_not_copied() {
        let entry = r#"{"ctx":"3:0","records":[4]}"#;
        let whole = calls(entry);
        let section = format!(r#""callCountProfiles":[{entry}]"#);
        for text in [
            whole.replace("\"m\"", "\"\\u006d\""),
            whole.replace("\"ctx\"", "\"\\u0063tx\""),
            whole.replace("3:0", "3\\u003a0"),
            whole.replace("types", "\\u0074ypes"),
            whole[..whole.len() - 1].to_string(),
            calls(""),
            calls(r#"{"ctx":"03:0","records":[4]}"#),
            calls(r#"{"ctx":"3:-0","records":[4]}"#),
            calls(r#"{"ctx":"3:0","records":[-0]}"#),
            calls(r#"{"ctx":"9:0","records":[4]}"#),
            file("01.0.0", &section),
            file("2.0.0", &section),
            file("1.0.0", &section.replace("callCountProfiles", "hotnessPoints")),
            file("1.1.0", r#""instanceofProfiles":[{"ctx":"3:9","records":[5,1]}],"instanceOfProfiles":[]"#),
        ] {
            assert_eq!(copied(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn an_output_that_fails_ends_the_copy() {
        let mut full = &mut [0u8; 7][..];
        let failed =
            Reader::new(calls(r#"{"ctx":"3:0","records":[4]}"#).as_bytes(), &ReadOptions::default()).copy_to(&mut full);
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::WriteZero);
    }
}

mod recognizing {
    use super::*;

    fn of(text: &str) -> Option<Confidence> {
        evidence(&Head::new(text.as_bytes()))
    }

    #[test]
    fn members_of_the_format_speak_for_it() {
        assert_eq!(of("\u{feff} {\n \"types\" : ["), Some(Confidence::Certain));
        assert_eq!(of(r#"{"a":{"b":[1,"}"]},"callCountProfiles":"#), Some(Confidence::Certain));
        assert_eq!(of(r#"{"hotnessPoints":["#), Some(Confidence::Certain));
        assert_eq!(of(r#"{"version":"1.0.0""#), Some(Confidence::Likely));
        for text in ["{", "{}", "{\"ver", " {\n"] {
            assert_eq!(of(text), Some(Confidence::Possible), "{text}");
        }
    }

    #[test]
    fn other_members_speak_against_it() {
        let package = r#"{"name":"left-pad","version":"1.3.0","x":"\"types\":"}"#;
        for text in [package, r#"{"a":{"types":1}}"#, "{closure}\n1\n", "[]", "types", r#"{"methodes":[]}"#] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn json_is_distinguished_from_functions_in_braces() {
        let json = |text: &str| is_json(&Head::new(text.as_bytes()));
        assert!(["{}", "{ \"a\"", "[ {\"a\":1}]", "["].into_iter().all(json));
        assert!(!["{closure}\n", "[main:1 @ f]:2:3\n", "a", ""].into_iter().any(json));
    }
}
