//! The comparison as JSON: totals are whole numbers, shares lie between 0 and 1, values have the names of their kinds.

use crate::instr::overlap::Sums;
use serde::{Serialize, Serializer};

#[derive(Serialize)]
struct Amounts<T> {
    entries: u64,
    edges: T,
    values: Values<T>,
}

#[derive(Serialize)]
struct Values<T> {
    indirect_call_targets: T,
    memop_sizes: T,
    vtables: T,
}

fn amounts<T>(sums: &Sums, of: impl Fn(f64) -> T) -> Amounts<T> {
    let [indirect_call_targets, memop_sizes, vtables] = sums.values.map(&of);
    let values = Values { indirect_call_targets, memop_sizes, vtables };
    Amounts { entries: sums.entries, edges: of(sums.edges), values }
}

/// Sums of counts. They are kept as floating-point numbers, as LLVM does it.
pub(super) fn totals<S: Serializer>(sums: &Sums, serializer: S) -> Result<S::Ok, S::Error> {
    amounts(sums, |sum| sum.round() as u64).serialize(serializer)
}

pub(super) fn shares<S: Serializer>(sums: &Sums, serializer: S) -> Result<S::Ok, S::Error> {
    // Adding up may round past the whole.
    amounts(sums, |share| share.clamp(0.0, 1.0)).serialize(serializer)
}

/// As everywhere, since readers of JSON may lose digits of large numbers.
pub(super) fn func_hash<S: Serializer>(hash: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{hash:#018x}"))
}
