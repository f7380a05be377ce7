//! Merging, reading and writing files that are sample profiles.

use crate::compat::Compat;
use crate::error::{Error, ErrorKind, Result};
use crate::families::merge::{Facts, FactsRequest, FailureMode, Silent};
use crate::input::{self, Access, Format, Input, InputBytes, WeightedInput};
use crate::instr::{FunctionFilter, Remapping};
use crate::model::{Loss, loss, name_ref};
use crate::sampleprof::overlap::{self, Compared, OverlapOptions, OverlapReport};
use crate::sampleprof::{
    self, ColdContexts, Encoding, FunctionName, FunctionRecord, Layout, Merger, Names, ReadOptions, RecordFault,
    SampleProfile, SampleProfileView, Summary, WriteOptions,
};
use crate::threads;
use crate::threads::ordered_workers::OrderedWorkers;
use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::path::Path;

/// How sample profiles are merged.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SampleMergeOptions {
    /// How inputs are read; its rules hold for the merge as well.
    pub read: ReadOptions,
    /// Whose rules; see [`Compat`].
    pub compat: Compat,
    /// When bad inputs make the merge fail.
    pub failure_mode: FailureMode,
    /// Keep the records before the fault of a bad input when the merge goes on; not LLVM's way.
    pub salvage: bool,
    /// Other names for functions.
    pub remapping: Remapping,
    /// Leave out the inputs' lists of symbols.
    pub drop_symbols: bool,
    /// Symbols to add to the list.
    pub symbols: Vec<Vec<u8>>,
    /// What becomes of cold contexts.
    pub cold: ColdContexts,
    /// The layout to change to.
    pub layout: Option<Layout>,
    /// Which functions are kept, by name or context.
    pub filter: SampleFilter,
    /// Worker threads; `None` asks the machine.
    pub threads: Option<NonZeroUsize>,
}

/// Which functions are kept. Where names are hashes, a pattern that is the name
/// itself finds them too.
#[derive(Debug, Clone, Default)]
pub struct SampleFilter {
    keep: Option<(FunctionFilter, String)>,
    drop: Option<(FunctionFilter, String)>,
}

impl SampleFilter {
    /// Compiles the two patterns; an empty one is none at all.
    ///
    /// # Errors
    ///
    /// As [`FunctionFilter::new`].
    pub fn new(keep: Option<&str>, drop: Option<&str>) -> Result<Self> {
        let compile = |pattern: Option<&str>| -> Result<Option<(FunctionFilter, String)>> {
            let given = pattern.filter(|pattern| !pattern.is_empty());
            given.map(|text| Ok((FunctionFilter::new(Some(text), None)?, digits_of(text)))).transpose()
        };
        Ok(Self { keep: compile(keep)?, drop: compile(drop)? })
    }

    /// Whether every function is kept.
    pub fn is_none(&self) -> bool {
        self.keep.is_none() && self.drop.is_none()
    }

    /// Whether the function, or context, of that title is kept.
    pub fn keeps(&self, title: &[u8], hashed: bool) -> bool {
        let matches =
            |(filter, digits): &(FunctionFilter, String)| filter.keeps(title) || (hashed && digits.as_bytes() == title);
        self.keep.as_ref().is_none_or(matches) && !self.drop.as_ref().is_some_and(matches)
    }
}

fn digits_of(name: &str) -> String {
    name_ref(name.as_bytes()).to_string()
}

/// Hears what happens during a merge, in the order of the inputs.
pub trait SampleMergeObserver {
    /// There are partial merges among the inputs: these are merged, and places are
    /// places among these. Told before all else.
    fn opened_parts(&mut self, _inputs: &[WeightedInput]) {}
    /// A record of the input at that place was not added as it is; `title` is its
    /// name or context.
    fn record_fault(&mut self, at: usize, input: &WeightedInput, title: &[u8], fault: RecordFault);
    /// The input at that place was left out.
    fn left_out(&mut self, at: usize, input: &WeightedInput, error: &Error);
    /// The records before the fault of an input that was left out are kept; told after that.
    fn salvaged(&mut self, at: usize, input: &WeightedInput) {
        // Of interest to few.
        let _ = (at, input);
    }
}

impl SampleMergeObserver for Silent {
    fn record_fault(&mut self, _: usize, _: &WeightedInput, _: &[u8], _: RecordFault) {}
    fn left_out(&mut self, _: usize, _: &WeightedInput, _: &Error) {}
}

