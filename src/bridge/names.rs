//! Names: types and methods of Java in LLVM's function names, records of the bridge, and percent-encoding.
//!
//! ```text
//! type   = name *( "[]" )                          java.lang.String[]
//! method = type "#" name "(" [ type *( "," type ) ] ")" type
//!                                                  app.Main#loop(int,long[])void
//! ```
//!
//! Identities and strings correspond one to one: the parts are percent-encoded, and strings that the writer would not
//! create are not valid.

use crate::ascii::percent_decode;
use crate::bridge::shape::Shape;
use crate::digits::push_signed;
use crate::iprof::{MethodHandle, Tables, TypeHandle, name_at};
use crate::java;
use crate::model::name_ref;
pub use crate::model::record::func_hash;

/// The identity of a method across files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MethodIdentity {
    /// The name of the declaring type, as in `types[].name`.
    pub declaring: Vec<u8>,
    /// The name of the method.
    pub name: Vec<u8>,
    /// The type names of the parameters, without the receiver.
    pub parameters: Vec<Vec<u8>>,
    /// The name of the return type.
    pub returns: Vec<u8>,
}

/// Splits the name of an array into its dimensions and the element type. Returns no dimensions if the name is not a
/// well-formed array.
fn split_array(name: &[u8]) -> (usize, Element<'_>) {
    let dimensions = name.iter().take_while(|byte| **byte == b'[').count();
    let element = match &name[dimensions..] {
        // `void` has no arrays.
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

/// Appends a type in the bridge's notation; `name` is spelled as in `types[].name`.
pub fn push_type(out: &mut Vec<u8>, name: &[u8]) {
    let (dimensions, element) = split_array(name);
    match element {
        Element::Primitive(word) => out.extend_from_slice(word),
        Element::Class(class) => push_class(out, class, java::is_primitive(class)),
        Element::Plain(name) => push_class(out, name, false),
    }
    (0..dimensions).for_each(|_| out.extend_from_slice(b"[]"));
}

/// Appends a name. Encodes a first character with a meaning in text profiles: digits (counts), `$` (bitmaps) and `*`
/// (the unknown target).
fn push_class(out: &mut Vec<u8>, name: &[u8], like_a_primitive: bool) {
    match name.split_first() {
        // No other name is a single `%`.
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

/// Returns the name, as in `types[].name`, of a type in the bridge's notation.
pub fn parse_type(text: &[u8]) -> Option<Vec<u8>> {
    let mut base = text;
    let mut dimensions = 0;
    while let Some(shorter) = base.strip_suffix(b"[]") {
        base = shorter;
        dimensions += 1;
    }
    let plain = if base == b"%" { Vec::new() } else { percent_decode(base)? };
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
    /// Appends the method in the bridge's notation.
    pub(crate) fn push_to(&self, out: &mut Vec<u8>) {
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

    /// Returns the method in the bridge's notation.
    pub fn notation(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.push_to(&mut out);
        out
    }

    /// Parses a method in the bridge's notation.
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
            name: percent_decode(name)?,
            parameters,
            returns: parse_type(returns)?,
        };
        (method.notation() == text).then_some(method)
    }
}

/// Returns the parts before and after the first `separator`.
pub(super) fn split_once(text: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|byte| *byte == separator)?;
    Some((&text[..at], &text[at + 1..]))
}

// Names and hashes of the bridge's records.
//
// | record | name |
// |---|---|
// | a method without known callers | `METHOD shape` |
// | a method with its callers, root first | `[CALLER:BCI @ CALLER:BCI @ METHOD] shape` |
// | a sampled stack, root first | `[METHOD:BCI @ METHOD:BCI]` |
// | a type | `TYPE` |
// | monitors | `{monitors}` |
//
// The brackets are LLVM's own notation of calling contexts in sample profiles.

/// The name of the record that holds all monitors.
pub const MONITORS: &[u8] = b"{monitors}";

/// A position in a method. The method is in the bridge's notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedFrame<'a> {
    /// The method; [`MethodIdentity::parse`] reads it.
    pub method: &'a [u8],
    /// The bytecode index.
    pub bci: i32,
}

/// The subject of a bridge record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordName<'a> {
    /// Counts of one method with one chain of callers.
    Context {
        /// Callers, the root first.
        callers: Vec<NamedFrame<'a>>,
        /// The method.
        method: &'a [u8],
        /// The meaning of the counters and sites.
        shape: Shape,
    },
    /// A sampled stack, the root first.
    Stack(Vec<NamedFrame<'a>>),
    /// A type.
    Type(&'a [u8]),
    /// Monitors.
    Monitors,
}

impl<'a> RecordName<'a> {
    /// Parses a name. Returns `None` if the bridge does not write such names. `is_method` reports whether a string is a
    /// method in the bridge's notation; the caller can cache it, because many names share few methods.
    pub(super) fn parse(name: &'a [u8], is_method: &mut dyn FnMut(&'a [u8]) -> bool) -> Option<Self> {
        if name == MONITORS {
            return Some(Self::Monitors);
        }
        let (subject, shape) = Shape::split_from(name)?;
        let bare = subject.len() == name.len();
        if let Some(inner) = subject.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]")) {
            let (mut callers, leaf) = split_frames(inner)?;
            let leaf_frame = split_bci(leaf);
            let mut methods = callers.iter().map(|frame| frame.method).chain(leaf_frame.map(|frame| frame.method));
            if !methods.all(&mut *is_method) {
                return None;
            }
            return match leaf_frame {
                Some(frame) if bare => {
                    callers.push(frame);
                    Some(Self::Stack(callers))
                }
                None if !callers.is_empty() && is_method(leaf) => Some(Self::Context { callers, method: leaf, shape }),
                _ => None,
            };
        }
        if subject.contains(&b'#') {
            return is_method(subject).then(|| Self::Context { callers: Vec::new(), method: subject, shape });
        }
        (bare && parse_type(name).is_some()).then_some(Self::Type(name))
    }

    /// Returns true if LLVM treats such records as context-sensitive, so that its lists and summaries of counts skip
    /// them.
    pub fn is_context_sensitive(&self) -> bool {
        !matches!(self, Self::Context { .. })
    }

    /// Returns the frames of the callers or of the stack, the root first.
    pub fn frames(&self) -> &[NamedFrame<'a>] {
        match self {
            Self::Context { callers: frames, .. } | Self::Stack(frames) => frames,
            Self::Type(_) | Self::Monitors => &[],
        }
    }
}

