//! One entry of a profile section, from text to frames and numbers.

use super::context_text::{self, ContextText};
use super::ids::IdMap;
use super::members::{Defect, KnownMembers, Walk, walk};
use super::number;
use crate::iprof::context::Frame;
use crate::iprof::findings::Code;
use crate::iprof::json::{Number, Scan, Shape, Stop};
use std::borrow::Cow;

const MEMBERS: &KnownMembers = &[("ctx", "methodBciList"), ("records", "records")];
/// The monitor section of 2022 is one object without a context.
const BARE_MEMBERS: &KnownMembers = &[("records", "records")];

/// How entries are parsed.
#[derive(Clone, Copy)]
pub(super) struct TextOptions<'r> {
    pub(super) methods: &'r IdMap,
    pub(super) keep_others: bool,
    /// Whether keys of contexts are wanted.
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
    /// What is wrong with numbers that are no plain `long`, and what was done about each; nothing can be
    /// where the entry is dropped for it.
    pub(super) troubles: Vec<(Defect, Option<&'static str>)>,
    pub(super) walk: Walk,
    /// It looked as GraalVM writes it, and there is nothing to say about its members and numbers.
    is_usual: bool,
    /// Bytes of an entry that is written as a writer would; 0 of any other.
    pub(super) usual_bytes: usize,
}

impl EntryText {
    /// What is wrong with the records as a whole.
    pub(super) fn records_defect(&self, code: Code, message: impl Into<Cow<'static, str>>) -> Defect {
        Defect::new(code, self.records_at, ".records", message)
    }

    /// What is wrong with one of the records.
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
        let (start, first) = (scan.pos, frames.len());
        if !self.is_usual {
            self.troubles.clear();
            self.walk = Walk::default();
        }
        self.is_usual = self.parse_canonical_entry(scan, options, frames).is_some();
        if self.is_usual {
            self.usual_bytes = if self.context.leading_zeros { 0 } else { scan.pos - start };
            return Ok(());
        }
        self.usual_bytes = 0;
        scan.pos = start;
        frames.truncate(first);
        self.members(scan, options, frames)
    }

    /// Takes an entry of sound syntax that looks as GraalVM writes it.
    #[inline]
    fn parse_canonical_entry(
        &mut self,
        scan: &mut Scan<'_>,
        options: &TextOptions<'_>,
        frames: &mut Vec<Frame>,
    ) -> Option<()> {
        scan.literal(b"{\"ctx\":\"")?;
        let start = scan.pos;
        self.context_at = start - 1;
        self.context = context_text::parse(scan.data, start, b'<', options.methods, frames);
        if !self.context.valid {
            return None;
        }
        scan.pos = self.context.end;
        if options.identities {
            let text = &scan.data[start..scan.pos];
            self.identity = context_text::identity(text, b'<', self.context.leading_zeros);
        }
        scan.literal(b"\",\"records\":[")?;
        self.records_at = scan.pos - 1;
        self.numbers.clear();
        loop {
            let negative = scan.literal(b"-").is_some();
            let (value, end) = number::plain(scan.data, scan.pos).filter(|(value, _)| !negative || *value != 0)?;
            self.numbers.push(if negative { -value } else { value });
            scan.pos = end;
            if scan.literal(b",").is_none() {
                return scan.literal(b"]}");
            }
        }
    }

    /// Takes any entry, member by member.
    fn members(&mut self, scan: &mut Scan<'_>, options: &TextOptions<'_>, frames: &mut Vec<Frame>) -> Result<(), Stop> {
        let before = frames.len();
        // The one entry of a 2022 monitor section has no context; today it is 0:0.
        self.context = ContextText { valid: options.bare, ..ContextText::default() };
        let known = if options.bare { BARE_MEMBERS } else { MEMBERS };
        let first = usize::from(options.bare);
        self.walk = walk(scan, known, options.keep_others && !options.bare, |scan, member, old| {
            if member + first == 1 {
                self.records_at = scan.pos;
                return self.records(scan);
            }
            self.context_at = scan.pos;
            if scan.shape()? != Shape::String {
                return Ok(Some(Defect::new(Code::WrongJsonType, scan.pos, ".ctx", "a string was expected")));
            }
            let text = scan.string()?;
            let separator = if old { b',' } else { b'<' };
            frames.truncate(before);
            self.context = context_text::parse(&text, 0, separator, options.methods, frames);
            self.context.valid &= self.context.end == text.len();
            if options.identities {
                self.identity = context_text::identity(&text, separator, self.context.leading_zeros);
            }
            Ok(None)
        })?;
        Ok(())
    }

    fn records(&mut self, scan: &mut Scan<'_>) -> Result<Option<Defect>, Stop> {
        self.numbers.clear();
        if scan.peek()? != b'[' {
            return Ok(Some(Defect::new(Code::WrongJsonType, scan.pos, ".records", "an array was expected")));
        }
        scan.pos += 1;
        let mut more = !scan.take(b']')?;
        while more {
            let next = scan.peek()?;
            let (position, at) = (self.numbers.len(), scan.pos);
            if !next.is_ascii_digit() && next != b'-' {
                let below = format!(".records[{position}]");
                return Ok(Some(Defect::new(Code::WrongJsonType, at, below, "an integer was expected")));
            }
            let (value, trouble) = match scan.number()? {
                Number::Int(value) => (value, None),
                Number::Huge { negative: true } => (0, Some((Code::NegativeCount, "no count is below 0", None))),
                Number::Huge { negative: false } => {
                    (i64::MAX, Some((Code::CountRange, "no count is above 2^63-1", Some("clamped"))))
                }
                Number::Fraction(Some(value)) => {
                    (value, Some((Code::NotAnInteger, "the number has a point or exponent", Some("rewritten"))))
                }
                Number::Fraction(None) => (0, Some((Code::NotAnInteger, "the number is no integer", None))),
            };
            self.numbers.push(value);
            if let Some((code, message, done)) = trouble {
                self.troubles.push((Defect::new(code, at, format!(".records[{position}]"), message), done));
            }
            more = scan.take(b',')?;
            if !more {
                scan.expect(b']', "a comma or the end of the array")?;
            }
        }
        Ok(None)
    }
}
