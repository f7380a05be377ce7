//! Merges and shows random profiles with the real tools and with profbridge: bytes, texts and exit codes are equal.

use crate::generate::any_text;
use crate::tools::{Workspace, available};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::fs;
use std::os::unix::fs::symlink;

/// The encodings and weights of the inputs, and the options of a merge.
#[derive(Debug, Clone)]
struct Request {
    texts: Vec<String>,
    encodings: Vec<&'static str>,
    weight: u64,
    output: &'static str,
    options: Vec<&'static str>,
}

fn request(options: &'static [&'static str], outputs: &'static [&'static str]) -> impl Strategy<Value = Request> {
    const INPUTS: [&str; 4] = ["--text", "--binary", "--extbinary", "--extbinary --compress-all-sections"];
    let texts = any_text().prop_flat_map(|(shape, first)| {
        proptest::collection::vec(crate::generate::text(shape), 0..2).prop_map(move |mut texts| {
            texts.push(first.clone());
            texts
        })
    });
    let encodings = proptest::collection::vec(proptest::sample::select(&INPUTS[..]), 2);
    let options = proptest::sample::subsequence(options, 0..=options.len().min(3));
    let weight = prop_oneof![3 => Just(1u64), 1 => Just(3u64), 1 => Just(1 << 30)];
    (texts, encodings, weight, proptest::sample::select(outputs), options)
        .prop_map(|(texts, encodings, weight, output, options)| Request { texts, encodings, weight, output, options })
}

/// Writes the inputs in their encodings with the real tool. Returns their names.
fn inputs(workspace: &Workspace, tool: &str, request: &Request) -> String {
    let mut names = Vec::new();
    for (at, text) in request.texts.iter().enumerate() {
        workspace.write(&format!("in{at}.prof"), text);
        let encoding = request.encodings[at];
        let line = format!("{tool} merge --sample {encoding} in{at}.prof -o in{at}.enc");
        // A plain binary cannot store every profile.
        let encoded = workspace.attempt(&line).status.success();
        names.push(if encoded { format!("in{at}.enc") } else { format!("in{at}.prof") });
    }
    let last = names.pop().unwrap();
    format!("{} --weighted-input={},{last}", names.join(" "), request.weight)
}

fn run(strategy: impl Strategy<Value = Request>, cases: u32, check: impl Fn(&Request) -> Result<(), TestCaseError>) {
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    runner.run(&strategy, |request| check(&request)).unwrap_or_else(|error| panic!("{error}"));
}

const DROP_IN: [&str; 13] = [
    "--use-md5",
    "--compress-all-sections",
    "--gen-partial-profile",
    "--convert-sample-profile-layout=flat",
    "--convert-sample-profile-layout=nest",
    "--generate-merged-base-profiles",
    "--sample-trim-cold-context",
    "--function=a",
    "--no-function=^_Z",
    "--output-size-limit=900",
    "--profile-summary-cold-count=500",
    "--profile-summary-cutoff-cold=900000",
    "--profile-summary-contextless=false",
];

