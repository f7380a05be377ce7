//! Converts addresses to functions and lines, with the program that wrote the profile.

use crate::ascii::to_hex;
use crate::error::{Error, ErrorKind, Result};
use crate::hint::Hint;
use crate::limits::Limits;
use crate::memory::{self, HOLD_RECORDS};
use crate::memprof::fields::Schema;
use crate::memprof::model::{
    AllocSite, CallSite, Frame, FrameHandle, MemoryProfile, StackHandle, canonical_name, guid,
};
use crate::memprof::raw::dumps::{RawMemProf, Segment};
use crate::model::Release;
use crate::model::hash_order::large_number_map_order;
use crate::objects;
use crate::objects::InlineFrame;
use foldhash::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A profiled program. All its raw profiles share its bytes.
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
    bytes: Vec<u8>,
    limits: Limits,
}

impl Program {
    /// Reads a program. Its content is examined on demand.
    ///
    /// # Errors
    ///
    /// Unable to symbolize if the file cannot be read or is not an object.
    pub fn open(path: &Path, limits: &Limits) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|source| {
            let source = crate::error::io_message(&source);
            unable(format!("{}: cannot open: {source}", path.display()))
                .with_llvm_message(format!("{}\n{source}", path.display()))
        })?;
        Self::new(path, bytes, limits)
    }

    /// Creates a program from bytes. `path` is used in messages.
    ///
    /// # Errors
    ///
    /// Unable to symbolize if the bytes are not an object.
    pub fn new(path: &Path, bytes: Vec<u8>, limits: &Limits) -> Result<Self> {
        objects::parse(&bytes).map_err(|error| {
            let llvm_message = format!("{}\n{}", path.display(), error.llvm_message());
            let refused = unable(format!("{}: {error}", path.display())).with_llvm_message(llvm_message);
            match error.hint() {
                Some(hint) => refused.with_hint(hint.clone()),
                None => refused,
            }
        })?;
        Ok(Self { path: path.to_path_buf(), bytes, limits: *limits })
    }

    /// Checks that the code of the program is loaded in one segment, like llvm-profdata 22.
    ///
    /// # Errors
    ///
    /// Unable to symbolize if it is loaded in several.
    pub(crate) fn expect_one_segment(&self, raw: &RawMemProf<'_>) -> Result<()> {
        let file = objects::parse(&self.bytes)?;
        if objects::executable_segments(&file).len() > 1 {
            let error = unable("the code of the program is loaded in several parts").within(&self.path);
            let path = self.path.display();
            return Err(
                error.with_llvm_message(format!("{path}\nExpect only one executable load segment in the binary"))
            );
        }
        let id = objects::build_id(&file).unwrap_or_default();
        if !id.is_empty() && raw.segments.iter().filter(|segment| segment.build_id == id).count() > 1 {
            let error = unable("the profile has several segments of the program").within(&self.path);
            return Err(error.with_llvm_message("We expect only one executable segment in the profiled binary"));
        }
        Ok(())
    }
}

/// The programs that may have written raw profiles. Each is opened on demand.
#[derive(Debug, Default)]
pub struct Programs {
    paths: Vec<PathBuf>,
    limits: Limits,
    opened: Mutex<Vec<Arc<Program>>>,
}

impl Programs {
    /// Creates the list from paths.
    pub fn new(paths: Vec<PathBuf>, limits: &Limits) -> Self {
        Self { paths, limits: *limits, opened: Mutex::default() }
    }

    /// Returns the program that wrote a profile, and the libraries that it loaded: the only given one, or those with
    /// the build id of a segment.
    ///
    /// # Errors
    ///
    /// Missing program if none is given; the errors of [`Program::open`]; unable to symbolize if several are given and
    /// none matches.
    pub fn find(&self, raw: &RawMemProf<'_>) -> Result<Vec<Arc<Program>>> {
        let build_ids = || raw.build_ids().into_iter().map(to_hex).collect::<Vec<_>>();
        if self.paths.is_empty() {
            return Err(Error::new(ErrorKind::MissingProgram { build_ids: build_ids() })
                .with_hint(Hint::NameProgram { build_ids: build_ids() }));
        }
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        for path in &self.paths[opened.len()..] {
            opened.push(Arc::new(Program::open(path, &self.limits)?));
        }
        if opened.len() == 1 {
            return Ok(opened.clone());
        }
        let build_id =
            |program: &Program| objects::parse(&program.bytes).ok().and_then(|file| objects::build_id(&file));
        let has_id =
            |program: &&Arc<Program>| build_id(program).is_some_and(|id| raw.build_ids().contains(&id.as_slice()));
        let found: Vec<Arc<Program>> = opened.iter().filter(has_id).map(Arc::clone).collect();
        if found.is_empty() && raw.build_ids().is_empty() {
            let none = "the profile has no build ids, which choose one of several programs";
            return Err(unable(none).with_hint("merge it alone with its program, then merge the results"));
        }
        if found.is_empty() {
            let none = "no given program has a build id of the profile";
            let pass = format!("pass a program with one of the build ids {}", build_ids().join(", "));
            let anonymous = opened.iter().filter(|program| build_id(program).is_none());
            let anonymous: Vec<String> = anonymous.map(|program| program.path.display().to_string()).collect();
            return Err(match anonymous.as_slice() {
                [] => unable(none).with_hint(pass),
                _ => unable(format!("{none}; without a build id: {}", anonymous.join(", "))).with_hint(format!(
                    "{pass}; link programs without one with -Wl,--build-id, and profile them again"
                )),
            });
        }
        Ok(found)
    }
}

