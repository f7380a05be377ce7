//! Where the frames of a text are in the program.
//!
//! Frames of call chains have offsets in files, in perf 6 at least, or addresses of the process. So a frame is where its
//! symbol is, if the text has symbols; otherwise the mappings and the file of the frame decide.

use super::counters::EXTERNAL;
use super::loading::{Loading, MappingFault};
use super::mapping_lines::MappingLine;
use super::program::Program;
use crate::digits::parse_hex;
use crate::names::{demangled, without_types};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// A frame: its address, and its symbol and file if they are printed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place<'t> {
    pub(super) address: u64,
    pub(super) symbol: &'t str,
    pub(super) offset: Option<u64>,
    pub(super) file: &'t str,
}

/// `ADDRESS SYMBOL+0xOFFSET (FILE)`, of which the first is certain.
pub(super) fn parse_place(text: &str) -> Option<Place<'_>> {
    let (address, rest) = text.split_once(' ').unwrap_or((text, ""));
    let address = parse_hex(address.as_bytes())?;
    // A number before an event is a period.
    if rest.starts_with(' ') || rest.ends_with(':') || rest.split(' ').next().is_some_and(|word| word.ends_with(':')) {
        return None;
    }
    // Symbols have brackets, too: the file comes after the last blank and bracket.
    let is_deleted = rest.strip_suffix(" (deleted))");
    let inner = is_deleted.or_else(|| rest.strip_suffix(')')).map(|inner| {
        inner.strip_prefix('(').map_or_else(
            || inner.rsplit_once(" (").filter(|_| rest.contains(" (")),
            |file| if file.contains(" (") { inner.rsplit_once(" (") } else { Some(("", file)) },
        )
    });
    let (symbol, file) = inner.flatten().unwrap_or((rest, ""));
    let (symbol, offset) = match symbol.rsplit_once("+0x") {
        Some((symbol, offset)) if parse_hex(offset.as_bytes()).is_some() => (symbol, parse_hex(offset.as_bytes())),
        _ => (symbol, None),
    };
    Some(Place { address, symbol, offset, file })
}

/// The name as perf prints it: of C++ and Rust without the mangling.
fn printed(name: &[u8]) -> Cow<'_, str> {
    let name = String::from_utf8_lossy(name);
    match demangled(&name) {
        Some(text) => Cow::Owned(without_types(&text).to_string()),
        None => name,
    }
}

/// The starts of functions by their printed name.
fn function_starts(program: &Program<'_>) -> HashMap<String, Vec<u64>> {
    let mut starts: HashMap<String, Vec<u64>> = HashMap::new();
    for function in program.functions.iter() {
        let addresses = function.ranges.iter().map(|(start, _)| *start);
        let raw = String::from_utf8_lossy(&function.name).into_owned();
        let name = printed(&function.name).into_owned();
        // The other form is that of the symbol table.
        if name != raw {
            starts.entry(raw).or_default().extend(addresses.clone());
        }
        starts.entry(name).or_default().extend(addresses);
    }
    starts
}

impl Place<'_> {
    /// Returns true for an inlined function, which has the address of the frame that follows.
    pub(super) fn is_inlined(&self) -> bool {
        self.file == "inlined"
    }
}

/// Finds frames in the program.
pub(super) struct FrameFinder<'r, 'p> {
    program: &'r Program<'p>,
    loading: Loading,
    /// Mapped parts of the program by their start: length and link-time address.
    mapped: BTreeMap<u64, (u64, u64)>,
    /// Starts of functions by name.
    starts: HashMap<String, Vec<u64>>,
    /// Frames of the program that cannot be found, because the text has neither their files nor fitting mappings.
    pub(super) unplaced: u64,
    /// The distance of the process from link-time addresses, according to the last frame that was found by its symbol.
    bias: Option<u64>,
}

impl<'r, 'p> FrameFinder<'r, 'p> {
    pub(super) fn new(program: &'r Program<'p>, loading: Loading) -> Self {
        let starts = function_starts(program);
        Self { program, loading, mapped: BTreeMap::new(), starts, unplaced: 0, bias: None }
    }

