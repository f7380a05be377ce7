//! Runs the same command lines with both tools.

use super::both::{Folder, genuine};
use std::path::Path;

fn alike(test: &str, lines: &[&str]) {
    let Some(tool) = genuine(test) else { return };
    let folder = Folder::new();
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        folder.assert_alike(&tool, &words, b"");
    }
}

#[test]
fn usage_errors_are_alike() {
    alike(
        "usage_errors_are_alike",
        &[
            "",
            "bogus",
            "merg a",
            "mergee",
            "overlapp x",
            "show a b c",
            "overlap",
            "overlap a b c",
            "order a b",
            "merge",
            "merge --",
            "merge -- --text",
            "merge @missing",
            "merge --bogus --sprase -zz a",
            "merge -ox a",
            "merge -j4 a",
            "merge -fr a",
            "merge --otput=1 a",
            "merge --txet=1 a",
            "merge --zz=4",
            "merge a -o",
            "merge --text=1 a",
            "show --instr=1 a",
            "merge --sparse=maybe a",
            "merge -j abc a",
            "merge -j=-1 a",
            "merge --num-threads=08 a",
            "merge --failure-mode=zz a",
            "merge --failure-mode",
            "merge --vp-counters-per-site=x a",
            "merge --profile-summary-cutoff-hot=x a",
            "merge --import-cutoff=x a",
            "merge --import-instr-limit=x a",
            "merge --import-hot-multiplier=x a",
            "merge --rng-seed=x a",
            "merge --sample-profile-check-sample-coverage=x a",
            "merge --xcore-max-threads=0.5 a",
            "merge --temporal-profile-max-trace-length=x a",
            "merge --correlate=x a",
            "merge --color=x a",
            "merge --help=1",
            "merge -h=1",
            "merge ---sparse a",
            "show --detailed-summary-cutoffs=1,x a",
            "show --value-cutoff=x a",
            "overlap --value-cutoff=x a a",
            "overlap --similarity-cutoff=x a a",
            "show --detailed-summary-cutoffs= a",
            "show --show-format=xml a",
            "show --topn=99999999999 a",
            "show --sparse a",
            "show",
            "merge -o= a.proftext",
        ],
    );
}

#[test]
fn inputs_are_collected_alike() {
    alike(
        "inputs_are_collected_alike",
        &[
            "@words",
            "merge @nested --dump-input-file-list",
            "merge missing",
            "merge missing --weighted-input=0,x",
            "merge --weighted-input=x,a.proftext",
            "merge --weighted-input=3",
            "merge --weighted-input=3,missing",
            "merge --weighted-input=2,a.proftext --weighted-input 3,b.proftext -f list a.proftext --dump-input-file-list",
            "merge -f list -f list-comment",
            "merge -f list-blank",
            "merge -f list-weight",
            "merge -f list-missing",
            "merge -f missing",
            "merge -f folder",
            "merge folder --dump-input-file-list",
            "merge folder/ --dump-input-file-list",
            "merge --weighted-input=4,folder --dump-input-file-list",
            "merge /dev/null",
            "merge --sparse --vp-counters-per-site=1.5e3 --print-options --color --dump-input-file-list a.proftext",
        ],
    );
}

#[test]
fn merges_are_alike() {
    alike(
        "merges_are_alike",
        &[
            "merge a.proftext b.proftext -o out",
            "merge b.proftext a.proftext --text",
            "merge -j 1 a.proftext b.proftext --weighted-input=3,b.proftext --sparse -o out",
            "merge a.proftext front-end.proftext --text",
            "merge a.proftext marked-front-end.proftext --text",
            "merge marked-front-end.proftext a.proftext --text --failure-mode=all",
            "merge a.proftext rubbish -o out",
            "merge a.proftext rubbish -o out --failure-mode=all",
            "merge rubbish rubbish -o out --failure-mode=all",
            "merge rubbish -o out --failure-mode=warn",
            "merge empty -o out",
            "merge blank.proftext --text",
            "merge a.proftext hot.proftext --text",
            "merge hot.proftext hot.proftext --text",
            "merge large.proftext large.proftext --text",
            "merge --weighted-input=3,large.proftext --text",
            "merge context-sensitive.proftext a.proftext --text",
            "merge traces.proftext --text",
            "merge traces.proftext traces.proftext --text --temporal-profile-trace-reservoir-size=2 \
             --temporal-profile-max-trace-length=2",
            "merge a.proftext -o out --write-prev-version",
            "merge --text -r renames a.proftext b.proftext",
            "merge --text -r renames-bad a.proftext",
            "merge --text -r missing a.proftext",
            "merge --text --function=main a.proftext",
            "merge --text --function= a.proftext",
            "merge --text --no-function=main --function=m a.proftext",
            "merge --text --function=( a.proftext",
            "merge --text --function=( rubbish",
            "merge --function=main --sparse a.proftext -o out",
            "merge --gcc a.proftext",
            "merge --binary --text --binary a.proftext -o out",
            "merge a.proftext -o /missing/x",
            "merge --debug-info=x --binary-file=y a.proftext",
            "merge --debuginfod a.proftext",
            "merge --debug-file-directory=x a.proftext",
            "merge --correlate=binary a.proftext",
        ],
    );
}

