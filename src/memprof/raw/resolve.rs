//! From addresses to functions and lines, with the program that ran.

use super::dumps::{RawMemProf, Segment};
use crate::error::{Error, ErrorKind, Result};
use crate::instr::Release;
use crate::instr::description::hex;
use crate::instr::hash_order::large_number_map_order;
use crate::limits::Limits;
use crate::memprof::fields::Schema;
use crate::memprof::model::{AllocSite, CallSite, MemoryProfile, canonical_name, guid};
use crate::memprof::stacks::{Frame, FrameHandle, StackHandle};
use crate::objects::{self, InlineFrame};
use foldhash::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A program that was profiled: its bytes, in memory once for all its dumps.
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
    bytes: Vec<u8>,
    limits: Limits,
}

impl Program {
    /// Reads the file; what is in it is looked at when a dump asks.
    ///
    /// # Errors
    ///
    /// Unable to symbolize, when it cannot be read or is not an object.
    pub fn open(path: &Path, limits: &Limits) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|source| {
            let source = crate::error::io_message(&source);
            unable(format!("{}: cannot open: {source}", path.display()))
                .with_llvm_message(format!("{}\n{source}", path.display()))
        })?;
        Self::new(path, bytes, limits)
    }

    /// A program whose bytes are in memory; `path` is for messages.
    ///
    /// # Errors
    ///
    /// Unable to symbolize, when it is not an object.
    pub fn new(path: &Path, bytes: Vec<u8>, limits: &Limits) -> Result<Self> {
        objects::parse(&bytes).map_err(|error| {
            unable(format!("{}: {error}", path.display())).with_llvm_message(format!(
                "{}\n{}",
                path.display(),
                error.llvm_message()
            ))
        })?;
        Ok(Self { path: path.to_path_buf(), bytes, limits: *limits })
    }
}

/// The programs that may have written raw profiles, each opened when it is
/// asked for.
#[derive(Debug, Default)]
pub struct Programs {
    paths: Vec<PathBuf>,
    limits: Limits,
    opened: Mutex<Vec<Arc<Program>>>,
}

impl Programs {
    /// The programs of those paths.
    pub fn new(paths: Vec<PathBuf>, limits: &Limits) -> Self {
        Self { paths, limits: *limits, opened: Mutex::default() }
    }

    /// The program that wrote a profile: the only one, or the one with the
    /// build id of one of its segments.
    ///
    /// # Errors
    ///
    /// Missing program when none is named; those of [`Program::open`]; unable
    /// to symbolize when several are named and none fits.
    pub fn find(&self, raw: &RawMemProf) -> Result<Arc<Program>> {
        let build_ids = || raw.build_ids().into_iter().map(hex).collect::<Vec<_>>();
        if self.paths.is_empty() {
            return Err(Error::new(ErrorKind::MissingProgram { build_ids: build_ids() }).with_hint(format!(
                "name it with --profiled-binary; its build id is one of {}",
                build_ids().join(", ")
            )));
        }
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        for path in &self.paths[opened.len()..] {
            opened.push(Arc::new(Program::open(path, &self.limits)?));
        }
        if let [only] = opened.as_slice() {
            return Ok(Arc::clone(only));
        }
        let has_id = |program: &&Arc<Program>| {
            let file = objects::parse(&program.bytes).ok();
            let id = file.and_then(|file| objects::build_id(&file));
            id.is_some_and(|id| raw.build_ids().contains(&id.as_slice()))
        };
        opened.iter().find(has_id).map(Arc::clone).ok_or_else(|| {
            unable("none of the programs has a build id of the profile").with_hint(build_ids().join(", "))
        })
    }
}

fn unable(detail: impl Into<String>) -> Error {
    ErrorKind::UnableToSymbolize { detail: detail.into() }.into()
}

/// A raw profile whose addresses were looked up.
#[derive(Debug)]
#[non_exhaustive]
pub struct Resolved {
    /// The profile.
    pub profile: MemoryProfile,
    /// Stacks that are left; those in code without debug info are left out.
    pub stacks: usize,
}

/// Files of the runtime: what is in them is no part of a stack.
const RUNTIME_FILES: [&[u8]; 3] = [b"memprof_malloc_linux.cpp", b"memprof_interceptors.cpp", b"memprof_new_delete.cpp"];

