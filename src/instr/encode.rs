//! Encoding of profiles in the requested format.

use crate::bytes::{Encoding, Endian, PointerWidth};
use crate::compat::Compat;
use crate::compression::Compression;
use crate::driver::output_form::OutputForm;
use crate::driver::{Facts, FactsRequest};
use crate::error::{Error, ErrorKind, Result};
use crate::hint::Hint;
use crate::input::output::Output;
use crate::instr::FunctionFilter;
use crate::instr::partial::PartialMerge;
use crate::limits::Limits;
use crate::memprof::MemoryProfile;
use crate::memprof::report::total_bytes;
use crate::model::selection::NameTest;
use crate::model::{FunctionView, Loss, LossKind, Profile, RecordView, Release, Selection};
use crate::raw::layout;
use crate::raw::parse_architecture;
use crate::{indexed, memprof, raw, text, threads};
use std::borrow::Cow;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::str::FromStr;
use std::{fmt, io};

/// Displays the format with all its versions: `indexed v9 for LLVM 16`, `text for LLVM 16`, `raw v8 64le`.
impl fmt::Display for OutputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Indexed { release, version } => write!(f, "indexed v{version} for {release}"),
            Self::Text { release } => write!(f, "text for {release}"),
            Self::Raw { encoding: Encoding { endian, pointer, version } } => {
                let order = if *endian == Endian::Little { "le" } else { "be" };
                write!(f, "raw v{version} {}{order}", 8 * pointer.bytes())
            }
        }
    }
}

/// Parses `indexed`, `text` or `raw`, the displayed form of a format, or a release alone, which means its indexed format.
/// Missing parts are those of [`Release::DEFAULT`] on a 64-bit little-endian machine.
///
/// ```
/// use profbridge::OutputFormat;
/// use profbridge::instr::Release;
///
/// assert_eq!("indexed".parse::<OutputFormat>()?, OutputFormat::default());
/// assert_eq!("indexed for llvm-16".parse::<OutputFormat>()?, OutputFormat::for_release(Release(16)));
/// assert_eq!("llvm-16".parse::<OutputFormat>()?, OutputFormat::for_release(Release(16)));
/// assert_eq!("text for rustc-1.75".parse::<OutputFormat>()?.to_string(), "text for LLVM 17");
/// # Ok::<(), profbridge::Error>(())
/// ```
impl FromStr for OutputFormat {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (format, release) = match (text.split_once(" for "), text.parse()) {
            (Some((format, toolchain)), _) => (format, toolchain.parse()?),
            (None, Ok(release)) => ("indexed", release),
            (None, Err(_)) => (text, Release::DEFAULT),
        };
        let mut words = format.split_whitespace();
        let name = words.next().unwrap_or_default();
        let mut words = words.peekable();
        let version = words.next_if(|word| word.starts_with('v')).map(|word| version(name, word)).transpose()?;
        let made = match (name, version) {
            ("indexed", None) => Self::for_release(release),
            ("indexed", Some(version)) => Self::Indexed { release, version },
            ("text", None) => Self::Text { release },
            ("raw", _) => {
                let (pointer, endian) =
                    words.next().map_or(Ok((PointerWidth::Bits64, Endian::Little)), parse_architecture)?;
                let version = version.or(release.raw_version()).unwrap_or(layout::NEWEST_VERSION);
                Self::Raw { encoding: Encoding { endian, pointer, version } }
            }
            _ => return Err(unknown(text)),
        };
        if words.next().is_some() { Err(unknown(text)) } else { Ok(made) }
    }
}

/// Returns the number of `v9`, if the format has this version.
fn version(format: &str, word: &str) -> Result<u32> {
    let number = word[1..].parse().ok();
    let known = number.filter(|number| match format {
        "raw" => layout::is_known_version(*number),
        _ => (1..=indexed::NEWEST_VERSION).contains(number),
    });
    known.ok_or_else(|| Error::usage(format!("there is no version {word} of the format {format:?}")))
}

fn unknown(text: &str) -> Error {
    Error::usage(format!("unknown format {text:?}: write indexed, text or raw, and a target, as in `text for llvm-16`"))
}

