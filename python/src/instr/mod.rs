//! LLVM instrumentation profiles.

mod columns;
mod merged;
mod profile;
mod record;

pub(crate) use merged::{Merged, State, finish, merge};
pub(crate) use profile::Profile;
pub(crate) use record::Record;
