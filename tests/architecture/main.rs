//! Tests of the layers: a module uses only the modules that `src/lib.rs` allows, the files of a module have no circular
//! uses, and the program uses only public items of the library.

mod fixtures;
mod graph;
mod public_api;
mod rules;
mod sources;
mod test_data;
mod walks;
mod wording;

use rules::Row;
use sources::{Crate, texts_below};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Modules that every other module may use.
const BASE: &[&str] = &[
    "ascii",
    "bytes",
    "call_chains",
    "cancel",
    "compat",
    "compression",
    "digits",
    "error",
    "error_report",
    "expressions",
    "family",
    "gates",
    "hint",
    "java",
    "limits",
    "memory",
    "names",
    "number_format",
    "system",
    "threads",
];

/// Each module with the modules that it may use besides [`BASE`] and itself, from the bottom layer to the top.
const MODULES: &[Row] = &[
    ("ascii", &[]),
    ("bytes", &[]),
    ("call_chains", &[]),
    ("cancel", &[]),
    ("compat", &[]),
    ("compression", &[]),
    ("digits", &[]),
    ("error", &[]),
    ("error_report", &[]),
    ("expressions", &[]),
    ("family", &[]),
    ("gates", &[]),
    ("hint", &[]),
    ("java", &[]),
    ("limits", &[]),
    ("memory", &[]),
    ("names", &[]),
    ("number_format", &[]),
    ("system", &[]),
    ("threads", &[]),
    ("objects", &[]),
    ("partial", &[]),
    ("perf", &[]),
    ("model", &[]),
    ("identify", &["raw", "indexed", "text", "memprof", "iprof", "stacks"]),
    ("input", &["identify", "partial"]),
    ("driver", &["identify", "input", "model", "partial"]),
    ("render", &[]),
    ("raw", &["model", "objects"]),
    ("indexed", &["model"]),
    ("text", &["model"]),
    ("memprof", &["model", "objects", "render"]),
    ("instr", &["driver", "identify", "indexed", "input", "memprof", "model", "partial", "raw", "render", "text"]),
    ("sampleprof", &["driver", "identify", "input", "model", "partial", "render"]),
    ("profgen", &["driver", "identify", "input", "model", "objects", "partial", "perf", "sampleprof"]),
    ("iprof", &["model", "partial", "render"]),
    ("stacks", &["model", "objects", "partial", "perf", "render"]),
    ("bridge", &["instr", "iprof", "model", "stacks"]),
    ("fit", &["instr", "iprof", "model", "objects", "raw", "render", "sampleprof", "stacks"]),
    (
        "generate",
        &[
            "driver",
            "identify",
            "indexed",
            "input",
            "instr",
            "iprof",
            "memprof",
            "model",
            "raw",
            "sampleprof",
            "stacks",
        ],
    ),
    (
        "families",
        &[
            "bridge",
            "driver",
            "fit",
            "identify",
            "indexed",
            "input",
            "instr",
            "iprof",
            "memprof",
            "model",
            "objects",
            "partial",
            "perf",
            "profgen",
            "raw",
            "render",
            "sampleprof",
            "stacks",
            "text",
        ],
    ),
];

/// The modules and items of the library that the program uses.
const PROGRAM_USES: &[&str] = &[
    "Compat",
    "Error",
    "ErrorKind",
    "ErrorReport",
    "Hint",
    "ImagePart",
    "Limits",
    "Result",
    "Warning",
    "WithWarnings",
    "bridge",
    "bytes",
    "call_chains",
    "compression",
    "driver",
    "error",
    "families",
    "fit",
    "gates",
    "generate",
    "input",
    "instr",
    "iprof",
    "memprof",
    "names",
    "profgen",
    "raw",
    "render",
    "sampleprof",
    "stacks",
    "system",
];

/// Hidden modules of the library that exist for the program: their items can change in every version.
const FOR_THE_PROGRAM: &[&str] = &[
    "bridge::stacks",
    "driver",
    "families::Minimums",
    "families::draw",
    "families::Written",
    "families::find_outliers",
    "families::fit",
    "families::inputs",
    "families::leave_in_file",
    "families::plan",
    "families::require_earlier_output",
    "families::stack_files",
    "families::watch",
    "fit",
    "gates",
    "generate",
    "instr::cross_release",
    "instr::resolved_target",
    "iprof::statistics",
    "profgen",
    "sampleprof::show",
    "stacks::classes",
    "system",
];

fn source_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn library() -> Crate {
    Crate::new(&texts_below(&source_root()), "lib.rs")
}

