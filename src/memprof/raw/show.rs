//! `show --memory` of a raw profile, byte for byte as LLVM 22 prints it.

use super::dumps::RawMemProf;
use crate::memprof::fields::Field;
use crate::memprof::hotness::MemProfSummary;
use crate::memprof::model::{AllocSite, MemoryProfile};
use crate::memprof::stacks::{Frame, StackHandle};
use crate::memprof::yaml::write_summary;
use std::io::{self, Write};

/// Prints a raw profile; `profile` is what it says when its addresses, of
/// `stacks` call stacks, are looked up.
///
/// # Errors
///
/// Those of `out`.
pub fn write(raw: &RawMemProf, profile: &MemoryProfile, stacks: usize, out: &mut dyn Write) -> io::Result<()> {
    write_summary(&MemProfSummary::of(profile), None, out)?;
    let with_sites = profile.records().iter().filter(|record| !record.alloc_sites.is_empty()).count();
    writeln!(out, "MemprofProfile:\n  Summary:")?;
    writeln!(out, "    Version: {}", raw.version)?;
    writeln!(out, "    NumSegments: {}", raw.segments.len())?;
    writeln!(out, "    NumMibInfo: {}", profile.alloc_sites().count())?;
    writeln!(out, "    NumAllocFunctions: {with_sites}")?;
    writeln!(out, "    NumStackOffsets: {stacks}")?;
    writeln!(out, "  Segments:")?;
    for segment in &raw.segments {
        let id = match segment.build_id.as_slice() {
            [] => "<None>".to_string(),
            id => crate::instr::description::hex(id),
        };
        writeln!(out, "  -\n    BuildId: {id}")?;
        for (name, address) in [("Start", segment.start), ("End", segment.end), ("Offset", segment.offset)] {
            writeln!(out, "    {name}: 0x{address:X}")?;
        }
    }
    writeln!(out, "  Records:")?;
    for record in profile.records() {
        writeln!(out, "  -\n    FunctionGUID: {}", record.function)?;
        if !record.alloc_sites.is_empty() {
            writeln!(out, "    AllocSites:")?;
        }
        record.alloc_sites.iter().try_for_each(|site| write_alloc_site(site, profile, out))?;
        if !record.call_sites.is_empty() {
            writeln!(out, "    CallSites:")?;
        }
        for site in &record.call_sites {
            write_frames(site.frames, profile, "    -\n      -\n", out)?;
        }
    }
    Ok(())
}

fn write_alloc_site(site: &AllocSite, profile: &MemoryProfile, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "    -\n      Callstack:")?;
    write_frames(site.stack, profile, "      -\n", out)?;
    writeln!(out, "      MemInfoBlock:")?;
    for field in Field::all() {
        writeln!(out, "        {}: {}", field.name(), site.info.value(field))?;
    }
    if let Some(histogram) = &site.histogram {
        write!(out, "        AccessHistogramValues:")?;
        histogram.iter().try_for_each(|value| write!(out, " {value}"))?;
        writeln!(out)?;
    }
    Ok(())
}

/// Prints the frames of a stack, each behind `before`.
fn write_frames(stack: StackHandle, profile: &MemoryProfile, before: &str, out: &mut dyn Write) -> io::Result<()> {
    for Frame { function, line_offset, column, is_inline } in profile.stacks.frames_of(stack) {
        out.write_all(before.as_bytes())?;
        writeln!(out, "        Function: {function}")?;
        if let Some(name) = profile.names.get(&function) {
            out.write_all(b"        SymbolName: ")?;
            out.write_all(name)?;
            writeln!(out)?;
        }
        writeln!(out, "        LineOffset: {line_offset}")?;
        writeln!(out, "        Column: {column}")?;
        writeln!(out, "        Inline: {}", u8::from(is_inline))?;
    }
    Ok(())
}
