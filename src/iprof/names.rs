//! Names: stored once each, and the forms in which Java people write them.

use super::index::Index;
use std::borrow::Cow;
use std::hash::BuildHasher;

/// Position of a name in its [`Names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NameHandle(u32);

/// A set of byte strings, each stored once, in order of first appearance.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    text: Vec<u8>,
    ends: Vec<usize>,
    index: Index,
    hasher: foldhash::fast::FixedState,
}

impl Names {
    /// The handle of `name`, which is added if it is new.
    ///
    /// # Panics
    ///
    /// With more than 2^32 distinct names, which no file of less than 4 GiB has.
    pub(crate) fn add(&mut self, name: &[u8]) -> NameHandle {
        let hash = self.hasher.hash_one(name);
        if let Some(found) = self.index.find(hash, |at| slice(&self.text, &self.ends, at) == name) {
            return NameHandle(found);
        }
        let at = u32::try_from(self.ends.len()).expect("fewer than 2^32 names");
        self.text.extend_from_slice(name);
        self.ends.push(self.text.len());
        self.index.insert(hash, at);
        NameHandle(at)
    }

    /// The handle of `name` if it is there.
    pub(crate) fn find(&self, name: &[u8]) -> Option<NameHandle> {
        let hash = self.hasher.hash_one(name);
        self.index.find(hash, |at| slice(&self.text, &self.ends, at) == name).map(NameHandle)
    }

    /// Whether the names of `other` begin with these, in this order.
    pub(crate) fn is_start_of(&self, other: &Self) -> bool {
        other.ends.starts_with(&self.ends) && other.text.starts_with(&self.text)
    }

    /// The bytes of a name.
    pub(crate) fn text(&self, name: NameHandle) -> &[u8] {
        slice(&self.text, &self.ends, name.0)
    }
}

fn slice<'a>(text: &'a [u8], ends: &[usize], at: u32) -> &'a [u8] {
    let at = at as usize;
    let start = if at == 0 { 0 } else { ends[at - 1] };
    &text[start..ends[at]]
}

/// The primitive types and `void`, with their letters in descriptors.
const PRIMITIVES: [(&str, u8); 9] = [
    ("boolean", b'Z'),
    ("byte", b'B'),
    ("short", b'S'),
    ("char", b'C'),
    ("int", b'I'),
    ("float", b'F'),
    ("long", b'J'),
    ("double", b'D'),
    ("void", b'V'),
];

/// Whether a type is one of Java's eight primitive types or `void`.
pub fn is_primitive(type_name: &[u8]) -> bool {
    PRIMITIVES.iter().any(|(name, _)| name.as_bytes() == type_name)
}

/// Whether a type name is what `Class.getName()` of some class could return.
///
/// Hidden classes end in `/` and a suffix. By JVMS 4.2 a class name may hold
/// anything but `. ; [ /`; control characters are refused here as well.
pub fn is_java_type_name(type_name: &[u8]) -> bool {
    let dimensions = type_name.iter().take_while(|b| **b == b'[').count();
    let element = &type_name[dimensions..];
    if dimensions == 0 {
        return is_class_name(element);
    }
    match element {
        [letter] => *letter != b'V' && PRIMITIVES.iter().any(|(_, known)| known == letter),
        [b'L', class @ .., b';'] => dimensions <= 255 && is_class_name(class),
        _ => false,
    }
}

fn is_class_name(name: &[u8]) -> bool {
    let (plain, suffix) = split_hidden(name);
    let part =
        |part: &[u8]| !part.is_empty() && !part.iter().any(|b| matches!(b, b';' | b'[' | b'/' | 0..=0x1f | 0x7f));
    plain.split(|b| *b == b'.').all(part) && suffix.is_none_or(|suffix| part(suffix) && !suffix.contains(&b'.'))
}

/// Splits a hidden class's name at its last slash.
fn split_hidden(name: &[u8]) -> (&[u8], Option<&[u8]>) {
    match name.iter().rposition(|b| *b == b'/') {
        Some(slash) => (&name[..slash], Some(&name[slash + 1..])),
        None => (name, None),
    }
}

