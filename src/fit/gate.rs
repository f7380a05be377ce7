//! Thresholds below which a comparison counts as failed.

use super::report::FitReport;
use crate::error::{Error, Result};
use crate::gates::{self, Bound, GateOutcome};

/// A share that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GateShare {
    /// Counts of the profile that are used.
    UsedCounts,
    /// Functions of the profile that are used.
    UsedFunctions,
    /// Functions of the new build that have a profile.
    ProfiledFunctions,
}

impl GateShare {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::UsedCounts, Self::UsedFunctions, Self::ProfiledFunctions];

    /// Its name in a gate.
    pub fn name(self) -> &'static str {
        match self {
            Self::UsedCounts => "used-counts",
            Self::UsedFunctions => "used-functions",
            Self::ProfiledFunctions => "profiled-functions",
        }
    }

    fn of(self, report: &FitReport) -> Option<f64> {
        match self {
            Self::UsedCounts => report.used_counts,
            Self::UsedFunctions => report.used_functions,
            Self::ProfiledFunctions => report.profiled_functions,
        }
    }
}

/// Shares and the least that each must be.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Gate(Vec<(GateShare, f64)>);

impl Gate {
    /// Parses `used-counts=0.9,used-functions=80%`.
    ///
    /// ```
    /// use profbridge::fit::Gate;
    ///
    /// assert!(Gate::parse("used-counts=0.9,used-functions=80%").is_ok());
    /// assert!(Gate::parse("used=0.9").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// Usage for a name that is not known, and for what is no share.
    pub fn parse(text: &str) -> Result<Self> {
        let known = || GateShare::ALL.map(GateShare::name).join(", ");
        let mut gate = Vec::new();
        for part in text.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(|| {
                Error::usage(format!("{part:?} is no threshold"))
                    .with_hint("such as used-counts=0.9,used-functions=0.8")
            })?;
            let share = GateShare::ALL.into_iter().find(|share| share.name() == name.trim()).ok_or_else(|| {
                Error::usage(format!("there is no share {name:?}")).with_hint(format!("shares: {}", known()))
            })?;
            gate.push((share, parse_share(value)?));
        }
        Ok(Self(gate))
    }

    /// How the shares fare, in the order of the gate.
    pub fn outcomes(&self, report: &FitReport) -> Vec<GateOutcome> {
        let outcome = |(share, least): &(GateShare, f64)| {
            GateOutcome::share(share.name(), Bound::AtLeast, *least, share.of(report))
        };
        self.0.iter().map(outcome).collect()
    }
}

fn parse_share(text: &str) -> Result<f64> {
    gates::parse_share(text)
        .ok_or_else(|| Error::usage(format!("{text:?} is no share: they are between 0 and 1, or 0% and 100%")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_shares_are_checked() {
        let gate = Gate::parse("used-counts=0.9,profiled-functions=12.5%").unwrap();
        assert_eq!(gate.0, [(GateShare::UsedCounts, 0.9), (GateShare::ProfiledFunctions, 0.125)]);
        for bad in
            ["", "used-counts", "used-counts=", "used=0.5", "used-counts=1.5", "used-counts=NaN", "used-counts=0.5,"]
        {
            assert!(Gate::parse(bad).is_err(), "{bad:?}");
        }
        assert_eq!(
            Gate::parse("counts=1").unwrap_err().hint().map(ToString::to_string).as_deref(),
            Some("shares: used-counts, used-functions, profiled-functions")
        );
    }
}
