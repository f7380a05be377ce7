//! A view of an indexed file: finds the parts and decodes them when the caller requests
//! them. [`IndexedProfile::extent`] finds the end of the profile, because readers follow
//! offsets and ignore the bytes after it.

use super::layout::{FileBytes, HEADER_WORDS, MAGIC, NEWEST_VERSION, since, writing_release};
use super::lookup::{Entry, Table, Walk};
use super::memprof;
use crate::bytes::{Cursor, Endian, names};
use crate::compat::{Compat, LLVM_22_INDEXED_VERSION};
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::limits::Limits;
use crate::memory::{self, HOLD_INPUT};
use crate::model::summary::SummaryRow;
use crate::model::{
    BinaryId, FunctionRecord, MemProfSection, ProfileKind, ProfileSummary, RecordView, TemporalProfile, TemporalTrace,
    release,
};
use byteorder::{ByteOrder, LittleEndian};

/// How strictly and how far an indexed file is read.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Bounds on what compressed parts inflate to.
    pub limits: Limits,
    /// Whose rules decide what is accepted.
    pub compat: Compat,
}

impl ReadOptions {
    /// The given bounds and rules.
    pub fn new(limits: Limits, compat: Compat) -> Self {
        Self { limits, compat }
    }
}

/// An indexed profile that borrows the file's bytes.
///
/// Opening it reads the header, the summary and where the sections are;
/// [`get`](Self::get) touches one bucket, [`entries`](Self::entries) walks all.
///
/// ```no_run
/// use profbridge::indexed::{IndexedProfile, ReadOptions};
///
/// let bytes = std::fs::read("default.profdata").unwrap();
/// let profile = IndexedProfile::read(&bytes, ReadOptions::default())?;
/// if let Some(entry) = profile.get(b"main")? {
///     for record in entry.records {
///         let record = record?;
///         println!("{:#x}: {:?}", record.func_hash, record.counters);
///     }
/// }
/// # Ok::<(), profbridge::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct IndexedProfile<'data> {
    pub(super) file: FileBytes<'data>,
    options: ReadOptions,
    version: u32,
    kind: ProfileKind,
    summary: Option<ProfileSummary>,
    context_sensitive_summary: Option<ProfileSummary>,
    pub(super) table: Table<'data>,
    pub(super) binary_ids: Option<Cursor<'data>>,
    vtable_names: Option<Cursor<'data>>,
    pub(super) traces: Option<Cursor<'data>>,
    pub(super) memprof: Option<(u64, &'data [u8])>,
}

impl<'data> IndexedProfile<'data> {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// Bad magic, unsupported version or hash type; truncated or malformed if the header, the summary or a required
    /// section is damaged. Under [`Compat::Llvm22`], faults that llvm-profdata does not detect are ignored.
    pub fn read(file: &'data [u8], options: ReadOptions) -> Result<Self> {
        Self::of(FileBytes::whole(file), options)
    }

    /// Like [`read`](Self::read), for a file whose records may be missing; then do not read records.
    pub(super) fn of(file: FileBytes<'data>, options: ReadOptions) -> Result<Self> {
        let mut cursor = Cursor::new(file.front(), 0, Endian::Little, "header");
        let (version, version_word) =
            read_version(&mut cursor, options.compat).map_err(|error| error.in_format("indexed"))?;
        Self::read_rest(file, cursor, version_word, options)
            .map_err(|error| error.in_format(format!("indexed v{version}")))
    }

