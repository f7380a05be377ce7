//! Tests that the program continues with fewer threads if the system refuses more.

use super::program::{Finished, indexed_bytes, large_profile, testdata, text_bytes};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The copy of the program in the test's directory.
const PROGRAM: &str = "profbridge";

/// Runs a shell script as a user who may have only one thread. The limit does not apply to root.
fn by_one_thread(script: &str, arguments: &[&str], folder: &Path) -> Finished {
    let bounded = format!("ulimit -u 1 || exit 99; {script}");
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    // Not every `sh` supports `ulimit -u`.
    let mut command = if is_root { Command::new("setpriv") } else { Command::new("bash") };
    if is_root {
        // A user without other processes.
        command.args(["--reuid=54321", "--clear-groups", "--", "bash"]);
    }
    command.arg("-c").arg(bounded).arg(folder.join(PROGRAM)).args(arguments);
    match command.current_dir(folder).stdin(Stdio::null()).output() {
        Ok(output) => output.into(),
        Err(error) => Finished { code: Some(99), stdout: Vec::new(), stderr: error.to_string() },
    }
}

#[test]
fn without_a_second_thread_the_results_are_the_same() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    // The other user may have no access to the build directory.
    fs::copy(env!("CARGO_BIN_EXE_profbridge"), path(PROGRAM)).unwrap();
    let profile = large_profile(20_000, 3);
    fs::write(path("a.profdata"), indexed_bytes(&profile)).unwrap();
    fs::write(path("b.proftext"), text_bytes(&profile)).unwrap();
    let samples: String = (0..3000).map(|at| format!("function{at}:30:10\n 1: 10\n 2: 20 callee:15\n")).collect();
    fs::write(path("c.prof"), samples).unwrap();
    for (name, file) in [
        ("d.prof", "sampleprof/plain.prof"),
        ("e.iprof", "iprof/fibonacci.iprof"),
        ("f.iprof", "iprof/even-or-odd.iprof"),
    ] {
        fs::copy(testdata(file), path(name)).unwrap();
    }
    // Check that the limit applies: a shell that may not start a process.
    let bound = by_one_thread("/bin/true; exit 0", &[], folder.path());
    let runs = by_one_thread("exec \"$0\" \"$@\"", &["--version"], folder.path());
    if runs.code != Some(0) || bound.stderr.is_empty() {
        eprintln!("SKIPPED: cannot limit a user to one thread: {}{}", bound.stderr, runs.stderr);
        return;
    }
    let commands: [&[&str]; 8] = [
        &["merge", "-q", "--num-threads=8", "a.profdata", "b.proftext", "-o", "OUT"],
        &["merge", "-q", "--num-threads=8", "--text", "b.proftext", "-o", "OUT"],
        &["convert", "-q", "--to=text", "a.profdata", "-o", "OUT"],
        &["merge", "-q", "--num-threads=8", "c.prof", "d.prof", "-o", "OUT"],
        &["merge", "-q", "--num-threads=8", "e.iprof", "f.iprof", "-o", "OUT"],
        &["show", "--all-functions", "--counts", "a.profdata"],
        &["check", "a.profdata", "b.proftext", "c.prof", "e.iprof"],
        &["llvm-profdata", "merge", "--num-threads=8", "a.profdata", "b.proftext", "-o", "OUT"],
    ];
    for arguments in commands {
        let run = |out: &str, one: bool| {
            // The old output may belong to another family.
            let _ = fs::remove_file(path(out));
            let arguments: Vec<&str> = arguments.iter().map(|word| if *word == "OUT" { out } else { word }).collect();
            let script = "exec \"$0\" \"$@\"";
            let finished = if one {
                by_one_thread(script, &arguments, folder.path())
            } else {
                let mut command = super::program::command();
                command.current_dir(folder.path()).args(&arguments).output().unwrap().into()
            };
            finished.assert_orderly();
            (finished.code, finished.stdout, fs::read(path(out)).unwrap_or_default())
        };
        let expected = run("many", false);
        let found = run("one", true);
        assert!(found == expected, "{arguments:?}: {:?} and {:?}", found.0, expected.0);
        assert_eq!(found.0, Some(0), "{arguments:?}");
    }
}
