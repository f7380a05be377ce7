//! Names of files that are deleted after the merge.
//!
//! A watch renames such a file before it reads it, so that a program that writes a new file of that name does not lose it.

use crate::system::os_string;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The part of a file name that marks a claimed file.
const CLAIMED: &str = ".merging-";

/// The number of hexadecimal digits after it.
const NUMBER_DIGITS: usize = 32;

/// Returns the path that a file had before it was claimed; `None` for other files.
pub(crate) fn original_path(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.as_encoded_bytes();
    let (name, number) = name.split_at_checked(name.len().checked_sub(NUMBER_DIGITS)?)?;
    let name = name.strip_suffix(CLAIMED.as_bytes())?;
    number.iter().all(u8::is_ascii_hexdigit).then(|| path.with_file_name(os_string(name)))
}

/// Returns a path for a file that is claimed: the time and the process make it unique.
pub(crate) fn claimed_path(path: &Path) -> PathBuf {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut number = now.as_nanos() << 32 | u128::from(std::process::id());
    loop {
        let mut target = OsString::from(path);
        target.push(format!("{CLAIMED}{number:0NUMBER_DIGITS$x}"));
        let target = PathBuf::from(target);
        if fs::symlink_metadata(&target).is_err() {
            return target;
        }
        number += 1 << 32;
    }
}
