//! Output that is replaced whole or not at all.

use super::steps::{Step, step, writing};
use super::temporary::{self, Temporary};
use crate::error::{Error, Result};
use crate::memory;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes `bytes` to `path`, or to standard output for `-`.
///
/// A regular file takes its place when it is whole, so that readers and
/// interrupted runs see the old file or the new one, never a mixture. Until then
/// it has no name on Linux, and elsewhere one beside its place, `.profbridge-*`;
/// such files that killed runs of the same user left in that folder are removed.
/// A link is followed and stays a link. A pipe or device is written straight.
///
/// # Errors
///
/// I/O errors with the path; the old file is untouched then.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    replace_with(path, |out| out.write_all(bytes))
}

/// As [`replace`], with a function that writes the content.
///
/// # Errors
///
/// As [`replace`].
pub fn replace_with(path: &Path, write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> Result<()> {
    if path.as_os_str() == "-" {
        let mut stdout = io::stdout();
        let done = write(&mut stdout).and_then(|()| stdout.flush());
        return done.map_err(|source| Error::io("cannot write standard output", source));
    }
    write_file(path, write).map_err(|(action, source)| {
        let error = Error::io(action, source).in_file(path);
        match error_hint(&error) {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    })
}

/// As [`replace_with`]; where the name ends in `.gz`, the content becomes a gzip stream on its way.
///
/// # Errors
///
/// As [`replace`].
pub fn replace_by_name_with(path: &Path, write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> Result<()> {
    if !is_gzip_name(path) {
        return replace_with(path, write);
    }
    replace_with(path, |out| {
        let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::default());
        write(&mut encoder)?;
        encoder.finish().map(drop)
    })
}

/// Whether an output's name asks for compression.
pub fn is_gzip_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

/// Lets a program hear of each file that [`replace_with`] removes because a
/// killed run left it. The first to ask is heard.
pub fn on_removed_leftover(hear: fn(&Path)) {
    let _ = temporary::ON_REMOVED.set(hear);
}

/// A gzip stream of `bytes`, the same for the same bytes.
///
/// # Errors
///
/// Never for lack of anything but memory; the signature is that of the encoder.
pub fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(memory::Buffer::default(), flate2::Compression::default());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.0)
}

type Failure = (&'static str, io::Error);

fn write_file(path: &Path, write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> Result<(), Failure> {
    let target = resolve(path);
    let existing = fs::metadata(&target).ok();
    if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
        // A pipe, a device or a folder: nothing to keep whole.
        let mut file = fs::OpenOptions::new().write(true).open(&target).map_err(|e| ("cannot open for writing", e))?;
        return write(&mut file).map_err(|e| ("cannot write", e));
    }
    let folder = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if existing.is_some() {
        // Renaming would replace a file that its owner protected against writing.
        let opened = step(Step::Open, || fs::OpenOptions::new().append(true).open(&target));
        opened.map_err(|e| ("cannot write", e))?;
    }
    let mut temporary = Temporary::new(folder).map_err(|e| ("cannot create", e))?;
    write(&mut writing(&mut temporary.file)).map_err(|e| ("cannot write", e))?;
    if let Some(metadata) = &existing {
        let kept = step(Step::Permissions, || temporary.file.set_permissions(metadata.permissions()));
        kept.map_err(|e| ("cannot set permissions", e))?;
    }
    temporary::store(&temporary.file).map_err(|e| ("cannot write", e))?;
    temporary.persist(folder, &target, existing.is_some()).map_err(|e| ("cannot replace", e))
}

/// Follows links to the file that they stand for, also when it is not there yet.
fn resolve(path: &Path) -> PathBuf {
    let mut target = path.to_path_buf();
    // Chains of links longer than the system allows fail when opened.
    for _ in 0..40 {
        let Ok(link) = fs::read_link(&target) else { break };
        target = match target.parent() {
            Some(parent) if link.is_relative() => parent.join(link),
            _ => link,
        };
    }
    target
}

fn error_hint(error: &Error) -> Option<&'static str> {
    let crate::ErrorKind::Io { source, .. } = error.kind() else { return None };
    match source.kind() {
        io::ErrorKind::NotFound => Some("the folder does not exist; create it first"),
        io::ErrorKind::StorageFull => Some("the disk is full; the old file, if any, is untouched"),
        io::ErrorKind::PermissionDenied => Some("choose an output that you may write to with -o"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        replace(&path, b"old").unwrap();
        let failed = replace_with(&path, |out| {
            out.write_all(b"half of the new")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        });
        assert!(failed.unwrap_err().hint().unwrap().to_string().contains("disk is full"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_name_in_gz_asks_for_a_gzip_stream() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.gz");
        replace_by_name_with(&path, |out| out.write_all(b"content")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), gzip(b"content").unwrap());
        let plain = folder.path().join("out");
        replace_by_name_with(&plain, |out| out.write_all(b"content")).unwrap();
        assert_eq!(fs::read(&plain).unwrap(), b"content");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_permissions_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, b"old").unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("target", &link).unwrap();
        replace(&link, b"new").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn a_missing_folder_is_named_with_a_hint() {
        let folder = tempfile::tempdir().unwrap();
        let error = replace(&folder.path().join("no/out"), b"x").unwrap_err();
        assert!(error.to_string().contains("no/out"), "{error}");
        assert_eq!(error.hint(), Some(&"the folder does not exist; create it first".into()));
    }
}
