//! Rules about the source and its dependencies that nobody may break unseen.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files that may contain `unsafe`, and how many blocks: the call that maps a
/// file, and the calls of zlib itself.
const UNSAFE: [(&str, usize); 2] = [("src/bytes/deflate.rs", 1), ("src/input/bytes.rs", 1)];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: PathBuf) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("source is readable") {
        let path = entry.expect("source is readable").path();
        if path.is_dir() {
            found.extend(sources(path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn code_of(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("source is readable");
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

#[test]
fn unsafe_stands_only_where_it_may_and_says_why() {
    let mut found = Vec::new();
    for path in sources(root().join("src")) {
        let code = code_of(&path);
        let forms = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe trait", "unsafe extern", "unsafe("];
        let blocks: usize = forms.iter().map(|form| code.matches(form).count()).sum();
        if blocks > 0 {
            let name = path.strip_prefix(root()).expect("below the root").to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).expect("source is readable");
            assert_eq!(text.matches("// SAFETY:").count(), blocks, "{name} says for each block why it is sound");
            found.push((name, blocks));
        }
    }
    let expected: Vec<(String, usize)> = UNSAFE.iter().map(|(name, blocks)| ((*name).to_string(), *blocks)).collect();
    assert_eq!(found, expected);
}

#[test]
fn inputs_are_never_mapped_by_default() {
    for path in sources(root().join("src")) {
        if !path.ends_with("input/bytes.rs") {
            assert!(!code_of(&path).contains("Access::Map"), "{} maps an input", path.display());
        }
    }
}

#[test]
fn no_program_is_started_and_no_socket_opened() {
    for path in sources(root().join("src")) {
        let code = code_of(&path);
        for word in ["std::process::Command", "process::Command", "std::net", "TcpStream", "UnixStream"] {
            assert!(!code.contains(word), "{} uses {word}", path.display());
        }
    }
}

/// The licences of `deny.toml`.
fn allowed_licences() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("deny.toml")).expect("deny.toml is readable");
    let line = text.lines().find_map(|line| line.trim().strip_prefix("allow = [")).expect("licences are allowed");
    line.trim_end_matches(']').split(',').map(|word| word.trim().trim_matches('"').to_string()).collect()
}

/// Whether an SPDX expression can be met with the allowed licences alone.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], " ");
    // No dependency nests `OR` below `AND`; such a one would fail here and be looked at.
    expression.split(" OR ").any(|choice| choice.split(" AND ").all(|licence| allowed.contains(licence.trim())))
}

#[test]
fn every_dependency_has_an_allowed_licence_and_comes_from_the_registry() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version=1", "--locked", "--offline", "--manifest-path"]);
    let output = command.arg(root().join("Cargo.toml")).output().expect("cargo starts");
    if !output.status.success() {
        eprintln!("SKIPPED: cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let packages = metadata["packages"].as_array().expect("packages are listed");
    assert!(packages.len() > 20);
    let allowed = allowed_licences();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let licence = package["license"].as_str().unwrap_or_default();
        assert!(is_allowed(licence, &allowed), "{name} has the licence {licence:?}");
        let source = package["source"].as_str();
        assert!(name == "profbridge" || source.is_some_and(|s| s.starts_with("registry+")), "{name} from {source:?}");
    }
}
