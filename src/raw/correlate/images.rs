//! Images for correlation: executables, shared libraries or separate debug files. For
//! each profile, [`Images`] chooses one by binary id.

use super::dwarf::{self, Probe};
use super::{CorrelationKind, Correlator, ImageRecords};
use crate::ascii::to_hex;
use crate::bytes::{Encoding, Endian, PointerWidth};
use crate::compat::Compat;
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::hint::{Hint, ImagePart};
use crate::limits::Limits;
use crate::model::{BinaryId, SymbolTable};
use crate::objects::{self, contents, unable};
use crate::raw::header::Header;
use crate::raw::layout::{DataRecord, RecordLayout};
use crate::raw::names::RawNames;
use object::{BinaryFormat, Object, ObjectSection};
use std::collections::HashSet;
use std::ops::Range;
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

    /// Returns the warnings of the given images.
    pub fn warnings(&self) -> Vec<Warning> {
        self.given.iter().flat_map(|image| image.warnings()).cloned().collect()
    }

    fn read(&self, path: &Path) -> Result<Image> {
        let path = file_in_bundle(path);
        let bytes = std::fs::read(&path).map_err(|source| Error::io("cannot open", source).in_file(&path))?;
        Image::read(&path, &bytes, self.kind, self.compat, &self.limits)
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
        let text = to_hex(id);
        let Some((first, rest)) = text.split_at_checked(2) else { return Ok(None) };
        let mut candidates =
            self.folders.iter().map(|folder| folder.join(".build-id").join(first).join(format!("{rest}.debug")));
        let Some(path) = candidates.find(|path| path.is_file()) else { return Ok(None) };
        let image = Arc::new(self.read(&path)?);
        found.push((id.clone(), Arc::clone(&image)));
        Ok(Some(image))
    }

    fn no_image(&self, ids: &[BinaryId]) -> Error {
        let wanted = ids.iter().map(|id| to_hex(id)).collect::<Vec<_>>().join(", ");
        if self.given.is_empty() {
            let id = if wanted.is_empty() { "none".to_string() } else { wanted };
            return unable(format!("Missing build ID: {id}"))
                .with_hint("no given directory has an image with that build id");
        }
        let have = self.given.iter().map(|image| {
            let id = image.build_id().map_or("no build id".to_string(), |id| format!("build id {}", to_hex(id)));
            format!("{} has {id}", image.path().display())
        });
        let have = have.collect::<Vec<_>>().join("; ");
        let part = match self.kind {
            CorrelationKind::DebugInfo => ImagePart::DebugInfo,
            CorrelationKind::Binary => ImagePart::Sections,
        };
        let wanted = if wanted.is_empty() { "without build id".to_string() } else { format!("with build id {wanted}") };
        unable(format!("the profile was written by an image {wanted}; {have}")).with_hint(Hint::GiveImageAsWell(part))
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

/// The profiling sections of one image.
#[derive(Debug)]
pub struct Image {
    path: PathBuf,
    build_id: Option<BinaryId>,
    endian: Endian,
    pointer: PointerWidth,
    /// Link-time addresses of the counters.
    counters: Range<u64>,
    /// Link-time addresses of the bitmaps; empty when there are none.
    bitmaps: Range<u64>,
    content: Content,
    warnings: Vec<Warning>,
    /// The records made for each version so far.
    made: Mutex<Vec<(u32, Arc<ImageRecords>)>>,
    limits: Limits,
}

#[derive(Debug)]
enum Content {
    Sections { data: Vec<u8>, names: Vec<u8> },
    Probes(Vec<Probe>),
}

/// The names of a section in ELF and Mach-O, and in COFF.
struct SectionName(&'static str, &'static str);

const COUNTERS: SectionName = SectionName("__llvm_prf_cnts", ".lprfc");
const BITMAPS: SectionName = SectionName("__llvm_prf_bits", ".lprfb");
const DATA: SectionName = SectionName("__llvm_covdata", ".lcovd");
const NAMES: SectionName = SectionName("__llvm_covnames", ".lcovn");

/// LLVM's error for an image without profile data.
const NO_METADATA: ErrorKind = ErrorKind::NotInBinary { what: "any profile data metadata" };

impl Image {
    /// Finds the profiling sections in the bytes of an object file.
    ///
    /// # Errors
    ///
    /// Not an object, or unable to correlate when it lacks what the kind of
    /// correlation needs; both with `path`.
    pub fn read(path: &Path, bytes: &[u8], kind: CorrelationKind, compat: Compat, limits: &Limits) -> Result<Self> {
        Self::read_sections(path, bytes, kind, compat, limits).map_err(|error| error.in_file(path))
    }

    fn read_sections(
        path: &Path,
        bytes: &[u8],
        kind: CorrelationKind,
        compat: Compat,
        limits: &Limits,
    ) -> Result<Self> {
        let file = objects::parse(bytes)?;
        let is_coff = matches!(file.format(), BinaryFormat::Coff | BinaryFormat::Pe);
        let section = |name: &SectionName| file.section_by_name(if is_coff { name.1 } else { name.0 });
        let missing = |name: &SectionName| {
            let name = if is_coff { name.1 } else { name.0 };
            unable(format!("could not find section ({name})")).with_hint(
                "pass the program or library that wrote the profile, before it was stripped, \
                 or its debug file",
            )
        };
        let addresses =
            |section: &object::Section<'_, '_>| section.address()..section.address().saturating_add(section.size());
        let counters_section = section(&COUNTERS).ok_or_else(|| missing(&COUNTERS))?;
        let mut counters = addresses(&counters_section);
        let mut bitmaps = section(&BITMAPS).map_or(0..0, |section| addresses(&section));
        if is_coff {
            // A marker of one byte precedes either; the data starts after it.
            for section in [&mut counters, &mut bitmaps] {
                section.start = section.start.saturating_add(1).min(section.end);
            }
        }
        let endian = if file.is_little_endian() { Endian::Little } else { Endian::Big };
        let mut warnings = Vec::new();
        let content = match kind {
            CorrelationKind::Binary => {
                let data = section(&DATA).ok_or_else(|| missing(&DATA))?;
                let names = section(&NAMES).ok_or_else(|| missing(&NAMES))?;
                Content::Sections { data: contents(&data, limits)?, names: contents(&names, limits)? }
            }
            CorrelationKind::DebugInfo => {
                let found = dwarf::read_probes(&file, path, counters.clone(), compat, limits)?;
                warnings = found.warnings;
                Content::Probes(found.probes)
            }
        };
        let nothing = match &content {
            Content::Sections { data, names } => data.is_empty() || names.is_empty(),
            Content::Probes(probes) => probes.is_empty(),
        };
        if nothing {
            let part = match kind {
                CorrelationKind::DebugInfo => ImagePart::DebugInfo,
                CorrelationKind::Binary => ImagePart::Sections,
            };
            return Err(Error::new(NO_METADATA).with_hint(Hint::BuildForPart(part)));
        }
        Ok(Self {
            path: path.to_path_buf(),
            build_id: objects::build_id(&file),
            endian,
            pointer: if file.is_64() { PointerWidth::Bits64 } else { PointerWidth::Bits32 },
            counters,
            bitmaps,
            content,
            warnings: warnings.into_iter().map(|warning: Warning| warning.in_file(path)).collect(),
            made: Mutex::default(),
            limits: *limits,
        })
    }

    /// Where the image was found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The image's identity, if the linker gave it one.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.build_id.as_deref()
    }

    /// Returns the functions in debug info; empty for binary correlation.
    pub fn probes(&self) -> &[Probe] {
        match &self.content {
            Content::Probes(probes) => probes,
            Content::Sections { .. } => &[],
        }
    }

    /// Bytes of the counters section.
    pub(crate) fn counters_len(&self) -> u64 {
        self.counters.end - self.counters.start
    }

    /// Returns the warnings in the order of the image.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The records for profiles with that header.
    ///
    /// # Errors
    ///
    /// Unable to correlate if the profile comes from another machine; the errors of reading names.
    pub(crate) fn records_for(&self, header: &Header) -> Result<Arc<ImageRecords>> {
        let encoding = header.encoding();
        if (encoding.endian, encoding.pointer) != (self.endian, self.pointer) {
            let words = |endian: Endian, pointer: PointerWidth| format!("{} bits, {endian}", pointer.bytes() * 8);
            let (profile, image) = (words(encoding.endian, encoding.pointer), words(self.endian, self.pointer));
            return Err(unable(format!("the profile is {profile}, the image {image}")).in_file(&self.path));
        }
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, records)) = made.iter().find(|(version, _)| *version == encoding.version) {
            return Ok(Arc::clone(records));
        }
        let records = match &self.content {
            Content::Sections { data, names } => self.read_data(data, names, encoding),
            Content::Probes(probes) => self.records_of_probes(probes, encoding.version),
        };
        let records = Arc::new(records.map_err(|error| error.in_file(&self.path))?);
        made.push((encoding.version, Arc::clone(&records)));
        Ok(records)
    }

    /// Decodes the records of the data section; pointers are link-time
    /// addresses there.
    fn read_data(&self, data: &[u8], names: &[u8], encoding: Encoding) -> Result<ImageRecords> {
        let layout = RecordLayout::new(encoding);
        let names = RawNames::read_section(names, &self.limits)?;
        let mut seen = HashSet::new();
        let mut records = Vec::new();
        // The last record may lack its trailing padding.
        let whole = data.chunks(layout.size()).filter(|bytes| bytes.len() >= layout.size_without_padding());
        for record in whole.map(|bytes| layout.read(bytes)) {
            let inside = self.counters.contains(&record.counter_ptr);
            let offset = record.counter_ptr.wrapping_sub(self.counters.start);
            // Functions that the linker dropped have address 0. LLVM's warning about them is not useful.
            if !inside || !seen.insert(offset) {
                continue;
            }
            let function = || format!("{:#018x}", record.name_ref);
            let bitmap = (record.bitmap_ptr, record.num_bitmap_bytes);
            let (bitmap_ptr, num_bitmap_bytes) = self.bitmap_offset(bitmap, encoding.version, function)?;
            let (counter_ptr, num_value_sites) = (offset, [0; 3]);
            records.push(DataRecord { counter_ptr, bitmap_ptr, num_bitmap_bytes, num_value_sites, ..record });
        }
        Ok(ImageRecords::new(records, names))
    }

    fn records_of_probes(&self, probes: &[Probe], version: u32) -> Result<ImageRecords> {
        let mut symbols = SymbolTable::new();
        let mut seen = HashSet::new();
        let mut records = Vec::new();
        for probe in probes {
            let name_ref = symbols.insert(&probe.function_name);
            if !seen.insert(probe.counter_offset) {
                continue;
            }
            let function = || probe.function_name.escape_ascii().to_string();
            let bitmap = probe.bitmap.unwrap_or_default();
            let (bitmap_ptr, num_bitmap_bytes) = self.bitmap_offset(bitmap, version, function)?;
            records.push(DataRecord {
                name_ref,
                func_hash: probe.func_hash,
                counter_ptr: probe.counter_offset,
                bitmap_ptr,
                function_ptr: probe.function_address.unwrap_or(0),
                num_counters: probe.num_counters,
                num_bitmap_bytes,
                ..DataRecord::default()
            });
        }
        Ok(ImageRecords::new(records, RawNames::from_symbols(symbols)))
    }

    /// Where a function's bitmap begins in its section, and its bytes. Before
    /// LLVM 23 (raw version 11) bitmaps were lost in correlation.
    fn bitmap_offset(
        &self,
        (address, bytes): (u64, u32),
        version: u32,
        function: impl Fn() -> String,
    ) -> Result<(u64, u32)> {
        if bytes == 0 || version < FIRST_VERSION_WITH_BITMAPS {
            return Ok((0, 0));
        }
        if self.bitmaps.is_empty() {
            return Err(Error::new(ErrorKind::NotInBinary { what: "profile bitmap section" }));
        }
        if !self.bitmaps.contains(&address) {
            let Range { start, end } = self.bitmaps;
            let function = function();
            return Err(unable(format!(
                "BitmapPtr out of range for function {function}: Actual={address:#x} Expected=[{start:#x}, {end:#x})"
            )));
        }
        Ok((address - self.bitmaps.start, bytes))
    }
}

/// The first raw version whose correlated files hold bitmaps that are found.
const FIRST_VERSION_WITH_BITMAPS: u32 = 11;
