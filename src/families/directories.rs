//! The files in directories that are not profiles.

use crate::compression::uncompressed_name;
use crate::input::{Format, Input, InputList};
use std::path::{Path, PathBuf};

/// The inputs of a run, and the skipped files of directories.
#[derive(Debug)]
#[non_exhaustive]
pub struct DirectoryScan {
    /// The given files, and those files of directories that are profiles, are empty, or have a profile extension.
    pub inputs: Vec<Input>,
    /// Files of the folders that are something else, in order.
    pub skipped: Vec<PathBuf>,
}

/// Skips files in directories that are not profiles: logs, programs, other JSON files. Keeps given files and files with
/// a profile extension, which may be damaged profiles.
pub fn skip_foreign_files(list: InputList) -> DirectoryScan {
    let found = list.found().clone();
    let (mut inputs, mut skipped) = (Vec::new(), Vec::new());
    for input in list.into_inputs() {
        if found.contains(&input.path) && is_foreign(&input) {
            skipped.push(input.path);
        } else {
            inputs.push(input);
        }
    }
    DirectoryScan { inputs, skipped }
}

fn is_foreign(input: &Input) -> bool {
    // The reader reports files that cannot be opened.
    let is_something_else = input.format().is_ok_and(|format| format != Format::Empty && format.family().is_none());
    is_something_else && !has_profile_extension(&input.path)
}

/// Whether a name has the file extension of a profile and of nothing else, followed by that of a compression or not.
fn has_profile_extension(path: &Path) -> bool {
    const EXTENSIONS: [&str; 14] = [
        "profraw",
        "profdata",
        "proftext",
        "memprofraw",
        "memprofyaml",
        "prof",
        "afdo",
        "iprof",
        "jfr",
        "collapsed",
        "folded",
        "pprof",
        "pgo",
        "gcda",
    ];
    let extension = uncompressed_name(path).and_then(|name| name.rsplit_once('.')).map(|(_, extension)| extension);
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::Compat;

    #[test]
    fn other_files_in_a_directory_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in [
            ("a.proftext", &b":ir\nmain\n1\n1\n5\n"[..]),
            ("b.log", b"It was\na dark night\n"),
            ("c.profraw", b"\0\0\0\0\0\0\0\0\0\0\0\0"),
            ("d.json", b"{\"event\":1}"),
            ("e", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0"),
            ("f.txt", b""),
        ] {
            std::fs::write(folder.path().join(name), content).unwrap();
        }
        let mut list = InputList::new(Compat::Profbridge);
        list.push(folder.path()).unwrap();
        let filter_inputs = skip_foreign_files(list);
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_string();
        let kept: Vec<String> = filter_inputs.inputs.iter().map(|input| name(&input.path)).collect();
        let skipped: Vec<String> = filter_inputs.skipped.iter().map(|path| name(path)).collect();
        assert_eq!((kept.join(" "), skipped.join(" ")), ("a.proftext c.profraw f.txt".into(), "b.log d.json e".into()));
        let mut named = InputList::new(Compat::Profbridge);
        named.push(folder.path().join("b.log")).unwrap();
        assert_eq!(skip_foreign_files(named).inputs.len(), 1);
    }
}
