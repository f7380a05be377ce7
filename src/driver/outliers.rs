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

/// Returns how much each file has in common with the mean of the other usual ones, in the order of the files.
fn in_common(files: &[Vec<f64>], is_usual: &[bool]) -> Vec<f64> {
    let mut sums = vec![0f64; BUCKETS];
    for (shares, _) in files.iter().zip(is_usual).filter(|(_, is_usual)| **is_usual) {
        sums.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share);
    }
    let usual = is_usual.iter().filter(|is_usual| **is_usual).count();
    let common = |(shares, is_usual): (&Vec<f64>, &bool)| {
        let others = (usual - usize::from(*is_usual)) as f64;
        let rest = |own: f64, sum: f64| if *is_usual { (sum - own).max(0.0) } else { sum };
        shares.iter().zip(&sums).map(|(own, sum)| own.min(rest(*own, *sum) / others)).sum()
    };
    files.iter().zip(is_usual).map(common).collect()
}

/// Returns the median of the usual files.
fn median(common: &[f64], is_usual: &[bool]) -> f64 {
    let mut sorted: Vec<f64> =
        common.iter().zip(is_usual).filter(|(_, is_usual)| **is_usual).map(|(common, _)| *common).collect();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
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
    let (places, files): (Vec<usize>, Vec<Vec<f64>>) =
        checks.iter().enumerate().filter_map(|(at, check)| Some((at, distribution(check)?))).unzip();
    if files.len() < FEWEST_FILES {
        return;
    }
    let mut is_usual = vec![true; files.len()];
    let common = in_common(&files, &is_usual);
    let least = median(&common, &is_usual);
    if least < LEAST_IN_COMMON {
        return;
    }
    is_usual = common.iter().map(|common| *common >= least / 2.0).collect();
    // Files that differ also lower what the others have in common with all, which is not what is usual.
    let common = in_common(&files, &is_usual);
    let usual = median(&common, &is_usual);
    let others = number_of(is_usual.iter().filter(|is_usual| **is_usual).count() as u64, "other file");
    for ((at, common), _) in places.iter().zip(common).zip(is_usual).filter(|(_, is_usual)| !is_usual) {
        let check = &mut checks[*at];
        let message = format!(
            "its counts are distributed differently from those of {others}: it has {:.1} % in common with them, and {:.1} % \
             is usual among them",
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
    fn the_usual_share_does_not_depend_on_files_that_differ() {
        let usual = || check(Family::Instr, &[("a", 70), ("b", 30)]);
        let other = |name| check(Family::Instr, &[(name, 72), ("a", 28)]);
        let mut checks = vec![usual(), other("y"), usual(), usual(), other("z"), usual()];
        find_outliers(&mut checks);
        let messages: Vec<&String> =
            checks.iter().flat_map(|check| &check.findings).map(|finding| &finding.message).collect();
        let words = "those of 4 other files: it has 28.0 % in common with them, and 100.0 % is usual among them";
        assert_eq!(messages.len(), 2);
        assert!(messages.iter().all(|message| message.ends_with(words)), "{messages:?}");
    }

    #[test]
    fn files_that_all_differ_are_normal() {
        let names = ["a", "b", "c", "d", "e", "f"];
        assert_eq!(outliers(names.iter().map(|name| check(Family::Instr, &[(name, 5)])).collect()), [0; 0]);
    }
}
