//! Tests of outputs that are already open, pipes and devices: the program writes to them without replacing them.

use crate::program::{Finished, Folder, testdata};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::process::Command;

/// Inputs of every family.
fn folder() -> Folder {
    let folder = Folder::new();
    let iprof = "{\"version\":\"1.0.0\",\"types\":[{\"id\":0,\"name\":\"A\"},{\"id\":1,\"name\":\"void\"}],\
                 \"methods\":[{\"id\":0,\"name\":\"m\",\"signature\":[0,1]}],\
                 \"callCountProfiles\":[{\"ctx\":\"0:0\",\"records\":[3]}]}";
    for (name, text) in [
        ("a.proftext", ":ir\nmain\n1\n1\n5\n"),
        ("s.afdo", "foo:10:1\n 1: 5\n"),
        ("c.folded", "a;b 1\n"),
        ("f.iprof", iprof),
        ("broken.iprof", &iprof.replace("\"records\":[3]", "\"records\":[-3]")),
    ] {
        fs::write(folder.path(name), text).expect("written");
    }
    folder
}

/// Runs a shell script in which `$p` is the program.
fn shell(folder: &Folder, script: &str) -> Finished {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(folder.path(""));
    command.env("p", env!("CARGO_BIN_EXE_profbridge")).output().expect("a shell").into()
}

fn read(folder: &Folder, name: &str) -> String {
    String::from_utf8_lossy(&fs::read(folder.path(name)).expect("a file is written")).into_owned()
}

/// Returns true if a container forbids opening a descriptor by its number, which is necessary for a regular file.
fn is_forbidden(finished: &Finished) -> bool {
    let forbidden = finished.stderr.contains("cannot open for writing: ");
    if forbidden {
        eprintln!("SKIPPED: a descriptor may not be taken by its number: {}", finished.stderr);
    }
    forbidden
}

/// Commands that write, without their output. They write the same bytes to any output.
const COMMANDS: [&str; 17] = [
    "merge -q --text a.proftext",
    "merge -q s.afdo",
    "merge -q --sample-format text s.afdo",
    "merge -q c.folded",
    "merge -q f.iprof",
    "merge -q --partial a.proftext",
    "convert --to raw a.proftext",
    "convert --to iprof a.proftext",
    "show a.proftext",
    "show --json a.proftext",
    "show c.folded",
    "show f.iprof",
    "show s.afdo",
    "overlap a.proftext a.proftext",
    "report c.folded",
    "llvm-profdata merge --text a.proftext",
    "llvm-profdata show a.proftext",
];

#[test]
fn writing_to_an_open_descriptor_preserves_other_output() {
    let folder = folder();
    for command in COMMANDS {
        let plain = shell(&folder, &format!("rm -f plain; $p {command} -o plain"));
        assert_eq!(plain.code, Some(0), "{command}: {}", plain.stderr);
        let expected = format!("first\n{}last\n", read(&folder, "plain"));
        for (output, number, redirection) in [
            ("-", 1, "> found"),
            ("/dev/stdout", 1, "> found"),
            ("/dev/fd/1", 1, "> found"),
            ("/dev/stdout", 1, "| cat > found"),
            ("/dev/fd/3", 3, "3> found"),
            ("/dev/fd/3", 3, "3>&1 | cat > found"),
        ] {
            let group = format!("{{ echo first >&{number}; $p {command} -o {output}; echo last >&{number}; }}");
            let script = format!("{group} {redirection}");
            let finished = shell(&folder, &script);
            if redirection != "3> found" || !is_forbidden(&finished) {
                assert_eq!(finished.code, Some(0), "{script}: {}", finished.stderr);
                assert_eq!(read(&folder, "found"), expected, "{script}");
            }
        }
    }
}

