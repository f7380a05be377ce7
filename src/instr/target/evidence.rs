//! Evidence from the inputs of a merge about the target release.

use crate::compat::Compat;
use crate::indexed;
use crate::input::{Format, Input};
use crate::memprof;
use crate::model::release::{self, RELEASES, ReleaseRow};
use crate::model::{ProfileKind, Release};
use crate::raw;
use std::fmt;

/// The possible producers of the inputs, and the inputs' content. The order of the inputs does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Evidence {
    /// Oldest and newest version of raw profiles.
    pub raw: Option<(u32, u32)>,
    /// Newest version of indexed profiles.
    pub indexed: Option<u32>,
    /// Newest version of raw memory profiles.
    pub raw_memory: Option<u32>,
    /// Newest version of the memory profiles in indexed profiles.
    pub memory_section: Option<u32>,
    /// Properties of raw and indexed profiles.
    pub properties: ProfileKind,
    /// Whether there are inputs of formats without a version: text, YAML, iprof.
    pub has_unversioned: bool,
}

/// The evidence that determines a target release.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Reason {
    /// The version of an input, `raw version 10`.
    pub version: Option<String>,
    /// Content of the inputs that not every release with that version knows, `loop entries`.
    pub content: Option<String>,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.version, &self.content) {
            (Some(version), Some(content)) => write!(f, "{version} with {content}"),
            (Some(words), None) | (None, Some(words)) => f.write_str(words),
            (None, None) => f.write_str("the default"),
        }
    }
}

/// A head that contains format and version of a raw or an indexed profile.
const HEAD_BYTES: usize = 16;

/// The lowest property in a version word: the footer of a partial merge stores those above.
const FIRST_PROPERTY: u32 = 55;

