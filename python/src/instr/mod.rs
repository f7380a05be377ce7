//! LLVM instrumentation profiles.

mod columns;
mod merged;
mod profile;
mod record;

pub(crate) use merged::{Merged, fault, finish, merge, skipped};
pub(crate) use profile::Profile;
pub(crate) use record::Record;