#[test]
fn the_drop_in_is_the_genuine_tool() {
    let tool = "llvm-profdata-22";
    if !available("the_drop_in_is_the_genuine_tool", &[tool]) {
        return;
    }
    let workspace = Workspace::with(&[]);
    symlink(env!("CARGO_BIN_EXE_profbridge"), workspace.path("llvm-profdata")).unwrap();
    run(request(&DROP_IN, &["--text", "--binary", "--extbinary"]), 25, |request| {
        let inputs = inputs(&workspace, tool, request);
        let options = request.options.join(" ");
        let line =
            |tool: &str, out: &str| format!("{tool} merge --sample {inputs} {options} {} -o {out}", request.output);
        let genuine = workspace.attempt(&line(tool, "out"));
        let expected = fs::read(workspace.path("out")).unwrap_or_default();
        let _ = fs::remove_file(workspace.path("out"));
        let ours = workspace.attempt(&line("./llvm-profdata", "out"));
        let found = fs::read(workspace.path("out")).unwrap_or_default();
        let _ = fs::remove_file(workspace.path("out"));
        prop_assert_eq!(ours.status.code(), genuine.status.code(), "{:?}", String::from_utf8_lossy(&ours.stderr));
        prop_assert_eq!(String::from_utf8_lossy(&ours.stderr), String::from_utf8_lossy(&genuine.stderr));
        if genuine.status.success() {
            prop_assert_eq!(found, expected, "{}", line("", ""));
        }
        for view in [
            "",
            "--json",
            "--detailed-summary --hot-func-list",
            "--detailed-summary --profile-summary-contextless=false",
            "--function=foo --topn=2",
            "--show-sec-info-only",
        ] {
            let line = |tool: &str| format!("{tool} show --sample {view} in0.enc");
            let (genuine, ours) = (workspace.attempt(&line(tool)), workspace.attempt(&line("./llvm-profdata")));
            prop_assert_eq!(
                String::from_utf8_lossy(&ours.stdout),
                String::from_utf8_lossy(&genuine.stdout),
                "{}",
                view
            );
            prop_assert_eq!(ours.status.code(), genuine.status.code());
        }
        workspace.write("other.prof", request.texts.last().expect("there is an input"));
        for hot in ["", "--profile-summary-cutoff-hot=500000", "--profile-summary-hot-count=7"] {
            let line = |tool: &str| format!("{tool} overlap --sample --value-cutoff=10 {hot} in0.enc other.prof");
            let (genuine, ours) = (workspace.attempt(&line(tool)), workspace.attempt(&line("./llvm-profdata")));
            prop_assert_eq!(String::from_utf8_lossy(&ours.stdout), String::from_utf8_lossy(&genuine.stdout));
            prop_assert_eq!(ours.status.code(), genuine.status.code());
        }
        Ok(())
    });
}

/// Found by the random requests: a few entries have all samples, and none of them is a hot block.
#[test]
fn an_overlap_without_hot_functions_is_divided_as_there() {
    let tool = "llvm-profdata-22";
    if !available("an_overlap_without_hot_functions_is_divided_as_there", &[tool]) {
        return;
    }
    let workspace = Workspace::with(&[]);
    symlink(env!("CARGO_BIN_EXE_profbridge"), workspace.path("llvm-profdata")).unwrap();
    let profile = "[main]:4:49\n !Attributes: 2\n[x y(int):8 @ x y(int):5 @ bar]:51:1099511627776\n 26258: 62 x y(int):21\n \
        0: 1099511627776\n !Attributes: 3\n[bar]:1099511627776:51\n 3: 28 foo:96 main:9\n 0: 344515\n 8: 81 foo:87\n \
        !Attributes: 2\n";
    workspace.write("one.prof", profile);
    let line = |tool: &str| format!("{tool} overlap --sample --value-cutoff=10 one.prof one.prof");
    let (genuine, ours) = (workspace.attempt(&line(tool)), workspace.attempt(&line("./llvm-profdata")));
    let expected = String::from_utf8_lossy(&genuine.stdout);
    assert!(expected.contains("Hot-function overlap: -nan%"), "{expected}");
    assert_eq!(String::from_utf8_lossy(&ours.stdout), expected);
}

/// A profile with calling contexts of which some are cold.
const CONTEXTS: &str = "[main]:1000:1\n 1: 700\n 2: 300 hot:300\n[main:2 @ hot]:9000:300\n 1: 9000\n\
    [main:3 @ warm]:600:20\n 1: 600\n[main:3 @ warm:1 @ cold]:40:5\n 1: 40\n[main:4 @ cold]:30:2\n 1: 30\n\
    [cold]:3:1\n 1: 3\n";

