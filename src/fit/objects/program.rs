//! The functions of an instrumented program or library.

use super::{coverage_map, data_records, producer};
use crate::error::{Error, ErrorKind, Result};
use crate::fit::program::{Program, ProgramFunction, ProgramSource};
use crate::limits::Limits;
use crate::model::{ProfileKind, SymbolTable};
use crate::objects;
use crate::raw::correlate::{CorrelationKind, Image};
use std::path::Path;

/// Reads the functions of a program from its data records, its debug info or
/// its coverage map, whichever it has.
///
/// # Errors
///
/// Not an object; not instrumented when it has none of these, with what the
/// program was built or stripped for; what is wrong with the one that is there.
pub fn read_program(path: &Path, bytes: &[u8], limits: &Limits) -> Result<Program> {
    let file = parse(bytes)?;
    let mut program = match data_records::read(&file, limits)? {
        Some(found) => {
            let kind = found.kind();
            let source =
                if found.is_correlation { ProgramSource::CorrelationRecords } else { ProgramSource::DataRecords };
            let mut program = Program::new(source, found.functions, found.names);
            (program.kind, program.has_vtables) = (kind, found.has_vtables);
            program
        }
        None => match probes(path, bytes, limits) {
            Some(program) => program,
            None => coverage(&file, limits)?.ok_or_else(|| not_instrumented(&file))?,
        },
    };
    program.release = producer::release(&file, limits);
    Ok(program)
}

/// Reads the headers of a program.
///
/// # Errors
///
/// Not an object, with what can be done about it.
pub(super) fn parse(bytes: &[u8]) -> Result<object::File<'_>> {
    if let Some(architectures) = fat_architectures(bytes) {
        let detail = format!("a fat Mach-O file of {architectures} architectures");
        let error = Error::new(ErrorKind::NotAnObject { detail });
        return Err(error.with_hint("take the one that the profile is of: `lipo -thin ARCHITECTURE`"));
    }
    let hint = "give the new build (ELF, Mach-O or COFF), or a profile that it wrote";
    objects::parse(bytes).map_err(|error| error.with_hint(hint))
}

/// The number of architectures in a fat file. Class files begin with the same
/// bytes, followed by a version of at least 45.
fn fat_architectures(bytes: &[u8]) -> Option<u32> {
    const FAT: [u32; 2] = [0xcafe_babe, 0xcafe_babf];
    const FIRST_CLASS_VERSION: u32 = 45;
    let word = |at: usize| bytes.get(at..)?.first_chunk::<4>().map(|word| u32::from_be_bytes(*word));
    word(4).filter(|count| word(0).is_some_and(|magic| FAT.contains(&magic)) && *count < FIRST_CLASS_VERSION)
}

/// What debug info tells, if it was compiled to tell.
fn probes(path: &Path, bytes: &[u8], limits: &Limits) -> Option<Program> {
    let image = Image::read(path, bytes, CorrelationKind::DebugInfo, limits).ok()?;
    let mut names = SymbolTable::new();
    let functions = image.probes().iter().map(|probe| ProgramFunction {
        name_ref: names.insert(&probe.function_name),
        func_hash: probe.func_hash,
        num_counters: Some(probe.num_counters),
    });
    let functions = functions.collect();
    Some(Program::new(ProgramSource::DebugInfo, functions, names))
}

fn coverage(file: &object::File<'_>, limits: &Limits) -> Result<Option<Program>> {
    let Some((functions, names)) = coverage_map::read(file, limits)? else { return Ok(None) };
    let mut program = Program::new(ProgramSource::CoverageMap, functions, names);
    // Only the front end makes coverage maps.
    program.kind = Some(ProfileKind::NONE);
    Ok(Some(program))
}

/// Why a program that can be read tells nothing.
fn not_instrumented(file: &object::File<'_>) -> Error {
    use object::Object;
    let is_stripped = file.symbols().next().is_none();
    let detail = "it has neither data records (__llvm_prf_data) nor a coverage map (__llvm_covfun)";
    let hint = if is_stripped {
        "the program is stripped, or was never instrumented: give the file from before strip, built with \
         -fprofile-generate or -fprofile-instr-generate, or a profile that it wrote"
    } else {
        "compile the new build once with -fprofile-generate (or -fprofile-instr-generate, whichever the profile is \
         of), with the options of the release otherwise, and give that; or a profile that it wrote"
    };
    Error::new(ErrorKind::UnableToCompare { detail: detail.to_string() }).with_hint(hint)
}
