//! Output files that are replaced atomically.

use super::system_calls::{Step, step, writing};
use super::temporary::{self, Temporary};
use crate::compression::{Compression, Compressor};
use crate::error::{Error, Result};
use crate::system::{self, Descriptor};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes `bytes` to `path`, or to standard output for `-`.
///
/// A regular file is replaced when the new content is complete, so that readers and interrupted runs see the old file
/// or the new one, never a mixture. Until then the new file has no name on Linux, and elsewhere the name
/// `.profbridge-*` in the same directory. Such files of the same user in that directory, left behind by killed runs,
/// are removed. A link is followed and stays a link.
///
/// Other outputs are written directly: a pipe, a device, and an open descriptor (`/dev/stdout`, `/dev/fd/3`,
/// `/proc/self/fd/3`). A file that a descriptor refers to keeps its content; the bytes are written at the position of
/// the descriptor.
///
/// # Errors
///
/// I/O errors with the path. A file that would be replaced is then untouched.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    replace_with(path, |out| out.write_all(bytes))
}

/// Like [`replace`], with a function that writes the content.
///
/// # Errors
///
/// The errors of [`replace`].
pub fn replace_with(path: &Path, write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> Result<()> {
    replace_compressed(path, None, write)
}

/// Like [`replace_with`], with compressed content.
fn replace_compressed(
    path: &Path,
    compression: Option<Compression>,
    write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> Result<()> {
    let mut output = Output::create(path, compression)?;
    let written = write(output.writer());
    output.finish(written)
}

/// An output while it is written. [`replace`] describes what happens to an existing file.
pub(crate) struct Output<'p> {
    path: &'p Path,
    content: Compressor<Box<dyn Write + Send>>,
    /// `None` for an output that is written directly.
    replacement: Option<Replacement>,
}

impl<'p> Output<'p> {
    /// Begins an output.
    ///
    /// # Errors
    ///
    /// The errors of [`replace`].
    pub(crate) fn create(path: &'p Path, compression: Option<Compression>) -> Result<Self> {
        let place = Place::of(path);
        let is_replaced = matches!(place, Place::File(_));
        let opened = match place {
            Place::File(target) => Replacement::of(target).map(|(out, replacement)| (out, Some(replacement))),
            open => open.open().map(|out| (out, None)).map_err(|e| ("cannot open for writing", e)),
        };
        let begun = opened.and_then(|(out, replacement)| {
            let content = Compressor::new(out, compression).map_err(|e| ("cannot write", e))?;
            Ok(Self { path, content, replacement })
        });
        begun.map_err(|failure| error(path, is_replaced, failure))
    }

    /// Returns the writer of the content.
    pub(crate) fn writer(&mut self) -> &mut (dyn Write + Send) {
        self.content.writer()
    }

    /// Ends the output after its content was written with the result `written`. Only now a file appears at the path.
    ///
    /// # Errors
    ///
    /// `written`, as an error of this output; the errors of [`replace`].
    pub(crate) fn finish(self, written: io::Result<()>) -> Result<()> {
        let Self { path, content, replacement } = self;
        let is_replaced = replacement.is_some();
        let written = written.and_then(|()| content.finish()?.flush()).map_err(|e| ("cannot write", e));
        let stored = written.and_then(|()| replacement.map_or(Ok(()), Replacement::persist));
        stored.map_err(|failure| error(path, is_replaced, failure))
    }
}

/// A file that has no place yet, and the file that it replaces.
struct Replacement {
    temporary: Temporary,
    target: PathBuf,
    existing: Option<fs::Metadata>,
}

impl Replacement {
    /// Creates the file. Returns its writer, too.
    fn of(target: PathBuf) -> Result<(Box<dyn Write + Send>, Self), Failure> {
        let existing = fs::metadata(&target).ok();
        if existing.is_some() {
            // Renaming would replace a file that its owner protected against writing.
            let opened = step(Step::Open, || fs::OpenOptions::new().append(true).open(&target));
            opened.map_err(|e| ("cannot write", e))?;
        }
        let made = Temporary::new(system::folder_of(&target)).and_then(|made| Ok((writing(&made.file)?, made)));
        let (out, temporary) = made.map_err(|e| ("cannot create", e))?;
        Ok((Box::new(out), Self { temporary, target, existing }))
    }

    /// Moves the complete file to its place.
    fn persist(self) -> Result<(), Failure> {
        let Self { temporary, target, existing } = self;
        if let Some(metadata) = &existing {
            let kept = step(Step::Permissions, || temporary.file.set_permissions(metadata.permissions()));
            kept.map_err(|e| ("cannot set permissions", e))?;
        }
        temporary::store(&temporary.file).map_err(|e| ("cannot write", e))?;
        let folder = system::folder_of(&target);
        temporary.persist(folder, &target, existing.is_some()).map_err(|e| ("cannot replace", e))
    }
}

/// Returns a path with which [`replace`] writes to a file, also if it is `-`.
pub(crate) fn as_path(path: &Path) -> PathBuf {
    if path.as_os_str() == "-" { Path::new(".").join(path) } else { path.to_path_buf() }
}

/// Opens an output that [`replace`] writes directly; `None` for a file that it replaces.
pub fn open_unreplaced(path: &Path) -> Option<io::Result<Box<dyn Write + Send>>> {
    match Place::of(path) {
        Place::File(_) => None,
        open => Some(open.open()),
    }
}

/// Returns true if an output is standard output: `-`, or a name of the descriptor such as `/dev/stdout`.
pub fn is_standard_output(path: &Path) -> bool {
    matches!(Place::of(path), Place::StandardOutput)
}

/// Returns true if [`replace`] puts a new file at this path.
pub fn is_replaced(path: &Path) -> bool {
    matches!(Place::of(path), Place::File(_))
}

/// Replaces a file like [`replace`], and compresses the content according to the file extension.
///
/// # Errors
///
/// The errors of [`replace_by_name_with`].
pub fn replace_by_name(path: &Path, bytes: &[u8]) -> Result<()> {
    replace_by_name_with(path, |out| out.write_all(bytes))
}

/// Replaces a file like [`replace_with`], and compresses the content according to the file extension.
///
/// # Errors
///
/// The errors of [`replace`]; a usage error for the extension of a compression that cannot be written.
pub fn replace_by_name_with(path: &Path, write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> Result<()> {
    replace_compressed(path, Compression::of_output(path)?, write)
}

/// Registers a callback for each file of a killed run that [`replace_with`] removes. Only the first registration has an
/// effect.
pub fn on_removed_leftover(hear: fn(&Path)) {
    let _ = temporary::ON_REMOVED.set(hear);
}

/// Returns true if a path has the name of an output that is not complete.
pub(crate) fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(temporary::PREFIX.as_bytes()))
}

