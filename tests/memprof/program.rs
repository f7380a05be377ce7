//! Tests of the program in profbridge mode.

use crate::files::{file, folder};
use std::process::Command;

fn profbridge(arguments: &[&str]) -> (String, String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_profbridge")).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

fn path(kind: &str, extension: &str) -> String {
    file(&folder().join(format!("clang-22-{kind}")), extension).to_str().unwrap().to_string()
}

#[test]
fn show_lists_allocation_sites() {
    let binary = format!("--profiled-binary={}", path("plain", "binary"));
    let (text, errors, code) = profbridge(&["show", &path("plain", "memprofraw"), &binary, "--topn=1"]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(text.starts_with("Functions: "), "{text}");
    assert!(text.contains("\n4096 bytes in 1 allocation, notcold: "), "{text}");
    assert!(text.contains("\n  _ZN12_GLOBAL__N_14grabEm +0:42 (inlined)\n"), "{text}");
    let (json, _, _) = profbridge(&["show", "--memory", "--json", "--sort-sites=count", &path("plain", "v3.profdata")]);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&value["schema"], &value["format"]), (&"profbridge.show-memprof/2".into(), &"indexed".into()));
    assert_eq!((&value["top"][0]["allocations"], &value["top"][0]["class"]), (&20.into(), &"hot".into()));
    let (yaml, _, _) = profbridge(&["show", "--memory", "--yaml", &path("plain", "v4.profdata")]);
    assert_eq!(yaml, std::fs::read_to_string(path("plain", "yaml")).unwrap());
    let (_, errors, code) = profbridge(&["show", "--counts", &path("plain", "yaml")]);
    assert!(code == Some(2) && errors.contains("--counts is for LLVM profiles, not for a memory profile"), "{errors}");
}

#[test]
fn a_partial_merge_becomes_a_yaml_document() {
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name).to_str().unwrap().to_string();
    let merge = |arguments: &[&str]| {
        let (_, errors, code) = profbridge(&[&["merge"], arguments].concat());
        assert_eq!(code, Some(0), "{errors}");
    };
    let inputs = ["v4.profdata", "yaml", "memprofraw"].map(|extension| path("plain", extension));
    let binary = format!("--profiled-binary={}", path("plain", "binary"));
    let parts: Vec<String> = (0..inputs.len()).map(|number| at(&format!("{number}.part"))).collect();
    for (part, input) in parts.iter().zip(&inputs) {
        merge(&["--partial", input, &binary, "-o", part]);
    }
    merge(&[&parts[0], &parts[1], &parts[2], "-o", &at("of-parts.yaml")]);
    merge(&[&inputs[0], &inputs[1], &inputs[2], &binary, "-o", &at("of-files.yaml")]);
    let read = |name: &str| std::fs::read_to_string(at(name)).unwrap();
    assert_eq!(read("of-parts.yaml"), read("of-files.yaml"));
}

/// Four sites: cold and large, cold and small, warm, hot. The density per allocation differs from that of the sums.
const SITES: &str = "---
HeapProfileRecords:
- GUID: main
  AllocSites:
  - Callstack: [ { Function: main, LineOffset: 1, Column: 1, IsInlineFrame: false } ]
    MemInfoBlock: { AllocCount: 2, TotalSize: 4096, TotalLifetime: 500000, TotalLifetimeAccessDensity: 2 }
  - Callstack: [ { Function: main, LineOffset: 2, Column: 1, IsInlineFrame: false } ]
    MemInfoBlock: { AllocCount: 90, TotalSize: 1000, TotalLifetime: 90, TotalLifetimeAccessDensity: 90000 }
  - Callstack: [ { Function: main, LineOffset: 3, Column: 1, IsInlineFrame: false } ]
    MemInfoBlock: { AllocCount: 1, TotalSize: 8, TotalLifetime: 1, TotalLifetimeAccessDensity: 200000 }
  - Callstack: [ { Function: main, LineOffset: 4, Column: 1, IsInlineFrame: false } ]
    MemInfoBlock: { AllocCount: 3, TotalSize: 24, TotalLifetime: 900000, TotalLifetimeAccessDensity: 0 }
