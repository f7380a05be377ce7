//! Builds the book with mdBook.

use crate::links::is_elsewhere;
use crate::pages::{files_below, root};
use regex::Regex;
use std::path::Path;
use std::process::Command;

/// Builds the book if mdBook is installed, and checks its internal links.
pub fn build_and_check() {
    if Command::new("mdbook").arg("--version").output().is_err() {
        eprintln!("SKIPPED: mdbook is not installed");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let built = Command::new("mdbook").arg("build").arg(root()).arg("-d").arg(folder.path()).output();
    let built = built.expect("mdbook runs");
    let said = String::from_utf8_lossy(&built.stderr).into_owned();
    assert!(built.status.success() && !said.contains("ERROR") && !said.contains("WARN"), "{said}");
    let pages = files_below(folder.path(), "html");
    assert!(pages.len() > 10, "the book has pages: {pages:?}");
    let faults: Vec<String> = pages.iter().flat_map(|page| dead_links(page)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns the links of a page to missing files of the book, or to missing anchors. Files outside the book are not
/// published with it.
fn dead_links(page: &Path) -> Vec<String> {
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let name = page.file_name().expect("a name").to_string_lossy().into_owned();
    // print.html is in another directory than the pages; 404.html uses the root directory.
    if name == "print.html" || name == "404.html" {
        return Vec::new();
    }
    let main = read(page);
    let link = Regex::new(r#"<a [^>]*href="([^"]+)""#).expect("a pattern");
    let targets = link.captures_iter(&main).map(|found| found[1].to_owned());
    let targets = targets.filter(|target| !is_elsewhere(target));
    let is_dead = |target: &String| {
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        let path = if file.is_empty() { page.to_owned() } else { page.with_file_name(file) };
        !path.exists() || !anchor.is_empty() && !read(&path).contains(&format!("id=\"{anchor}\""))
    };
    targets.filter(is_dead).map(|target| format!("{name}: {target}")).collect()
}
