//! The search for tools: every directory of the search path, and the other places where build systems look.

use super::versions::Kind;
use profbridge::system::is_program;
use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A program, with all names under which it was found.
pub(crate) struct Found {
    pub(crate) kind: Kind,
    /// The first path under which it was found.
    pub(crate) path: PathBuf,
    /// The file itself, with all links resolved.
    pub(crate) file: PathBuf,
    /// Other paths of the same file.
    pub(crate) also: Vec<PathBuf>,
}

/// Returns all tools of the search path in its order, then those in other directories.
pub(crate) fn tools(others: &[PathBuf]) -> Vec<Found> {
    let mut tools = Vec::new();
    let mut known = BTreeMap::new();
    for folder in search_path() {
        for path in tools_in(&folder, &Kind::ALL) {
            add(&mut tools, &mut known, path);
        }
    }
    for path in others {
        add(&mut tools, &mut known, path.clone());
    }
    tools
}

/// Returns the first program of this name in the search path: the one that a build finds by name.
pub(crate) fn first_in_path(name: &str) -> Option<PathBuf> {
    let name = format!("{name}{}", env::consts::EXE_SUFFIX);
    search_path().into_iter().map(|folder| folder.join(&name)).find(|path| is_program(path))
}

/// Returns the program that a variable names, or a program below the directory that it names.
pub(super) fn of_variable(variable: &str, below: Option<&str>) -> Option<PathBuf> {
    let value = env::var_os(variable).filter(|value| !value.is_empty())?;
    let path = PathBuf::from(value);
    Some(match below {
        Some(name) => path.join("bin").join(format!("{name}{}", env::consts::EXE_SUFFIX)),
        None => path,
    })
}

fn search_path() -> Vec<PathBuf> {
    let folders: Vec<PathBuf> = env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
    folders.into_iter().filter(|folder| !folder.as_os_str().is_empty()).collect()
}

/// Returns the tools of these kinds in a directory, the plain name of each before its numbered ones.
pub(crate) fn tools_in(folder: &Path, kinds: &[Kind]) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut tools: Vec<(Kind, u32, PathBuf)> = entries
        .filter_map(|entry| {
            let (kind, number) = kind_of(&entry.file_name())?;
            Some((kind, number, entry.path()))
        })
        .filter(|(kind, _, path)| kinds.contains(kind) && is_program(path))
        .collect();
    tools.sort();
    tools.into_iter().map(|(_, _, path)| path).collect()
}

/// Parses a file name: `clang`, `clang-19`, `llvm-profdata-mp-19`. The number is 0 if there is none.
fn kind_of(name: &OsStr) -> Option<(Kind, u32)> {
    let name = name.to_str()?;
    let name = name.strip_suffix(env::consts::EXE_SUFFIX)?;
    Kind::ALL.into_iter().find_map(|kind| {
        let rest = name.strip_prefix(kind.name())?;
        let number = match rest.strip_prefix("-mp-").or_else(|| rest.strip_prefix('-')) {
            Some(number) if kind.is_of_llvm() => number.parse().ok()?,
            Some(_) => return None,
            None if rest.is_empty() => 0,
            None => return None,
        };
        Some((kind, number))
    })
}

fn add(tools: &mut Vec<Found>, known: &mut BTreeMap<(Kind, PathBuf), usize>, path: PathBuf) {
    let Some((kind, _)) = path.file_name().and_then(kind_of) else { return };
    // All tools of rustup are links to one program, so a file is the same tool only if the kind of its name is the
    // same.
    let Ok(file) = path.canonicalize() else { return };
    if !is_program(&path) {
        return;
    }
    match known.get(&(kind, file.clone())) {
        Some(&index) => {
            let found: &mut Found = &mut tools[index];
            if found.path != path && !found.also.contains(&path) {
                found.also.push(path);
            }
        }
        None => {
            known.insert((kind, file.clone()), tools.len());
            tools.push(Found { kind, path, file, also: Vec::new() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_recognized_by_name() {
        let suffix = env::consts::EXE_SUFFIX;
        let kind = |name: &str| kind_of(OsStr::new(&format!("{name}{suffix}")));
        assert_eq!(kind("clang"), Some((Kind::Clang, 0)));
        assert_eq!(kind("clang-19"), Some((Kind::Clang, 19)));
        assert_eq!(kind("llvm-profdata-mp-19"), Some((Kind::LlvmProfdata, 19)));
        assert_eq!(kind("java"), Some((Kind::Java, 0)));
        for other in ["clang++", "clang-format", "clang-tidy-19", "rustc-1", "javac", "llvm-profdata-", "gopher"] {
            assert_eq!(kind(other), None, "{other}");
        }
    }
}
