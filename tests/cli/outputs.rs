//! Tests of outputs: the extension or the options select the format, and inputs are not overwritten by accident.

use crate::program::{Finished, Folder, testdata};
use std::fs;

/// Text inputs of every family, by name.
const INPUTS: [(&str, &str); 4] = [
    ("a.proftext", ":ir\nmain\n1\n1\n5\n"),
    ("s.afdo", "foo:10:1\n 1: 5\n"),
    ("c.collapsed", "a;b 1\nc;d 2\n"),
    (
        "f.iprof",
        "{\"version\":\"1.0.0\",\"types\":[{\"id\":0,\"name\":\"A\"},{\"id\":1,\"name\":\"void\"}],\
         \"methods\":[{\"id\":0,\"name\":\"m\",\"signature\":[0,1]}],\
         \"callCountProfiles\":[{\"ctx\":\"0:0\",\"records\":[3]}]}",
    ),
];

fn folder() -> Folder {
    let folder = Folder::new();
    for (name, text) in INPUTS {
        fs::write(folder.path(name), text).expect("written");
    }
    folder
}

fn run(folder: &Folder, line: &str) -> Finished {
    folder.run(&line.split_whitespace().collect::<Vec<_>>())
}

#[track_caller]
fn written(folder: &Folder, line: &str, output: &str) -> Vec<u8> {
    let finished = run(folder, line);
    assert_eq!(finished.code, Some(0), "{line}: {}", finished.stderr);
    fs::read(folder.path(output)).expect("a file is written")
}

/// Fails with this message and writes nothing.
#[track_caller]
fn refused(folder: &Folder, line: &str, words: &[&str]) {
    let before = folder.names();
    let finished = run(folder, line);
    assert_eq!(finished.code, Some(2), "{line}: {}", finished.stderr);
    for word in words {
        assert!(finished.stderr.contains(word), "{line}: no {word:?} in:\n{}", finished.stderr);
    }
    assert_eq!(folder.names(), before, "{line}");
}

#[test]
fn a_second_output_is_rejected() {
    let folder = folder();
    for command in ["merge a.proftext", "convert c.collapsed", "show a.proftext", "report c.collapsed"] {
        refused(&folder, &format!("{command} -o x.profdata --output y.profdata"), &["--output", "multiple times"]);
    }
}

/// If the last value counted, the first list of inputs or the first gate would be ignored without a message.
#[test]
fn an_option_that_is_given_twice_is_rejected() {
    let folder = folder();
    for options in [
        "merge -f a.proftext -f b.proftext -o x.profdata",
        "merge a.proftext -o x.profdata -r one.map -r two.map",
        "merge a.proftext -o x.profdata --function one --function two",
        "merge a.proftext -o x.profdata --min-inputs 5 --min-inputs 1",
        "diff a.proftext a.proftext --fail-below counters=90% --fail-below total=1%",
        "fit a.proftext --against one --against two",
        "show c.collapsed --thread one --thread two",
    ] {
        refused(&folder, options, &["cannot be used multiple times"]);
    }
    refused(&folder, "merge --watch . -o x.profdata --max-input-share 50%", &["which --watch does not keep"]);
    refused(&folder, "convert c.collapsed -o x.afdo", &["name the program with --binary"]);
    for command in ["merge", "convert"] {
        let words = "iprof files cannot be written as a memory profile in YAML";
        refused(&folder, &format!("{command} f.iprof -o x.yaml"), &[words]);
    }
}

#[test]
fn a_version_of_sample_profiles_is_rejected_for_other_profiles() {
    let folder = folder();
    for version in [103, 104] {
        let line = format!("merge a.proftext -o x.profdata --sample-format-version {version}");
        refused(&folder, &line, &["--sample-format-version is for sample profiles"]);
    }
    let default = written(&folder, "merge s.afdo -o x.afdo --sample-format extbinary", "x.afdo");
    let line = "merge s.afdo -o y.afdo --sample-format extbinary --sample-format-version 103";
    assert_eq!(written(&folder, line, "y.afdo"), default);
}