#[test]
fn redirected_standard_output_appends_to_the_file() {
    let folder = folder();
    symlink("/dev/stdout", folder.path("link")).expect("a link");
    for output in ["/dev/stdout", "/dev/fd/1", "link"] {
        fs::write(folder.path("found"), "before\n").expect("written");
        let inode = fs::metadata(folder.path("found")).expect("the file").ino();
        let finished = shell(&folder, &format!("$p merge -q --text a.proftext -o {output} >> found"));
        assert_eq!(finished.code, Some(0), "{output}: {}", finished.stderr);
        let found = read(&folder, "found");
        assert!(found.starts_with("before\n# IR level"), "{output}: {found}");
        assert_eq!(fs::metadata(folder.path("found")).expect("the file").ino(), inode, "{output}");
    }
    assert!(folder.path("link").symlink_metadata().expect("the link").is_symlink());
}

#[test]
fn a_pipe_by_name_and_a_device_are_written_to() {
    let folder = folder();
    let fifo = shell(&folder, "mkfifo pipe && { cat pipe > found & $p merge -q --text a.proftext -o pipe; wait; }");
    assert_eq!(fifo.code, Some(0), "{}", fifo.stderr);
    assert!(read(&folder, "found").starts_with("# IR level"));
    let device = shell(&folder, "$p merge -q a.proftext -o /dev/null");
    assert_eq!(device.code, Some(0), "{}", device.stderr);
}

#[test]
fn a_repaired_profile_and_a_pruned_one_are_written_to_a_descriptor() {
    let folder = folder();
    let repaired = shell(&folder, "{ echo first; $p repair broken.iprof -o /dev/stdout --allow-empty; } > found");
    assert_eq!(repaired.code, Some(0), "{}", repaired.stderr);
    assert!(read(&folder, "found").starts_with("first\n{"), "{}", read(&folder, "found"));
    let script =
        "{ echo first >&2; $p -q fit f.iprof --against f.iprof --prune -o /dev/stderr; echo last >&2; } 2> found";
    let pruned = shell(&folder, script);
    assert_eq!(pruned.code, Some(0), "{}", pruned.stderr);
    let found = read(&folder, "found");
    assert!(found.starts_with("first\n{") && found.ends_with("last\n"), "{found}");
    let temporal = testdata("raw/clang-22-temporal.profraw").display().to_string();
    let script = format!("{{ echo first; $p order {temporal} -o /dev/stdout; echo last; }} > found");
    let ordered = shell(&folder, &script);
    assert_eq!(ordered.code, Some(0), "{}", ordered.stderr);
    let found = read(&folder, "found");
    assert!(found.starts_with("first\n#") && found.ends_with("last\n"), "{found}");
}

#[test]
fn a_standard_error_of_a_file_is_written_to() {
    let folder = folder();
    let script = "{ echo first >&2; $p show a.proftext -o /dev/stderr; echo last >&2; } 2> found";
    assert_eq!(shell(&folder, script).code, Some(0));
    let found = read(&folder, "found");
    assert!(found.starts_with("first\nInstrumentation level") && found.ends_with("last\n"), "{found}");
}

#[test]
fn a_descriptor_of_another_process_is_written_to() {
    if !cfg!(target_os = "linux") {
        eprintln!("SKIPPED: only Linux names descriptors of other processes");
        return;
    }
    let folder = folder();
    let script = "exec 9> found; echo first >&9; $p show a.proftext -o /proc/$$/fd/9 && echo last >&9";
    let finished = shell(&folder, script);
    if !is_forbidden(&finished) {
        let found = read(&folder, "found");
        assert!(found.starts_with("first\nInstrumentation level") && found.ends_with("last\n"), "{found}");
    }
}

#[test]
fn a_descriptor_that_is_not_open_is_named() {
    let finished = shell(&folder(), "$p merge -q a.proftext -o /dev/fd/77");
    finished.assert_refused(1, &["/dev/fd/77: cannot open for writing"]);
}

#[test]
fn show_and_json_require_an_output_file() {
    let folder = folder();
    for option in ["--json", "--show"] {
        let finished = shell(&folder, &format!("$p merge a.proftext -o /dev/stdout {option}"));
        assert_eq!(finished.code, Some(2), "{}", finished.stderr);
        assert!(finished.stderr.contains("standard output is already used"), "{}", finished.stderr);
    }
    shell(&folder, "mkfifo pipe; $p merge a.proftext -o pipe --show").assert_refused(2, &["pipe: ", "--show"]);
}