/// LLVM gives up if its formula keeps no function, even if one would fit.
#[test]
fn a_size_limit_fails_as_there() {
    let tool = "llvm-profdata-22";
    if !available("a_size_limit_fails_as_there", &[tool]) {
        return;
    }
    let workspace = Workspace::with(&[]);
    symlink(env!("CARGO_BIN_EXE_profbridge"), workspace.path("llvm-profdata")).unwrap();
    let many: String = (1..50).map(|n| format!(" {n}: {n}\n")).collect();
    workspace.write("in.prof", &format!("hot:9999:1\n 1: 9999\ncold:1225:5\n{many}"));
    for limit in [10, 100, 200, 300, 400, 500] {
        let line =
            |tool: &str| format!("{tool} merge --sample --text in.prof --output-size-limit={limit} -o {limit}.out");
        let genuine = workspace.attempt(&line(tool));
        let expected = fs::read(workspace.path(&format!("{limit}.out"))).unwrap_or_default();
        fs::remove_file(workspace.path(&format!("{limit}.out"))).unwrap();
        let ours = workspace.attempt(&line("./llvm-profdata"));
        let found = fs::read(workspace.path(&format!("{limit}.out"))).unwrap_or_default();
        assert_eq!(ours.status.code(), genuine.status.code(), "{limit}");
        assert_eq!(String::from_utf8_lossy(&ours.stderr), String::from_utf8_lossy(&genuine.stderr), "{limit}");
        assert_eq!(found, expected, "{limit}");
    }
    let drop_in = "./llvm-profdata merge --sample --text in.prof --output-size-limit=100 -o out";
    assert_eq!(workspace.attempt(drop_in).status.code(), Some(1));
    workspace.run("profbridge merge --text in.prof --output-size-limit=100 -o out");
    assert_eq!(workspace.bytes("out"), b"hot:9999:1\n 1: 9999\n");
}

#[test]
fn a_truncated_binary_profile_fails_as_there() {
    let tool = "llvm-profdata-22";
    if !available("truncated binary sample profiles", &[tool]) {
        return;
    }
    let workspace = Workspace::with(&[]);
    symlink(env!("CARGO_BIN_EXE_profbridge"), workspace.path("llvm-profdata")).unwrap();
    workspace.write("good.prof", "foo:10:1\n 1: 10\n 2: 3 bar:2\n");
    for encoding in ["--binary", "--extbinary"] {
        workspace.run(&format!("{tool} merge --sample {encoding} good.prof -o whole"));
        let whole = workspace.bytes("whole");
        // The tool reads truncated sections as if they were complete, so cut the extensible binary in its table.
        let end = if encoding == "--binary" { whole.len() } else { 200 };
        for len in (9..end).step_by(5) {
            fs::write(workspace.path("cut"), &whole[..len]).unwrap();
            for inputs in ["good.prof cut", "cut good.prof"] {
                let line = format!("merge --sample --failure-mode=warn --text {inputs} -o");
                let [real, ours] =
                    [tool, "./llvm-profdata"].map(|tool| workspace.attempt(&format!("{tool} {line} out")));
                assert_eq!(real.status.code(), ours.status.code(), "{encoding}, {len} bytes: {ours:?}");
                assert_eq!(real.stderr, ours.stderr, "{encoding}, {len} bytes");
            }
        }
    }
}