/// With a given number of threads, LLVM merges groups of inputs and then combines the groups.
#[test]
fn kinds_that_do_not_go_together_are_refused_alike_by_several_threads() {
    let Some(tool) = genuine("kinds_that_do_not_go_together_are_refused_alike_by_several_threads") else { return };
    let folder = Folder::new();
    folder.write("only.proftext", b":ir\n:single_byte_coverage\n:entry_first\nf\n1\n1\n1\n");
    let (ir, marked, plain) = ("context-sensitive.proftext", "marked-front-end.proftext", "a.proftext");
    let memory =
        "---\nHeapProfileRecords:\n- GUID: f\n  AllocSites:\n  - Callstack: []\n    MemInfoBlock: { AllocCount: 1 }\n";
    folder.write("memory.yaml", memory.as_bytes());
    let sets: [&[&str]; 10] = [
        &[marked],
        &[ir, marked],
        &[marked, ir],
        &["front-end.proftext", marked],
        &[ir, "rubbish", marked],
        &[plain, ir, marked, marked],
        &[marked, plain, marked],
        &[ir, "missing-too", marked],
        &["only.proftext", ir],
        &["memory.yaml", marked],
    ];
    folder.write("missing-too", b"");
    for set in sets {
        // With four or more threads, LLVM combines two pairs at the same time, and both may write a message into one
        // line.
        for threads in ["-j=1", "-j=2", "--num-threads=3"] {
            for mode in ["--failure-mode=any", "--failure-mode=all"] {
                let words = [&["merge", "--text", threads, mode], set].concat();
                folder.assert_alike(&tool, &words, b"");
            }
        }
    }
}

#[test]
fn damaged_text_is_refused_alike() {
    let Some(tool) = genuine("damaged_text_is_refused_alike") else { return };
    let folder = Folder::new();
    let damaged = super::examples::FILES.iter().map(|(name, _)| *name).filter(|name| {
        ["cut", "unknown", "bad", "no-", "too", "rubbish", "empty"].iter().any(|start| name.starts_with(start))
    });
    for file in damaged {
        folder.assert_alike(&tool, &["show", "--all-functions", "--counts", file], b"");
        folder.assert_alike(&tool, &["merge", "--text", file], b"");
        folder.assert_alike(&tool, &["order", file], b"");
        folder.assert_alike(&tool, &["overlap", "a.proftext", file], b"");
    }
}

