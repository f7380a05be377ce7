//! Files of one family read whole, whichever of its formats they have.

pub(super) mod instr;
pub mod memprof;
pub mod stacks;
