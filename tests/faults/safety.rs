//! Rules for the source and its dependencies.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files that may contain `unsafe`, with the number of blocks: mapping a file, and calling zlib.
const UNSAFE: [(&str, usize); 2] = [("src/bytes/names.rs", 1), ("src/input/bytes.rs", 1)];

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
fn unsafe_code_is_only_where_allowed_and_has_a_reason() {
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

/// `doctor` runs the tools that it finds to get their versions, and `interop` runs compilers and the programs that they
/// build. Nothing else starts a program.
#[test]
fn no_program_is_started_but_by_doctor_and_interop_and_no_socket_opened() {
    for path in sources(root().join("src")) {
        let text = code_of(&path);
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for word in ["std::net", "TcpStream", "TcpListener", "UdpSocket", "UnixStream"] {
            assert!(!code.contains(word), "{} uses {word}", path.display());
        }
        let starts =
            (code.contains("process::Command") || code.contains("std::process::{")) && code.contains("Command::new");
        let may_start =
            path.ends_with("doctor/probe.rs") || path.parent().is_some_and(|parent| parent.ends_with("interop"));
        assert!(!starts || may_start, "{} starts a program", path.display());
    }
}

/// If the system refuses a thread, the program must continue: only one module starts threads and handles this. `doctor`
/// reports threads that it cannot start, and `interop` works with the others.
#[test]
fn threads_are_started_in_one_place() {
    for path in sources(root().join("src")) {
        let is_the_place =
            ["threads/mod.rs", "doctor/probe.rs", "interop/matrix.rs"].iter().any(|place| path.ends_with(place));
        let text = code_of(&path);
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for word in ["scope.spawn(", "thread::spawn(", "spawn_scoped(", "thread::Builder"] {
            assert!(is_the_place || !code.contains(word), "{} has {word}", path.display());
        }
    }
}

/// If the real tool would download an object from a server, profbridge reports that it does not, and opens no
/// connection.
#[test]
fn debuginfod_is_refused_and_no_connection_opened() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("the loopback is there");
    server.set_nonblocking(true).expect("a listener need not wait");
    let address = format!("http://{}/", server.local_addr().expect("it has an address"));
    let input = root().join("testdata/raw/clang-16-ir.profraw");
    let merge = |servers: &str| -> super::program::Finished {
        let mut command = super::program::command();
        command.args(["llvm-profdata", "merge", "--debuginfod", "--correlate=binary", "-o", "/dev/null"]).arg(&input);
        command.env("DEBUGINFOD_URLS", servers).output().expect("the program starts").into()
    };
    merge(&address).assert_refused(&["-debuginfod is not supported: no connection is opened"]);
    let heard = server.accept();
    assert!(heard.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock), "the server was contacted");
    // Without servers, the real tool opens no connection either.
    assert!(!merge(" ").stderr.contains("not supported"));
}

/// Returns the licences in `deny.toml`.
fn allowed_licences() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("deny.toml")).expect("deny.toml is readable");
    let line = text.lines().find_map(|line| line.trim().strip_prefix("allow = [")).expect("licences are allowed");
    line.trim_end_matches(']').split(',').map(|word| word.trim().trim_matches('"').to_string()).collect()
}

/// Returns true if the allowed licences satisfy an SPDX expression.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], " ");
    // No dependency has an `OR` inside an `AND`; the test would fail for it.
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
    let own = metadata["workspace_members"].as_array().expect("members are listed");
    every_dependency_has_a_reason(&metadata);
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let licence = package["license"].as_str().unwrap_or_default();
        assert!(is_allowed(licence, &allowed), "{name} has the licence {licence:?}");
        let source = package["source"].as_str();
        let is_own = own.contains(&package["id"]);
        assert!(is_own || source.is_some_and(|s| s.starts_with("registry+")), "{name} from {source:?}");
    }
}

