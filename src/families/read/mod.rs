//! Files of one family read whole, whichever of its formats they have.

pub mod stacks;
