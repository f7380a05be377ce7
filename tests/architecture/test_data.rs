//! Test data must not contain paths of the machine that created it: they have no meaning elsewhere, and another machine
//! would create different bytes.

use std::fs;
use std::path::Path;

/// The directories where people and build machines work. Paths of a distribution, `/usr` and `/lib64`, are the same
/// everywhere.
const FOLDERS: [&[u8]; 4] = [b"/tmp/", b"/root/", b"/home/", b"/work/"];

/// Returns the files below `root` that contain one of these directories.
pub fn faults(root: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("folder is readable") {
            let path = entry.expect("folder is readable").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = fs::read(&path).expect("file is readable");
            let named = FOLDERS.into_iter().filter(|folder| names(&bytes, folder));
            faults.extend(named.map(|folder| format!("{} names {}", path.display(), folder.escape_ascii())));
        }
    }
    faults
}

/// Returns true if `bytes` contain an absolute path below `folder`. After a letter or a dot, it is part of a longer
/// path.
fn names(bytes: &[u8], folder: &[u8]) -> bool {
    bytes.windows(folder.len()).enumerate().any(|(at, window)| {
        let before = at.checked_sub(1).map(|at| bytes[at]);
        window == folder
            && !before.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
    })
}

#[test]
fn a_path_is_found_where_it_begins() {
    for text in ["/tmp/a", "file:///home/a", "\0/root/.cargo\0", "=/work/x"] {
        assert!(FOLDERS.iter().any(|folder| names(text.as_bytes(), folder)), "{text}");
    }
    for text in ["/usr/lib/tmp/a", "./work/a", "/tmpfs/a", "a/home/b"] {
        assert!(!FOLDERS.iter().any(|folder| names(text.as_bytes(), folder)), "{text}");
    }
}
