//! Names and hashes of the records that the bridge makes.
//!
//! | record | name |
//! |---|---|
//! | a method called from nowhere known | `METHOD shape` |
//! | a method in a chain of callers, root first | `[CALLER:BCI @ CALLER:BCI @ METHOD] shape` |
//! | a sampled stack, root first | `[METHOD:BCI @ METHOD:BCI]` |
//! | a type | `TYPE` |
//! | monitors | `{monitors}` |
//!
//! The brackets are LLVM's own notation of calling contexts in sample profiles.

use super::notation::{MethodIdentity, parse_type, split_once};
use super::shape::Shape;
pub use crate::model::record::func_hash;

/// Name of the record that holds all monitors.
pub const MONITORS: &[u8] = b"{monitors}";

/// A place in a method, the method in the bridge's notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedFrame<'a> {
    /// The method; [`MethodIdentity::parse`] reads it.
    pub method: &'a [u8],
    /// The place.
    pub bci: i32,
}

/// The subject of a record of the bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordName<'a> {
    /// Counts of one method in one chain of callers.
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
    /// Reads a name; `None` when the bridge would not have made it.
    pub fn parse(name: &'a [u8]) -> Option<Self> {
        Self::parse_with(name, &mut |method| MethodIdentity::parse(method).is_some())
    }

    /// Like [`parse`](Self::parse), but calls `is_method` to find out whether a string is a method in the notation,
    /// because many names share a few methods.
    pub(super) fn parse_with(name: &'a [u8], is_method: &mut dyn FnMut(&'a [u8]) -> bool) -> Option<Self> {
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

    /// Returns true if LLVM treats these records as context-sensitive, so that its lists and summaries of counts skip
    /// them.
    pub fn is_context_sensitive(&self) -> bool {
        !matches!(self, Self::Context { .. })
    }

    /// The frames of callers or of the stack, the root first.
    pub fn frames(&self) -> &[NamedFrame<'a>] {
        match self {
            Self::Context { callers: frames, .. } | Self::Stack(frames) => frames,
            Self::Type(_) | Self::Monitors => &[],
        }
    }
}

/// The frames but the last, which may have no BCI, and the last.
fn split_frames(text: &[u8]) -> Option<(Vec<NamedFrame<'_>>, &[u8])> {
    let mut callers = Vec::new();
    let mut rest = text;
    // `@` is encoded in names.
    while let Some(at) = rest.iter().position(|byte| *byte == b'@') {
        callers.push(split_bci(rest[..at].strip_suffix(b" ")?)?);
        rest = rest[at + 1..].strip_prefix(b" ")?;
    }
    Some((callers, rest))
}

/// A frame's method and BCI. `:` is encoded in names.
fn split_bci(frame: &[u8]) -> Option<NamedFrame<'_>> {
    let (method, digits) = split_once(frame, b':')?;
    let digits = std::str::from_utf8(digits).ok()?;
    let bci: i32 = digits.parse().ok()?;
    (bci.to_string() == digits).then_some(NamedFrame { method, bci })
}

/// Appends a frame.
pub fn push_frame(out: &mut Vec<u8>, frame: NamedFrame<'_>) {
    out.extend_from_slice(frame.method);
    out.extend_from_slice(format!(":{}", frame.bci).as_bytes());
}

/// Appends a method in its chain of callers, which come root first.
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

/// Appends a sampled stack, which comes root first.
pub fn push_stack<'a>(out: &mut Vec<u8>, frames: impl Iterator<Item = NamedFrame<'a>>) {
    out.push(b'[');
    for (at, frame) in frames.enumerate() {
        out.extend_from_slice(if at > 0 { b" @ " } else { b"" });
        push_frame(out, frame);
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ValueKind, name_ref};
    use proptest::prelude::*;

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
        let Some(RecordName::Context { callers, method, shape }) = RecordName::parse(&name) else { panic!("{text}") };
        assert_eq!(callers, [frame(MAIN, 3), frame(STEP, -6)]);
        assert_eq!((method, shape.calls), (MAIN.as_bytes(), true));
    }

    #[test]
    fn a_stack_has_a_bci_on_its_leaf() {
        let mut name = Vec::new();
        push_stack(&mut name, [frame(STEP, 2)].into_iter());
        assert_eq!(RecordName::parse(&name), Some(RecordName::Stack(vec![frame(STEP, 2)])));
        name.extend_from_slice(b" {}");
        assert_eq!(RecordName::parse(&name), None);
    }

    #[test]
    fn types_and_monitors_have_names_of_their_own() {
        assert_eq!(RecordName::parse(b"int[]"), Some(RecordName::Type(b"int[]")));
        assert_eq!(RecordName::parse(b"{monitors}"), Some(RecordName::Monitors));
        for other in ["int {}", "[]", "[int:3]", "[a#b()c]", "a#b()c:3", "", "_ZN5ShapeD0Ev;x"] {
            assert_eq!(RecordName::parse(other.as_bytes()), None, "{other}");
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
            match RecordName::parse(&name) {
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
}