/// The JVM descriptor of a type: `java.util.Map$Entry` gives `Ljava/util/Map$Entry;`.
///
/// In a hidden class's name the last `/` becomes `.`, so that no two names
/// have one descriptor.
pub fn type_descriptor(type_name: &[u8]) -> Vec<u8> {
    if let Some((_, letter)) = PRIMITIVES.iter().find(|(name, _)| name.as_bytes() == type_name) {
        return vec![*letter];
    }
    let dimensions = type_name.iter().take_while(|b| **b == b'[').count();
    let (brackets, element) = type_name.split_at(dimensions);
    let mut descriptor = brackets.to_vec();
    if dimensions > 0 && element.len() == 1 {
        descriptor.extend(element);
        return descriptor;
    }
    let class = match element {
        [b'L', class @ .., b';'] if dimensions > 0 => class,
        other => other,
    };
    let (plain, suffix) = split_hidden(class);
    descriptor.push(b'L');
    descriptor.extend(plain.iter().map(|b| if *b == b'.' { b'/' } else { *b }));
    if let Some(suffix) = suffix {
        descriptor.push(b'.');
        descriptor.extend(suffix);
    }
    descriptor.push(b';');
    descriptor
}

/// A type as in Java source: `[[I` gives `int[][]`.
pub fn source_type_name(type_name: &[u8]) -> Cow<'_, [u8]> {
    let dimensions = type_name.iter().take_while(|b| **b == b'[').count();
    if dimensions == 0 {
        return Cow::Borrowed(type_name);
    }
    let element: &[u8] = match &type_name[dimensions..] {
        [b'L', class @ .., b';'] => class,
        [letter] => match PRIMITIVES.iter().find(|(_, known)| known == letter) {
            Some((name, _)) => name.as_bytes(),
            None => return Cow::Borrowed(type_name),
        },
        _ => return Cow::Borrowed(type_name),
    };
    Cow::Owned([element, &b"[]".repeat(dimensions)].concat())
}

/// The package of a type, empty for the unnamed one; that of the element for arrays.
pub fn package(type_name: &[u8]) -> &[u8] {
    let dimensions = type_name.iter().take_while(|b| **b == b'[').count();
    let element = match &type_name[dimensions..] {
        [b'L', class @ .., b';'] if dimensions > 0 => class,
        other => other,
    };
    let (plain, _) = split_hidden(element);
    plain.iter().rposition(|b| *b == b'.').map_or(&[], |dot| &plain[..dot])
}

/// A name for people: lone surrogates and control characters are made visible.
pub fn display(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control()
                || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            {
                text.extend(c.escape_default());
            } else {
                text.push(c);
            }
        }
        if !chunk.invalid().is_empty() {
            text.push('\u{fffd}');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_stored_once() {
        let mut names = Names::default();
        let (first, other) = (names.add(b"main"), names.add(b""));
        assert_eq!((names.add(b"main"), names.find(b"main"), names.find(b"x")), (first, Some(first), None));
        assert_eq!((names.text(first), names.text(other)), (&b"main"[..], &b""[..]));
    }

    #[test]
    fn descriptors_follow_the_name_of_each_kind_of_type() {
        for (name, descriptor) in [
            ("int", "I"),
            ("void", "V"),
            ("java.util.Map$Entry", "Ljava/util/Map$Entry;"),
            ("[[C", "[[C"),
            ("[Ljava.lang.String;", "[Ljava/lang/String;"),
            ("p.Outer$$Lambda/0xd5f5", "Lp/Outer$$Lambda.0xd5f5;"),
            ("[Lp.Outer$$Lambda/0xd5;", "[Lp/Outer$$Lambda.0xd5;"),
        ] {
            assert_eq!(String::from_utf8(type_descriptor(name.as_bytes())).unwrap(), descriptor);
            assert!(is_java_type_name(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn what_no_class_is_called_is_odd() {
        for name in ["", "a..b", "[", "[V", "[Lx", "a;b", ".a", "a.", "a/b/c", "Ljava/lang/String;", "p.X/0.1", "[Q"] {
            assert!(!is_java_type_name(name.as_bytes()), "{name}");
        }
        assert!(is_java_type_name("p.Ünïcode$1".as_bytes()));
    }

    #[test]
    fn people_read_brackets_behind_the_element() {
        assert_eq!(source_type_name(b"[[I").as_ref(), b"int[][]");
        assert_eq!(source_type_name(b"[La.B;").as_ref(), b"a.B[]");
        assert_eq!(source_type_name(b"[weird").as_ref(), b"[weird");
        assert_eq!(package(b"[La.b.C;"), b"a.b");
        assert_eq!(package(b"a.b.C$$Lambda/0x1.2"), b"a.b");
        assert_eq!(package(b"Main"), b"");
    }

    #[test]
    fn display_hides_nothing_from_a_terminal() {
        assert_eq!(display(b"a\x1b[31m\xed\xa0\x80"), "a\\u{1b}[31m\u{fffd}\u{fffd}\u{fffd}");
    }
}
