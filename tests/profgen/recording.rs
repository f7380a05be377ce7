//! Programs and recordings of their branches.

use crate::support::Folder;
use std::path::{Path, PathBuf};

/// Returns the text of a file next to this one.
fn source(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profgen").join(name);
    path.to_str().expect("the path of the sources is text").to_string()
}

/// The tools that [`record`] needs.
pub const RECORDER: [&str; 1] = ["cc"];

/// Returns true if one process may single-step another on this machine. Otherwise prints a message.
pub fn can_record(folder: &Folder) -> bool {
    folder.run(&format!("cc -O1 -o recorder {}", source("record_branches.c")));
    let recorded = folder.run("./recorder 1 1 1000 /bin/true");
    if recorded.stdout.is_empty() {
        use std::io::Write;
        let _ = std::io::stderr().write_all(b"SKIPPED: processes cannot be stepped here\n");
    }
    !recorded.stdout.is_empty()
}

/// Compiles a source file from this directory.
pub fn compile(folder: &Folder, compiler: &str, name: &str, output: &str) {
    folder.run(&format!("{compiler} {} -o {output}", source(name)));
}

/// Records the branches of a program in the folder.
pub fn record(folder: &Folder, program: &str) -> PathBuf {
    let recorded = folder.run(&format!("./recorder 61 16 200000 ./{program}"));
    folder.write(&format!("{program}.txt"), recorded.stdout)
}