    fn read_rest(
        file: FileBytes<'data>,
        mut cursor: Cursor<'data>,
        version_word: u64,
        options: ReadOptions,
    ) -> Result<Self> {
        let version = version_word as u32;
        let kind = ProfileKind::from_version_word(version_word);
        cursor.u64("unused word")?;
        let words = HeaderValues::read(&mut cursor, version)?;
        let summary = (version >= since::SUMMARY).then(|| read_summary(&mut cursor)).transpose()?;
        let sensitive = summary.is_some() && kind.is_context_sensitive();
        let context_sensitive_summary = sensitive.then(|| read_summary(&mut cursor)).transpose()?;
        let table = Table::locate(file, cursor.position(), words.hash_table, version)?;
        if !options.compat.is_llvm() {
            table.check_index()?;
        }
        let section = |offset: u64, name: &'static str| section(file, offset, name);
        let has = |since| version >= since;
        // LLVM checks memory profiles before it checks the sections after them.
        let has_memprof = has(since::MEMPROF) && kind.contains(ProfileKind::MEMPROF);
        if has_memprof && options.compat.is_llvm() {
            let newest_only = !options.compat.reads_every_indexed_version();
            memprof::check_as_llvm(file, words.memprof, newest_only, &options.limits)?;
        }
        let mut profile = Self {
            file,
            options,
            version,
            kind: ProfileKind::from_version_word(kind.indexed_bits()),
            summary,
            context_sensitive_summary,
            table,
            binary_ids: has(since::BINARY_IDS).then(|| section(words.binary_ids, "binary ids")).transpose()?,
            vtable_names: has(since::VTABLES).then(|| section(words.vtable_names, "vtable names")).transpose()?,
            traces: None,
            memprof: None,
        };
        if has(since::TRACES) && kind.contains(ProfileKind::TEMPORAL) {
            profile.traces = Some(section(words.traces, "temporal traces")?);
        }
        if has_memprof {
            profile.memprof = Some(profile.locate_memprof(words.memprof, words.binary_ids)?);
        }
        profile.check_sections()?;
        Ok(profile)
    }

    fn check_sections(&self) -> Result<()> {
        self.binary_ids()?;
        if !self.options.compat.is_llvm() {
            self.vtable_names_bytes()?;
        } else if let Some(cursor) = &self.vtable_names {
            // LLVM checks where the names begin, not where they end.
            cursor.clone().u64("size of vtable names")?;
        }
        self.temporal()?;
        Ok(())
    }

    /// The section reaches to the binary ids, or to the end in version 8.
    fn locate_memprof(&self, offset: u64, binary_ids: u64) -> Result<(u64, &'data [u8])> {
        let end = if self.version >= since::BINARY_IDS { binary_ids } else { self.file.len() };
        let place = |error: Error| error.at("memprof", offset);
        let len = end.checked_sub(offset).and_then(|len| usize::try_from(len).ok());
        let bytes =
            self.file.from(offset).zip(len).and_then(|(rest, len)| rest.get(..len)).ok_or_else(|| {
                place(Error::truncated("memory profile", end.saturating_sub(offset), self.file.len()))
            })?;
        let first = Cursor::new(bytes, offset, Endian::Little, "memprof").u64("first word")?;
        if memprof::section_version(first).is_none() {
            let detail = "supported versions of memory profiles are 0 to 4".to_string();
            return Err(place(ErrorKind::UnsupportedVersion { found: first, detail }.into()));
        }
        Ok((offset, bytes))
    }

    /// Format version, 1 to 14.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Variant bits; unknown ones are left out.
    pub fn kind(&self) -> ProfileKind {
        self.kind
    }

    /// Returns the stored summary (version 4 and later).
    pub fn summary(&self) -> Option<&ProfileSummary> {
        self.summary.as_ref()
    }

    /// Returns the stored summary of context-sensitive records, if there is one.
    pub(crate) fn context_sensitive_summary(&self) -> Option<&ProfileSummary> {
        self.context_sensitive_summary.as_ref()
    }

    /// Number of names, as the index says.
    pub fn len(&self) -> u64 {
        self.table.entries()
    }

