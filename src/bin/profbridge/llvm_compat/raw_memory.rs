//! Raw memory profiles: their programs and their errors.

use super::failure::Failure;
use super::parsed::Parsed;
use profbridge::memprof::raw::Programs;
use profbridge::{Error, ErrorKind, Limits};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Returns the programs of raw memory profiles.
pub(super) fn programs(parsed: &Parsed) -> Arc<Programs> {
    let path = parsed.os_text("profiled-binary").filter(|path| !path.is_empty());
    Arc::new(Programs::new(path.map(PathBuf::from).into_iter().collect(), &Limits::default()))
}

/// Returns the failure for a raw memory profile. LLVM prints few details about a damaged one, and repeats its path.
pub(super) fn raw_memory_failure(error: &Error, path: &Path, whence: Option<Vec<u8>>) -> Failure {
    let class = match error.kind() {
        ErrorKind::MissingProgram { .. } | ErrorKind::UnableToSymbolize { .. } => None,
        ErrorKind::UnsupportedVersion { .. } => Some("unsupported instrumentation profile format version"),
        _ => Some("malformed instrumentation profile data"),
    };
    let text = match class {
        Some(class) => format!("{}\n{class}", path.display()),
        None => error.llvm_message(),
    };
    Failure::Message { whence, text, note: None }
}
