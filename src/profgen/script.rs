//! The text of `perf script -F ip,brstack --show-mmap-events`.
//!
//! Lines are mappings, counts, frames of a call chain, and branch records. The kind of text is determined once, from
//! the first branch records: with or without call chains.

use super::call_chain::CallChain;
use super::contexts::ChainSamples;
use super::counters::{EXTERNAL, Gatherer, cut_unpaired};
use super::frame_addresses::{FrameFinder, Place, parse_place};
use super::loading::{Loading, MappingFault};
use super::mapping_lines::{MappingLine, Patterns};
use super::program::Program;
use crate::ascii::{trim_end, trim_start};
use crate::digits::{parse_decimal, parse_hex};
use crate::error::{Error, Result};
use crate::input::Input;
use crate::limits::Limits;
use foldhash::fast::RandomState;
use hashbrown::HashSet;
use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::io::{BufRead, BufReader, Read};

/// A notice about one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LineNotice<'t> {
    /// A mapping: path and address. All mappings are reported, not only those of the program.
    Mapping {
        /// The path of the mapped file.
        path: &'t [u8],
        /// Where it is mapped.
        start: u64,
    },
    /// The text looks like a mapping, but cannot be read.
    BadMapping(&'t [u8]),
    /// Neither a sample nor a mapping, or a sample with a broken branch record. Number of the line and text.
    BadSample(u64, &'t [u8]),
    /// The first sample came before a mapping of the program: link-time addresses are assumed.
    NoMapping,
}

/// Receives notices.
pub type Notify<'n> = dyn FnMut(LineNotice<'_>) + 'n;

/// Counts of what was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ReadFindings {
    /// Lines that are not mappings: samples, and other text.
    pub lines: u64,
    /// Samples with a branch from or to the program.
    pub samples: u64,
    /// Lines without such a branch.
    pub without_branches: u64,
    /// Lines with text that is not a branch record.
    pub bad_lines: u64,
    /// Branches of the program, each counted as often as its sample.
    pub branches: u64,
    /// Branches between places outside of the program.
    pub external_branches: u64,
    /// Samples whose innermost frame is outside of the program.
    pub external_leaves: u64,
    /// Samples with a call chain that is empty or begins where the frame of the function is incomplete.
    pub incomplete_chains: u64,
    /// Addresses in call chains that do not follow a call; the chains end there.
    pub invalid_return_addresses: u64,
    /// Samples with call chains, each set of branches counted once.
    pub distinct_chains: u64,
    /// Used samples with branch records and a call chain.
    pub call_chains: u64,
    /// Whether a mapping of the program was found.
    pub is_mapped: bool,
    /// Mappings of a program with the same name and another build id.
    pub other_builds: u64,
}

impl ReadFindings {
    /// Adds the counts of another input.
    pub(super) fn add(&mut self, other: &Self) {
        self.lines = self.lines.saturating_add(other.lines);
        self.samples = self.samples.saturating_add(other.samples);
        self.without_branches = self.without_branches.saturating_add(other.without_branches);
        self.bad_lines = self.bad_lines.saturating_add(other.bad_lines);
        self.branches = self.branches.saturating_add(other.branches);
        self.external_branches = self.external_branches.saturating_add(other.external_branches);
        self.incomplete_chains = self.incomplete_chains.saturating_add(other.incomplete_chains);
        self.invalid_return_addresses = self.invalid_return_addresses.saturating_add(other.invalid_return_addresses);
        self.distinct_chains = self.distinct_chains.saturating_add(other.distinct_chains);
        self.call_chains = self.call_chains.saturating_add(other.call_chains);
        self.external_leaves = self.external_leaves.saturating_add(other.external_leaves);
        self.is_mapped |= other.is_mapped;
        self.other_builds = self.other_builds.saturating_add(other.other_builds);
    }
}

/// The kinds of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScriptKind {
    Branches,
    BranchesAndChains,
}

/// Options of reading.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ScriptOptions {
    /// The process whose mappings count; `None` for all.
    pub process: Option<i64>,
    /// Whether the program is a kernel.
    pub is_kernel: bool,
    /// Whether the samples of other builds of the program count. Only binary recordings know the build.
    pub any_build: bool,
    /// Whether samples without branch records count if no sample has them.
    pub allow_plain: bool,
    /// Whether other fields can be in front of the branch records, as in the output of `perf script -F +brstack`.
    pub other_fields: bool,
    /// Whether to keep the single findings for messages.
    pub details: bool,
    /// Whether to keep call chains, for calling contexts.
    pub contexts: bool,
    /// The event whose samples count; `None` for all.
    pub event: Option<String>,
    /// The number of frames and branches of a sample with a call chain. Samples with more are left out.
    pub most_frames: u32,
}