fn program() -> Crate {
    Crate::new(&texts_below(&source_root().join("bin/profbridge")), "main.rs")
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn modules_follow_the_dependency_rule() {
    assert_none(&rules::forbidden_uses(&library(), BASE, MODULES));
}

#[test]
fn the_rule_has_no_circle_and_names_modules_only() {
    assert_none(&rules::faults_of_table(BASE, MODULES));
}

#[test]
fn every_module_of_the_library_has_a_row() {
    let modules = &library().modules[&Vec::new()].children;
    for module in modules {
        assert!(MODULES.iter().any(|(name, _)| name == module), "{module} has no row in the table of modules");
    }
    assert_eq!(modules.len(), MODULES.len(), "the table has a row for a module that is not there");
}

#[test]
fn files_of_a_module_do_not_use_each_other_in_circles() {
    assert_none(&rules::faults_of_circles(&rules::circles_in_modules(&library())));
}

#[test]
fn files_of_the_program_do_not_use_each_other_in_circles() {
    let circles = graph::circles(&program().uses(graph::Ends::Items), |_, _| true);
    assert_none(&rules::faults_of_circles(&circles));
}

#[test]
fn the_program_takes_the_public_interface_only() {
    assert_none(&rules::faults_of_program(&program(), &library(), "profbridge", PROGRAM_USES, FOR_THE_PROGRAM));
}

/// The interface at the last review.
const LISTED_INTERFACE: &str = "docs/public-api.txt";

/// With `PROFBRIDGE_RENEW=1` in the environment, the listing is rewritten.
#[test]
fn the_public_interface_is_the_one_that_is_listed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(LISTED_INTERFACE);
    let found: String = public_api::listing(&library()).into_iter().map(|line| line + "\n").collect();
    if std::env::var_os("PROFBRIDGE_RENEW").is_some() {
        std::fs::write(&path, &found).expect("the listing can be written");
    }
    let listed = std::fs::read_to_string(&path).unwrap_or_default();
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let (listed, found) = (lines(&listed), lines(&found));
    let gone = listed.difference(&found).map(|line| format!("- {line}"));
    let changes: Vec<String> = gone.chain(found.difference(&listed).map(|line| format!("+ {line}"))).collect();
    assert!(
        changes.is_empty(),
        "the public interface is not that of {LISTED_INTERFACE}:\n{}\nIf that is meant: \
         PROFBRIDGE_RENEW=1 cargo test --test architecture public_interface",
        changes.join("\n")
    );
}

/// Public enums that have all their values by definition, or whose users must handle each value.
const COMPLETE_ENUMS: &[&str] = &[
    "ImagePart",
    "bytes::Endian",
    "bytes::PointerWidth",
    "call_chains::Direction",
    "call_chains::Function",
    "families::Comparison",
    "input::Access",
    "iprof::InstanceofSpelling",
    "iprof::Records",
    "iprof::Table",
    "memprof::Sum",
    "raw::Counters",
    "sampleprof::FunctionName",
    "sampleprof::InputMessage",
];

/// The rule is in `CONTRIBUTING.md`.
#[test]
fn enums_and_reports_that_can_grow_are_non_exhaustive() {
    let listed = public_api::listing(&library());
    let fields: BTreeSet<&str> = listed
        .iter()
        .filter_map(|line| line.strip_prefix("pub ")?.split_once(": "))
        .map(|(path, _)| path.rsplit_once("::").map_or(path, |(owner, _)| owner))
        .collect();
    let mut complete = BTreeSet::new();
    for line in listed.iter().filter(|line| !line.ends_with("(non-exhaustive)")) {
        let name = |kind| line.strip_prefix(kind)?.split(['<', ' ']).next();
        if let Some(path) = name("pub enum ") {
            assert!(COMPLETE_ENUMS.contains(&path), "the enum {path} can grow: mark it as non_exhaustive");
            complete.insert(path);
        }
        if let Some(path) = name("pub struct ").filter(|path| fields.contains(path)) {
            let grows = ["Options", "Settings", "Request", "Report", "Findings", "Statistics", "Outcome"];
            assert!(!grows.iter().any(|end| path.ends_with(end)), "{path} can grow: mark it as non_exhaustive");
        }
    }
    assert_eq!(complete.len(), COMPLETE_ENUMS.len(), "the list has an enum that is not there");
}

/// A type of another crate would make its major versions those of this library.
#[test]
fn signatures_have_types_of_the_library_and_of_std_only() {
    let foreign =
        ["hashbrown", "flate2", "regex", "object", "gimli", "memmap2", "indexmap", "smallvec", "zstd", "tempfile"];
    for line in public_api::listing(&library()) {
        let found = foreign.iter().find(|name| line.contains(&format!("{name}::")));
        assert!(found.is_none(), "the interface has a type of another crate: {line}");
    }
}

#[test]
fn texts_of_the_library_name_no_option_of_the_program() {
    assert_none(&wording::faults(&library(), "profbridge"));
}

#[test]
fn test_data_names_no_folder_of_a_machine() {
    assert_none(&test_data::faults(&Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")));
}

/// The only file with code that depends on the operating system.
const SYSTEM: &str = "system.rs";

/// Returns true if code outside tests depends on the operating system.
fn asks_for_the_system(code: &str) -> bool {
    let code = code.split("#[cfg(test)]").next().unwrap_or_default();
    let code = code.split("#[cfg(all(test").next().unwrap_or_default();
    ["cfg(unix)", "cfg(not(unix))", "cfg(windows)", "cfg!(unix)", "cfg!(windows)", "target_os", "std::os::"]
        .iter()
        .any(|asked| code.contains(asked))
}

#[test]
fn system_differences_are_in_one_file() {
    assert!(asks_for_the_system(&std::fs::read_to_string(source_root().join(SYSTEM)).expect("the file is there")));
    for (file, code) in texts_below(&source_root()) {
        let is_for_tests = file.ends_with("tests.rs") || file.contains("tests/");
        assert!(file == SYSTEM || is_for_tests || !asks_for_the_system(&code), "{file} asks for the system");
    }
}

#[test]
fn only_main_ends_the_process() {
    for (file, module) in texts_below(&source_root()) {
        let code: String = module.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
        assert!(file.ends_with("main.rs") || !code.contains("process::exit("), "{file} ends the process");
    }
}
