//! Tests of the book (docs/ and README.md): its commands print the output in the pages, and its links have targets.
//!
//! | block | treatment |
//! |---|---|
//! | `console` | each command after `$ ` (further lines after `> `) runs in one directory per page, and its output is compared |
//! | `sh` | does not run; the program must accept its own command lines |
//! | `hexdump FILE OFFSET LENGTH` | must equal those bytes of a file in this repository |
//!
//! In an output, `…` stands for any text in a line, or alone in a line for any lines. The directory contains a copy of
//! `testdata` and the files that a comment `<!-- files: PATH … -->` in the page lists. `PROFBRIDGE_RENEW=1` writes the
//! actual output and bytes into the pages.

mod commands;
mod hexdumps;
mod html;
mod links;
mod pages;
mod shell;
mod wording;

use pages::Page;

/// Prefixes of commands in the pages that do not run.
const NOT_RUN: &[&str] = &["./test.sh"];

#[test]
fn commands_print_the_output_in_the_pages() {
    let mut faults = Vec::new();
    for page in Page::all() {
        commands::run(page, &mut faults);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn command_lines_are_accepted() {
    let mut faults = Vec::new();
    let accepted: usize = Page::all().iter().map(|page| commands::accept(page, &mut faults)).sum();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(accepted > 50, "the pages have command lines");
}

#[test]
fn hexdumps_show_real_files() {
    let mut faults = Vec::new();
    for page in Page::all() {
        hexdumps::compare(page, &mut faults);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn links_lead_somewhere() {
    let faults = links::faults();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn pages_use_the_terms_of_the_style_page() {
    let faults = wording::faults();
    assert!(faults.is_empty(), "see docs/style.md\n{}", faults.join("\n"));
}

#[test]
fn the_source_uses_the_terms_of_the_style_page() {
    let faults = wording::faults_of_source();
    assert!(faults.is_empty(), "see docs/style.md\n{}", faults.join("\n"));
}

#[test]
fn every_page_is_a_chapter() {
    let summary = Page::read("docs/SUMMARY.md");
    let listed: Vec<String> =
        links::targets(&summary.text).into_iter().map(|target| format!("docs/{target}")).collect();
    for page in Page::all().iter().filter(|page| page.path.starts_with("docs/") && page.path != summary.path) {
        assert!(listed.contains(&page.path), "{} is not in docs/SUMMARY.md", page.path);
    }
    let further: Vec<_> =
        listed.iter().filter(|path| listed.iter().filter(|other| other == path).count() > 1).collect();
    assert!(further.is_empty(), "stand twice in docs/SUMMARY.md: {further:?}");
}

#[test]
fn the_book_is_built() {
    html::build_and_check();
}