/// Looks the addresses of a profile up in the program. Order follows `release`.
///
/// # Errors
///
/// Unable to symbolize when the program is not the one that ran, or has no
/// debug info.
pub fn resolve(raw: &RawMemProf, program: &Program, release: Release) -> Result<Resolved> {
    try_resolve(raw, program, release).map_err(|error| error.within(&program.path))
}

fn try_resolve(raw: &RawMemProf, program: &Program, release: Release) -> Result<Resolved> {
    let file = objects::parse(&program.bytes)?;
    let slide = Slide::find(raw, &file).map_err(|error| named(error, program))?;
    let chains = chains_of(raw, &file, slide, &program.limits)?;
    let mut resolver = Resolver { profile: MemoryProfile::new(Schema::FULL), frames: HashMap::default() };
    for id in raw.stack_ids(|ids| large_number_map_order(release, ids)) {
        for address in raw.stack(id).unwrap_or_default() {
            resolver.frames_of(*address, &chains);
        }
    }
    if resolver.frames.is_empty() {
        return Err(nothing_found(raw));
    }
    let stacks = resolver.records(raw);
    Ok(Resolved { profile: resolver.profile, stacks })
}

/// LLVM's text ends with the program's path.
fn named(error: Error, program: &Program) -> Error {
    match error.hint() {
        Some(_) => error
            .with_llvm_message(format!("No matching executable segments found in binary {}", program.path.display())),
        None => error,
    }
}

fn nothing_found(raw: &RawMemProf) -> Error {
    let contexts = raw.contexts.len();
    unable(format!("no address of {contexts} call stacks is in a function that the program's debug info names"))
        .with_hint("the program must not be stripped, and be built with -gmlt -fdebug-info-for-profiling or -g")
        .with_llvm_message("malformed instrumentation profile data: no entries in callstack map after symbolization")
}

/// How far the program was moved when it was loaded.
#[derive(Debug, Clone, Copy)]
struct Slide {
    /// Where its code began and ended in memory.
    start: u64,
    end: u64,
    /// Where its code begins in the file's terms.
    link_address: u64,
}

impl Slide {
    fn find(raw: &RawMemProf, file: &object::File<'_>) -> Result<Self> {
        let executable = match objects::executable_segments(file)[..] {
            [only] => only,
            [] => return Err(unable("the program has no code that is loaded; memory profiles need an ELF program")),
            ref several => {
                let detail = format!("the program has {} executable segments, one is expected", several.len());
                return Err(unable(detail).with_llvm_message("Expect only one executable load segment in the binary"));
            }
        };
        let segment = program_segment(raw, file)?;
        Ok(Self { start: segment.start, end: segment.end, link_address: executable.address })
    }

    /// The address in the file's terms; that of another image stays, and is
    /// found nowhere.
    fn link_address(self, address: u64) -> Option<u64> {
        (self.start < address && address <= self.end).then(|| (address - self.start).wrapping_add(self.link_address))
    }
}

/// The segment of the program: by build id, or the first where there are none.
fn program_segment<'r>(raw: &'r RawMemProf, file: &object::File<'_>) -> Result<&'r Segment> {
    let has_ids = raw.segments.iter().any(|segment| !segment.build_id.is_empty());
    if !has_ids {
        let none = || unable("the profile names no executable segment");
        return raw.segments.first().ok_or_else(none);
    }
    let known: Vec<String> = raw.build_ids().into_iter().map(hex).collect();
    let ids = format!("the profile is of images with the build ids {}", known.join(", "));
    let Some(id) = objects::build_id(file) else {
        return Err(unable("the program has no build id").with_hint(ids));
    };
    raw.segments.iter().find(|segment| segment.build_id == id).ok_or_else(|| {
        unable(format!("the program's build id {} is not one of the profile's", hex(&id))).with_hint(ids)
    })
}

/// The frames of each address that is in the program; none for one that is to
/// be left out.
fn chains_of(
    raw: &RawMemProf,
    file: &object::File<'_>,
    slide: Slide,
    limits: &Limits,
) -> Result<HashMap<u64, Vec<InlineFrame>>> {
    let mut addresses: Vec<(u64, u64)> = Vec::new();
    let mut seen = HashSet::default();
    for context in &raw.contexts {
        for address in raw.stack(context.stack_id).unwrap_or_default() {
            if let Some(link) = slide.link_address(*address).filter(|_| seen.insert(*address)) {
                addresses.push((link, *address));
            }
        }
    }
    addresses.sort_unstable();
    let links: Vec<u64> = addresses.iter().map(|(link, _)| *link).collect();
    let chains = objects::inline_chains(file, &links, limits)?;
    let known = addresses.into_iter().map(|(_, address)| address).zip(chains);
    Ok(known.filter(|(_, chain)| is_of_the_program(chain)).collect())
}

