//! The file of a program, of which only parts are in memory.

use crate::bytes::window::StableSource;
use crate::error::Result;
use crate::input::{Access, InputBytes, StableFile, open};
use crate::limits::Limits;
use crate::memory::{Pages, small_pages};
use crate::objects::{StringSection, is_section_of_code};
use object::{File, Object, ObjectSection, ReadCache, SectionKind};
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

/// The length from which files are not read whole.
const LARGE: u64 = 4 << 20;

/// The content of a file. Sections that no profile needs are zeros if the file is large. They take no memory.
#[derive(Debug)]
pub(super) struct Image {
    content: Content,
    /// The strings of debug info if they are not in the content.
    pub(super) strings: Option<StringSection>,
}

#[derive(Debug)]
enum Content {
    Whole(InputBytes),
    Parts(Pages),
}

impl Deref for Image {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.content {
            Content::Whole(bytes) => bytes,
            Content::Parts(pages) => pages,
        }
    }
}

impl From<InputBytes> for Image {
    fn from(bytes: InputBytes) -> Self {
        Self { content: Content::Whole(bytes), strings: None }
    }
}

impl Image {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// I/O errors with the path, also for a large file that changes.
    pub(super) fn open(path: &Path, limits: &Limits) -> Result<Self> {
        if path.metadata().is_ok_and(|found| found.is_file() && (LARGE..=limits.stream_bytes).contains(&found.len()))
            && let Some(image) = Self::in_parts(path).map_err(|error| error.in_file(path))?
        {
            return Ok(image);
        }
        Ok(open(path, Access::Read, limits)?.into())
    }

    /// Reads the needed parts of an ELF file; `None` for other files.
    fn in_parts(path: &Path) -> Result<Option<Self>> {
        let Some(file) = StableFile::open(path)? else { return Ok(None) };
        let (len, Some(unneeded)) = (file.len(), unneeded_parts(&file)) else { return Ok(None) };
        let Some(mut memory) = usize::try_from(len).ok().and_then(small_pages) else { return Ok(None) };
        let mut at = 0;
        for Range { start, end } in unneeded.parts.into_iter().chain(std::iter::once(len..len)) {
            if start > at {
                file.read(&mut memory[at as usize..start as usize], at)?;
            }
            at = at.max(end);
        }
        file.check()?;
        let file = Arc::new(file);
        let strings = unneeded.strings.map(|Range { start, end }| StringSection::new(file, start, end - start));
        Ok(Some(Self { content: Content::Parts(Pages::new(memory, len as usize)), strings }))
    }
}

/// Parts of a file that are not needed in memory.
struct Unneeded {
    /// Ascending by start.
    parts: Vec<Range<u64>>,
    /// The strings of debug info, if they are one of the parts.
    strings: Option<Range<u64>>,
}

/// Finds the parts that are not needed; `None` for files that are not ELF, or whose sections overlap.
fn unneeded_parts(file: &StableFile) -> Option<Unneeded> {
    let cache = ReadCache::new(file.as_file());
    let parsed = File::parse(&cache).ok()?;
    if !matches!(parsed, File::Elf32(_) | File::Elf64(_)) {
        return None;
    }
    let mut sections = Vec::new();
    for section in parsed.sections() {
        let Some((start, len)) = section.file_range().filter(|(_, len)| *len != 0) else { continue };
        let end = start.checked_add(len).filter(|end| *end <= file.len())?;
        let is_strings = section.name() == Ok(StringSection::NAME);
        sections.push((start..end, is_needed(&section) || is_compressed(&section), is_strings));
    }
    sections.sort_by_key(|(part, ..)| part.start);
    if sections.windows(2).any(|pair| pair[0].0.end > pair[1].0.start) {
        return None;
    }
    sections.retain(|(_, is_needed, _)| !is_needed);
    let strings = sections.iter().find(|(.., is_strings)| *is_strings).map(|(part, ..)| part.clone());
    Some(Unneeded { parts: sections.into_iter().map(|(part, ..)| part).collect(), strings })
}

fn is_compressed<'d>(section: &impl ObjectSection<'d>) -> bool {
    section.compressed_file_range().map_or(true, |range| range.format != object::CompressionFormat::None)
}

/// Returns true for a section that a profile can need, other than the strings of debug info.
fn is_needed<'d>(section: &impl ObjectSection<'d>) -> bool {
    match section.name() {
        Ok(name) if name.starts_with(".debug_") => is_section_of_code(name),
        Ok(".gdb_index") => false,
        _ => !matches!(
            section.kind(),
            SectionKind::Data
                | SectionKind::ReadOnlyData
                | SectionKind::ReadOnlyDataWithRel
                | SectionKind::ReadOnlyString
        ),
    }
}
