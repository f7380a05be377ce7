//! How the files of each family are checked.

pub(crate) mod iprof;
pub(crate) mod stacks;