/// Returns all frames but the last, and the last, which may have no BCI.
fn split_frames(text: &[u8]) -> Option<(Vec<NamedFrame<'_>>, &[u8])> {
    let mut callers = Vec::new();
    let mut rest = text;
    // Names encode `@`.
    while let Some(at) = rest.iter().position(|byte| *byte == b'@') {
        callers.push(split_bci(rest[..at].strip_suffix(b" ")?)?);
        rest = rest[at + 1..].strip_prefix(b" ")?;
    }
    Some((callers, rest))
}

/// Returns a frame's method and BCI. Names encode `:`.
fn split_bci(frame: &[u8]) -> Option<NamedFrame<'_>> {
    let (method, digits) = split_once(frame, b':')?;
    let digits = std::str::from_utf8(digits).ok()?;
    let bci: i32 = digits.parse().ok()?;
    (bci.to_string() == digits).then_some(NamedFrame { method, bci })
}

/// Appends a frame.
pub fn push_frame(out: &mut Vec<u8>, frame: NamedFrame<'_>) {
    out.extend_from_slice(frame.method);
    out.push(b':');
    push_signed(out, frame.bci.into());
}

/// Appends a method with its chain of callers, the root first. [`chain_order`](super::chain_order) makes the same names.
#[cfg(test)]
pub fn push_context<'a>(out: &mut Vec<u8>, callers: impl Iterator<Item = NamedFrame<'a>>, method: &[u8]) {
    let start = out.len();
    for caller in callers {
        out.extend_from_slice(if out.len() == start { b"[" } else { b"" });
        push_frame(out, caller);
        out.extend_from_slice(b" @ ");
    }
    let chain = out.len() > start;
    out.extend_from_slice(method);
    if chain {
        out.push(b']');
    }
}

/// Appends a sampled stack, the root first. [`chain_order`](super::chain_order) makes the same names.
#[cfg(test)]
pub fn push_stack<'a>(out: &mut Vec<u8>, frames: impl Iterator<Item = NamedFrame<'a>>) {
    out.push(b'[');
    for (at, frame) in frames.enumerate() {
        out.extend_from_slice(if at > 0 { b" @ " } else { b"" });
        push_frame(out, frame);
    }
    out.push(b']');
}

// Percent-encoding of names, one to one.
//
// Names are bytes. They are UTF-8, and a lone surrogate of a Java string is encoded as three bytes like any other code
// unit. Bytes that a text profile cannot store (invalid UTF-8, control characters, line separators) and the escape
// character itself become `%` and two hexadecimal digits.

