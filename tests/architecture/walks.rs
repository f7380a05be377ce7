//! Checks that the functions in `docs/architecture.md` exist, and that the ways through the code do not get longer.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Returns the rows of the page that have a function and a file, without their step.
fn rows(page: &str) -> Vec<(String, String)> {
    let cell = |text: &str| text.trim().strip_prefix('`')?.strip_suffix('`').map(str::to_string);
    let row = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix('|')?.split('|').collect();
        Some((cell(cells.get(1)?)?, cell(cells.get(2)?)?))
    };
    page.lines().filter_map(row).collect()
}

#[test]
fn every_function_on_the_page_exists_in_its_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/architecture.md")).expect("the page is there");
    let rows = rows(&page);
    assert!(rows.len() > 40, "{} rows", rows.len());
    for (function, file) in rows {
        let source = fs::read_to_string(root.join("src").join(&file)).unwrap_or_default();
        let has = |end: &str| source.contains(&format!("fn {function}{end}"));
        assert!(has("(") || has("<"), "{file} has no function {function}");
    }
}

/// The most functions and files from the command to the bytes of the output. A change that needs more first looks for a
/// step that can go.
const LIMITS: [(&str, usize, usize); 4] =
    [("A counter", 27, 17), ("An iprof entry", 27, 12), ("A sampled function", 21, 13), ("A branch record", 16, 12)];

#[test]
fn the_ways_through_the_code_do_not_get_longer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/architecture.md")).expect("the page is there");
    for (title, functions, files) in LIMITS {
        let section = page.split("\n## ").find(|section| section.starts_with(&format!("{title}:"))).expect("a section");
        let rows = rows(section);
        let found: BTreeSet<&str> = rows.iter().map(|(_, file)| file.as_str()).collect();
        assert!(rows.len() <= functions, "{title}: {} functions, {functions} before", rows.len());
        assert!(found.len() <= files, "{title}: {} files, {files} before", found.len());
    }
}

#[test]
fn a_row_has_a_step_a_function_and_a_file() {
    let page = "| step | function | file |\n|---|---|---|\n| merge | `run` | `a/b.rs` |\n| none | run | a |\n";
    assert_eq!(rows(page), [("run".to_string(), "a/b.rs".to_string())]);
}
