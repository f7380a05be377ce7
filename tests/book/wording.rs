//! Words that pages do not use; docs/style.md has the terms to use instead.

use crate::links::{FURTHER, prose};
use crate::pages::Page;
use regex::Regex;

/// Private or translated words, outside of code.
const REPLACED: &str = r"(?i)\b(whom|whoever|nobody|somebody|anew|dumps?|mend(s|ed)?|rubbish|told|stands?|stood|foretold|pass(es|ed)? over|so (many|much)|all the same|by chance|for the sake of|in silence|as (it|they) came|wrong use|what becomes of|is said|folders?|pictures?)\b";

/// Lines of pages with such a word.
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