";

#[test]
fn sites_are_listed_by_the_order_and_the_class_asked_for() {
    let temporary = tempfile::tempdir().unwrap();
    let document = temporary.path().join("sites.yaml");
    std::fs::write(&document, SITES).unwrap();
    // Returns the lines of the listed sites.
    let listed = |options: &[&str]| {
        let (text, errors, code) = profbridge(&[&["show", document.to_str().unwrap()], options].concat());
        assert_eq!(code, Some(0), "{errors}");
        assert!(text.contains("Allocation contexts: 4 (2 cold, 1 hot)\n"), "{text}");
        let lines = text.lines().filter_map(|line| line.trim_start().split_once(" +")?.1.split(':').next());
        lines.map(|line| line.parse::<u32>().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&[]), [1, 2, 4, 3]);
    assert_eq!(listed(&["--sort-sites=bytes"]), [1, 2, 4, 3]);
    assert_eq!(listed(&["--sort-sites=count"]), [2, 4, 1, 3]);
    assert_eq!(listed(&["--sort-sites=density"]), [3, 2, 1, 4]);
    assert_eq!(listed(&["--sort-sites=density", "--topn=1"]), [3]);
    assert_eq!(listed(&["--only-sites=cold"]), [1, 4]);
    assert_eq!(listed(&["--only-sites=cold", "--sort-sites=count"]), [4, 1]);
    assert_eq!(listed(&["--only-sites=notcold"]), [2]);
    assert_eq!(listed(&["--only-sites=hot", "--sort-sites=density"]), [3]);
    let (_, errors, code) = profbridge(&["show", "--only-sites=warm", document.to_str().unwrap()]);
    assert!(code == Some(2) && errors.contains("[possible values: cold, notcold, hot]"), "{code:?} {errors}");
}

/// Allocations with the fields that compilers read, and another one.
fn with_fields(more: &str) -> String {
    format!(
        "---\nHeapProfileRecords:\n- GUID: main\n  AllocSites:\n  - Callstack: []\n    MemInfoBlock: {{ AllocCount: 2, \
         TotalSize: 90, TotalLifetime: 7, TotalLifetimeAccessDensity: 2{more} }}\n"
    )
}

#[test]
fn fields_that_not_all_inputs_have_are_losses_if_they_have_values() {
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name).to_str().unwrap().to_string();
    std::fs::write(at("four.yaml"), with_fields("")).unwrap();
    std::fs::write(at("five.yaml"), with_fields(", MinSize: 40")).unwrap();
    let to_indexed = |name: &str, options: &[&str]| {
        let [input, output] = [at(&format!("{name}.yaml")), at(&format!("{name}.profdata"))];
        let (_, errors, code) = profbridge(&[&["merge", "--for", "llvm-22", &input, "-o", &output], options].concat());
        assert_eq!(code, Some(0), "{errors}");
    };
    to_indexed("four", &[]);
    to_indexed("five", &["--memprof-full-schema"]);
    let merge = |inputs: [&str; 2], output: &str, strict: bool| {
        let [first, second] = inputs.map(at);
        let mut arguments = vec!["merge", "--force", &first, &second];
        arguments.extend(strict.then_some("--strict"));
        if output.ends_with("profdata") {
            arguments.extend(["--for", "llvm-22", "--memprof-full-schema"]);
        }
        let output = at(output);
        arguments.extend(["-o", &output]);
        profbridge(&arguments)
    };
    let of = |name: &str| [format!("{name}.yaml"), format!("{name}.profdata")];
    for (first, second) in of("four").iter().flat_map(|first| of("five").map(|second| (first.clone(), second))) {
        for output in ["out.yaml", "out.profdata"] {
            let (_, errors, code) = merge([&first, &second], output, false);
            assert!(errors.contains("dropped 1 field of the memory profile, which not all inputs have"), "{errors}");
            assert_eq!(code, Some(0));
            assert_eq!(merge([&first, &second], output, true).2, Some(1), "{second} {output}");
        }
        assert!(!std::fs::read_to_string(at("out.yaml")).unwrap().contains("MinSize"), "{first} {second}");
    }
    for output in ["out.yaml", "out.profdata"] {
        let (_, errors, code) = merge(["four.profdata", "four.yaml"], output, true);
        assert_eq!((errors.contains("dropped"), code), (false, Some(0)), "{errors}");
    }
}