/// The format of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputFormat {
    /// The indexed format, as this release writes it.
    Indexed {
        /// The release. The profile was merged by its rules.
        release: Release,
        /// The version, 1 to 14. It can differ from the release's default: `--write-prev-version` of LLVM 22 writes 11.
        version: u32,
    },
    /// The text format, as this release writes it.
    Text {
        /// The release. The profile was merged by its rules.
        release: Release,
    },
    /// The raw format, as an instrumented program writes it.
    Raw {
        /// Version, byte order and pointer size.
        encoding: Encoding,
    },
}

impl OutputFormat {
    /// Returns the indexed format of a release. Unknown releases count as the newest.
    pub fn for_release(release: Release) -> Self {
        Self::Indexed { release, version: release.indexed_version().unwrap_or(indexed::NEWEST_VERSION) }
    }

    /// Returns true if the format can store a memory profile.
    pub fn holds_memory(self) -> bool {
        match self {
            Self::Indexed { release, version } => {
                indexed::WriteOptions::for_version_by(version, release).holds_memory()
            }
            Self::Text { .. } | Self::Raw { .. } => false,
        }
    }

    /// Returns the name of such a file in messages.
    fn words(self) -> Cow<'static, str> {
        match self {
            Self::Indexed { version, .. } => format!("indexed version {version}").into(),
            Self::Text { .. } => OutputForm::Text.words().into(),
            Self::Raw { .. } => OutputForm::Raw.words().into(),
        }
    }
}

impl Default for OutputFormat {
    fn default() -> Self {
        Self::Indexed { release: Release::DEFAULT, version: indexed::DEFAULT_VERSION }
    }
}

/// Options for writing a profile.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// The format.
    pub format: OutputFormat,
    /// Omit functions whose counts are all zero.
    pub sparse: bool,
    /// The functions to write.
    pub filter: FunctionFilter,
    /// Fail instead of dropping data that the format cannot store. Binary ids do not count, because compilers do not use
    /// them.
    pub strict: bool,
    /// The rules that apply.
    pub compat: Compat,
    /// Writer threads; `None` uses the number of processors. The bytes do not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// Compress files according to their file extension. [`encode`] ignores this.
    pub compress_by_name: bool,
}

impl WriteOptions {
    /// Returns the compression of a file with this path.
    fn compression_of(&self, path: &Path) -> Result<Option<Compression>> {
        if self.compress_by_name { Compression::of_output(path) } else { Ok(None) }
    }

