//! Differences between operating systems: names, file identities, locks, files without a name. All other code is the
//! same for Linux, macOS, other Unixes and Windows.
//!
//! | | Linux | other Unixes, macOS | Windows |
//! |---|---|---|---|
//! | file names | any bytes | any bytes (macOS: UTF-8) | UTF-16; bytes in lists and response files are UTF-8, other bytes become U+FFFD |
//! | a new file until it is complete | has no name (`unnamed_file`) | has a temporary name in the same directory | the same |
//! | leftovers of a killed run | none, or a complete copy that the next run removes | removed by the next run | not removed |
//! | replacing a file | `rename`, atomic | the same | `MoveFileEx`, atomic; fails while another program has the old file open |
//! | identity of a file | device and inode number | the same | the path without links |
//! | mapped files that a process changes | found for processes of the same user | not found | not found |
//! | an open descriptor by name (`/dev/fd/3`) | duplicated by `pidfd_getfd`, which shares the file position | opened, with the same effect | has no name |
//! | delayed storing | network file systems store the content before the rename | not handled | not handled |
//!
//! Locks are those of whole files (`flock`), which the system releases with the process. They only show whether a
//! process still works on a temporary file next to its output. Without them, as on Windows, such files are not removed.
//! Windows has locks, but the standard library supports them only since Rust 1.89, which is newer than the minimum
//! supported Rust version.

use memmap2::MmapMut;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

/// Converts bytes of a list or a command line to a string of the operating system.
pub fn os_string(bytes: &[u8]) -> OsString {
    #[cfg(unix)]
    return <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes).to_os_string();
    #[cfg(not(unix))]
    return String::from_utf8_lossy(bytes).into_owned().into();
}

/// Returns true if two paths refer to one regular file.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let (Ok(found), Ok(in_directory_of)) = (fs::metadata(one), fs::metadata(other)) else { return false };
    found.is_file() && identity(one, &found) == identity(other, &in_directory_of)
}

/// Returns true if a path is a character device, such as a terminal.
pub fn is_device(path: &Path) -> bool {
    #[cfg(unix)]
    return fs::metadata(path).is_ok_and(|found| std::os::unix::fs::FileTypeExt::is_char_device(&found.file_type()));
    #[cfg(not(unix))]
    return path.as_os_str().eq_ignore_ascii_case("con");
}

/// Returns true if a file is executable, as far as the system reports it.
pub fn is_program(path: &Path) -> bool {
    #[cfg(unix)]
    let may_run = |found: &Metadata| std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let may_run = |_: &Metadata| true;
    fs::metadata(path).is_ok_and(|found| found.is_file() && may_run(&found))
}

/// Makes a program that is not started yet the first of a group of processes, which [`kill_group`] ends. Without effect
/// on Windows.
pub fn lead_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

/// Kills a program and, on Unix, all processes of its group.
pub fn kill_group(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // The group may have ended in the meantime.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
}

/// Returns the number of the signal that ended a process. Windows has no signals.
pub fn signal_of(status: ExitStatus) -> Option<i32> {
    #[cfg(unix)]
    return std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    {
        let _ = status;
        None
    }
}

/// Returns true if a process runs; `None` if the system does not report it. On Linux, a process that ended does not run.
/// On other systems it runs until its parent has noticed.
pub fn is_running(process: u32) -> Option<bool> {
    if cfg!(target_os = "linux") {
        // The state is the word after the name, which can contain anything.
        let found = fs::read(format!("/proc/{process}/stat")).unwrap_or_default();
        let state = found.iter().rposition(|byte| *byte == b')').and_then(|at| found.get(at + 2));
        return Some(state.is_some_and(|state| !b"ZXx".contains(state)));
    }
    process_exists(process)
}

/// Returns the files that processes of this user have mapped, and can change without a new time of their last change.
/// Empty if the system does not report them.
pub(crate) fn files_mapped_for_writing() -> BTreeSet<PathBuf> {
    let mut mapped = BTreeSet::new();
    if !cfg!(target_os = "linux") {
        return mapped;
    }
    let Ok(processes) = fs::read_dir("/proc") else { return mapped };
    let is_process = |name: &OsString| name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    for process in processes.flatten().filter(|process| is_process(&process.file_name())) {
        // Other processes are those of other users, or have ended.
        let maps = fs::read(process.path().join("maps")).unwrap_or_default();
        for line in maps.split(|byte| *byte == b'\n') {
            // Addresses, permissions, offset, device, inode, and after blanks the path.
            let mut words = line.splitn(6, |byte| *byte == b' ').skip(1);
            let is_shared = words.next().is_some_and(|word| word.get(1) == Some(&b'w') && word.get(3) == Some(&b's'));
            if let Some(path) = words.nth(3).filter(|_| is_shared) {
                mapped.insert(os_string(path.trim_ascii_start()).into());
            }
        }
    }
    mapped
}

/// Returns true if a process exists, also one of another user.
#[cfg(unix)]
fn process_exists(process: u32) -> Option<bool> {
    // No process has a number that the system cannot store.
    let Some(process) = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw) else {
        return Some(false);
    };
    Some(rustix::process::test_kill_process(process) != Err(rustix::io::Errno::SRCH))
}

