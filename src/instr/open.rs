//! Opening the reader that fits the content of a file.

use crate::bytes::Head;
use crate::bytes::begins_as_text;
use crate::bytes::window::{StableSource, Window};
use crate::cancel::Cancel;
use crate::compat::Compat;
use crate::error::{Error, ErrorKind, Result, Warning, WithWarnings};
use crate::hint::Hint;
use crate::identify::identify;
use crate::indexed;
use crate::indexed::{IndexedReader, Outline};
use crate::input::output::as_path;
use crate::input::{Access, Format, Input, InputBytes, StableFile, detect};
use crate::instr::cancellable_reader::CancellableReader;
use crate::instr::encode::{Encoded, OutputFormat, Saved, WriteOptions, encode, write_file};
use crate::instr::{InputOptions, MergeOptions, Merger};
use crate::limits::Limits;
#[cfg(feature = "correlate")]
use crate::memprof;
use crate::model::{FunctionView, Functions, Profile, ProfileReader};
use crate::partial::Frame;
use crate::raw::{Correlator, LargeCounters, RawOptions, RawReader};
use crate::text::TextReader;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

/// Options for reading inputs.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The mode that determines which files are accepted.
    pub compat: Compat,
    /// Limits for untrusted input.
    pub limits: Limits,
    /// Finds the records of raw profiles that contain none.
    pub correlator: Option<Arc<dyn Correlator + Send + Sync>>,
    /// The programs that wrote raw memory profiles.
    #[cfg(feature = "correlate")]
    pub programs: Arc<memprof::raw::Programs>,
    /// How to treat a raw counter above 2^56.
    pub large_counters: LargeCounters,
    /// Ends the reading of a memory profile. Other readers are watched.
    pub(crate) cancel: Cancel,
}

impl ReadOptions {
    /// Returns the options for an input, which may be cancelled.
    pub(crate) fn of_input(&self, input: &Input) -> Self {
        Self { cancel: input.token(), ..self.clone() }
    }

    /// Returns the defaults of a mode.
    pub fn new(compat: Compat) -> Self {
        Self { compat, ..Self::default() }
    }

    /// Returns the options for the indexed reader.
    pub(super) fn indexed(&self) -> indexed::ReadOptions {
        indexed::ReadOptions::new(self.limits, self.compat)
    }

    /// Returns the options for the raw reader.
    pub(super) fn raw(&self) -> RawOptions<'_> {
        let mut options = RawOptions::new(self.compat);
        options.limits = self.limits;
        options.correlator = self.correlator.as_deref().map(|correlator| correlator as &dyn Correlator);
        options.large_counters = self.large_counters;
        options
    }
}

/// Opens the reader for an LLVM profile, chosen by its content.
///
/// # Errors
///
/// Empty profile, unrecognized format, unsupported for a known format that is not an instrumentation profile, and
/// faults of the header.
pub fn open_reader<'data>(data: &'data [u8], options: &'data ReadOptions) -> Result<Box<dyn ProfileReader + 'data>> {
    match detect(data) {
        Format::Empty => Err(Error::new(ErrorKind::EmptyProfile)
            .with_hint("check that the process ended normally, and where it writes its profile (LLVM_PROFILE_FILE)")),
        Format::Raw { .. } => Ok(Box::new(RawReader::new(data, options.raw())?)),
        Format::Indexed => Ok(Box::new(IndexedReader::new(data, options.indexed())?)),
        Format::Text => Ok(Box::new(TextReader::new(data, options.compat)?)),
        Format::RawMemProf => Err(unreadable(Format::RawMemProf, Compat::Profbridge)),
        // LLVM treats every file that begins with printable bytes as a text profile, also a memory profile in YAML if it
        // does not merge.
        _ if options.compat.is_llvm() && begins_as_text(data) => Ok(Box::new(TextReader::new(data, options.compat)?)),
        other => Err(unreadable(other, options.compat)),
    }
}

/// The size in bytes that justifies a thread for parsing text.
const PARSED_AHEAD: usize = 1 << 20;