/// What came of a merge.
#[derive(Debug)]
#[non_exhaustive]
pub struct SampleMergeReport {
    /// The profile.
    pub profile: SampleProfile,
    /// Functions in front of the filter, and those that it left out.
    pub filtered: Option<(usize, usize)>,
    /// Inputs that were used.
    pub used: usize,
    /// There are several inputs with functions, and no function is in two of them.
    pub shares_nothing: bool,
}

impl SampleMergeReport {
    /// What of the result is written: functions, or contexts, and their samples.
    ///
    /// # Errors
    ///
    /// As [`sampleprof::write`] for less than the size that was asked for.
    pub fn facts(&self, write: &WriteOptions, wanted: FactsRequest) -> Result<Facts> {
        let records = sampleprof::written(&self.profile, write)?;
        let total = wanted.total_count.then(|| records.iter().map(|record| u128::from(record.total)).sum());
        let mut facts = Facts::new(records.len(), total);
        facts.lack = records.is_empty().then(|| "the inputs hold no functions".into());
        Ok(facts.of_inputs(self.used))
    }
}

/// An input on its way.
struct Job<'a> {
    input: &'a WeightedInput,
    read: Option<Read>,
}

/// What a file holds, and whether it was read to its end.
type Read = (SampleProfile, Result<()>);

/// Merges sample profiles in order, none of which is a partial merge.
pub(super) fn merge(
    inputs: &[WeightedInput],
    options: &SampleMergeOptions,
    observer: &mut dyn SampleMergeObserver,
) -> Result<SampleMergeReport> {
    let mut merge = Merge {
        options,
        observer,
        merger: Merger::new(options.read.rules),
        at: 0,
        used: 0,
        functions: Vec::new(),
        last_error: None,
    };
    merge.merger.set_remapping(options.remapping.clone(), options.read.discriminator_bits);
    let workers = threads::wanted(options.threads).get().min(inputs.len());
    if workers > 1 {
        std::thread::scope(|scope| -> Result<()> {
            let read = |job: &mut Job<'_>| job.read = Some(read_file(job.input, options));
            let mut turns = OrderedWorkers::start(scope, workers, read);
            let mut waiting = inputs.iter();
            loop {
                while !turns.is_full() {
                    let Some(input) = waiting.next() else { break };
                    turns.give(Job { input, read: None });
                }
                let Some(Job { input, read: Some(read) }) = turns.take() else { return Ok(()) };
                merge.add(input, read)?;
            }
        })?;
    } else {
        inputs.iter().try_for_each(|input| merge.add(input, read_file(input, options)))?;
    }
    merge.finish()
}

/// Reads one sample profile.
///
/// # Errors
///
/// Those of the file and of its content, with the path.
pub fn read_sample_file(input: impl Into<Input>, options: &ReadOptions, compat: Compat) -> Result<SampleProfile> {
    let input = input.into();
    let bytes = open_sample(&input, options, compat)?;
    sampleprof::read(&bytes, options).map_err(|error| error.in_file(&input.path))
}

/// A profile in the order of LLVM's container, and its summary: the one that the
/// file holds, or else the one computed of it.
///
/// # Errors
///
/// As [`read_sample_file`].
pub fn load_sample_file(
    input: impl Into<Input>,
    options: &ReadOptions,
    compat: Compat,
) -> Result<(SampleProfile, Summary)> {
    let mut profile = read_sample_file(input, options, compat)?;
    let stored = profile.summary.take();
    let merger = Merger::load(options.rules, profile);
    let summary = stored.unwrap_or_else(|| merger.summary());
    Ok((merger.finish(), summary))
}

/// The sections of an extensible binary, in llvm-profdata's words.
///
/// # Errors
///
/// Those of the file; unsupported for other encodings, which have no sections.
pub fn describe_sample_sections(input: impl Into<Input>, options: &ReadOptions, compat: Compat) -> Result<String> {
    let input = input.into();
    let bytes = open_sample(&input, options, compat)?;
    let described = match sampleprof::detect(&bytes) {
        Some(Encoding::ExtBinary) => sampleprof::describe_sections(&bytes, options),
        Some(other) => Err(ErrorKind::Unsupported { what: format!("listing the sections of a {other}") }.into()),
        None => Err(ErrorKind::UnrecognizedFormat.into()),
    };
    described.map_err(|error| error.in_file(&input.path))
}