fn unable(detail: impl Into<String>) -> Error {
    ErrorKind::UnableToSymbolize { detail: detail.into() }.into()
}

/// A symbolized raw profile.
#[derive(Debug)]
#[non_exhaustive]
pub struct Resolved {
    /// The profile.
    pub profile: MemoryProfile,
    /// The number of stacks, without those in code without debug info.
    pub stacks: usize,
}

/// Files of the runtime, whose frames are not part of stacks.
const RUNTIME_FILES: [&[u8]; 3] = [b"memprof_malloc_linux.cpp", b"memprof_interceptors.cpp", b"memprof_new_delete.cpp"];

/// Looks up the addresses of a profile in the program and in the libraries that it loaded. `release` determines the
/// order.
///
/// # Errors
///
/// Unable to symbolize if a program did not write the profile or has no debug info; limit exceeded if nested inlined
/// functions create larger call stacks than expected for the sizes of the profile and programs.
pub fn resolve(raw: &RawMemProf<'_>, programs: &[Arc<Program>], release: Release) -> Result<Resolved> {
    let mut images = Vec::new();
    for program in programs {
        let within = |error: Error| error.within(&program.path);
        let file = objects::parse(&program.bytes).map_err(within)?;
        let loaded = Loaded::find(raw, &file, &program.path).map_err(within)?;
        images.push(Image { program, file, loaded });
    }
    let mut room = MemoryBudget::of(raw.size() + programs.iter().map(|program| program.bytes.len()).sum::<usize>());
    let addresses = ProgramAddresses::of(raw, &images)?;
    let chains = addresses.chains(&images, &mut room)?;
    let places = vec![None; chains.len()];
    let mut resolver = Resolver { profile: MemoryProfile::new(Schema::FULL), places, without_line: HashSet::default() };
    let mut left = chains.iter().filter(|chain| is_of_the_program(chain)).count();
    if left == 0 {
        let error = nothing_found(raw);
        return Err(programs.iter().fold(error, |error, program| error.within(&program.path)));
    }
    for stack in raw.stacks_in_map_order(|ids| large_number_map_order(release, ids)) {
        raw.cancel.check()?;
        for number in stack.iter().filter_map(|address| addresses.number(address)) {
            left -= usize::from(resolver.add_frames(number, &chains[number]));
        }
        if left == 0 {
            break;
        }
    }
    drop(chains);
    let stacks = resolver.records(raw, &addresses, &mut room)?;
    resolver.profile.functions_without_line = resolver.without_line.len();
    Ok(Resolved { profile: resolver.profile, stacks })
}

fn nothing_found(raw: &RawMemProf<'_>) -> Error {
    let contexts = raw.contexts().len();
    unable(format!("the program's debug info has no function for the addresses of {contexts} call stacks"))
        .with_hint("pass the unstripped program, built with -gmlt -fdebug-info-for-profiling or -g")
        .with_llvm_message("malformed instrumentation profile data: no entries in callstack map after symbolization")
}

/// A program with its addresses in the process.
struct Image<'p> {
    program: &'p Program,
    file: object::File<'p>,
    loaded: Loaded,
}

/// The executable parts of a program in the process.
#[derive(Debug)]
struct Loaded {
    parts: Vec<LoadedPart>,
}

#[derive(Debug, Clone, Copy)]
struct LoadedPart {
    /// Start and end address in memory.
    start: u64,
    end: u64,
    /// The corresponding address in the file.
    link_address: u64,
}

