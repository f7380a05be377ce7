//! Whether a text is an instrumentation profile.

use super::directive;
use super::numbers::parse_any_radix;
use crate::bytes::{Confidence, Head};

/// What speaks for an instrumentation profile in text: a key word, or a name
/// with two numbers below it, its hash and how many counters it has.
///
/// Against it speaks anything else in the place of a number: the lines of a
/// sample profile, a source file, prose.
pub fn evidence(head: &Head<'_>) -> Option<Confidence> {
    if !head.begins_as_text() {
        return None;
    }
    let mut lines = head.lines().filter(|line| !line.is_empty());
    let mut record = [&b""[..]; 4];
    let mut len = 0;
    while len < record.len() {
        let Some(line) = lines.next() else { break };
        if len == 0 && (is_keyword(line) || is_directive(line)) {
            return Some(Confidence::Certain);
        }
        if !line.starts_with(b"#") {
            record[len] = line;
            len += 1;
        }
    }
    let is_number = |line: &[u8]| parse_any_radix(line.trim_ascii()).is_some();
    match record.map(is_number) {
        [_, true, true, true] => Some(Confidence::Certain),
        [_, true, true, _] => Some(Confidence::Likely),
        [_, true, _, _] if len == 2 => Some(Confidence::Likely),
        // Nothing but empty lines and comments is a profile without functions.
        _ if len == 0 && head.is_whole() && !head.bytes().is_empty() => Some(Confidence::Possible),
        _ => None,
    }
}

/// Whether a text has no record: all of its lines are empty, comments, or say of what kind the records are.
pub fn is_blank(head: &Head<'_>) -> bool {
    let is_of_record = |line: &[u8]| !(line.trim_ascii().is_empty() || line.starts_with(b"#") || is_keyword(line));
    head.is_whole() && !head.lines().any(is_of_record)
}

/// A line in front of the records that says of what kind they are.
fn is_keyword(line: &[u8]) -> bool {
    const WORDS: [&[u8]; 8] = [
        b":ir",
        b":fe",
        b":csir",
        b":entry_first",
        b":not_entry_first",
        b":instrument_loop_entries",
        b":single_byte_coverage",
        b":temporal_prof_traces",
    ];
    WORDS.iter().any(|word| word.eq_ignore_ascii_case(line.trim_ascii()))
}

/// A comment that only this program writes.
fn is_directive(line: &[u8]) -> bool {
    [directive::NAME, directive::COLON_NAMES].iter().any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Confidence> {
        evidence(&Head::new(text.as_bytes()))
    }

    #[test]
    fn key_words_and_numbers_below_a_name_speak_for_it() {
        for text in
            [":ir\n", "# IR level\n:IR\nfoo\n", "foo\n# hash\n0x1f\n\n1\n5\n", "#!name=%23a\n", "f:1:2\n3\n1\n0\n"]
        {
            assert_eq!(of(text), Some(Confidence::Certain), "{text}");
        }
        for text in ["a.c:f\n12\n", "foo\n1\n2\n", "foo\n1\n2\nx\n", "{closure}\n1\n1"] {
            assert_eq!(of(text), Some(Confidence::Likely), "{text}");
        }
    }

    #[test]
    fn a_profile_without_functions_is_possible() {
        assert_eq!(of("\n\n"), Some(Confidence::Possible));
        assert_eq!(of("# nothing ran\n"), Some(Confidence::Possible));
    }

    #[test]
    fn a_text_without_a_record_is_blank() {
        for text in ["\n\n", "# nothing\n", ":ir\n", ":IR\r\n:entry_first\n# none\n\n"] {
            assert!(is_blank(&Head::new(text.as_bytes())), "{text}");
        }
        assert!(!is_blank(&Head::new(b":ir\nmain\n1\n1\n5\n")));
        assert!(!is_blank(&Head::cut(b":ir\n", false)), "what follows was not read");
    }

    #[test]
    fn everything_else_speaks_against_it() {
        let demo = "package demo;\n\npublic class Demo {\n}\n";
        for text in [
            "",
            "foo\n",
            "foo\n 1: 5\n",
            "foo:1:2\nbar:3:4\n",
            demo,
            "Title\n2024\nmore\n",
            "#include <a>\nint a;\n",
            ":x\n",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
