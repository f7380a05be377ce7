//! What folders hold beside profiles.

use crate::compression::uncompressed_name;
use crate::input::{Format, Input, InputList};
use std::path::{Path, PathBuf};

/// The inputs of a run, and what of the folders is none.
#[derive(Debug)]
#[non_exhaustive]
pub struct Sifted {
    /// What was named, and what of the folders is a profile, empty, or called like a profile.
    pub inputs: Vec<Input>,
    /// Files of the folders that are something else, in order.
    pub passed_over: Vec<PathBuf>,
}

/// Tells profiles in folders from what lies beside them: logs, programs, JSON of something else.
/// What was named is left to whoever reads it, and so is a file with a profile's name, since it
/// is one that was damaged.
pub fn pass_over_foreign(list: InputList) -> Sifted {
    let found = list.found().clone();
    let (mut inputs, mut passed_over) = (Vec::new(), Vec::new());
    for input in list.into_inputs() {
        if found.contains(&input.path) && is_foreign(&input) {
            passed_over.push(input.path);
        } else {
            inputs.push(input);
        }
    }
    Sifted { inputs, passed_over }
}

fn is_foreign(input: &Input) -> bool {
    // What cannot be opened is reported by whoever reads it.
    let is_something_else = input.format().is_ok_and(|format| format != Format::Empty && format.family().is_none());
    is_something_else && !is_called_a_profile(&input.path)
}

/// Whether a name has the file extension of a profile and of nothing else, followed by that of a compression or not.
fn is_called_a_profile(path: &Path) -> bool {
    const ENDINGS: [&str; 14] = [
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
    let ending = uncompressed_name(path).and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending);
    ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::Compat;

    #[test]
    fn what_lies_beside_profiles_is_passed_over_unless_it_was_named() {
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
        let sifted = pass_over_foreign(list);
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_string();
        let kept: Vec<String> = sifted.inputs.iter().map(|input| name(&input.path)).collect();
        let passed_over: Vec<String> = sifted.passed_over.iter().map(|path| name(path)).collect();
        assert_eq!(
            (kept.join(" "), passed_over.join(" ")),
            ("a.proftext c.profraw f.txt".into(), "b.log d.json e".into())
        );
        let mut named = InputList::new(Compat::Profbridge);
        named.push(folder.path().join("b.log")).unwrap();
        assert_eq!(pass_over_foreign(named).inputs.len(), 1);
    }
}