impl Loaded {
    fn find(raw: &RawMemProf<'_>, file: &object::File<'_>, path: &Path) -> Result<Self> {
        let executable = objects::executable_segments(file);
        if executable.is_empty() {
            return Err(unable("the program has no executable segment; memory profiles require an ELF program"));
        }
        let mut segments = program_segments(raw, file, path)?;
        // Without build ids, the segments of the program come first.
        if segments.iter().all(|segment| segment.build_id.is_empty()) {
            segments.truncate(executable.len());
        }
        if segments.len() != executable.len() {
            let [known, there] = [segments.len(), executable.len()];
            return Err(unable(format!("the profile has {known} executable segments, but the program has {there}")));
        }
        // Both are ordered by address.
        let pairs = segments.into_iter().zip(executable);
        let part = |(segment, executable): (&Segment, objects::ExecutableSegment)| LoadedPart {
            start: segment.start,
            end: segment.end,
            link_address: executable.address,
        };
        Ok(Self { parts: pairs.map(part).collect() })
    }

    /// Returns the address in the file. `None` for addresses of other images.
    fn link_address(&self, address: u64) -> Option<u64> {
        let part = self.parts.iter().find(|part| part.start < address && address <= part.end)?;
        Some((address - part.start).wrapping_add(part.link_address))
    }
}

/// Returns the segments of the program: by build id, or all if there are no build ids. LLVM's messages contain the path.
fn program_segments<'r>(raw: &'r RawMemProf<'_>, file: &object::File<'_>, path: &Path) -> Result<Vec<&'r Segment>> {
    let has_ids = raw.segments.iter().any(|segment| !segment.build_id.is_empty());
    if !has_ids {
        if raw.segments.is_empty() {
            return Err(unable("the profile has no executable segment"));
        }
        return Ok(raw.segments.iter().collect());
    }
    let Some(id) = objects::build_id(file) else {
        // The profile can still have the build ids of libraries.
        return Err(unable("the program has no build id")
            .with_hint("link the program with -Wl,--build-id, and profile it again")
            .with_llvm_message(format!("No build id found in binary {}", path.display())));
    };
    let segments: Vec<&Segment> = raw.segments.iter().filter(|segment| segment.build_id == id).collect();
    if segments.is_empty() {
        let detail = format!("the program's build id {} is not one of the profile's", to_hex(&id));
        let known: Vec<String> = raw.build_ids().into_iter().map(to_hex).collect();
        return Err(unable(detail)
            .with_hint(format!("pass a program with one of the build ids {}", known.join(", ")))
            .with_llvm_message(format!("No matching executable segments found in binary {}", path.display())));
    }
    Ok(segments)
}

/// The distinct addresses of all contexts in the images.
struct ProgramAddresses {
    /// The image and the file address of each, by number.
    links: Vec<(usize, u64)>,
    /// The number of each address. `None` for addresses of other images.
    numbers: HashMap<u64, Option<usize>>,
}

impl ProgramAddresses {
    fn of(raw: &RawMemProf<'_>, images: &[Image<'_>]) -> Result<Self> {
        let mut addresses = Self { links: Vec::new(), numbers: HashMap::default() };
        let link_address = |address| {
            let mut images = images.iter().enumerate();
            images.find_map(|(image, at)| Some((image, at.loaded.link_address(address)?)))
        };
        for stack in raw.stacks() {
            raw.cancel.check()?;
            for address in stack.iter() {
                addresses.numbers.entry(address).or_insert_with(|| {
                    let link = link_address(address)?;
                    addresses.links.push(link);
                    Some(addresses.links.len() - 1)
                });
            }
        }
        Ok(addresses)
    }

    fn number(&self, address: u64) -> Option<usize> {
        self.numbers.get(&address).copied().flatten()
    }

    /// Returns the functions at each address, by number.
    fn chains(&self, images: &[Image<'_>], room: &mut MemoryBudget) -> Result<Vec<Vec<InlineFrame>>> {
        let mut order: Vec<usize> = (0..self.links.len()).collect();
        order.sort_unstable_by_key(|number| self.links[*number]);
        let mut chains = vec![Vec::new(); order.len()];
        for numbers in order.chunk_by(|a, b| self.links[*a].0 == self.links[*b].0) {
            let Image { program, file, .. } = &images[self.links[numbers[0]].0];
            let sorted = numbers.iter().map(|number| self.links[*number].1);
            let sorted: Vec<u64> = sorted.collect();
            let most = room.left_for(PLACE);
            // LLVM takes the code near address 0 for that of removed functions.
            let code_start = 0;
            let found = objects::inline_chains(file, &program.path, &sorted, &program.limits, most, code_start);
            let (found, _) = found.map_err(|error| error.within(&program.path))?;
            room.take(found.iter().map(Vec::len).sum(), PLACE)?;
            numbers.iter().zip(found).for_each(|(number, chain)| chains[*number] = chain);
        }
        Ok(chains)
    }
}