/// Additional characters to encode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escapes {
    /// The characters of the bridge's notation, and leading and trailing spaces.
    Notation,
    /// None: for an LLVM name that becomes a name in an iprof file.
    EncodedNames,
}

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

impl Escapes {
    fn covers(self, byte: u8) -> bool {
        self == Self::Notation && b":;@[]#(),{}".contains(&byte)
    }
}

/// Appends `%` and the two digits of `byte`.
pub(super) fn push_encoded(out: &mut Vec<u8>, byte: u8) {
    out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

/// Appends `name`, encoded where necessary.
pub(super) fn push_escaped(out: &mut Vec<u8>, name: &[u8], escapes: Escapes) {
    let is_plain = |byte: &u8| (b' '..=b'~').contains(byte) && *byte != b'%' && !escapes.covers(*byte);
    let is_edged = name.first() == Some(&b' ') || name.last() == Some(&b' ');
    if name.iter().all(is_plain) && !is_edged {
        return out.extend_from_slice(name);
    }
    let last = name.len().saturating_sub(1);
    let mut at = 0;
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            let end = at + character.len_utf8();
            let edge = escapes == Escapes::Notation && character == ' ' && (at == 0 || at == last);
            let own = u8::try_from(character).is_ok_and(|byte| byte == b'%' || escapes.covers(byte));
            let separator = matches!(character, '\u{2028}' | '\u{2029}');
            if edge || own || separator || character.is_control() {
                name[at..end].iter().for_each(|byte| push_encoded(out, *byte));
            } else {
                out.extend_from_slice(&name[at..end]);
            }
            at = end;
        }
        chunk.invalid().iter().for_each(|byte| push_encoded(out, *byte));
        at += chunk.invalid().len();
    }
}

/// Returns `name`, encoded where necessary.
pub(super) fn escaped(name: &[u8], escapes: Escapes) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    push_escaped(&mut out, name, escapes);
    out
}

// Types and methods of a document as LLVM names.

/// The LLVM names of all types and methods of a document.
#[derive(Debug, Clone, Default)]
pub(super) struct EncodedNames {
    types: Vec<Vec<u8>>,
    type_hashes: Vec<u64>,
    /// The methods' names, one after the other.
    methods: Vec<u8>,
    /// Where each of them ends.
    method_ends: Vec<usize>,
}

impl EncodedNames {
    pub(super) fn of(tables: &Tables) -> Self {
        let types: Vec<Vec<u8>> = tables
            .types()
            .map(|handle| {
                let mut text = Vec::new();
                push_type(&mut text, tables.type_name(handle));
                text
            })
            .collect();
        let type_hashes = types.iter().map(|text| name_ref(text)).collect();
        let (mut methods, mut method_ends) = (Vec::new(), Vec::with_capacity(tables.methods_count()));
        for handle in tables.methods() {
            methods.extend_from_slice(&identity(tables, handle).notation());
            method_ends.push(methods.len());
        }
        Self { types, type_hashes, methods, method_ends }
    }

    pub(super) fn type_name(&self, handle: TypeHandle) -> &[u8] {
        &self.types[handle.index()]
    }

    /// The value of the type at a value site.
    pub(super) fn type_hash(&self, handle: TypeHandle) -> u64 {
        self.type_hashes[handle.index()]
    }

    pub(super) fn method(&self, handle: MethodHandle) -> &[u8] {
        name_at(&self.methods, &self.method_ends, handle.index() as u32)
    }

    /// Returns all methods.
    pub(super) fn methods(&self) -> impl Iterator<Item = MethodHandle> {
        (0..self.method_ends.len()).map(MethodHandle::from_index)
    }
}

