//! The options that name the images of profiles without records.

use crate::console;
use clap::Args;
use profbridge::raw::Correlator;
use profbridge::raw::correlate::{CorrelationKind, Images};
use profbridge::{Compat, Result};
use std::path::PathBuf;
use std::sync::Arc;

/// Sources of names and records for profiles without them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Profiles without names and records")]
pub(crate) struct CorrelateArgs {
    /// The unstripped image, built with -profile-correlate=binary; repeat it for several images
    #[arg(long, value_name = "FILE")]
    binary_file: Vec<PathBuf>,
    /// The image with debug info, built with -profile-correlate=debug-info; repeat it for several images
    #[arg(long, value_name = "FILE", conflicts_with = "binary_file")]
    debug_info: Vec<PathBuf>,
    /// A directory with images under .build-id/, which are found by build id
    #[arg(long, value_name = "DIR", requires = "correlate", conflicts_with_all = ["binary_file", "debug_info"])]
    debug_file_directory: Vec<PathBuf>,
    /// The contents of images that are found by build id
    #[arg(long, value_enum, value_name = "KIND", requires = "debug_file_directory")]
    correlate: Option<CorrelationKind>,
}

impl CorrelateArgs {
    /// Opens the images; `None` if none are given.
    pub(crate) fn correlator(&self) -> Result<Option<Arc<dyn Correlator + Send + Sync>>> {
        let (kind, files) = match self.correlate {
            Some(kind @ CorrelationKind::Binary) => (kind, &self.binary_file),
            Some(kind) => (kind, &self.debug_info),
            None if !self.debug_info.is_empty() => (CorrelationKind::DebugInfo, &self.debug_info),
            None if !self.binary_file.is_empty() => (CorrelationKind::Binary, &self.binary_file),
            None => return Ok(None),
        };
        let mut images = Images::new(kind, Compat::Profbridge, crate::limits::chosen());
        files.iter().try_for_each(|file| images.add(file))?;
        self.debug_file_directory.iter().for_each(|folder| images.add_folder(folder.clone()));
        images.warnings().iter().for_each(console::warning);
        Ok(Some(Arc::new(images)))
    }
}
