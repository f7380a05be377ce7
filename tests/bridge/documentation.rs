//! The commands of docs/bridge.md, run as they stand there.

use std::path::Path;
use std::process::Command;

const PAGE: &str = include_str!("../../docs/bridge.md");

/// A command and the lines that should follow it.
type Step<'a> = (&'a str, Vec<&'a str>);

fn steps() -> Vec<Step<'static>> {
    let mut steps: Vec<Step<'static>> = Vec::new();
    let mut inside = false;
    for line in PAGE.lines() {
        match line.strip_prefix("$ ") {
            _ if line.starts_with("```") => inside = line == "```console",
            Some(command) if inside => steps.push((command, Vec::new())),
            None if inside => steps.last_mut().expect("a block begins with a command").1.push(line),
            _ => {}
        }
    }
    steps
}

#[test]
fn the_page_shows_what_the_commands_print() {
    if Command::new("llvm-profdata-22").arg("--version").output().is_err() {
        eprintln!("SKIPPED: llvm-profdata-22 is not installed");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    std::fs::write(folder.path().join("fibonacci.iprof"), include_str!("fibonacci.iprof")).expect("it can be written");
    let steps = steps();
    assert!(steps.len() > 8, "the page has commands");
    for (command, expected) in steps {
        let mut words = command.split(' ');
        let program = match words.next().expect("a command has words") {
            "profbridge" => Path::new(env!("CARGO_BIN_EXE_profbridge")),
            other => Path::new(other),
        };
        let run = Command::new(program).args(words).current_dir(folder.path()).output().expect("the program runs");
        assert!(run.status.success(), "{command}: {}", String::from_utf8_lossy(&run.stderr));
        let printed = [run.stdout, run.stderr].concat();
        let printed = String::from_utf8(printed).expect("names are UTF-8").replace('\t', "        ");
        let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
        assert_eq!(printed, expected, "{command}");
    }
}
