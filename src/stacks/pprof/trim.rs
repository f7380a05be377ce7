//! Profiles of bounded size: the heaviest stacks stay.

use super::merge::{MergeOptions, Merger};
use super::{Profile, write};
use crate::digits::number_of;
use crate::error::{Error, Result};
use crate::memory::{self, HOLD_STACKS};
use std::cmp::Reverse;

/// The profile with its `stacks` heaviest samples, by [`Profile::main_value`],
/// in the order they had, and only what these refer to. Of equally heavy ones
/// those that come first stay.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub fn heaviest(profile: &Profile, stacks: usize) -> Result<Profile> {
    let ranks = ranks(profile)?;
    let mut merger = Merger::new(MergeOptions::default());
    merger.add_some(profile, 1, |at| ranks[at] < stacks)?;
    Ok(merger.finish().0)
}

/// The place of each sample, heaviest first.
fn ranks(profile: &Profile) -> Result<Vec<usize>> {
    let value = profile.main_value();
    let mut order: Vec<usize> = memory::collect(0..profile.samples.len(), HOLD_STACKS)?;
    // The position decides where the values are equal.
    let value = |at: usize| value.map(|value| profile.samples.get(at).values[value].unsigned_abs());
    order.sort_unstable_by_key(|at| (Reverse(value(*at)), *at));
    let mut ranks = memory::filled(0, order.len(), HOLD_STACKS)?;
    for (rank, at) in order.into_iter().enumerate() {
        ranks[at] = rank;
    }
    Ok(ranks)
}

/// As many of the heaviest stacks as fit into `bytes` when `encode` has made a
/// file of them, and that file.
///
/// # Errors
///
/// A usage error when not even a profile without stacks fits; those of `encode`.
pub fn trim_to_bytes(
    profile: &Profile,
    bytes: usize,
    encode: impl Fn(Vec<u8>) -> Result<Vec<u8>>,
) -> Result<(Profile, Vec<u8>)> {
    let attempt = |stacks: usize| {
        let kept = heaviest(profile, stacks)?;
        let file = encode(write(&kept)?)?;
        Ok::<_, Error>((file.len() <= bytes).then_some((kept, file)))
    };
    let all = profile.samples.len();
    if let Some(whole) = attempt(all)? {
        return Ok(whole);
    }
    let Some(mut best) = attempt(0)? else {
        return Err(Error::usage(format!("not even a profile without stacks fits into {}", number_of(bytes, "byte"))));
    };
    // `fits` do fit, `too_many` do not.
    let (mut fits, mut too_many) = (0, all);
    while too_many - fits > 1 {
        let middle = fits + (too_many - fits) / 2;
        match attempt(middle)? {
            Some(found) => (fits, best) = (middle, found),
            None => too_many = middle,
        }
    }
    Ok(best)
}
