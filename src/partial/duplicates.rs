//! Inputs that a merge would count twice because a partial merge holds them already.

use super::claimed::original_path;
use super::inputs::PartialInput;
use crate::error::{Error, Result};
use crate::hint::Hint;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Finds inputs that occur twice, by file name and digest.
///
/// Two inputs with the same bytes are not duplicates, because two runs of a program often write the same counts. A
/// profile in a partial merge is a duplicate if another input also contains it, in whatever directory. Mergers of one job
/// know the directories of their files, so that a duplicate is in the same one. Two files that watches claimed are two
/// files, because a watch deletes what it merged.
#[derive(Debug, Clone, Default)]
pub struct Duplicates {
    seen: HashMap<(OsString, u64), Vec<Source>>,
}

/// The input of a merge that brought a profile.
#[derive(Debug, Clone)]
struct Source {
    /// The input.
    path: PathBuf,
    /// The profile: the input itself, or the path in a partial merge.
    profile: PathBuf,
    origin: Origin,
    /// Whether this is the name of the profile before a watch claimed it.
    is_claimed: bool,
}

/// How a profile came into a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    File,
    /// As a file of another merger.
    Merger,
    Partial,
}

impl Source {
    /// Returns true if a profile of the same name and digest is the same profile.
    fn is_same(&self, other: &Self) -> bool {
        let origins = [self.origin, other.origin];
        match self.is_claimed && other.is_claimed {
            true => false,
            false if origins.contains(&Origin::Partial) => true,
            false => origins.contains(&Origin::Merger) && self.may_be_at(&other.profile),
        }
    }

    /// Returns true if paths can be those of one file: a relative path may begin anywhere.
    fn may_be_at(&self, path: &Path) -> bool {
        self.profile.ends_with(path) || path.ends_with(&self.profile)
    }
}

impl Duplicates {
    /// Creates it for one input of a merge: a partial merge with the inputs that it holds, or a profile as its only
    /// one.
    pub fn of<'i>(path: &Path, is_partial: bool, inputs: impl IntoIterator<Item = &'i PartialInput>) -> Self {
        let origin = if is_partial { Origin::Partial } else { Origin::File };
        let mut seen: HashMap<_, Vec<Source>> = HashMap::new();
        for input in inputs {
            let Some(digest) = input.digest else { continue };
            let mut add = |profile: &Path, is_claimed| {
                if let Some(name) = profile.file_name() {
                    let (path, profile) = (path.to_path_buf(), profile.to_path_buf());
                    let source = Source { path, profile, origin, is_claimed };
                    seen.entry((name.to_os_string(), digest)).or_default().push(source);
                }
            };
            add(&input.path, false);
            if let Some(original) = original_path(&input.path) {
                add(&original, true);
            }
        }
        Self { seen }
    }

    /// Returns the inputs of this merger for another one, in which `name` stands for this one.
    #[must_use]
    pub fn for_other_merger(&self, name: &Path) -> Self {
        let mut seen = self.seen.clone();
        for source in seen.values_mut().flatten() {
            source.path = name.to_path_buf();
            if source.origin == Origin::File {
                source.origin = Origin::Merger;
            }
        }
        Self { seen }
    }

    /// Checks whether later inputs can be appended.
    ///
    /// # Errors
    ///
    /// Usage if one of the profiles is in both, and one of the two inputs that brought it is a partial merge or another
    /// merger.
    pub fn check(&self, later: &Self) -> Result<()> {
        let twice = |(key, sources): (&(OsString, u64), &Vec<Source>)| {
            let known = self.seen.get(key)?;
            let mut pairs = sources.iter().flat_map(|source| known.iter().map(move |earlier| (earlier, source)));
            let (earlier, later) = pairs.find(|(earlier, later)| earlier.is_same(later))?;
            Some((key.0.clone(), earlier.path.clone(), later.path.clone()))
        };
        // The first by name, so that the message does not depend on the order of a table.
        match later.seen.iter().filter_map(twice).min() {
            Some((name, earlier, later)) => Err(duplicate(Path::new(&name), &earlier, &later)),
            None => Ok(()),
        }
    }

    /// Appends later inputs.
    ///
    /// # Errors
    ///
    /// The errors of [`check`](Self::check). Then nothing is appended.
    pub fn append(&mut self, later: Self) -> Result<()> {
        self.check(&later)?;
        self.append_unchecked(later);
        Ok(())
    }

    /// Appends later inputs that may be duplicates.
    pub fn append_unchecked(&mut self, later: Self) {
        for (key, sources) in later.seen {
            self.seen.entry(key).or_default().extend(sources);
        }
    }
}