impl Evidence {
    /// Examines the beginning of each input. An input that cannot be opened is not evidence: the merge reports the
    /// error. In profbridge mode a file without records is not evidence either.
    pub fn look<'i>(inputs: impl IntoIterator<Item = &'i Input>, compat: Compat) -> Self {
        let mut evidence = Self::default();
        for input in inputs {
            let Ok(looked) = input.look() else { continue };
            let format = looked.identity.format;
            if compat.is_llvm() {
                if looked.compression.is_none() || compat.decompresses() {
                    evidence.add_version(format, looked.start());
                }
                continue;
            }
            // A partial merge is read as its inputs, whatever its format is.
            let may_be_part = matches!(format, Format::Indexed | Format::Partial);
            match may_be_part.then(|| input.part_origins()).flatten() {
                Some(origins) => evidence.join(Self::from_word(origins)),
                None if looked.is_blank => {}
                None => {
                    evidence.add(format, looked.start());
                    if properties(format, looked.start()).contains(ProfileKind::MEMPROF) {
                        evidence.memory_section = evidence.memory_section.max(memory_section_of(input));
                    }
                }
            }
        }
        evidence
    }

    /// Adds an input by its format and its first bytes. Unsupported formats and versions that do not exist are not
    /// evidence.
    pub fn add(&mut self, format: Format, head: &[u8]) {
        self.add_version(format, head);
        self.properties |= properties(format, head);
        match (format, version_word(format, head)) {
            (Format::RawMemProf, Some(version)) => self.add_raw_memory(version),
            (Format::YamlMemProf, _) => self.has_unversioned = true,
            _ => {}
        }
    }

    /// Like [`add`](Self::add), but adds only what llvm-profdata examines.
    fn add_version(&mut self, format: Format, head: &[u8]) {
        // The upper half contains flags.
        let version = version_word(format, head).and_then(|word| u32::try_from(word & u64::from(u32::MAX)).ok());
        match (format, version) {
            (Format::Raw { .. }, Some(version)) => self.add_raw(version),
            (Format::Indexed, Some(version)) => self.add_indexed(version),
            (Format::Text | Format::OtherText | Format::Iprof, _) => self.has_unversioned = true,
            _ => {}
        }
    }

    /// Adds a raw profile. A version that does not exist is not evidence.
    pub(crate) fn add_raw(&mut self, version: u32) {
        if raw::layout::is_known_version(version) {
            let (oldest, newest) = self.raw.unwrap_or((version, version));
            self.raw = Some((oldest.min(version), newest.max(version)));
        }
    }

    /// Adds an indexed profile. A version that does not exist is not evidence.
    pub(crate) fn add_indexed(&mut self, version: u32) {
        let known = (1..=indexed::NEWEST_VERSION).contains(&version);
        self.indexed = self.indexed.max(known.then_some(version));
    }

    /// Adds a raw memory profile. A version that does not exist is not evidence.
    pub(crate) fn add_raw_memory(&mut self, version: u64) {
        let newest = RELEASES.last().and_then(|row| release::raw_memory_version(row.release()));
        let known = u32::try_from(version).ok().filter(|version| *version > 0 && Some(*version) <= newest);
        self.raw_memory = self.raw_memory.max(known);
    }

    /// Adds properties of a raw or an indexed profile.
    pub(crate) fn add_properties(&mut self, properties: ProfileKind) {
        self.properties |= properties;
    }

    fn join(&mut self, other: Self) {
        let (oldest, newest) = other.raw.unzip();
        oldest.into_iter().chain(newest).for_each(|version| self.add_raw(version));
        other.indexed.into_iter().for_each(|version| self.add_indexed(version));
        self.raw_memory = self.raw_memory.max(other.raw_memory);
        self.memory_section = self.memory_section.max(other.memory_section);
        self.properties |= other.properties;
        self.has_unversioned |= other.has_unversioned;
    }

    /// Returns the word that the footer of a partial merge stores: a byte each for the oldest and the newest raw
    /// version, the indexed version, inputs without a version, two for properties, and one each for both versions of
    /// memory profiles.
    pub(crate) fn to_word(self) -> u64 {
        let (oldest, newest) = self.raw.unwrap_or_default();
        let byte = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
        let properties = u16::try_from(self.properties.bits() >> FIRST_PROPERTY).unwrap_or_default().to_le_bytes();
        let section = self.memory_section.map_or(0, |version| version + 1);
        u64::from_le_bytes([
            byte(oldest),
            byte(newest),
            byte(self.indexed.unwrap_or_default()),
            self.has_unversioned.into(),
            properties[0],
            properties[1],
            byte(self.raw_memory.unwrap_or_default()),
            byte(section),
        ])
    }

    /// Decodes a word of [`to_word`](Self::to_word).
    pub(crate) fn from_word(word: u64) -> Self {
        let [oldest, newest, indexed, unversioned, low, high, raw_memory, section] = word.to_le_bytes();
        let mut evidence = Self { has_unversioned: unversioned != 0, ..Self::default() };
        [oldest, newest].into_iter().for_each(|version| evidence.add_raw(version.into()));
        evidence.add_indexed(indexed.into());
        evidence.add_properties(ProfileKind::from_bits(u64::from(u16::from_le_bytes([low, high])) << FIRST_PROPERTY));
        evidence.add_raw_memory(raw_memory.into());
        evidence.memory_section = section.checked_sub(1).map(u32::from);
        evidence
    }

    /// Returns true if the llvm-profdata of a release rejects an input only because of its version.
    pub fn are_refused_by(&self, release: Release) -> bool {
        let known_raw = release.raw_version().unwrap_or(raw::layout::NEWEST_VERSION);
        let newest_indexed = release.indexed_version().unwrap_or(indexed::NEWEST_VERSION);
        let raw = self.raw.is_some_and(|(oldest, newest)| oldest != known_raw || newest != known_raw);
        raw || self.indexed.is_some_and(|version| version > newest_indexed)
    }

    /// Returns the oldest release that can have written the newest input and knows all that the inputs contain; `None`
    /// without evidence.
    pub(super) fn release(&self) -> Option<&'static ReleaseRow> {
        let unversioned = self.has_unversioned.then(|| place(|row| row.release() == Release::DEFAULT));
        let versions = self.versions().into_iter().flatten().map(|(at, _)| at);
        let at = versions.chain(self.property().map(|(at, _)| at)).chain(unversioned).max();
        at.map(|at| &RELEASES[at])
    }

    /// Returns the evidence that determines the release. It is empty if the release is the default for inputs without a
    /// version.
    pub fn reason(&self) -> Reason {
        let Some(chosen) = self.release() else { return Reason::default() };
        let is_chosen = |at: usize| RELEASES[at] == *chosen;
        let newest = self.versions().into_iter().flatten().max_by_key(|(at, _)| *at);
        let version = |newest: Option<(usize, String)>| newest.map(|(_, words)| words);
        match (newest, self.property()) {
            (Some((at, words)), _) if is_chosen(at) => Reason { version: Some(words), content: None },
            (newest, Some((at, property))) if is_chosen(at) => {
                Reason { version: version(newest), content: Some(property.nouns()) }
            }
            _ => Reason::default(),
        }
    }

    /// Returns, for the newest version of each format, the first row in the release table that writes it, with a
    /// description.
    fn versions(&self) -> [Option<(usize, String)>; 4] {
        let section = |version: u32| {
            let writes = |row: &ReleaseRow| stores_memory(row, |versions| versions.contains(&version));
            place(|row| writes(row) && all_read_section_of(row, writes))
        };
        let raw_memory = |version| {
            let version_of = |row: &ReleaseRow| release::raw_memory_version(row.release());
            place(|row| {
                version_of(row) >= Some(version) && all_read_section_of(row, |row| version_of(row) == Some(version))
            })
        };
        [
            self.raw.map(|(_, raw)| (place(|row| row.raw_version >= raw), format!("raw version {raw}"))),
            self.indexed
                .map(|version| (place(|row| row.indexed_version >= version), format!("indexed version {version}"))),
            self.raw_memory.map(|version| (raw_memory(version), format!("raw memory profile version {version}"))),
            self.memory_section.map(|version| (section(version), format!("memory profile version {version}"))),
        ]
    }

    /// Returns the row of the first release that knows all properties, with the property that it adds.
    fn property(&self) -> Option<(usize, ProfileKind)> {
        let (release, property) = self.properties.first_release()?;
        Some((place(|row| row.release() >= release), property))
    }
}

