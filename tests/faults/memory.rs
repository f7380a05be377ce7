//! With any amount of memory, a run ends with the output or with a message, and never with a signal or a partial
//! output. `tests/memory/refused.rs` tests the library's allocations; this is a test of the whole program.

use super::program::{Finished, LAST_RESORT, command, names_in, run_after, testdata};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// KiB in addition to the minimum for starting the program.
const BEYOND: [u64; 9] = [0, 250, 600, 1000, 1500, 2200, 3000, 5000, 9000];

/// The standard library's own panic if there is memory for the stack of a thread, but not for the stack of its signal
/// handler, some KiB more. No code of the program has run in that thread, and none can prevent it.
const STARTING_A_THREAD: &str = "failed to allocate an alternative stack";

/// Writes text inputs of many functions, in every family.
fn write_inputs(folder: &Path) {
    let write = |name: &str, text: String| fs::write(folder.join(name), text).unwrap();
    let lines = |count: usize, line: fn(usize) -> String| (0..count).map(line).collect::<String>();
    write("in.proftext", lines(6000, |n| format!("_ZN7example8function{n}Ev\n{n}\n2\n1\n20\n\n")));
    write("in.prof", lines(4000, |n| format!("function{n}:{}:10\n 1: 10\n 2: 20 callee{n}:15\n", 60 + n)));
    write("in.collapsed", lines(8000, |n| format!("main;a.B.c{};d.E.f{n} {}\n", n % 50, n + 1)));
    let entries = lines(6000, |n| format!("{{\"ctx\":\"0:0<1:{n}\",\"records\":[{n}]}},"));
    write(
        "in.iprof",
        format!(
            "{{\"version\":\"1.0.0\",\"types\":[{{\"id\":0,\"name\":\"a.A\"}},{{\"id\":1,\"name\":\"void\"}}],\
             \"methods\":[{{\"id\":0,\"name\":\"m\",\"signature\":[0,1]}},{{\"id\":1,\"name\":\"n\",\"signature\":[0,1]}}],\
             \"callCountProfiles\":[{}]}}",
            entries.trim_end_matches(',')
        ),
    );
    let record = |n: usize| {
        format!(
            "  - GUID: function{n}\n    AllocSites:\n      - Callstack: [ {{ Function: function{n}, LineOffset: {}, \
             Column: 3, IsInlineFrame: false }} ]\n        MemInfoBlock: {{ AllocCount: {n}, TotalSize: 64 }}\n",
            n % 90
        )
    };
    write("in.yaml", format!("---\nHeapProfileRecords:\n{}", lines(1500, record)));
    for arguments in [
        "convert -q in.collapsed -o in.pprof",
        "convert -q in.proftext -o in.proftext.zst",
        "merge -q --partial in.proftext -o in.partial",
        "merge -q --partial in.prof -o in.samples.partial",
    ] {
        let made = command().current_dir(folder).args(arguments.split(' ')).status().unwrap();
        assert!(made.success(), "{arguments}");
    }
    let text = fs::read(folder.join("in.proftext")).unwrap();
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(6)).unwrap();
    xz.write_all(&text).unwrap();
    fs::write(folder.join("in.proftext.xz"), xz.finish().unwrap()).unwrap();
    for (name, file) in [
        ("in.jfr.gz", "java/shapes-jdk17.jfr.gz"),
        ("in.memprofraw", "memprof/clang-19-plain.memprofraw"),
        ("in.program", "memprof/clang-19-plain.binary"),
    ] {
        fs::copy(testdata(file), folder.join(name)).unwrap();
    }
}

/// Runs the program with a limit of the address space in KiB.
fn run_within(kilobytes: u64, folder: &Path, arguments: &str) -> Finished {
    run_after(&format!("cd '{}' && ulimit -v {kilobytes}", folder.display()), arguments.split_whitespace())
}

/// Returns the minimum address space in which the program starts, in KiB.
fn least(folder: &Path) -> u64 {
    let (mut fails, mut starts) = (1 << 10, 1 << 20);
    while fails + 256 < starts {
        let middle = (fails + starts) / 2;
        match run_within(middle, folder, "--version").code {
            Some(0) => starts = middle,
            _ => fails = middle,
        }
    }
    starts
}

