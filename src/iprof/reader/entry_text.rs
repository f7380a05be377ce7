//! One entry of a profile section, from text to numbers, member by member.
//!
//! Entries as GraalVM writes them come in [batches](super::batch); these are
//! the others.

use super::context_text::{self, RawFrame};
use super::members::{Defect, KnownMembers, Walk, walk};
use crate::iprof::findings::Code;
use crate::iprof::json::{Number, Scan, Shape, Stop};

const MEMBERS: &KnownMembers = &[("ctx", "methodBciList"), ("records", "records")];
/// The monitor section of 2022 is one object without a context.
const BARE_MEMBERS: &KnownMembers = &[("records", "records")];

/// A number that needs a decision: its position among the records, where it stands, and why.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trouble {
    pub(super) position: usize,
    pub(super) at: usize,
    pub(super) kind: TroubleKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TroubleKind {
    /// Larger than a `long`.
    Huge { negative: bool },
    /// Integral, but written with point or exponent.
    Spelling,
    /// No integer.
    NotIntegral,
}

/// One entry as it was parsed.
#[derive(Default)]
pub(super) struct Parsed {
    pub(super) base: u64,
    at: usize,
    pub(super) context_at: usize,
    pub(super) records_at: usize,
    pub(super) frames: Vec<RawFrame>,
    pub(super) sound_context: bool,
    pub(super) identity: u128,
    pub(super) numbers: Vec<i64>,
    pub(super) troubles: Vec<Trouble>,
    pub(super) walk: Walk,
}

impl Parsed {
    pub(super) fn parse(&mut self, scan: &mut Scan<'_>, base: u64, options: &ParseOptions) -> Result<(), Stop> {
        scan.space();
        self.base = base;
        self.at = scan.pos;
        self.troubles.clear();
        self.walk = Walk::default();
        self.members(scan, options)
    }

    fn members(&mut self, scan: &mut Scan<'_>, options: &ParseOptions) -> Result<(), Stop> {
        self.sound_context = options.bare;
        self.frames.clear();
        if options.bare {
            // The one entry of a 2022 monitor section has no context; today it is 0:0.
            self.frames.push(RawFrame { method: 0, bci: 0 });
        }
        let known = if options.bare { BARE_MEMBERS } else { MEMBERS };
        let first = usize::from(options.bare);
        let walked = walk(scan, known, options.keep_others && !options.bare, |scan, member, old| {
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
            let parsed = context_text::parse(&text, 0, separator, &mut self.frames);
            self.sound_context = parsed.sound && parsed.end == text.len();
            self.identity = context_text::identity(&text, parsed, &self.frames);
            Ok(None)
        })?;
        self.walk = walked;
        Ok(())
    }

    #[inline]
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
            let (value, kind) = match scan.number()? {
                Number::Int(value) => (value, None),
                Number::Huge { negative } => {
                    (if negative { i64::MIN } else { i64::MAX }, Some(TroubleKind::Huge { negative }))
                }
                Number::Fraction(Some(value)) => (value, Some(TroubleKind::Spelling)),
                Number::Fraction(None) => (0, Some(TroubleKind::NotIntegral)),
            };
            self.numbers.push(value);
            if let Some(kind) = kind {
                self.troubles.push(Trouble { position, at, kind });
            }
            more = scan.take(b',')?;
            if !more {
                scan.expect(b']', "a comma or the end of the array")?;
            }
        }
        Ok(None)
    }
}

#[derive(Clone, Copy)]
pub(super) struct ParseOptions {
    pub(super) keep_others: bool,
    pub(super) identities: bool,
    /// A 2022 monitor section: records without a context.
    pub(super) bare: bool,
}
