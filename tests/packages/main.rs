//! Tests of the packaging files that do not build packages: the names agree with the script that creates the archives,
//! and checkers accept each file. `packaging/test.sh` tests built packages.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect("the file is there")
}

/// Returns the files of a directory with an extension, sorted.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("the folder is readable").path());
    let mut found: Vec<PathBuf> = paths.filter(|path| path.to_string_lossy().ends_with(extension)).collect();
    found.sort();
    found
}

/// Runs a checker on files. Its messages are the failure.
#[track_caller]
fn check(test: &str, program: &str, arguments: &[&str], files: &[PathBuf]) {
    assert!(!files.is_empty());
    match Command::new(program).args(arguments).args(files).current_dir(root()).output() {
        Ok(output) => {
            let said = [output.stdout, output.stderr].concat();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
        }
        Err(_) => println!("SKIPPED: {test}: no {program}"),
    }
}

/// Returns the value of a line `key = "value"` in a section of Cargo.toml.
fn manifest(section: &str, key: &str) -> String {
    let text = read("Cargo.toml");
    let lines = text.lines().skip_while(|line| *line != format!("[{section}]")).skip(1);
    let mut lines = lines.take_while(|line| !line.starts_with('['));
    let line = lines.find_map(|line| line.strip_prefix(&format!("{key} = \""))).expect("the key is there");
    line.trim_end_matches('"').to_string()
}

/// Returns the output of the script's function `archive` for a target.
fn archive(version: &str, target: &str) -> String {
    let script = read("packaging/release.sh");
    let line = script.lines().find(|line| line.starts_with("archive() {")).expect("the script has the function");
    let shell = format!("name=profbridge; version={version}; {line}; archive {target}");
    let output = Command::new("bash").args(["-c", &shell]).output().expect("bash starts");
    String::from_utf8(output.stdout).expect("a name is text")
}

#[test]
fn addresses_of_binstall_match_the_release_files() {
    let (version, target) = (manifest("package", "version"), "x86_64-unknown-linux-gnu");
    let filled = |template: String| {
        template.replace("{ name }", "profbridge").replace("{ version }", &version).replace("{ target }", target)
    };
    let address = filled(manifest("package.metadata.binstall", "pkg-url"));
    assert_eq!(address.rsplit('/').next(), Some(archive(&version, target).as_str()));
    assert!(address.contains(&format!("/v{version}/")), "{address}");
    // The archive contains one directory.
    let program = filled(manifest("package.metadata.binstall", "bin-dir")).replace("{ bin }", "profbridge");
    assert_eq!(program, format!("profbridge-{version}/profbridge"));
    let script = read("packaging/release.sh");
    assert!(script.contains("mkdir \"$folder/$name-$version\""));
    // The URL starts with the project's URL, which the crate gets when it is packaged.
    assert!(manifest("package.metadata.binstall", "pkg-url").starts_with("{ repo }/"));
    assert!(script.contains("repository = \\\"$ADDRESS\\\""), "{script}");
}

#[test]
fn the_formula_takes_the_crate_that_the_release_script_makes() {
    let formula = read("packaging/homebrew/profbridge.rb");
    assert!(formula.contains("/profbridge-@VERSION@.crate\""), "{formula}");
    let script = read("packaging/release.sh");
    for filled in ["@ADDRESS@", "@VERSION@", "@SHA256@"] {
        assert!(formula.contains(filled) && script.contains(&format!("s|{filled}|")), "{filled}");
    }
    check("the_formula", "ruby", &["-c"], &[root().join("packaging/homebrew/profbridge.rb")]);
}

#[test]
fn the_flake_is_valid() {
    check("the_flake_is_sound", "nix-instantiate", &["--parse"], &files("packaging/nix", ".nix"));
}

#[test]
fn scripts_pass_the_checker() {
    let mut scripts = files("packaging", ".sh");
    scripts.extend(
        [
            "test.sh",
            ".ci/run",
            ".ci/features",
            ".ci/targets",
            "python/test.sh",
            "testdata/make.sh",
            "packaging/debian/prerm",
        ]
        .map(|name| root().join(name)),
    );
    check("scripts_are_sound", "shellcheck", &["--severity=warning"], &scripts);
}

#[test]
fn workflows_are_valid_and_run_existing_scripts() {
    let workflows = files(".github/workflows", ".yml");
    check("workflows_are_sound", "yamllint", &["--strict", "-c", ".yamllint"], &workflows);
    let text = read(".github/workflows/ci.yml");
    for run in ["bash .ci/run", "packaging/release.sh", "cargo test --locked --lib"] {
        assert!(text.contains(run), "no {run}");
    }
}

#[test]
fn the_image_contains_the_release_files() {
    let file = read("packaging/container/Containerfile");
    assert!(file.contains("ADD profbridge-${VERSION}-container.tar.gz /"));
    assert!(read("packaging/release.sh").contains("$name-$version-container.tar.gz"));
}

#[test]
fn the_notes_of_a_release_are_its_part_of_the_changelog() {
    let output = Command::new("packaging/notes.sh").arg(env!("CARGO_PKG_VERSION")).current_dir(root()).output();
    let output = output.expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let notes = String::from_utf8(output.stdout).expect("notes are text");
    assert!(notes.contains("### ") && !notes.contains("\n## "), "{notes}");
}
