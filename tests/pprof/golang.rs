//! Tests with the real tools: `go tool pprof` reads our files, and `go build -pgo` uses our merged profiles.
//!
//! Uses `PROFBRIDGE_GO`, or `go` on the search path; Go 1.21 or later.

use crate::support::{Folder, data};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A Go release that supports profiles.
struct Go(PathBuf);

impl Go {
    /// Prints a message and returns `None` if it is missing.
    fn find(test: &str) -> Option<Self> {
        let path = std::env::var_os("PROFBRIDGE_GO").map_or_else(|| PathBuf::from("go"), PathBuf::from);
        let reason = match Command::new(&path).arg("version").output() {
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stdout).into_owned();
                let minor =
                    said.split("go1.").nth(1).and_then(|rest| rest.split(['.', ' ']).next()?.parse::<u32>().ok());
                match minor {
                    Some(21..) => return Some(Self(path)),
                    _ => format!("{said:?} is older than go1.21"),
                }
            }
            Err(error) => format!("{}: {error}", path.display()),
        };
        let _ = std::io::stderr().write_all(format!("SKIPPED: {test}: {reason}\n").as_bytes());
        None
    }

    /// Runs Go without network, with a build cache that other runs share.
    fn run(&self, folder: &Path, arguments: &[&str]) -> Output {
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pprof/go-cache");
        Command::new(&self.0)
            .args(arguments)
            .current_dir(folder)
            .env("GOCACHE", cache)
            .env("GOFLAGS", "-mod=mod")
            .env("GOPROXY", "off")
            .env("GOTOOLCHAIN", "local")
            .env("PPROF_TMPDIR", folder)
            .output()
            .unwrap()
    }

    /// Returns both outputs of a run that must succeed.
    fn stderr_of(&self, folder: &Path, arguments: &[&str]) -> String {
        let output = self.run(folder, arguments);
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(output.status.success(), "{arguments:?}: {said}");
        said
    }
}

/// Parses the flat sample counts per function of `go tool pprof -top`.
fn tops(said: &str) -> Vec<(String, u64)> {
    let rows = said.lines().skip_while(|line| !line.contains("flat%")).skip(1);
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words.get(5..)?.join(" ").replace(" (inline)", "");
        Some((name, words.first()?.parse().ok()?))
    };
    let mut tops: Vec<(String, u64)> = rows.filter_map(row).filter(|(_, flat)| *flat > 0).collect();
    tops.sort();
    tops
}

#[test]
fn go_tool_pprof_reads_written_profiles() {
    let Some(go) = Go::find("go_tool_pprof_reads_what_we_write") else { return };
    let folder = Folder::new("go-reads");
    folder.stderr_of("merge squares.pprof circles.pprof -o ours.pprof");
    folder.stderr_of("merge squares.pprof circles.pprof --drop-addresses --drop-labels -o plain.pb");
    folder.stderr_of("convert squares.pprof circles.pprof -o ours.collapsed");
    folder.stderr_of("convert ours.collapsed -o back.pprof");
    let top = |files: &[&str]| {
        let mut arguments =
            vec!["tool", "pprof", "-top", "-nodecount=100000", "-nodefraction=0", "-sample_index=samples"];
        arguments.extend(files);
        tops(&go.stderr_of(&folder.0, &arguments))
    };
    let expected = top(&["squares.pprof", "circles.pprof"]);
    assert!(expected.iter().any(|(name, flat)| name == "main.mix" && *flat > 50), "{expected:?}");
    for file in ["ours.pprof", "plain.pb", "back.pprof"] {
        assert_eq!(top(&[file]), expected, "{file}");
    }
    let raw = go.stderr_of(&folder.0, &["tool", "pprof", "-raw", "ours.pprof"]);
    assert!(raw.contains("samples/count cpu/nanoseconds") && raw.contains("request:[slow]"), "{raw}");
    let source = std::fs::read_to_string(data("shapes.go")).unwrap();
    let start = source.lines().position(|line| line.starts_with("func mix(")).unwrap() + 1;
    let has_start =
        |line: &str| line.contains("main.mix example.org/shapes/shapes.go:") && line.ends_with(&format!(" s={start}"));
    assert!(raw.lines().any(has_start), "{start}: {raw}");
    // The real tool's merged profile has the same stacks with the same values.
    go.stderr_of(&folder.0, &["tool", "pprof", "-proto", "-output=theirs.pprof", "squares.pprof", "circles.pprof"]);
    folder.stderr_of("convert theirs.pprof -o theirs.collapsed");
    assert_eq!(folder.text("ours.collapsed"), folder.text("theirs.collapsed"));
}

/// Returns the target to which the compiler devirtualizes the interface call in `sum`.
fn devirtualized(go: &Go, folder: &Folder, profile: &str) -> String {
    let profile = format!("-pgo={profile}");
    let said = go.stderr_of(&folder.0, &["build", "-trimpath", &profile, "-gcflags=-m", "-o", "shapes", "."]);
    let lines = said.lines().filter(|line| line.contains("PGO devirtualizing"));
    lines.map(|line| line.rsplit(' ').next().unwrap_or_default()).collect::<Vec<_>>().join(" ")
}

/// Writes a program that uses little of the standard library, because each profile rebuilds it.
fn prepare(folder: &Folder) {
    std::fs::copy(data("shapes.go"), folder.0.join("shapes.go")).unwrap();
    folder.write("go.mod", "module example.org/shapes\n\ngo 1.21\n");
    folder.write("main.go", "package main\n\nfunc main() { println(sum([]shape{square{3}, circle{4}}, 100)) }\n");
}

#[test]
fn go_build_uses_merged_profiles() {
    let Some(go) = Go::find("go_build_optimizes_by_what_we_merged") else { return };
    let folder = Folder::new("go-builds");
    prepare(&folder);
    // With the same inputs, the weights determine which receiver is hot.
    folder.stderr_of("merge --weighted-input=10,squares.pprof circles.pprof -o squares.pgo");
    folder.stderr_of(
        "merge squares.pprof --weighted-input=10,circles.pprof --max-stacks=40 --drop-addresses -o default.pgo",
    );
    assert_eq!(devirtualized(&go, &folder, "squares.pgo"), "square.area");
    // `auto` uses the file default.pgo next to the program.
    assert_eq!(devirtualized(&go, &folder, "auto"), "circle.area");
    assert_eq!(devirtualized(&go, &folder, "off"), "");
}

#[test]
fn check_knows_the_rules_of_go() {
    let Some(go) = Go::find("check_knows_what_go_refuses") else { return };
    let folder = Folder::new("go-refuses");
    prepare(&folder);
    folder.stderr_of("convert heap.pprof -o heap.pgo");
    folder.stderr_of("convert squares.pprof -o plain.collapsed");
    folder.stderr_of("convert plain.collapsed -o names.pgo");
    folder.write("damaged.pgo", &folder.read("squares.pprof")[..900]);
    for (file, words) in [
        ("heap.pgo", "does not contain a sample index"),
        ("names.pgo", "missing Function.start_line"),
        ("damaged.pgo", "error parsing profile"),
    ] {
        let (stdout, _) = folder.ends(3, &format!("check {file}"));
        assert!(stdout.contains("unusable"), "{stdout}");
        let output = go.run(&folder.0, &["build", &format!("-pgo={file}"), "-o", "shapes", "."]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(words), "{file}: {said}");
    }
}
