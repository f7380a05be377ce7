//! Pseudo-probes: the places of a program that the compiler counts instead of lines.
//!
//! The section `.pseudo_probe_desc` names each function with probes and has the checksum of its control flow graph.
//! The section `.pseudo_probe` has a tree for each function: its probes with their addresses, and the functions that
//! were inlined into it, with the probes of the calls.

use crate::bytes::leb128::read_uleb128;
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::objects::{PROBE_DESCRIPTORS, ProbeDescriptor, read_probe_descriptors};
use crate::sampleprof::MAX_INLINE_DEPTH;
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

/// The sections of a program that describe its probes.
#[derive(Debug, Default)]
pub(super) struct ProbeSections {
    /// The contents of each section `.pseudo_probe_desc`.
    pub(super) descriptions: Vec<Vec<u8>>,
    /// The contents of each section `.pseudo_probe`.
    pub(super) probes: Vec<Vec<u8>>,
    pub(super) endian: Endian,
}

/// The name of the section with the probes.
pub(super) const PROBES: &str = ".pseudo_probe";

/// A function with probes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Description {
    pub(super) name: Box<[u8]>,
    /// The checksum of its control flow graph.
    pub(super) checksum: u64,
}

/// Whether a probe is in a block or at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbeKind {
    Block,
    Call,
}

/// A place in the code of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Probe {
    pub(super) address: u64,
    /// Its number in the function. The entry of the function has number 1.
    pub(super) index: u32,
    pub(super) kind: ProbeKind,
    /// Distinguishes copies of the probe that later passes made.
    pub(super) discriminator: u32,
    /// The body that contains it.
    pub(super) body: u32,
}

impl Probe {
    /// Returns true for the probe at the entry of a function.
    pub(super) fn is_entry(&self) -> bool {
        self.index == 1
    }
}

/// A copy of a function: the function itself, or one that was inlined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Body {
    /// The GUID of the function: the MD5 of its name.
    pub(super) guid: u64,
    /// The body into which it was inlined, and the probe of the call there.
    pub(super) caller: Option<(u32, u32)>,
    /// Positions of its probes.
    pub(super) probes: std::ops::Range<u32>,
}

/// The functions whose probes are decoded, and the addresses of symbols.
#[derive(Debug, Default)]
pub(super) struct ProbeFilter {
    /// GUIDs of functions; all if there are none.
    pub(super) functions: HashSet<u64, RandomState>,
    /// Addresses of symbols by the GUIDs of their names.
    pub(super) symbols: HashMap<u64, u64, RandomState>,
}

/// The probes of a program.
#[derive(Debug, Default)]
pub(super) struct Probes {
    descriptions: HashMap<u64, Description, RandomState>,
    /// In the order of the sections.
    pub(super) probes: Vec<Probe>,
    pub(super) bodies: Vec<Body>,
    /// Addresses and positions of probes, ascending.
    by_address: Vec<(u64, u32)>,
}

