//! A manual page in the macros of man(7), in lines without warnings from `mandoc -Tlint`.

use roff::{Inline, Roff, bold, italic, roman};

/// The date of the last change, for the title lines.
const DATE: &str = "2026-11-22";

/// The maximum line length: mandoc warns above 80 bytes, and escapes add some.
const WIDTH: usize = 66;

/// A formatted page.
pub(super) struct Page {
    name: String,
    roff: Roff,
}

impl Page {
    /// Creates a page with its title and the section NAME.
    pub(super) fn new(name: &str, about: &str) -> Self {
        let source = concat!("profbridge ", env!("CARGO_PKG_VERSION"));
        let mut page = Self { name: name.to_string(), roff: Roff::new() };
        page.roff.control("TH", [name.to_uppercase().as_str(), "1", DATE, source, "User Commands"]);
        page.section("NAME");
        // The macros define how the dash is escaped.
        page.text(&format!("{name} - {}", about.trim_end_matches('.')));
        page
    }

    /// Returns the name, without the section.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn render(&self) -> String {
        self.roff.render()
    }

    pub(super) fn section(&mut self, title: &str) {
        self.roff.control("SH", [title]);
    }

    pub(super) fn subsection(&mut self, title: &str) {
        self.roff.control("SS", [title]);
    }

    /// Adds a paragraph of running text.
    pub(super) fn text(&mut self, text: &str) {
        for line in wrapped(text) {
            self.roff.text([roman(line)]);
        }
    }

    /// Begins the next paragraph.
    pub(super) fn paragraph(&mut self) {
        self.roff.control("PP", []);
    }

    /// Adds an entry: a term and its description.
    pub(super) fn entry(&mut self, term: Vec<Inline>, text: &[String]) {
        self.roff.control("TP", []);
        self.roff.text(term);
        for (at, paragraph) in text.iter().enumerate() {
            if at > 0 {
                self.roff.control("IP", []);
            }
            self.text(paragraph);
        }
    }

    /// Adds a synopsis: its first word in bold, the rest unchanged.
    pub(super) fn usage(&mut self, usage: &str) {
        let (command, rest) = match usage.find(" [").or_else(|| usage.find(" <")) {
            Some(at) => usage.split_at(at),
            None => (usage, ""),
        };
        self.roff.text([bold(command)]);
        for line in wrapped(rest) {
            self.roff.text([italic(line)]);
        }
    }

    /// Adds preformatted lines.
    pub(super) fn lines<'a>(&mut self, lines: impl IntoIterator<Item = &'a str>) {
        self.roff.control("nf", []);
        for line in lines {
            for part in folded(line) {
                self.roff.text([roman(part)]);
            }
        }
        self.roff.control("fi", []);
    }

    /// Adds references to other pages, in the order of their names.
    pub(super) fn see_also(&mut self, pages: &[String]) {
        let mut pages: Vec<&String> = pages.iter().filter(|page| **page != self.name).collect();
        pages.sort();
        self.section("SEE ALSO");
        for (at, page) in pages.iter().enumerate() {
            let end = if at + 1 < pages.len() { "," } else { "" };
            self.roff.text([bold(page.as_str()), roman(format!("(1){end}"))]);
        }
    }
}

/// Splits text into lines of at most [`WIDTH`] characters if its words permit. A word that looks like a macro does not
/// begin a line, because it would need an escape.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < WIDTH && !ends_sentence(line) => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

/// Returns true if a line ends a sentence. The next sentence begins a new line, as is usual in these pages.
fn ends_sentence(line: &str) -> bool {
    line.ends_with(['.', '!', '?']) && !line.ends_with("..")
}

/// Splits a command line with continuation backslashes.
fn folded(line: &str) -> Vec<String> {
    if line.len() < WIDTH {
        return vec![line.to_string()];
    }
    let indent = line.len() - line.trim_start().len();
    let mut parts = wrapped(line);
    let last = parts.len().saturating_sub(1);
    for (at, part) in parts.iter_mut().enumerate() {
        let (before, after) = (if at == 0 { indent } else { indent + 4 }, if at < last { " \\" } else { "" });
        *part = format!("{}{part}{after}", " ".repeat(before));
    }
    parts
}
