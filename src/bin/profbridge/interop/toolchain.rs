//! The toolchains that are compared, found like those of `doctor`.

use super::kind::{Kind, Language};
use crate::doctor::machine::{bundled_with_rustc, row_of, version_of};
use crate::doctor::search::{self, Found};
use crate::doctor::versions::Kind as Tool;
use crate::this_program;
use profbridge::instr::release;
use profbridge::system::is_program;
use profbridge::{Error, Result};
use serde::Serialize;
use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

/// A compiler with its tools.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Toolchain {
    /// `clang-16`, `rustc-1.75`.
    pub(super) name: String,
    pub(super) compiler: PathBuf,
    pub(super) version: String,
    /// The major version of its LLVM.
    pub(super) llvm: u32,
    /// The target release for `--for`.
    pub(super) release: String,
    /// The llvm-profdata and llvm-cov of the same LLVM release, if they are installed.
    pub(super) llvm_profdata: Option<PathBuf>,
    pub(super) llvm_cov: Option<PathBuf>,
    #[serde(skip)]
    pub(super) is_rustc: bool,
}

impl Toolchain {
    /// Returns true if it compiles programs in this language.
    pub(super) fn compiles(&self, language: Language) -> bool {
        self.is_rustc == (language == Language::Rust)
    }

    /// Returns true if it supports a kind of profile.
    pub(super) fn supports(&self, kind: Kind) -> bool {
        self.llvm >= kind.first_llvm() && (!self.is_rustc || kind.is_of_rustc())
    }
}

/// A compiler that is not compared.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Skipped {
    pub(super) compiler: PathBuf,
    pub(super) reason: String,
}

/// The tools of this machine.
struct Tools {
    profdata: Vec<(PathBuf, u32)>,
    cov: Vec<(PathBuf, u32)>,
}

/// Returns the toolchains of this machine, or those with the given names and paths.
///
/// # Errors
///
/// A name or path that is not a toolchain; no toolchain at all.
pub(super) fn find(wanted: &[String]) -> Result<(Vec<Toolchain>, Vec<Skipped>)> {
    let paths: Vec<PathBuf> = wanted.iter().filter(|name| is_path(name)).map(PathBuf::from).collect();
    let mut compilers = Vec::new();
    for path in &paths {
        compilers.push(compiler_at(path)?);
    }
    let directories = directories_of_variables();
    let next_to = compilers.iter().filter_map(|path| path.parent());
    let in_directory = |folder: &Path| {
        let folders = [folder.to_path_buf(), folder.join("bin")];
        folders.into_iter().flat_map(|folder| search::tools_in(&folder, &[Tool::LlvmProfdata, Tool::LlvmCov]))
    };
    let extra: Vec<PathBuf> = directories
        .iter()
        .filter_map(|folder| tool_in(folder, Tool::Clang))
        .chain(directories.iter().map(PathBuf::as_path).chain(next_to).flat_map(in_directory))
        .chain(bundled_with_rustc())
        .chain(compilers.clone())
        .collect();
    let found = search::tools(&extra);
    let tools = Tools { profdata: versions(&found, Tool::LlvmProfdata), cov: versions(&found, Tool::LlvmCov) };
    let (mut toolchains, mut skipped) = (Vec::new(), Vec::new());
    for found in found.iter().filter(|found| found.kind.is_compiler_of_llvm()) {
        match toolchain(found, &tools) {
            Ok(toolchain) => toolchains.push(toolchain),
            Err(reason) => skipped.push(reason),
        }
    }
    toolchains.sort_by_key(|toolchain| (toolchain.is_rustc, toolchain.llvm));
    if !wanted.is_empty() {
        toolchains = select(toolchains, wanted, &compilers)?;
        skipped.clear();
    }
    make_names_unique(&mut toolchains);
    if toolchains.is_empty() {
        return Err(Error::nothing_found("no compiler was found")
            .with_hint("install clang or rustc, or name a compiler with --toolchain"));
    }
    Ok((toolchains, skipped))
}

/// Returns true if a wanted toolchain is given by its path.
fn is_path(name: &str) -> bool {
    name.contains(std::path::is_separator)
}

/// Returns the compiler at a path: a program, or the clang or rustc in a directory.
fn compiler_at(path: &Path) -> Result<PathBuf> {
    let inside = || [Tool::Clang, Tool::Rustc].into_iter().find_map(|tool| tool_in(path, tool));
    let compiler = if path.is_dir() { inside() } else { Some(path.to_path_buf()).filter(|path| is_program(path)) };
    let compiler = compiler.and_then(|path| std::path::absolute(path).ok());
    compiler.ok_or_else(|| {
        Error::usage("not a compiler")
            .in_file(path)
            .with_hint("name a program such as bin/clang or bin/rustc, or a directory that contains one")
    })
}