/// Returns the identity of a method across files.
pub(super) fn identity(tables: &Tables, handle: MethodHandle) -> MethodIdentity {
    let mut types = tables.signature(handle).iter().map(|part| tables.type_name(*part).to_vec());
    MethodIdentity {
        declaring: types.next().unwrap_or_default(),
        returns: types.next().unwrap_or_default(),
        parameters: types.collect(),
        name: tables.method_name(handle).to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ValueKind, name_ref};
    use proptest::prelude::*;

    fn parse(name: &[u8]) -> Option<RecordName<'_>> {
        RecordName::parse(name, &mut |method| MethodIdentity::parse(method).is_some())
    }

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

    /// Names made of the characters of the notation.
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

    fn frame(method: &str, bci: i32) -> NamedFrame<'_> {
        NamedFrame { method: method.as_bytes(), bci }
    }

    const MAIN: &str = "app.Main#main(java.lang.String[])void";
    const STEP: &str = "app.Main#step(app.Shape,int)int";

    #[test]
    fn chains_are_written_root_first() {
        let mut name = Vec::new();
        push_context(&mut name, [frame(MAIN, 3), frame(STEP, -6)].into_iter(), MAIN.as_bytes());
        let text = "[app.Main#main(java.lang.String[])void:3 @ app.Main#step(app.Shape,int)int:-6 @ \
                    app.Main#main(java.lang.String[])void]";
        assert_eq!(String::from_utf8_lossy(&name), text);
        let Some(RecordName::Context { callers, method, shape }) = parse(&name) else { panic!("{text}") };
        assert_eq!(callers, [frame(MAIN, 3), frame(STEP, -6)]);
        assert_eq!((method, shape.calls), (MAIN.as_bytes(), true));
    }

    #[test]
    fn a_stack_has_a_bci_on_its_leaf() {
        let mut name = Vec::new();
        push_stack(&mut name, [frame(STEP, 2)].into_iter());
        assert_eq!(parse(&name), Some(RecordName::Stack(vec![frame(STEP, 2)])));
        name.extend_from_slice(b" {}");
        assert_eq!(parse(&name), None);
    }

    #[test]
    fn types_and_monitors_have_names_of_their_own() {
        assert_eq!(parse(b"int[]"), Some(RecordName::Type(b"int[]")));
        assert_eq!(parse(b"{monitors}"), Some(RecordName::Monitors));
        for other in ["int {}", "[]", "[int:3]", "[a#b()c]", "a#b()c:3", "", "_ZN5ShapeD0Ev;x"] {
            assert_eq!(parse(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn hashes_encode_the_value_kind_and_the_marker() {
        let with_vtables = func_hash(b"int", ValueKind::VTableTarget, true);
        assert_eq!(with_vtables, 0x1000_0000_0000_0000 | (name_ref(b"iprof2:int") & 0x0fff_ffff_ffff_ffff));
        assert_ne!(with_vtables, func_hash(b"int", ValueKind::IndirectCallTarget, true));
        assert_eq!(func_hash(b"int", ValueKind::VTableTarget, false) >> 60, 0);
    }

    proptest! {
        #[test]
        fn a_name_that_parses_is_the_one_that_is_written(pieces in prop::collection::vec(prop::sample::select(vec![
            "[", "]", " @ ", ":", "1", "-2", "a#b()c", "a#b(x)[]", "int", " {", "}", "{monitors}", "3?4", "calls",
        ]), 0..7)) {
            let name = pieces.concat().into_bytes();
            let mut again = Vec::new();
            match parse(&name) {
                None => return Ok(()),
                Some(RecordName::Context { callers, method, shape }) => {
                    push_context(&mut again, callers.into_iter(), method);
                    shape.push_to(&mut again);
                }
                Some(RecordName::Stack(frames)) => push_stack(&mut again, frames.into_iter()),
                Some(RecordName::Type(name)) => again.extend_from_slice(name),
                Some(RecordName::Monitors) => again.extend_from_slice(MONITORS),
            }
            prop_assert_eq!(again, name);
        }
    }

    #[test]
    fn only_ambiguous_bytes_are_encoded() {
        let notation = |name: &[u8]| String::from_utf8(escaped(name, Escapes::Notation)).unwrap();
        assert_eq!(notation(b"lambda$main$0"), "lambda$main$0");
        assert_eq!(notation(b"String(AAAZ)"), "String%28AAAZ%29");
        assert_eq!(notation(b"computeValue%1"), "computeValue%251");
        assert_eq!(notation(b" a b "), "%20a b%20");
        assert_eq!(notation("zäh\u{85}\u{2028}".as_bytes()), "zäh%C2%85%E2%80%A8");
        assert_eq!(notation(b"\xed\xa0\x80x\xff"), "%ED%A0%80x%FF");
        assert_eq!(escaped(b"a(b) %\n", Escapes::EncodedNames), b"a(b) %25%0A");
    }

    proptest! {
        #[test]
        fn encoding_is_undone(name: Vec<u8>) {
            for escapes in [Escapes::Notation, Escapes::EncodedNames] {
                let text = escaped(&name, escapes);
                prop_assert!(std::str::from_utf8(&text).is_ok());
                prop_assert_eq!(percent_decode(&text), Some(name.clone()));
            }
        }
    }
}