/// The records of one function, its own and those in calling contexts, and the
/// names they refer to. Where the file says where they are, nothing else is read.
///
/// # Errors
///
/// As [`read_sample_file`].
pub fn read_sample_function(
    input: impl Into<Input>,
    name: &[u8],
    options: &ReadOptions,
    compat: Compat,
) -> Result<(Names, Vec<FunctionRecord>)> {
    let input = input.into();
    let bytes = open_sample(&input, options, compat)?;
    function_of(&bytes, name, options).map_err(|error| error.in_file(&input.path))
}

fn function_of(bytes: &[u8], name: &[u8], options: &ReadOptions) -> Result<(Names, Vec<FunctionRecord>)> {
    if let Some(view) = SampleProfileView::open(bytes, options)? {
        return Ok((view.names().clone(), view.function(name)?));
    }
    let mut profile = sampleprof::read(bytes, options)?;
    let names = profile.names;
    profile.functions.retain(|record| names.get(record.name) == FunctionName::Text(name));
    Ok((names, profile.functions))
}

/// Compares two sample profiles.
///
/// # Errors
///
/// Those of the files; a kind conflict when only one of them is probe-based, or
/// in contexts.
pub fn overlap_sample_files(
    base: impl Into<Input>,
    test: impl Into<Input>,
    read: &ReadOptions,
    compat: Compat,
    options: &OverlapOptions,
) -> Result<OverlapReport> {
    let (base, base_summary) = load_sample_file(base, read, compat)?;
    let (test, test_summary) = load_sample_file(test, read, compat)?;
    let (of_base, of_test) = (base.kind(), test.kind());
    let detail = if of_base.probe_based != of_test.probe_based {
        "cannot compare probe-based profile with non-probe-based profile"
    } else if of_base.context_sensitive != of_test.context_sensitive {
        "cannot compare CS profile with non-CS profile"
    } else {
        let (base, test) =
            (Compared { profile: &base, summary: &base_summary }, Compared { profile: &test, summary: &test_summary });
        return Ok(overlap::compare(base, test, options));
    };
    Err(Error::new(ErrorKind::KindConflict { detail: detail.to_string() }).with_llvm_detail(detail))
}

/// Under our own name an instrumentation profile is refused whose numbers could
/// be taken for functions.
pub(crate) fn check_format(bytes: &[u8], compat: Compat) -> Result<()> {
    let format = input::detect(bytes);
    if compat.is_llvm() || format.is_sample_profile() {
        return Ok(());
    }
    let kind = match format {
        Format::Empty => return Err(ErrorKind::EmptyProfile.into()),
        Format::OtherText => {
            // What is wrong with a text that somebody wrote by hand.
            let error = Error::new(ErrorKind::UnrecognizedFormat);
            return Err(match sampleprof::text_fault(bytes) {
                Some(fault) => error.with_hint(format!("read as a sample profile: {fault}")),
                None => error,
            });
        }
        Format::Unknown | Format::OtherJson => ErrorKind::UnrecognizedFormat,
        other => ErrorKind::KindConflict { detail: format!("it is no sample profile: {other}") },
    };
    Err(Error::new(kind).with_hint("sample profiles are merged, shown and converted with sample profiles alone"))
}

pub(crate) fn open_sample(input: &Input, options: &ReadOptions, compat: Compat) -> Result<InputBytes> {
    let open = if compat.decompresses() { Input::bytes } else { Input::stored_bytes };
    let bytes = open(input, Access::Read, &options.limits)?;
    check_format(&bytes, compat).map_err(|error| error.in_file(&input.path))?;
    Ok(bytes)
}

fn read_file(input: &Input, options: &SampleMergeOptions) -> Read {
    let mut profile = SampleProfile::default();
    let read = open_sample(input, &options.read, options.compat)
        .and_then(|bytes| sampleprof::read_into(&bytes, &options.read, &mut profile));
    (profile, read.map_err(|error| error.in_file(&input.path)))
}

struct Merge<'a> {
    options: &'a SampleMergeOptions,
    observer: &'a mut dyn SampleMergeObserver,
    merger: Merger,
    /// The place of the input that comes next.
    at: usize,
    used: usize,
    /// Functions of each input that has any.
    functions: Vec<usize>,
    last_error: Option<Error>,
}

