//! Tests of the rules with small sources: each rule accepts valid code and finds faults.

use crate::graph::{Ends, Uses, circles};
use crate::rules::{circles_in_modules, faults_of_circles, faults_of_program, faults_of_table, forbidden_uses};
use crate::sources::{Crate, Texts};
use crate::wording;
use std::collections::BTreeSet;

fn made_up(files: &[(&str, &str)]) -> Crate {
    let texts: Texts = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    Crate::new(&texts, "lib.rs")
}

fn circle(files: &[&str]) -> BTreeSet<String> {
    files.iter().map(|file| (*file).to_owned()).collect()
}

/// Returns the files that `file` uses.
fn used(made: &Crate, file: &str) -> Vec<String> {
    made.uses(Ends::Items)[file].iter().cloned().collect()
}

/// Returns a module `raw` of three files, with the given text in two of them.
fn raw(parent: &str, header: &str, words: &str) -> Crate {
    made_up(&[("lib.rs", "pub mod raw;"), ("raw/mod.rs", parent), ("raw/header.rs", header), ("raw/words.rs", words)])
}

#[test]
fn a_path_of_each_form_is_a_use() {
    for code in [
        "use super::words::Word;",
        "use super::{words::Word};",
        "use crate::raw::words::{self, Word as Renamed};",
        "use super::words; fn f() -> words::Word { words::Word }",
        "fn f() { super::words::word() }",
        "fn f() { let _ = vec![super::words::Word; 2]; }",
        "fn f() -> bool { matches!(1, super::words::ONE) }",
        "fn f() -> String { format!(\"{}\", super::words::word()) }",
        "fn f() { use super::words::Word; }",
        "impl super::words::Word {}",
        "use super::words::*;",
        "use super::words::*; fn f() -> Word { Word }",
        "use super::Word;",
        "pub use super::Word;",
    ] {
        let made = raw(
            "mod header; mod words; pub use words::Word;",
            code,
            "pub struct Word; pub fn word() {} pub const ONE: u8 = 1;",
        );
        assert_eq!(used(&made, "raw/header.rs"), ["raw/words.rs"], "{code}");
        assert_eq!(used(&made, "raw/mod.rs"), [""; 0], "{code}");
    }
}

#[test]
fn comments_strings_other_crates_and_tests_are_not_uses() {
    for code in [
        "/// See [`super::words::Word`].\nfn f() {}",
        "fn f() -> &'static str { \"super::words::Word\" }",
        "use other::words::Word;",
        "#[cfg(test)] mod tests { use super::super::words::Word; }",
        "#[cfg(test)] use super::words::Word;",
        "use super::words;",
    ] {
        let made = raw("mod header; mod words;", code, "pub struct Word;");
        assert_eq!(used(&made, "raw/header.rs"), [""; 0], "{code}");
    }
}

#[test]
fn named_files_and_blocks_are_modules() {
    let made = made_up(&[
        ("lib.rs", "pub mod raw;"),
        ("raw.rs", "mod words; pub mod inner { pub use super::words::Word; }"),
        ("raw/words.rs", "use super::inner::Word as Same; pub struct Word;"),
    ]);
    assert_eq!(used(&made, "raw/words.rs"), [""; 0]);
    assert_eq!(used(&made, "raw.rs"), ["raw/words.rs"], "the block's re-export is of a sibling");
}

#[test]
fn two_files_that_use_each_other_are_a_circle() {
    let made = raw(
        "mod header; mod words;",
        "use super::words::Word; pub struct Header;",
        "pub struct Word(super::header::Header);",
    );
    assert_eq!(circles_in_modules(&made), [circle(&["raw/header.rs", "raw/words.rs"])]);
}

#[test]
fn a_parent_that_only_names_its_children_is_in_no_circle() {
    let made = raw(
        "mod header; mod words; pub use header::Header; pub use words::Word;",
        "use super::Word; pub struct Header;",
        "pub struct Word;",
    );
    assert_eq!(circles_in_modules(&made), []);
}

#[test]
fn a_parent_that_uses_its_child_and_is_used_by_it_is_in_a_circle() {
    let parent =
        "mod header; mod words; pub use header::Header; pub const SIZE: usize = 8; fn f() -> Header { Header }";
    let made = raw(parent, "pub struct Header; fn f() -> usize { super::SIZE }", "");
    assert_eq!(circles_in_modules(&made), [circle(&["raw/header.rs", "raw/mod.rs"])]);
}

#[test]
fn a_circle_of_three_is_one() {
    let three: Uses = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")]
        .map(|(from, to)| (from.to_owned(), circle(&[to])))
        .into_iter()
        .collect();
    assert_eq!(circles(&three, |_, _| true), [circle(&["a", "b", "c"])]);
    assert_eq!(circles(&three, |from, _| from != "b"), []);
}

#[test]
fn each_circle_is_a_fault() {
    assert!(faults_of_circles(&[]).is_empty());
    let faults = faults_of_circles(&[circle(&["a.rs", "b.rs"]), circle(&["c.rs", "d.rs", "e.rs"])]);
    assert_eq!(faults.len(), 2);
    assert!(faults[1].contains("d.rs"), "{}", faults[1]);
}

