//! A new file that takes its place when it is whole.
//!
//! On Linux it has no name until then (`O_TMPFILE`, where the file system has
//! that): the system itself frees it when the process ends, however it ends. A
//! link can make a name but not replace one. So where the place is taken, the
//! whole file gets a name beside it first and is renamed at once; a process
//! killed between the two leaves a whole copy under that name.
//!
//! Elsewhere it has a name beside its place from the beginning. Whoever makes
//! such a name holds a lock on the file, which the system takes away with the
//! process. So a later run knows what a killed one left, and removes it.

use super::steps::{Step, step};
use crate::system::{self, HAS_LOCKS, is_at, lock};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::OnceLock;
use tempfile::{Builder, NamedTempFile, TempPath};

/// What names beside the output begin with.
pub(super) const PREFIX: &str = ".profbridge-";

/// Hears of every file that is removed because a killed run left it.
pub(super) static ON_REMOVED: OnceLock<fn(&Path)> = OnceLock::new();

/// A file that has no place yet. It is gone when this is dropped.
#[derive(Debug)]
pub(super) struct Temporary {
    pub(super) file: File,
    /// `None` where it has no name.
    name: Option<TempPath>,
}

impl Temporary {
    /// Makes a file that will have its place in `folder`, with the permissions
    /// that the system gives new files.
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
            let (file, name) = builder().tempfile_in(folder)?.into_parts();
            lock(&file);
            // Between its creation and the lock another run may have taken it
            // for a leftover.
            if !HAS_LOCKS || is_at(&file, &name) {
                return Ok(Self { file, name: Some(name) });
            }
        }
    }

    /// Gives the file its place; `is_taken` says whether another is there.
    ///
    /// # Errors
    ///
    /// Those of linking and renaming; what was there is untouched then.
    pub(super) fn persist(self, folder: &Path, target: &Path, is_taken: bool) -> io::Result<()> {
        let name = match self.name {
            Some(name) => name,
            None if !is_taken => match step(Step::Link, || system::name_file(&self.file, target)) {
                // Somebody else was quicker.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => in_directory_of(&self.file, folder)?,
                linked => return linked,
            },
            None => in_directory_of(&self.file, folder)?,
        };
        step(Step::Rename, || name.persist(target).map_err(|error| error.error))
    }
}

/// Gives the file a name that nobody has.
fn in_directory_of(file: &File, folder: &Path) -> io::Result<TempPath> {
    lock(file);
    let named: NamedTempFile<()> =
        step(Step::Link, || builder().make_in(folder, |path| system::name_file(file, path)))?;
    Ok(named.into_temp_path())
}

fn builder() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX);
    if let Some(permissions) = system::permissions_of_new_files() {
        builder.permissions(permissions);
    }
    builder
}

/// Removes what killed runs of this user left in a folder. What cannot be
/// removed stays: it harms nobody.
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

/// Removes a file that nobody works on; says whether it did.
fn remove_leftover(path: &Path, own: &File) -> io::Result<bool> {
    // The lock of a living run, or of this one, is not to be had.
    let found = system::open_of_same_owner(path, own)?;
    let is_left = found.is_some_and(|file| lock(&file) && is_at(&file, path));
    if is_left {
        fs::remove_file(path)?;
    }
    Ok(is_left)
}

/// Waits until the content is stored, on file systems that say only then that
/// they have no room for it: those of other machines.
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

    /// Whoever finds the place taken although it was free replaces what is there.
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
        let name = living.name.as_ref().and_then(|name| name.file_name()).unwrap().to_str().unwrap().to_owned();
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