#[test]
fn views_are_alike() {
    alike(
        "views_are_alike",
        &[
            "show a.proftext",
            "show --all-functions --counts --ic-targets --memop-sizes --show-vtables a.proftext",
            "show --all-functions --function=x a.proftext",
            "show --function=ma --text a.proftext",
            "show --text a.proftext",
            "show --text --covered --function=ma a.proftext",
            "show --covered --list-below-cutoff --value-cutoff=5 a.proftext",
            "show --showcs --all-functions context-sensitive.proftext",
            "show --all-functions context-sensitive.proftext",
            "show --all-functions --counts hot.proftext",
            "show --hot-func-list --profile-summary-cutoff-hot=10000 a.proftext",
            "show --hot-func-list --profile-summary-hot-count=3 a.proftext",
            "show --hot-func-list --profile-summary-cutoff-hot=0 a.proftext",
            "show --hot-func-list --profile-summary-cutoff-hot=0 --profile-summary-hot-count=3 a.proftext",
            "show --hot-func-list --detailed-summary-cutoffs=10 a.proftext",
            "show --detailed-summary --detailed-summary-cutoffs=0x10,010,2000000 --detailed-summary-cutoffs=5 a.proftext",
            "show --detailed-summary --detailed-summary-cutoffs=123456,654321,333333,999995,1 a.proftext",
            "show --topn=1 --topn=9 --value-cutoff=11 a.proftext",
            "show --binary-ids --profile-version --temporal-profile-traces traces.proftext",
            "show --json a.proftext",
            "show --show-format=yaml missing",
            "show a.proftext -o a.proftext",
            "show a.proftext -o /missing/x",
            "show folder",
            "show missing",
            "show memory.yaml",
            "show --memory memory.yaml",
            "overlap memory.yaml memory.yaml",
            "order memory.yaml",
            "overlap a.proftext b.proftext",
            "overlap --function=main a.proftext b.proftext",
            "overlap --value-cutoff=0 a.proftext b.proftext",
            "overlap --cs context-sensitive.proftext context-sensitive.proftext",
            "overlap front-end.proftext a.proftext --value-cutoff=0",
            "overlap blank.proftext a.proftext",
            "overlap large.proftext a.proftext",
            "overlap missing a.proftext",
            "order traces.proftext",
            "order --num-test-traces=2 traces.proftext",
            "order --num-test-traces=3 traces.proftext",
            "order a.proftext",
            "order missing",
        ],
    );
}

#[test]
fn standard_input_is_read_alike() {
    let Some(tool) = genuine("standard_input_is_read_alike") else { return };
    let folder = Folder::new();
    folder.assert_alike(&tool, &["merge", "-f", "-", "--text"], b"a.proftext\n2,b.proftext\n");
    folder.assert_alike(&tool, &["merge", "-r", "-", "--text", "a.proftext"], b"main renamed\n");
    folder.assert_alike(&tool, &["order", "-"], super::examples::TRACES.as_bytes());
    folder.assert_alike(&tool, &["overlap", "-", "b.proftext"], super::examples::A.as_bytes());
    folder.assert_alike(&tool, &["show", "-", "-o", "out"], super::examples::A.as_bytes());
    folder.assert_alike(&tool, &["show", "", "-o", "out"], b"");
    folder.assert_alike(&tool, &["merge", ""], b"");
}

/// Every real profile, including those of other versions.
#[test]
fn real_profiles_are_shown_alike() {
    let Some(tool) = genuine("real_profiles_are_shown_alike") else { return };
    let folder = Folder::new();
    let raw = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/raw");
    let mut files: Vec<_> =
        std::fs::read_dir(raw).expect("the test data is there").map(|e| e.unwrap().path()).collect();
    files.retain(|file| ["profraw", "profdata", "proftext"].map(|e| Some(e.as_ref())).contains(&file.extension()));
    files.sort();
    assert!(files.len() > 50, "{} profiles are few", files.len());
    for (at, file) in files.iter().enumerate() {
        let file = file.to_str().expect("the test data has plain names");
        let everything = [
            "show",
            "--all-functions",
            "--counts",
            "--ic-targets",
            "--memop-sizes",
            "--show-vtables",
            "--detailed-summary",
            "--binary-ids",
            "--profile-version",
            "--temporal-profile-traces",
            "--topn=5",
            "--hot-func-list",
            file,
        ];
        folder.assert_exactly_alike(&tool, &everything, b"");
        if at % 5 == 0 {
            folder.assert_exactly_alike(&tool, &["show", "--text", "--all-functions", "--showcs", file], b"");
        }
    }
}

/// The list of library options equals the real tool's list.
#[test]
fn library_options_are_known() {
    let Some(tool) = genuine("library_options_are_known") else { return };
    let folder = Folder::new();
    let help = folder.run(&tool, &["--help-hidden"], b"").stdout;
    let named = help.lines().filter_map(|line| line.trim_start().strip_prefix("--")?.split([' ', '=', '[']).next());
    // Only switches, and without those of a plugin that distributions add.
    let names: Vec<&str> = named.filter(|name| name.len() > 12 && !name.starts_with("polly")).collect();
    for name in names.iter().step_by(97) {
        let option = format!("--{name}");
        folder.assert_alike(&tool, &["merge", "a.proftext", "--dump-input-file-list", &option], b"");
    }
}
