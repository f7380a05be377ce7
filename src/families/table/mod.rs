//! One driver per family: the operations on a file of the family. `check`, `info`, `diff` and the drawings use the
//! table, and know no formats themselves. To add a family, add its modules, a file here, and a row to [`DRIVERS`].

mod driver;
mod instr;
mod iprof;
mod memprof;
mod sampleprof;
mod stacks;

use crate::error::{Error, Result};
use crate::input::{Family, Input};
use driver::Driver;

/// All families that are read.
const DRIVERS: [&Driver; Family::ALL.len()] =
    [&instr::DRIVER, &sampleprof::DRIVER, &memprof::DRIVER, &iprof::DRIVER, &stacks::DRIVER];

/// The driver of a family.
///
/// # Errors
///
/// Unsupported for a family without a driver, which does not exist.
pub(super) fn driver(family: Family) -> Result<&'static Driver> {
    let found = DRIVERS.into_iter().find(|driver| driver.family == family);
    found.ok_or_else(|| Error::usage(format!("{} are not supported", family.words())))
}

/// Returns the driver that compares two files: that of their family, or of one family that can be compared with the
/// other.
///
/// # Errors
///
/// I/O; usage for families that cannot be compared. The other file's reader reports a file that is not a profile.
pub(super) fn comparing(first: &Input, second: &Input) -> Result<&'static Driver> {
    let (one, other) = match (first.family()?, second.family()?) {
        (Some(one), Some(other)) => (one, other),
        (Some(one), None) | (None, Some(one)) => (one, one),
        (None, None) => (Family::Instr, Family::Instr),
    };
    let takes = |one: Family, other: Family| {
        let driver = driver(one)?;
        Ok::<_, Error>(Some(driver).filter(|driver| one == other || driver.compared_with.contains(&other)))
    };
    if let Some(driver) = takes(one, other)? {
        return Ok(driver);
    }
    takes(other, one)?.ok_or_else(|| {
        Error::kind_conflict(format!("cannot compare {} with {}", one.words(), other.words()))
            .in_file(&second.path)
            .with_hint("compare profiles of one family, or an iprof with LLVM profiles or stacks")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_has_its_driver() {
        for family in Family::ALL {
            assert_eq!(driver(family).unwrap().family, family);
        }
    }

    /// Whichever of two files comes first, the same driver compares them.
    #[test]
    fn the_order_of_two_files_does_not_choose_how_they_are_compared() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            Input::new(path)
        };
        let files = [
            file("instr", ":ir\nmain\n1\n1\n5\n"),
            file("sample", "foo:10:1\n 1: 5\n"),
            file("memory", "---\nHeapProfileRecords:\n"),
            file("iprof", "{\"version\":\"1.0.0\",\"types\":[]}"),
            file("stacks", "a;b 1\nc;d 2\n"),
            file("prose", "It was\na dark night\n"),
        ];
        for first in &files {
            for second in &files {
                let family = |one: &Input, other: &Input| comparing(one, other).ok().map(|driver| driver.family);
                assert_eq!(family(first, second), family(second, first), "{first:?} {second:?}");
            }
        }
        let family = |one: usize, other: usize| comparing(&files[one], &files[other]).ok().map(|driver| driver.family);
        assert_eq!(family(0, 3), Some(Family::Iprof));
        assert_eq!(family(3, 4), Some(Family::Stacks));
        assert_eq!(family(0, 2), Some(Family::Instr));
        assert_eq!(family(0, 4), None);
        assert_eq!(family(5, 5), Some(Family::Instr));
    }
}
