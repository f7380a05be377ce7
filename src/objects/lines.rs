//! Which line of which file is at an address.

use super::debug_info::{Slice, damaged};
use crate::error::Result;
use crate::memory::{self, HOLD_INPUT};
use gimli::{ColumnType, Dwarf, LineProgramHeader, Unit};

/// A place in a source file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) file: u64,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// The line table of a unit.
#[derive(Debug, Default)]
pub(super) struct LineTable {
    /// Runs of rows with rising addresses, ordered by their ends.
    sequences: Vec<Sequence>,
}

#[derive(Debug)]
struct Sequence {
    start: u64,
    end: u64,
    rows: Vec<(u64, Place)>,
}

impl LineTable {
    /// Reads the table of a unit; empty if it has none.
    pub(super) fn read(unit: &Unit<Slice<'_>>) -> Result<Self> {
        let Some(program) = unit.line_program.clone() else { return Ok(Self::default()) };
        let (mut sequences, mut rows) = (Vec::new(), Vec::new());
        let mut steps = program.rows();
        while let Some((_, row)) = steps.next_row().map_err(damaged)? {
            if row.end_sequence() {
                let rows: Vec<(u64, Place)> = std::mem::take(&mut rows);
                let Some(start) = rows.first().map(|(address, _)| *address) else { continue };
                memory::push(&mut sequences, Sequence { start, end: row.address(), rows }, HOLD_INPUT)?;
                continue;
            }
            let column = match row.column() {
                ColumnType::LeftEdge => 0,
                // A line table of LLVM has columns of 16 bits.
                ColumnType::Column(column) => u32::from(column.get() as u16),
            };
            let line = row.line().map_or(0, |line| line.get() as u32);
            let place = Place { file: row.file_index(), line, column };
            memory::push(&mut rows, (row.address(), place), HOLD_INPUT)?;
        }
        sequences.sort_by_key(|sequence| sequence.end);
        Ok(Self { sequences })
    }

    /// The last row at or before an address.
    pub(super) fn find(&self, address: u64) -> Option<Place> {
        let at = self.sequences.partition_point(|sequence| sequence.end <= address);
        let sequence = self.sequences.get(at).filter(|sequence| sequence.start <= address)?;
        let row = sequence.rows.partition_point(|(start, _)| *start <= address);
        row.checked_sub(1).map(|row| sequence.rows[row].1)
    }
}

/// The name of a file as a line table spells it, without its folder.
pub(super) fn file_name(
    dwarf: &Dwarf<Slice<'_>>,
    unit: &Unit<Slice<'_>>,
    header: &LineProgramHeader<Slice<'_>>,
    file: u64,
) -> Option<Vec<u8>> {
    let name = dwarf.attr_string(unit, header.file(file)?.path_name()).ok()?;
    name.slice().rsplit(|byte| *byte == b'/').next().map(<[u8]>::to_vec)
}
