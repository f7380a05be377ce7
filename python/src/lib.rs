//! The extension module behind the Python package `profbridge`.
//!
//! It only converts arguments to the library's options, and results to Python objects. Results are those of the library
//! and the program. The work runs [without the interpreter's lock](detached); tables are [Arrow tables](table).

mod about;
mod arrays;
mod compare;
mod detached;
mod draw;
mod error;
mod files;
mod instr;
mod iprof;
mod memory;
mod merge;
mod options;
mod output;
mod part;
mod program;
mod sample;
mod shared;
mod source;
mod stacks;
mod state;
mod table;
mod text;

#[pyo3::pymodule]
mod _profbridge {
    #[pymodule_export]
    use crate::compare::{diff, fit, overlap};
    #[pymodule_export]
    use crate::draw::{flamegraph, report};
    #[pymodule_export]
    use crate::files::{check, content, describe, family_of, generate, order, repair};
    #[pymodule_export]
    use crate::instr::{Profile, Record};
    #[pymodule_export]
    use crate::iprof::Iprof;
    #[pymodule_export]
    use crate::memory::MemoryProfile;
    #[pymodule_export]
    use crate::merge::{form_of, merge, read, stacks_of};
    #[pymodule_export]
    use crate::part::{Part, files_of};
    #[pymodule_export]
    use crate::program::run_program;
    #[pymodule_export]
    use crate::sample::SampleProfile;
    #[pymodule_export]
    use crate::stacks::Stacks;
    #[pymodule_export]
    use crate::state::restore;
    #[pymodule_export]
    use crate::table::{Column, Table, restore_table};

    /// The version of the package and of the program in it.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
