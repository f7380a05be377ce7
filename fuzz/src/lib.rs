//! The code of the fuzz targets.
//!
//! Each body is a function that takes bytes and panics if it finds a fault. `fuzz_targets/` calls the bodies from
//! libFuzzer. `tests/replay` of the main package includes this file and calls them with all seeds and all earlier
//! findings, on the stable compiler.

mod branches;
mod bridges;
mod inputs;
mod memory;
mod merging;
pub mod mutants;
mod objects;
mod partials;
mod profiles;
mod readers;
mod reference;
mod samples;
mod stacks;
mod writers;

/// The name of a target, and its function.
pub type Body = (&'static str, fn(&[u8]));

/// All targets.
pub const BODIES: &[Body] = &[
    ("read_raw", readers::raw),
    ("read_indexed", readers::indexed),
    ("read_text", readers::text),
    ("read_names", readers::names),
    ("read_any", readers::any),
    ("read_compressed", readers::compressed),
    ("read_memprof", memory::read),
    ("read_iprof", stacks::iprof),
    ("read_recording", stacks::recording),
    ("read_perf", stacks::perf),
    ("read_stacks", stacks::stacks),
    ("read_pprof", stacks::pprof),
    ("read_classes", stacks::classes),
    ("read_objects", objects::objects),
    ("read_branches", branches::branches),
    ("read_partial", partials::read),
    ("parse_list", inputs::list),
    ("parse_remapping", inputs::remapping),
    ("write_raw", writers::raw),
    ("write_indexed", writers::indexed),
    ("write_text", writers::text),
    ("read_sampleprof", samples::read),
    ("write_sampleprof", samples::write),
    ("merge_laws", merging::laws),
    ("bridge_laws", bridges::laws),
    ("same_as_llvm", reference::same_as_llvm),
    ("same_sample_as_llvm", reference::same_sample_as_llvm),
];

/// Runs a target.
///
/// # Panics
///
/// If the target finds a fault, or if there is no target of this name.
pub fn run(target: &str, data: &[u8]) {
    let (_, body) = BODIES.iter().find(|(name, _)| *name == target).expect("BODIES has every target");
    body(data);
}
