//! Programs and libraries: their sections, identities and debug info.
//!
//! Raw profiles without names ([`raw::correlate`](crate::raw)) and memory profiles, which have
//! addresses, need the program that ran. This module serves both and knows ELF, Mach-O, COFF
//! and DWARF only.

mod debug_info;
mod inlining;
mod local_names;
mod probe_descriptors;
mod units;

pub(crate) use debug_info::function_name;
pub(crate) use debug_info::{Entry, Slice, attribute, damaged, find_attribute, load_sections, ranges_of, text};
pub(crate) use debug_info::{ExecutableSegment, build_id, contents, executable_segments, is_64, is_executable};
pub(crate) use debug_info::{LINK_BITCODE, code_start, is_bitcode, is_code, is_code_in_file};
pub(crate) use debug_info::{NEEDS_SPLIT_FILES, SplitDebugInfo, is_package};
pub(crate) use debug_info::{StringSection, contents_in_place, is_section_of_code, pdb_without_dwarf};
pub(crate) use debug_info::{parse, shared_debug_info, symbol_name, unable};
pub(crate) use inlining::{DebugInfo, InlineChains, InlineFrame, MissingDebugInfo, Subprogram, inline_chains};
pub(crate) use probe_descriptors::{PROBE_DESCRIPTORS, ProbeDescriptor, read_probe_descriptors};
pub(crate) use units::{is_of_gcc, lacks_first_lines, lacks_mangled_names};