impl Merge<'_> {
    fn add(&mut self, input: &WeightedInput, (mut profile, read): Read) -> Result<()> {
        let at = self.at;
        self.at += 1;
        if read.is_ok() && profile.functions.is_empty() && profile.symbols.is_none() && !self.options.compat.is_llvm() {
            return self.leave_out(at, input, Error::new(ErrorKind::EmptyProfile).in_file(&input.path));
        }
        if let Err(error) = read {
            self.merger.learn_failed(profile.stated);
            self.leave_out(at, input, error)?;
            if !self.options.salvage || profile.functions.is_empty() {
                return Ok(());
            }
            self.observer.salvaged(at, input);
        } else {
            self.used += 1;
        }
        self.functions.extend(Some(profile.functions.len()).filter(|len| *len > 0));
        let symbols = profile.symbols.take();
        let observer = &mut *self.observer;
        let on_fault = &mut |title: &[u8], fault| observer.record_fault(at, input, title, fault);
        let path = &input.path;
        self.merger
            .add(profile, input.weight.get(), on_fault)
            .map_err(|error| if self.options.compat.is_llvm() { error } else { error.in_file(path) })?;
        if !self.options.drop_symbols {
            self.merger.add_symbols(symbols.into_iter().flatten());
        }
        Ok(())
    }

    fn leave_out(&mut self, at: usize, input: &WeightedInput, error: Error) -> Result<()> {
        let is_empty = matches!(error.kind(), ErrorKind::EmptyProfile) && !self.options.compat.is_llvm();
        let is_fatal = (matches!(self.options.failure_mode, FailureMode::Any) && !is_empty)
            || (self.options.compat.is_llvm() && sampleprof::is_text_fault(&error));
        if is_fatal {
            return Err(error);
        }
        self.observer.left_out(at, input, &error);
        if !is_empty {
            self.last_error = Some(error);
        }
        Ok(())
    }

    fn finish(self) -> Result<SampleMergeReport> {
        let options = self.options;
        if self.used == 0
            && !options.compat.is_llvm()
            && !matches!(options.failure_mode, FailureMode::Warn)
            && let Some(error) = self.last_error
        {
            return Err(error);
        }
        let shares_nothing = self.functions.len() > 1 && self.functions.iter().sum::<usize>() == self.merger.len();
        let report = complete(self.merger, options, self.used, &HashSet::new())?;
        Ok(SampleMergeReport { shares_nothing, ..report })
    }
}

/// What happens to the sum of all inputs: cold contexts, then the layout, then
/// the filter; `left_out` are titles that the filters of parts have left out.
pub(crate) fn complete(
    mut merger: Merger,
    options: &SampleMergeOptions,
    used: usize,
    left_out: &HashSet<Vec<u8>>,
) -> Result<SampleMergeReport> {
    merger.treat_cold_contexts(options.cold)?;
    if let Some(layout) = options.layout {
        merger.convert(layout);
    }
    let mut filtered = None;
    if !options.filter.is_none() || !left_out.is_empty() {
        let all = merger.len();
        let hashed = merger.kind().hashed;
        merger.retain(|title| !left_out.contains(title) && options.filter.keeps(title, hashed));
        filtered = Some((all, all - merger.len()));
    }
    merger.add_symbols(options.symbols.iter().cloned());
    Ok(SampleMergeReport { profile: merger.finish(), filtered, used, shares_nothing: false })
}

/// Writes a profile to a file, which is replaced whole, compressed as its name says;
/// returns the losses.
///
/// # Errors
///
/// Those of [`sampleprof::write`] and of the file; what would be lost, with `strict`.
pub fn write_sample_file(
    profile: &SampleProfile,
    options: &WriteOptions,
    strict: bool,
    path: &Path,
) -> Result<Vec<Loss>> {
    let losses = sampleprof::losses(profile, options);
    if strict {
        loss::refuse_losses(&losses).map_err(|error| error.in_file(path))?;
    }
    let bytes = sampleprof::write(profile, options).map_err(|error| error.in_file(path))?;
    input::output::replace_by_name(path, &bytes)?;
    Ok(losses)
}

/// The names of a file of symbols, one a line, blanks around them cut off.
pub fn parse_symbols(text: &[u8]) -> Vec<Vec<u8>> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | 9..=13);
    let trim = |line: &[u8]| {
        let start = line.iter().position(|byte| !is_blank(byte)).unwrap_or(line.len());
        let end = line.iter().rposition(|byte| !is_blank(byte)).map_or(start, |last| last + 1);
        line[start..end].to_vec()
    };
    let lines = text.split(|byte| *byte == b'\n');
    lines.filter(|line| !line.is_empty() && *line != b"\r").map(trim).collect()
}