impl Default for ScriptOptions {
    fn default() -> Self {
        let most_frames = Limits::default().context_depth;
        Self {
            process: None,
            is_kernel: false,
            any_build: false,
            allow_plain: false,
            other_fields: false,
            details: false,
            contexts: false,
            event: None,
            most_frames,
        }
    }
}

/// The samples of a text.
pub(super) struct ScriptSamples {
    pub(super) gatherer: Gatherer,
    pub(super) chains: Option<ChainSamples>,
    pub(super) findings: ReadFindings,
    /// Faults of call chains.
    pub(super) chain: CallChain,
    /// Where the program was loaded last.
    pub(super) loaded_at: u64,
    /// Frames that can be in the program, but have offsets in files that the text does not name.
    pub(super) unplaced: u64,
    /// The number of addresses at which it was loaded.
    pub(super) addresses: usize,
}

/// The lines of a text, of which one is in memory. Lines end with a line feed, which the last one can lack.
pub(super) struct Lines {
    text: BufReader<Box<dyn Read>>,
    pub(super) line: Vec<u8>,
    /// The number of the line.
    number: u64,
    /// Whether `next` returns the line once more.
    is_unread: bool,
}

impl Lines {
    pub(super) fn new(text: Box<dyn Read>) -> Self {
        Self { text: BufReader::with_capacity(1 << 16, text), line: Vec::new(), number: 0, is_unread: false }
    }

    /// Reads a line; returns false at the end.
    pub(super) fn next(&mut self) -> Result<bool> {
        if std::mem::take(&mut self.is_unread) {
            return Ok(true);
        }
        self.line.clear();
        let read = self.text.read_until(b'\n', &mut self.line).map_err(|source| Error::io("cannot read", source))?;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        }
        self.number += 1;
        Ok(read != 0)
    }
}

/// Returns true if a text has branch records.
pub(super) fn has_branches(input: &Input, options: &ScriptOptions, limits: &Limits) -> Result<bool> {
    Ok(kind_of(Lines::new(input.content(limits)?), options)?.is_some())
}

/// Determines the kind of text, if it has branch records.
fn kind_of(mut lines: Lines, options: &ScriptOptions) -> Result<Option<ScriptKind>> {
    while lines.next()? {
        if parse_decimal(&lines.line).is_some() && !lines.next()? {
            return Ok(None);
        }
        let mut has_frames = false;
        while has_frame(&lines.line, options) {
            has_frames = true;
            if !lines.next()? {
                return Ok(None);
            }
        }
        if has_branch_records(&lines.line) || (options.other_fields && first_branch(&lines.line).is_some()) {
            return Ok(Some(if has_frames { ScriptKind::BranchesAndChains } else { ScriptKind::Branches }));
        }
    }
    Ok(None)
}

/// Returns true for a frame of a call chain, after which its symbol and file can be if other fields are printed.
fn has_frame(line: &[u8], options: &ScriptOptions) -> bool {
    parse_hex(trim_start(line)).is_some()
        || (options.other_fields && first_branch(line).is_none() && place_of(line).is_some())
}

/// Returns the frame of an indented line.
fn place_of(line: &[u8]) -> Option<Place<'_>> {
    if !line.first()?.is_ascii_whitespace() {
        return None;
    }
    parse_place(std::str::from_utf8(line).ok()?.trim())
}

fn has_branch_records(line: &[u8]) -> bool {
    let mut words = line.trim_ascii().split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let second = words.nth(1);
    second.is_some_and(|word| word.starts_with(b"0x") && word.contains(&b'/'))
}

/// Returns a line from its first branch record on, if other fields can be in front of it. Lines without branch records stay.
fn without_other_fields<'l>(line: &'l [u8], options: &ScriptOptions) -> &'l [u8] {
    let first = if options.other_fields { first_branch(line) } else { None };
    first.map_or(line, |at| &line[at..])
}

/// Returns the position of the first branch record.
fn first_branch(line: &[u8]) -> Option<usize> {
    let mut at = 0;
    for word in line.split(|byte| *byte == b' ') {
        if word.starts_with(b"0x") && branch_with_files(word).is_some() {
            return Some(at);
        }
        at += word.len() + 1;
    }
    None
}