impl Probes {
    /// Decodes the probes of functions.
    ///
    /// # Errors
    ///
    /// Truncated; malformed; limit exceeded for long names, and for functions inlined into each other deeper than
    /// [`Limits::context_depth`].
    pub(super) fn decode(sections: &ProbeSections, wanted: &ProbeFilter, limits: &Limits) -> Result<Self> {
        let mut probes = Self::default();
        let failed = |error: Error, section: &str| {
            error.with_llvm_message(format!("Pseudo Probe decoder fail in {section} section"))
        };
        for bytes in &sections.descriptions {
            let each = |ProbeDescriptor { guid, checksum, name }: ProbeDescriptor<'_>| {
                probes.descriptions.entry(guid).or_insert_with(|| Description { name: name.into(), checksum });
            };
            read_probe_descriptors(bytes, sections.endian, limits, each)
                .map_err(|error| failed(error, PROBE_DESCRIPTORS))?;
        }
        let depth = (limits.context_depth as usize).min(MAX_INLINE_DEPTH);
        let mut has_whole_addresses = false;
        for bytes in &sections.probes {
            let cursor = Cursor::new(bytes, 0, sections.endian, PROBES);
            let mut reader = Reader { cursor, wanted, depth, last: 0, has_whole_addresses, probes: &mut probes };
            reader.read().map_err(|error| failed(error, PROBES))?;
            has_whole_addresses = reader.has_whole_addresses;
        }
        probes.by_address = (0u32..).zip(&probes.probes).map(|(at, probe)| (probe.address, at)).collect();
        probes.by_address.sort_unstable();
        Ok(probes)
    }

    /// The function with a GUID.
    pub(super) fn description(&self, guid: u64) -> Option<&Description> {
        self.descriptions.get(&guid)
    }

    /// The positions of the probes at an address, in the order of the sections.
    pub(super) fn at(&self, address: u64) -> impl Iterator<Item = u32> {
        let first = self.by_address.partition_point(|(known, _)| *known < address);
        self.by_address[first..].iter().take_while(move |(known, _)| *known == address).map(|(_, at)| *at)
    }

    /// The position of the first probe in a range of addresses.
    pub(super) fn first_in(&self, (start, end): (u64, u64)) -> Option<u32> {
        let first = self.by_address.partition_point(|(known, _)| *known < start);
        self.by_address.get(first).filter(|(address, _)| *address < end).map(|(_, at)| *at)
    }

    /// The probe of the call at an address.
    pub(super) fn call_at(&self, address: u64) -> Option<u32> {
        self.at(address).find(|at| self.probes[*at as usize].kind == ProbeKind::Call)
    }

    /// The function that contains a probe and into which the others were inlined.
    pub(super) fn outermost(&self, probe: u32) -> &Body {
        let mut body = &self.bodies[self.probes[probe as usize].body as usize];
        while let Some((caller, _)) = body.caller {
            body = &self.bodies[caller as usize];
        }
        body
    }

    /// Appends the frames of a probe, outermost first: a body, and the number of the probe of the call or of the probe
    /// itself. The frames outside of an unknown call are not there.
    pub(super) fn push_path(&self, probe: &Probe, path: &mut Vec<(u32, u32)>) {
        let start = path.len();
        path.push((probe.body, probe.index));
        let mut body = probe.body;
        while let Some((caller, call)) = self.bodies[body as usize].caller.filter(|(_, call)| *call != 0) {
            path.push((caller, call));
            body = caller;
        }
        path[start..].reverse();
    }
}

struct Reader<'r, 's> {
    cursor: Cursor<'s>,
    wanted: &'r ProbeFilter,
    depth: usize,
    /// The address of the last probe, to which the next one is relative.
    last: u64,
    /// Whether the first probe of a function has a whole address, as early releases wrote it.
    has_whole_addresses: bool,
    probes: &'r mut Probes,
}

/// A body whose inlined functions are not all read.
struct Open {
    /// Its position; `None` for a function without samples.
    body: Option<u32>,
    left: u32,
}

/// Bits of the kind of a probe.
mod bits {
    pub(super) const KIND: u8 = 0x0F;
    pub(super) const IS_SENTINEL: u8 = 0x20;
    pub(super) const HAS_DISCRIMINATOR: u8 = 0x40;
    pub(super) const IS_RELATIVE: u8 = 0x80;
}

impl Reader<'_, '_> {
    fn read(&mut self) -> Result<()> {
        let mut open: Vec<Open> = Vec::new();
        while !self.cursor.is_empty() || !open.is_empty() {
            let next = match open.last_mut() {
                None => self.body(None, true)?,
                Some(Open { left: 0, .. }) => {
                    open.pop();
                    continue;
                }
                Some(caller) => {
                    caller.left -= 1;
                    let body = caller.body;
                    let call = self.number("probe of a call")?;
                    self.body(body.map(|body| (body, call)), false)?
                }
            };
            open.push(next);
            if open.len() > self.depth {
                let (found, limit) = (open.len() as u64, self.depth as u64);
                return Err(self.cursor.place(Error::above_limit(None, "depth of inlined calls", found, limit)));
            }
        }
        Ok(())
    }

