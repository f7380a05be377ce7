//! The functions of any program, as far as a sample profile may name them.

use super::{probe_descriptors, producer, source_lines};
use crate::error::{Error, ErrorKind, Result};
use crate::fit::sampled_program::{SampledFunction, SampledProgram};
use crate::limits::Limits;
use object::{Object, ObjectSymbol, SymbolKind};
use std::collections::BTreeMap;

/// Reads names from the symbols, checksums from the descriptors of probes and
/// lengths from debug info, whichever a program has.
///
/// # Errors
///
/// Not an object; nothing to compare when a program has none of these; what is
/// wrong with one that is there.
pub fn read_sampled_program(bytes: &[u8], limits: &Limits) -> Result<SampledProgram> {
    let file = super::program::parse(bytes)?;
    let mut functions: BTreeMap<Vec<u8>, SampledFunction> = BTreeMap::new();
    let probes = probe_descriptors::read(&file, limits)?;
    let lines = source_lines::read(&file, limits)?;
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let defined = symbols.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    for name in defined.filter_map(|symbol| symbol.name_bytes().ok().map(<[u8]>::to_vec)) {
        functions.entry(name).or_default();
    }
    let has_symbols = !functions.is_empty();
    let (has_checksums, has_lines) = (!probes.is_empty(), !lines.is_empty());
    for probe in probes {
        functions.entry(probe.name).or_default().checksum = Some(probe.checksum);
    }
    for (name, last_line) in lines {
        functions.entry(name).or_default().last_line = Some(last_line);
    }
    if functions.is_empty() {
        let detail = "the program has neither symbols nor probes nor debug info".to_string();
        let hint = "it is stripped: give the file from before strip, or the debug file beside it";
        return Err(Error::new(ErrorKind::UnableToCompare { detail }).with_hint(hint));
    }
    let sources =
        [(has_symbols, "symbols"), (has_checksums, "descriptors of probes"), (has_lines, "lines of debug info")];
    let words: Vec<&str> = sources.iter().filter(|(is_there, _)| *is_there).map(|(_, words)| *words).collect();
    let mut program = SampledProgram::new(format!("{} of the program", words.join(", ")), functions);
    program.has_checksums = has_checksums;
    program.release = producer::release(&file, limits);
    Ok(program)
}
