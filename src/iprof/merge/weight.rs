//! The weights of inputs, and the totals for scaling them.

use crate::error::Result;
use crate::iprof::reader::{Entry, ReadOptions, Sink, read_stream};
use crate::iprof::sections::{MAX_COUNT, SectionKind};
use crate::iprof::tables::Tables;
use std::io::Read;

/// A positive rational factor for counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weight {
    numerator: u64,
    denominator: u64,
}

impl Weight {
    /// The weight 1.
    pub const ONE: Self = Self { numerator: 1, denominator: 1 };

    /// Returns `numerator / denominator`. `None` if either is 0.
    pub fn ratio(numerator: u64, denominator: u64) -> Option<Self> {
        (numerator > 0 && denominator > 0).then_some(Self { numerator, denominator })
    }

    /// Parses `4` or `1/3`.
    pub fn parse(text: &str) -> Option<Self> {
        let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
        let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok()).flatten();
        Self::ratio(digits(numerator)?, digits(denominator)?)
    }

    /// Returns this weight times `more / total`, which scales inputs to equal totals. Very large totals are rounded to
    /// 64 bits. Returns the weight unchanged if either is 0.
    #[must_use]
    pub(crate) fn scaled_to(self, total: u128, more: u128) -> Self {
        let mut numerator = more.saturating_mul(u128::from(self.numerator));
        let mut denominator = total.saturating_mul(u128::from(self.denominator));
        if numerator == 0 || denominator == 0 {
            return self;
        }
        let divisor = greatest_common_divisor(numerator, denominator);
        (numerator, denominator) = (numerator / divisor, denominator / divisor);
        let excess = 64u32.saturating_sub(numerator.leading_zeros().min(denominator.leading_zeros()));
        let narrow = |value: u128| u64::try_from(value >> excess).unwrap_or(u64::MAX).max(1);
        Self { numerator: narrow(numerator), denominator: narrow(denominator) }
    }

    /// Multiplies a count by the weight, rounded to nearest (halves up). Also returns whether the result exceeded
    /// [`MAX_COUNT`]. A positive count never becomes 0.
    pub fn apply(self, count: u64) -> (u64, bool) {
        if self == Self::ONE || count == 0 {
            return (count, false);
        }
        let denominator = u128::from(self.denominator);
        // Both factors have at most 64 bits and counts have 63, so there is no overflow.
        let scaled = (u128::from(count) * u128::from(self.numerator) + denominator / 2) / denominator;
        let saturated = scaled > u128::from(MAX_COUNT);
        (u64::try_from(scaled).unwrap_or(MAX_COUNT).clamp(1, MAX_COUNT), saturated)
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self::ONE
    }
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The sums of all counts, by section.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SectionTotals([u128; SectionKind::EACH.len()]);

impl SectionTotals {
    /// Returns the sum of a section's counts.
    pub fn of(&self, kind: SectionKind) -> u128 {
        self.0[kind.index()]
    }

    /// Reads a file and returns its totals.
    ///
    /// # Errors
    ///
    /// As [`Reader::read`](crate::iprof::Reader::read).
    pub(crate) fn read_from(stream: impl Read, options: &ReadOptions) -> Result<Self> {
        let mut totals = Self::default();
        read_stream(stream, options, &mut totals).accepted(options)?;
        Ok(totals)
    }
}

impl Sink for SectionTotals {
    fn entry(&mut self, _: &Tables, entry: Entry<'_>) {
        self.0[entry.kind.index()] += entry.records.events();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_round_and_never_lose_a_count() {
        let third = Weight::parse("1/3").unwrap();
        assert_eq!([0, 1, 4, 5, 300].map(|count| third.apply(count).0), [0, 1, 1, 2, 100]);
        assert_eq!(Weight::parse("4").unwrap().apply(MAX_COUNT / 2), (MAX_COUNT, true));
        for text in ["0", "1/0", "", "-1", "1/", "1.5", "+1"] {
            assert_eq!(Weight::parse(text), None, "{text}");
        }
    }

    #[test]
    fn scaling_brings_totals_together() {
        let weight = Weight::ONE.scaled_to(300, 900);
        assert_eq!(weight.apply(7), (21, false));
        let huge = Weight::ONE.scaled_to(1 << 100, 1 << 101);
        assert_eq!(huge.apply(5), (10, false));
        assert_eq!(Weight::ONE.scaled_to(0, 5), Weight::ONE);
    }
}
