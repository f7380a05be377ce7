//! The density of a sample profile: whether its hot functions have enough samples.
//!
//! It is that of `llvm-profgen --show-density`: the samples of a function and its inlined callees, divided by the number
//! of their line locations (or probes). The density of a profile is that of the least dense of the functions, densest
//! first, that together have 99 % of the samples.

use super::profile::HOT_CUTOFF;
use super::record::FunctionRecord;

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
    let mut found: Vec<(u128, u64)> =
        records.iter().map(samples_and_places).filter(|(_, places)| *places > 0).collect();
    let total: u128 = found.iter().map(|(samples, _)| samples).sum();
    if total == 0 {
        return None;
    }
    let ratio = |(samples, places): &(u128, u64)| *samples as f64 / *places as f64;
    found.sort_by(|a, b| ratio(b).total_cmp(&ratio(a)).then(a.0.cmp(&b.0)));
    let wanted = total as f64 * f64::from(HOT_CUTOFF) / 1_000_000.0;
    let (mut sum, mut hot) = (0u128, 0);
    for function in &found {
        sum += function.0;
        hot += 1;
        if sum as f64 >= wanted {
            return Some(Density { samples: ratio(function), hot });
        }
    }
    found.last().map(|last| Density { samples: ratio(last), hot })
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
        assert_eq!(of("foo:10:1\n 1: 4\n 2: 6\n"), Some(Density { samples: 5.0, hot: 1 }));
        assert_eq!(of("foo:0:0\n 1: 0\n"), None);
        assert_eq!(of("foo:0:5\n"), None);
    }
}
