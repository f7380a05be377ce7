//! The order of names as bytes.

use crate::error::Result;
use crate::memory::{self, HOLD_NAMES};

/// The indexes of `count` names in the order of the names, a prefix before its
/// extensions; equal names in any order.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub(crate) fn name_order<'a>(count: u32, name: impl Fn(u32) -> &'a [u8]) -> Result<Vec<u32>> {
    let shared = shared_prefix(count, &name);
    let rest = |at: u32| &name(at)[shared..];
    let mut keyed: Vec<(u128, u32)> = memory::collect((0..count).map(|at| (leading_bytes(rest(at)), at)), HOLD_NAMES)?;
    // Names differ within the key more often than not, and it is at hand.
    keyed.sort_unstable_by(|(a, one), (b, other)| a.cmp(b).then_with(|| rest(*one).cmp(rest(*other))));
    memory::collect(keyed.into_iter().map(|(_, at)| at), HOLD_NAMES)
}

/// Number of bytes with which all names begin.
fn shared_prefix<'a>(count: u32, name: impl Fn(u32) -> &'a [u8]) -> usize {
    let mut names = (0..count).map(name);
    let first = names.next().unwrap_or_default();
    names.fold(first.len(), |shared, name| {
        first[..shared].iter().zip(name).position(|(a, b)| a != b).unwrap_or(shared.min(name.len()))
    })
}

/// The first 16 bytes as a number that is ordered as they are; zeros where there
/// are fewer.
fn leading_bytes(name: &[u8]) -> u128 {
    let mut key = [0; 16];
    let len = name.len().min(key.len());
    key[..len].copy_from_slice(&name[..len]);
    u128::from_be_bytes(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn names_are_sorted_as_bytes(
            prefix in "[a_\0]{0,20}",
            names in prop::collection::vec(prop_oneof!["[\0ab]{0,40}", "[^a]{0,3}"], 0..40),
        ) {
            let mut names: Vec<String> = names.iter().map(|name| format!("{prefix}{name}")).collect();
            let order = name_order(names.len() as u32, |at| names[at as usize].as_bytes()).unwrap();
            let sorted: Vec<String> = order.into_iter().map(|at| names[at as usize].clone()).collect();
            names.sort();
            prop_assert_eq!(sorted, names);
        }
    }
}
