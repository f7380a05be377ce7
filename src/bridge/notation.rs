//! How the bridge spells types and methods of Java in LLVM's function names.
//!
//! ```text
//! type   = name *( "[]" )                          java.lang.String[]
//! method = type "#" name "(" [ type *( "," type ) ] ")" type
//!                                                  app.Main#loop(int,long[])void
//! ```
//!
//! Identities and strings correspond one to one: the parts are percent-encoded, and a string that the writer would not
//! write is invalid.

use super::escape::{Escapes, push_encoded, push_escaped, unescape};
use crate::java;

/// The identity of a method across files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MethodIdentity {
    /// Name of the declaring type, as in `types[].name`.
    pub declaring: Vec<u8>,
    /// The method's own name.
    pub name: Vec<u8>,
    /// Names of the parameters' types; the receiver is not among them.
    pub parameters: Vec<Vec<u8>>,
    /// Name of the returned type.
    pub returns: Vec<u8>,
}

/// Splits the name of an array into its dimensions and the element's spelling. A name that is not a well-formed array
/// has no dimensions.
fn split_array(name: &[u8]) -> (usize, Element<'_>) {
    let dimensions = name.iter().take_while(|byte| **byte == b'[').count();
    let element = match &name[dimensions..] {
        // There is no array of nothing.
        [letter] if *letter != b'V' => java::primitive(*letter).map(|word| Element::Primitive(word.as_bytes())),
        [b'L', class @ .., b';'] if !class.is_empty() => Some(Element::Class(class)),
        _ => None,
    };
    match element {
        Some(element) if dimensions > 0 => (dimensions, element),
        _ => (0, Element::Plain(name)),
    }
}

/// A type's name without its dimensions.
enum Element<'a> {
    Primitive(&'static [u8]),
    Class(&'a [u8]),
    Plain(&'a [u8]),
}

/// Appends a type in the notation; `name` as in `types[].name`.
pub fn push_type(out: &mut Vec<u8>, name: &[u8]) {
    let (dimensions, element) = split_array(name);
    match element {
        Element::Primitive(word) => out.extend_from_slice(word),
        Element::Class(class) => push_class(out, class, java::is_primitive(class)),
        Element::Plain(name) => push_class(out, name, false),
    }
    (0..dimensions).for_each(|_| out.extend_from_slice(b"[]"));
}

/// Appends a name whose first character is encoded where it would mislead: text
/// takes digits for counts, `$` for bitmaps and `*` for the unknown target.
fn push_class(out: &mut Vec<u8>, name: &[u8], like_a_primitive: bool) {
    match name.split_first() {
        // No other name is a lone `%`.
        None => out.push(b'%'),
        Some((first, _)) if like_a_primitive || matches!(first, b'$' | b'*') || name.iter().all(u8::is_ascii_digit) => {
            let mut encoded = Vec::with_capacity(3);
            push_encoded(&mut encoded, *first);
            let start = out.len();
            push_escaped(out, name, Escapes::Notation);
            out.splice(start..=start, encoded);
        }
        Some(_) => push_escaped(out, name, Escapes::Notation),
    }
}

/// The name, as in `types[].name`, of a type in the notation.
pub fn parse_type(text: &[u8]) -> Option<Vec<u8>> {
    let mut base = text;
    let mut dimensions = 0;
    while let Some(shorter) = base.strip_suffix(b"[]") {
        base = shorter;
        dimensions += 1;
    }
    let plain = if base == b"%" { Vec::new() } else { unescape(base)? };
    let name = if dimensions == 0 {
        plain
    } else {
        let mut name = vec![b'['; dimensions];
        match java::primitive_letter(base).filter(|letter| *letter != b'V') {
            Some(letter) => name.push(letter),
            None => {
                name.push(b'L');
                name.extend(plain);
                name.push(b';');
            }
        }
        name
    };
    let mut again = Vec::with_capacity(text.len());
    push_type(&mut again, &name);
    (again == text).then_some(name)
}

impl MethodIdentity {
    /// Appends the method in the notation.
    pub fn push_to(&self, out: &mut Vec<u8>) {
        push_type(out, &self.declaring);
        out.push(b'#');
        push_escaped(out, &self.name, Escapes::Notation);
        out.push(b'(');
        for (at, parameter) in self.parameters.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            push_type(out, parameter);
        }
        out.push(b')');
        push_type(out, &self.returns);
    }

    /// The method in the notation.
    pub fn notation(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.push_to(&mut out);
        out
    }

    /// The method of a text in the notation.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (declaring, rest) = split_once(text, b'#')?;
        let (name, rest) = split_once(rest, b'(')?;
        let (parameters, returns) = split_once(rest, b')')?;
        let parameters = match parameters {
            b"" => Vec::new(),
            list => list.split(|byte| *byte == b',').map(parse_type).collect::<Option<_>>()?,
        };
        let method = Self {
            declaring: parse_type(declaring)?,
            name: unescape(name)?,
            parameters,
            returns: parse_type(returns)?,
        };
        (method.notation() == text).then_some(method)
    }
}