/// Windows has no such call.
#[cfg(not(unix))]
fn process_exists(_process: u32) -> Option<bool> {
    None
}

/// Returns the home directory of the current user, or of a local account.
pub(crate) fn home_of(user: Option<&str>) -> Option<PathBuf> {
    let Some(user) = user else {
        let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        return std::env::var_os(name).map(PathBuf::from);
    };
    // Windows has no such list.
    let accounts = fs::read_to_string("/etc/passwd").ok()?;
    let line = accounts.lines().find(|line| line.split(':').next() == Some(user))?;
    line.split(':').nth(5).map(PathBuf::from)
}

/// A value that is equal for all paths of one file or directory.
#[cfg(unix)]
pub(crate) type Identity = (u64, u64);
/// A value that is equal for all paths of one file or directory.
#[cfg(not(unix))]
pub(crate) type Identity = PathBuf;

/// Returns the identity of a file or directory.
pub(crate) fn identity(path: &Path, found: &Metadata) -> Identity {
    #[cfg(unix)]
    return {
        let _ = path;
        use std::os::unix::fs::MetadataExt;
        (found.dev(), found.ino())
    };
    #[cfg(not(unix))]
    return {
        let _ = found;
        fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
    };
}

/// Returns whether a file has several names (hard links); false on systems that do not report it.
pub(crate) fn has_several_names(found: &Metadata) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::nlink(found) > 1;
    #[cfg(not(unix))]
    return {
        let _ = found;
        false
    };
}

/// Reads a part of a file. The file position afterwards is unspecified.
///
/// # Errors
///
/// The errors of the system.
pub(crate) fn read_at(file: &File, memory: &mut [u8], offset: u64) -> io::Result<usize> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_at(file, memory, offset);
    #[cfg(windows)]
    return std::os::windows::fs::FileExt::seek_read(file, memory, offset);
}

/// Advises the system to use large pages for memory. Without them the memory works, only slower.
pub(crate) fn prefer_large_pages(memory: &MmapMut) {
    #[cfg(target_os = "linux")]
    let _ = memory.advise(memmap2::Advice::HugePage);
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

/// Creates a file that did not exist, which all users or only this one can read, as far as the creation mask allows.
///
/// # Errors
///
/// The errors of the system; already exists if there is such a file.
pub(crate) fn create_new(path: &Path, is_private: bool) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, if is_private { 0o600 } else { 0o666 });
    #[cfg(not(unix))]
    let _ = is_private;
    options.open(path)
}

/// Creates a file without a name in a directory (`O_TMPFILE`), so that nothing is left behind if the process is killed;
/// `None` if this is not supported, or if it could not get a name later.
pub(crate) fn unnamed_file(folder: &Path) -> Option<File> {
    #[cfg(target_os = "linux")]
    return {
        use rustix::fs::{Mode, OFlags};
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(folder, flags, Mode::from_raw_mode(0o666)).ok()?);
        fs::metadata(open_path(&file)).is_ok().then_some(file)
    };
    #[cfg(not(target_os = "linux"))]
    return {
        let _ = folder;
        None
    };
}

/// Gives a file without a name the unused name `path`.
///
/// # Errors
///
/// The errors of the system; unsupported if [`unnamed_file`] returns none.
pub(crate) fn name_file(file: &File, path: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    return {
        use rustix::fs::{AtFlags, CWD, linkat};
        Ok(linkat(CWD, open_path(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    };
    #[cfg(not(target_os = "linux"))]
    return {
        let _ = (file, path);
        Err(io::ErrorKind::Unsupported.into())
    };
}

#[cfg(target_os = "linux")]
fn open_path(file: &File) -> String {
    format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file))
}

/// Returns the directory of a path.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

/// An open descriptor with a path, such as `/dev/fd/3`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Descriptor {
    path: PathBuf,
    number: i32,
    /// The process that owns it; `None` for this one.
    process: Option<i32>,
}

impl Descriptor {
    /// Parses the name of a descriptor, which need not be open; `None` for other names, including links to such a name.
    pub(crate) fn named(path: &Path) -> Option<Self> {
        let number = path.file_name()?.to_str()?.parse().ok()?;
        let folder = fs::canonicalize(folder_of(path)).ok()?;
        let process = if cfg!(target_os = "linux") {
            // `/proc/PROCESS/fd`, or that of one of its threads.
            let below = folder.strip_prefix("/proc").ok()?;
            let process = below.iter().next().filter(|_| below.ends_with("fd"))?;
            let is_own = fs::read_link("/proc/self").is_ok_and(|own| own.as_os_str() == process);
            if is_own { None } else { Some(process.to_str()?.parse().ok()?) }
        } else {
            (cfg!(unix) && folder == Path::new("/dev/fd")).then_some(())?;
            None
        };
        Some(Self { path: path.to_path_buf(), number, process })
    }

    /// Returns true if it is the standard output of this process.
    pub(crate) fn is_standard_output(&self) -> bool {
        self.number == 1 && self.process.is_none()
    }

