//! The text of one entry: its members in any order, its context and its numbers.
//!
//! GraalVM always spells entries in one way, and a parser for just that comes first: without it a check took 1.6 times
//! as long. The general grammar takes any white space and order of members. Both say whether a writer would write the
//! same tokens: then a copy of the text is what would be written.

use crate::iprof::context::{Frame, bci};
use crate::iprof::document::EntryMember;
use crate::iprof::findings::Code;
use crate::iprof::json::{self, Number, Scan, Stop};
use crate::iprof::reader::ids::IdMap;
use crate::iprof::tables::MethodHandle;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// A fault in an entry and where it is: offset in the view, member, and in words.
#[derive(Debug, Clone)]
pub(crate) struct Defect {
    pub(crate) code: Code,
    pub(crate) at: usize,
    /// Path below the entry, such as `.name`; empty for the entry itself.
    pub(crate) below: Cow<'static, str>,
    pub(crate) message: Cow<'static, str>,
}

impl Defect {
    pub(crate) fn new(
        code: Code,
        at: usize,
        below: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { code, at, below: below.into(), message: message.into() }
    }
}

/// Names of the known members: today's, and those of 2022 if they were others.
pub(crate) type KnownMembers = [(&'static str, &'static str)];

/// The members of an entry.
#[derive(Debug, Default)]
pub(crate) struct Members {
    /// The first fault.
    pub(crate) defect: Option<Defect>,
    /// The members to keep, unless they are the known ones in their usual order.
    pub(crate) kept: Option<Box<[EntryMember]>>,
    /// Whether a name of 2022 is used.
    pub(crate) legacy: bool,
    /// Whether a writer would write the entry in another way, apart from white space.
    pub(crate) respelled: bool,
}

impl Members {
    /// Reads the entry at the scan's position. `visit` parses the value of a known member, by its number and
    /// whether it has its old name, and returns its fault; a value with a fault is skipped.
    #[inline]
    pub(crate) fn read<'a>(
        &mut self,
        scan: &mut Scan<'a>,
        known: &KnownMembers,
        keep_others: bool,
        mut visit: impl FnMut(&mut Scan<'a>, usize, bool) -> Result<Option<Defect>, Stop>,
    ) -> Result<(), Stop> {
        (self.defect, self.kept, self.legacy, self.respelled) = (None, None, false, false);
        if scan.peek()? != b'{' {
            let at = scan.pos;
            scan.skip()?;
            self.defect = Some(Defect::new(Code::WrongJsonType, at, "", "expected an object"));
            return Ok(());
        }
        let start = scan.pos;
        scan.pos += 1;
        let mut seen = 0u32;
        let mut order = MemberOrder::default();
        let mut more = !scan.take(b'}')?;
        while more {
            scan.space();
            let key_at = scan.pos;
            let (key, raw, escapes);
            let found = match known.get(order.in_order).filter(|(name, _)| scan.take_string(name)) {
                Some((name, _)) => {
                    (key, raw, escapes) = (Cow::Borrowed(name.as_bytes()), name.as_bytes(), false);
                    Some((order.in_order, false))
                }
                None => {
                    (raw, escapes) = scan.raw_string()?;
                    key = if escapes { Cow::Owned(json::unescape(raw)) } else { Cow::Borrowed(raw) };
                    find_member(known, &key)
                }
            };
            scan.expect(b':', "a colon")?;
            let repeated;
            if let Some((at, is_old)) = found {
                repeated = seen & (1 << at) != 0;
                seen |= 1 << at;
                self.legacy |= is_old;
                self.respelled |= is_old | escapes;
                scan.space();
                let value_at = scan.pos;
                if let Some(defect) = visit(scan, at, is_old)? {
                    scan.pos = value_at;
                    scan.skip()?;
                    self.defect.get_or_insert(defect);
                }
                order.push_known(at);
            } else {
                let value = scan.skip()?;
                repeated = !order.unusual().others.insert(key.as_ref().into());
                self.respelled |= escapes && !json::is_written(raw);
                if keep_others {
                    order.push_other(&key, value);
                }
            }
            if repeated {
                let name = String::from_utf8_lossy(&key);
                let message = format!("the member \"{}\" occurs twice", name.escape_debug());
                self.defect.get_or_insert(Defect::new(Code::DuplicateKey, key_at, "", message));
            }
            more = scan.take(b',')?;
            if !more {
                scan.expect(b'}', "a comma or the end of the object")?;
            }
        }
        if seen != (1 << known.len()) - 1 {
            let missing = known.iter().enumerate().find(|(at, _)| seen & (1 << at) == 0);
            let name = missing.map_or("", |(_, (name, _))| name);
            let message = format!("the member \"{name}\" is missing");
            self.defect.get_or_insert(Defect::new(Code::MissingField, start, "", message));
        }
        if let Some(unusual) = order.unusual.filter(|unusual| keep_others && !unusual.list.is_empty()) {
            self.kept = Some(unusual.list.into());
        }
        Ok(())
    }
}