fn duplicate(name: &Path, earlier: &Path, later: &Path) -> Error {
    let original = original_path(name);
    let name = original.as_deref().unwrap_or(name).display();
    let (earlier, later) = (earlier.display(), later.display());
    Error::usage(format!("{later} and {earlier} both contain {name}, which would be counted twice"))
        .with_hint(Hint::AllowDuplicates)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(path: &str, digest: Option<u64>) -> PartialInput {
        PartialInput { digest, ..PartialInput::new(path, 1) }
    }

    /// The error of adding inputs; those with several leaves are partial merges.
    fn fault(inputs: &[(&str, &[PartialInput])]) -> Option<String> {
        let mut duplicates = Duplicates::default();
        let mut add = |(path, leaves): &(&str, &[PartialInput])| {
            duplicates.append(Duplicates::of(Path::new(path), path.ends_with(".part"), leaves.iter()))
        };
        inputs.iter().try_for_each(&mut add).err().map(|error| error.to_string())
    }

    #[test]
    fn a_profile_of_a_partial_merge_occurs_once() {
        let [a, b] = [input("x/a", Some(1)), input("b", Some(2))];
        let part = [a.clone(), b.clone()];
        let twice = "1.part and 1.part both contain a, which would be counted twice";
        assert_eq!(fault(&[("1.part", &part), ("1.part", &part)]).as_deref(), Some(twice));
        let beside = "y/a and 1.part both contain a, which would be counted twice";
        assert_eq!(fault(&[("1.part", &part), ("y/a", &[input("y/a", Some(1))])]).as_deref(), Some(beside));
        let before = "1.part and b both contain b, which would be counted twice";
        assert_eq!(fault(&[("b", &[b]), ("1.part", &part)]).as_deref(), Some(before));
    }

    #[test]
    fn files_of_several_mergers_are_compared_by_path() {
        let merger = |path: &str| Duplicates::of(Path::new(path), false, &[input(path, Some(1))]);
        let other = |path: &str| merger(path).for_other_merger(Path::new("another merger"));
        let mut sum = merger("h1/default.profraw");
        sum.append(other("h2/default.profraw")).unwrap();
        sum.append(merger("h3/default.profraw")).unwrap();
        for path in ["h1/default.profraw", "h2/default.profraw"] {
            let error = sum.check(&other(path)).unwrap_err().to_string();
            assert!(error.contains("another merger and ") && error.contains("default.profraw"), "{error}");
        }
        assert!(sum.check(&merger("h2/default.profraw")).is_err(), "the other merger has it");
        assert!(sum.check(&merger("h1/default.profraw")).is_ok(), "a file can be added twice");
        assert!(sum.check(&other("/data/h2/default.profraw")).is_err(), "one path may be relative");
        let part = Duplicates::of(Path::new("x.part"), true, &[input("default.profraw", Some(1))]);
        assert!(sum.check(&part).is_err());
        assert!(part.for_other_merger(Path::new("another merger")).check(&merger("h4/default.profraw")).is_err());
    }

    #[test]
    fn a_profile_that_a_watch_merged_and_deleted_is_known_by_its_name() {
        let claimed = |number: u8| input(&format!("x/a.merging-{number:032x}"), Some(1));
        let twice = |name: &str, found: Option<String>| {
            let expected = format!("{name} and 1.part both contain a, which would be counted twice");
            assert_eq!(found, Some(expected));
        };
        let part = ("1.part", &[claimed(1), claimed(2)][..]);
        twice("a", fault(&[part, ("a", &[input("a", Some(1))])]));
        twice("2.part", fault(&[part, ("2.part", &[claimed(1)])]));
        twice("2.part", fault(&[part, ("2.part", &[input("y/a", Some(1)), input("b", Some(1))])]));
    }

    #[test]
    fn other_names_and_plain_inputs_are_not_duplicates() {
        let a = input("a", Some(1));
        assert_eq!(fault(&[("a", std::slice::from_ref(&a)), ("a", std::slice::from_ref(&a))]), None);
        let other = [input("a", Some(2)), input("b", Some(1)), input("a", None)];
        assert_eq!(fault(&[("1.part", &[a, input("a", None)]), ("2.part", &other)]), None);
        // A watch deletes files, so that programs write others with their names.
        let claimed = |number: u8| input(&format!("x/a.merging-{number:032x}"), Some(1));
        assert_eq!(fault(&[("1.part", &[claimed(1)]), ("2.part", &[claimed(2)])]), None);
        assert_eq!(fault(&[("1.part", &[claimed(1), claimed(2)]), ("a", &[claimed(3)])]), None);
        // One partial merge may hold the same bytes twice.
        assert_eq!(fault(&[("1.part", &[input("x/a", Some(1)), input("y/a", Some(1))])]), None);
    }
}
