//! What people and scripts read: functions and totals of a profile, how much
//! two profiles have in common, an order of functions for the linker.
//!
//! Reports know only the model. The text is that of llvm-profdata 22 to the
//! byte; the JSON views are ours, see `docs/json-schema/`.

pub mod stacks;
