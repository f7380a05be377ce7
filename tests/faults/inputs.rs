//! Tests of inputs that change while they are read, or are not regular files.

use super::program::{command, counts_of, indexed_bytes, large_profile, profile, run, testdata, text_bytes};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Stops the thread that changes the input, even if an assertion fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs commands while another thread truncates and restores the input.
fn while_it_changes(content: &[u8], commands: &[&[&str]]) {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("input");
    fs::write(&input, content).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = OpenOptions::new().write(true).open(&input).unwrap();
            let mut step = 0;
            while !done.load(Ordering::Relaxed) {
                step += 1;
                file.set_len(content.len() as u64 * (step % 8) / 8).unwrap();
                std::thread::sleep(Duration::from_micros(200));
                fs::write(&input, content).unwrap();
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        let _ends = Ends(&done);
        for arguments in commands.iter().cycle().take(24.max(commands.len())) {
            let output = folder.path().join("out");
            let mut command = command();
            command.args(*arguments).arg(&input).stdout(Stdio::null());
            if arguments[0] == "merge" || arguments[0] == "convert" {
                command.arg("-o").arg(&output);
            }
            let finished: super::program::Finished = command.output().unwrap().into();
            finished.assert_orderly();
            if let Ok(written) = fs::read(&output) {
                assert!(!written.is_empty());
                fs::remove_file(&output).unwrap();
            }
        }
    });
}

#[test]
fn an_input_cut_while_it_is_read_is_an_error_and_no_crash() {
    let content = indexed_bytes(&large_profile(2000, 3));
    while_it_changes(&content, &[&["merge"], &["show"], &["info"], &["check"], &["convert", "--to", "text"]]);
}

#[test]
fn a_document_cut_while_it_is_read_is_an_error_and_no_crash() {
    let mut text =
        String::from("{\"version\":\"1.0.0\",\"types\":[{\"id\":0,\"name\":\"a.A\"},{\"id\":1,\"name\":\"void\"}],");
    text.push_str("\"methods\":[{\"id\":0,\"name\":\"m\",\"signature\":[0,1]}],\"callCountProfiles\":[");
    let entries: Vec<String> = (0..4000).map(|at| format!("{{\"ctx\":\"0:{at}<0:{at}\",\"records\":[1]}}")).collect();
    text.push_str(&entries.join(","));
    text.push_str("]}");
    while_it_changes(text.as_bytes(), &[&["merge"], &["info"], &["check"]]);
}

#[test]
fn a_pipe_gives_the_result_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let content = indexed_bytes(&large_profile(3000, 3));
    fs::write(path("file"), &content).unwrap();
    let made = Command::new("mkfifo").arg(path("pipe")).status().is_ok_and(|status| status.success());
    if !made {
        eprintln!("SKIPPED: mkfifo is missing");
        return;
    }
    run([Path::new("merge"), &path("file"), Path::new("-o"), &path("expected")]).assert_done();
    std::thread::scope(|scope| {
        scope.spawn(|| fs::write(path("pipe"), &content).unwrap());
        run([Path::new("merge"), &path("pipe"), Path::new("-o"), &path("found")]).assert_done();
    });
    assert_eq!(fs::read(path("found")).unwrap(), fs::read(path("expected")).unwrap());
}

#[test]
fn devices_directories_and_broken_links_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let out = path("out");
    let merge = |input: &Path| run([Path::new("merge"), input, Path::new("-o"), &out]);
    assert!(merge(Path::new("/dev/null")).assert_orderly().stderr.contains("empty"));
    fs::create_dir(path("empty-folder")).unwrap();
    merge(&path("empty-folder")).assert_refused(&["no profiles found in the given directories"]);
    symlink("nowhere", path("dangling")).unwrap();
    merge(&path("dangling")).assert_refused(&["dangling", "No such file"]);
    // A dangling link in a directory is not an input.
    fs::create_dir(path("folder")).unwrap();
    fs::write(path("folder/a.proftext"), text_bytes(&profile(&[("f", 4)]))).unwrap();
    symlink("nowhere", path("folder/dangling")).unwrap();
    symlink("..", path("folder/up")).unwrap();
    let _ = fs::remove_file(&out);
    merge(&path("folder")).assert_orderly();
}

#[test]
fn an_empty_file_is_not_converted_into_an_empty_profile() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("empty.profraw"), "").unwrap();
    fs::write(path("out.proftext"), ":ir\nold\n1\n1\n5\n").unwrap();
    run([Path::new("convert"), &path("empty.profraw"), Path::new("-o"), &path("out.proftext")])
        .assert_refused(&["empty.profraw", "the file is empty"]);
    assert_eq!(fs::read(path("out.proftext")).unwrap(), b":ir\nold\n1\n1\n5\n");
}

#[test]
fn a_device_without_end_is_bounded() {
    let limit = ["--limit", "stream-bytes=1000000"];
    for name in ["merge", "info", "show", "check"] {
        let finished = run([name, "/dev/zero"].into_iter().chain(limit));
        assert_eq!(finished.code, Some(1), "{name}: {}", finished.stderr);
        let said = finished.stderr + &String::from_utf8_lossy(&finished.stdout);
        assert!(said.contains("the limit is 1000000"), "{name}: {said}");
    }
}

#[test]
fn stopping_and_going_on_changes_nothing() {
    let content = indexed_bytes(&large_profile(500, 3));
    let mut child = command();
    let mut child = child
        .args(["merge", "--text", "-q", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().unwrap();
    let id = child.id().to_string();
    for part in content.chunks(content.len() / 10 + 1) {
        stdin.write_all(part).unwrap();
        for signal in ["-STOP", "-CONT", "-WINCH", "-CHLD"] {
            // These signals interrupt a blocking read.
            Command::new("kill").args([signal, &id]).status().unwrap();
        }
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(counts_of(&output.stdout).len(), 500);
}

#[test]
fn a_list_names_inputs_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // Commands and options in a list are file names.
    fs::write(path("list"), "--output=stolen\n").unwrap();
    let mut command = command();
    command.current_dir(folder.path()).args(["merge", "-f", "list", "-o", "out"]);
    let finished: super::program::Finished = command.output().unwrap().into();
    finished.assert_refused(&["--output=stolen", "No such file"]);
    assert_eq!(super::program::names_in(folder.path()), ["list"]);
    assert!(testdata("bad").is_dir());
}
