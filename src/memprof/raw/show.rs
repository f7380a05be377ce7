//! `show --memory` of a raw profile, byte for byte as LLVM 22 prints it.

use super::dumps::RawMemProf;
use crate::digits::push_decimal;
use crate::memory::{self, HOLD_OUTPUT};
use crate::memprof::fields::Field;
use crate::memprof::hotness::MemProfSummary;
use crate::memprof::model::{AllocSite, MemoryProfile};
use crate::memprof::stacks::{Frame, StackHandle};
use crate::memprof::yaml::write_summary;
use std::io::ErrorKind::OutOfMemory;
use std::io::{self, Write};

/// Prints a raw profile; `profile` is what it says when its addresses, of
/// `stacks` call stacks, are looked up.
///
/// # Errors
///
/// Those of `out`; out of memory.
pub fn write(raw: &RawMemProf<'_>, profile: &MemoryProfile, stacks: usize, out: &mut dyn Write) -> io::Result<()> {
    let summary = MemProfSummary::of(profile).map_err(|_| OutOfMemory)?;
    write_summary(&summary, None, out)?;
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
            id => crate::model::description::hex(id),
        };
        writeln!(out, "  -\n    BuildId: {id}")?;
        for (name, address) in [("Start", segment.start), ("End", segment.end), ("Offset", segment.offset)] {
            writeln!(out, "    {name}: 0x{address:X}")?;
        }
    }
    writeln!(out, "  Records:")?;
    let frames = memory::filled(Vec::new(), profile.stacks.frames().len(), HOLD_OUTPUT).map_err(|_| OutOfMemory)?;
    let mut printer = Printer { profile, frames, text: Vec::new() };
    for record in profile.records() {
        printer.text.extend_from_slice(b"  -\n    FunctionGUID: ");
        printer.number(record.function);
        if !record.alloc_sites.is_empty() {
            printer.text.extend_from_slice(b"    AllocSites:\n");
        }
        for site in &record.alloc_sites {
            printer.alloc_site(site);
            printer.hand_over(out, PART)?;
        }
        if !record.call_sites.is_empty() {
            printer.text.extend_from_slice(b"    CallSites:\n");
        }
        for site in &record.call_sites {
            printer.frames(site.frames, b"    -\n      -\n");
            printer.hand_over(out, PART)?;
        }
    }
    printer.hand_over(out, 0)
}

/// Text is handed over in parts of about so many bytes.
const PART: usize = 1 << 16;

struct Printer<'a> {
    profile: &'a MemoryProfile,
    /// The lines of each frame, once they were needed.
    frames: Vec<Vec<u8>>,
    text: Vec<u8>,
}

impl Printer<'_> {
    /// Hands the text over if it is long enough.
    fn hand_over(&mut self, out: &mut dyn Write, least: usize) -> io::Result<()> {
        if self.text.len() >= least {
            out.write_all(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }

    /// A number that ends its line.
    fn number(&mut self, number: u64) {
        push_decimal(&mut self.text, number);
        self.text.push(b'\n');
    }

    fn alloc_site(&mut self, site: &AllocSite) {
        self.text.extend_from_slice(b"    -\n      Callstack:\n");
        self.frames(site.stack, b"      -\n");
        self.text.extend_from_slice(b"      MemInfoBlock:\n");
        for field in Field::all() {
            for part in ["        ", field.name(), ": "] {
                self.text.extend_from_slice(part.as_bytes());
            }
            self.number(site.info.value(field));
        }
        if let Some(histogram) = &site.histogram {
            self.text.extend_from_slice(b"        AccessHistogramValues:");
            for value in histogram.iter() {
                self.text.push(b' ');
                push_decimal(&mut self.text, *value);
            }
            self.text.push(b'\n');
        }
    }

    /// The frames of a stack, each behind `before`.
    fn frames(&mut self, stack: StackHandle, before: &[u8]) {
        for frame in self.profile.stacks.stack(stack) {
            let lines = &mut self.frames[frame.index()];
            if lines.is_empty() {
                *lines = frame_lines(self.profile.stacks.frame(*frame), self.profile);
            }
            self.text.extend_from_slice(before);
            self.text.extend_from_slice(lines);
        }
    }
}

fn frame_lines(frame: Frame, profile: &MemoryProfile) -> Vec<u8> {
    let Frame { function, line_offset, column, is_inline } = frame;
    let mut lines = format!("        Function: {function}\n").into_bytes();
    if let Some(name) = profile.names.get(&function) {
        lines.extend_from_slice(b"        SymbolName: ");
        lines.extend_from_slice(name);
        lines.push(b'\n');
    }
    let inline = u8::from(is_inline);
    let rest = format!("        LineOffset: {line_offset}\n        Column: {column}\n        Inline: {inline}\n");
    lines.extend_from_slice(rest.as_bytes());
    lines
}