    pub(super) fn is_mapped(&self) -> bool {
        !self.mapped.is_empty()
    }

    /// Takes note of a mapping. Only those of the program's code count.
    pub(super) fn map(&mut self, mapping: &MappingLine<'_>) -> Result<(), MappingFault> {
        let is_executable = mapping.protection.contains(&b'x');
        if !is_executable || !self.loading.is_program(mapping.path) {
            return Ok(());
        }
        self.loading.map_program(mapping.process, mapping.start, mapping.offset)?;
        if self.loading.is_mapped {
            self.mapped.insert(mapping.start, (mapping.len, self.loading.link_time(mapping.start)));
        }
        Ok(())
    }

    /// Returns true if the program runs at the addresses of the linker. A program that can run anywhere starts at 0, where
    /// no process can have code: small numbers are offsets, maybe of another file.
    fn is_at_fixed_address(&self) -> bool {
        const LOWEST: u64 = 0x1_0000;
        self.program.segments.first().is_some_and(|segment| segment.address.saturating_sub(segment.offset) >= LOWEST)
    }

    /// The link-time address of a frame; [`EXTERNAL`] if it is not in the program.
    pub(super) fn link_time(&mut self, place: &Place<'_>) -> u64 {
        if !place.file.is_empty() && !self.loading.is_program(place.file.as_bytes()) {
            return EXTERNAL;
        }
        let before = self.mapped.range(..=place.address).next_back();
        let by_mapping = before.and_then(|(start, (len, address))| {
            let distance = place.address - start;
            (distance < *len).then(|| address.wrapping_add(distance))
        });
        let segments = self.program.segments.iter().rev();
        let mut by_offset = segments.filter_map(|segment| {
            let distance = place.address.checked_sub(segment.offset)?;
            Some(segment.address.wrapping_add(distance)).filter(|address| self.program.code.contains(*address))
        });
        // Without mappings, the program can be at the addresses of the linker.
        let linked = self.mapped.is_empty().then_some(place.address);
        let candidates = [by_mapping, by_offset.next(), linked.filter(|address| self.program.code.contains(*address))];
        if place.symbol.is_empty() || place.symbol == "[unknown]" {
            let has_file = !place.file.is_empty();
            let sure = match has_file || by_mapping.is_some() {
                true => &candidates[..],
                false if self.is_at_fixed_address() => &candidates[2..],
                false => &[],
            };
            let found = sure.iter().flatten().next();
            self.unplaced += u64::from(found.is_none() && candidates[1].is_some());
            return found.copied().unwrap_or(EXTERNAL);
        }
        let has_symbol = |address: &u64| {
            let function = self.program.functions.function_at(*address);
            function.is_some_and(|function| {
                *function.name == *place.symbol.as_bytes() || printed(&function.name) == without_types(place.symbol)
            })
        };
        if let Some(address) = candidates.iter().flatten().copied().find(has_symbol) {
            return address;
        }
        // Where the program was is unknown, but pages stay whole.
        let by_symbol = place.offset.and_then(|offset| {
            let starts = self.starts.get(place.symbol).or_else(|| self.starts.get(without_types(place.symbol)))?;
            let mut places = starts.iter().map(|start| start.wrapping_add(offset));
            places.find(|address| place.address.wrapping_sub(*address) % 4096 == 0)
        });
        if let Some(address) = by_symbol {
            self.bias = Some(place.address.wrapping_sub(address));
            return address;
        }
        if place.file.is_empty() && by_mapping.is_none() {
            return EXTERNAL;
        }
        // Functions without debug info have names, too.
        let by_bias = self.bias.map(|bias| place.address.wrapping_sub(bias));
        let mut found = candidates.into_iter().chain([by_bias]).flatten();
        found.find(|address| self.program.code.contains(*address)).unwrap_or(EXTERNAL)
    }
}
