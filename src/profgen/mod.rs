//! Sample profiles from branch records: what `llvm-profgen` does.
//!
//! A processor that records branches gives for each sample the last 8 to 32 taken branches. Between the target of one
//! and the source of the next, the code ran straight. Counting these runs, and the branches themselves, gives counts of
//! instructions and calls; debug info turns them into counts of lines, which compilers use. Without branch records, the
//! samples of each instruction are counted instead.
//!
//! ```text
//! perf.data, perf script text ─▶ samples ─▶ Counters ─▶ pieces ─▶ a profile ─▶ finish ─▶ SampleProfile
//!                                   ▲          ▲ ▼                       ▲
//!                                Program    unsymbolized              Program
//! ```
//!
//! If samples also have call chains, [`count_by_context`] divides the counters by calling context.
//!
//! [`Program`] has the code, which tells where instructions and branches are, the functions and the debug info.
//! The results are those of LLVM 22, byte for byte when [`sampleprof::write`](crate::sampleprof::write) writes them.

mod builder;
mod call_chain;
mod code;
mod contexts;
mod convert;
mod counters;
mod data_accesses;
mod discriminator;
mod finish;
mod frame_addresses;
mod functions;
mod image;
mod line_profile;
mod loading;
mod mapping_lines;
mod names;
mod plain;
mod plain_script;
mod probe_profile;
mod probes;
mod program;
mod program_samples;
mod ranges;
mod raw_text;
mod recordings;
mod script;

pub use contexts::{
    ChainSamples, ContextCounters, ContextFindings, ContextOptions, InlineSizes, count_by_context,
    finish_context_profile, make_context_profile,
};
pub use convert::{ConvertedSamples, SampleReport, Sum, SumOptions, add_up, convert, make};
pub use counters::{Counters, RunFault, RunFindings};
pub use finish::FinishOptions;
pub use line_profile::ProfileOptions;
pub use plain::PlainFindings;
pub use probe_profile::ProbeFindings;
pub use program::{LoadFindings, Program, ProgramFiles, ProgramImages};
pub use program_samples::ProgramSamples;
pub(crate) use program_samples::Rates;
pub use script::{LineNotice, Notify, ReadFindings, ScriptOptions};

use self::call_chain::CallChain;
use self::counters::Gatherer;
use self::plain_script::PlainText;
use crate::call_chains::SamplingPeriod;
use crate::digits::number_of;
use crate::error::{Error, Result, Warning};
use crate::input::Input;
use crate::limits::Limits;
use crate::perf::{events_in_words, no_event_named, several_events};
use crate::sampleprof::{SampleProfile, Threshold};

/// The address in a program to which addresses of an unsymbolized profile are relative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RawBase {
    /// 0: addresses are whole.
    Zero,
    /// The first executable segment.
    #[default]
    Executable,
    /// The first loaded segment.
    Loaded,
}

impl RawBase {
    fn address(self, program: &Program<'_>) -> u64 {
        match self {
            Self::Zero => 0,
            Self::Executable => program.base(),
            Self::Loaded => program.first_loaded,
        }
    }
}

/// The single findings behind the counts, for messages, in the order of addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SampleDetails {
    /// Addresses in call chains that do not follow a call.
    pub invalid_return_addresses: Vec<u64>,
    /// First and last instruction of runs of code that are impossible.
    pub runs: Vec<(u64, u64, RunFault)>,
}

impl SampleDetails {
    fn of(wanted: bool, chain: &CallChain, gatherer: &Gatherer, program: &Program<'_>) -> (Self, Option<RunFindings>) {
        let mut details = Self::default();
        let findings = gatherer.findings(program, |start, end, fault| {
            if wanted {
                details.runs.push((start, end, fault));
            }
        });
        if wanted {
            details.invalid_return_addresses.extend(&chain.invalid_returns);
            details.invalid_return_addresses.sort_unstable();
            details.runs.sort_unstable();
        }
        (details, findings)
    }
}

/// Samples of a program, with counts of the dropped ones.
#[derive(Debug)]
#[non_exhaustive]
pub struct Samples {
    /// The samples.
    pub counters: Counters,
    /// The samples with their call chains, if contexts were requested and the input has call chains.
    pub chains: Option<ChainSamples>,
    /// Counts of the lines and samples that were read.
    pub read: ReadFindings,
    /// Counts of impossible runs of code; `None` if no sample has a run.
    pub runs: Option<RunFindings>,
    /// The single findings, if they were requested.
    pub details: SampleDetails,
    /// Where the program was loaded last.
    loaded_at: u64,
}

