//! Functions and their counters as DWARF 4 and 5 describe them.
//!
//! Each instrumented function's `DW_TAG_subprogram` has a child
//! `DW_TAG_variable` named `__profc_…` at the address of its counters, whose
//! own children are annotations with the profile name, the hash and the
//! number of counters (LLVM 14 on, `InstrProfCorrelator.cpp`). A function with
//! an MC/DC bitmap has a second one, `__profbm_…`, with the profile name and the
//! number of bits (LLVM 23 on).

use crate::compat::Compat;
use crate::error::{Result, Warning};
use crate::limits::Limits;
use crate::objects::{Entry, Slice, SplitDebugInfo, attribute, damaged, load_sections, text};
use gimli::{AttributeValue, Dwarf, EndianSlice, Operation, Unit, constants};
use std::ops::Range;
use std::path::Path;

/// One instrumented function in debug info.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Probe {
    /// Profile name.
    pub function_name: Vec<u8>,
    /// Linkage name, if it has one of its own.
    pub(crate) linkage_name: Option<Vec<u8>>,
    /// Structural hash.
    pub func_hash: u64,
    /// Bytes from the start of the counters section.
    pub(crate) counter_offset: u64,
    /// Number of counters.
    pub num_counters: u32,
    /// Address of the MC/DC bitmap and its bytes, if there is one.
    pub bitmap: Option<(u64, u32)>,
    /// Link-time address of the function, unless it was dropped.
    pub(crate) function_address: Option<u64>,
    /// Source file as debug info spells it.
    pub file: Option<Vec<u8>>,
    /// Line of the declaration, from 1.
    pub line: Option<u64>,
}

/// All probes of an image, and what was odd.
pub(super) struct Found {
    pub(super) probes: Vec<Probe>,
    pub(super) warnings: Vec<Warning>,
}

/// `DW_TAG_LLVM_annotation`, an extension of LLVM.
const ANNOTATION: gimli::DwTag = gimli::DwTag(0x6000);

/// Reads the probes of an image and of the split files that it names.
pub(super) fn read_probes(
    file: &object::File<'_>,
    path: &Path,
    counters: Range<u64>,
    compat: Compat,
    limits: &Limits,
) -> Result<Found> {
    let (sections, endian) = load_sections(file, limits)?;
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, endian));
    let found = Found { probes: Vec::new(), warnings: Vec::new() };
    let mut walk = Walk { counters, compat, found };
    let split = SplitDebugInfo::of(path, limits)?;
    let mut units = dwarf.units();
    while let Some(header) = units.next().map_err(damaged)? {
        let unit = dwarf.unit(header).map_err(damaged)?;
        let Some(sections) = split.sections(&dwarf, &unit)? else {
            walk.unit(&dwarf, &unit)?;
            continue;
        };
        if let Some((dwarf, unit)) = split.unit(&sections, &dwarf, &unit)? {
            walk.unit(&dwarf, &unit)?;
        }
    }
    Ok(walk.found)
}

struct Walk {
    compat: Compat,
    counters: Range<u64>,
    found: Found,
}

/// A function whose children are being read.
#[derive(Default)]
struct Function {
    depth: isize,
    /// Probes that were found before.
    first_probe: usize,
    address: Option<u64>,
    linkage_name: Option<Vec<u8>>,
    file: Option<Vec<u8>>,
    line: Option<u64>,
    /// Profile name, address and bytes of its bitmaps.
    bitmaps: Vec<(Vec<u8>, u64, u32)>,
}

/// A variable of counters or of a bitmap whose annotations are being read.
#[derive(Default)]
struct Variable {
    depth: isize,
    is_bitmap: bool,
    address: Option<u64>,
    function_name: Option<Vec<u8>>,
    func_hash: Option<u64>,
    num_counters: Option<u64>,
    num_bitmap_bits: Option<u64>,
    annotated: bool,
}