/// Returns true if an address is not in the runtime and has debug info.
fn is_of_the_program(chain: &[InlineFrame]) -> bool {
    let Some(innermost) = chain.first() else { return false };
    let in_runtime = innermost.file.as_deref().is_some_and(|file| RUNTIME_FILES.contains(&file));
    innermost.function.is_some() && !in_runtime
}

/// Creates the records of contexts.
struct Resolver {
    profile: MemoryProfile,
    /// The frames of each address of the program, by number.
    places: Vec<Option<Place>>,
    /// The functions that have no line of their declaration.
    without_line: HashSet<u64>,
}

/// An address in the program.
#[derive(Debug, Clone)]
struct Place {
    frames: Vec<FrameHandle>,
    /// Whether it is already a call site of all its functions, or of all except the innermost.
    is_call_site: [bool; 2],
}

impl Resolver {
    /// Creates the frames of an address. Returns true if they are new.
    fn add_frames(&mut self, number: usize, chain: &[InlineFrame]) -> bool {
        if self.places[number].is_some() || !is_of_the_program(chain) {
            return false;
        }
        let mut frames = Vec::with_capacity(chain.len());
        for (at, frame) in chain.iter().enumerate() {
            // LLVM's name for a function with an unknown name that contains an inlined one.
            let name = frame.function.as_deref().unwrap_or(b"<invalid>");
            let function = guid(name);
            if frame.start_line == 0 && frame.line != 0 && frame.function.is_some() {
                self.without_line.insert(function);
            }
            self.profile.names.entry(function).or_insert_with(|| canonical_name(name).to_vec());
            frames.push(self.profile.stacks.intern_frame(Frame {
                function,
                line_offset: frame.line.wrapping_sub(frame.start_line),
                column: frame.column,
                is_inline: at + 1 < chain.len(),
            }));
        }
        self.places[number] = Some(Place { frames, is_call_site: [false; 2] });
        true
    }

    /// Creates the records. Returns the number of stacks.
    fn records(
        &mut self,
        raw: &RawMemProf<'_>,
        addresses: &ProgramAddresses,
        room: &mut MemoryBudget,
    ) -> Result<usize> {
        let (stacks, call_sites) = self.stacks(raw, addresses, room)?;
        let mut records = self.try_reserve(&stacks, room)?.into_iter();
        for (context, stack) in raw.contexts().zip(&stacks) {
            raw.cancel.check()?;
            let Some(stack) = *stack else { continue };
            let context = context?;
            let histogram = (!context.histogram.is_empty()).then(|| Arc::new(context.histogram));
            let site = AllocSite { stack, info: context.info, histogram };
            let within = allocating(&self.profile, stack).count();
            let all = self.profile.records_mut();
            records.by_ref().take(within).for_each(|at| all[at].alloc_sites.push(site.clone()));
        }
        for (function, numbers) in call_sites.functions {
            for place in numbers.into_iter().filter_map(|number| self.places[number].as_ref()) {
                let frames: StackHandle = self.profile.stacks.intern(&place.frames);
                let sites = &mut self.profile.record_mut(function).call_sites;
                sites.push(CallSite { frames, callees: Vec::new() });
            }
        }
        Ok(stacks.iter().flatten().count())
    }

    /// Returns the call stack of each context (`None` if no address is in the program), and the calls on all of them.
    fn stacks(
        &mut self,
        raw: &RawMemProf<'_>,
        addresses: &ProgramAddresses,
        room: &mut MemoryBudget,
    ) -> Result<(Vec<Option<StackHandle>>, CallSites)> {
        let (mut stacks, mut call_sites) = (Vec::new(), CallSites::default());
        let mut stack = Vec::new();
        for returns in raw.stacks() {
            raw.cancel.check()?;
            stack.clear();
            for number in returns.iter().filter_map(|address| addresses.number(address)) {
                let Some(place) = &mut self.places[number] else { continue };
                // The innermost frame is the allocation.
                let first = usize::from(stack.is_empty());
                if !std::mem::replace(&mut place.is_call_site[first], true) {
                    let frames = place.frames[first..].iter();
                    let functions = frames.map(|frame| self.profile.stacks.frame(*frame).function);
                    functions.for_each(|function| call_sites.add(function, number));
                }
                room.take(place.frames.len(), FRAME)?;
                stack.extend_from_slice(&place.frames);
            }
            stacks.push((!stack.is_empty()).then(|| self.profile.stacks.intern(&stack)));
        }
        Ok((stacks, call_sites))
    }

