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
/// profile in a partial merge is a duplicate if another input also contains it. Two files that watches claimed are two
/// files, because a watch deletes what it merged.
#[derive(Debug, Clone, Default)]
pub struct Duplicates {
    seen: HashMap<(OsString, u64), Source>,
}

/// The input of a merge that brought a profile.
#[derive(Debug, Clone)]
struct Source {
    path: PathBuf,
    is_partial: bool,
    /// Whether this is the name of the profile before a watch claimed it.
    is_claimed: bool,
}

impl Duplicates {
    /// Creates it for one input of a merge: a partial merge with the inputs that it holds, or a profile as its only
    /// one.
    pub fn of<'i>(path: &Path, is_partial: bool, inputs: impl IntoIterator<Item = &'i PartialInput>) -> Self {
        let mut seen = HashMap::new();
        for input in inputs {
            let Some(digest) = input.digest else { continue };
            let mut add = |path_of_input: &Path, is_claimed| {
                if let Some(name) = path_of_input.file_name() {
                    let source = Source { path: path.to_path_buf(), is_partial, is_claimed };
                    seen.insert((name.to_os_string(), digest), source);
                }
            };
            add(&input.path, false);
            if let Some(original) = original_path(&input.path) {
                add(&original, true);
            }
        }
        Self { seen }
    }

    /// Checks whether later inputs can be appended.
    ///
    /// # Errors
    ///
    /// Usage if one of the profiles is in both, and one of the two inputs that brought it is a partial merge.
    pub fn check(&self, later: &Self) -> Result<()> {
        let twice = |(key, source): (&(OsString, u64), &Source)| {
            let earlier = self.seen.get(key).filter(|earlier| source.is_partial || earlier.is_partial)?;
            if source.is_claimed && earlier.is_claimed {
                return None;
            }
            Some((key.0.clone(), earlier.path.clone(), source.path.clone()))
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
        for (key, source) in later.seen {
            self.seen.entry(key).or_insert(source);
        }
        Ok(())
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
