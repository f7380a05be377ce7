//! Checks that pages and source do not use certain words; docs/style.md has the terms to use instead.

use crate::links::{FURTHER, prose};
use crate::pages::Page;
use regex::Regex;
use std::path::{Path, PathBuf};

/// Private or badly translated words, outside of code.
const REPLACED: &str = r"(?i)\b(whom|whoever|nobody|somebody|anew|dumps?|mend(s|ed)?|rubbish|told|stands?|stood|foretold|pass(es|ed)? over|so (many|much)|all the same|by chance|for the sake of|in silence|as (it|they) came|wrong use|what becomes of|is said|folders?|pictures?)\b";

/// The words that comments and strings of the source must not contain.
const REPLACED_IN_SOURCE: &str = r"(?i)\b(whom|whoever|nobody|somebody|anew|mend(s|ed)?|told|stood|foretold|pass(es|ed)? over|so (many|much)|all the same|by chance|for the sake of|in silence|as (it|they) came|wrong use|what becomes of|is said|aloud|taken apart|eras?|at hand|what of|in the place of|by halves|of which there|unasked|going on|be had)\b";

/// A comment, string or character of Rust; a comment or string of Python.
const RUST: &str = r#"//[^\n]*|"(?:[^"\\]|\\(?s:.))*"|'(?:[^'\\\n]|\\.)'"#;
const PYTHON: &str = r##"(?s)""".*?"""|(?-s:#.*)|"(?:[^"\\\n]|\\.)*""##;

/// Returns the lines of pages with such a word.
pub fn faults() -> Vec<String> {
    let replaced = Regex::new(REPLACED).expect("a pattern");
    let further = FURTHER.iter().chain(&["CHANGELOG.md"]).map(|path| Page::read(path));
    let mut faults = Vec::new();
    for page in Page::all().into_iter().chain(further) {
        let text = prose(&page.text);
        for line in text.lines() {
            let words = replaced.find_iter(line).map(|found| found.as_str());
            faults.extend(words.map(|word| format!("{}: `{word}` in: {line}", page.path)));
        }
    }
    faults
}

/// Returns the comments and strings of the source with such a word.
pub fn faults_of_source() -> Vec<String> {
    let replaced = Regex::new(REPLACED_IN_SOURCE).expect("a pattern");
    let [rust, python] = [RUST, PYTHON].map(|pattern| Regex::new(pattern).expect("a pattern"));
    let mut faults = Vec::new();
    for path in ["src", "tests", "benches", "examples", "fuzz", "python"].iter().flat_map(|folder| files(folder)) {
        // This file contains the words.
        if path.ends_with("tests/book/wording.rs") {
            continue;
        }
        let parts = if path.extension().is_some_and(|extension| extension == "rs") { &rust } else { &python };
        let text = std::fs::read_to_string(&path).expect("the file is readable");
        for part in parts.find_iter(&text) {
            let words = replaced.find_iter(part.as_str()).map(|found| found.as_str());
            faults.extend(words.map(|word| format!("{}: `{word}` in: {}", path.display(), part.as_str())));
        }
    }
    faults
}

/// Returns the Rust and Python files in a directory of the repository and its subdirectories.
fn files(directory: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut left = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(directory)];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(directory).expect("the directory is readable") {
            let path = entry.expect("an entry").path();
            let is_skipped =
                |name: &str| matches!(name, "target" | "corpus" | "artifacts" | "coverage") || name.starts_with('.');
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && !is_skipped(&name) {
                left.push(path);
            } else if matches!(path.extension().and_then(|extension| extension.to_str()), Some("rs" | "py" | "pyi")) {
                files.push(path);
            }
        }
    }
    files
}
