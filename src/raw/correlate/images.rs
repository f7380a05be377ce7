//! Several images, each chosen for its profiles by binary id.

use super::image::Image;
use super::{CorrelationKind, Correlator, ImageRecords};
use crate::compat::Compat;
use crate::error::{Error, Result, Warning};
use crate::hint::{Hint, ImagePart};
use crate::limits::Limits;
use crate::model::BinaryId;
use crate::model::description::hex;
use crate::objects::unable;
use crate::raw::header::Header;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The images that may have written some profiles.
#[derive(Debug)]
pub struct Images {
    kind: CorrelationKind,
    compat: Compat,
    limits: Limits,
    given: Vec<Arc<Image>>,
    /// Folders with `.build-id/xx/yyyy.debug`, as debuggers search them.
    folders: Vec<PathBuf>,
    found: Mutex<Vec<(BinaryId, Arc<Image>)>>,
}

impl Images {
    /// No images yet.
    pub fn new(kind: CorrelationKind, compat: Compat, limits: Limits) -> Self {
        Self { kind, compat, limits, given: Vec::new(), folders: Vec::new(), found: Mutex::default() }
    }

    /// Reads an image. A `.dSYM` bundle stands for the file in it.
    ///
    /// # Errors
    ///
    /// I/O errors and those of [`Image::read`], with the path.
    pub fn add(&mut self, path: &Path) -> Result<()> {
        self.given.push(Arc::new(self.read(path)?));
        Ok(())
    }

    /// Adds a folder where images are looked up by build id when a profile
    /// asks for one.
    pub fn add_folder(&mut self, folder: PathBuf) {
        self.folders.push(folder);
    }

    /// The images that were given one by one.
    pub fn given(&self) -> &[Arc<Image>] {
        &self.given
    }

    /// What was odd in the images that were given.
    pub fn warnings(&self) -> Vec<Warning> {
        self.given.iter().flat_map(|image| image.warnings()).cloned().collect()
    }

    fn read(&self, path: &Path) -> Result<Image> {
        let path = file_in_bundle(path);
        let bytes = std::fs::read(&path).map_err(|source| Error::io("cannot open", source).in_file(&path))?;
        Image::read(&path, &bytes, self.kind, &self.limits)
    }

    fn choose(&self, ids: &[BinaryId]) -> Result<Arc<Image>> {
        let has_id = |image: &&Arc<Image>| image.build_id().is_some_and(|own| ids.iter().any(|id| id == own));
        if let Some(image) = self.given.iter().find(has_id) {
            return Ok(Arc::clone(image));
        }
        if let [only] = self.given.as_slice() {
            // LLVM takes the one image for every profile, whatever its id.
            let unknown = ids.is_empty() || only.build_id().is_none();
            if unknown || self.compat.is_llvm() {
                return Ok(Arc::clone(only));
            }
        }
        for id in ids {
            if let Some(image) = self.look_up(id)? {
                return Ok(image);
            }
        }
        Err(self.no_image(ids))
    }

    fn look_up(&self, id: &BinaryId) -> Result<Option<Arc<Image>>> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, image)) = found.iter().find(|(other, _)| other == id) {
            return Ok(Some(Arc::clone(image)));
        }
        let text = hex(id);
        let Some((first, rest)) = text.split_at_checked(2) else { return Ok(None) };
        let mut candidates =
            self.folders.iter().map(|folder| folder.join(".build-id").join(first).join(format!("{rest}.debug")));
        let Some(path) = candidates.find(|path| path.is_file()) else { return Ok(None) };
        let image = Arc::new(self.read(&path)?);
        found.push((id.clone(), Arc::clone(&image)));
        Ok(Some(image))
    }

    fn no_image(&self, ids: &[BinaryId]) -> Error {
        let wanted = ids.iter().map(|id| hex(id)).collect::<Vec<_>>().join(", ");
        if self.given.is_empty() {
            let id = if wanted.is_empty() { "none".to_string() } else { wanted };
            return unable(format!("Missing build ID: {id}"))
                .with_hint("no folder given has an image with that build id");
        }
        let have = self.given.iter().map(|image| {
            let id = image.build_id().map_or("no build id".to_string(), |id| format!("build id {}", hex(id)));
            format!("{} has {id}", image.path().display())
        });
        let have = have.collect::<Vec<_>>().join("; ");
        let part = match self.kind {
            CorrelationKind::DebugInfo => ImagePart::DebugInfo,
            CorrelationKind::Binary => ImagePart::Sections,
        };
        let wanted = if wanted.is_empty() { "without build id".to_string() } else { format!("with build id {wanted}") };
        unable(format!("an image {wanted} wrote the profile; {have}")).with_hint(Hint::GiveImageAsWell(part))
    }
}

impl Correlator for Images {
    fn correlate(&self, header: &Header, binary_ids: &[BinaryId]) -> Result<Arc<ImageRecords>> {
        self.choose(binary_ids)?.records_for(header)
    }
}

/// The file with debug info inside a bundle of Apple's; other paths stay.
fn file_in_bundle(path: &Path) -> PathBuf {
    let inner = path.join("Contents/Resources/DWARF");
    let Ok(entries) = std::fs::read_dir(&inner) else { return path.to_path_buf() };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    files.into_iter().next().unwrap_or_else(|| path.to_path_buf())
}