    /// Returns the selection of functions to write; `keeps` is the test of the filter.
    fn selection<'a>(&self, keeps: NameTest<'a>) -> Selection<'a> {
        let selection = Selection::all().sparse(self.sparse);
        if self.filter.is_none() { selection } else { selection.names(keeps) }
    }

    /// Returns the profile with only the selected functions, because a raw file stores them in their own order.
    fn selected<'p>(&self, profile: &'p Profile, selection: Selection<'_>) -> Cow<'p, Profile> {
        if !self.sparse && self.filter.is_none() {
            return Cow::Borrowed(profile);
        }
        let mut copy = profile.clone();
        let kept: Vec<bool> = profile.functions.iter().map(|function| selection.keeps(function)).collect();
        let mut kept = kept.into_iter();
        copy.functions = copy.functions.filtered(|_| kept.next().unwrap_or(false));
        Cow::Owned(copy)
    }

    /// Encodes the state of a partial merge whose profile is written with these options.
    ///
    /// # Errors
    ///
    /// The errors of [`PartialMerge::encode`].
    pub(super) fn encode_partial(&self, sums: &PartialMerge, profile: &Profile) -> Result<Vec<u8>> {
        let keeps = |name: &[u8]| self.filter.keeps(name);
        let selection = self.selection(&keeps);
        match self.format {
            OutputFormat::Indexed { release, version } => {
                let writing = self.indexed(release, version, selection);
                // Earlier versions have one record per function.
                let keeps = |function: FunctionView<'_>| writing.holds_further_records() && selection.keeps(function);
                sums.encode_after(&profile.functions, keeps, writing.holds_bitmaps())
            }
            OutputFormat::Raw { .. } | OutputFormat::Text { .. } => sums.encode(),
        }
    }

    /// Returns the release of text output that contains all functions.
    pub(super) fn release_of_whole_text(&self) -> Option<Release> {
        match self.format {
            OutputFormat::Text { release } if !self.sparse && self.filter.is_none() => Some(release),
            _ => None,
        }
    }

    /// Returns the number of threads that can share the work.
    pub(super) fn threads(&self) -> NonZeroUsize {
        threads::wanted(self.threads)
    }

    fn text<'a>(&self, release: Release, selection: Selection<'a>) -> text::TextOptions<'a> {
        text::TextOptions::new(self.compat).release(release).selection(selection).threads(self.threads())
    }

    fn indexed<'a>(&self, release: Release, version: u32, selection: Selection<'a>) -> indexed::WriteOptions<'a> {
        indexed::WriteOptions::for_version_by(version, release).selection(selection).threads(self.threads())
    }

    /// Returns true if losses are counted, which takes time. LLVM reports none, but it never writes for another
    /// release.
    fn counts_losses(&self, release: Release) -> bool {
        !self.compat.is_llvm() || self.strict || release != Release::DEFAULT
    }

    fn check_losses(&self, losses: &[Loss]) -> Result<()> {
        let refused: Vec<String> =
            losses.iter().filter(|loss| loss.kind != LossKind::BinaryIds).map(Loss::to_string).collect();
        if !self.strict || refused.is_empty() {
            return Ok(());
        }
        let kind = ErrorKind::WouldLose { detail: format!("the requested format cannot store {}", refused.join(", ")) };
        Err(Error::new(kind).with_hint(Hint::AllowLosses))
    }

    /// Returns the data that an indexed file of the version cannot store.
    fn indexed_losses(&self, profile: &Profile, writing: &indexed::WriteOptions<'_>) -> Result<Vec<Loss>> {
        let says = self.counts_losses(writing.release);
        let losses = if says { indexed::losses(profile, writing) } else { Vec::new() };
        self.check_losses(&losses)?;
        Ok(losses)
    }

    /// Returns the data that the text format cannot store. No release of LLVM reports it.
    fn text_losses(&self, profile: &Profile, writing: &text::TextOptions<'_>) -> Result<Vec<Loss>> {
        let says = !self.compat.is_llvm() || self.strict;
        let losses = if says { text::losses(profile, writing) } else { Vec::new() };
        self.check_losses(&losses)?;
        Ok(losses)
    }
}

/// Counts the functions and records of a profile that will be written.
///
/// # Errors
///
/// A usage error for a raw version that cannot be written; the errors of the reader of memory profiles.
pub fn facts_of(profile: &Profile, options: &WriteOptions, limits: &Limits, wanted: FactsRequest) -> Result<Facts> {
    let keeps = |name: &[u8]| options.filter.keeps(name);
    let selection = options.selection(&keeps);
    let mut counted = Counted { total: wanted.total_count.then_some(0), ..Counted::default() };
    match options.format {
        OutputFormat::Raw { encoding } => {
            let kept = options.selected(profile, selection);
            let (functions, records) = raw::written(&kept, &raw::WriteOptions::new(encoding))?;
            counted.functions = functions;
            records.into_iter().for_each(|record| counted.add(record));
        }
        OutputFormat::Text { .. } => counted.add_all(profile, selection, usize::MAX),
        OutputFormat::Indexed { release, version } => {
            let writing = options.indexed(release, version, selection);
            counted.add_all(profile, selection, if writing.holds_further_records() { usize::MAX } else { 1 });
        }
    }
    let mut facts = Facts::new(counted.functions, counted.total);
    facts.records = Some(counted.records as u64);
    with_the_rest(facts, profile, options, limits, wanted)
}

/// Functions and records that are written.
#[derive(Debug, Default)]
struct Counted {
    functions: usize,
    records: usize,
    /// Sum of their counters without pseudo counts, if requested.
    total: Option<u128>,
}

impl Counted {
    /// Adds the selected functions, with at most `most` records of each.
    fn add_all(&mut self, profile: &Profile, selection: Selection<'_>, most: usize) {
        for function in profile.functions.iter().filter(|function| selection.keeps(*function)) {
            self.functions += 1;
            function.records().take(most).for_each(|record| self.add(record));
        }
    }

    fn add(&mut self, record: RecordView<'_>) {
        self.records += 1;
        if let Some(total) = self.total.as_mut().filter(|_| record.pseudo_count().is_none()) {
            *total += record.counters.iter().map(u128::from).sum::<u128>();
        }
    }
}

