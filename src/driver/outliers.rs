//! Files whose counts are distributed differently from those of the other files.

use super::check::{CheckFinding, FileCheck};
use super::distribution::BUCKETS;
use crate::digits::number_of;
use crate::error::Level;
use crate::identify::Family;

/// The smallest number of files in which one can differ from the others.
pub(crate) const FEWEST_FILES: usize = 4;

/// Files differ from each other anyway if half of them have less in common with the others.
const LEAST_IN_COMMON: f64 = 0.5;

/// Returns the share that a file has in common with the mean of the others, given the sum of all.
fn in_common(shares: &[f64], sums: &[f64], files: usize) -> f64 {
    let others = (files - 1) as f64;
    shares.iter().zip(sums).map(|(own, sum)| own.min((sum - own).max(0.0) / others)).sum()
}

/// Adds a warning to each file whose counts are distributed differently from those of the other files of its family: it
/// has less than half as much in common with them as is usual among them.
pub fn find_outliers(checks: &mut [FileCheck]) {
    let mut families: Vec<Family> =
        checks.iter().filter_map(|check| check.distribution.as_ref()).map(|found| found.family).collect();
    families.sort_unstable_by_key(|family| family.name());
    families.dedup();
    families.into_iter().for_each(|family| find_outliers_of(family, checks));
}

fn find_outliers_of(family: Family, checks: &mut [FileCheck]) {
    let distribution = |check: &FileCheck| check.distribution.as_ref().filter(|found| found.family == family)?.shares();
    let found: Vec<(usize, Vec<f64>)> =
        checks.iter().enumerate().filter_map(|(at, check)| Some((at, distribution(check)?))).collect();
    let files = found.len();
    if files < FEWEST_FILES {
        return;
    }
    let mut sums = vec![0f64; BUCKETS];
    for (_, shares) in &found {
        sums.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share);
    }
    let common: Vec<f64> = found.iter().map(|(_, shares)| in_common(shares, &sums, files)).collect();
    let mut sorted = common.clone();
    sorted.sort_by(f64::total_cmp);
    let usual = sorted[files / 2];
    if usual < LEAST_IN_COMMON {
        return;
    }
    let others = number_of((files - 1) as u64, "other file");
    for ((at, _), common) in found.iter().zip(common).filter(|(_, common)| *common < usual / 2.0) {
        let check = &mut checks[*at];
        let message = format!(
            "its counts are distributed differently from those of the {others}: it has {:.1} % in common with them, and \
             {:.1} % is usual",
            100.0 * common,
            100.0 * usual
        );
        check.findings.push(CheckFinding {
            level: Level::Warning.name(),
            code: format!("{}.different-distribution", check.format),
            path: "$".to_string(),
            offset: None,
            message,
            hint: None,
            more: 0,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::check::failed;
    use crate::driver::distribution::Distribution;
    use crate::error::Error;

    fn check(family: Family, counts: &[(&str, u128)]) -> FileCheck {
        let mut check = failed(&Error::usage("none"));
        check.findings.clear();
        let mut distribution = Distribution::new(family);
        counts.iter().for_each(|(name, count)| distribution.add(name.as_bytes(), *count));
        check.distribution = Some(distribution);
        check
    }

    fn outliers(mut checks: Vec<FileCheck>) -> Vec<usize> {
        find_outliers(&mut checks);
        (0..checks.len()).filter(|at| !checks[*at].findings.is_empty()).collect()
    }

    #[test]
    fn one_of_many_files_differs() {
        let usual = || check(Family::Instr, &[("a", 70), ("b", 20), ("c", 10)]);
        let mut checks: Vec<FileCheck> = (0..100).map(|_| usual()).collect();
        checks[17] = check(Family::Instr, &[("z", 5_000_000), ("a", 1)]);
        checks[18] = check(Family::Instr, &[("a", 7_000_000), ("b", 1_000_000)]);
        checks[19] = check(Family::Instr, &[]);
        assert_eq!(outliers(checks), [17]);
        let others = [("z", 9)];
        // Other families are not compared, and three files are too few.
        assert_eq!(outliers(vec![usual(), usual(), usual(), check(Family::Stacks, &others)]), [0; 0]);
        assert_eq!(outliers(vec![usual(), usual(), check(Family::Instr, &others)]), [0; 0]);
        assert_eq!(outliers(vec![usual(), usual(), usual(), check(Family::Instr, &others)]), [3]);
    }

    #[test]
    fn files_that_all_differ_are_normal() {
        let names = ["a", "b", "c", "d", "e", "f"];
        assert_eq!(outliers(names.iter().map(|name| check(Family::Instr, &[(name, 5)])).collect()), [0; 0]);
    }
}
