//! Links in pages, to files of the repository and to headings.

use crate::pages::{Page, root};
use regex::Regex;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Pages outside of the book.
pub const FURTHER: &[&str] = &["CONTRIBUTING.md", "testdata/README.md"];

/// Returns the broken links.
pub fn faults() -> Vec<String> {
    let pages = Page::all().into_iter().chain(FURTHER.iter().map(|path| Page::read(path)));
    pages.flat_map(|page| faults_of(&page)).collect()
}

fn faults_of(page: &Page) -> Vec<String> {
    let mut faults = Vec::new();
    for target in targets(&page.text).into_iter().filter(|target| !is_elsewhere(target)) {
        let (file, anchor) = target.split_once('#').map_or((target.as_str(), None), |(file, at)| (file, Some(at)));
        let folder = Path::new(&page.path).parent().expect("a page has a folder");
        let path = if file.is_empty() { PathBuf::from(&page.path) } else { straight(&folder.join(file)) };
        if !root().join(&path).exists() {
            faults.push(format!("{}: {target}: there is no {}", page.path, path.display()));
        } else if let Some(anchor) = anchor {
            let linked = Page::read(&path.to_string_lossy());
            if !anchors(&linked.text).contains(anchor) {
                faults.push(format!("{}: {target}: no heading is called so", page.path));
            }
        }
    }
    faults
}

/// Returns true for links to other servers, which are not checked.
pub fn is_elsewhere(target: &str) -> bool {
    target.contains("://") || target.starts_with("mailto:")
}

/// Returns the targets of the links in a page, in order.
pub fn targets(text: &str) -> Vec<String> {
    let prose = prose(text);
    let inline = Regex::new(r"\]\(([^()\s]+)\)").expect("a pattern");
    let by_name = Regex::new(r"(?m)^\[[^\]]+\]: (\S+)$").expect("a pattern");
    let found = inline.captures_iter(&prose).chain(by_name.captures_iter(&prose));
    found.map(|found| found[1].to_owned()).collect()
}

/// The text without code.
pub fn prose(text: &str) -> String {
    let code = Regex::new(r"`[^`]*`").expect("a pattern");
    let mut inside = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        inside ^= is_fence;
        !inside && !is_fence
    });
    lines.map(|line| code.replace_all(line, "code").into_owned() + "\n").collect()
}

/// Returns the anchors of the headings in a page.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut inside = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        inside ^= line.trim_start().starts_with("```");
        let heading = line.trim_start_matches('#');
        if inside || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let kept =
            heading.trim().chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
        let name = kept.collect::<String>().to_lowercase().replace(' ', "-");
        let numbered = (1..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !found.contains(name));
        found.extend(free);
    }
    found
}

/// Returns the path without `..`.
fn straight(path: &Path) -> PathBuf {
    let mut straight = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(straight.pop()),
            part => straight.push(part),
        }
    }
    straight
}

#[test]
fn headings_have_the_names_that_links_use() {
    let found = anchors("# Merge: the *laws* (`a_b`)\n```\n# no heading\n```\n## Twice\n## Twice\n");
    assert_eq!(Vec::from_iter(found), ["merge-the-laws-a_b", "twice", "twice-1"]);
}
