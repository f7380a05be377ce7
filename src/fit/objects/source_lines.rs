//! How many lines functions have, by debug info: sample profiles count lines
//! from the one in which a function is declared.

use crate::error::Result;
use crate::limits::Limits;
use crate::objects::{Entry, Slice, attribute, damaged, load_sections, ranges_of, text};
use gimli::{Dwarf, EndianSlice, Unit, constants};
use std::collections::BTreeMap;

/// The largest line of each function by its linkage name, counted from its
/// declaration; of several copies the longest.
///
/// # Errors
///
/// Unable to correlate when debug info is damaged.
pub(super) fn read(file: &object::File<'_>, limits: &Limits) -> Result<BTreeMap<Vec<u8>, u32>> {
    let (sections, endian) = load_sections(file, limits)?;
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, endian));
    let mut found = BTreeMap::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next().map_err(damaged)? {
        let unit = dwarf.unit(header).map_err(damaged)?;
        UnitLines::read(&dwarf, &unit)?.add_to(&mut found);
    }
    Ok(found)
}

/// A function, or a copy of one that was inlined.
struct Subroutine {
    depth: isize,
    name: Option<Vec<u8>>,
    first_line: u64,
    last_line: u64,
}

/// The subroutines of a unit.
struct UnitLines {
    subroutines: Vec<Subroutine>,
    /// Addresses from and to, and whose they are.
    ranges: Vec<(u64, u64, usize)>,
}

impl UnitLines {
    fn read<'a>(dwarf: &Dwarf<Slice<'a>>, unit: &Unit<Slice<'a>>) -> Result<Self> {
        let mut lines = Self { subroutines: Vec::new(), ranges: Vec::new() };
        // Subroutines around the entry at hand.
        let mut around: Vec<usize> = Vec::new();
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs().map_err(damaged)? {
            while around.last().is_some_and(|last| lines.subroutines[*last].depth >= entry.depth()) {
                around.pop();
            }
            let outer = around.last().copied();
            match entry.tag() {
                constants::DW_TAG_subprogram => around.push(lines.add(dwarf, unit, entry)?),
                constants::DW_TAG_inlined_subroutine => {
                    lines.note(outer, number(unit, entry, constants::DW_AT_call_line));
                    around.push(lines.add(dwarf, unit, entry)?);
                }
                constants::DW_TAG_variable | constants::DW_TAG_label => {
                    lines.note(outer, number(unit, entry, constants::DW_AT_decl_line));
                }
                _ => {}
            }
        }
        lines.note_rows(unit)?;
        Ok(lines)
    }

    fn add<'a>(&mut self, dwarf: &Dwarf<Slice<'a>>, unit: &Unit<Slice<'a>>, entry: &Entry<'a>) -> Result<usize> {
        let at = self.subroutines.len();
        let mut ranges = ranges_of(dwarf, unit, entry)?;
        while let Some(range) = ranges.next().map_err(damaged)? {
            if range.begin < range.end {
                self.ranges.push((range.begin, range.end, at));
            }
        }
        let name = text(dwarf, unit, entry, constants::DW_AT_linkage_name)
            .or_else(|| text(dwarf, unit, entry, constants::DW_AT_name));
        let first_line = number(unit, entry, constants::DW_AT_decl_line);
        self.subroutines.push(Subroutine { depth: entry.depth(), name, first_line, last_line: 0 });
        Ok(at)
    }

    fn note(&mut self, subroutine: Option<usize>, line: u64) {
        if let Some(at) = subroutine {
            let last = &mut self.subroutines[at].last_line;
            *last = (*last).max(line);
        }
    }

    /// Gives every row of the line table to the innermost subroutine there.
    fn note_rows(&mut self, unit: &Unit<Slice<'_>>) -> Result<()> {
        let Some(program) = unit.line_program.clone() else { return Ok(()) };
        let mut rows = Vec::new();
        let mut steps = program.rows();
        while let Some((_, row)) = steps.next_row().map_err(damaged)? {
            if let Some(line) = row.line().filter(|_| !row.end_sequence()) {
                rows.push((row.address(), line.get()));
            }
        }
        rows.sort_unstable();
        self.ranges.sort_unstable_by_key(|(from, to, at)| (*from, std::cmp::Reverse(*to), *at));
        let (ranges, mut next, mut open) = (std::mem::take(&mut self.ranges), 0, Vec::<(u64, usize)>::new());
        for (address, line) in rows {
            while let Some((from, to, at)) = ranges.get(next).filter(|(from, ..)| *from <= address) {
                debug_assert!(from < to);
                open.push((*to, *at));
                next += 1;
            }
            open.retain(|(to, _)| *to > address);
            // The range that was opened last lies in the others.
            self.note(open.last().map(|(_, at)| *at), line);
        }
        Ok(())
    }

    fn add_to(self, found: &mut BTreeMap<Vec<u8>, u32>) {
        for subroutine in self.subroutines {
            let (Some(name), first, last) = (subroutine.name, subroutine.first_line, subroutine.last_line) else {
                continue;
            };
            if first > 0 && last >= first {
                let lines = u32::try_from(last - first).unwrap_or(u32::MAX);
                let known = found.entry(name).or_default();
                *known = (*known).max(lines);
            }
        }
    }
}

fn number<'a>(unit: &Unit<Slice<'a>>, entry: &Entry<'a>, name: gimli::DwAt) -> u64 {
    // The line of a call is the entry's own; that of a declaration may be elsewhere.
    if name == constants::DW_AT_call_line {
        return entry.attr_value(name).and_then(|value| value.udata_value()).unwrap_or(0);
    }
    attribute(unit, entry, name).and_then(|value| value.udata_value()).unwrap_or(0)
}
