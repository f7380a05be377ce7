//! Formats that are detected but not read, so that messages can name them.

use super::format::Format;
use crate::bytes::{Confidence, Head};

/// Returns the evidence for profiles of other tools.
pub(super) fn evidence(head: &Head<'_>) -> Option<(Format, Confidence)> {
    let magics: [(&[u8], Format); 3] =
        [(b"adcg", Format::Gcda), (b"gcda", Format::Gcda), (b"PERFILE2", Format::PerfData)];
    if let Some((_, format)) = magics.into_iter().find(|(magic, _)| head.begins(magic)) {
        return Some((format, Confidence::Certain));
    }
    if head.begins(b"---") && head.has(b"profile-version") {
        return Some((Format::BoltYaml, Confidence::Certain));
    }
    let first = head.lines().find(|line| !line.is_empty() && line[0] != b'#')?;
    is_bolt_line(first).then_some((Format::BoltText, Confidence::Certain))
}

/// Returns true for `1 FROM OFFSET 1 TO OFFSET MISPREDICTED COUNT`, or one of its headings.
fn is_bolt_line(line: &[u8]) -> bool {
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').take(9).collect();
    match words.as_slice() {
        [b"boltedcollection" | b"no_lbr", ..] => true,
        [from, _, from_at, to, _, to_at, missed, count] => {
            let sort = |word: &[u8]| matches!(word, b"0" | b"1" | b"2" | b"3");
            let is_hex = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_hexdigit);
            let is_number = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_digit);
            sort(from) && sort(to) && is_hex(from_at) && is_hex(to_at) && is_number(missed) && is_number(count)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_of_other_tools_are_named() {
        let of = |bytes: &[u8]| evidence(&Head::new(bytes)).map(|(format, _)| format);
        assert_eq!(of(b"1 main 3d 1 foo 0 0 17\n"), Some(Format::BoltText));
        assert_eq!(of(b"# comment\nno_lbr cycles\n1 main 3d 17\n"), Some(Format::BoltText));
        assert_eq!(of(b"---\nheader:\n  profile-version: 1\n"), Some(Format::BoltYaml));
        assert_eq!(of(b"adcg*704\0\0\0\0\0\0\0\x01"), Some(Format::Gcda));
        assert_eq!(of(b"a;b;c 12\na;d 3\n"), None);
    }
}
