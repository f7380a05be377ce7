//! Checks that the library's messages do not name options and commands of the program, which adds its own hints.

use crate::sources::Crate;
use syn::visit::{self, Visit};
use syn::{Attribute, ItemMod, LitStr, Macro, Meta};

/// Options of other programs, and a message of llvm-profdata.
const OPTIONS_OF_OTHERS: &[&str] = &[
    "perf record --threads",
    "llvm-profdata --sample",
    "`merge --text`",
    "`merge --write-prev-version`",
    "--num-test-traces must be smaller than the total number of traces",
    "-Wl,--build-id",
    "--pgo-instrument",
    "native-image --pgo",
];

/// Returns the texts of a crate that name an option or a command of the program.
pub fn faults(made: &Crate, program: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for module in made.modules.values() {
        let mut texts = TextsOf::default();
        module.code.iter().for_each(|item| texts.visit_item(item));
        let named = texts.found.iter().filter(|text| names_option(text) || text.contains(&format!("`{program} ")));
        faults.extend(named.map(|text| format!("{} names an option or a command: {text}", module.file)));
    }
    faults
}

/// Returns true if a word starts with two dashes.
fn names_option(text: &str) -> bool {
    let text = OPTIONS_OF_OTHERS.iter().fold(text.to_owned(), |text, known| text.replace(known, ""));
    text.match_indices("--").any(|(at, _)| {
        let is_word = text[at + 2..].starts_with(|first: char| first.is_ascii_lowercase());
        is_word && !text[..at].ends_with(|last: char| last.is_ascii_alphanumeric() || last == '-')
    })
}

/// The string literals in code; those of one macro are joined.
#[derive(Default)]
struct TextsOf {
    found: Vec<String>,
}

impl<'a> Visit<'a> for TextsOf {
    fn visit_lit_str(&mut self, text: &'a LitStr) {
        self.found.push(text.value());
    }

    fn visit_macro(&mut self, called: &'a Macro) {
        self.found.push(called.tokens.to_string());
        visit::visit_macro(self, called);
    }

    /// Error texts are in attributes. Doc comments are for readers of the code.
    fn visit_attribute(&mut self, attribute: &'a Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.found.push(list.tokens.to_string());
        }
    }

    /// Child modules are checked separately.
    fn visit_item_mod(&mut self, _: &'a ItemMod) {}
}
