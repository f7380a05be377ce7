//! Tests of inputs that can be read only once: standard input, named pipes, and process substitution.

use crate::testdata;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs the program with `input` on a pipe as standard input. The first bytes come alone, as from a producer that
/// starts slowly.
fn run_with(folder: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_profbridge"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (first, rest) = input.split_at(input.len().min(3));
            // A program that needs no more input may have closed the pipe.
            if stdin.write_all(first).is_ok() {
                std::thread::sleep(std::time::Duration::from_millis(20));
                let _ = stdin.write_all(rest);
            }
        });
        child.wait_with_output().expect("the program ends")
    })
}

#[track_caller]
fn succeed_with(folder: &Path, arguments: &[&str], input: &[u8]) -> String {
    let output = run_with(folder, arguments, input);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is text")
}

/// Runs a shell line in a shell where `<(…)` is a pipe. `None` if there is no such shell.
fn shell(folder: &Path, line: &str) -> Option<Output> {
    let program = env!("CARGO_BIN_EXE_profbridge");
    let mut command = Command::new("bash");
    command.args(["-c", line]).env("profbridge", program).current_dir(folder).stdin(Stdio::null());
    let Ok(output) = command.output() else {
        println!("SKIPPED: there is no bash");
        return None;
    };
    Some(output)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// Creates a directory with both examples as `a.iprof` and `b.iprof`. Also returns the content of the first.
fn examples() -> (tempfile::TempDir, Vec<u8>) {
    let folder = tempfile::tempdir().expect("a folder");
    for (from, to) in [("even-or-odd.iprof", "a.iprof"), ("fibonacci.iprof", "b.iprof")] {
        std::fs::copy(testdata(from), folder.path().join(to)).expect("copied");
    }
    let content = std::fs::read(folder.path().join("a.iprof")).expect("copied");
    (folder, content)
}

#[test]
fn standard_input_is_recognised_as_a_file_is() {
    let (folder, content) = examples();
    let folder = folder.path();
    let shown = succeed_with(folder, &["show", "a.iprof"], b"");
    for input in [content.clone(), gzip(&content)] {
        assert_eq!(succeed_with(folder, &["show", "-"], &input), shown);
        succeed_with(folder, &["convert", "-", "-o", "x.iprof"], &input);
        assert_eq!(std::fs::read(folder.join("x.iprof")).expect("written"), content);
        succeed_with(folder, &["repair", "-", "-o", "r.iprof"], &input);
        assert_eq!(std::fs::read(folder.join("r.iprof")).expect("written"), content);
        assert_eq!(run_with(folder, &["check", "-"], &input).status.code(), Some(0));
        assert!(succeed_with(folder, &["diff", "a.iprof", "-"], &input).contains("Smallest overlap: 100.000 %"));
        assert!(succeed_with(folder, &["diff", "-", "a.iprof"], &input).contains("Smallest overlap: 100.000 %"));
        assert!(succeed_with(folder, &["info", "-"], &input).contains("iprof"));
        succeed_with(folder, &["flamegraph", "-", "-o", "x.svg"], &input);
        succeed_with(folder, &["report", "-", "-o", "x.html"], &input);
    }
}

#[test]
fn a_merge_detects_the_format_of_standard_input() {
    let (folder, content) = examples();
    let folder = folder.path();
    let read = |name: &str| std::fs::read(folder.join(name)).expect("the output is there");
    succeed_with(folder, &["merge", "a.iprof", "b.iprof", "-o", "expected.iprof"], b"");
    for input in [content.clone(), gzip(&content)] {
        succeed_with(folder, &["merge", "-", "b.iprof", "-o", "c.iprof"], &input);
        assert_eq!(read("c.iprof"), read("expected.iprof"));
        // Only the content identifies the format.
        succeed_with(folder, &["merge", "-", "-o", "c"], &input);
        assert_eq!(read("c"), content);
    }
    let bridged = succeed_with(folder, &["merge", "-", "--to", "llvm", "--text", "-o", "-"], &content);
    assert!(bridged.contains("EvenOrOddLength"), "{bridged}");
}

#[test]
fn inputs_can_be_normalized_that_come_but_once() {
    let (folder, content) = examples();
    let folder = folder.path();
    succeed_with(folder, &["merge", "--normalize", "a.iprof", "b.iprof", "-o", "expected.iprof"], b"");
    succeed_with(folder, &["merge", "--normalize", "-", "b.iprof", "-o", "c.iprof"], &content);
    let read = |name: &str| std::fs::read(folder.join(name)).expect("the output is there");
    assert_eq!(read("c.iprof"), read("expected.iprof"));
}

#[test]
fn llvm_profiles_come_through_standard_input_as_before() {
    let (folder, content) = examples();
    let folder = folder.path();
    let text = b"main\n1\n2\n10\n30\n\nfoo\n2\n1\n7\n";
    let shown = succeed_with(folder, &["show", "-"], text);
    assert!(shown.contains("Total functions: 2"), "{shown}");
    succeed_with(folder, &["merge", "-", "-o", "c.profdata"], text);
    succeed_with(folder, &["convert", "-", "-o", "c.proftext"], text);
    assert!(succeed_with(folder, &["diff", "-", "c.profdata"], text).contains("Smallest overlap: 100.000 %"));
    let across = run_with(folder, &["diff", "-", "a.iprof"], text);
    assert!(across.status.success(), "{}", String::from_utf8_lossy(&across.stderr));
    // This command reads both inputs twice.
    let overlap = run_with(folder, &["overlap", "c.proftext", "-"], text);
    assert!(overlap.status.success(), "{}", String::from_utf8_lossy(&overlap.stderr));
    let overlap = String::from_utf8_lossy(&overlap.stdout).into_owned();
    assert!(overlap.contains("100.000%"), "{overlap}");
    let refused = run_with(folder, &["diff", "-", "-"], &content);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("can be read only once"));
}