fn is_of_the_program(chain: &[InlineFrame]) -> bool {
    let Some(innermost) = chain.first() else { return false };
    let in_runtime = innermost.file.as_deref().is_some_and(|file| RUNTIME_FILES.contains(&file));
    innermost.function.is_some() && !in_runtime
}

/// Makes records of contexts.
struct Resolver {
    profile: MemoryProfile,
    /// The frames of each address that has some.
    frames: HashMap<u64, Vec<FrameHandle>>,
}

impl Resolver {
    fn frames_of(&mut self, address: u64, chains: &HashMap<u64, Vec<InlineFrame>>) {
        let Some(chain) = chains.get(&address) else { return };
        if self.frames.contains_key(&address) {
            return;
        }
        let mut frames = Vec::with_capacity(chain.len());
        for (at, frame) in chain.iter().enumerate() {
            // A function around an inlined one whose name is unknown, as LLVM spells it.
            let name = frame.function.as_deref().unwrap_or(b"<invalid>");
            let function = guid(name);
            self.profile.names.entry(function).or_insert_with(|| canonical_name(name).to_vec());
            frames.push(self.profile.stacks.intern_frame(Frame {
                function,
                line_offset: frame.line.wrapping_sub(frame.start_line),
                column: frame.column,
                is_inline: at + 1 < chain.len(),
            }));
        }
        self.frames.insert(address, frames);
    }

    /// Makes the records, and returns how many stacks are left.
    fn records(&mut self, raw: &RawMemProf) -> usize {
        let mut call_sites = CallSites::default();
        let (mut stack, mut left) = (Vec::new(), 0);
        for context in &raw.contexts {
            let addresses = raw.stack(context.stack_id).unwrap_or_default();
            let addresses: Vec<u64> = addresses.iter().copied().filter(|at| self.frames.contains_key(at)).collect();
            if addresses.is_empty() {
                continue;
            }
            left += 1;
            stack.clear();
            for address in &addresses {
                let frames = &self.frames[address];
                for (at, frame) in frames.iter().enumerate() {
                    // The first frame of all is the allocation.
                    if !stack.is_empty() || at != 0 {
                        call_sites.add(self.profile.stacks.frame(*frame).function, *address);
                    }
                }
                stack.extend_from_slice(frames);
            }
            let whole = self.profile.stacks.intern(&stack);
            let histogram = (!context.histogram.is_empty()).then(|| context.histogram.as_slice().into());
            let site = AllocSite { stack: whole, info: context.info, histogram };
            self.add_alloc_site(&stack, &site);
        }
        for (function, addresses) in call_sites.functions {
            for address in addresses {
                let frames: StackHandle = self.profile.stacks.intern(&self.frames[&address]);
                self.profile.record_mut(function).call_sites.push(CallSite { frames, callees: Vec::new() });
            }
        }
        left
    }

    /// An allocation belongs to its function and to those that it is inlined into.
    fn add_alloc_site(&mut self, stack: &[FrameHandle], site: &AllocSite) {
        for frame in stack {
            let Frame { function, is_inline, .. } = self.profile.stacks.frame(*frame);
            self.profile.record_mut(function).alloc_sites.push(site.clone());
            if !is_inline {
                return;
            }
        }
    }
}

/// Addresses of calls by function, in order of first mention.
#[derive(Default)]
struct CallSites {
    functions: Vec<(u64, Vec<u64>)>,
    by_function: HashMap<u64, usize>,
    seen: HashSet<(u64, u64)>,
}

impl CallSites {
    fn add(&mut self, function: u64, address: u64) {
        if !self.seen.insert((function, address)) {
            return;
        }
        let at = *self.by_function.entry(function).or_insert(self.functions.len());
        if at == self.functions.len() {
            self.functions.push((function, Vec::new()));
        }
        self.functions[at].1.push(address);
    }
}