/// Opens a profile like [`open_reader`] and passes its reader to `read`. If there are several threads, they help with
/// text files and with the names of raw profiles.
///
/// # Errors
///
/// The errors of [`open_reader`] and of `read`.
pub(crate) fn read_with<T>(
    data: &[u8],
    options: &ReadOptions,
    threads: usize,
    read: impl FnOnce(&mut dyn ProfileReader) -> Result<T>,
) -> Result<T> {
    match detect(data) {
        Format::Text if threads > 1 && data.len() >= PARSED_AHEAD => {
            TextReader::parse_ahead(data, options.compat, |reader| read(reader))
        }
        Format::Raw { .. } => {
            let mut raw = options.raw();
            raw.threads = NonZeroUsize::new(threads);
            read(&mut RawReader::new(data, raw)?)
        }
        _ => read(open_reader(data, options)?.as_mut()),
    }
}

/// Opens a file and passes its reader to `read`. Errors and warnings name the file.
pub(crate) fn with_reader<T>(
    input: &Input,
    read: &ReadOptions,
    use_reader: impl FnOnce(&mut dyn ProfileReader) -> Result<T>,
) -> Result<(T, Vec<Warning>)> {
    let path = &input.path;
    let used = |reader: &mut dyn ProfileReader| {
        let found = use_reader(&mut CancellableReader::new(reader, input))?;
        let warnings = reader.take_warnings().into_iter().map(|warning| warning.in_file(path)).collect();
        Ok((found, warnings))
    };
    let done = if let Some((_, outline)) = outline_of(input, read) {
        outline.reader(read.indexed()).and_then(|mut reader| used(&mut reader))
    } else if let Some((_, window)) = window_of_text(input, read) {
        TextReader::through(window, read.compat).and_then(|mut reader| used(&mut reader))
    } else {
        let bytes: InputBytes = if read.compat.decompresses() {
            input.bytes(Access::Read, &read.limits)?
        } else {
            input.stored_bytes(Access::Read, &read.limits)?
        };
        open_reader(&bytes, read).and_then(|mut reader| used(&mut *reader))
    };
    done.map_err(|error| error.in_file(path))
}

/// The size in bytes above which a file is read through a window if its records are read only once.
pub(super) const WORTH_A_WINDOW: u64 = 1 << 20;

/// Opens a window of a large text that is read only once, and returns it with the size of the file. Returns `None` for
/// other files and for faults; the caller then reads the whole file.
pub(super) fn window_of_text(input: &Input, options: &ReadOptions) -> Option<(u64, Window<'static>)> {
    if input.is_pipe() || !input.look().is_ok_and(|probe| probe.identity.format == Format::Text) {
        return None;
    }
    let file = large_file(input, options)?;
    let len = file.len();
    let mut window = Window::of_file(Arc::new(file), 0..len);
    window.more().ok()?;
    // Another file may have replaced the one that was identified.
    let is_text = identify(&Head::cut(window.view(), window.is_last())).format == Format::Text;
    // LLVM treats files that begin with three dashes as memory profiles.
    (is_text && !window.view().starts_with(b"---")).then_some((len, window))
}

/// Reads the parts around the records of a large indexed file whose records are read only once. Returns `None` like
/// [`window_of_text`].
pub(super) fn outline_of(input: &Input, options: &ReadOptions) -> Option<(u64, Outline)> {
    if input.is_pipe() || !input.look().is_ok_and(|probe| probe.identity.format == Format::Indexed) {
        return None;
    }
    let file = large_file(input, options)?;
    let len = file.len();
    let outline = Outline::read(Arc::new(file))?;
    let is_sound = outline.reader(options.indexed()).is_ok();
    (is_sound && !Frame::is_at_end_of(outline.back())).then_some((len, outline))
}

fn large_file(input: &Input, options: &ReadOptions) -> Option<StableFile> {
    let file = StableFile::open(&input.path).ok()??;
    (WORTH_A_WINDOW..=options.limits.stream_bytes).contains(&file.len()).then_some(file)
}