/// Reads samples, with their call chains only for contexts.
pub(super) fn read(
    input: &Input,
    program: &Program<'_>,
    options: &ScriptOptions,
    limits: &Limits,
    notify: &mut Notify<'_>,
) -> Result<ScriptSamples> {
    let Some(kind) = kind_of(Lines::new(input.content(limits)?), options)? else {
        return Err(Error::nothing_found("the text has no branch records")
            .with_llvm_message("Invalid perf script input!")
            .with_hint("record with `perf record -b`, and print ip, brstack and the mmap events with `perf script`"));
    };
    let mut reader = Reader {
        program,
        patterns: Patterns::new()?,
        loading: Loading::new(program, options.process, options.is_kernel),
        finder: (options.other_fields && kind == ScriptKind::BranchesAndChains)
            .then(|| FrameFinder::new(program, Loading::new(program, options.process, options.is_kernel))),
        gatherer: Gatherer::default(),
        chains: (options.contexts && kind == ScriptKind::BranchesAndChains).then(ChainSamples::default),
        most_frames: options.most_frames,
        findings: ReadFindings::default(),
        branches: Vec::new(),
        chain: CallChain::default(),
        distinct: HashSet::default(),
        has_warned: false,
        has_other_fields: options.other_fields,
        notify,
    };
    let mut lines = Lines::new(input.content(limits)?);
    while lines.next()? {
        if is_mapping(&lines.line) {
            reader.mapping(&lines.line)?;
            continue;
        }
        reader.findings.lines += 1;
        let (mut times, mut has_line) = (1, true);
        if let Some(number) = parse_decimal(&lines.line) {
            (times, has_line) = (number, lines.next()?);
        }
        if kind == ScriptKind::BranchesAndChains {
            has_line = reader.chain(has_line, &mut lines)?;
        }
        if has_line {
            reader.sample(without_other_fields(&lines.line, options), lines.number, times);
        }
    }
    reader.findings.invalid_return_addresses = reader.chain.invalid_returns.len() as u64;
    reader.findings.external_leaves = reader.chain.external_leaves;
    let distinct = reader.chains.as_ref().map_or(reader.distinct.len(), ChainSamples::len);
    reader.findings.distinct_chains = distinct as u64;
    reader.findings.is_mapped = reader.loading.is_mapped;
    reader.loading.require_kernel()?;
    let Reader { gatherer, chains, findings, chain, loading, finder, .. } = reader;
    let unplaced = finder.map_or(0, |finder| finder.unplaced);
    let (loaded_at, addresses) = (loading.base(), loading.bases.len());
    Ok(ScriptSamples { gatherer, chains, findings, chain, loaded_at, unplaced, addresses })
}

fn is_mapping(line: &[u8]) -> bool {
    const SHORTEST: usize = 50;
    line.len() >= SHORTEST && !line[0].is_ascii_digit() && memchr::memmem::find(line, b"PERF_RECORD_MMAP").is_some()
}

/// The mapped files in which branches start, with the number of these branches.
pub(super) fn programs_with_samples(input: &Input, limits: &Limits) -> Result<BTreeMap<Vec<u8>, u64>> {
    let mut found = BTreeMap::new();
    let patterns = Patterns::new()?;
    let mut mapped: BTreeMap<u64, (u64, Vec<u8>)> = BTreeMap::new();
    let mut lines = Lines::new(input.content(limits)?);
    while lines.next()? {
        if is_mapping(&lines.line) {
            if let Some(mapping) = patterns.mapping(&lines.line) {
                mapped.insert(mapping.start, (mapping.len, mapping.path.to_vec()));
            }
            continue;
        }
        for (source, _) in lines.line.split(|byte| *byte == b' ').filter_map(branch) {
            let Some((start, (len, path))) = mapped.range(..=source).next_back() else { continue };
            if source - start < *len {
                *found.entry(path.clone()).or_default() += 1;
            }
        }
    }
    Ok(found)
}

struct Reader<'r, 'p, 'n> {
    program: &'r Program<'p>,
    patterns: Patterns,
    loading: Loading,
    /// Where the frames of call chains are, if other fields can be printed with them.
    finder: Option<FrameFinder<'r, 'p>>,
    gatherer: Gatherer,
    chains: Option<ChainSamples>,
    most_frames: u32,
    findings: ReadFindings,
    /// The branches of one sample.
    branches: Vec<(u64, u64)>,
    /// The call chain of one sample.
    chain: CallChain,
    /// Hashes of the samples with call chains.
    distinct: HashSet<u64, RandomState>,
    has_warned: bool,
    has_other_fields: bool,
    notify: &'r mut Notify<'n>,
}

