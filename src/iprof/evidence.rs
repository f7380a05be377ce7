//! Whether a text is an iprof.

use super::json::{Scan, Stop};
use super::reader::is_known_member;
use crate::bytes::{Confidence, Head};

/// What speaks for an iprof: a JSON object with a member that the format has.
/// Against it speak other members alone; `version` is a name that others use.
pub fn evidence(head: &Head<'_>) -> Option<Confidence> {
    let mut scan = Scan::new(without_mark(head.bytes()), 0, u32::MAX);
    // A name in braces is a function to LLVM.
    if scan.take(b'{') != Ok(true) || !matches!(scan.peek(), Ok(b'"' | b'}') | Err(Stop::End)) {
        return None;
    }
    let (mut versions, mut others) = (0, 0);
    while let Ok(name) = scan.key() {
        match &*name {
            b"version" => versions += 1,
            name if is_known_member(name) => return Some(Confidence::Certain),
            _ => others += 1,
        }
        if scan.skip().is_err() || scan.take(b',') != Ok(true) {
            break;
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
    fn json_is_told_from_functions_in_braces() {
        let json = |text: &str| is_json(&Head::new(text.as_bytes()));
        assert!(["{}", "{ \"a\"", "[ {\"a\":1}]", "["].into_iter().all(json));
        assert!(!["{closure}\n", "[main:1 @ f]:2:3\n", "a", ""].into_iter().any(json));
    }
}