    /// Whether the index says that there are no names.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry of a name. Reads only the bucket where it would be.
    ///
    /// # Errors
    ///
    /// Malformed when the index, the bucket or the name's records are damaged.
    pub fn get(&self, name: &[u8]) -> Result<Option<Entry<'data>>> {
        self.table.find(name).map_err(|error| self.in_format(error))
    }

    /// All entries in the order of the file; ends after the first error.
    pub fn entries(&self) -> impl Iterator<Item = Result<Entry<'data>>> + use<'data> {
        let version = self.version;
        self.walk().map(move |entry| entry.map_err(|error| error.in_format(format!("indexed v{version}"))))
    }

    /// Returns the records of the entry at a known [place](Entry::place) of the file.
    pub(crate) fn records_at(&self, place: u64) -> impl Iterator<Item = FunctionRecord> + use<'data> {
        self.table.records_at(place).into_iter().flatten().map_while(Result::ok)
    }

    /// Returns the only record of the entry at a [place](Entry::place) of the file, if it has only counters.
    pub(crate) fn plain_record_at(&self, place: u64) -> Option<RecordView<'data>> {
        self.table.plain_record_at(place)
    }

    /// Returns the name of the entry at a [place](Entry::place) of the file.
    pub(crate) fn entry_name_at(&self, place: u64) -> &'data [u8] {
        self.table.item_at(place).map(|item| item.name).unwrap_or_default()
    }

    /// Checks that a lookup finds every name, and with its hash, which neither [`get`](Self::get) nor
    /// [`entries`](Self::entries) need.
    ///
    /// # Errors
    ///
    /// Malformed for the first disagreement of index and payload.
    pub fn verify(&self) -> Result<()> {
        self.table.verify().map_err(|error| self.in_format(error))
    }

    pub(super) fn walk(&self) -> Walk<'data> {
        self.table.walk()
    }

    pub(super) fn in_format(&self, error: Error) -> Error {
        error.in_format(format!("indexed v{}", self.version))
    }

    /// Whether records without a counter are refused.
    pub(super) fn refuses_empty_records(&self) -> bool {
        !self.options.compat.is_llvm()
    }

    /// Returns the identities of images (version 9 and later).
    ///
    /// # Errors
    ///
    /// Bad header or malformed when the section is damaged.
    pub fn binary_ids(&self) -> Result<Vec<BinaryId>> {
        let Some(mut cursor) = self.binary_ids.clone() else { return Ok(Vec::new()) };
        read_binary_ids(&mut cursor).map_err(|error| self.in_format(error))
    }

    /// Returns the temporal traces (version 10 and later).
    ///
    /// # Errors
    ///
    /// Truncated when the section is cut off.
    pub fn temporal(&self) -> Result<TemporalProfile> {
        let Some(mut cursor) = self.traces.clone() else { return Ok(TemporalProfile::default()) };
        read_traces(&mut cursor).map_err(|error| self.in_format(error))
    }

    /// Returns the names of vtables (version 12 and later).
    ///
    /// # Errors
    ///
    /// Truncated, malformed or uncompress failed when the section is damaged.
    pub fn vtable_names(&self) -> Result<Vec<Vec<u8>>> {
        self.read_vtable_names().map_err(|error| self.in_format(error))
    }

    fn read_vtable_names(&self) -> Result<Vec<Vec<u8>>> {
        let Some((bytes, offset)) = self.vtable_names_bytes()? else { return Ok(Vec::new()) };
        let mut chunks = names::Chunks::new(bytes, offset, self.options.limits);
        let mut all = Vec::new();
        while let Some(chunk) = chunks.next_chunk()? {
            for name in names::split_names(&chunk.text()?) {
                all.push(name?.to_vec());
            }
        }
        Ok(all)
    }

    pub(super) fn vtable_names_bytes(&self) -> Result<Option<(&'data [u8], u64)>> {
        let Some(mut cursor) = self.vtable_names.clone() else { return Ok(None) };
        let len = cursor.u64("size of vtable names")?;
        let offset = cursor.position();
        Ok(Some((cursor.take("vtable names", len)?, offset)))
    }

    /// Returns the memory profile (version 8 and later).
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn memprof(&self) -> Result<Option<MemProfSection>> {
        let Some((offset, bytes)) = self.memprof else { return Ok(None) };
        let bytes = memory::copied(bytes, HOLD_INPUT)?;
        Ok(Some(MemProfSection { bytes, offset, indexed_version: self.version }))
    }

    /// Returns the version of the memory profile.
    pub(crate) fn memory_version(&self) -> Option<u32> {
        let (_, bytes) = self.memprof?;
        let first_word = bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))?;
        u32::try_from(memprof::section_version(first_word)?).ok()
    }

    /// Whether there is a memory profile.
    pub(crate) fn has_memprof(&self) -> bool {
        self.memprof.is_some()
    }
}