impl Samples {
    /// Adds the accesses of vtables in the text of `perf report -D`, which has samples of memory accesses. Only profiles by
    /// line, without calling contexts, have them.
    ///
    /// # Errors
    ///
    /// Usage for other profiles; the errors of the input and of the program; malformed for mappings that overlap, and for
    /// numbers that are too large.
    pub fn add_data_accesses(
        &mut self,
        input: &Input,
        images: &ProgramImages,
        program: &Program<'_>,
        process: Option<i64>,
        limits: &Limits,
    ) -> Result<()> {
        if self.chains.is_some() || program.has_probes() {
            const LLVM: &str = "Symbolizing vtables from data access profiles is not yet supported for context-sensitive \
                                perf traces or when pseudo-probe based mapping is enabled. ";
            let detail = "accesses of vtables have no place in profiles with calling contexts or pseudo-probes";
            return Err(Error::usage(detail).with_llvm_message(LLVM));
        }
        self.counters.vtables = data_accesses::read(input, images, program, self.loaded_at, process, limits)?;
        Ok(())
    }
}

/// Reads the text of `perf script -F ip,brstack --show-mmap-events`, of which one line is in memory.
///
/// # Errors
///
/// The errors of the input; nothing found for text without branch records; malformed for mappings that cannot be of this program, and for text
/// that ends within a sample.
pub fn read_script(
    input: &Input,
    program: &Program<'_>,
    options: &ScriptOptions,
    limits: &Limits,
    notify: &mut Notify<'_>,
) -> Result<Samples> {
    Ok(samples_of(script::read(input, program, options, limits, notify)?, program, options))
}

fn samples_of(script: script::ScriptSamples, program: &Program<'_>, options: &ScriptOptions) -> Samples {
    let script::ScriptSamples { gatherer, chains, findings: read, chain, loaded_at, .. } = script;
    let (details, runs) = SampleDetails::of(options.details, &chain, &gatherer, program);
    Samples { counters: gatherer.finish(program), chains, read, runs, details, loaded_at }
}

/// Reads a recording of perf: `perf.data`, of which a few records are in memory.
///
/// # Errors
///
/// The errors of the input; nothing found for a recording without branch records, unless the options allow it; malformed for mappings that cannot
/// be of this program; the errors of reading a damaged recording.
pub fn read_recording(
    input: &Input,
    program: &Program<'_>,
    options: &ScriptOptions,
    limits: &Limits,
) -> Result<RecordedSamples> {
    let read = recordings::read(input, program, options, limits)?;
    let (details, runs) = SampleDetails::of(options.details, &read.chain, &read.gatherer, program);
    let mut counters = read.gatherer.finish(program);
    counters.add(&read.plain_counters, 1);
    let (chains, loaded_at) = (read.chains, read.loaded_at);
    let samples = Samples { counters, chains, read: read.findings, runs, details, loaded_at };
    let plain = options.allow_plain.then_some(read.plain);
    Ok(RecordedSamples { samples, plain, period: read.period, events: read.events, warnings: read.warnings })
}