/// Returns the tool of a directory: the one without a number, otherwise the newest.
fn tool_in(folder: &Path, tool: Tool) -> Option<PathBuf> {
    let bin = [folder.to_path_buf(), folder.join("bin")];
    let name = format!("{}{}", tool.name(), env::consts::EXE_SUFFIX);
    let plain = bin.iter().map(|folder| folder.join(&name)).find(|path| is_program(path));
    plain.or_else(|| bin.iter().find_map(|folder| search::tools_in(folder, &[tool]).pop()))
}

/// Returns the directories that `LLVM_16_BIN` and similar variables name.
fn directories_of_variables() -> Vec<PathBuf> {
    let directory = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        let name = name.into_string().ok()?;
        let release: u32 = name.strip_prefix("LLVM_")?.strip_suffix("_BIN")?.parse().ok()?;
        Some((release, PathBuf::from(value)))
    };
    let mut directories: Vec<(u32, PathBuf)> = env::vars_os().filter_map(directory).collect();
    directories.sort();
    directories.into_iter().map(|(_, directory)| directory).collect()
}

/// Returns the tools of a kind with their LLVM version, without this program under the name of a tool.
fn versions(found: &[Found], tool: Tool) -> Vec<(PathBuf, u32)> {
    let is_ours = |found: &Found| this_program::file().is_some_and(|program| program == found.file);
    let version = |found: &Found| Some((found.path.clone(), version_of(found).ok()?.llvm?));
    found.iter().filter(|found| found.kind == tool && !is_ours(found)).filter_map(version).collect()
}

/// Describes a compiler.
fn toolchain(found: &Found, tools: &Tools) -> std::result::Result<Toolchain, Skipped> {
    let skipped = |reason: String| Skipped { compiler: found.path.clone(), reason };
    let version = version_of(found).map_err(skipped)?;
    let llvm = version.llvm.ok_or_else(|| skipped("the LLVM release is unknown".to_string()))?;
    let is_rustc = found.kind == Tool::Rustc;
    let minor = || version.version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
    let name = if is_rustc { format!("rustc-{}", minor()) } else { format!("clang-{llvm}") };
    let release = match is_rustc && release::parse(&name).is_ok() {
        true => name.clone(),
        false => row_of(llvm).map_or(format!("llvm-{llvm}"), |row| format!("llvm-{}", row.llvm)),
    };
    // The tools next to the compiler are those of its build.
    let is_next = |path: &Path| {
        let of_file = || path.canonicalize().is_ok_and(|file| file.parent() == found.file.parent());
        path.parent() == found.path.parent() || of_file()
    };
    let pick = |tools: &[(PathBuf, u32)]| {
        let of_release = || tools.iter().filter(|(_, of)| *of == llvm).map(|(path, _)| path);
        of_release().find(|path| is_next(path)).or_else(|| of_release().next()).cloned()
    };
    Ok(Toolchain {
        name,
        compiler: found.path.clone(),
        version: version.version.clone(),
        llvm,
        release,
        llvm_profdata: pick(&tools.profdata),
        llvm_cov: pick(&tools.cov),
        is_rustc,
    })
}

/// Makes names of toolchains with the same release different.
fn make_names_unique(toolchains: &mut [Toolchain]) {
    let mut names = BTreeSet::new();
    for toolchain in toolchains {
        let plain = toolchain.name.clone();
        let mut number = 1;
        while !names.insert(toolchain.name.clone()) {
            number += 1;
            toolchain.name = format!("{plain}.{number}");
        }
    }
}

/// Returns the toolchains with the given names and paths, in the order of the release.
fn select(toolchains: Vec<Toolchain>, wanted: &[String], compilers: &[PathBuf]) -> Result<Vec<Toolchain>> {
    let file = |path: &Path| path.canonicalize().ok();
    let is_named = |toolchain: &Toolchain, name: &str| {
        let plain = if toolchain.is_rustc { "rustc" } else { "clang" };
        [toolchain.name.as_str(), toolchain.release.as_str(), plain].contains(&name)
    };
    let compilers: Vec<Option<PathBuf>> = compilers.iter().map(|path| file(path)).collect();
    for name in wanted.iter().filter(|name| !is_path(name)) {
        if !toolchains.iter().any(|toolchain| is_named(toolchain, name)) {
            let names: Vec<&str> = toolchains.iter().map(|toolchain| toolchain.name.as_str()).collect();
            let found = if names.is_empty() { "none".to_string() } else { names.join(", ") };
            return Err(Error::usage(format!("no toolchain {name} was found"))
                .with_hint(format!("found: {found}; a compiler can also be given by its path")));
        }
    }
    for path in &compilers {
        if !toolchains.iter().any(|toolchain| file(&toolchain.compiler) == *path) {
            let error = Error::usage("the compiler does not print its LLVM version");
            return Err(path.iter().fold(error, Error::in_file));
        }
    }
    let is_wanted = |toolchain: &Toolchain| {
        wanted.iter().any(|name| !is_path(name) && is_named(toolchain, name))
            || compilers.contains(&file(&toolchain.compiler))
    };
    Ok(toolchains.into_iter().filter(is_wanted).collect())
}