/// The number of a known member, and whether this is its old name.
#[inline]
fn find_member(known: &KnownMembers, key: &[u8]) -> Option<(usize, bool)> {
    let today = known.iter().position(|(name, _)| name.as_bytes() == key);
    let old = || known.iter().position(|(_, old)| old.as_bytes() == key);
    today.map(|at| (at, false)).or_else(|| old().map(|at| (at, true)))
}

/// The members read so far.
#[derive(Default)]
struct MemberOrder {
    /// Number of known members that came in their usual order.
    in_order: usize,
    unusual: Option<Box<UnusualMembers>>,
}

/// All members, once one of them is not the next known one. Nearly no entry needs it.
#[derive(Default)]
struct UnusualMembers {
    list: Vec<EntryMember>,
    others: BTreeSet<Box<[u8]>>,
}

impl MemberOrder {
    fn unusual(&mut self) -> &mut UnusualMembers {
        self.unusual.get_or_insert_default()
    }

    #[inline]
    fn push_known(&mut self, at: usize) {
        if at == self.in_order && self.unusual.as_ref().is_none_or(|unusual| unusual.list.is_empty()) {
            self.in_order += 1;
        } else {
            self.push(EntryMember::Known(u8::try_from(at).unwrap_or(u8::MAX)));
        }
    }

    fn push_other(&mut self, key: &[u8], value: &[u8]) {
        let mut compact = Vec::with_capacity(value.len());
        json::write_compact(&mut compact, value);
        self.push(EntryMember::Other(key.into(), compact.into()));
    }

    fn push(&mut self, member: EntryMember) {
        let in_order = self.in_order;
        let list = &mut self.unusual().list;
        if list.is_empty() {
            list.extend((0u8..).take(in_order).map(EntryMember::Known));
        }
        list.push(member);
    }
}

/// A context as it is written, leaf first: `5:0<3:2<2:9<1:3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ContextText {
    /// Position of the first byte after it.
    pub(super) end: usize,
    /// Whether it ends after a whole frame, and every number is a Java int.
    pub(super) valid: bool,
    /// Whether a number has a leading zero, so that equal contexts may differ as text.
    pub(super) leading_zeros: bool,
    /// The first method that is not in the table; `i64::MAX` if it has more than 18 digits.
    pub(super) unknown: Option<i64>,
    /// A position that is neither a bytecode index nor a placeholder.
    pub(super) odd: Option<i32>,
    /// Whether it has other numbers than 0, or several frames.
    pub(super) is_somewhere: bool,
}

impl ContextText {
    /// Parses frames from `start` on, as long as the grammar goes, and appends those whose methods are known.
    #[inline]
    fn parse(data: &[u8], start: usize, separator: u8, methods: &IdMap, frames: &mut Vec<Frame>) -> Self {
        let mut context = Self { end: start, ..Self::default() };
        let mut text = &data[start..];
        loop {
            let rest = match context.add_frame(text, methods, frames) {
                Ok(rest) => rest,
                Err(rest) => {
                    context.end = data.len() - rest.len();
                    return context;
                }
            };
            match rest.split_first() {
                Some((byte, next)) if *byte == separator => text = next,
                _ => {
                    (context.valid, context.end) = (true, data.len() - rest.len());
                    context.is_somewhere = data[start..context.end].iter().any(|byte| !b"0:-".contains(byte));
                    return context;
                }
            }
        }
    }

    /// Parses one frame. Returns what follows it, or where the grammar ends.
    #[inline(always)]
    fn add_frame<'d>(
        &mut self,
        text: &'d [u8],
        methods: &IdMap,
        frames: &mut Vec<Frame>,
    ) -> Result<&'d [u8], &'d [u8]> {
        let (method, rest) = Digits::read(text);
        let Some((b':', rest)) = rest.split_first().filter(|_| method.is_present) else { return Err(rest) };
        let (negative, rest) = match rest.split_first() {
            Some((b'-', rest)) => (true, rest),
            _ => (false, rest),
        };
        let (position, rest) = Digits::read(rest);
        let Ok(bci) = i32::try_from(if negative { -position.value } else { position.value }) else { return Err(rest) };
        if !position.is_present {
            return Err(rest);
        }
        // No known producer writes a zero with a sign.
        self.leading_zeros |= method.leading_zero | position.leading_zero | (negative && bci == 0);
        if bci::is_odd(bci) {
            self.odd = Some(bci);
        }
        match methods.entry(method.value) {
            Some(handle) => frames.push(Frame { method: MethodHandle::from_number(handle), bci }),
            None => self.unknown = self.unknown.or(Some(method.value)),
        }
        Ok(rest)
    }
}