#[test]
fn flame_graphs_reject_other_extensions() {
    let folder = Folder::new();
    fs::write(folder.path("c"), "a;b 1\nc;d 2\n").unwrap();
    for name in ["x.png", "x.PDF", "x.jpeg"] {
        for command in ["flamegraph", "report"] {
            let finished = folder.run(&[command, "c", "-o", name]);
            finished.assert_refused(2, &["cannot write", ".svg"]);
        }
    }
    for width in ["nan", "inf", "wide"] {
        folder.run(&["flamegraph", "c", "-o", "x.svg", "--min-width", width]).assert_refused(2, &["pixels"]);
    }
    fs::write(folder.path("a.proftext"), ":ir\nmain\n1\n1\n5\n").unwrap();
    for name in ["c", "a.proftext"] {
        folder.run(&["repair", name, "-o", "x.iprof"]).assert_refused(1, &["run `profbridge check`"]);
    }
    // Standard output contains the document only.
    let both = folder.run(&["merge", "a.proftext", "-o", "x.profdata", "--show", "--json"]);
    assert_eq!(both.code, Some(2), "{}", both.stderr);
    assert_eq!(folder.names(), ["a.proftext", "c"]);
}

#[test]
fn the_extension_selects_the_output_format() {
    let folder = folder();
    for command in ["merge", "convert"] {
        for (input, output, begins) in [
            ("a.proftext", "x.proftext", &b"# IR"[..]),
            ("a.proftext", "x.profdata", b"\xfflprofi\x81"),
            ("a.proftext", "x.profraw", b"\x81rforpl\xff"),
            ("a.proftext", "x.iprof", b"{"),
            ("a.proftext", "x.profdata.gz", b"\x1f\x8b"),
            ("a.proftext", "x.proftext.gz", b"\x1f\x8b"),
            ("s.afdo", "y.proftext", b"foo:10:1"),
            ("s.afdo", "y.profdata", b"2SDITAMD"),
            ("s.afdo", "y.profdata.gz", b"\x1f\x8b"),
            ("f.iprof", "z.json", b"{"),
            ("f.iprof", "z.json.gz", b"\x1f\x8b"),
            ("c.collapsed", "w.folded", b"a;b 1"),
            ("c.collapsed", "w.collapsed.gz", b"\x1f\x8b"),
            ("c.collapsed", "w.pb.gz", b"\x1f\x8b"),
            ("c.collapsed", "w.pb", b"\n"),
        ] {
            let line = format!("{command} {input} -o {output}");
            let bytes = written(&folder, &line, output);
            let is_sample_binary = begins == b"2SDITAMD";
            if !is_sample_binary {
                assert!(bytes.starts_with(begins), "{line}: {:x?}", &bytes[..bytes.len().min(8)]);
            } else {
                assert!(!bytes.starts_with(b"foo"), "{line}");
            }
            if output.ends_with(".gz") && !output.starts_with("w.pb") {
                let finished = folder.run(&["show", output]);
                assert_eq!(finished.code, Some(0), "{output}: {}", finished.stderr);
            }
            fs::remove_file(folder.path(output)).expect("removed");
        }
    }
}

#[test]
fn unknown_extension_selects_the_family_default() {
    let folder = folder();
    assert!(written(&folder, "merge a.proftext -o x.data", "x.data").starts_with(b"\xfflprofi\x81"));
    assert!(written(&folder, "merge a.proftext -o x.data --to text", "x.data").starts_with(b"# IR"));
    assert!(written(&folder, "merge f.iprof -o y", "y").starts_with(b"{"));
    assert!(written(&folder, "merge c.collapsed -o z", "z").starts_with(b"a;b 1"));
    assert!(written(&folder, "convert a.proftext -o x.data", "x.data").starts_with(b"\xfflprofi\x81"));
    assert!(written(&folder, "convert f.iprof -o y", "y").starts_with(b"{"));
    assert!(written(&folder, "convert c.collapsed -o z", "z").starts_with(b"a;b 1"));
}

#[test]
fn a_name_and_an_option_that_contradict_each_other_are_refused() {
    let folder = folder();
    for command in ["merge", "convert"] {
        let say = |line: &str| format!("{command} {line}");
        let both = ["--to text", ".profdata", "name the output .proftext, or omit --to text"];
        refused(&folder, &say("a.proftext --to text -o x.profdata"), &both);
        refused(&folder, &say("a.proftext --to indexed -o x.proftext.gz"), &["--to indexed"]);
        refused(&folder, &say("a.proftext --to llvm -o x.iprof"), &["--to llvm", ".profdata"]);
        refused(&folder, &say("s.afdo --sample-format text -o x.profdata"), &["--sample-format", ".proftext"]);
        refused(&folder, &say("s.afdo --sample-format text --to indexed -o x"), &["omit one of them"]);
    }
    refused(&folder, "merge a.proftext --text -o x.profdata", &["--text", "name the output .proftext"]);
    refused(&folder, "merge a.proftext --text --to raw -o x", &["--to raw", "--text", "omit one of them"]);
    refused(&folder, "merge a.proftext --partial -o x.proftext", &["--partial"]);
}

