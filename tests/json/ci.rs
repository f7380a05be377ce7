//! Jobs of users who read only `--help`: the command's help lists every option, and programs can read the reason of
//! every failure.

use crate::program::Folder;
use serde_json::Value;

/// Runs the lines of a job. Checks the exit code of each line, and the document if the line requests one.
#[track_caller]
fn job(folder: &Folder, lines: &[(&str, i32)]) -> Vec<Value> {
    let mut documents = Vec::new();
    for (line, code) in lines {
        let command = line.split_whitespace().next().expect("a command");
        let help = folder.run(&format!("{command} --help")).stdout;
        for option in line.split_whitespace().filter(|word| word.starts_with("--")) {
            let option = option.split('=').next().expect("a name");
            assert!(help.contains(option), "{command} --help does not list {option}");
        }
        let run = folder.run(line);
        assert_eq!(run.code, Some(*code), "{line}: {}{}", run.stderr, run.stdout);
        if line.contains("--json") {
            documents.push(run.document());
        }
    }
    documents
}

fn runs(folder: &Folder, files: &[(&str, &str)]) {
    std::fs::create_dir(folder.path("runs")).expect("a folder");
    for (name, original) in files {
        std::fs::copy(folder.path(original), folder.path("runs").join(name)).expect("copied");
    }
}

#[test]
fn a_ci_job_for_llvm_reports_failed_thresholds() {
    let folder = Folder::new();
    runs(&folder, &[("1.proftext", "one.proftext"), ("2.proftext", "other.proftext"), ("log.txt", "notes.txt")]);
    folder.write("runs/3.profraw", b"");
    let documents = job(
        &folder,
        &[
            ("merge --json runs -o app.profdata --min-inputs=2 --min-functions=2 --max-input-share=95%", 0),
            ("check --strict app.profdata", 0),
            ("diff --json --fail-below=counters=0.2,total=0.2 one.proftext app.profdata", 0),
            ("diff --json --fail-below=0.99 one.proftext app.profdata", 3),
            ("fit --json app.profdata --against=one.proftext --fail-below=used-counts=0.9", 0),
            ("fit --json app.profdata --against=edited.proftext --fail-below=used-counts=1", 3),
            ("merge --json runs -o small.profdata --min-inputs=3", 3),
            ("merge --json runs cut.profraw -o bad.profdata", 1),
            ("merge --json runs cut.profraw -o most.profdata --failure-mode=all", 0),
            ("show --json --topn=1 app.profdata", 0),
            ("merge --json runs -o app.profdata --for=llvm-16", 0),
        ],
    );
    let outcomes = |document: &Value| -> Vec<String> {
        let inputs = document["inputs"].as_array().expect("inputs").iter();
        inputs.map(|input| input["outcome"].as_str().expect("an outcome").to_string()).collect()
    };
    assert_eq!(outcomes(&documents[0]), ["used", "used", "empty", "not-a-profile"]);
    assert_eq!(documents[2]["gates"][0]["passed"], false);
    let small = &documents[5];
    assert_eq!((&small["gates"][0]["wanted"], &small["gates"][0]["found"]), (&3.into(), &2.into()), "{small}");
    assert_eq!(documents[6]["error"]["kind"], "inputs-failed");
    let bad = documents[6]["inputs"].as_array().expect("inputs").iter().find(|input| input["outcome"] == "failed");
    assert_eq!(bad.expect("a bad input")["error"]["path"], "cut.profraw");
    assert!(outcomes(&documents[7]).contains(&"failed".to_string()));
    assert_eq!(documents[9]["target"]["release"], "llvm-16");
    for name in ["small.profdata", "bad.profdata"] {
        assert!(!folder.path(name).exists(), "{name} was written");
    }
}

#[test]
fn a_ci_job_for_iprof_reports_failed_thresholds() {
    let folder = Folder::new();
    runs(&folder, &[("1.iprof", "a.iprof"), ("2.iprof", "a.iprof"), ("settings.json", "settings.json")]);
    folder.write("runs/3.iprof", b"");
    let documents = job(
        &folder,
        &[
            ("merge --json runs -o app.iprof --min-inputs=2 --min-total-count=10 --max-input-share=60%", 0),
            ("check --strict app.iprof", 0),
            ("diff --json --fail-below=call-counts=0.9,total=0.8 a.iprof app.iprof", 0),
            ("diff --json --fail-below=call-counts=0.9 b.iprof app.iprof", 3),
            ("fit --json app.iprof --against=a.iprof --fail-below=used-counts=0.9", 0),
            ("fit --json app.iprof --against=b.iprof --fail-below=used-counts=0.9", 1),
            ("merge --json runs cut.iprof -o bad.iprof", 1),
            ("merge --json runs cut.iprof -o most.iprof --failure-mode=all", 0),
            ("merge --json runs -o small.iprof --min-functions=1000", 3),
            ("convert --json app.iprof -o app.iprof.gz --prune", 0),
            ("convert --json app.iprof -o none.iprof --only=no.such.package", 1),
            ("report app.iprof -o app.html --baseline=a.iprof --topn=20", 0),
            ("repair --json damaged.iprof -o repaired.iprof", 0),
            ("check repaired.iprof", 0),
        ],
    );
    assert_eq!(documents[0]["used"], 2, "{}", documents[0]);
    assert_eq!(documents[2]["gates"][0]["gate"], "call-counts");
    assert_eq!(documents[4]["error"]["kind"], "unable-to-compare", "{}", documents[4]);
    assert_eq!(documents[5]["error"]["kind"], "inputs-failed", "{}", documents[5]);
    let bad = documents[5]["inputs"].as_array().expect("inputs").iter().find(|input| input["outcome"] == "failed");
    assert_eq!(bad.expect("a bad input")["error"]["path"], "cut.iprof");
    assert_eq!(documents[9]["error"]["kind"], "nothing-found", "{}", documents[9]);
    for name in ["small.iprof", "bad.iprof", "none.iprof"] {
        assert!(!folder.path(name).exists(), "{name} was written");
    }
}
