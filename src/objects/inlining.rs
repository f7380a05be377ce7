//! The functions at an address, inlined ones first.
//!
//! LLVM's symbolizer determines the frames of memory profiles, so this follows it
//! (`DWARFContext::getInliningInfoForAddress`): the innermost function has its location from
//! the line table, its callers that of the call. The crate addr2line omits the line of the
//! declaration and the column of the call, which frames of memory profiles need.

use super::debug_info::SplitDebugInfo;
use super::debug_info::{Entry, Slice, damaged, load_sections, ranges_of, ranges_of_unit};
use super::debug_info::{LineTable, file_name};
use crate::error::{ErrorKind, Result};
use crate::limits::Limits;
use gimli::{AttributeValue, Dwarf, EndianSlice, Unit, UnitOffset, constants};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// A function at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InlineFrame {
    /// The linkage name, otherwise the plain name; `None` if debug info has no name.
    pub(crate) function: Option<Arc<[u8]>>,
    /// Line of the place in the function, 0 when unknown.
    pub(crate) line: u32,
    /// Column of the place in the function, 0 when unknown.
    pub(crate) column: u32,
    /// Line where the function is declared, 0 when unknown.
    pub(crate) start_line: u32,
    /// Base name of the file, for the innermost function only.
    pub(crate) file: Option<Arc<[u8]>>,
}

/// Returns the functions at each link-time address of the image at `path`, innermost first. The addresses are
/// ascending. The chain of an address without debug info is empty. If split debug info is missing, its skeleton is
/// used.
///
/// All chains together have at most `most` functions, because inlined calls occur once in debug info but in the chain
/// of each address.
///
/// # Errors
///
/// Unable to correlate when debug info is damaged; limit exceeded for more
/// functions, and for calls inlined into each other deeper than
/// [`Limits::context_depth`].
pub(crate) fn inline_chains(
    file: &object::File<'_>,
    path: &Path,
    addresses: &[u64],
    limits: &Limits,
    most: usize,
) -> Result<Vec<Vec<InlineFrame>>> {
    let (sections, endian) = load_sections(file, limits)?;
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, endian));
    let split = SplitDebugInfo::of(path, limits)?;
    let mut units = Vec::new();
    let mut headers = dwarf.units();
    while let Some(header) = headers.next().map_err(damaged)? {
        units.push(dwarf.unit(header).map_err(damaged)?);
    }
    let mut bounds = Bounds { depth: limits.context_depth.into(), most, left: most };
    let mut functions = Functions { dwarf: &dwarf, units: &units, names: HashMap::new() };
    let mut found = vec![Vec::new(); addresses.len()];
    for (at, unit) in units.iter().enumerate() {
        let inside = addresses_of(&dwarf, unit, addresses, &found)?;
        if inside.is_empty() {
            continue;
        }
        let mut lines = Lines::read(&dwarf, unit)?;
        let rest = split.sections(&dwarf, unit).ok().flatten();
        let rest = rest.as_ref().map(|sections| split.unit(sections, &dwarf, unit)).transpose()?.flatten();
        match rest {
            Some((dwarf, unit)) => {
                let mut functions = Functions { dwarf: &dwarf, units: &[unit], names: HashMap::new() };
                functions.look_up(0, addresses, &inside, &mut lines, &mut bounds, &mut found)?;
            }
            None => functions.look_up(at, addresses, &inside, &mut lines, &mut bounds, &mut found)?,
        }
    }
    Ok(found)
}

/// Returns the positions of the addresses in a unit that no earlier unit had.
fn addresses_of(
    dwarf: &Dwarf<Slice<'_>>,
    unit: &Unit<Slice<'_>>,
    addresses: &[u64],
    found: &[Vec<InlineFrame>],
) -> Result<Vec<usize>> {
    let mut inside = Vec::new();
    let mut ranges = ranges_of_unit(dwarf, unit)?;
    while let Some(range) = ranges.next().map_err(damaged)? {
        let of_range = within(addresses, range);
        inside.extend(of_range.filter(|index| found[*index].is_empty()));
    }
    inside.sort_unstable();
    inside.dedup();
    Ok(inside)
}

/// The limits for data from debug info.
struct Bounds {
    /// Functions at one address.
    depth: u64,
    /// Functions at all addresses, and how many more there may be.
    most: usize,
    left: usize,
}