#[test]
fn stacks_come_through_standard_input_without_being_named() {
    let (folder, _) = examples();
    let stacks = b"app/Main.main;app/Main.loop 3\napp/Main.main 1\n";
    let shown = succeed_with(folder.path(), &["show", "-"], stacks);
    assert!(shown.contains("app.Main.loop"), "{shown}");
    succeed_with(folder.path(), &["convert", "-", "-o", "x.collapsed", "--no-bci"], stacks);
    let written = std::fs::read_to_string(folder.path().join("x.collapsed")).expect("written");
    assert!(written.contains("app/Main.main;app/Main.loop 3\n"), "{written}");
}

#[test]
fn pipes_that_a_shell_makes_are_inputs_like_files() {
    let (folder, content) = examples();
    let folder = folder.path();
    std::fs::write(folder.join("a.gz"), gzip(&content)).expect("written");
    succeed_with(folder, &["merge", "a.iprof", "b.iprof", "-o", "expected.iprof"], b"");
    let expected = std::fs::read(folder.join("expected.iprof")).expect("written");
    for (line, output) in [
        ("$profbridge merge <(cat a.iprof) b.iprof -o c.iprof", Some("c.iprof")),
        ("$profbridge merge a.iprof <(cat b.iprof) -o c.iprof", Some("c.iprof")),
        ("$profbridge merge <(cat a.gz) <(cat b.iprof) -o c", Some("c")),
        ("mkfifo named && (cat a.iprof > named & $profbridge merge named b.iprof -o c.iprof)", Some("c.iprof")),
        ("$profbridge diff --fail-below 1 <(cat a.iprof) <(cat a.gz)", None),
        ("$profbridge convert <(cat a.iprof) -o x.iprof && cmp a.iprof x.iprof", None),
        ("$profbridge repair <(cat a.iprof) -o x.iprof && cmp a.iprof x.iprof", None),
        ("$profbridge check <(cat a.iprof)", None),
        ("$profbridge report <(cat a.iprof) -o x.html", None),
        ("cmp <($profbridge show <(cat a.gz)) <($profbridge show a.iprof)", None),
    ] {
        let Some(run) = shell(folder, line) else { return };
        assert!(run.status.success(), "{line}: {}", String::from_utf8_lossy(&run.stderr));
        if let Some(output) = output {
            assert_eq!(std::fs::read(folder.join(output)).expect("written"), expected, "{line}");
        }
    }
}
