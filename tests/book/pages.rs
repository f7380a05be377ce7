//! Pages and their code blocks.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// The directory of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the files with an extension in a directory and its subdirectories.
pub fn files_below(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("the directory can be read");
    let paths = entries.map(|entry| entry.expect("its entries can be read").path());
    paths
        .flat_map(|path| if path.is_dir() { files_below(&path, extension) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect()
}

/// Returns true if outputs are written into the pages.
pub fn renews() -> bool {
    std::env::var_os("PROFBRIDGE_RENEW").is_some()
}

/// A page of the book, or the README.
pub struct Page {
    /// The path from the directory of the repository.
    pub path: String,
    pub text: String,
}

/// A code block: the words after the backquotes, and the lines.
pub struct Block {
    pub words: Vec<String>,
    /// The number of the line after the backquotes, from 0.
    pub first_line: usize,
    pub lines: Vec<String>,
}

impl Block {
    pub fn language(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }
}

/// A command of a `console` block, and its output.
pub struct Step {
    pub command: String,
    pub expected: Vec<String>,
    /// The range of lines in the page with the output.
    pub output: Range<usize>,
}

impl Page {
    pub fn read(path: &str) -> Self {
        let text = std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        Self { path: path.to_owned(), text }
    }

    /// The README and all pages of the book, by name.
    pub fn all() -> Vec<Self> {
        let mut paths = files_below(&root().join("docs"), "md");
        paths.sort();
        let inside = paths.iter().map(|path| path.strip_prefix(root()).expect("the path starts with the root"));
        let names = inside.map(|path| path.to_string_lossy().into_owned());
        std::iter::once("README.md".to_owned()).chain(names).map(|path| Self::read(&path)).collect()
    }

    /// Additional files that the commands of the page need.
    pub fn files(&self) -> Vec<&str> {
        let comments = self.text.lines().filter_map(|line| line.strip_prefix("<!-- files: ")?.strip_suffix(" -->"));
        comments.flat_map(str::split_whitespace).collect()
    }

    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        for (at, line) in self.text.lines().enumerate() {
            match (line.trim_start().strip_prefix("```"), &mut open) {
                (Some(info), None) => {
                    let words = info.split_whitespace().map(str::to_owned).collect();
                    open = Some(Block { words, first_line: at + 1, lines: Vec::new() });
                }
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (None, Some(block)) => block.lines.push(line.to_owned()),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a block does not end", self.path);
        blocks
    }

    /// Replaces lines and writes the page. Starts with the last replacement, so that line numbers stay valid.
    pub fn rewrite(&self, mut replacements: Vec<(Range<usize>, Vec<String>)>) {
        let mut lines: Vec<String> = self.text.lines().map(str::to_owned).collect();
        replacements.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        for (range, replacement) in replacements {
            lines.splice(range, replacement);
        }
        std::fs::write(root().join(&self.path), lines.join("\n") + "\n").expect("the page can be written");
    }
}

/// The commands of a `console` block.
pub fn steps(block: &Block) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (line, at) in block.lines.iter().zip(block.first_line..) {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { command: command.to_owned(), expected: Vec::new(), output: at + 1..at + 1 });
            continue;
        }
        let step = steps.last_mut().expect("a block begins with a command");
        match line.strip_prefix("> ") {
            Some(further) if step.expected.is_empty() => {
                step.command = format!("{}\n{further}", step.command);
                step.output = at + 1..at + 1;
            }
            _ => {
                step.expected.push(line.clone());
                step.output.end = at + 1;
            }
        }
    }
    steps
}