const COMMANDS: [&str; 32] = [
    "merge -q --num-threads=1 in.proftext -o OUT",
    "merge -q --num-threads=1 --text in.proftext -o OUT",
    "llvm-profdata merge --num-threads=1 in.proftext -o OUT",
    "merge -q --num-threads=1 in.prof -o OUT",
    "merge -q --num-threads=1 in.iprof -o OUT",
    "merge -q --num-threads=1 in.collapsed -o OUT",
    "merge -q --num-threads=1 in.yaml -o OUT",
    "convert -q --to=text in.proftext -o OUT",
    "show --all-functions --counts in.proftext",
    "show in.prof",
    "check in.proftext",
    "check in.yaml",
    "info in.proftext",
    "diff in.proftext in.proftext",
    "merge -q in.pprof -o OUT",
    "check in.pprof",
    "show in.pprof",
    "merge -q --to=collapsed in.jfr.gz -o OUT",
    "show in.jfr.gz",
    "merge -q --num-threads=1 in.proftext.zst -o OUT",
    "merge -q --num-threads=1 in.proftext.xz -o OUT",
    "show in.proftext.zst",
    "merge -q in.memprofraw --profiled-binary in.program -o OUT",
    "show in.memprofraw --profiled-binary in.program",
    "fit in.iprof --against in.iprof",
    "fit in.prof --against in.prof",
    "merge -q --num-threads=1 --partial in.proftext -o OUT",
    "merge -q --num-threads=1 in.partial -o OUT",
    "merge -q --num-threads=1 in.samples.partial -o OUT",
    "llvm-profdata merge --num-threads=1 in.yaml -o OUT",
    "flamegraph in.collapsed -o OUT",
    "report in.collapsed -o OUT",
];

#[test]
fn however_little_memory_there_is_a_run_ends_in_order() {
    let folder = tempfile::tempdir().unwrap();
    write_inputs(folder.path());
    let out: PathBuf = folder.path().join("OUT");
    let least = least(folder.path());
    let (mut refused, mut by_last_resort) = (0, 0);
    for arguments in COMMANDS {
        let _ = fs::remove_file(&out);
        run_within(1 << 20, folder.path(), arguments).assert_done();
        let expected = fs::read(&out).ok();
        for kilobytes in BEYOND.map(|beyond| least + beyond) {
            // Every output may replace an empty file.
            fs::write(&out, "").unwrap();
            let finished = run_within(kilobytes, folder.path(), arguments);
            let said = finished.stderr + &String::from_utf8_lossy(&finished.stdout);
            let what = format!("{arguments} within {kilobytes} KiB: {:?}: {said}", finished.code);
            let written = fs::read(&out).unwrap();
            match finished.code {
                Some(0) => assert!(expected.as_ref().is_none_or(|expected| written == *expected), "{what}"),
                // `check` reports content that does not fit as a finding.
                Some(1 | 3) => {
                    let is_panic = said.contains("panicked") && !said.contains(STARTING_A_THREAD);
                    assert!(said.contains("memory") && !is_panic, "{what}");
                    assert_eq!(written, b"", "{what}");
                    refused += 1;
                    by_last_resort += usize::from(said.contains(LAST_RESORT));
                }
                _ => panic!("{what}"),
            }
        }
    }
    eprintln!("from {least} KiB on, {refused} runs were refused, {by_last_resort} of them by the last resort");
    assert!(refused > 2 * COMMANDS.len(), "{refused}");
    fs::remove_file(&out).unwrap();
    let left: Vec<String> = names_in(folder.path()).into_iter().filter(|name| !name.starts_with("in.")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// An infallible allocation that fails aborts the program, with the exit code of errors.
#[test]
fn an_abort_is_an_exit_code() {
    let mut child = command().args(["info", "-"]).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // More bytes than a pipe holds: after this write the program has started to read.
    let mut input = child.stdin.take().unwrap();
    while input.write_all(&[b' '; 1 << 17]).is_ok() {
        let done = Command::new("kill").args(["-ABRT", &child.id().to_string()]).status().unwrap();
        assert!(done.success());
        if let Some(status) = child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(1), "{status}");
            return;
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(1));
}
