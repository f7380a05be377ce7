//! A temporary file that becomes the output when it is complete.
//!
//! On Linux it has no name until then (`O_TMPFILE`, if the file system supports it): the system deletes it when the
//! process ends for any reason. A link can create a name but not replace one. So if the target exists, the complete
//! file first gets a name in the same directory and is renamed at once. A process that is killed between the two leaves
//! a complete copy under that name.
//!
//! Elsewhere it has a name in the same directory from the beginning. The creator of such a name locks the file, and the
//! system releases the lock with the process. So a later run recognizes files of killed runs and removes them.

use super::system_calls::{Step, step};
use crate::system::{self, HAS_LOCKS, is_at, lock};
use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::BuildHasher;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The prefix of temporary names in the directory of the output.
pub(super) const PREFIX: &str = ".profbridge-";

/// Called for every file of a killed run that is removed.
pub(super) static ON_REMOVED: OnceLock<fn(&Path)> = OnceLock::new();

/// A file that is not in its final location yet. It is deleted when this is dropped.
#[derive(Debug)]
pub(super) struct Temporary {
    pub(super) file: File,
    /// `None` if it has no name.
    name: Option<Name>,
}

impl Temporary {
    /// Creates a file that will be moved into `folder`, with the permissions of new files.
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        let made = step(Step::Create, || match system::unnamed_file(folder) {
            Some(file) => Ok(Self { file, name: None }),
            None => Self::with_name(folder),
        })?;
        remove_leftovers(folder, &made.file);
        Ok(made)
    }

    fn with_name(folder: &Path) -> io::Result<Self> {
        loop {
            let (file, name) = Name::unused(folder, |path| system::create_new(path, false))?;
            lock(&file);
            // Another run may have removed it as a leftover between its creation and the lock.
            if !HAS_LOCKS || is_at(&file, &name.0) {
                return Ok(Self { file, name: Some(name) });
            }
        }
    }

    /// Moves the file to its target; `is_taken` is true if the target exists.
    ///
    /// # Errors
    ///
    /// The errors of linking and renaming. The existing file is then untouched.
    pub(super) fn persist(self, folder: &Path, target: &Path, is_taken: bool) -> io::Result<()> {
        let name = match self.name {
            Some(name) => name,
            None if !is_taken => match step(Step::Link, || system::name_file(&self.file, target)) {
                // Another process created the target first.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => in_directory_of(&self.file, folder)?,
                linked => return linked,
            },
            None => in_directory_of(&self.file, folder)?,
        };
        step(Step::Rename, || name.rename(target))
    }
}

/// Gives the file an unused name.
fn in_directory_of(file: &File, folder: &Path) -> io::Result<Name> {
    lock(file);
    step(Step::Link, || Name::unused(folder, |path| system::name_file(file, path))).map(|((), name)| name)
}

/// Creates a file that only this process can open, and that is deleted with it.
pub(super) fn scratch_file() -> io::Result<File> {
    let folder = std::env::temp_dir();
    match system::unnamed_file(&folder) {
        Some(file) => Ok(file),
        None => Name::unused(&folder, |path| system::create_new(path, true)).map(|(file, _)| file),
    }
}

/// A temporary name of a file, which is removed when this is dropped.
#[derive(Debug)]
struct Name(PathBuf);

impl Name {
    /// Creates a file with an unused name.
    ///
    /// # Errors
    ///
    /// The errors of creating it; already exists if a file system says so of every name.
    fn unused<T>(folder: &Path, create: impl Fn(&Path) -> io::Result<T>) -> io::Result<(T, Self)> {
        const MOST_TRIES: u32 = 1000;
        let mut tries = 0;
        loop {
            let path = folder.join(format!("{PREFIX}{:016x}", RandomState::new().hash_one(PREFIX)));
            tries += 1;
            match create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < MOST_TRIES => {}
                made => return Ok((made?, Self(path))),
            }
        }
    }

    /// Moves the file, which loses its temporary name.
    fn rename(mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.0, target)?;
        self.0.clear();
        Ok(())
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty() {
            let _ = fs::remove_file(&self.0);
        }
    }
}

