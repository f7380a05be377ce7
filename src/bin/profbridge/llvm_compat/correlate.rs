//! Images of profiles without records, and their debug info.

use super::failure::Failure;
use super::messages;
use super::parsed::Parsed;
use profbridge::families::{ProbeOptions, list_probes};
use profbridge::raw::Correlator;
use profbridge::raw::correlate::{CorrelationKind, Images};
use profbridge::system::os_string;
use profbridge::{Compat, Limits};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The default maximum number of printed warnings about an image.
const MOST_WARNINGS: u64 = 5;

/// Opens the image or the directories given by the options, which were already checked for conflicts.
pub(super) fn correlator(parsed: &Parsed) -> Result<Option<Arc<dyn Correlator + Send + Sync>>, Failure> {
    let path = |name| parsed.os_text(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let new = |kind| Images::new(kind, Compat::Llvm22, Limits::default());
    let images = if let Some(file) = path("debug-info") {
        let mut images = new(CorrelationKind::DebugInfo);
        images.add(&file)?;
        images
    } else if let Some(file) = path("binary-file") {
        let mut images = new(CorrelationKind::Binary);
        images.add(&file)?;
        images
    } else {
        // Without a server, --debuginfod finds nothing.
        let mut images = match parsed.value("correlate") {
            Some(b"debug-info") => new(CorrelationKind::DebugInfo),
            Some(b"binary") => new(CorrelationKind::Binary),
            _ => return Ok(None),
        };
        for folder in parsed.values("debug-file-directory") {
            images.add_folder(PathBuf::from(os_string(folder)));
        }
        images
    };
    print_warnings(parsed, &images);
    Ok(Some(Arc::new(images)))
}

fn print_warnings(parsed: &Parsed, images: &Images) {
    let warnings = images.warnings();
    let most = match parsed.number("max-debug-info-correlation-warnings").unwrap_or(MOST_WARNINGS) {
        0 => usize::MAX,
        most => usize::try_from(most).unwrap_or(usize::MAX),
    };
    for warning in warnings.iter().take(most) {
        messages::warning(None, &warning.message);
    }
    if warnings.len() > most {
        messages::warning(None, &format!("Suppressed {} additional warnings", warnings.len() - most));
    }
}

/// Runs `show --debug-info=OBJECT`.
pub(super) fn show(parsed: &Parsed, image: &Path) -> Result<Vec<u8>, Failure> {
    let format = if parsed.is_on("json") { b"json" } else { parsed.value("show-format").unwrap_or(b"text") };
    if format == b"json" {
        return Err(Failure::text("JSON output is not supported for debug info correlation"));
    }
    let mut options = ProbeOptions::default();
    options.names = parsed.is_on("show-prof-sym-list");
    options.counters_size = parsed.is_on("detailed-summary");
    options.yaml = format == b"yaml";
    Ok(list_probes(image, &options)?)
}
