//! One entry of a table, from text to its members.

use super::members::{Defect, KnownMembers, Walk, walk};
use super::number;
use crate::iprof::findings::Code;
use crate::iprof::json::{Number as JsonNumber, Scan, Shape, Stop};

pub(super) const TYPE_MEMBERS: &KnownMembers = &[("id", "id"), ("name", "typeName")];
pub(super) const METHOD_MEMBERS: &KnownMembers = &[("id", "id"), ("name", "methodName"), ("signature", "signature")];

/// One table entry as it was parsed.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) id: i64,
    pub(super) has_id: bool,
    pub(super) name: Vec<u8>,
    pub(super) name_at: usize,
    pub(super) signature: Vec<i64>,
    /// Where the entry stands in the view, which begins at byte `base` of the text.
    pub(super) at: usize,
    pub(super) base: u64,
    pub(super) walk: Walk,
    /// Bytes of an entry that is written as a writer would; 0 of any other.
    pub(super) usual_bytes: usize,
    /// Integral numbers with a point or exponent, which strict readers reject.
    pub(super) fraction: bool,
}

impl Parsed {
    pub(super) fn parse(
        &mut self,
        scan: &mut Scan<'_>,
        base: u64,
        known: &KnownMembers,
        keep_others: bool,
        name_limit: u64,
    ) -> Result<(), Stop> {
        scan.space();
        let start = scan.pos;
        (self.at, self.base, self.fraction, self.usual_bytes) = (start, base, false, 0);
        self.clear();
        if self.fast_path(scan, known.len() > TYPE_MEMBERS.len(), name_limit).is_some() {
            self.walk = Walk::default();
            self.usual_bytes = scan.pos - start;
            return Ok(());
        }
        scan.pos = start;
        self.clear();
        let Self { id, has_id, name, name_at, signature, fraction, .. } = self;
        self.walk = walk(scan, known, keep_others, |scan, member, _| {
            let at = scan.pos;
            match (member, scan.shape()?) {
                (0, Shape::Number) => match integer(scan, fraction)? {
                    Ok(value) => (*id, *has_id) = (value, true),
                    Err(Code::NotAnInteger) => {
                        return Ok(Some(Defect::new(Code::NotAnInteger, at, ".id", "an id is an integer")));
                    }
                    Err(code) => return Ok(Some(Defect::new(code, at, ".id", "no number of 64 bits holds this id"))),
                },
                (1, Shape::String) => {
                    let text = scan.string()?;
                    *name_at = at;
                    if text.len() as u64 > name_limit {
                        return Ok(Some(Defect::new(Code::BadName, at, ".name", "the name is longer than the limit")));
                    }
                    name.extend_from_slice(&text);
                }
                (2, Shape::Array) => return parse_signature(scan, signature, fraction),
                (0, _) => return Ok(Some(Defect::new(Code::WrongJsonType, at, ".id", "an integer was expected"))),
                (1, _) => return Ok(Some(Defect::new(Code::WrongJsonType, at, ".name", "a string was expected"))),
                _ => return Ok(Some(Defect::new(Code::WrongJsonType, at, ".signature", "an array was expected"))),
            }
            Ok(None)
        })?;
        Ok(())
    }

    fn clear(&mut self) {
        self.has_id = false;
        self.name.clear();
        self.signature.clear();
    }

    /// Takes an entry that looks as GraalVM writes it; `None` when it is not what it always is.
    fn fast_path(&mut self, scan: &mut Scan<'_>, is_method: bool, name_limit: u64) -> Option<()> {
        let number = |scan: &mut Scan<'_>| {
            let (value, end) = number::plain(scan.data, scan.pos)?;
            scan.pos = end;
            Some(value)
        };
        scan.literal(b"{\"id\":")?;
        self.id = number(scan)?;
        self.has_id = true;
        scan.literal(b",\"name\":\"")?;
        self.name_at = scan.pos - 1;
        scan.pos = self.name_at;
        let (name, escapes) = scan.raw_string().ok()?;
        if escapes || name.len() as u64 > name_limit {
            return None;
        }
        self.name.extend_from_slice(name);
        if is_method {
            scan.literal(b",\"signature\":[")?;
            loop {
                self.signature.push(number(scan)?);
                if scan.literal(b",").is_none() {
                    break;
                }
            }
            scan.literal(b"]")?;
        }
        scan.literal(b"}")
    }

    /// What is wrong with the name.
    pub(super) fn name_defect(&self) -> Option<Defect> {
        let at = self.name_at;
        if self.name.is_empty() {
            return Some(Defect::new(Code::EmptyName, at, ".name", "a name has at least one character"));
        }
        let special = |byte: &u8| matches!(byte, b'\n' | b'\r' | 0xe2);
        if !self.name.iter().fold(false, |found, byte| found | special(byte)) {
            return None;
        }
        let terminated = self.name.iter().any(|b| matches!(b, b'\n' | b'\r'))
            || self.name.windows(3).any(|w| w == b"\xe2\x80\xa8" || w == b"\xe2\x80\xa9");
        terminated.then(|| Defect::new(Code::BadName, at, ".name", "a name has no line terminator"))
    }
}

/// An integer, or why it is none; `fraction` becomes true for one with a point or exponent.
fn integer(scan: &mut Scan<'_>, fraction: &mut bool) -> Result<Result<i64, Code>, Stop> {
    let number = scan.number()?;
    *fraction |= matches!(number, JsonNumber::Fraction(Some(_)));
    Ok(match number {
        JsonNumber::Int(value) | JsonNumber::Fraction(Some(value)) => Ok(value),
        JsonNumber::Fraction(None) => Err(Code::NotAnInteger),
        JsonNumber::Huge { .. } => Err(Code::IdRange),
    })
}

fn parse_signature(scan: &mut Scan<'_>, signature: &mut Vec<i64>, fraction: &mut bool) -> Result<Option<Defect>, Stop> {
    scan.expect(b'[', "an array")?;
    let mut more = !scan.take(b']')?;
    while more {
        let (shape, at) = (scan.shape()?, scan.pos);
        let below = || format!(".signature[{}]", signature.len());
        if shape != Shape::Number {
            return Ok(Some(Defect::new(Code::WrongJsonType, at, below(), "a type id was expected")));
        }
        match integer(scan, fraction)? {
            Ok(id) => signature.push(id),
            Err(Code::NotAnInteger) => {
                return Ok(Some(Defect::new(Code::NotAnInteger, at, below(), "a type id is an integer")));
            }
            Err(_) => return Ok(Some(Defect::new(Code::DanglingType, at, below(), "no type has an id this large"))),
        }
        more = scan.take(b',')?;
        if !more {
            scan.expect(b']', "a comma or the end of the array")?;
        }
    }
    Ok(None)
}