#[test]
fn a_profile_of_data_accesses_alone_is_not_empty() {
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name).to_str().unwrap().to_string();
    let data =
        "---\nHeapProfileRecords: []\nDataAccessProfiles:\n  SampledRecords:\n  - Symbol: table\n    AccessCount: 5\n";
    std::fs::write(at("data.yaml"), data).unwrap();
    let (text, errors, code) = profbridge(&["check", &at("data.yaml")]);
    assert!(code == Some(0) && text.contains("usable") && !text.contains("no-allocations"), "{text}{errors}");
    for output in ["out.yaml", "out.profdata"] {
        let input = at("data.yaml");
        let (_, errors, code) = profbridge(&["merge", &input, &input, "-o", &at(output), "--allow-duplicates"]);
        assert_eq!(code, Some(0), "{errors}");
        let (text, errors, code) = profbridge(&["convert", &at(output), "-o", &at("back.yaml"), "--force"]);
        assert_eq!(code, Some(0), "{text}{errors}");
        assert!(std::fs::read_to_string(at("back.yaml")).unwrap().contains("AccessCount:     10"), "{output}");
    }
}

#[test]
fn a_merge_into_yaml_names_the_damage() {
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name).to_str().unwrap().to_string();
    std::fs::write(at("bad.yaml"), "---\nHeapProfileRecords: []\nDataAccessProfiles: none\n...\n").unwrap();
    for output in ["out.yaml", "out.profdata"] {
        let (_, errors, code) = profbridge(&["merge", &at("bad.yaml"), "-o", &at(output)]);
        assert_eq!(code, Some(1), "{errors}");
        assert!(errors.contains("DataAccessProfiles is a scalar, not a map"), "{output}: {errors}");
    }
}

#[test]
fn check_judges_memory_profiles() {
    let temporary = tempfile::tempdir().unwrap();
    let cut = temporary.path().join("cut.memprofraw");
    std::fs::write(&cut, &std::fs::read(path("plain", "memprofraw")).unwrap()[..3000]).unwrap();
    let (text, _, code) = profbridge(&["check", &path("plain", "memprofraw"), &path("plain", "v3.profdata")]);
    assert!(code == Some(0) && text.contains("memprof-raw 5: usable"), "{text}");
    assert!(text.ends_with("2 files: 2 usable; 0 errors, 0 warnings\n"), "{text}");
    let (text, _, code) = profbridge(&["check", cut.to_str().unwrap()]);
    assert!(code != Some(0) && text.contains("memprof-raw.truncated"), "{text}");
    let mut bytes = std::fs::read(path("plain", "v3.profdata")).unwrap();
    let section = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    bytes[section + 32] = 99;
    std::fs::write(&cut, bytes).unwrap();
    let (text, _, code) = profbridge(&["check", cut.to_str().unwrap()]);
    assert!(code != Some(0) && text.contains("indexed.malformed: memprof"), "{text}");
}

#[test]
fn diff_compares_allocations_and_is_a_gate() {
    let [plain, dumps] = [path("plain", "v3.profdata"), path("two-dumps", "yaml")];
    let (text, _, code) = profbridge(&["diff", "--fail-below=1", &plain, &path("plain", "yaml")]);
    assert!(code == Some(0) && text.contains("memory-bytes") && text.contains("100.000 %"), "{text}");
    // A file can have names, or only their hashes.
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name).to_str().unwrap().to_string();
    std::fs::write(at("names.yaml"), SITES).unwrap();
    std::fs::write(at("hashes.yaml"), SITES.replace("main", "0xdb956436e78dd5fa")).unwrap();
    let (text, _, code) = profbridge(&["diff", "--fail-below=1", &at("names.yaml"), &at("hashes.yaml")]);
    assert!(code == Some(0) && text.contains("100.000 %"), "{text}");
    let (text, errors, code) = profbridge(&["diff", "--fail-below=0.99", &plain, &dumps]);
    assert!(code == Some(3) && errors.contains("the overlap of all sections is"), "{text}{errors}");
}

