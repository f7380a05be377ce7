//! Where the program was loaded while it was sampled.

use super::program::{Program, Segment};
use crate::error::Error;
use std::collections::BTreeSet;

/// Names of a kernel's mapping.
const KERNEL_NAMES: [&[u8]; 3] = [b"[kernel.kallsyms]", b"[kernel.kallsyms]_stext", b"[kernel.kallsyms]_text"];

/// Follows the mappings of a program. The last mapping of its first executable segment counts, whatever the process.
#[derive(Debug, Clone)]
pub(super) struct Loading {
    name: Vec<u8>,
    segments: Vec<Segment>,
    process: Option<i64>,
    is_kernel: bool,
    is_windows: bool,
    /// Where the first executable segment is.
    base: u64,
    /// Where it was, too.
    pub(super) bases: BTreeSet<u64>,
    pub(super) is_mapped: bool,
}

/// Why a mapping cannot be one of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MappingFault {
    UnknownOffset,
    SegmentsMoved,
    SegmentTorn,
}

impl MappingFault {
    pub(super) fn into_error(self) -> Error {
        let (detail, llvm) = match self {
            Self::UnknownOffset => ("a mapping of the program is of no executable segment", "File offset not found"),
            Self::SegmentsMoved => (
                "the executable segments were not loaded at their distance from each other",
                "Executable segments not loaded consecutively",
            ),
            Self::SegmentTorn => {
                ("parts of an executable segment were not loaded in a row", "Segment not loaded by consecutive mmaps")
            }
        };
        Error::malformed(detail).with_llvm_message(llvm).with_hint("give the program that was sampled")
    }
}

impl Loading {
    pub(super) fn new(program: &Program<'_>, process: Option<i64>, is_kernel: bool) -> Self {
        let (name, segments) = (program.name.clone(), program.segments.clone());
        let is_windows = program.is_windows;
        let bases = BTreeSet::new();
        Self { name, segments, process, is_kernel, is_windows, base: program.base(), bases, is_mapped: false }
    }

    /// Where the first executable segment is.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// The link-time address of an address of the process.
    pub(super) fn link_time(&self, address: u64) -> u64 {
        address.wrapping_sub(self.base).wrapping_add(self.preferred())
    }

    fn preferred(&self) -> u64 {
        self.segments.first().map_or(0, |segment| segment.address)
    }

    /// Returns true for a path with the name of the program.
    pub(super) fn is_program(&self, path: &[u8]) -> bool {
        let separates = |byte: &u8| *byte == b'/' || (self.is_windows && *byte == b'\\');
        let name = path.rsplit(separates).next().unwrap_or(path);
        match self.is_kernel {
            false => name == self.name,
            true => KERNEL_NAMES.contains(&name),
        }
    }

    /// Takes note of a mapping, of the program or of another file.
    pub(super) fn map(&mut self, process: i64, start: u64, offset: u64, path: &[u8]) -> Result<(), MappingFault> {
        if self.is_program(path) { self.map_program(process, start, offset) } else { Ok(()) }
    }

    /// Takes note of a mapping of the program.
    pub(super) fn map_program(&mut self, process: i64, start: u64, offset: u64) -> Result<(), MappingFault> {
        if self.process.is_some_and(|wanted| wanted != process) {
            return Ok(());
        }
        let first = self.segments.first().map_or(0, |segment| segment.offset);
        if start == self.base || self.is_kernel || offset == first {
            self.base = start;
            self.bases.insert(start);
            self.is_mapped = true;
            return Ok(());
        }
        let distance = start.wrapping_sub(self.base);
        let at = self.segments.partition_point(|segment| segment.offset < offset);
        match self.segments.get(at).filter(|segment| segment.offset == offset) {
            Some(segment) if segment.address.wrapping_sub(self.preferred()) == distance => Ok(()),
            Some(_) => Err(MappingFault::SegmentsMoved),
            None => match at.checked_sub(1) {
                None => Err(MappingFault::UnknownOffset),
                Some(before) if offset - self.segments[before].offset == distance => Ok(()),
                Some(_) => Err(MappingFault::SegmentTorn),
            },
        }
    }

    /// Fails for a kernel that no mapping has.
    pub(super) fn require_kernel(&self) -> Result<(), Error> {
        if !self.is_kernel || self.is_mapped {
            return Ok(());
        }
        let llvm = "Kernel is requested, but no kernel is found in mmap events.";
        Err(Error::nothing_found("no mapping is of the kernel").with_llvm_message(llvm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loading() -> Loading {
        Loading {
            name: b"app".to_vec(),
            segments: vec![Segment { address: 0x2000, offset: 0x1000 }, Segment { address: 0x8000, offset: 0x5000 }],
            process: None,
            is_kernel: false,
            is_windows: false,
            base: 0x2000,
            bases: BTreeSet::new(),
            is_mapped: false,
        }
    }

    #[test]
    fn addresses_are_related_to_the_last_mapping_of_the_first_segment() {
        let mut loading = loading();
        assert_eq!(loading.link_time(0x2010), 0x2010);
        loading.map(1, 0x7000_0000, 0x1000, b"/usr/bin/app").unwrap();
        assert!(loading.is_mapped);
        assert_eq!(loading.link_time(0x7000_0010), 0x2010);
        loading.map(2, 0x9000_0000, 0x1000, b"/other/app").unwrap();
        assert_eq!(loading.link_time(0x9000_0010), 0x2010);
        loading.map(2, 0x1000_0000, 0x1000, b"/usr/bin/another").unwrap();
        assert_eq!(loading.link_time(0x9000_0010), 0x2010);
    }

    #[test]
    fn further_segments_must_be_at_their_distance() {
        let mut loading = loading();
        loading.map(1, 0x7000_0000, 0x1000, b"app").unwrap();
        assert_eq!(loading.map(1, 0x7000_6000, 0x5000, b"app"), Ok(()));
        assert_eq!(loading.map(1, 0x7000_7000, 0x5000, b"app"), Err(MappingFault::SegmentsMoved));
        assert_eq!(loading.map(1, 0x7000_1000, 0x2000, b"app"), Ok(()));
        assert_eq!(loading.map(1, 0x7000_2000, 0x2000, b"app"), Err(MappingFault::SegmentTorn));
        assert_eq!(loading.map(1, 0x7000_2000, 0, b"app"), Err(MappingFault::UnknownOffset));
    }

    #[test]
    fn mappings_of_other_processes_are_not_used() {
        let mut loading = Loading { process: Some(7), ..loading() };
        loading.map(8, 0x7000_0000, 0x1000, b"app").unwrap();
        assert!(!loading.is_mapped);
    }
}