/// A remapping of llvm-profdata drops calling contexts and attributes, also if the file has no rules. In profbridge mode
/// only the rules count.
#[test]
fn a_remapping_without_rules_has_the_effect_of_one() {
    let workspace = Workspace::with(&[]);
    workspace.write("empty", "");
    workspace.write("comment", "# old new\n\n");
    workspace.write("contexts.prof", "[main:3 @ foo]:100:20\n 1: 100\n[main]:300:3\n 3: 20 foo:20\n");
    workspace.write("nested.prof", "main:1000:10\n 2.1: 200 foo:150 bar:50\n 3: bar:300\n  1: 300\n !Attributes: 1\n");
    symlink(env!("CARGO_BIN_EXE_profbridge"), workspace.path("llvm-profdata-22")).unwrap();
    workspace.run("./llvm-profdata-22 merge --sample --text -r empty contexts.prof -o out");
    assert_eq!(workspace.bytes("out"), b"[main]:300:3\n 3: 20 foo:20\n[foo]:100:20\n 1: 100\n");
    let refused = workspace.attempt("./llvm-profdata-22 merge --sample -r empty contexts.prof -o no.prof");
    let message = "error: no.prof: writing 2 functions without a calling context in an extensible binary of calling contexts, \
                   which no tool could read; write text\n";
    assert_eq!((refused.status.code(), String::from_utf8_lossy(&refused.stderr).as_ref()), (Some(1), message));
    workspace.run("profbridge merge --text -r empty contexts.prof -o out");
    assert_eq!(workspace.bytes("out"), b"[main]:300:3\n 3: 20 foo:20\n[main:3 @ foo]:100:20\n 1: 100\n");
    for release in [13, 14, 15, 16, 19, 22] {
        let tool = format!("llvm-profdata-{release}");
        if !available("a_remapping_without_rules_has_the_effect_of_one", &[&tool]) {
            continue;
        }
        let link = workspace.path(&tool);
        if !link.exists() {
            symlink(env!("CARGO_BIN_EXE_profbridge"), link).unwrap();
        }
        for line in [
            "--text contexts.prof",
            "--text nested.prof",
            "--binary nested.prof",
            "--extbinary nested.prof",
            "--text nested.prof nested.prof",
        ] {
            // Release 13 joins functions with contexts into one without a name.
            if release == 13 && line.contains("contexts") {
                continue;
            }
            for file in ["empty", "comment"] {
                let [genuine, ours] = [tool.clone(), format!("./{tool}")].map(|tool| {
                    workspace.run(&format!("{tool} merge --sample -r {file} {line} -o out"));
                    workspace.bytes("out")
                });
                assert_eq!(ours, genuine, "{tool} -r {file} {line}");
            }
        }
    }
}

/// In extensible binaries of LLVM 13, a function has metadata, but its inlined callees have none.
#[test]
fn checksums_of_llvm_13_are_read_and_written() {
    let workspace = Workspace::with(&[]);
    let profile = "main:1000:10\n 1: 100\n 3: bar:300\n  1: 300\n !CFGChecksum: 7\nfoo:5:5\n 1: 5\n !CFGChecksum: 9\n";
    workspace.write("in.prof", profile);
    workspace.run("profbridge merge --for llvm-13 --sample-format extbinary in.prof -o ours");
    symlink(env!("CARGO_BIN_EXE_profbridge"), workspace.path("llvm-profdata")).unwrap();
    let sections = workspace.run("./llvm-profdata show --sample --show-sec-info-only ours").stdout;
    let sections = String::from_utf8_lossy(&sections).into_owned();
    let two_records = "FunctionMetadata - Offset: 355, Size: 4, Flags: {probe}";
    assert!(sections.contains(two_records), "{sections}");
    workspace.run("profbridge merge --for llvm-13 --text ours -o out");
    assert_eq!(String::from_utf8_lossy(&workspace.bytes("out")), profile);
    let shown = workspace.run("profbridge show ours --function=foo").stdout;
    assert!(
        String::from_utf8_lossy(&shown).contains("Function: foo: CFG checksum 9\n5, 5"),
        "{}",
        String::from_utf8_lossy(&shown)
    );
    let tool = "llvm-profdata-13";
    if available("checksums_of_llvm_13_are_read_and_written", &[tool]) {
        workspace.run(&format!("{tool} merge --sample --extbinary in.prof -o genuine"));
        // The order of the metadata differs, so each tool reads the file of the other.
        workspace.run(&format!("{tool} merge --sample --text ours -o out"));
        assert_eq!(String::from_utf8_lossy(&workspace.bytes("out")), profile);
        workspace.run("profbridge merge --for llvm-13 --text genuine -o out");
        assert_eq!(String::from_utf8_lossy(&workspace.bytes("out")), profile);
    }
}