    /// Duplicates the descriptor, with the same position in the file.
    ///
    /// # Errors
    ///
    /// The errors of the system, which may forbid it: Linux before 5.6, or in a container. Other files than regular
    /// ones are then opened by name; a regular file would be written from its beginning.
    pub(crate) fn duplicate(&self) -> io::Result<File> {
        let metadata = fs::metadata(&self.path)?;
        self.taken().or_else(|error| {
            if metadata.is_file() { Err(error) } else { fs::OpenOptions::new().write(true).open(&self.path) }
        })
    }

    #[cfg(target_os = "linux")]
    fn taken(&self) -> io::Result<File> {
        use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
        if self.number == 2 && self.process.is_none() {
            return Ok(File::from(std::os::fd::AsFd::as_fd(&io::stderr()).try_clone_to_owned()?));
        }
        let process = self.process.map_or_else(|| Some(getpid()), Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
        let process = pidfd_open(process, PidfdFlags::empty())?;
        Ok(File::from(pidfd_getfd(process, self.number, PidfdGetfdFlags::empty())?))
    }

    /// Opens the descriptor by name, which duplicates it on other systems.
    #[cfg(not(target_os = "linux"))]
    fn taken(&self) -> io::Result<File> {
        fs::OpenOptions::new().write(true).open(&self.path)
    }
}

/// Whether [`lock`] can succeed.
pub(crate) const HAS_LOCKS: bool = cfg!(unix);

/// Locks a file for this process. Returns true if no other process holds the lock.
pub(crate) fn lock(file: &File) -> bool {
    #[cfg(unix)]
    return rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok();
    #[cfg(not(unix))]
    return {
        let _ = file;
        false
    };
}

/// Returns true if a path refers to this file directly and not through a link; false if the system does not report it.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(found), Ok(own)) = (fs::symlink_metadata(path), file.metadata()) else { return false };
    cfg!(unix) && identity(path, &found) == identity(path, &own)
}

/// Opens a regular file of the same owner as another one, without following links or waiting for pipes; `None` for
/// other files and owners.
///
/// # Errors
///
/// The errors of the system; unsupported on systems without locks, which never call this.
pub(crate) fn open_of_same_owner(path: &Path, other: &File) -> io::Result<Option<File>> {
    #[cfg(unix)]
    return {
        use rustix::fs::{Mode, OFlags};
        use std::os::unix::fs::MetadataExt;
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        let (found, own) = (file.metadata()?, other.metadata()?);
        Ok((found.is_file() && found.uid() == own.uid()).then_some(file))
    };
    #[cfg(not(unix))]
    return {
        let _ = (path, other);
        Err(io::ErrorKind::Unsupported.into())
    };
}

/// Returns true if a file is on a network file system, which can report a full disk only when it stores the content.
pub(crate) fn reports_late(file: &File) -> bool {
    #[cfg(target_os = "linux")]
    return {
        // NFS, SMB 1 to 3, Ceph, FUSE, AFS, 9P, Lustre (linux/magic.h).
        const REMOTE: [u32; 9] =
            [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x00c3_6400, 0x6573_5546, 0x5346_414f, 0x0102_1997, 0x0bd0_0bd0];
        rustix::fs::fstatfs(file).is_ok_and(|found| REMOTE.contains(&(found.f_type as u32)))
    };
    #[cfg(not(target_os = "linux"))]
    return {
        let _ = file;
        false
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_around_a_corner_is_the_same_file_and_a_copy_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let [one, copy] = ["one", "copy"].map(|name| folder.path().join(name));
        for path in [&one, &copy] {
            fs::write(path, b"content").unwrap();
        }
        fs::create_dir(folder.path().join("sub")).unwrap();
        assert!(is_same_file(&one, &folder.path().join("sub").join("..").join("one")));
        assert!(!is_same_file(&one, &copy));
        assert!(!is_same_file(&one, &folder.path().join("nowhere")));
        assert!(!is_same_file(folder.path(), folder.path()));
    }

    #[test]
    fn a_part_of_a_file_is_read_where_it_is() {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, b"0123456789").unwrap();
        let mut memory = [0; 4];
        assert_eq!(read_at(&file, &mut memory, 3).unwrap(), 4);
        assert_eq!(&memory, b"3456");
        assert_eq!(read_at(&file, &mut memory, 8).unwrap(), 2);
        assert_eq!(read_at(&file, &mut memory, 10).unwrap(), 0);
    }

    #[test]
    #[cfg(unix)]
    fn only_processes_that_exist_run() {
        for (process, runs) in [(std::process::id(), true), (i32::MAX as u32, false), (u32::MAX, false), (0, false)] {
            assert_eq!(is_running(process), Some(runs), "{process}");
            assert_eq!(process_exists(process), Some(runs), "{process}");
        }
    }

    #[test]
    fn names_of_lists_are_those_of_the_system() {
        assert_eq!(os_string("größe.profraw".as_bytes()), OsString::from("größe.profraw"));
        #[cfg(unix)]
        assert_eq!(os_string(b"\xff").as_encoded_bytes(), b"\xff");
    }
}