/// Adds the facts that functions do not contain: the size of a memory profile if there are no functions, and why
/// nothing is written.
pub(super) fn with_the_rest(
    facts: Facts,
    profile: &Profile,
    options: &WriteOptions,
    limits: &Limits,
    wanted: FactsRequest,
) -> Result<Facts> {
    if facts.functions > Some(0) {
        return Ok(facts);
    }
    let (mut facts, has_functions) = (facts, !profile.functions.is_empty());
    match &profile.memprof {
        Some(section) if options.format.holds_memory() => {
            let memory = memprof::indexed::read(&section.bytes, section.offset, limits)?.profile;
            return Ok(Facts { records: facts.records, ..facts_of_memory(&memory, wanted) });
        }
        Some(_) if !has_functions => {
            let place = options.format.words();
            facts.lack = Some(format!("{place} cannot store memory profiles, and the inputs have no other data"));
        }
        _ if !has_functions => facts.lack = Some("the inputs have no functions".into()),
        _ if options.sparse && profile.functions.iter().any(|function| options.filter.keeps(function.name())) => {
            facts.lack = Some("no function ran, and functions that never ran are dropped".into());
        }
        _ => facts.lack = Some("no functions are left".into()),
    }
    Ok(facts)
}

/// Returns the size of a memory profile: functions with allocations or calls that lead to them, and the bytes of all
/// allocations.
pub fn facts_of_memory(memory: &MemoryProfile, wanted: FactsRequest) -> Facts {
    let mut facts = Facts::new(memory.records().len(), wanted.total_count.then(|| total_bytes(memory)));
    facts.lack = memory.is_empty().then(|| "the inputs have no functions".into());
    facts
}

/// An encoded profile, and the data that could not be encoded.
#[derive(Debug)]
#[non_exhaustive]
pub struct Encoded {
    /// The file's content.
    pub bytes: Vec<u8>,
    /// The dropped data, by kind.
    pub losses: Vec<Loss>,
    /// Why the text stops after its first lines although encoding succeeded: LLVM's writer stops at an empty name. In
    /// llvm-profdata mode only.
    pub stopped: Option<Error>,
}

/// The outcome of writing a profile to a file.
#[derive(Debug)]
#[non_exhaustive]
pub struct Saved {
    /// See [`Encoded::losses`].
    pub losses: Vec<Loss>,
    /// See [`Encoded::stopped`].
    pub stopped: Option<Error>,
}

/// Returns the data of a whole profile that a format cannot store.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub(crate) fn losses(profile: &Profile, format: OutputFormat) -> Result<Vec<Loss>> {
    let options = WriteOptions { format, compat: Compat::Profbridge, ..WriteOptions::default() };
    match format {
        OutputFormat::Text { release } => Ok(text::losses(profile, &options.text(release, Selection::all()))),
        OutputFormat::Indexed { release, version } => {
            Ok(indexed::losses(profile, &options.indexed(release, version, Selection::all())))
        }
        OutputFormat::Raw { encoding } => raw::losses(profile, &raw::WriteOptions::new(encoding)),
    }
}

/// Encodes a profile and replaces a file with it, or writes it to standard output for `-`. The file is written while
/// the profile is encoded.
///
/// # Errors
///
/// The errors of [`encode`] and [`replace`](crate::input::output::replace).
pub fn write_file(profile: &Profile, options: &WriteOptions, path: &Path) -> Result<Saved> {
    write_with(profile, options, path, |out, write| write(out))
}

/// A function that writes the content of a file.
pub(super) type WriteContent<'a> = &'a mut dyn FnMut(&mut (dyn Write + Send)) -> io::Result<()>;