/// Returns the row of the first release in the table that matches; the newest if none does.
fn place(is_needed: impl Fn(&ReleaseRow) -> bool) -> usize {
    RELEASES.iter().position(is_needed).unwrap_or(RELEASES.len() - 1)
}

/// Returns true if a release stores memory profiles in indexed profiles, in matching versions.
fn stores_memory(row: &ReleaseRow, is_needed: impl Fn(std::ops::RangeInclusive<u32>) -> bool) -> bool {
    release::written_memory_versions(row.release()).is_some_and(is_needed)
}

/// Returns true if the releases that may have written an input read the section that the merge of a release writes by
/// default. LLVM 20 and later do not read that of earlier releases, although they write the same raw profiles.
fn all_read_section_of(row: &ReleaseRow, may_have_written: impl Fn(&ReleaseRow) -> bool) -> bool {
    let Some(section) = memprof::indexed::default_version(row.release()) else { return false };
    let mut rows = RELEASES.iter().filter(|row| may_have_written(row) && stores_memory(row, |_| true));
    rows.all(|row| stores_memory(row, |versions| versions.contains(&section)))
}

/// Returns the word of a binary format that contains its version.
fn version_word(format: Format, head: &[u8]) -> Option<u64> {
    let word = head.get(8..HEAD_BYTES)?.try_into().ok()?;
    match format {
        Format::Raw { endian, .. } => Some(endian.u64(word)),
        Format::Indexed | Format::RawMemProf => Some(u64::from_le_bytes(word)),
        _ => None,
    }
}

/// Returns the version of the memory profile in an indexed profile. It is not in the first bytes.
fn memory_section_of(input: &Input) -> Option<u32> {
    let first_word = input.word_at(indexed::MEMPROF_OFFSET_AT).and_then(|offset| input.word_at(offset))?;
    u32::try_from(indexed::memory_section_version(first_word)?).ok()
}

/// Returns the properties of a raw or an indexed profile whose version is known.
fn properties(format: Format, head: &[u8]) -> ProfileKind {
    let mut alone = Evidence::default();
    if let (Format::Raw { .. } | Format::Indexed, Some(word)) = (format, version_word(format, head)) {
        alone.add_version(format, head);
        if alone.raw.is_some() || alone.indexed.is_some() {
            alone.add_properties(ProfileKind::from_version_word(word));
        }
    }
    alone.properties
}