/// Digits as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Digits {
    /// `i64::MAX` if there are more digits than any id has.
    value: i64,
    is_present: bool,
    /// Whether there are several, and the first is 0.
    leading_zero: bool,
}

impl Digits {
    /// The digits at the start of a text, and what follows them.
    #[inline(always)]
    fn read(text: &[u8]) -> (Self, &[u8]) {
        match json::short_number(text) {
            Some((value, rest)) => (Self { value, is_present: true, leading_zero: false }, rest),
            None => Self::read_any(text),
        }
    }

    #[cold]
    fn read_any(text: &[u8]) -> (Self, &[u8]) {
        let len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = text.split_at(len);
        // Up to 18 digits cannot overflow.
        let value = match len {
            0..=18 => digits.iter().fold(0, |value, digit| 10 * value + i64::from(digit - b'0')),
            _ => i64::MAX,
        };
        (Self { value, is_present: len > 0, leading_zero: len > 1 && digits[0] == b'0' }, rest)
    }
}

/// A key under which equal contexts are equal, whatever zeros their numbers begin with.
fn identity(text: &[u8], separator: u8, leading_zeros: bool) -> u128 {
    if !leading_zeros {
        return xxhash_rust::xxh3::xxh3_128(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    for number in text.split_inclusive(|byte| matches!(byte, b':') || *byte == separator) {
        let digits = number.iter().position(|byte| !matches!(byte, b'0' | b'-'));
        let is_zero = digits.is_none_or(|at| !number[at].is_ascii_digit());
        if number.starts_with(b"-") && !is_zero {
            plain.push(b'-');
        } else if is_zero {
            plain.push(b'0');
        }
        plain.extend_from_slice(&number[digits.unwrap_or(number.len())..]);
    }
    xxhash_rust::xxh3::xxh3_128(&plain)
}

const MEMBERS: &KnownMembers = &[("ctx", "methodBciList"), ("records", "records")];
/// The monitor section of 2022 is one object without a context.
const BARE_MEMBERS: &KnownMembers = &[("records", "records")];

/// How entries are parsed.
#[derive(Clone, Copy)]
pub(super) struct TextOptions<'r> {
    pub(super) methods: &'r IdMap,
    pub(super) keep_others: bool,
    /// Whether keys of contexts are needed.
    pub(super) identities: bool,
    /// A 2022 monitor section: records without a context.
    pub(super) bare: bool,
}

/// One entry as it was parsed; its frames are elsewhere.
#[derive(Debug, Default)]
pub(super) struct EntryText {
    pub(super) context_at: usize,
    pub(super) records_at: usize,
    pub(super) context: ContextText,
    pub(super) identity: u128,
    pub(super) numbers: Vec<i64>,
    /// Faults of numbers that are not a plain `long`, and the repair of each. Without a repair the entry is dropped.
    pub(super) troubles: Vec<(Defect, Option<&'static str>)>,
    pub(super) members: Members,
    /// Whether it is in GraalVM's spelling, so that its members and numbers have no faults.
    is_canonical: bool,
}

impl EntryText {
    /// A fault of the records as a whole.
    pub(super) fn records_defect(&self, code: Code, message: impl Into<Cow<'static, str>>) -> Defect {
        Defect::new(code, self.records_at, ".records", message)
    }

    /// A fault of one of the records.
    pub(super) fn record_defect(&self, code: Code, position: usize, message: impl Into<Cow<'static, str>>) -> Defect {
        Defect::new(code, self.records_at, format!(".records[{position}]"), message)
    }

    /// Parses the entry at the scan's position and appends its frames.
    #[inline]
    pub(super) fn parse(
        &mut self,
        scan: &mut Scan<'_>,
        options: &TextOptions<'_>,
        frames: &mut Vec<Frame>,
    ) -> Result<(), Stop> {
        let (start, before) = (scan.pos, frames.len());
        if !self.is_canonical {
            self.troubles.clear();
            self.members = Members::default();
        }
        self.is_canonical = self.parse_canonical(scan, options, frames).is_some();
        if self.is_canonical {
            self.members.respelled = self.context.leading_zeros;
            return Ok(());
        }
        scan.pos = start;
        frames.truncate(before);
        self.parse_any(scan, options, frames)
    }

    /// Parses an entry in GraalVM's spelling. Returns `None` for any other.
    #[inline]
    fn parse_canonical(
        &mut self,
        scan: &mut Scan<'_>,
        options: &TextOptions<'_>,
        frames: &mut Vec<Frame>,
    ) -> Option<()> {
        scan.literal(b"{\"ctx\":\"")?;
        let start = scan.pos;
        self.context_at = start - 1;
        self.context = ContextText::parse(scan.data, start, b'<', options.methods, frames);
        if !self.context.valid {
            return None;
        }
        scan.pos = self.context.end;
        if options.identities {
            self.identity = identity(&scan.data[start..scan.pos], b'<', self.context.leading_zeros);
        }
        scan.literal(b"\",\"records\":[")?;
        self.records_at = scan.pos - 1;
        self.numbers.clear();
        loop {
            let negative = scan.literal(b"-").is_some();
            let (digits, rest) = Digits::read(&scan.data[scan.pos..]);
            // A zero with a sign is not written so, and more than 18 digits need a closer look.
            if !digits.is_present || digits.leading_zero || digits.value == i64::MAX || (negative && digits.value == 0)
            {
                return None;
            }
            self.numbers.push(if negative { -digits.value } else { digits.value });
            scan.pos = scan.data.len() - rest.len();
            if scan.literal(b",").is_none() {
                return scan.literal(b"]}");
            }
        }
    }

    /// Parses any entry, member by member.
    fn parse_any(
        &mut self,
        scan: &mut Scan<'_>,
        options: &TextOptions<'_>,
        frames: &mut Vec<Frame>,
    ) -> Result<(), Stop> {
        let before = frames.len();
        let Self { context_at, records_at, context, identity: key, numbers, troubles, members, .. } = self;
        troubles.clear();
        // The one entry of a 2022 monitor section has no context; today it is 0:0.
        *context = ContextText { valid: options.bare, ..ContextText::default() };
        let (known, first) = if options.bare { (BARE_MEMBERS, 1) } else { (MEMBERS, 0) };
        let mut respelled = false;
        members.read(scan, known, options.keep_others && !options.bare, |scan, member, is_old| {
            if member + first == 1 {
                *records_at = scan.pos;
                return parse_records(scan, numbers, troubles, &mut respelled);
            }
            *context_at = scan.pos;
            if scan.peek()? != b'"' {
                return Ok(Some(Defect::new(Code::WrongJsonType, scan.pos, ".ctx", "expected a string")));
            }
            let (start, separator) = (scan.pos + 1, if is_old { b',' } else { b'<' });
            frames.truncate(before);
            *context = ContextText::parse(scan.data, start, separator, options.methods, frames);
            let text;
            if context.valid && scan.data.get(context.end) == Some(&b'"') {
                text = Cow::Borrowed(&scan.data[start..context.end]);
                scan.pos = context.end + 1;
            } else {
                // The string has escapes or is not a context.
                text = scan.string()?;
                frames.truncate(before);
                *context = ContextText::parse(&text, 0, separator, options.methods, frames);
                context.valid &= context.end == text.len();
                respelled = true;
            }
            respelled |= context.leading_zeros;
            if options.identities {
                *key = identity(&text, separator, context.leading_zeros);
            }
            Ok(None)
        })?;
        members.respelled |= respelled;
        Ok(())
    }
}

/// Parses the numbers of an entry, or returns the fault.
#[inline]
fn parse_records(
    scan: &mut Scan<'_>,
    numbers: &mut Vec<i64>,
    troubles: &mut Vec<(Defect, Option<&'static str>)>,
    respelled: &mut bool,
) -> Result<Option<Defect>, Stop> {
    numbers.clear();
    if scan.peek()? != b'[' {
        return Ok(Some(Defect::new(Code::WrongJsonType, scan.pos, ".records", "expected an array")));
    }
    scan.pos += 1;
    let mut more = !scan.take(b']')?;
    while more {
        let next = scan.peek()?;
        let at = scan.pos;
        if !next.is_ascii_digit() && next != b'-' {
            let below = format!(".records[{}]", numbers.len());
            return Ok(Some(Defect::new(Code::WrongJsonType, at, below, "expected an integer")));
        }
        let value = match scan.number()? {
            Number::Int(value) => {
                // Zero has no sign when it is written.
                *respelled |= value == 0 && next == b'-';
                value
            }
            other => {
                let (value, code, message, repair) = unusual_number(other);
                troubles.push((Defect::new(code, at, format!(".records[{}]", numbers.len()), message), repair));
                value
            }
        };
        numbers.push(value);
        more = scan.take(b',')?;
        if !more {
            scan.expect(b']', "a comma or the end of the array")?;
        }
    }
    Ok(None)
}

/// The value to use for a number that is not a plain `long`, its fault, and the repair if there is one.
#[cold]
fn unusual_number(number: Number) -> (i64, Code, &'static str, Option<&'static str>) {
    match number {
        Number::Huge { negative: true } => (0, Code::NegativeCount, "a count is below 0", None),
        Number::Huge { negative: false } => (i64::MAX, Code::CountRange, "a count is above 2^63-1", Some("clamped")),
        Number::Int(value) | Number::Fraction(Some(value)) => {
            (value, Code::NotAnInteger, "the number has a decimal point or exponent", Some("rewritten"))
        }
        Number::Fraction(None) => (0, Code::NotAnInteger, "the number is not an integer", None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Methods 0 to 9, which have their ids.
    fn methods() -> IdMap {
        let mut methods = IdMap::default();
        (0..10).for_each(|id| methods.set(i64::from(id), id));
        methods
    }

    fn frame(method: u32, bci: i32) -> Frame {
        Frame { method: MethodHandle::from_number(method), bci }
    }

    #[test]
    fn contexts_are_leaf_first() {
        let mut frames = Vec::new();
        let context = ContextText::parse(b"2:-6<1:3\"", 0, b'<', &methods(), &mut frames);
        let expected = ContextText { end: 8, valid: true, is_somewhere: true, ..ContextText::default() };
        assert_eq!((context, &frames[..]), (expected, &[frame(2, -6), frame(1, 3)][..]));
        let context = ContextText::parse(b"0:0", 0, b'<', &methods(), &mut frames);
        assert!(context.valid && !context.is_somewhere);
        let context = ContextText::parse(b"0:70000<12:0<99:1", 0, b'<', &methods(), &mut frames);
        assert_eq!((context.unknown, context.odd, context.valid), (Some(12), Some(70000), true));
    }

    #[test]
    fn anything_but_the_grammar_stops_it() {
        let mut frames = Vec::new();
        for text in ["", "1", "1:", "1:-", "1:2<", "-1:2", "+1:2", "1 :2", "1:2147483648", "a"] {
            let context = ContextText::parse(text.as_bytes(), 0, b'<', &methods(), &mut frames);
            assert!(!context.valid || context.end < text.len(), "{text}");
        }
    }

    #[test]
    fn leading_zeros_make_no_other_context() {
        let key = |text: &str, separator| {
            let context = ContextText::parse(text.as_bytes(), 0, separator, &methods(), &mut Vec::new());
            identity(text.as_bytes(), separator, context.leading_zeros)
        };
        assert_eq!(key("01:00<2:-0", b'<'), key("1:0<2:0", b'<'));
        assert_eq!(key("007:-010<0:20", b'<'), key("7:-10<0:20", b'<'));
        assert_eq!(key("1:05,2:3", b','), key("1:5,2:3", b','));
        assert_ne!(key("01:0<2:0", b'<'), key("1:0<2:1", b'<'));
        assert_ne!(key("01:1", b'<'), key("1:-1", b'<'));
    }

    #[test]
    fn digits_are_the_same_by_words_and_one_by_one() {
        for number in ["", "0", "7", "42", "999", "65534", "278000", "9999999", "12345678", "2147483648", "00012"] {
            for after in
                ["", ":", "<1:23456789", "\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}", "/0000000", ":9999999", "é9999999"]
            {
                let text = format!("{number}{after}");
                let (digits, rest) = Digits::read(text.as_bytes());
                assert_eq!((digits, rest), Digits::read_any(text.as_bytes()), "{text}");
                assert_eq!((digits.value, rest), (number.parse().unwrap_or(0), after.as_bytes()), "{text}");
                assert_eq!((digits.is_present, digits.leading_zero), (!number.is_empty(), number == "00012"), "{text}");
            }
        }
        assert_eq!(Digits::read(b"1234567890123456789").0.value, i64::MAX);
        assert_eq!(Digits::read(b"123456789012345678").0.value, 123_456_789_012_345_678);
    }
}