#[test]
fn impossible_conversions_are_errors() {
    let folder = folder();
    for command in ["merge", "convert"] {
        for (line, words) in [
            ("a.proftext -o x.json", &["only iprof profiles can be written as JSON", ".iprof"][..]),
            ("a.proftext -o x.afdo", &["sample profile"]),
            ("a.proftext -o x.memprofyaml", &["no memory profile"]),
            ("a.proftext -o x.jfr", &["cannot write JFR recordings"]),
            ("a.proftext -o x.svg", &["profbridge flamegraph"]),
            ("a.proftext -o x.html", &["profbridge report"]),
            ("s.afdo -o x.iprof", &["LLVM sample profiles cannot be written as an iprof"]),
            ("s.afdo -o x.collapsed", &["LLVM sample profiles cannot be written as collapsed stacks"]),
            ("c.collapsed -o x.profdata", &["sampled stacks cannot be written as", ".collapsed or .pprof"]),
            ("c.collapsed -o x.proftext", &["sampled stacks cannot be written as"]),
        ] {
            refused(&folder, &format!("{command} {line}"), words);
        }
    }
    refused(&folder, "merge a.proftext -o x.collapsed", &["cannot be written as collapsed stacks"]);
    refused(&folder, "flamegraph c.collapsed -o x.proftext", &["a flame graph cannot be written as", ".svg or .html"]);
}

#[test]
fn the_extension_selects_svg_or_html() {
    let folder = folder();
    for command in ["flamegraph", "report"] {
        let page = written(&folder, &format!("{command} c.collapsed -o x.html"), "x.html");
        assert!(page.to_ascii_lowercase().starts_with(b"<!doctype html>"), "{command}");
        let drawing = written(&folder, &format!("{command} c.collapsed -o x.svg"), "x.svg");
        assert!(drawing.starts_with(b"<?xml") || drawing.starts_with(b"<svg"), "{command}");
        assert!(written(&folder, &format!("{command} c.collapsed -o x.svg.gz"), "x.svg.gz").starts_with(b"\x1f\x8b"));
    }
}

#[test]
fn an_input_is_not_replaced_by_another_format() {
    let folder = folder();
    let raw = fs::read(testdata("raw/clang-22-ir.profraw")).expect("read");
    for name in ["in.data", "in.profraw"] {
        fs::write(folder.path(name), &raw).expect("written");
    }
    refused(&folder, "merge in.data -o in.data", &["the output is also an input", "--force"]);
    refused(&folder, "merge a.proftext in.data -o ./in.data", &["LLVM raw profile", "--force"]);
    refused(&folder, "convert in.data --to text -o in.data", &["--force"]);
    refused(&folder, "show in.data -o in.data", &["the output is also an input"]);
    refused(&folder, "order in.data -o in.data", &["the output is also an input"]);
    refused(&folder, "overlap in.data a.proftext -o in.data", &["the output is also an input"]);
    refused(&folder, "flamegraph c.collapsed -o c.collapsed", &["the output is also an input"]);
    assert_eq!(fs::read(folder.path("in.data")).expect("read"), raw);
    // A file can be replaced by the same format, for example to accumulate profiles.
    assert!(written(&folder, "merge in.profraw -o in.profraw", "in.profraw").starts_with(b"\x81rforpl\xff"));
    assert!(written(&folder, "merge a.proftext -o a.proftext", "a.proftext").starts_with(b"# IR"));
    let accumulated = run(&folder, "merge a.proftext in.profraw -o a.proftext");
    assert!(accumulated.stderr.contains("a.proftext: the output is also an input"), "{}", accumulated.stderr);
    assert!(written(&folder, "merge in.data -o in.data --force", "in.data").starts_with(b"\xfflprofi\x81"));
}

#[test]
fn a_memory_profile_becomes_yaml_and_comes_back() {
    let folder = folder();
    let yaml = testdata("memprof/clang-22-histogram.yaml").display().to_string();
    for command in ["merge", "convert"] {
        let text = written(&folder, &format!("{command} {yaml} -o x.memprofyaml"), "x.memprofyaml");
        assert!(text.starts_with(b"---"), "{}", String::from_utf8_lossy(&text));
        written(&folder, &format!("merge {yaml} -o direct.profdata"), "direct.profdata");
        written(&folder, "merge x.memprofyaml -o again.profdata", "again.profdata");
        let [direct, again] = ["direct.profdata", "again.profdata"].map(|name| fs::read(folder.path(name)).unwrap());
        assert_eq!(direct, again, "{command}");
    }
}

