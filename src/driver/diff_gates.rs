//! Thresholds for the overlap of two profiles, by section.

use crate::driver::diff::DiffReport;
use crate::driver::sections::gate_of;
use crate::error::{Error, Result};
use crate::gates::{Bound, GateOutcome, parse_share};

/// The overlap of all sections combined; see [`DiffReport::total_overlap`].
pub const TOTAL: &str = "total";

/// The smallest overlap of any section, even a tiny one.
pub(crate) const SMALLEST: &str = "smallest";

/// Names of thresholds by family.
pub(crate) const GATES: [(&str, &[&str]); 4] = [
    (
        "LLVM instrumentation and memory profiles",
        &[
            "counters",
            "indirect-call-targets",
            "memop-sizes",
            "vtables",
            "memory-bytes",
            "allocations",
            "data-accesses",
        ],
    ),
    ("LLVM sample profiles", &["places", "entries", "functions", "call-targets", "virtual-tables"]),
    ("iprof", &["call-counts", "conditionals", "virtual-invokes", "monitors", "samples", "instanceofs"]),
    ("sampled stacks", &["stacks", "methods"]),
];

/// Minimum overlaps.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DiffGates(Vec<(String, f64)>);

impl DiffGates {
    /// Parses `0.9`, which applies to the total, or `call-counts=0.9,total=80%`.
    ///
    /// ```
    /// use profbridge::driver::diff_gates::DiffGates;
    ///
    /// assert_eq!(DiffGates::parse("90%")?, DiffGates::parse("total=0.9")?);
    /// assert!(DiffGates::parse("call-counts=0.9,total=0.8").is_ok());
    /// assert!(DiffGates::parse("calls=0.9").is_err());
    /// # Ok::<(), profbridge::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A usage error for a name that no family has, and for a value that is not a share.
    pub fn parse(text: &str) -> Result<Self> {
        text.split(',')
            .map(|part| part.split_once('=').unwrap_or((TOTAL, part)))
            .map(gate)
            .collect::<Result<_>>()
            .map(Self)
    }

    /// Creates a threshold for one section, by the name of the threshold or of the section.
    ///
    /// # Errors
    ///
    /// A usage error for a name that no family has.
    pub fn on(section: &str, share: f64) -> Result<Self> {
        Ok(Self(vec![(known(section)?, share)]))
    }

    /// Returns the share, if only the total has a threshold.
    pub fn of_total(&self) -> Option<f64> {
        match &self.0[..] {
            [(name, share)] if name == TOTAL => Some(*share),
            _ => None,
        }
    }

    /// Evaluates the thresholds in their order. The overlap of a section that neither profile has is unknown, which
    /// fails.
    pub fn outcomes(&self, report: &DiffReport) -> Vec<GateOutcome> {
        let found = |name: &str| match name {
            // Without sections there is nothing to compute.
            TOTAL | SMALLEST if report.sections.is_empty() => None,
            TOTAL => Some(report.total_overlap),
            SMALLEST => Some(report.overlap),
            _ => report.sections.iter().find(|section| section.gate == name).map(|section| section.overlap),
        };
        let outcome = |(name, least): &(String, f64)| {
            let words = match name.as_str() {
                TOTAL => "the overlap of all sections".to_string(),
                SMALLEST => "the smallest overlap".to_string(),
                name => format!("the overlap of {name}"),
            };
            GateOutcome::share(name.clone(), Bound::AtLeast, *least, found(name)).hint_text(words)
        };
        self.0.iter().map(outcome).collect()
    }
}

fn gate((name, share): (&str, &str)) -> Result<(String, f64)> {
    let parsed = parse_share(share).ok_or_else(|| {
        Error::usage(format!("{share:?} is not a share between 0 and 1, or 0% and 100%"))
            .with_hint("write a share such as 0.9, or call-counts=0.9,total=0.8")
    })?;
    Ok((known(name.trim())?, parsed))
}

/// Returns the threshold for a threshold name or a section name.
fn known(name: &str) -> Result<String> {
    let asked = gate_of(name);
    let mut all = GATES.iter().flat_map(|(_, gates)| gates.iter());
    if asked == TOTAL || asked == SMALLEST || all.any(|gate| *gate == asked) {
        return Ok(asked);
    }
    let families: Vec<String> = GATES.iter().map(|(family, gates)| format!("{family}: {}", gates.join(", "))).collect();
    Err(Error::usage(format!("unknown section {name:?}"))
        .with_hint(format!("total, smallest; {}", families.join("; "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_have_names_of_all_families_and_of_sections() {
        let gates = DiffGates::parse("callCountProfiles=0.5,memory bytes=1").unwrap();
        assert_eq!(gates.0, [("call-counts".to_string(), 0.5), ("memory-bytes".to_string(), 1.0)]);
        assert_eq!(DiffGates::parse("0.5").unwrap().of_total(), Some(0.5));
        for bad in ["", "total", "total=", "calls=0.5", "total=1.5", "0.5,"] {
            assert!(DiffGates::parse(bad).is_err(), "{bad:?}");
        }
    }
}
