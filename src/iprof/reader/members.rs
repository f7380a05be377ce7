//! The members of one entry: the known ones in any order, the others kept.

use crate::iprof::document::EntryMember;
use crate::iprof::findings::Code;
use crate::iprof::json::{self, Scan, Shape, Stop};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// What is wrong with an entry, and where: offset in the view, member, and in words.
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

/// What walking over an entry's members brought to light.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// The first thing that is wrong.
    pub(crate) defect: Option<Defect>,
    /// The members, unless they are the known ones in their usual order.
    pub(crate) members: Option<Box<[EntryMember]>>,
    /// A name of 2022 was used.
    pub(crate) legacy: bool,
}

/// Walks over the entry at the scan's position. `visit` parses a known
/// member's value, by its number and whether its name was the old one, and
/// says what is wrong with it; on a defect the value is skipped.
pub(crate) fn walk<'a>(
    scan: &mut Scan<'a>,
    known: &KnownMembers,
    keep_others: bool,
    mut visit: impl FnMut(&mut Scan<'a>, usize, bool) -> Result<Option<Defect>, Stop>,
) -> Result<Walk, Stop> {
    let mut walk = Walk::default();
    if scan.shape()? != Shape::Object {
        let at = scan.pos;
        scan.skip()?;
        walk.defect = Some(Defect::new(Code::WrongJsonType, at, "", "an object was expected"));
        return Ok(walk);
    }
    let mut seen = 0u32;
    let mut order: Vec<EntryMember> = Vec::new();
    let mut others: BTreeSet<Box<[u8]>> = BTreeSet::new();
    scan.expect(b'{', "an object")?;
    let start = scan.pos;
    let mut more = !scan.take(b'}')?;
    while more {
        scan.space();
        let key_at = scan.pos;
        let key = scan.key()?;
        let today = known.iter().position(|(name, _)| name.as_bytes() == key.as_ref());
        let old = known.iter().position(|(name, old)| old != name && old.as_bytes() == key.as_ref());
        let repeated;
        match today.or(old) {
            Some(at) => {
                repeated = seen & (1 << at) != 0;
                seen |= 1 << at;
                walk.legacy |= today.is_none();
                scan.space();
                let value_at = scan.pos;
                if let Some(defect) = visit(scan, at, today.is_none())? {
                    scan.pos = value_at;
                    scan.skip()?;
                    walk.defect.get_or_insert(defect);
                }
                order.push(EntryMember::Known(u8::try_from(at).unwrap_or(u8::MAX)));
            }
            None => {
                let value = scan.skip()?;
                repeated = !others.insert(key.as_ref().into());
                if keep_others {
                    let mut compact = Vec::with_capacity(value.len());
                    json::write_compact(&mut compact, value);
                    order.push(EntryMember::Other(key.as_ref().into(), compact.into()));
                }
            }
        }
        if repeated {
            let name = String::from_utf8_lossy(&key);
            let message = format!("the member \"{}\" is there twice", name.escape_debug());
            walk.defect.get_or_insert(Defect::new(Code::DuplicateKey, key_at, "", message));
        }
        more = scan.take(b',')?;
        if !more {
            scan.expect(b'}', "a comma or the end of the object")?;
        }
    }
    for (at, (name, _)) in known.iter().enumerate() {
        if seen & (1 << at) == 0 {
            let message = format!("the member \"{name}\" is missing");
            walk.defect.get_or_insert(Defect::new(Code::MissingField, start.saturating_sub(1), "", message));
        }
    }
    let usual = order.len() == known.len()
        && order
            .iter()
            .enumerate()
            .all(|(at, member)| matches!(member, EntryMember::Known(n) if usize::from(*n) == at));
    if keep_others && !usual {
        walk.members = Some(order.into());
    }
    Ok(walk)
}
