//! Tests that an output is replaced completely or not at all.

use super::program::{counts_of, indexed_bytes, large_profile, names_in, profile, run};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// A small file system that is unmounted at the end.
pub struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// Returns `None` if this process may not mount.
    pub fn new(kilobytes: u32) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={kilobytes}k"), "tmpfs"]).arg(folder.path());
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then_some(Self(folder))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).output();
    }
}

#[test]
fn a_full_disk_leaves_the_old_output_and_nothing_else() {
    let Some(disk) = SmallDisk::new(256) else {
        eprintln!("SKIPPED: a small file system cannot be mounted here");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("large.profdata");
    fs::write(&input, indexed_bytes(&large_profile(10_000, 1))).unwrap();
    let output = disk.path().join("out.profdata");
    let old = indexed_bytes(&profile(&[("old", 1)]));
    fs::write(&output, &old).unwrap();
    for arguments in [vec!["merge", "-o"], vec!["convert", "-o"], vec!["llvm-profdata", "merge", "-o"]] {
        let mut all: Vec<&std::ffi::OsStr> = arguments.iter().map(std::ffi::OsStr::new).collect();
        all.extend([output.as_os_str(), input.as_os_str()]);
        run(all).assert_refused(&["No space left"]);
        assert_eq!(fs::read(&output).unwrap(), old, "{arguments:?}");
        assert_eq!(names_in(disk.path()), ["out.profdata"], "{arguments:?}");
    }
}

#[test]
fn a_folder_that_takes_no_files_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.profdata");
    fs::write(&input, indexed_bytes(&profile(&[("f", 1)]))).unwrap();
    // No user can create files in this directory, not even root.
    let output = Path::new("/proc/out.profdata");
    run([Path::new("merge"), &input, Path::new("-o"), output]).assert_refused(&["/proc/out.profdata", "error: "]);
}

#[test]
fn an_output_that_is_an_input_holds_the_whole_result() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a.profdata"), folder.path().join("b.profdata"));
    fs::write(&a, indexed_bytes(&profile(&[("f", 1), ("g", 2)]))).unwrap();
    fs::write(&b, indexed_bytes(&profile(&[("f", 10)]))).unwrap();
    for expected in [11, 21] {
        run([Path::new("merge"), &a, &b, Path::new("-o"), &a]).assert_done();
        assert_eq!(counts_of(&fs::read(&a).unwrap())["f"], expected);
    }
    assert_eq!(names_in(folder.path()), ["a.profdata", "b.profdata"]);
}

#[test]
fn a_dangling_link_gets_its_target_and_a_loop_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("in"), indexed_bytes(&profile(&[("f", 1)]))).unwrap();
    symlink("target", path("link")).unwrap();
    run([Path::new("merge"), &path("in"), Path::new("-o"), &path("link")]).assert_done();
    assert_eq!(counts_of(&fs::read(path("target")).unwrap())["f"], 1);
    assert!(path("link").symlink_metadata().unwrap().is_symlink());
    symlink("loop", path("loop")).unwrap();
    run([Path::new("merge"), &path("in"), Path::new("-o"), &path("loop")]).assert_orderly();
    assert_eq!(names_in(folder.path()), ["in", "link", "loop", "target"]);
}

#[test]
fn only_the_output_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("in")).unwrap();
    fs::write(path("in/a.profdata"), indexed_bytes(&profile(&[("../../escape", 1), ("/tmp/absolute", 2)]))).unwrap();
    fs::create_dir(path("out")).unwrap();
    run([Path::new("merge"), &path("in"), Path::new("-o"), &path("out/o.profdata")]).assert_done();
    assert_eq!(names_in(folder.path()), ["in", "out"]);
    assert_eq!(names_in(&path("in")), ["a.profdata"]);
    assert_eq!(names_in(&path("out")), ["o.profdata"]);
}