impl Walk {
    fn unit<'a>(&mut self, dwarf: &Dwarf<Slice<'a>>, unit: &Unit<Slice<'a>>) -> Result<()> {
        let mut entries = unit.entries();
        // From the outermost on: a local class in a function declares its methods there.
        let mut functions: Vec<Function> = Vec::new();
        let mut variable: Option<Variable> = None;
        while let Some(entry) = entries.next_dfs().map_err(damaged)? {
            let depth = entry.depth();
            if variable.as_ref().is_some_and(|variable| depth <= variable.depth) {
                self.finish(variable.take(), functions.last_mut());
            }
            while let Some(function) = functions.pop_if(|function| depth <= function.depth) {
                self.finish_function(function);
            }
            match entry.tag() {
                constants::DW_TAG_subprogram => {
                    functions.push(read_function(dwarf, unit, entry, self.found.probes.len())?);
                }
                constants::DW_TAG_variable if functions.last().is_some_and(|f| depth == f.depth + 1) => {
                    variable = read_variable(dwarf, unit, entry)?;
                }
                ANNOTATION => {
                    if let Some(variable) = variable.as_mut().filter(|variable| depth == variable.depth + 1) {
                        read_annotation(dwarf, unit, entry, variable)?;
                    }
                }
                _ => {}
            }
        }
        self.finish(variable.take(), functions.last_mut());
        functions.into_iter().rev().for_each(|function| self.finish_function(function));
        Ok(())
    }

    /// Gives the probes of a function their bitmaps.
    fn finish_function(&mut self, function: Function) {
        for (name, address, bytes) in function.bitmaps {
            let mut own = self.found.probes[function.first_probe..].iter_mut();
            if let Some(probe) = own.find(|probe| probe.function_name == name) {
                probe.bitmap = Some((address, bytes));
            }
        }
    }

    /// Makes a probe of a variable and its function, if all is there.
    fn finish(&mut self, variable: Option<Variable>, function: Option<&mut Function>) {
        let Some(variable) = variable.filter(|variable| variable.annotated) else { return };
        let Some(function) = function else { return };
        if variable.is_bitmap {
            if let Variable { function_name: Some(name), address: Some(address), num_bitmap_bits: Some(bits), .. } =
                variable
            {
                function.bitmaps.push((name, address, u32::try_from(bits.div_ceil(8)).unwrap_or(u32::MAX)));
            }
            return;
        }
        if function.address.is_none() && variable.address.is_none() {
            return; // dropped by the linker
        }
        let name = variable.function_name.clone().unwrap_or_default();
        let Variable { address: Some(address), func_hash: Some(func_hash), num_counters: Some(num_counters), .. } =
            variable
        else {
            let number = |value: Option<u64>| value.map_or("None".to_string(), |value| value.to_string());
            let message = format!(
                "Incomplete DIE for function {}: CFGHash={} CounterPtr={} NumCounters={}",
                if name.is_empty() { "None".to_string() } else { name.escape_ascii().to_string() },
                number(variable.func_hash),
                number(variable.address),
                number(variable.num_counters)
            );
            self.found.warnings.push(Warning::new(message));
            return;
        };
        if !self.counters.contains(&address) {
            let message = format!(
                "CounterPtr out of range for function {}: Actual={address:#x} Expected=[{:#x}, {:#x}]",
                name.escape_ascii(),
                self.counters.start,
                self.counters.end
            );
            self.found.warnings.push(Warning::new(message));
            return;
        }
        if function.address.is_none() && self.compat.warns_of_functions_without_address() {
            let message = format!("Could not find address of function {}", name.escape_ascii());
            self.found.warnings.push(Warning::new(message));
        }
        self.found.probes.push(Probe {
            function_name: name,
            linkage_name: function.linkage_name.clone(),
            func_hash,
            counter_offset: address - self.counters.start,
            num_counters: u32::try_from(num_counters).unwrap_or(u32::MAX),
            bitmap: None,
            function_address: function.address,
            file: function.file.clone(),
            line: function.line,
        });
    }
}

fn read_function<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    unit: &Unit<Slice<'a>>,
    entry: &Entry<'a>,
    first_probe: usize,
) -> Result<Function> {
    let address = match entry.attr_value(constants::DW_AT_low_pc) {
        Some(value) => dwarf.attr_address(unit, value).map_err(damaged)?,
        None => None,
    };
    Ok(Function {
        depth: entry.depth(),
        first_probe,
        address,
        linkage_name: text(dwarf, unit, entry, constants::DW_AT_linkage_name)
            .or_else(|| text(dwarf, unit, entry, constants::DW_AT_name)),
        file: source_file(dwarf, unit, entry),
        line: attribute(unit, entry, constants::DW_AT_decl_line).and_then(|value| value.udata_value()),
        bitmaps: Vec::new(),
    })
}

/// The file of a declaration, with its folder unless that is the compilation's.
fn source_file<'a>(dwarf: &Dwarf<Slice<'a>>, unit: &Unit<Slice<'a>>, entry: &Entry<'a>) -> Option<Vec<u8>> {
    let index = match attribute(unit, entry, constants::DW_AT_decl_file)? {
        AttributeValue::FileIndex(index) => index,
        value => value.udata_value()?,
    };
    let header = unit.line_program.as_ref()?.header();
    let file = header.file(index)?;
    let name = dwarf.attr_string(unit, file.path_name()).ok()?.slice().to_vec();
    if name.starts_with(b"/") || file.directory_index() == 0 {
        return Some(name);
    }
    let folder = dwarf.attr_string(unit, file.directory(header)?).ok()?;
    Some([folder.slice(), b"/", &name].concat())
}

fn read_variable<'a>(dwarf: &Dwarf<Slice<'a>>, unit: &Unit<Slice<'a>>, entry: &Entry<'a>) -> Result<Option<Variable>> {
    let name = text(dwarf, unit, entry, constants::DW_AT_name);
    let begins = |prefix: &[u8]| name.as_ref().is_some_and(|name| name.starts_with(prefix));
    let is_bitmap = begins(b"__profbm_");
    if !is_bitmap && !begins(b"__profc_") {
        return Ok(None);
    }
    let address = match entry.attr_value(constants::DW_AT_location) {
        Some(AttributeValue::Exprloc(expression)) => {
            match expression.operations(unit.encoding()).next().map_err(damaged)? {
                Some(Operation::Address { address }) => Some(address),
                Some(Operation::AddressIndex { index }) => Some(dwarf.address(unit, index).map_err(damaged)?),
                _ => None,
            }
        }
        _ => None,
    };
    Ok(Some(Variable { depth: entry.depth(), is_bitmap, address, ..Variable::default() }))
}

fn read_annotation<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    unit: &Unit<Slice<'a>>,
    entry: &Entry<'a>,
    variable: &mut Variable,
) -> Result<()> {
    variable.annotated = true;
    let name = text(dwarf, unit, entry, constants::DW_AT_name);
    let (Some(name), Some(value)) = (name, entry.attr_value(constants::DW_AT_const_value)) else { return Ok(()) };
    let number = || match value {
        AttributeValue::Sdata(value) => Some(value as u64), // the bits of a hash, whatever its sign
        value => value.udata_value(),
    };
    match name.as_slice() {
        b"Function Name" => {
            variable.function_name = Some(dwarf.attr_string(unit, value).map_err(damaged)?.slice().to_vec());
        }
        b"CFG Hash" => variable.func_hash = number(),
        b"Num Counters" => variable.num_counters = number(),
        b"Num BitmapBits" => variable.num_bitmap_bits = number(),
        _ => {}
    }
    Ok(())
}