/// Existing files that are not an output of `merge a.proftext`.
fn valuable_files() -> [(&'static str, Vec<u8>); 7] {
    let raw = fs::read(testdata("raw/clang-22-ir.profraw")).expect("read");
    [
        ("run.profraw", raw.clone()),
        ("raw.data", raw),
        ("main.c", b"int main(void) { return 0; }\n".to_vec()),
        ("app", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec()),
        ("f.data", INPUTS[3].1.into()),
        ("s.data", INPUTS[1].1.into()),
        ("c.data", INPUTS[2].1.into()),
    ]
}

#[test]
fn an_existing_file_that_is_not_an_earlier_output_is_kept() {
    let folder = folder();
    for (name, content) in valuable_files() {
        fs::write(folder.path(name), &content).expect("written");
        let to = if name.ends_with(".profraw") { "raw" } else { "indexed" };
        for line in [format!("merge a.proftext -o {name}"), format!("convert a.proftext --to {to} -o {name}")] {
            refused(&folder, &line, &[name, "the file exists and is not an earlier output", "--force"]);
            assert_eq!(fs::read(folder.path(name)).expect("read"), content, "{line}");
            assert!(written(&folder, &format!("{line} --force"), name) != content, "{line}");
            fs::write(folder.path(name), &content).expect("written");
        }
        assert!(written(&folder, &format!("llvm-profdata merge a.proftext -o {name}"), name) != content, "{name}");
    }
    fs::write(folder.path("other.data"), INPUTS[0].1).expect("written");
    for line in ["merge f.iprof -o other.data", "merge c.collapsed -o other.data", "merge s.afdo -o other.data"] {
        refused(&folder, line, &["other.data: the file exists and is not an earlier output: LLVM text profile"]);
    }
    let document = run(&folder, "merge c.collapsed -o other.data --json").stdout;
    let document: serde_json::Value = serde_json::from_slice(&document).expect("a document");
    assert_eq!((&document["error"]["kind"], &document["output"]), (&"usage".into(), &serde_json::Value::Null));
}

/// `profbridge merge -o d/*.profraw`
#[test]
fn a_forgotten_output_does_not_replace_the_first_input() {
    let folder = Folder::new();
    let raw = fs::read(testdata("merge/clang-22/run-1.profraw")).expect("read");
    for name in ["run-1.profraw", "run-2.profraw"] {
        fs::write(folder.path(name), &raw).expect("written");
    }
    for line in ["merge -o run-1.profraw run-2.profraw", "convert -o run-1.profraw run-2.profraw"] {
        refused(&folder, line, &["run-1.profraw: ", "LLVM raw profile", "--force"]);
        assert_eq!(fs::read(folder.path("run-1.profraw")).expect("read"), raw, "{line}");
    }
}

#[test]
fn an_earlier_output_and_an_empty_file_are_replaced() {
    let folder = folder();
    fs::write(folder.path("empty"), "").expect("written");
    written(&folder, "merge a.proftext -o empty", "empty");
    for line in [
        "merge a.proftext -o x",
        "merge a.proftext --text -o x",
        "merge a.proftext --partial -o x",
        "convert a.proftext --to indexed -o x",
        "merge a.proftext --function nothing --allow-empty -o x",
        "merge a.proftext --function nothing --allow-empty --text -o x",
        "merge s.afdo -o y",
        "merge s.afdo --to text -o y",
        "merge s.afdo --partial --to indexed -o y",
        "merge s.afdo --function nothing --allow-empty -o y",
        "merge s.afdo --function nothing --allow-empty --to text -o y",
        "merge c.collapsed -o z",
        "merge c.collapsed --to pprof -o z",
        "merge c.collapsed --partial -o z",
        "merge c.collapsed --partial --to pprof -o z",
        "merge c.collapsed --thread missing --allow-empty --to pprof -o z",
        "merge c.collapsed --thread missing --allow-empty -o z",
        "merge f.iprof -o i",
        "merge f.iprof --partial -o i",
        "convert f.iprof --only nowhere --allow-empty --to iprof -o i",
        "merge f.iprof -o i.iprof.gz",
    ] {
        let output = line.rsplit(' ').next().expect("a name");
        assert_eq!(written(&folder, line, output), written(&folder, line, output), "{line}");
    }
}

/// Reports have no `--force`: `flamegraph -o d/*.data`
#[test]
fn a_report_replaces_only_text_that_is_not_a_profile() {
    let folder = folder();
    let temporal = testdata("raw/clang-22-temporal.proftext").display().to_string();
    let commands = [
        ("report c.collapsed -o".to_string(), "html"),
        ("report a.proftext -o".to_string(), "html"),
        ("flamegraph c.collapsed -o".to_string(), "svg"),
        ("flamegraph f.iprof -o".to_string(), "svg.gz"),
        ("show a.proftext --all-functions --counts -o".to_string(), "txt"),
        ("show a.proftext --covered -o".to_string(), "txt"),
        ("show a.proftext --text --all-functions -o".to_string(), "txt"),
        ("show a.proftext --json -o".to_string(), "json"),
        ("show s.afdo -o".to_string(), "txt"),
        ("show s.afdo --json -o".to_string(), "json"),
        ("show c.collapsed -o".to_string(), "txt"),
        ("show c.collapsed --json -o".to_string(), "json"),
        ("show f.iprof -o".to_string(), "txt"),
        ("show f.iprof --json -o".to_string(), "json"),
        ("overlap a.proftext a.proftext -o".to_string(), "txt"),
        ("overlap s.afdo s.afdo --json -o".to_string(), "json"),
        (format!("order {temporal} -o"), "order"),
        (format!("order {temporal} --json -o"), "json"),
        ("generate --format=iprof -o g.iprof --truth".to_string(), "json"),
        ("fit a.proftext --against a.proftext --write-remapping".to_string(), "txt"),
    ];
    let partial = written(&folder, "merge --partial s.afdo -o part.data", "part.data");
    let mut valuable = valuable_files().to_vec();
    valuable.retain(|(name, _)| *name != "main.c");
    valuable
        .extend([("part.data", partial), ("indexed.data", written(&folder, "merge a.proftext -o x.data", "x.data"))]);
    for (line, extension) in commands {
        let name = format!("report.{extension}");
        fs::write(folder.path(&name), b"").expect("written");
        let report = written(&folder, &format!("{line} {name}"), &name);
        // An earlier report is replaced.
        assert_eq!(written(&folder, &format!("{line} {name}"), &name), report, "{line}");
        if !line.contains("--text") {
            fs::write(folder.path(&name), b"Some notes.\n").expect("written");
        }
        assert_eq!(written(&folder, &format!("{line} {name}"), &name), report, "{line}");
        for (_, content) in &valuable {
            if line.contains("--text") && content.starts_with(b"\xfflprofi") {
                continue;
            }
            fs::write(folder.path(&name), content).expect("written");
            refused(
                &folder,
                &format!("{line} {name}"),
                &["the file exists and is not an earlier output", "choose another output"],
            );
            assert_eq!(&fs::read(folder.path(&name)).expect("read"), content, "{line}");
        }
        fs::remove_file(folder.path(&name)).expect("removed");
    }
    // Lines with a number at the end look like stacks.
    for input in ["--format sample-text --seed 7 -o many.afdo", "--format memory-indexed -o memory.profdata"] {
        assert_eq!(run(&folder, &format!("generate {input}")).code, Some(0));
    }
    for line in ["show many.afdo -o", "show memory.profdata --memory -o", "show memory.profdata --memory --yaml -o"] {
        let first = written(&folder, &format!("{line} again"), "again");
        assert_eq!(written(&folder, &format!("{line} again"), "again"), first, "{line}");
        fs::remove_file(folder.path("again")).expect("removed");
    }
    // Devices are not replaced.
    assert_eq!(run(&folder, "report c.collapsed -o /dev/null").code, Some(0));
}

#[test]
fn a_pruned_profile_replaces_only_an_earlier_one() {
    let folder = folder();
    let line = "fit a.proftext --against a.proftext --prune -o";
    let pruned = written(&folder, &format!("{line} p.proftext"), "p.proftext");
    assert_eq!(written(&folder, &format!("{line} p.proftext"), "p.proftext"), pruned);
    for (name, content) in valuable_files() {
        fs::write(folder.path(name), &content).expect("written");
        refused(&folder, &format!("{line} {name}"), &["choose another output"]);
        assert_eq!(fs::read(folder.path(name)).expect("read"), content, "{name}");
    }
    refused(&folder, "fit a.proftext --against p.proftext --prune -o p.proftext", &["the output is also an input"]);
}
