//! Keeps the dependency rule between the library's modules (see `src/lib.rs`):
//! data flows one way and nothing points back.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Modules that every other module may use.
const BASE: &[&str] = &["digits", "error", "limits", "compat", "memory", "threads"];

/// Each module and the modules it may use beside [`BASE`] and itself.
const MODULES: &[(&str, &[&str])] = &[
    ("digits", &[]),
    ("error", &[]),
    ("limits", &[]),
    ("compat", &[]),
    ("memory", &[]),
    ("threads", &[]),
    ("bytes", &[]),
    ("instr", &[]),
    ("input", &["bytes"]),
    ("objects", &[]),
    ("memprof", &["bytes", "instr", "objects"]),
    ("raw", &["bytes", "instr", "objects"]),
    ("indexed", &["bytes", "instr"]),
    ("text", &["bytes", "instr"]),
    ("iprof", &["bytes", "instr"]),
    ("stacks", &["bytes", "instr"]),
    ("merge", &["instr", "memprof"]),
    ("sampleprof", &["bytes", "instr", "merge", "report"]),
    ("report", &["instr", "stacks"]),
    ("render", &["instr", "iprof", "stacks", "report"]),
    ("bridge", &["instr", "iprof", "stacks"]),
    (
        "pipeline",
        &[
            "bytes",
            "input",
            "memprof",
            "instr",
            "raw",
            "indexed",
            "text",
            "iprof",
            "stacks",
            "sampleprof",
            "merge",
            "report",
            "render",
            "bridge",
        ],
    ),
];

fn is_module(name: &str) -> bool {
    MODULES.iter().any(|(module, _)| *module == name)
}

fn source_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// All `.rs` files below `folder`, or `folder.rs`.
fn sources(module: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![source_root().join(module)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.expect("folder is readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let single = source_root().join(format!("{module}.rs"));
    if single.exists() {
        found.push(single);
    }
    found
}

/// The code of a file: everything but its line comments.
fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// First names of the paths that start with `prefix`, lists in braces included.
fn names_after(code: &str, prefix: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (start, _) in code.match_indices(prefix) {
        let before = code[..start].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':' || c == '$') {
            continue;
        }
        names.extend(first_names(&code[start + prefix.len()..]));
    }
    names
}

/// The name at the start of `text`, or all that stand first in a list in braces.
fn first_names(text: &str) -> Vec<String> {
    let Some(list) = text.strip_prefix('{') else { return vec![leading_name(text)] };
    let (mut names, mut depth, mut at_start) = (Vec::new(), 0, true);
    for (offset, character) in list.char_indices() {
        match character {
            '}' if depth == 0 => break,
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => at_start = true,
            c if at_start && !c.is_whitespace() => {
                names.push(leading_name(&list[offset..]));
                at_start = false;
            }
            _ => {}
        }
    }
    names
}

fn leading_name(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Modules that `code` names. What the crate's root exports comes from [`BASE`].
fn modules_used(code: &str) -> BTreeSet<String> {
    names_after(code, "crate::").into_iter().filter(|name| is_module(name)).collect()
}

#[test]
fn modules_use_only_what_the_dependency_rule_allows() {
    let mut faults = Vec::new();
    for (module, allowed) in MODULES {
        let files = sources(module);
        assert!(!files.is_empty(), "module {module} has no source: is it still called so?");
        for file in files {
            let code = without_comments(&std::fs::read_to_string(&file).expect("source is readable"));
            for used in modules_used(&code) {
                if used != *module && !BASE.contains(&used.as_str()) && !allowed.contains(&used.as_str()) {
                    faults.push(format!("{} uses {used}, which {module} may not", file.display()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_module_of_the_library_is_a_known_module() {
    let root = std::fs::read_to_string(source_root().join("lib.rs")).expect("lib.rs is readable");
    let modules: Vec<&str> = root
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub mod ").or_else(|| line.trim().strip_prefix("mod ")))
        .map(|rest| rest.trim_end_matches(';'))
        .collect();
    assert!(!modules.is_empty());
    for module in modules {
        assert!(is_module(module), "{module} has no row in the table of modules");
    }
}

#[test]
fn only_main_ends_the_process() {
    let mut folders = vec![source_root()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("folder is readable") {
            let path = entry.expect("folder is readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name != "main.rs") {
                let code = without_comments(&std::fs::read_to_string(&path).expect("source is readable"));
                assert!(!code.contains("process::exit("), "{} ends the process", path.display());
            }
        }
    }
}

#[test]
fn paths_and_lists_are_both_seen() {
    let code = "use crate::raw::{self, Header};\nuse crate::{bytes::{Cursor, Sink}, text};\nlet x = crate::merge::y();";
    let found: Vec<String> = modules_used(code).into_iter().collect();
    assert_eq!(found, ["bytes", "merge", "raw", "text"]);
    assert!(modules_used(&without_comments("/// see [`crate::raw`]")).is_empty());
    assert!(modules_used("othercrate::raw::x").is_empty());
}