impl Bounds {
    /// Counts the functions at an address.
    fn take(&mut self, chain: usize) -> Result<()> {
        let Some(left) = self.left.checked_sub(chain) else {
            let (found, limit) = (self.most - self.left + chain, self.most as u64);
            let what = "number of functions at the addresses of call stacks";
            return Err(ErrorKind::LimitExceeded { what, found: found as u64, limit }.into());
        };
        self.left = left;
        Ok(())
    }

    /// Whether functions may be inlined into each other so deep.
    fn check_depth(&self, depth: usize) -> Result<()> {
        if depth as u64 > self.depth {
            let what = "depth of inlined calls";
            return Err(ErrorKind::LimitExceeded { what, found: depth as u64, limit: self.depth }.into());
        }
        Ok(())
    }
}

/// The lines of a unit, and the names of its files as far as they were asked for.
struct Lines<'u, 'a> {
    dwarf: &'u Dwarf<Slice<'a>>,
    unit: &'u Unit<Slice<'a>>,
    table: LineTable,
    files: HashMap<u64, Option<Arc<[u8]>>>,
}

impl<'u, 'a> Lines<'u, 'a> {
    fn read(dwarf: &'u Dwarf<Slice<'a>>, unit: &'u Unit<Slice<'a>>) -> Result<Self> {
        Ok(Self { dwarf, unit, table: LineTable::read(unit)?, files: HashMap::new() })
    }

    /// Line, column and file at an address; zeros and nothing where unknown.
    fn at(&mut self, address: u64) -> (u32, u32, Option<Arc<[u8]>>) {
        let place = self.table.find(address).unwrap_or_default();
        let file = self.files.entry(place.file).or_insert_with(|| {
            let header = self.unit.line_program.as_ref()?.header();
            file_name(self.dwarf, self.unit, header, place.file).map(Into::into)
        });
        (place.line, place.column, file.clone())
    }
}

/// An entry: its unit and its offset there.
type Place = (usize, UnitOffset<usize>);

/// A function that was compiled, or a call that was inlined.
struct Subroutine {
    /// The one around it, for an inlined call.
    parent: Option<usize>,
    depth: isize,
    entry: Place,
    call_line: u32,
    call_column: u32,
}

/// Name and line of a function.
#[derive(Clone, Default)]
struct Declaration {
    name: Option<Arc<[u8]>>,
    line: u32,
}

/// The functions of units.
struct Functions<'u, 'a> {
    dwarf: &'u Dwarf<Slice<'a>>,
    units: &'u [Unit<Slice<'a>>],
    names: HashMap<Place, Declaration>,
}