/// Returns the text before and after the first `separator`.
pub(super) fn split_once(text: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|byte| *byte == separator)?;
    Some((&text[..at], &text[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spelled(name: &str) -> String {
        let mut out = Vec::new();
        push_type(&mut out, name.as_bytes());
        assert_eq!(parse_type(&out).as_deref(), Some(name.as_bytes()), "{name}");
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn arrays_are_written_the_java_way() {
        assert_eq!(spelled("[Ljava.lang.String;"), "java.lang.String[]");
        assert_eq!(spelled("[[I"), "int[][]");
        assert_eq!(spelled("int"), "int");
        assert_eq!(spelled("[Lint;"), "%69nt[]");
        assert_eq!(spelled("[V"), "%5BV");
        assert_eq!(spelled("[L;"), "%5BL%3B");
        assert_eq!(spelled("[L[I;"), "%5BI[]");
        assert_eq!(spelled("int[]"), "int%5B%5D");
    }

    #[test]
    fn no_type_reads_as_another_line_of_a_text_profile() {
        assert_eq!(spelled("123"), "%3123");
        assert_eq!(spelled("1a"), "1a");
        assert_eq!(spelled("$Proxy1"), "%24Proxy1");
        assert_eq!(spelled("** External Symbol **"), "%2A* External Symbol **");
        assert_eq!(spelled("#c"), "%23c");
        assert_eq!(spelled(""), "%");
        assert_eq!(spelled("$ "), "%24%20");
        assert_eq!(spelled("$ a"), "%24 a");
    }

    #[test]
    fn methods_are_written_with_all_their_types() {
        let method = MethodIdentity {
            declaring: b"java.lang.String".to_vec(),
            name: b"valueOf".to_vec(),
            parameters: vec![b"java.lang.Object".to_vec(), b"[J".to_vec()],
            returns: b"java.lang.String".to_vec(),
        };
        let text = b"java.lang.String#valueOf(java.lang.Object,long[])java.lang.String";
        assert_eq!(method.notation(), text);
        assert_eq!(MethodIdentity::parse(text), Some(method));
    }

    #[test]
    fn texts_that_the_writer_does_not_make_are_refused() {
        for text in ["a#b()", "%61", "a#b(c,)d%4", "a", "a#b(c)d[", "a#%62()c", "a#b()c#d", "int[][", "[I"] {
            let type_only = text == "a";
            assert_eq!(parse_type(text.as_bytes()).is_some(), type_only, "{text}");
            assert_eq!(MethodIdentity::parse(text.as_bytes()), None, "{text}");
        }
    }

    /// Names made of what the notation is made of.
    fn tricky() -> impl Strategy<Value = Vec<u8>> {
        let pieces = prop::sample::select(vec![
            "[", "]", "L", ";", "I", "int", "void", "#", "(", ")", ",", "%", "%2", "41", " ", "$", "*", ":", "<", "@",
            "{", "}", "a", "é", "\n", "\u{2028}",
        ]);
        prop_oneof![
            prop::collection::vec(pieces, 0..6).prop_map(|pieces| pieces.concat().into_bytes()),
            prop::collection::vec(any::<u8>(), 0..4),
        ]
    }

    fn any_method() -> impl Strategy<Value = MethodIdentity> {
        (tricky(), tricky(), prop::collection::vec(tricky(), 0..3), tricky())
            .prop_map(|(declaring, name, parameters, returns)| MethodIdentity { declaring, name, parameters, returns })
    }

    proptest! {
        #[test]
        fn types_come_back(name in tricky()) {
            let mut text = Vec::new();
            push_type(&mut text, &name);
            prop_assert!(std::str::from_utf8(&text).is_ok());
            prop_assert_eq!(parse_type(&text), Some(name));
        }

        #[test]
        fn methods_come_back(method in any_method()) {
            prop_assert_eq!(MethodIdentity::parse(&method.notation()), Some(method));
        }

        #[test]
        fn a_text_that_parses_is_the_one_that_is_written(text in tricky()) {
            if let Some(name) = parse_type(&text) {
                let mut again = Vec::new();
                push_type(&mut again, &name);
                prop_assert_eq!(again, text);
            }
        }
    }
}