/// Reads the text of `perf script`. Samples without branch records count if the options allow them and no sample has
/// branch records.
///
/// # Errors
///
/// The errors of [`read_script`].
pub(crate) fn read_text(
    input: &Input,
    program: &Program<'_>,
    options: &ScriptOptions,
    limits: &Limits,
) -> Result<RecordedSamples> {
    if options.allow_plain
        && !script::has_branches(input, options, limits)?
        && let Some(text) = plain_script::read(input, program, options, limits)?
    {
        let PlainText { counters, plain, read, unplaced, used_events } = text;
        let (details, loaded_at) = (SampleDetails::default(), program.base());
        let samples = Samples { counters, chains: None, read, runs: None, details, loaded_at };
        let mut warnings: Vec<_> = unplaced_frames(unplaced).into_iter().collect();
        warnings.extend(several_events(&used_events));
        let events = events_in_words(&used_events);
        return Ok(RecordedSamples { samples, plain: Some(plain), period: None, events, warnings });
    }
    if let Some(wanted) = &options.event {
        return Err(no_event_named(wanted, &[]));
    }
    let script = script::read(input, program, options, limits, &mut |_: LineNotice<'_>| ())?;
    let warnings = unplaced_frames(script.unplaced).into_iter().chain(several_addresses(&script)).collect();
    let (samples, events) = (samples_of(script, program, options), String::new());
    Ok(RecordedSamples { samples, plain: None, period: None, events, warnings })
}

/// Warns of frames that could not be found.
fn unplaced_frames(unplaced: u64) -> Option<Warning> {
    let warning = || {
        Warning::new(format!(
            "{} could not be found in the program: print `sym`, `symoff` and `dso` with `perf script`, or pass \
             perf.data itself",
            number_of(unplaced, "frame")
        ))
    };
    (unplaced != 0).then(warning)
}

/// Warns of branches of other processes, of which lines of text do not say that they are.
fn several_addresses(script: &script::ScriptSamples) -> Option<Warning> {
    let (addresses, external) = (script.addresses, script.findings.external_branches);
    let warning = || {
        Warning::new(format!(
            "the program is mapped at {addresses} addresses, of which a sample uses the last one before it, and \
             {external} branches are outside of that, in libraries or another copy; pass perf.data itself, whose \
             samples name their process"
        ))
    };
    (addresses > 1 && external > 0).then(warning)
}

/// Samples of a recording of perf.
#[derive(Debug)]
#[non_exhaustive]
pub struct RecordedSamples {
    /// The samples.
    pub samples: Samples,
    /// Counts of the samples without branch records; `None` if the options do not allow them.
    pub plain: Option<PlainFindings>,
    /// The sampling period, and whether it is a time in nanoseconds; `None` if it is unknown.
    pub(crate) period: Option<SamplingPeriod>,
    /// The events of the samples; empty if they are unknown.
    pub(crate) events: String,
    /// Warnings about the recording.
    pub warnings: Vec<Warning>,
}

/// Writes an unsymbolized profile: the counters as text.
pub fn write_raw(counters: &Counters, program: &Program<'_>, base: RawBase) -> Vec<u8> {
    raw_text::write(counters, base.address(program))
}

/// Writes an unsymbolized profile with calling contexts.
pub fn write_raw_contexts(counters: &ContextCounters, program: &Program<'_>, base: RawBase) -> Vec<u8> {
    let base = base.address(program);
    let mut blocks = counters.titled(base);
    blocks.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    raw_text::write_contexts(&blocks, base)
}

/// Reads an unsymbolized profile that was written with the same base.
///
/// # Errors
///
/// Malformed, with the number of the line.
pub fn read_raw(text: &[u8], program: &Program<'_>, base: RawBase) -> Result<Samples> {
    let counters = raw_text::read(text, base.address(program))?;
    let (read, details) = (ReadFindings::default(), SampleDetails::default());
    Ok(Samples { counters, chains: None, read, runs: None, details, loaded_at: program.base() })
}

/// Returns true for an unsymbolized profile with calling contexts.
pub fn has_raw_contexts(text: &[u8]) -> bool {
    raw_text::has_contexts(text)
}

/// Reads an unsymbolized profile with calling contexts that was written with the same base. The options tell whether the
/// profile will need the sizes of functions.
///
/// # Errors
///
/// Malformed, with the number of the line, and for a program with pseudo-probes; unable to correlate for damaged debug
/// info; limit exceeded for too many frames.
pub fn read_raw_contexts(
    text: &[u8],
    program: &Program<'_>,
    base: RawBase,
    options: &ContextOptions,
    limits: &Limits,
) -> Result<ContextCounters> {
    contexts::of_unsymbolized(&raw_text::read_contexts(text, base.address(program))?, program, options, limits)
}

/// Makes the profile of a program: by pseudo-probes if the program and its samples allow it, otherwise by lines. Samples
/// without branch records only know lines. The profile still lacks the steps of `finish`.
///
/// # Errors
///
/// Unable to correlate for damaged debug info; truncated or malformed for damaged probes; limit exceeded for too many
/// inlined functions.
pub fn make_profile(
    program: &Program<'_>,
    counters: &Counters,
    options: &ProfileOptions,
    limits: &Limits,
) -> Result<(SampleProfile, ProbeFindings)> {
    if counters.is_plain() {
        return Ok((plain::plain_profile(program, counters, options, limits)?, ProbeFindings::default()));
    }
    if program.has_probes() {
        return probe_profile::probe_profile(program, counters, options, limits);
    }
    Ok((line_profile::line_profile(program, counters, options, limits)?, ProbeFindings::default()))
}

/// Finishes a profile and returns its density: the number of samples of each location in the functions that have most
/// of the samples.
///
/// # Errors
///
/// Usage, if the cutoff of cold functions is larger than those of the summary.
pub fn finish(profile: &mut SampleProfile, options: &FinishOptions) -> Result<f64> {
    finish::finish(profile, options)
}

/// Returns the density of a profile as llvm-profgen measured it before LLVM 19: the samples per byte of code of the hot
/// function that has the fewest. It is 0 if there are no hot functions.
///
/// # Errors
///
/// Usage, if the cutoff of hot functions is larger than those of the summary.
pub fn density_of_code(profile: &SampleProfile, program: &Program<'_>, hot: Threshold) -> Result<f64> {
    finish::density_of_code(profile, program, hot)
}