/// Removes files of this user that killed runs left in a directory. Files that cannot be removed stay; they do no harm.
fn remove_leftovers(folder: &Path, own: &File) {
    if !HAS_LOCKS {
        return;
    }
    let Ok(entries) = fs::read_dir(folder) else { return };
    let names = entries.flatten().map(|entry| entry.file_name());
    for name in names.filter(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes())) {
        let path = folder.join(name);
        if remove_leftover(&path, own).unwrap_or(false)
            && let Some(hear) = ON_REMOVED.get()
        {
            hear(&path);
        }
    }
}

/// Removes a file that no process works on. Returns true if it did.
fn remove_leftover(path: &Path, own: &File) -> io::Result<bool> {
    // A running process, or this one, holds the lock.
    let found = system::open_of_same_owner(path, own)?;
    let is_left = found.is_some_and(|file| lock(&file) && is_at(&file, path));
    if is_left {
        fs::remove_file(path)?;
    }
    Ok(is_left)
}

/// Waits until the content is stored, on file systems that report a full disk only then: network file systems.
pub(super) fn store(file: &File) -> io::Result<()> {
    step(Step::Sync, || if system::reports_late(file) { file.sync_data() } else { Ok(()) })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::Write;

    fn names_in(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_with_a_name_takes_its_place_as_one_without_does() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        for (named, is_taken) in [(true, false), (false, true), (true, true), (false, true)] {
            let folder = folder.path();
            let mut made = if named { Temporary::with_name(folder) } else { Temporary::new(folder) }.unwrap();
            made.file.write_all(format!("{named} {is_taken}").as_bytes()).unwrap();
            made.persist(folder, &target, is_taken).unwrap();
            assert_eq!(fs::read_to_string(&target).unwrap(), format!("{named} {is_taken}"));
            assert_eq!(names_in(folder), ["target"]);
        }
        drop(Temporary::with_name(folder.path()).unwrap());
        assert_eq!(names_in(folder.path()), ["target"]);
    }

    /// If another process created the target in the meantime, it is replaced.
    #[test]
    fn another_that_came_first_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        let mut made = Temporary::new(folder.path()).unwrap();
        made.file.write_all(b"second").unwrap();
        fs::write(&target, "first").unwrap();
        made.persist(folder.path(), &target, false).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"second");
        assert_eq!(names_in(folder.path()), ["target"]);
    }

    #[test]
    fn temporary_files_are_removed_only_if_their_run_was_killed() {
        let folder = tempfile::tempdir().unwrap();
        let living = Temporary::with_name(folder.path()).unwrap();
        let name = living.name.as_ref().and_then(|name| name.0.file_name()).unwrap().to_str().unwrap().to_owned();
        fs::write(folder.path().join(".profbridge-left"), "half").unwrap();
        fs::write(folder.path().join(".profbridge"), "not ours").unwrap();
        fs::create_dir(folder.path().join(".profbridge-folder")).unwrap();
        std::os::unix::fs::symlink(".profbridge", folder.path().join(".profbridge-link")).unwrap();
        drop(Temporary::new(folder.path()).unwrap());
        let mut expected = vec![".profbridge".to_owned(), ".profbridge-folder".into(), ".profbridge-link".into(), name];
        expected.sort();
        assert_eq!(names_in(folder.path()), expected);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_without_a_name_is_nowhere_to_be_seen() {
        let folder = tempfile::tempdir().unwrap();
        let Some(mut file) = system::unnamed_file(folder.path()) else {
            eprintln!("SKIPPED: {} is on a file system without O_TMPFILE", folder.path().display());
            return;
        };
        file.write_all(b"half").unwrap();
        assert!(names_in(folder.path()).is_empty());
    }
}
