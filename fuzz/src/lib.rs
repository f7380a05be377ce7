//! What every fuzz target does with its bytes.
//!
//! A body is a function from bytes to nothing that panics when something is
//! wrong. `fuzz_targets/` calls each from libFuzzer; `tests/replay` of the main
//! package includes this file and calls them with all seeds and all files that
//! were findings once, on the stable compiler.

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

/// A body: a name and what is done with the bytes.
pub type Body = (&'static str, fn(&[u8]));

/// All bodies, by the name of their target.
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

/// Does what the target of that name does.
///
/// # Panics
///
/// When the body finds something wrong, and for a name that is no target's.
pub fn run(target: &str, data: &[u8]) {
    let (_, body) = BODIES.iter().find(|(name, _)| *name == target).expect("BODIES has every target");
    body(data);
}