    fn number(&mut self, field: &'static str) -> Result<u32> {
        let number = read_uleb128(&mut self.cursor, field)?;
        u32::try_from(number).map_err(|_| self.cursor.place(Error::malformed(format!("{field} is {number}"))))
    }

    /// Reads a function and its probes, but not the functions inlined into it.
    fn body(&mut self, caller: Option<(u32, u32)>, is_top_level: bool) -> Result<Open> {
        let guid = self.cursor.u64("GUID")?;
        let is_wanted = match is_top_level {
            true => self.wanted.functions.is_empty() || self.wanted.functions.contains(&guid),
            false => caller.is_some(),
        };
        if is_top_level
            && is_wanted
            && !self.has_whole_addresses
            && let Some(start) = self.wanted.symbols.get(&guid).filter(|start| **start != 0)
        {
            self.last = *start;
        }
        let count = self.number("number of probes")?;
        let left = self.number("number of inlined functions")?;
        let body = is_wanted.then_some(self.probes.bodies.len() as u32);
        let first = self.probes.probes.len() as u32;
        for _ in 0..count {
            let probe = self.probe(body.unwrap_or_default())?;
            if body.is_some()
                && let Some(probe) = probe
            {
                self.probes.probes.push(probe);
            }
        }
        if is_wanted {
            let probes = first..self.probes.probes.len() as u32;
            self.probes.bodies.push(Body { guid, caller, probes });
        }
        Ok(Open { body, left })
    }

    /// Reads a probe; `None` for one that only has the address of a part of a function.
    fn probe(&mut self, body: u32) -> Result<Option<Probe>> {
        let index = self.number("number of a probe")?;
        let value = self.cursor.u8("kind of a probe")?;
        let is_sentinel = value & bits::IS_SENTINEL != 0;
        let address = if value & bits::IS_RELATIVE != 0 {
            self.last.wrapping_add_signed(read_sleb128(&mut self.cursor, "distance of a probe")?)
        } else {
            let address = self.cursor.u64("address of a probe")?;
            if is_sentinel {
                // The address is the GUID of the part.
                self.wanted.symbols.get(&address).copied().filter(|start| *start != 0).unwrap_or(address)
            } else {
                self.has_whole_addresses = true;
                address
            }
        };
        let discriminator =
            if value & bits::HAS_DISCRIMINATOR != 0 { self.number("discriminator of a probe")? } else { 0 };
        self.last = address;
        let kind = match value & bits::KIND {
            0 => ProbeKind::Block,
            1 | 2 => ProbeKind::Call,
            other => return Err(self.cursor.place(Error::malformed(format!("kind of a probe is {other}")))),
        };
        Ok((!is_sentinel).then_some(Probe { address, index, kind, discriminator, body }))
    }
}