/// Returns the error for a known format that is not a readable LLVM profile.
fn unreadable(format: Format, compat: Compat) -> Error {
    if compat.is_llvm() {
        return Error::new(ErrorKind::UnrecognizedFormat);
    }
    if let Some(error) = format.not_a_profile() {
        return error;
    }
    let error =
        Error::new(ErrorKind::Unsupported { what: format!("reading {format} as an LLVM instrumentation profile") });
    match format {
        sample if sample.is_sample_profile() => error.with_hint("pass only profiles of one family"),
        Format::RawMemProf | Format::YamlMemProf => error.with_hint(Hint::ShowOrMergeMemory),
        Format::Iprof => error.with_hint(Hint::ConvertToLlvm),
        Format::Jfr => error.with_hint(Hint::ConvertToIprof),
        Format::Pprof | Format::Collapsed => error.with_hint(Hint::ShowStacks),
        _ => error,
    }
}

// Whole profiles in one call: reading and writing.

impl Profile {
    /// Reads a raw, indexed or text profile, with the result that a merge of this file alone has. Counts above 2^64-1
    /// saturate. Warnings name the functions whose records were dropped or cut.
    ///
    /// ```
    /// use profbridge::families::ReadOptions;
    /// use profbridge::Profile;
    ///
    /// let read = Profile::open("testdata/raw/clang-22-ir.profraw", &ReadOptions::default())?;
    /// read.warnings.iter().for_each(|warning| eprintln!("{warning}"));
    /// let main = read.value.functions.find(b"main").expect("every program has one");
    /// for record in main.records() {
    ///     println!("{:#x}: {:?}", record.func_hash, record.counters);
    /// }
    /// # Ok::<(), profbridge::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// I/O, an empty file, another format, and every fault of the content, with path, format, section and offset.
    pub fn open(input: impl Into<Input>, options: &ReadOptions) -> Result<WithWarnings<Self>> {
        let input = input.into();
        let opened = || {
            let bytes = input.bytes(Access::Read, &options.limits)?;
            let mut merge = MergeOptions::default();
            merge.keep_vtable_names = true;
            (merge.trace_reservoir_size, merge.max_trace_length) = (u64::MAX, u64::MAX);
            let mut merger = Merger::new(merge);
            let mut reader = open_reader(&bytes, options)?;
            let mut warnings = Vec::new();
            let reader = &mut CancellableReader::new(reader.as_mut(), &input);
            merger.add_reader(reader, &InputOptions::default(), &mut |record, outcome| {
                warnings.extend(outcome.warning(record.name));
            })?;
            warnings.extend(reader.take_warnings());
            Ok((merger.into_profile(), warnings))
        };
        let (profile, warnings) = opened().map_err(|error: Error| error.in_file(&input.path))?;
        let in_file = |warning: Warning| warning.in_file(&input.path);
        Ok(WithWarnings::new(profile, warnings.into_iter().map(in_file).collect()))
    }

    /// Encodes the profile in a format. The result lists the data that the format cannot store.
    ///
    /// ```
    /// use profbridge::families::ReadOptions;
    /// use profbridge::instr::Release;
    /// use profbridge::{OutputFormat, Profile};
    ///
    /// let profile = Profile::open("testdata/raw/clang-22-ir.profraw", &ReadOptions::default())?.value;
    /// let for_16 = profile.to_bytes(OutputFormat::for_release(Release(16)))?;
    /// assert!(for_16.losses.is_empty());
    /// # Ok::<(), profbridge::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A usage error for a version that does not exist; too large if a size does not fit its field.
    pub fn to_bytes(&self, format: OutputFormat) -> Result<Encoded> {
        encode(self, &WriteOptions { format, ..WriteOptions::default() })
    }

    /// Writes the profile to a file, which is replaced atomically. The result lists the data that the format cannot
    /// store. The path is only a path: `-` is a file with this name.
    ///
    /// # Errors
    ///
    /// The errors of [`to_bytes`](Self::to_bytes), and I/O.
    pub fn write_to_path(&self, path: impl AsRef<Path>, format: OutputFormat) -> Result<Saved> {
        write_file(self, &WriteOptions { format, ..WriteOptions::default() }, &as_path(path.as_ref()))
    }
}

/// Iterates over the functions of a profile, in order of first appearance.
impl<'a> IntoIterator for &'a Profile {
    type Item = FunctionView<'a>;
    type IntoIter = Functions<'a>;

    fn into_iter(self) -> Functions<'a> {
        self.functions.iter()
    }
}
