//! Where the programs of each release of LLVM are. Other tests include this file.

use std::path::{Path, PathBuf};

/// The path of `TOOL-N`, a program of release N as Debian calls it: `TOOL` in
/// the folder that `LLVM_N_BIN` names, else `TOOL-N` on the search path, else
/// `TOOL` where `tests/releases/install.sh` puts that release. Other names are
/// looked up on the search path.
pub fn program(name: &str) -> Option<PathBuf> {
    let release = name.rsplit_once('-').filter(|(_, release)| release.parse::<u32>().is_ok());
    let chosen = release.and_then(|(tool, release)| {
        let folder = std::env::var_os(format!("LLVM_{release}_BIN"))?;
        Some(Path::new(&folder).join(tool))
    });
    let on_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
    };
    let installed = || {
        let (tool, release) = release?;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(".llvm");
        Some(folder.join(format!("llvm-{release}/bin")).join(tool))
    };
    chosen.filter(|file| file.is_file()).or_else(on_path).or_else(|| installed().filter(|file| file.is_file()))
}
