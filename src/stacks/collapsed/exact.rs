//! Our own form of a collapsed frame, which keeps everything an iprof has:
//! `app/Main.loop(ILjava/lang/String|)V@12`.
//!
//! Class names are internal, a hidden class has a dot before its suffix, and
//! `|` stands for the `;` of descriptors. Characters that would be misread are
//! percent-encoded, so names and frames correspond one to one.

use crate::java;

/// Characters that mean something in a frame.
const RESERVED: &str = "%;|@()[]/.`";

/// Appends `text` with all that would be misread encoded byte by byte.
fn encode(text: &str, out: &mut String) {
    for c in text.chars() {
        if RESERVED.contains(c) || c.is_control() || c.is_whitespace() {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        } else {
            out.push(c);
        }
    }
}

/// The reverse of [`encode`]; `None` when an escape is none or gives no UTF-8.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first != b'%' {
            bytes.push(*first);
            rest = after;
            continue;
        }
        let (digits, after) = after.split_first_chunk::<2>()?;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        bytes.push((digit(digits[0])? * 16 + digit(digits[1])?) as u8);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

/// Appends a class by its binary name: `a.B/0x7f` is `a/B.0x7f`.
fn encode_class(binary: &str, out: &mut String) {
    let (outer, suffix) = match binary.rsplit_once('/') {
        Some((outer, suffix)) => (outer, Some(suffix)),
        None => (binary, None),
    };
    for (position, part) in outer.split('.').enumerate() {
        if position > 0 {
            out.push('/');
        }
        encode(part, out);
    }
    if let Some(suffix) = suffix {
        out.push('.');
        encode(suffix, out);
    }
}

fn decode_class(text: &str) -> Option<String> {
    decode(&java::swap_dots_and_slashes(text))
}

/// Appends a type as a descriptor has it, with `|` for `;`.
fn encode_type(binary: &str, out: &mut String) {
    if let Some(letter) = java::primitive_letter(binary.as_bytes()) {
        out.push(char::from(letter));
        return;
    }
    let element = binary.trim_start_matches('[');
    let dimensions = binary.len() - element.len();
    let class = element.strip_prefix('L').and_then(|class| class.strip_suffix(';'));
    let is_letter = matches!(element, "Z" | "B" | "C" | "S" | "I" | "J" | "F" | "D");
    if dimensions > 0 && (is_letter || class.is_some()) {
        out.push_str(&"[".repeat(dimensions));
        match class {
            Some(class) => push_class(class, out),
            None => out.push_str(element),
        }
        return;
    }
    push_class(binary, out);
}

fn push_class(binary: &str, out: &mut String) {
    out.push('L');
    encode_class(binary, out);
    out.push('|');
}

fn split_type(text: &str) -> Option<(String, &str)> {
    let element = text.trim_start_matches('[');
    let brackets = &text[..text.len() - element.len()];
    if let Some(class) = element.strip_prefix('L') {
        let (class, rest) = class.split_once('|')?;
        let class = decode_class(class)?;
        let name = if brackets.is_empty() { class } else { format!("{brackets}L{class};") };
        return Some((name, rest));
    }
    let letter = element.get(..1)?;
    let rest = element.get(1..)?;
    if brackets.is_empty() {
        // One-letter descriptors are the same in both spellings.
        let types = java::parse_descriptor(&format!("(){letter}"))?;
        return Some((types.into_iter().next()?, rest));
    }
    "ZBCSIJFD".contains(letter).then(|| (format!("{brackets}{letter}"), rest))
}

/// Appends class and method, and the descriptor when its types are given.
pub(crate) fn write_method(class: &str, name: &str, types: Option<&[&str]>, out: &mut String) {
    encode_class(class, out);
    out.push('.');
    encode(name, out);
    if let Some([result, parameters @ ..]) = types {
        out.push('(');
        for parameter in parameters {
            encode_type(parameter, out);
        }
        out.push(')');
        encode_type(result, out);
    }
}

/// A method as [`write_method`] writes it with its types.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ExactFrame {
    pub(crate) class: String,
    pub(crate) name: String,
    /// Return type, then parameters.
    pub(crate) types: Vec<String>,
    pub(crate) bci: i32,
}

/// Parses a frame with descriptor and BCI; `None` when it has another form.
pub(crate) fn parse_frame(text: &str) -> Option<ExactFrame> {
    let (method, bci) = text.rsplit_once('@')?;
    let bci = bci.parse().ok()?;
    let (name, descriptor) = method.split_once('(')?;
    let (parameters, result) = descriptor.split_once(')')?;
    let (class, name) = name.rsplit_once('.')?;
    let types = java::parse_signature(parameters, result, split_type)?;
    Some(ExactFrame { class: decode_class(class)?, name: decode(name)?, types, bci })
}

/// Parses a method as [`write_method`] writes it without types.
pub(crate) fn parse_names(text: &str) -> Option<(String, String)> {
    let (class, name) = text.rsplit_once('.')?;
    Some((decode_class(class)?, decode(name)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn write(class: &str, name: &str, types: &[&str], bci: i32) -> String {
        let mut out = String::new();
        write_method(class, name, Some(types), &mut out);
        format!("{out}@{bci}")
    }

    #[test]
    fn a_frame_with_descriptor_and_bci_reads_like_java() {
        let text = write("app.Main", "loop", &["void", "int", "[Ljava.lang.String;"], 12);
        assert_eq!(text, "app/Main.loop(I[Ljava/lang/String|)V@12");
        assert_eq!(write("p.Outer$$Lambda/0x7f", "run", &["void"], -5), "p/Outer$$Lambda.0x7f.run()V@-5");
        assert_eq!(parse_frame("app/Main.loop"), None);
        assert_eq!(parse_frame("app/Main.loop(I)V"), None);
        assert_eq!(parse_frame("app/Main.loop(Q)V@1"), None);
    }

    #[test]
    fn names_that_break_naive_parsers_survive() {
        for (class, name) in [
            ("a.B", "computeValue%1"),
            ("a.B", "String(AAAZ)"),
            ("[Ljava.lang.String;", "clone"),
            ("a.b/c.d/e.f", "x;y z@3"),
            ("", ""),
            ("a..B.", "."),
            ("é世", "λ\u{2028}"),
        ] {
            let types = ["[V", "int", "[Lint;", "[[I", "", "[", "x;y", "void"];
            let frame = parse_frame(&write(class, name, &types, -6)).unwrap();
            assert_eq!((frame.class.as_str(), frame.name.as_str(), frame.bci), (class, name, -6));
            assert_eq!(frame.types, types);
        }
    }

    proptest! {
        #[test]
        fn every_frame_survives(class in ".{0,12}", name in ".{0,12}", types in prop::collection::vec("\\[{0,2}.{0,6}", 1..4), bci: i32) {
            let borrowed: Vec<&str> = types.iter().map(String::as_str).collect();
            let text = write(&class, &name, &borrowed, bci);
            prop_assert!(!text.contains(';') && !text.contains(char::is_whitespace));
            prop_assert_eq!(parse_frame(&text), Some(ExactFrame { class, name, types, bci }));
        }
    }
}