fn read_sleb128(cursor: &mut Cursor<'_>, field: &'static str) -> Result<i64> {
    let (mut value, mut shift) = (0u64, 0);
    loop {
        let byte = cursor.u8(field)?;
        if shift >= 64 {
            return Err(cursor.place(Error::malformed(format!("{field} has more than 64 bits"))));
        }
        value |= u64::from(byte & 0x7F) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            let is_negative = byte & 0x40 != 0 && shift < 64;
            return Ok((if is_negative { value | u64::MAX << shift } else { value }) as i64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    const MAIN: u64 = 0xDB95_6436_E78D_D5FA;

    fn sections(probes: &[u8]) -> ProbeSections {
        let mut description = MAIN.to_le_bytes().to_vec();
        description.extend(77u64.to_le_bytes());
        description.extend(b"\x04main");
        ProbeSections { descriptions: vec![description], probes: vec![probes.to_vec()], ..Default::default() }
    }

    /// main with probes 1 and 2, and an inlined function with a call.
    fn tree() -> Vec<u8> {
        let mut bytes = MAIN.to_le_bytes().to_vec();
        bytes.extend([2, 1, 1, 0x80, 4, 2, 0x82, 0x7E]);
        bytes.push(2);
        bytes.extend(9u64.to_le_bytes());
        bytes.extend([1, 0, 3, 0xC1, 0x10, 5]);
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Probes> {
        let mut wanted = ProbeFilter::default();
        wanted.symbols.insert(MAIN, 0x1000);
        Probes::decode(&sections(bytes), &wanted, &Limits::default())
    }

    #[test]
    fn addresses_are_relative_to_the_symbol_of_the_function() {
        let probes = decode(&tree()).unwrap();
        let found: Vec<(u64, u32, ProbeKind, u32)> =
            probes.probes.iter().map(|probe| (probe.address, probe.index, probe.kind, probe.discriminator)).collect();
        let (block, call) = (ProbeKind::Block, ProbeKind::Call);
        assert_eq!(found, [(0x1004, 1, block, 0), (0x1002, 2, call, 0), (0x1012, 3, call, 5)]);
        assert_eq!(probes.call_at(0x1012), Some(2));
        assert_eq!(probes.call_at(0x1004), None);
        let mut path = Vec::new();
        probes.push_path(&probes.probes[2], &mut path);
        assert_eq!(path, [(0, 2), (1, 3)]);
        assert_eq!(probes.outermost(2).guid, MAIN);
        assert_eq!(probes.description(MAIN).unwrap().checksum, 77);
    }

    #[test]
    fn functions_without_samples_are_skipped() {
        let bytes = [tree(), tree()].concat();
        let mut wanted = ProbeFilter::default();
        wanted.functions.insert(1);
        let probes = Probes::decode(&sections(&bytes), &wanted, &Limits::default()).unwrap();
        assert!(probes.probes.is_empty() && probes.bodies.is_empty());
    }

    #[test]
    fn a_part_that_was_split_off_starts_at_its_own_symbol() {
        let mut bytes = MAIN.to_le_bytes().to_vec();
        bytes.extend([2, 0, 0, 0x20]);
        bytes.extend(5u64.to_le_bytes());
        bytes.extend([7, 0x80, 1]);
        let mut wanted = ProbeFilter::default();
        wanted.symbols.extend([(MAIN, 0x1000), (5, 0x8000)]);
        let probes = Probes::decode(&sections(&bytes), &wanted, &Limits::default()).unwrap();
        assert_eq!(probes.probes.len(), 1);
        assert_eq!((probes.probes[0].address, probes.probes[0].index), (0x8001, 7));
    }

    #[test]
    fn truncated_sections_are_errors() {
        let bytes = tree();
        for len in 1..bytes.len() {
            let error = decode(&bytes[..len]).unwrap_err();
            assert_eq!(error.llvm_message(), "Pseudo Probe decoder fail in .pseudo_probe section", "{len}");
        }
        let mut cut = sections(&bytes);
        cut.descriptions[0].truncate(18);
        let error = Probes::decode(&cut, &ProbeFilter::default(), &Limits::default()).unwrap_err();
        assert_eq!(error.llvm_message(), "Pseudo Probe decoder fail in .pseudo_probe_desc section");
    }

    #[test]
    fn inlining_is_bounded() {
        let mut bytes = MAIN.to_le_bytes().to_vec();
        bytes.extend([0, 1]);
        for _ in 0..100_000 {
            bytes.push(1);
            bytes.extend(MAIN.to_le_bytes());
            bytes.extend([0, 1]);
        }
        let error = decode(&bytes).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::LimitExceeded { .. }), "{error}");
    }
}