/// A failed step, and its error.
type Failure = (&'static str, io::Error);

/// The destination of an output.
enum Place {
    /// Standard output, which is shared with other writers in this process.
    StandardOutput,
    /// A descriptor that is already open.
    Descriptor(Descriptor),
    /// A pipe, a device or a directory: there is no file to replace.
    Special(PathBuf),
    /// A regular file, which need not exist.
    File(PathBuf),
}

impl Place {
    /// Follows links to their target, which need not exist.
    fn of(path: &Path) -> Self {
        if path.as_os_str() == "-" {
            return Self::StandardOutput;
        }
        let mut target = path.to_path_buf();
        // Longer chains of links than the system allows fail when opened.
        for _ in 0..40 {
            if let Some(descriptor) = Descriptor::named(&target) {
                let is_standard = descriptor.is_standard_output();
                return if is_standard { Self::StandardOutput } else { Self::Descriptor(descriptor) };
            }
            let Ok(link) = fs::read_link(&target) else { break };
            target = match target.parent() {
                Some(parent) if link.is_relative() => parent.join(link),
                _ => link,
            };
        }
        let is_special = fs::metadata(&target).is_ok_and(|metadata| !metadata.is_file());
        if is_special { Self::Special(target) } else { Self::File(target) }
    }

    /// Opens it without changing its content.
    fn open(self) -> io::Result<Box<dyn Write + Send>> {
        Ok(match self {
            Self::StandardOutput => Box::new(io::stdout()),
            Self::Descriptor(descriptor) => Box::new(descriptor.duplicate()?),
            Self::Special(path) | Self::File(path) => Box::new(fs::OpenOptions::new().write(true).open(path)?),
        })
    }
}

fn error(path: &Path, is_replaced: bool, (action, source): Failure) -> Error {
    if path.as_os_str() == "-" {
        return Error::io("cannot write standard output", source);
    }
    let hint = hint(source.kind(), is_replaced);
    let error = Error::io(action, source).in_file(path);
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

fn hint(kind: io::ErrorKind, is_replaced: bool) -> Option<&'static str> {
    match kind {
        io::ErrorKind::NotFound if is_replaced => Some("create the directory first"),
        io::ErrorKind::StorageFull if is_replaced => Some("free some disk space; the old file, if any, is unchanged"),
        io::ErrorKind::PermissionDenied | io::ErrorKind::IsADirectory => Some("choose another output with -o"),
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
        assert!(failed.unwrap_err().hint().unwrap().to_string().contains("free some disk space"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_file_extension_selects_the_compression() {
        let folder = tempfile::tempdir().unwrap();
        let written = |name: &str| {
            let path = folder.path().join(name);
            replace_by_name_with(&path, |out| out.write_all(b"content")).map(|()| fs::read(&path).unwrap())
        };
        assert_eq!(written("out").unwrap(), b"content");
        assert_eq!(written("out.gz").unwrap(), Compression::Gzip.compress(b"content").unwrap());
        assert_eq!(written("out.zst").ok(), Compression::Zstd.compress(b"content").ok());
        assert!(written("out.xz").is_err() && !folder.path().join("out.xz").exists());
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

    #[cfg(unix)]
    #[test]
    fn writing_to_a_descriptor_preserves_other_bytes() {
        use std::os::fd::AsRawFd;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut file = fs::File::create(&path).unwrap();
        let descriptor = PathBuf::from(format!("/dev/fd/{}", file.as_raw_fd()));
        file.write_all(b"first ").unwrap();
        match replace(&descriptor, b"second ") {
            // Linux before 5.6, or a container that forbids it.
            Err(error) if error.to_string().contains("cannot open") => {
                eprintln!("SKIPPED: a descriptor may not be taken by its number: {error}")
            }
            written => {
                written.unwrap();
                file.write_all(b"last").unwrap();
                assert_eq!(fs::read(&path).unwrap(), b"first second last");
            }
        }
        assert!(!is_replaced(&descriptor) && is_replaced(&path) && is_replaced(&folder.path().join("new")));
    }

    #[cfg(unix)]
    #[test]
    fn standard_output_has_many_names() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/stdout", &link).unwrap();
        for name in ["-", "/dev/stdout", "/dev/fd/1", "/dev/../dev/fd/1"] {
            assert!(is_standard_output(name.as_ref()), "{name}");
        }
        assert!(is_standard_output(&link));
        for name in ["1", "./-", "/dev/fd/2", "/dev/stderr", "/dev/null", "/dev/fd", "nowhere/1"] {
            assert!(!is_standard_output(name.as_ref()), "{name}");
        }
    }

    #[test]
    fn a_missing_folder_is_named_with_a_hint() {
        let folder = tempfile::tempdir().unwrap();
        let error = replace(&folder.path().join("no/out"), b"x").unwrap_err();
        assert!(error.to_string().contains("no/out"), "{error}");
        assert_eq!(error.hint(), Some(&"create the directory first".into()));
    }
}
