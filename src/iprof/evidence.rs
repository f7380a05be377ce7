//! Whether a text is an iprof.

use super::reader::is_known_member;
use crate::bytes::{Confidence, Head};

/// What speaks for an iprof: a JSON object with a member that the format has.
/// Against it speak other members alone; `version` is a name that others use.
pub fn evidence(head: &Head<'_>) -> Option<Confidence> {
    let mut keys = Keys::new(head.bytes())?;
    let (mut versions, mut others) = (0, 0);
    while let Some(key) = keys.next_key() {
        match key {
            b"version" => versions += 1,
            key if is_known_member(key) => return Some(Confidence::Certain),
            _ => others += 1,
        }
    }
    match (versions, others) {
        (1.., 0) => Some(Confidence::Likely),
        (0, 0) => Some(Confidence::Possible),
        _ => None,
    }
}

/// Whether a text is a JSON object or array of any kind.
pub fn is_json(head: &Head<'_>) -> bool {
    let bytes = without_mark(head.bytes()).trim_ascii_start();
    let follows = |open: u8, next: &[u8]| {
        let inside = bytes.strip_prefix(&[open])?.trim_ascii_start();
        Some(inside.first().is_none_or(|byte| next.contains(byte)))
    };
    follows(b'{', b"\"}").or_else(|| follows(b'[', b"{[\"]")).unwrap_or(false)
}

fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Walks over the names of an object's members, as far as it is there. Values
/// are passed over by their brackets and strings alone.
struct Keys<'a> {
    rest: &'a [u8],
}

impl<'a> Keys<'a> {
    /// `None` for what is no object; a name in braces is a function to LLVM.
    fn new(bytes: &'a [u8]) -> Option<Self> {
        let inside = without_mark(bytes).trim_ascii_start().strip_prefix(b"{")?.trim_ascii_start();
        inside.first().is_none_or(|byte| matches!(byte, b'"' | b'}')).then_some(Self { rest: inside })
    }

    /// The next name, without a look at what its escapes mean.
    fn next_key(&mut self) -> Option<&'a [u8]> {
        let mut depth = 0usize;
        loop {
            let (&byte, rest) = self.rest.split_first()?;
            match byte {
                b'"' => {
                    let end = string_end(rest)?;
                    let text = &rest[..end];
                    self.rest = rest[end + 1..].trim_ascii_start();
                    if depth == 0 && self.rest.first() == Some(&b':') {
                        return Some(text);
                    }
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.checked_sub(1)?,
                _ => {}
            }
            self.rest = rest;
        }
    }
}

/// Where the string ends whose opening quote stands in front of `text`.
fn string_end(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match text.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Confidence> {
        evidence(&Head::new(text.as_bytes()))
    }

    #[test]
    fn members_of_the_format_speak_for_it() {
        assert_eq!(of("\u{feff} {\n \"types\" : ["), Some(Confidence::Certain));
        assert_eq!(of(r#"{"a":{"b":[1,"}"]},"callCountProfiles":"#), Some(Confidence::Certain));
        assert_eq!(of(r#"{"hotnessPoints":["#), Some(Confidence::Certain));
        assert_eq!(of(r#"{"version":"1.0.0""#), Some(Confidence::Likely));
        for text in ["{", "{}", "{\"ver", " {\n"] {
            assert_eq!(of(text), Some(Confidence::Possible), "{text}");
        }
    }

    #[test]
    fn other_members_speak_against_it() {
        let package = r#"{"name":"left-pad","version":"1.3.0","x":"\"types\":"}"#;
        for text in [package, r#"{"a":{"types":1}}"#, "{closure}\n1\n", "[]", "types", r#"{"methodes":[]}"#] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn json_is_distinguished_from_functions_in_braces() {
        let json = |text: &str| is_json(&Head::new(text.as_bytes()));
        assert!(["{}", "{ \"a\"", "[ {\"a\":1}]", "["].into_iter().all(json));
        assert!(!["{closure}\n", "[main:1 @ f]:2:3\n", "a", ""].into_iter().any(json));
    }
}
