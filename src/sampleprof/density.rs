//! The density of a sample profile: whether its hot functions have enough samples.
//!
//! It is that of `llvm-profgen --show-density`: the samples of a function and its inlined callees, divided by the number
//! of their line locations (or probes). The density of a profile is that of the least dense of the functions, densest
//! first, that together have 99 % of the samples.

use super::profile::HOT_CUTOFF;
use super::record::FunctionRecord;

/// A hot function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HotFunction {
    /// Its place among the records.
    pub(crate) at: usize,
    /// The samples of it and its inlined callees.
    pub(crate) samples: u128,
    /// Their line locations.
    pub(crate) places: u64,
}

impl HotFunction {
    /// Returns the samples per line location.
    pub(crate) fn density(&self) -> f64 {
        self.samples as f64 / self.places as f64
    }
}

/// The density of a profile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Density {
    /// Samples per line location.
    pub(crate) samples: f64,
    /// The functions or contexts that have 99 % of the samples.
    pub(crate) hot: u64,
}

/// Returns the density of records; `None` if they have no samples.
pub(crate) fn density(records: &[FunctionRecord]) -> Option<Density> {
    let hot = hot_functions(records);
    let last = hot.last()?;
    Some(Density { samples: last.density(), hot: hot.len() as u64 })
}

/// Returns the densest functions that together have 99 % of the samples, densest first.
pub(crate) fn hot_functions(records: &[FunctionRecord]) -> Vec<HotFunction> {
    let function = |(at, record)| {
        let (samples, places) = samples_and_places(record);
        HotFunction { at, samples, places }
    };
    let mut found: Vec<HotFunction> =
        records.iter().enumerate().map(function).filter(|function| function.places > 0).collect();
    let total: u128 = found.iter().map(|function| function.samples).sum();
    if total == 0 {
        return Vec::new();
    }
    found.sort_by(|a, b| b.density().total_cmp(&a.density()).then(a.samples.cmp(&b.samples)));
    let wanted = total as f64 * f64::from(HOT_CUTOFF) / 1_000_000.0;
    let mut sum = 0u128;
    let before = found.iter().position(|function| {
        sum += function.samples;
        sum as f64 >= wanted
    });
    found.truncate(before.map_or(found.len(), |before| before + 1));
    found
}

/// Returns the samples of a record and its inlined callees, and the number of their line locations.
fn samples_and_places(record: &FunctionRecord) -> (u128, u64) {
    let own: u128 = record.body.iter().map(|entry| u128::from(entry.samples)).sum();
    let inlined = record.call_sites.iter().map(|site| samples_and_places(&site.callee));
    inlined.fold((own, record.body.len() as u64), |sum, more| (sum.0 + more.0, sum.1 + more.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampleprof::{ReadOptions, read};

    #[test]
    fn the_density_is_that_of_the_last_hot_function() {
        let of = |text: &str| density(&read(text.as_bytes(), &ReadOptions::default()).unwrap().functions);
        let text = "foo:1000:10\n 1: 500\n 2: 300\n 3: bar:200\n  1: 150\n  2: 50\nbaz:30:3\n 1: 20\n 2: 5\n 3: 5\nthin:9:1\n 1: 9\n";
        assert_eq!(of(text), Some(Density { samples: 10.0, hot: 2 }));
        let profile = read(text.as_bytes(), &ReadOptions::default()).unwrap();
        let hot: Vec<(String, f64)> = hot_functions(&profile.functions)
            .iter()
            .map(|function| {
                (profile.title(&profile.functions[function.at]).escape_ascii().to_string(), function.density())
            })
            .collect();
        assert_eq!(hot, [("foo".to_string(), 250.0), ("baz".to_string(), 10.0)]);
        assert_eq!(of("foo:10:1\n 1: 4\n 2: 6\n"), Some(Density { samples: 5.0, hot: 1 }));
        assert_eq!(of("foo:0:0\n 1: 0\n"), None);
        assert_eq!(of("foo:0:5\n"), None);
    }
}