impl<'a> Functions<'_, 'a> {
    /// Finds what a unit knows of the addresses at the positions `inside`.
    fn look_up(
        &mut self,
        at: usize,
        addresses: &[u64],
        inside: &[usize],
        lines: &mut Lines<'_, '_>,
        bounds: &mut Bounds,
        found: &mut [Vec<InlineFrame>],
    ) -> Result<()> {
        let own: Vec<u64> = inside.iter().map(|index| addresses[*index]).collect();
        let (subroutines, owners) = self.subroutines(at, &own, bounds)?;
        for ((index, address), owner) in inside.iter().zip(own).zip(owners) {
            let (line, column, file) = lines.at(address);
            found[*index] = self.chain(&subroutines, owner, (line, column), file);
            bounds.take(found[*index].len())?;
        }
        Ok(())
    }

    /// The chain of an address whose innermost subroutine is `owner`.
    fn chain(
        &mut self,
        subroutines: &[Subroutine],
        owner: Option<usize>,
        (mut line, mut column): (u32, u32),
        mut file: Option<Arc<[u8]>>,
    ) -> Vec<InlineFrame> {
        let mut chain = Vec::new();
        let mut next = owner;
        while let Some(at) = next {
            let subroutine = &subroutines[at];
            let Declaration { name, line: start_line } = self.declaration(subroutine.entry);
            chain.push(InlineFrame { function: name, line, column, start_line, file: file.take() });
            (line, column) = (subroutine.call_line, subroutine.call_column);
            next = subroutine.parent;
        }
        chain
    }

    /// All subroutines of a unit, and the innermost one of each address in it.
    fn subroutines(
        &self,
        at: usize,
        addresses: &[u64],
        bounds: &Bounds,
    ) -> Result<(Vec<Subroutine>, Vec<Option<usize>>)> {
        let unit = &self.units[at];
        let (mut found, mut owners) = (Vec::new(), vec![None; addresses.len()]);
        // Subroutines around the current entry.
        let mut around: Vec<usize> = Vec::new();
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs().map_err(damaged)? {
            let inlined = entry.tag() == constants::DW_TAG_inlined_subroutine;
            if !inlined && entry.tag() != constants::DW_TAG_subprogram {
                continue;
            }
            while around.last().is_some_and(|last: &usize| {
                let last: &Subroutine = &found[*last];
                last.depth >= entry.depth()
            }) {
                around.pop();
            }
            let number = |name| entry.attr_value(name).and_then(|value| value.udata_value()).unwrap_or(0) as u32;
            let subroutine = Subroutine {
                parent: if inlined { around.last().copied() } else { None },
                depth: entry.depth(),
                entry: (at, entry.offset()),
                call_line: number(constants::DW_AT_call_line),
                call_column: number(constants::DW_AT_call_column),
            };
            found.push(subroutine);
            let this = found.len() - 1;
            around.push(this);
            bounds.check_depth(around.len())?;
            let mut ranges = ranges_of(self.dwarf, unit, entry)?;
            while let Some(range) = ranges.next().map_err(damaged)? {
                // Those inside come later and take over.
                within(addresses, range).for_each(|index| owners[index] = Some(this));
            }
        }
        Ok((found, owners))
    }

    fn declaration(&mut self, place: Place) -> Declaration {
        if let Some(known) = self.names.get(&place) {
            return known.clone();
        }
        let text = |value: AttributeValue<Slice<'a>>, unit: usize| {
            let text = self.dwarf.attr_string(&self.units[unit], value).ok()?;
            Some(Arc::from(text.slice()))
        };
        let find = |names: &[gimli::DwAt]| self.find(place, names);
        let linkage = find(&[constants::DW_AT_linkage_name, constants::DW_AT_MIPS_linkage_name]);
        let name = linkage.or_else(|| find(&[constants::DW_AT_name])).and_then(|(value, unit)| text(value, unit));
        let line = find(&[constants::DW_AT_decl_line]).and_then(|(value, _)| value.udata_value()).unwrap_or(0) as u32;
        let declaration = Declaration { name, line };
        self.names.insert(place, declaration.clone());
        declaration
    }

    /// Returns the first of some attributes of an entry, of its declaration, or of its abstract origin, and the unit
    /// that has it.
    fn find(&self, place: Place, names: &[gimli::DwAt]) -> Option<(AttributeValue<Slice<'a>>, usize)> {
        const MOST_STEPS: usize = 8; // a call, its origin, its declaration; more only in a damaged file
        let mut left = vec![place];
        for _ in 0..MOST_STEPS {
            let (at, offset) = left.pop()?;
            let unit = &self.units[at];
            let Ok(entry) = unit.entry(offset) else { continue };
            if let Some(value) = names.iter().find_map(|name| entry.attr_value(*name)) {
                return Some((value, at));
            }
            let links = [constants::DW_AT_abstract_origin, constants::DW_AT_specification];
            left.extend(links.into_iter().filter_map(|link| self.linked(at, &entry, link)));
        }
        None
    }

    fn linked(&self, at: usize, entry: &Entry<'a>, link: gimli::DwAt) -> Option<Place> {
        match entry.attr_value(link)? {
            AttributeValue::UnitRef(offset) => Some((at, offset)),
            AttributeValue::DebugInfoRef(offset) => {
                let start = |unit: &Unit<Slice<'a>>| unit.header.debug_info_offset().map_or(0, |start| start.0);
                let after = self.units.partition_point(|unit| start(unit) <= offset.0);
                let at = after.checked_sub(1)?;
                Some((at, offset.to_unit_offset(&self.units[at].header)?))
            }
            _ => None,
        }
    }
}

/// Positions of the addresses that are in a range.
fn within(addresses: &[u64], range: gimli::Range) -> std::ops::Range<usize> {
    let start = addresses.partition_point(|address| *address < range.begin);
    let end = addresses.partition_point(|address| *address < range.end);
    start..end.max(start)
}
