//! Thresholds for a result, and their outcomes.

use crate::error::{Error, ErrorKind, Result};
use std::borrow::Cow;
use std::fmt;

/// A number that a threshold compares.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(untagged))]
pub enum Amount {
    /// A number of items.
    Count(u64),
    /// A share, from 0 to 1.
    Share(f64),
}

impl Amount {
    fn as_share(self) -> f64 {
        match self {
            Self::Count(count) => count as f64,
            Self::Share(share) => share,
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            // At most four digits, as in `99.99 %`.
            Self::Share(share) => write!(f, "{} %", (share * 1e6).round() / 1e4),
        }
    }
}

/// The direction of a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Bound {
    /// A minimum.
    AtLeast,
    /// A maximum.
    AtMost,
}

/// The outcome of one threshold.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct GateOutcome {
    /// The name of the threshold on the command line.
    pub gate: Cow<'static, str>,
    /// A description for messages, if the name is not clear.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub words: Option<String>,
    /// Whether `wanted` is a minimum or a maximum.
    pub bound: Bound,
    /// The threshold.
    pub wanted: Amount,
    /// The value of the result; `None` if it cannot be computed.
    pub found: Option<Amount>,
    /// Whether the result passes.
    pub passed: bool,
}

impl GateOutcome {
    /// Compares a share with a threshold.
    pub fn share(gate: impl Into<Cow<'static, str>>, bound: Bound, wanted: f64, found: Option<f64>) -> Self {
        let passed = found.is_some_and(|found| match bound {
            Bound::AtLeast => found >= wanted,
            Bound::AtMost => found <= wanted,
        });
        let (wanted, found) = (Amount::Share(wanted), found.map(Amount::Share));
        Self { gate: gate.into(), words: None, bound, wanted, found, passed }
    }

    /// Compares a number with a minimum.
    pub fn count(gate: impl Into<Cow<'static, str>>, wanted: u64, found: u64) -> Self {
        let (passed, found) = (found >= wanted, Some(Amount::Count(found)));
        Self { gate: gate.into(), words: None, bound: Bound::AtLeast, wanted: Amount::Count(wanted), found, passed }
    }

    /// Formats a share as a percentage with two decimals, rounded so that a failure never looks like a pass.
    fn rounded(&self, share: f64) -> String {
        const TEN_THOUSAND: f64 = 10_000.0;
        let (scaled, near) = (share * TEN_THOUSAND, (share * TEN_THOUSAND).round());
        let reads_as = Self::share("", self.bound, self.wanted.as_share(), Some(near / TEN_THOUSAND));
        let digits = match (reads_as.passed == self.passed, self.bound) {
            (true, _) => near,
            (false, Bound::AtLeast) => scaled.floor(),
            (false, Bound::AtMost) => scaled.ceil(),
        };
        format!("{:.2} %", digits / 100.0)
    }

    /// Returns the outcome with another description.
    #[must_use]
    pub fn hint_text(mut self, words: impl Into<String>) -> Self {
        self.words = Some(words.into());
        self
    }
}

/// `used-counts is 43.12 %, below 90 %`.
impl fmt::Display for GateOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.words.as_deref().unwrap_or(&self.gate);
        let Some(found) = self.found else {
            let wanted = self.wanted;
            return write!(f, "cannot compute {name} (required: {wanted}): there is nothing to count");
        };
        match found {
            Amount::Share(share) => write!(f, "{name} is {}", self.rounded(share))?,
            Amount::Count(count) => write!(f, "{name} is {count}")?,
        }
        match (self.bound, self.passed) {
            (Bound::AtLeast, false) => write!(f, ", below {}", self.wanted),
            (Bound::AtMost, false) => write!(f, ", above {}", self.wanted),
            (Bound::AtLeast, true) => write!(f, " (minimum: {})", self.wanted),
            (Bound::AtMost, true) => write!(f, " (maximum: {})", self.wanted),
        }
    }
}

/// Checks that all thresholds passed.
///
/// # Errors
///
/// [`ErrorKind::GateFailed`] with the thresholds that failed.
pub fn require(outcomes: &[GateOutcome]) -> Result<()> {
    let failures: Vec<GateOutcome> = outcomes.iter().filter(|outcome| !outcome.passed).cloned().collect();
    if failures.is_empty() { Ok(()) } else { Err(Error::new(ErrorKind::GateFailed { failures })) }
}

/// Parses a share from 0 to 1, or a percentage: `0.9`, `90%`. Returns `None` for anything else.
pub fn parse_share(text: &str) -> Option<f64> {
    let text = text.trim();
    let share = match text.strip_suffix('%').map(str::trim) {
        // The exponent moves the point exactly; a division by 100 rounds a second time.
        Some(number) if !number.contains(['e', 'E']) => format!("{number}e-2").parse::<f64>().ok()?,
        Some(number) => number.parse::<f64>().ok()? / 100.0,
        None => text.parse::<f64>().ok()?,
    };
    (0.0..=1.0).contains(&share).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_reports_the_side_of_the_result() {
        let share = |bound, wanted, found| GateOutcome::share("total", bound, wanted, found).to_string();
        assert_eq!(share(Bound::AtLeast, 0.9, Some(0.89999)), "total is 89.99 %, below 90 %");
        assert_eq!(share(Bound::AtMost, 0.5, Some(0.50001)), "total is 50.01 %, above 50 %");
        assert_eq!(
            share(Bound::AtLeast, 0.9, None),
            "cannot compute total (required: 90 %): there is nothing to count"
        );
        let inputs = GateOutcome::count("inputs", 3, 1).hint_text("the number of inputs used");
        assert_eq!(inputs.to_string(), "the number of inputs used is 1, below 3");
        assert!(GateOutcome::count("inputs", 3, 3).passed && !inputs.passed);
    }

    #[test]
    fn shares_are_numbers_from_0_to_1_or_percentages() {
        assert_eq!((parse_share("0.9"), parse_share(" 12.5%")), (Some(0.9), Some(0.125)));
        assert_eq!((parse_share("99.99%"), parse_share("7 %")), (Some(0.9999), Some(0.07)));
        for bad in ["", "1.5", "-0.1", "NaN", "110%", "x%", "inf"] {
            assert_eq!(parse_share(bad), None, "{bad}");
        }
    }
}