    /// Adds the records of functions that allocate memory, with the exact capacity for their sites, because growing
    /// lists would need twice the memory. Returns the records of all stacks, one stack after the other.
    fn try_reserve(&mut self, stacks: &[Option<StackHandle>], room: &mut MemoryBudget) -> Result<Vec<usize>> {
        let (mut functions, mut all) = (Vec::new(), Vec::new());
        for stack in stacks.iter().flatten() {
            functions.clear();
            functions.extend(allocating(&self.profile, *stack));
            room.take(functions.len(), SITE)?;
            all.extend(functions.iter().map(|function| self.profile.record_index(*function)));
        }
        let mut sites = vec![0; self.profile.records().len()];
        all.iter().for_each(|at| sites[*at] += 1);
        for (record, sites) in self.profile.records_mut().iter_mut().zip(sites) {
            record.alloc_sites.try_reserve_exact(sites).map_err(|_| memory::refused(HOLD_RECORDS))?;
        }
        Ok(all)
    }
}

/// Returns the functions of an allocation: its own, and those into which it is inlined.
fn allocating(profile: &MemoryProfile, stack: StackHandle) -> impl Iterator<Item = u64> {
    let frames = profile.stacks.frames_of(stack);
    let mut is_behind = false;
    let within = frames.take_while(move |frame| !std::mem::replace(&mut is_behind, !frame.is_inline));
    within.map(|frame| frame.function)
}

/// Addresses of calls by function, in order of first mention.
#[derive(Default)]
struct CallSites {
    functions: Vec<(u64, Vec<usize>)>,
    by_function: HashMap<u64, usize>,
    seen: HashSet<(u64, usize)>,
}

impl CallSites {
    fn add(&mut self, function: u64, number: usize) {
        if !self.seen.insert((function, number)) {
            return;
        }
        let at = *self.by_function.entry(function).or_insert(self.functions.len());
        if at == self.functions.len() {
            self.functions.push((function, Vec::new()));
        }
        self.functions[at].1.push(number);
    }
}

// The limit of memory for call stacks.
// Debug info has an inlined function once, but the stacks of all its addresses contain it. The output can therefore be
// as large as the product of the sizes of the profile and the program, which only a malicious program reaches.

/// Bytes per byte of the raw profile and its programs.
const BYTES: usize = 32;
/// Additional bytes.
const BASE: usize = 1 << 20;

/// The approximate size of a function at an address: its frame, and its call site.
pub(super) const PLACE: usize = 128;
/// A frame in a growing list.
pub(super) const FRAME: usize = 8;
/// An allocation in one of its functions.
pub(super) const SITE: usize = size_of::<AllocSite>();

/// The remaining memory for call stacks.
pub(super) struct MemoryBudget {
    most: usize,
    left: usize,
}

impl MemoryBudget {
    /// Returns the budget for a raw profile and programs with a total of `bytes` bytes.
    pub(super) fn of(bytes: usize) -> Self {
        let most = bytes.saturating_mul(BYTES).saturating_add(BASE);
        Self { most, left: most }
    }

    /// Returns the number of items of that size that fit.
    pub(super) fn left_for(&self, size: usize) -> usize {
        self.left / size
    }

    /// Reserves memory for items of this size.
    ///
    /// # Errors
    ///
    /// Limit exceeded if there is not enough left.
    pub(super) fn take(&mut self, count: usize, size: usize) -> Result<()> {
        let bytes = count.saturating_mul(size);
        let Some(left) = self.left.checked_sub(bytes) else {
            let what = "memory in bytes for call stacks with their inlined calls";
            let found = (self.most - self.left).saturating_add(bytes) as u64;
            return Err(Error::above_limit(None, what, found, self.most as u64));
        };
        self.left = left;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_shrinks_with_each_use() {
        let mut room = MemoryBudget::of(1000);
        assert_eq!(room.left_for(BASE), 1);
        room.take(1, BASE).unwrap();
        room.take(1000, BYTES - 1).unwrap();
        assert_eq!((room.left_for(1), room.left_for(1000)), (1000, 1));
        let error = room.take(1001, 1).unwrap_err().to_string();
        let (found, limit) = (BASE + BYTES * 1000 + 1, BASE + BYTES * 1000);
        assert!(error.contains(&format!("{found}, the limit is {limit}")), "{error}");
        assert!(room.take(usize::MAX, usize::MAX).is_err());
        room.take(1000, 1).unwrap();
    }
}