#[test]
fn merge_reports_losses_of_a_version() {
    let temporary = tempfile::tempdir().unwrap();
    let (document, output) = (temporary.path().join("a.yaml"), temporary.path().join("a.profdata"));
    let text = "---\nHeapProfileRecords:\n- GUID: f\n  CallSites:\n  - Frames: []\n    CalleeGuids: [ g, h ]\n";
    std::fs::write(&document, text).unwrap();
    let arguments = ["merge", "--memprof-version=3", document.to_str().unwrap(), "-o", output.to_str().unwrap()];
    let (_, errors, code) = profbridge(&arguments);
    assert!(code == Some(0) && errors.contains("2 callees of a memory profile"), "{errors}");
    let (_, errors, code) = profbridge(&["merge", "--memprof-version=1", document.to_str().unwrap(), "-o", "-"]);
    assert!(code == Some(2) && errors.contains("LLVM 22 does not read version 1 of memory profiles"), "{errors}");
}

#[test]
fn pictures_show_bytes_or_allocations_by_call_stack() {
    let temporary = tempfile::tempdir().unwrap();
    let draw = |command: &str, name: &str, arguments: &[&str]| {
        let output = temporary.path().join(name);
        let words = [&[command, "-o", output.to_str().unwrap()], arguments].concat();
        let (_, errors, code) = profbridge(&words);
        assert_eq!(code, Some(0), "{errors}");
        std::fs::read_to_string(output).unwrap()
    };
    let (raw, binary) = (path("plain", "memprofraw"), format!("--profiled-binary={}", path("plain", "binary")));
    let svg = draw("flamegraph", "a.svg", &[&raw, &binary]);
    assert!(svg.contains(" bytes") && svg.contains("main") && !svg.contains(" hits"), "{svg}");
    let svg = draw("flamegraph", "b.svg", &[&raw, &binary, "--allocations", "--reverse"]);
    assert!(svg.contains(" allocations") && !svg.contains(" bytes"), "{svg}");
    let (yaml, stored) = (path("plain", "yaml"), path("plain", "v4.profdata"));
    let page = draw("report", "a.html", &[&stored, "--baseline", &yaml]);
    assert!(page.contains("Bytes in cold contexts") && page.contains("Bytes of the baseline"), "{page}");
    // The file contains nothing else, so the option is not necessary.
    assert_eq!(page, draw("report", "b.html", &["--memory", &stored, "--baseline", &yaml]).replace("b.html", "a.html"));
    let output = temporary.path().join("mixed.svg");
    let folded = temporary.path().join("a.folded");
    std::fs::write(&folded, "a;b 3\n").unwrap();
    for (words, expected, reason) in [
        (vec![yaml.as_str(), folded.to_str().unwrap()], 1, "cannot draw"),
        (vec!["--memory", folded.to_str().unwrap()], 2, "no input has a memory profile"),
        (vec![yaml.as_str(), "--baseline", folded.to_str().unwrap()], 1, "of different kinds"),
    ] {
        let (_, errors, code) =
            profbridge(&[&["flamegraph", "-o", output.to_str().unwrap()], words.as_slice()].concat());
        assert!(code == Some(expected) && errors.contains(reason), "{errors}");
    }
    assert!(!output.exists());
}

#[test]
fn sums_at_the_maximum_of_their_field_are_losses() {
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name).to_str().unwrap().to_string();
    std::fs::write(at("in.yaml"), SITES).unwrap();
    let weighted = format!("--weighted-input=4000000000,{}", at("in.yaml"));
    // Numbers of allocations have 32 bits.
    for output in ["out.yaml", "out.profdata"] {
        let (_, errors, code) = profbridge(&["merge", &weighted, "-o", &at(output)]);
        assert_eq!(code, Some(0), "{errors}");
        assert!(errors.contains("parts of sums above the maximum of their fields of the memory profile"), "{errors}");
        let (_, errors, code) = profbridge(&["merge", "--strict", &weighted, "-o", &at("strict.yaml")]);
        assert_eq!(code, Some(1), "{errors}");
    }
    let (_, errors, _) = profbridge(&["merge", &at("in.yaml"), &at("in.yaml"), "-o", &at("twice.yaml")]);
    assert!(!errors.contains("maximum"), "{errors}");
}