/// LLVM 17 removed the compact encoding and its option.
#[test]
fn links_of_old_releases_write_compact_binaries() {
    let workspace = Workspace::with(&[]);
    workspace.write("in.prof", "main:1000:10\n 2.1: 200 foo:150 bar:50\n 3: bar:300\n  1: 300\nfoo:150:150\n 1: 150\n");
    workspace.write("probes.prof", "main:1000:10\n 1: 1000\n !CFGChecksum: 7\n");
    workspace.write("code.proftext", ":ir\nmain\n1\n1\n5\n\n");
    for release in ["", "-13", "-14", "-15", "-16", "-17"] {
        symlink(env!("CARGO_BIN_EXE_profbridge"), workspace.path(&format!("llvm-profdata{release}"))).unwrap();
    }
    workspace.run("./llvm-profdata-16 merge -sample in.prof -compbinary -o out");
    assert_eq!(profbridge::identify::detect(&workspace.bytes("out")).name(), "sample-compact");
    for release in ["", "-17"] {
        let refused = workspace.attempt(&format!("./llvm-profdata{release} merge -sample in.prof -compbinary -o none"));
        let message = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(message.contains("Unknown command line argument '-compbinary'."), "{message}");
    }
    for release in 13..=16 {
        let tool = format!("llvm-profdata-{release}");
        if !available("links_of_old_releases_write_compact_binaries", &[&tool]) {
            continue;
        }
        for line in [
            "--sample in.prof --compbinary",
            "--sample in.prof -compbinary -use-md5",
            "--sample probes.prof -compbinary",
            "--sample in.prof -compbinary=1",
            "code.proftext --compbinary",
        ] {
            let [genuine, ours] = [tool.clone(), format!("./{tool}")].map(|tool| {
                let _ = fs::remove_file(workspace.path("out"));
                let output = workspace.attempt(&format!("{tool} merge {line} -o out"));
                // A failed merge of the real tool leaves an empty file.
                let written = fs::read(workspace.path("out")).unwrap_or_default();
                (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned(), written)
            });
            assert_eq!(ours, genuine, "{tool} {line}");
        }
    }
}

