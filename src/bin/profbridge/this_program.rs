//! The file of this program.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The Python interpreter that runs the program, in the Python package.
static INTERPRETER: OnceLock<PathBuf> = OnceLock::new();

/// Stores the interpreter. Its path can be a link of a virtual environment: the file that it points to has other packages.
pub(crate) fn set_interpreter(path: PathBuf) {
    // A process runs the program once.
    let _ = INTERPRETER.set(path);
}

/// Returns the first words of a command that starts this program.
pub(crate) fn command() -> io::Result<Vec<OsString>> {
    match INTERPRETER.get() {
        Some(path) => Ok(vec![path.into(), "-m".into(), "profbridge".into()]),
        None => Ok(vec![std::env::current_exe()?.into_os_string()]),
    }
}

/// Returns the file without links. In the Python package, it is the script next to the interpreter.
pub(crate) fn file() -> Option<PathBuf> {
    let script =
        INTERPRETER.get().map(|path| path.with_file_name(format!("profbridge{}", std::env::consts::EXE_SUFFIX)));
    let file = script.filter(|path| path.is_file()).map_or_else(std::env::current_exe, Ok);
    file.and_then(|path| path.canonicalize()).ok()
}