#[test]
fn fields_that_are_not_written_by_default_are_losses() {
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name).to_str().unwrap().to_string();
    let input = file(&folder().join("clang-19-plain"), "v1.profdata").to_str().unwrap().to_string();
    let merge =
        |options: &[&str]| profbridge(&[&["merge", "--for", "llvm-22", &input, "-o", &at("out")], options].concat());
    let (_, errors, code) = merge(&[]);
    assert!(
        errors.contains(
            "dropped 23 fields of the memory profile, which not all inputs have, or which are not written by default"
        ),
        "{errors}"
    );
    assert_eq!(code, Some(0));
    let (_, errors, code) = merge(&["--strict"]);
    assert!(errors.contains("some data cannot be converted: 23 fields of the memory profile"), "{errors}");
    assert_eq!(code, Some(1));
    let (_, errors, code) = merge(&["--strict", "--memprof-full-schema"]);
    assert_eq!((errors.contains("dropped"), code), (false, Some(0)), "{errors}");
}

/// LLVM 20 and later do not read versions 0 and 1, but raw profiles of LLVM 19 and 20 look alike.
#[test]
fn a_target_from_the_inputs_has_a_version_that_later_releases_read() {
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name).to_str().unwrap().to_string();
    let start = folder().join("clang-19-plain");
    let input = |extension| file(&start, extension).to_str().unwrap().to_string();
    let binary = format!("--profiled-binary={}", input("binary"));
    let readers = |path: &str| {
        let (text, errors, code) = profbridge(&["info", path]);
        assert_eq!(code, Some(0), "{errors}");
        let line = text.lines().find_map(|line| line.trim().strip_prefix("read by"));
        line.expect("a line of readers").trim().to_string()
    };
    let merge = |arguments: &[&str]| {
        let (_, errors, code) = profbridge(&[&["merge"], arguments].concat());
        assert_eq!(code, Some(0), "{errors}");
        errors
    };
    let said = merge(&[&input("memprofraw"), &binary, "--strict", "-o", &at("default.profdata")]);
    assert!(said.contains("for LLVM 20"), "{said}");
    assert_eq!(readers(&at("default.profdata")), "LLVM 19 and later");
    merge(&[&input("memprofraw"), &binary, "--for", "llvm-19", "-o", &at("19.profdata")]);
    assert_eq!(readers(&at("19.profdata")), "LLVM 19");
    assert_eq!(std::fs::read(at("19.profdata")).unwrap(), std::fs::read(input("v0.profdata")).unwrap());
    for (name, expected) in [
        ("clang-16-plain.v0", "LLVM 16 to 19"),
        ("clang-19-plain.v1", "LLVM 19"),
        ("clang-19-plain.v2", "LLVM 19 and later"),
        ("clang-22-plain.v4", "LLVM 22 and later"),
    ] {
        assert_eq!(readers(file(&folder().join(name), "profdata").to_str().unwrap()), expected, "{name}");
    }
    // A gate does not pass on a file that the compiler rejects.
    let counts = file(&folder().join("../merge/clang-19/run-1"), "profraw").to_str().unwrap().to_string();
    for (target, code) in [("llvm-19", Some(0)), ("llvm-22", Some(3))] {
        let both = at("both.profdata");
        merge(&[&counts, &input("memprofraw"), &binary, "--for", "llvm-19", "-o", &both]);
        let fit = ["fit", &both, "--against", &counts, "--for", target, "--fail-below", "used-counts=90%"];
        let (text, errors, found) = profbridge(&fit);
        assert_eq!(found, code, "{target}: {text} {errors}");
    }
}