/// Like [`write_file`], but `wrap` writes the file, with a function that writes the profile.
pub(super) fn write_with(
    profile: &Profile,
    options: &WriteOptions,
    path: &Path,
    wrap: impl FnOnce(&mut (dyn Write + Send), WriteContent<'_>) -> io::Result<()>,
) -> Result<Saved> {
    let keeps = |name: &[u8]| options.filter.keeps(name);
    let (selection, compression) = (options.selection(&keeps), options.compression_of(path)?);
    match options.format {
        OutputFormat::Indexed { release, version } => {
            let writing = options.indexed(release, version, selection);
            let losses = options.indexed_losses(profile, &writing)?;
            let encoder = indexed::Encoder::new(profile, &writing)?;
            let mut output = Output::create(path, compression)?;
            let written = wrap(output.writer(), &mut |out| encoder.write_to(out));
            output.finish(written)?;
            Ok(Saved { losses, stopped: None })
        }
        OutputFormat::Text { release } => write_text_file(profile, options, release, path, |writing, out| {
            let mut stopped = None;
            wrap(out, &mut |out| {
                stopped = text::write_to(profile, writing, out)?;
                Ok(())
            })?;
            Ok(stopped)
        }),
        OutputFormat::Raw { encoding } => {
            let kept = options.selected(profile, selection);
            let encoder = raw::Encoder::new(&kept, &raw::WriteOptions::new(encoding))?;
            let losses = encoder.losses();
            options.check_losses(&losses)?;
            let mut output = Output::create(path, compression)?;
            let written = wrap(output.writer(), &mut |out| encoder.write_to(out));
            output.finish(written)?;
            Ok(Saved { losses, stopped: None })
        }
    }
}

/// Replaces a file with the text that `write` produces. The result is the reason why the text stops early.
pub(super) fn write_text_file(
    profile: &Profile,
    options: &WriteOptions,
    release: Release,
    path: &Path,
    write: impl FnOnce(&text::TextOptions<'_>, &mut (dyn Write + Send)) -> io::Result<Option<Error>>,
) -> Result<Saved> {
    let keeps = |name: &[u8]| options.filter.keeps(name);
    let writing = options.text(release, options.selection(&keeps));
    let losses = options.text_losses(profile, &writing)?;
    let mut output = Output::create(path, options.compression_of(path)?)?;
    let mut stopped = None;
    let written = write(&writing, output.writer()).map(|reason| stopped = reason);
    output.finish(written)?;
    Ok(Saved { losses, stopped })
}

/// Encodes a profile.
///
/// # Errors
///
/// With `strict`, a loss error if the format cannot store some data; the errors of the format's writer.
pub fn encode(profile: &Profile, options: &WriteOptions) -> Result<Encoded> {
    let keeps = |name: &[u8]| options.filter.keeps(name);
    let selection = options.selection(&keeps);
    let encoded = match options.format {
        OutputFormat::Indexed { release, version } => {
            let writing = options.indexed(release, version, selection);
            let losses = options.indexed_losses(profile, &writing)?;
            Encoded { bytes: indexed::write(profile, &writing)?, losses, stopped: None }
        }
        OutputFormat::Text { release } => {
            let writing = options.text(release, selection);
            let losses = options.text_losses(profile, &writing)?;
            let written = text::write(profile, &writing);
            Encoded { bytes: written.bytes, losses, stopped: written.stopped }
        }
        OutputFormat::Raw { encoding } => {
            let writing = raw::WriteOptions::new(encoding);
            let kept = options.selected(profile, selection);
            let encoder = raw::Encoder::new(&kept, &writing)?;
            let losses = encoder.losses();
            options.check_losses(&losses)?;
            Encoded { bytes: encoder.to_bytes()?, losses, stopped: None }
        }
    };
    Ok(encoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displayed_formats_parse_back() {
        let release = Release(16);
        let encoding = Encoding { endian: Endian::Big, pointer: PointerWidth::Bits32, version: 8 };
        for (format, text) in [
            (OutputFormat::Indexed { release, version: 9 }, "indexed v9 for LLVM 16"),
            (OutputFormat::Indexed { release: Release(22), version: 11 }, "indexed v11 for LLVM 22"),
            (OutputFormat::Text { release }, "text for LLVM 16"),
            (OutputFormat::Raw { encoding }, "raw v8 32be"),
        ] {
            assert_eq!(format.to_string(), text);
            assert_eq!(text.parse::<OutputFormat>().unwrap(), format);
        }
        let raw = "raw for llvm-17".parse::<OutputFormat>().unwrap();
        assert_eq!(raw.to_string(), "raw v8 64le");
    }

    #[test]
    fn unknown_format_names_are_errors() {
        for text in [
            "",
            "yaml",
            "indexed v99",
            "text v3",
            "raw v6",
            "raw 16le",
            "indexed 64le",
            "text for gcc-12",
            "raw v8 64le 64le",
        ] {
            assert!(text.parse::<OutputFormat>().is_err(), "{text:?}");
        }
    }
}