impl Reader<'_, '_, '_> {
    fn mapping(&mut self, line: &[u8]) -> Result<()> {
        let Some(mapping) = self.patterns.mapping(line) else {
            (self.notify)(LineNotice::BadMapping(line));
            return Ok(());
        };
        if let Some(finder) = &mut self.finder {
            finder.map(&mapping).map_err(MappingFault::into_error)?;
        }
        let MappingLine { process, start, offset, path, .. } = mapping;
        (self.notify)(LineNotice::Mapping { path, start });
        self.loading.map(process, start, offset, path).map_err(MappingFault::into_error)
    }

    /// Reads a call chain, from the current line if there is one. Returns true if it is complete; the line after it then has
    /// branch records. The chain ends at the first frame that does not follow a call.
    fn chain(&mut self, mut has_line: bool, lines: &mut Lines) -> Result<bool> {
        let is_end = |line: &[u8]| line.starts_with(b" 0x");
        let mut is_cut = false;
        self.chain.frames.clear();
        while has_line && !is_end(&lines.line) {
            if !is_cut {
                let Some(frame) = self.frame(&lines.line) else {
                    // Blank lines and comments.
                    lines.is_unread = lines.next()? && !is_end(&lines.line);
                    return Ok(false);
                };
                is_cut = frame.is_some_and(|frame| !self.chain.push(self.program, frame));
            }
            has_line = lines.next()?;
        }
        if self.chain.is_incomplete(self.program) {
            self.findings.incomplete_chains += 1;
            return Ok(false);
        }
        self.warn_of_missing_mapping();
        if !has_line {
            return Err(Error::malformed("the last sample has a call chain and no branch records")
                .with_llvm_message("'Hybrid perf sample is corrupted, No LBR sample line"));
        }
        Ok(true)
    }

    /// Returns the link-time address of a frame; `Some(None)` for an inlined one, which has the address of the next.
    fn frame(&mut self, line: &[u8]) -> Option<Option<u64>> {
        match &mut self.finder {
            None => parse_hex(trim_start(line)).map(|frame| Some(self.loading.link_time(frame))),
            Some(finder) => place_of(line).map(|place| (!place.is_inlined()).then(|| finder.link_time(&place))),
        }
    }

    fn warn_of_missing_mapping(&mut self) {
        if !self.loading.is_mapped && !self.has_warned {
            self.has_warned = true;
            (self.notify)(LineNotice::NoMapping);
        }
    }

    fn sample(&mut self, line: &[u8], number: u64, times: u64) {
        if !self.read_branches(line) {
            self.findings.bad_lines += 1;
            (self.notify)(LineNotice::BadSample(number, line));
        }
        if !self.program.rules.counts_external_branches() {
            cut_unpaired(&mut self.branches);
        }
        if self.branches.is_empty() {
            self.findings.without_branches += 1;
            return;
        }
        self.warn_of_missing_mapping();
        if let Some(leaf) = self.chain.frames.first_mut() {
            self.findings.call_chains = self.findings.call_chains.saturating_add(times);
            match &mut self.chains {
                Some(chains) => {
                    *leaf = self.branches.first().map_or(*leaf, |(_, target)| *target);
                    chains.add(&self.chain.frames, &self.branches, times, self.most_frames);
                }
                None => {
                    self.distinct.insert(self.distinct.hasher().hash_one(&self.branches));
                }
            }
        }
        self.findings.samples = self.findings.samples.wrapping_add(times);
        self.findings.branches = self.findings.branches.wrapping_add((self.branches.len() as u64).wrapping_mul(times));
        self.gatherer.add(self.program, &self.branches, times);
    }

    /// Reads the branches of a line as far as they are well formed.
    fn read_branches(&mut self, line: &[u8]) -> bool {
        self.branches.clear();
        let mut words = trim_end(line).split(|byte| *byte == b' ').filter(|word| !word.is_empty()).peekable();
        if let Some(first) = words.next_if(|word| !word.contains(&b'/'))
            && parse_hex(first).is_none()
        {
            return false;
        }
        for word in words {
            let ends = if self.has_other_fields { branch_with_files(word) } else { branch(word) };
            let Some((source, target)) = ends else { return false };
            let place = |address| {
                let address = self.loading.link_time(address);
                if self.program.code.is_instruction(address) { address } else { EXTERNAL }
            };
            match (place(source), place(target)) {
                (EXTERNAL, EXTERNAL) => self.findings.external_branches += 1,
                ends => self.branches.push(ends),
            }
        }
        true
    }
}

/// Source and target of `0xSOURCE(FILE)/0xTARGET(FILE)/…`. perf prints the files with the field `dso`.
fn branch_with_files(word: &[u8]) -> Option<(u64, u64)> {
    fn end(text: &[u8]) -> Option<(u64, &[u8])> {
        let text = text.strip_prefix(b"0x")?;
        let digits = text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let (address, rest) = text.split_at(digits);
        let rest = match rest.first() {
            Some(b'(') => &rest[memchr::memchr(b')', rest)? + 1..],
            _ => rest,
        };
        Some((parse_hex(address)?, rest))
    }
    let (source, rest) = end(word)?;
    let (target, _) = end(rest.strip_prefix(b"/")?)?;
    Some((source, target))
}

/// Source and target of `0xSOURCE/0xTARGET/…`.
fn branch(word: &[u8]) -> Option<(u64, u64)> {
    let (source, rest) = word.split_at(memchr::memchr(b'/', word)?);
    let rest = &rest[1..];
    let target = &rest[..memchr::memchr(b'/', rest).unwrap_or(rest.len())];
    Some((parse_hex(source.get(2..)?)?, parse_hex(target.get(2..)?)?))
}
