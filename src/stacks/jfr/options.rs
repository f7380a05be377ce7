//! What of a recording is read: which events, by which weight, of which time.

use crate::error::{Error, Result};
use crate::stacks::model::{SampleSource, Weight};
use std::str::FromStr;

/// What is read of a recording beside its samples, which are always read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RecordingOptions {
    /// Events that are no samples of time, such as allocations, to be read as
    /// well. All others are only counted. Default: none.
    pub events: Vec<SampleSource>,
    /// By what events are counted. Default: nanoseconds or bytes.
    pub weight: Weight,
    /// Only what began at this time or later. Default: from the beginning.
    pub from: Option<TimeBound>,
    /// Only what began before this time. Default: to the end.
    pub to: Option<TimeBound>,
}

impl RecordingOptions {
    /// Says no where the chosen events cannot be counted by the chosen weight.
    ///
    /// # Errors
    ///
    /// Usage, with the events that cannot.
    pub fn check(&self) -> Result<()> {
        let cannot: Vec<&str> = self
            .events
            .iter()
            .filter(|source| source.unit(self.weight).is_none())
            .map(|source| source.word())
            .collect();
        if cannot.is_empty() {
            return Ok(());
        }
        let what = if self.weight == Weight::Bytes { "bytes" } else { "time" };
        Err(Error::usage(format!("events of the sort {} have no {what}", cannot.join(", ")))
            .with_hint("allocations have bytes, locks and waiting have time, reads and writes have both"))
    }
}

/// A point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeBound {
    /// Nanoseconds after the recording's first chunk began.
    After(u64),
    /// Nanoseconds since 1970, in UTC.
    At(u64),
}

impl TimeBound {
    /// Nanoseconds since 1970 for a recording that began at `start`.
    pub(super) fn nanos(self, start: u64) -> u64 {
        match self {
            Self::After(nanos) => start.saturating_add(nanos),
            Self::At(nanos) => nanos,
        }
    }
}

impl FromStr for TimeBound {
    type Err = Error;

    /// `90s`, `1.5m`, `250ms`, `2h` after the beginning, a number without unit
    /// in seconds, or a date such as `2026-11-22T04:38:00Z`.
    fn from_str(text: &str) -> Result<Self> {
        let found = if text.contains('T') { parse_date(text).map(Self::At) } else { parse_span(text).map(Self::After) };
        found.ok_or_else(|| {
            Error::usage(format!("{text} is no time"))
                .with_hint("write 90s, 1.5m, 250ms or 2h after the beginning, or a date such as 2026-11-22T04:38:00Z")
        })
    }
}

/// A length of time in nanoseconds.
fn parse_span(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match &text[digits.len()..] {
        "ms" => 1_000_000,
        "" | "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    nanos_of(whole.parse().ok()?, fraction, unit)
}

/// So many units and a decimal fraction of one, in nanoseconds; no sign, and no
/// more than nine digits of fraction.
fn nanos_of(whole: u64, fraction: &str, unit: u64) -> Option<u64> {
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let billionths: u64 = format!("{fraction:0<9}").parse().ok()?;
    let part = u128::from(billionths) * u128::from(unit) / 1_000_000_000;
    whole.checked_mul(unit)?.checked_add(u64::try_from(part).ok()?)
}

/// A date with time of day in UTC, in nanoseconds since 1970.
fn parse_date(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, mark: char| -> Option<[u64; 3]> {
        let mut parts = text.split(mark);
        let found = [parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?];
        parts.next().is_none().then_some(found)
    };
    let [year, month, day] = numbers(date, '-')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let [hour, minute, second] = numbers(time, ':')?;
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let lengths = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before = lengths.get(..usize::try_from(month).ok()?.checked_sub(1)?)?;
    let is_day = (1..=*lengths.get(before.len())?).contains(&day);
    if !(1970..10_000).contains(&year) || !is_day || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let leap_days = |year: u64| year / 4 - year / 100 + year / 400;
    let days = (year - 1970) * 365 + leap_days(year - 1) - leap_days(1969) + before.iter().sum::<u64>() + day - 1;
    nanos_of(((days * 24 + hour) * 60 + minute) * 60 + second, fraction, 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_lengths_or_dates() {
        for (text, expected) in [
            ("90s", TimeBound::After(90_000_000_000)),
            ("1.5m", TimeBound::After(90_000_000_000)),
            ("250ms", TimeBound::After(250_000_000)),
            ("2h", TimeBound::After(7_200_000_000_000)),
            ("7", TimeBound::After(7_000_000_000)),
            ("0.000000001", TimeBound::After(1)),
            ("1970-01-01T00:00:00Z", TimeBound::At(0)),
            ("2000-03-01T00:00:00Z", TimeBound::At(951_868_800_000_000_000)),
            ("2026-11-22T04:38:00.25Z", TimeBound::At(1_795_322_280_250_000_000)),
        ] {
            assert_eq!(text.parse::<TimeBound>().unwrap(), expected, "{text}");
        }
        for text in [
            "",
            "s",
            "-1s",
            "1d",
            "1.2.3",
            "2026-11-22T04:38:00",
            "2026-02-29T00:00:00Z",
            "1e3",
            "2026-00-01T00:00:00Z",
        ] {
            assert!(text.parse::<TimeBound>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_weight_that_an_event_has_not_is_refused() {
        let options = |events: &[SampleSource], weight| RecordingOptions {
            events: events.to_vec(),
            weight,
            ..Default::default()
        };
        let error = options(&[SampleSource::Allocation, SampleSource::Lock], Weight::Bytes).check().unwrap_err();
        assert!(error.to_string().contains("events of the sort lock have no bytes"), "{error}");
        assert!(options(&[SampleSource::Execution], Weight::Time).check().is_err());
        for weight in [Weight::Usual, Weight::Count, Weight::Bytes, Weight::Time] {
            options(&[SampleSource::FileRead], weight).check().unwrap();
        }
    }
}
