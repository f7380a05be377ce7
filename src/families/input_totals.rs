//! The total count of each input of a merge, per family. A single input should rarely dominate the result.

use crate::error::Result;
use crate::families::read::stacks::{StackOptions, read_stacks};
use crate::input::{Access, Family, Format, Input};
use crate::instr::memory_profiles;
use crate::instr::open::{ReadOptions, open_reader};
use crate::iprof::{self, SectionKind, SectionTotals};
use crate::memprof::report::total_bytes;

/// Returns the sum of an LLVM profile's counters, without pseudo counts; for a memory profile, or an indexed profile
/// that contains only a memory profile, the bytes of all allocations.
///
/// # Errors
///
/// The errors of the readers.
pub fn instr_total(input: &Input, options: &ReadOptions) -> Result<u128> {
    let is_memory = input.family()? == Some(Family::MemProf);
    let total = if is_memory { 0 } else { sum_of_counters(input, options)? };
    if is_memory || (total == 0 && input.format()? == Format::Indexed) {
        return match memory_profiles::load(input, options) {
            Ok(profile) => Ok(total_bytes(&profile)),
            Err(error) if is_memory => Err(error),
            // It has none.
            Err(_) => Ok(0),
        };
    }
    Ok(total)
}

fn sum_of_counters(input: &Input, options: &ReadOptions) -> Result<u128> {
    let bytes = input.bytes(Access::Read, &options.limits)?;
    let mut reader = open_reader(&bytes, options)?;
    let mut total = 0u128;
    while let Some(read) = reader.next_record()? {
        if read.record.pseudo_count().is_none() {
            total += read.record.counters.iter().map(u128::from).sum::<u128>();
        }
    }
    Ok(total)
}

/// The sum of an iprof's counts in all sections.
///
/// # Errors
///
/// The errors of the reader.
pub fn iprof_total(input: &Input, options: &iprof::ReadOptions) -> Result<u128> {
    let totals = SectionTotals::read_from(input.stream()?, options)?;
    Ok(SectionKind::ALL.into_iter().map(|kind| totals.of(kind)).sum())
}

/// The hits of a source of stacks.
///
/// # Errors
///
/// The errors of the readers.
pub fn stack_total(input: &Input, options: &StackOptions) -> Result<u128> {
    Ok(read_stacks(std::slice::from_ref(input), options)?.0.total_hits())
}

/// The input that counts most, as its place, and its share of all; weights
/// count. `None` where there is nothing to count. What cannot be read counts
/// nothing: the merge says what is wrong with it.
pub fn largest_share(inputs: &[Input], total: &dyn Fn(&Input) -> Result<u128>) -> Option<(usize, f64)> {
    let weigh = |input: &Input| total(input).unwrap_or(0).saturating_mul(u128::from(input.weight.get()));
    let totals: Vec<u128> = inputs.iter().map(weigh).collect();
    let all = totals.iter().fold(0u128, |sum, total| sum.saturating_add(*total));
    let (at, largest) = totals.iter().enumerate().rev().max_by_key(|(_, total)| **total)?;
    (all > 0).then(|| (at, *largest as f64 / all as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn weights_count_and_the_first_of_equal_inputs_is_the_largest() {
        let inputs: Vec<Input> = ["1,a", "3,b", "3,c"].iter().map(|text| text.parse().unwrap()).collect();
        let shares = |total: &dyn Fn(&Input) -> Result<u128>| largest_share(&inputs, total);
        assert_eq!(shares(&|_| Ok(5)), Some((1, 3.0 / 7.0)));
        assert_eq!(shares(&|_| Ok(0)), None);
        let only_a = |input: &Input| if input.path.ends_with("a") { Ok(1) } else { Err(Error::usage("bad")) };
        assert_eq!(shares(&only_a), Some((0, 1.0)));
    }
}