const RAW_USES_BYTES: &[(&str, &[&str])] = &[("bytes", &[]), ("raw", &["bytes"])];

#[test]
fn a_use_against_the_table_is_found_and_one_along_it_allowed() {
    let with = |bytes: &str, raw: &str| {
        let root = "pub mod bytes; pub mod raw; pub use raw::Header;";
        let made = made_up(&[("lib.rs", root), ("bytes.rs", bytes), ("raw.rs", raw)]);
        forbidden_uses(&made, &[], RAW_USES_BYTES).len()
    };
    let header = "pub struct Header;";
    assert_eq!(with("pub struct Cursor;", "use crate::bytes::Cursor; pub struct Header;"), 0);
    assert_eq!(with("use crate::raw::Header;", header), 1);
    assert_eq!(with("use crate::Header;", header), 1, "by way of the root");
    assert_eq!(with("use crate::raw;", header), 1, "by the module's name alone");
    assert_eq!(with("fn f() { crate::raw::f() }", "pub struct Header; pub fn f() {}"), 1);
    assert_eq!(with("/// [`crate::raw`]\nfn f() {}", header), 0);
}

#[test]
fn a_child_named_like_a_module_is_not_that_module() {
    let made = made_up(&[
        ("lib.rs", "pub mod bytes; pub mod raw; pub mod text;"),
        ("bytes.rs", ""),
        ("text.rs", "pub fn f() {}"),
        ("raw/mod.rs", "mod text; pub use text::f; fn g() { text::f(); f() }"),
        ("raw/text.rs", "pub fn f() {}"),
    ]);
    assert_eq!(forbidden_uses(&made, &[], RAW_USES_BYTES), [""; 0]);
}

#[test]
fn a_table_with_a_circle_or_an_unknown_name_is_found() {
    assert_eq!(faults_of_table(&[], RAW_USES_BYTES), [""; 0]);
    assert_eq!(faults_of_table(&[], &[("bytes", &["raw"]), ("raw", &["bytes"])]).len(), 1);
    assert_eq!(faults_of_table(&["error"], &[("bytes", &["gone"])]).len(), 2);
}

#[test]
fn uses_of_hidden_or_unlisted_items_are_found() {
    let library = made_up(&[
        ("lib.rs", "pub mod raw; #[doc(hidden)] pub mod inside; pub use raw::Header;"),
        (
            "raw.rs",
            "pub struct Header; #[doc(hidden)] pub struct Part; impl Header { pub fn new() {} #[doc(hidden)] pub fn parts() {} }",
        ),
        ("inside.rs", "pub fn f() {}"),
    ]);
    let faults_with = |code: &str, listed: &[&str], support: &[&str]| {
        faults_of_program(&made_up(&[("lib.rs", code)]), &library, "library", listed, support)
    };
    let faults = |code: &str, listed: &[&str]| faults_with(code, listed, &[]);
    assert_eq!(faults("use library::raw::Header;", &["raw"]), [""; 0]);
    assert_eq!(faults("use library::{Header, raw};", &["Header", "raw"]), [""; 0]);
    assert_eq!(faults("fn f(h: library::raw::Header) { h.new() }", &["raw"]), [""; 0]);
    assert_eq!(faults("use library::raw::Header;", &["raw", "text"]).len(), 1, "a name too many on the list");
    assert_eq!(faults("use library::raw::Header;", &[]).len(), 1, "a name too few");
    assert_eq!(faults("use library::raw::Part;", &["raw"]).len(), 1, "a hidden item");
    assert_eq!(faults("fn f() { library::inside::f() }", &["inside"]).len(), 1, "a hidden module");
    assert_eq!(faults_with("fn f() { library::inside::f() }", &["inside"], &["inside"]), [""; 0], "for the program");
    assert_eq!(faults("fn f(h: library::raw::Header) { h.parts() }", &["raw"]).len(), 1, "a hidden method");
}

#[test]
fn a_text_that_names_an_option_or_a_command_is_found() {
    for (code, is_fault) in [
        ("fn f() -> String { format!(\"see --events: {}\", 1) }", true),
        ("const HINT: &str = \"leave --strict out\";", true),
        ("const HINT: &str = \"`program check` tells more\";", true),
        ("#[error(\"see --events\")] struct Fault;", true),
        ("#[doc = \"--events\"] /// See --events.\nstruct Named;", false),
        ("fn f(a: i32, b: i32) -> i32 { a - -b } const RULE: &str = \"a -- b, a--b, ----\";", false),
        ("const OTHERS: &str = \"native-image --pgo\";", false),
        ("#[cfg(test)] mod tests { const TEXT: &str = \"--events\"; }", false),
    ] {
        let faults = wording::faults(&made_up(&[("lib.rs", code)]), "program");
        assert_eq!(faults.len(), usize::from(is_fault), "{code}: {faults:?}");
    }
}