#[test]
fn hidden_summary_options_change_thresholds() {
    let workspace = Workspace::with(&[]);
    symlink(env!("CARGO_BIN_EXE_profbridge"), workspace.path("llvm-profdata")).unwrap();
    workspace.write("in.prof", CONTEXTS);
    let left = |options: &str| {
        workspace.run(&format!(
            "./llvm-profdata merge --sample --text --sample-merge-cold-context --sample-trim-cold-context {options} in.prof \
             -o out"
        ));
        let text = String::from_utf8(workspace.bytes("out")).unwrap();
        text.lines().filter(|line| line.starts_with('[')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(left("--profile-summary-cold-count=0").len(), 6);
    assert_eq!(left("--profile-summary-cold-count=35").len(), 4);
    assert_eq!(left("--profile-summary-cold-count=700"), ["[main:2 @ hot]:9000:300", "[main]:1000:1"]);
    assert_eq!(left("--profile-summary-cutoff-cold=800000"), ["[main:2 @ hot]:9000:300"]);
    assert_eq!(left("--profile-summary-cutoff-cold=0"), [""; 0], "everything is cold");
    assert_eq!(left("--profile-summary-cutoff-cold=0 --profile-summary-cold-count=35").len(), 4);
    let line = "./llvm-profdata merge --sample --text --sample-trim-cold-context in.prof -o out";
    let refused = workspace.attempt(&format!("{line} --profile-summary-cutoff-cold=1000000"));
    assert_eq!(refused.status.code(), Some(1));
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(text.contains("Desired percentile exceeds the maximum cutoff"), "{text}");

    let tool = "llvm-profdata-22";
    if !available("hidden_summary_options_change_thresholds", &[tool]) {
        return;
    }
    let commands = [
        "merge --sample --extbinary in.prof -o result",
        "merge --sample --text --sample-merge-cold-context in.prof -o -",
        "merge --sample --text --sample-merge-cold-context --sample-trim-cold-context in.prof -o -",
        "merge --sample --text --convert-sample-profile-layout=flat --sample-merge-cold-context in.prof -o -",
        "show --sample --detailed-summary --hot-func-list in.prof",
        "overlap --sample in.prof in.prof",
    ];
    let options = [
        "--profile-summary-cold-count=0",
        "--profile-summary-cold-count=50",
        "--profile-summary-hot-count=50",
        "--profile-summary-cutoff-hot=500000",
        "--profile-summary-cutoff-hot=0",
        "--profile-summary-cutoff-hot=0 --profile-summary-hot-count=50",
        "--profile-summary-cutoff-cold=900000",
        "--profile-summary-cutoff-cold=0",
        "--profile-summary-contextless",
        "--profile-summary-contextless=false",
        "--profile-summary-contextless=false --profile-summary-cutoff-cold=990000",
        "--profile-summary-huge-working-set-size-threshold=1",
        "--profile-summary-large-working-set-size-threshold=1",
    ];
    let mut plain = 0;
    for command in commands {
        let result = |tool: &str, options: &str| {
            let mut found = workspace.run(&format!("{tool} {command} {options}")).stdout;
            if command.ends_with("result") {
                found = workspace.bytes("result");
            }
            found
        };
        let before = result(tool, "");
        for options in options {
            let (genuine, ours) = (result(tool, options), result("./llvm-profdata", options));
            assert_eq!(ours, genuine, "{command} {options}");
            plain += usize::from(genuine == before);
        }
    }
    // Each command obeys some of the options.
    assert!(plain < commands.len() * options.len() - commands.len(), "{plain}");
}

/// The releases whose tools are tested in builds with libc++.
const LIBCXX: [u32; 5] = [17, 18, 20, 21, 23];

/// Compares a merge for a release in profbridge mode with the release's tool.
fn for_release(test: &str, release: u32) {
    const OPTIONS: [&str; 3] = ["--use-md5", "--compress-all-sections", "--gen-partial-profile"];
    let tool = format!("llvm-profdata-{release}");
    if !available(test, &[&tool]) {
        return;
    }
    let workspace = Workspace::with(&[]);
    let outputs: &[&str] =
        if release <= 16 { &["text", "binary", "extbinary", "compbinary"] } else { &["text", "binary", "extbinary"] };
    run(request(&OPTIONS, outputs), 15, |request| {
        // The order of metadata is that of a container of the C++ library, which is libc++ in the builds of these
        // releases.
        let has_metadata = request.texts.iter().any(|text| text.contains(['[', '!']));
        if LIBCXX.contains(&release) && request.output == "extbinary" && has_metadata {
            return Ok(());
        }
        // Release 13 stores a context as a name, which profbridge refuses. Its text has no attributes, and no checksums
        // of inlined functions.
        let is_newer = |text: &String| ["[", "!Attributes", "  !"].iter().any(|part| text.contains(part));
        if release == 13 && request.texts.iter().any(is_newer) {
            return Ok(());
        }
        // Release 14 loses the property of an extensible binary that it was pre-inlined; profbridge keeps it.
        let mut request = request.clone();
        if release == 14 {
            request.encodings = vec!["--text"; 2];
        }
        let inputs = inputs(&workspace, &tool, &request);
        let output = request.output;
        // llvm-profdata ignores the options for other encodings, with a warning; profbridge rejects them.
        let options = if output == "extbinary" { request.options.join(" ") } else { String::new() };
        let encoding = if output == "compbinary" { "compact" } else { output };
        let genuine = workspace.attempt(&format!("{tool} merge --sample {inputs} {options} --{output} -o genuine"));
        let ours = workspace.attempt(&format!(
            "profbridge merge --for llvm-{release} {inputs} {options} --sample-format={encoding} -o ours"
        ));
        prop_assert_eq!(ours.status.success(), genuine.status.success(), "{}", String::from_utf8_lossy(&ours.stderr));
        if genuine.status.success() {
            prop_assert_eq!(workspace.bytes("ours"), workspace.bytes("genuine"));
        }
        Ok(())
    });
}

#[test]
fn merges_for_13_are_its_own() {
    for_release("merges_for_13_are_its_own", 13);
}

#[test]
fn merges_for_14_are_its_own() {
    for_release("merges_for_14_are_its_own", 14);
}

#[test]
fn merges_for_16_are_its_own() {
    for_release("merges_for_16_are_its_own", 16);
}

#[test]
fn merges_for_19_are_its_own() {
    for_release("merges_for_19_are_its_own", 19);
}

#[test]
fn merges_for_17_18_20_21_and_23_are_their_own() {
    LIBCXX.into_iter().for_each(|release| for_release("merges_for_17_18_20_21_and_23_are_their_own", release));
}

#[test]
fn version_104_is_that_of_23() {
    let tool = "llvm-profdata-23";
    if !available("version_104_is_that_of_23", &[tool]) {
        return;
    }
    let workspace = Workspace::with(&[]);
    symlink(env!("CARGO_BIN_EXE_profbridge"), workspace.path(tool)).unwrap();
    workspace.write("a.prof", "foo:30:10\n 1: 10\n 2: 20 bar:15\nbar:5:5\n 1: 5\n");
    for options in ["", "--use-md5", "--compress-all-sections", "--split-layout"] {
        for version in [103, 104] {
            let line = format!(
                "{tool} merge --sample --extbinary {options} --sample-profile-format-version={version} a.prof -o "
            );
            workspace.run(&format!("{line} genuine"));
            workspace.run(&format!("./{line} ours"));
            workspace.assert_same("ours", "genuine");
            workspace.run(&format!(
                "profbridge convert --for llvm-23 --sample-format-version {version} {options} a.prof -o ours"
            ));
            workspace.assert_same("ours", "genuine");
        }
    }
    for version in [102, 105] {
        let line =
            format!("{tool} merge --sample --extbinary --sample-profile-format-version={version} a.prof -o refused");
        let (genuine, ours) = (workspace.attempt(&line), workspace.attempt(&format!("./{line}")));
        assert_eq!(String::from_utf8_lossy(&ours.stderr), String::from_utf8_lossy(&genuine.stderr));
        assert_eq!((ours.status.code(), genuine.status.code()), (Some(1), Some(1)));
    }
}

/// The rules changed with release 16, and the separator of static functions with release 18.
#[test]
fn counters_are_supplemented_as_the_genuine_tool_does() {
    for release in [14, 15, 16, 19, 22] {
        let tool = format!("llvm-profdata-{release}");
        if !available("counters_are_supplemented_as_the_genuine_tool_does", &[&tool]) {
            continue;
        }
        let workspace = Workspace::with(&[]);
        symlink(env!("CARGO_BIN_EXE_profbridge"), workspace.path(&tool)).unwrap();
        let cold = "foo\n100\n5\n12\n13\n4\n0\n0\n1\n0\n1\n1\nbar:3\n\n";
        let zero = "a.c;baz\n9\n3\n0\n0\n0\n\na.c:old\n9\n3\n0\n0\n0\n\nrare\n9\n3\n0\n1\n1\n\n";
        let twice = "a.c;dup\n1\n1\n0\n\nb.c;dup\n1\n1\n0\n\n";
        workspace.write("counters.proftext", &format!(":ir\nbar\n7\n2\n5\n900\n\n{cold}{zero}{twice}"));
        let baz = "baz:500:80\n 1: 400\nold:500:80\n 1: 400\nrare:500:80\n 1: 400\n";
        let samples =
            format!("foo:300000:200000\n 1: 100000\n 2: inlined:200\n  1: 500000\n{baz}dup:90000:9\n 1: 90000\n");
        workspace.write("samples.prof", &samples);
        workspace.run(&format!("{tool} merge --text counters.proftext -o plain"));
        for options in
            ["", "--suppl-min-size-threshold=1", "--suppl-min-size-threshold=0 --instr-prof-cold-threshold=500"]
        {
            let line = |tool: &str, out: &str| {
                format!(
                    "{tool} merge --text counters.proftext --supplement-instr-with-sample=samples.prof {options} -o {out}"
                )
            };
            let ours = workspace.run(&line(&format!("./{tool}"), "ours"));
            let genuine = workspace.run(&line(&tool, "genuine"));
            assert_eq!(String::from_utf8_lossy(&ours.stderr), String::from_utf8_lossy(&genuine.stderr), "{tool}");
            assert_eq!(workspace.bytes("ours"), workspace.bytes("genuine"), "{tool} {options}");
            let is_raised = options.contains("cold") || (release >= 16 && options.contains("=1"));
            assert_eq!(workspace.bytes("ours") != workspace.bytes("plain"), is_raised, "{tool} {options}");
        }
    }
}

/// LLVM takes no traces while it supplements, and reports each count that it cannot scale.
#[test]
fn a_supplemented_profile_has_no_traces_and_too_large_counts_are_reported() {
    let workspace = Workspace::with(&[]);
    symlink(env!("CARGO_BIN_EXE_profbridge"), workspace.path("llvm-profdata")).unwrap();
    workspace.write("samples.prof", "hot:9500:2000\n 1: 2000\n 2: 5000\n");
    let traces = ":temporal_prof_traces\n1\n1\n1\ncold,hot\n";
    let records = "cold\n2\n2\n5\n100\n\nhot\n1\n5\n4\n4294967296\n1000\n0\n4294967296\n\n";
    workspace.write("traced.proftext", &format!(":ir\n{traces}\n{records}"));
    let merge = "merge --text --supplement-instr-with-sample=samples.prof --suppl-min-size-threshold=0 traced.proftext";
    let ours = workspace.run(&format!("./llvm-profdata {merge} -o ours"));
    assert_eq!(String::from_utf8_lossy(&ours.stderr), "warning: counter overflow\n".repeat(2));
    let text = String::from_utf8(workspace.bytes("ours")).unwrap();
    assert!(!text.contains("cold,hot"), "{text}");
    let tool = "llvm-profdata-22";
    if available("a_supplemented_profile_has_no_traces_and_too_large_counts_are_reported", &[tool]) {
        let genuine = workspace.run(&format!("{tool} {merge} -o genuine"));
        assert_eq!(ours.stderr, genuine.stderr);
        assert_eq!(workspace.bytes("ours"), workspace.bytes("genuine"));
    }
}

/// Sample profiles have no allocations.
#[test]
fn options_of_memory_profiles_have_no_effect_on_samples() {
    let workspace = Workspace::with(&[]);
    symlink(env!("CARGO_BIN_EXE_profbridge"), workspace.path("llvm-profdata")).unwrap();
    workspace.write("a.prof", "hot:9500:2000\n 1: 2000\n");
    let merge = "merge --sample --memprof-random-hotness --memprof-random-hotness-seed=5 a.prof";
    let ours = workspace.run(&format!("./llvm-profdata {merge} -o ours"));
    assert_eq!((String::from_utf8_lossy(&ours.stdout), String::from_utf8_lossy(&ours.stderr)), ("".into(), "".into()));
    let tool = "llvm-profdata-22";
    if available("options_of_memory_profiles_have_no_effect_on_samples", &[tool]) {
        let genuine = workspace.run(&format!("{tool} {merge} -o genuine"));
        assert_eq!((genuine.stdout, genuine.stderr), (ours.stdout, ours.stderr));
        assert_eq!(workspace.bytes("ours"), workspace.bytes("genuine"));
    }
}

/// Documented in docs/reference/sampleprof.md: LLVM writes this function without its name.
#[test]
fn an_inlined_function_of_the_metadata_alone_keeps_its_name() {
    let workspace = Workspace::with(&[]);
    fs::write(workspace.path("in.ext"), include_bytes!("../../testdata/sampleprof/metadata-alone.ext")).unwrap();
    symlink(env!("CARGO_BIN_EXE_profbridge"), workspace.path("llvm-profdata")).unwrap();
    workspace.run("./llvm-profdata merge --sample --text in.ext -o ours");
    let ours = String::from_utf8(workspace.bytes("ours")).unwrap();
    assert!(ours.contains("\n 4: 7546896869197086323:0\n"), "{ours}");
    let tool = "llvm-profdata-22";
    if available("an_inlined_function_of_the_metadata_alone_keeps_its_name", &[tool]) {
        workspace.run(&format!("{tool} merge --sample --text in.ext -o theirs"));
        let theirs = String::from_utf8(workspace.bytes("theirs")).unwrap();
        assert_eq!(theirs, ours.replace(" 4: 7546896869197086323:0\n", " 4: :0\n"));
    }
}
