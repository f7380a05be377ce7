//! Memory profiles: the programs of raw ones, their errors, and the thresholds of hot and cold.

use super::failure::Failure;
use super::parsed::Parsed;
use super::values::float;
use profbridge::memprof::HotnessThresholds;
use profbridge::memprof::raw::Programs;
use profbridge::{Error, ErrorKind, Limits};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Returns the programs of raw memory profiles.
pub(super) fn programs(parsed: &Parsed) -> Arc<Programs> {
    let path = parsed.os_text("profiled-binary").filter(|path| !path.is_empty());
    Arc::new(Programs::new(path.map(PathBuf::from).into_iter().collect(), &Limits::default()))
}

/// Returns the thresholds of LLVM's library options. Their numbers have 32 bits.
pub(super) fn hotness_thresholds(parsed: &Parsed) -> HotnessThresholds {
    let small = |name| parsed.number(name).and_then(|number| u32::try_from(number).ok());
    let mut thresholds = HotnessThresholds::default();
    thresholds.hot_hints = parsed.is_on("memprof-use-hot-hints");
    if let Some(density) = small("memprof-min-ave-lifetime-access-density-hot-threshold") {
        thresholds.hot_density = density;
    }
    if let Some(seconds) = small("memprof-ave-lifetime-cold-threshold") {
        thresholds.cold_lifetime = seconds;
    }
    if let Some(density) = parsed.value("memprof-lifetime-access-density-cold-threshold").and_then(float) {
        thresholds.cold_density = density as f32;
    }
    thresholds
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