fn read_version(cursor: &mut Cursor<'_>, compat: Compat) -> Result<(u32, u64)> {
    let magic = cursor.array::<8>("magic")?;
    if magic != MAGIC {
        let detail = format!("found {}, expected {}", magic.escape_ascii(), MAGIC.escape_ascii());
        return Err(Error::new(ErrorKind::BadMagic { detail }).at("header", 0));
    }
    let offset = cursor.position();
    let word = cursor.u64("version word")?;
    let version = word as u32;
    let newest = if compat.reads_every_indexed_version() { NEWEST_VERSION } else { LLVM_22_INDEXED_VERSION };
    if !(1..=newest).contains(&version) {
        let detail = format!("supported versions are 1 to {newest}; {} writes {newest}", writing_release(newest));
        let error = Error::new(ErrorKind::UnsupportedVersion { found: version.into(), detail }).at("header", offset);
        return Err(if version > NEWEST_VERSION { error.with_hint(later_release_hint()) } else { error });
    }
    Ok((version, word))
}

fn later_release_hint() -> String {
    let newest = release::newest_words();
    format!(
        "the profile was written by a release after {newest}, the newest known release; convert it with the \
         llvm-profdata of that release: `merge --text`, or `merge --write-prev-version`"
    )
}

/// Offsets in the header; 0 where the version has none.
struct HeaderValues {
    hash_table: u64,
    memprof: u64,
    binary_ids: u64,
    traces: u64,
    vtable_names: u64,
}

impl HeaderValues {
    fn read(cursor: &mut Cursor<'_>, version: u32) -> Result<Self> {
        let mut words = [0u64; HEADER_WORDS.len()];
        for (word, value) in HEADER_WORDS.iter().zip(&mut words) {
            if word.since <= version {
                *value = cursor.u64(word.name)?;
            }
        }
        let [hash_type, hash_table, memprof, binary_ids, traces, vtable_names] = words;
        if hash_type != 0 {
            return Err(Error::new(ErrorKind::UnsupportedHashType { found: hash_type }).at("header", 24));
        }
        Ok(Self { hash_table, memprof, binary_ids, traces, vtable_names })
    }
}

/// The file from `offset` on, which must lie inside it.
fn section<'data>(file: FileBytes<'data>, offset: u64, name: &'static str) -> Result<Cursor<'data>> {
    match file.from(offset) {
        Some(bytes) if !bytes.is_empty() => Ok(Cursor::new(bytes, offset, Endian::Little, name)),
        _ => Err(Error::truncated(name, 8, file.len().saturating_sub(offset)).at(name, offset)),
    }
}

fn read_summary(cursor: &mut Cursor<'_>) -> Result<ProfileSummary> {
    cursor.enter("summary");
    let start = cursor.position();
    let fields_count = cursor.u64("number of summary fields")?;
    let rows_count = cursor.u64("number of summary rows")?;
    if fields_count < 6 {
        let detail = format!("the summary has {fields_count} fields, expected at least 6");
        return Err(Error::malformed(detail).at("summary", start));
    }
    let fields = cursor.take("summary fields", fields_count.saturating_mul(8))?;
    let fields: Vec<u64> =
        fields.as_chunks::<8>().0.iter().take(6).map(|bytes| LittleEndian::read_u64(bytes)).collect();
    let rows = cursor.take("summary rows", rows_count.saturating_mul(24))?;
    let small = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    let row = |bytes: &[u8; 24]| {
        let [cutoff, min_count, num_counts] = [0, 1, 2].map(|at| LittleEndian::read_u64(&bytes.as_chunks::<8>().0[at]));
        SummaryRow { cutoff: small(cutoff), min_count, num_counts }
    };
    Ok(ProfileSummary {
        num_functions: small(fields[0]),
        num_counts: small(fields[1]),
        max_function_count: fields[2],
        max_count: fields[3],
        max_internal_count: fields[4],
        total_count: fields[5],
        rows: rows.as_chunks::<24>().0.iter().map(row).collect(),
    })
}