/// Returns the packages that are reachable from the nodes of the graph, including these.
fn used_by(metadata: &serde_json::Value, roots: BTreeSet<String>) -> BTreeSet<String> {
    let nodes = metadata["resolve"]["nodes"].as_array().expect("the graph is listed");
    let (mut found, mut waiting) = (BTreeSet::new(), roots.into_iter().collect::<Vec<_>>());
    while let Some(id) = waiting.pop() {
        let node = nodes.iter().find(|node| node["id"] == id.as_str()).expect("every package has a node");
        if found.insert(id) {
            waiting.extend(dependencies(node, |kind| kind != "dev"));
        }
    }
    found
}

/// Returns the dependencies of a node whose kind satisfies `is_meant`: "" for normal, "build" or "dev".
fn dependencies(node: &serde_json::Value, is_meant: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let all = node["deps"].as_array().expect("dependencies are listed").iter();
    let meant = all.filter(|dependency| {
        let kinds = dependency["dep_kinds"].as_array().expect("kinds are listed");
        kinds.iter().any(|kind| is_meant(kind["kind"].as_str().unwrap_or_default()))
    });
    meant.map(|dependency| dependency["pkg"].as_str().unwrap_or_default().to_owned()).collect()
}

/// `supply-chain.toml` has one line per dependency, and no others.
fn every_dependency_has_a_reason(metadata: &serde_json::Value) {
    let root_id = metadata["resolve"]["root"].as_str().expect("there is a root").to_owned();
    let nodes = metadata["resolve"]["nodes"].as_array().expect("the graph is listed");
    let own = nodes.iter().find(|node| node["id"] == root_id.as_str()).expect("the root has a node");
    let built = used_by(metadata, dependencies(own, |kind| kind != "dev"));
    let tests = used_by(metadata, dependencies(own, |kind| kind == "dev"));
    let names = |ids: &BTreeSet<String>| -> BTreeSet<String> {
        let packages = metadata["packages"].as_array().expect("packages are listed").iter();
        let meant = packages.filter(|package| package["id"].as_str().is_some_and(|id| ids.contains(id)));
        meant.map(|package| package["name"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let (built, tests) = (names(&built), names(&tests));
    let mut listed = [BTreeSet::new(), BTreeSet::new()];
    let mut section = 0;
    let text = fs::read_to_string(root().join("supply-chain.toml")).expect("the list is readable");
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line {
            "[built]" => section = 0,
            "[tests]" => section = 1,
            _ => {
                let (name, reason) = line.split_once(" = ").expect("NAME = REASON");
                assert!(reason.trim_matches('"').len() > 5, "{name} has no reason");
                assert!(listed[section].insert(name.to_owned()), "{name} stands twice");
            }
        }
    }
    let only_tests: BTreeSet<String> = tests.difference(&built).cloned().collect();
    assert_eq!(listed[0], built, "what is built");
    assert_eq!(listed[1], only_tests, "what tests use");
}

/// The release script creates the file. This test creates it from the current sources.
#[test]
fn the_bill_of_materials_lists_all_dependencies() {
    let mut command = Command::new("python3");
    let made = command.arg(root().join("packaging/sbom.py")).env("CARGO_NET_OFFLINE", "true").output();
    let Some(output) = made.ok().filter(|output| output.status.success()) else {
        eprintln!("SKIPPED: packaging/sbom.py needs python3 and cargo metadata");
        return;
    };
    let bom: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!((&bom["bomFormat"], &bom["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    assert_eq!(bom["metadata"]["component"]["name"], "profbridge");
    let text = fs::read_to_string(root().join("supply-chain.toml")).expect("the list is readable");
    let built = text.split("[tests]").next().unwrap_or_default();
    let listed: BTreeSet<&str> = built.lines().filter_map(|line| Some(line.split_once(" = ")?.0)).collect();
    let components = bom["components"].as_array().expect("components are listed");
    let found: BTreeSet<&str> = components.iter().filter_map(|component| component["name"].as_str()).collect();
    assert_eq!(found, listed);
    for component in components {
        assert!(component["hashes"][0]["content"].as_str().is_some_and(|hash| hash.len() == 64), "{component}");
        assert!(component["purl"].as_str().is_some_and(|purl| purl.starts_with("pkg:cargo/")), "{component}");
    }
}