pub(super) fn read_binary_ids(cursor: &mut Cursor<'_>) -> Result<Vec<BinaryId>> {
    let size = cursor.u64("size of binary ids")?;
    if size % 8 != 0 {
        let detail = format!("the size of binary ids is {size}, which is not a multiple of 8");
        return Err(cursor.place(Error::bad_header(detail)));
    }
    if size > cursor.left() {
        let detail = format!("binary ids of {size} bytes, {} left", cursor.left());
        return Err(cursor.place(Error::malformed(detail).with_llvm_detail("corrupted binary ids")));
    }
    let offset = cursor.position();
    let mut ids = Cursor::new(cursor.take("binary ids", size)?, offset, Endian::Little, "binary ids");
    let mut all = Vec::new();
    while !ids.is_empty() {
        let len = ids.u64("binary id length")?;
        if len == 0 {
            return Err(
                ids.place(Error::malformed("a binary id has no bytes").with_llvm_detail("binary id length is 0"))
            );
        }
        let padded = len.checked_next_multiple_of(8).filter(|padded| *padded <= ids.left());
        let Some(padded) = padded else {
            let detail = format!("a binary id of {len} bytes, {} left in the section", ids.left());
            let llvm = "not enough data to read binary id data";
            return Err(ids.place(Error::malformed(detail).with_llvm_detail(llvm)));
        };
        all.push(ids.take("binary id", padded)?[..len as usize].to_vec());
    }
    Ok(all)
}

fn read_traces(cursor: &mut Cursor<'_>) -> Result<TemporalProfile> {
    let count = cursor.u64("number of temporal traces")?;
    let mut temporal = TemporalProfile { stream_size: cursor.u64("trace stream size")?, traces: Vec::new() };
    for _ in 0..count {
        let weight = cursor.u64("trace weight")?;
        let functions = cursor.u64("number of functions in a trace")?;
        let bytes = cursor.take("functions of a trace", functions.saturating_mul(8))?;
        let functions = bytes.as_chunks::<8>().0.iter().map(|bytes| LittleEndian::read_u64(bytes)).collect();
        temporal.traces.push(TemporalTrace { weight, functions });
    }
    Ok(temporal)
}

impl IndexedProfile<'_> {
    /// Returns the number of bytes that belong to the profile. Readers ignore bytes after it. A file of version 8 with
    /// a memory profile has no such bytes, because the memory profile extends to the end.
    ///
    /// # Errors
    ///
    /// The errors of damaged sections.
    pub(crate) fn extent(&self) -> Result<u64> {
        let mut end = self.table.check_index().map_err(|error| self.in_format(error))?;
        if let Some(mut ids) = self.binary_ids.clone() {
            read_binary_ids(&mut ids).map_err(|error| self.in_format(error))?;
            end = end.max(ids.position());
        }
        if let Some((names, offset)) = self.vtable_names_bytes()? {
            // The writer pads the names to whole words.
            end = end.max(offset.saturating_add((names.len() as u64).next_multiple_of(8)));
        }
        if let Some(mut traces) = self.traces.clone() {
            read_traces(&mut traces).map_err(|error| self.in_format(error))?;
            end = end.max(traces.position());
        }
        if let Some((offset, section)) = self.memprof {
            end = end.max(offset.saturating_add(section.len() as u64));
        }
        Ok(end.min(self.file.len()))
    }

    /// Returns a warning if another profile follows, as in concatenated files. LLVM ignores it without a message.
    pub(super) fn warn_of_next_profile(&self) -> Option<Warning> {
        let end = self.extent().ok().filter(|_| !self.options.compat.is_llvm())?;
        self.file.from(end).filter(|rest| rest.starts_with(&MAGIC)).map(|_| Warning::of_next_profile(end))
    }
}

#[cfg(test)]
mod tests {
    use crate::indexed::ReadOptions;
    use crate::indexed::profile::*;
    use std::path::Path;

    #[test]
    fn real_files_end_where_their_profile_does() {
        let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
        let mut seen = 0;
        for folder in ["raw", "merge/clang-14", "merge/clang-19", "merge/clang-22", "memprof"] {
            for entry in std::fs::read_dir(testdata.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_none_or(|end| end != "profdata") {
                    continue;
                }
                let mut bytes = std::fs::read(&path).unwrap();
                let len = bytes.len() as u64;
                bytes.extend_from_slice(b"something else");
                let profile = IndexedProfile::read(&bytes, ReadOptions::default()).unwrap();
                let reaches_to_the_end = profile.version() == 8 && profile.has_memprof();
                let expected = if reaches_to_the_end { len + 14 } else { len };
                assert_eq!(profile.extent().unwrap(), expected, "{}", path.display());
                seen += 1;
            }
        }
        assert!(seen > 60, "{seen} files");
    }
}
