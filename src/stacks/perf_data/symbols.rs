//! From places to functions: the programs that ran, the kernel, and generated code.

use super::kernel::SymbolList;
#[cfg(feature = "correlate")]
use super::program::{Program, ResolvedFrame};
use super::samples::{CodePlace, Collected};
use crate::ascii::to_hex;
use crate::call_chains::{Frame, FrameId, FrameKind, StackId, StackTable};
use crate::digits::number_of;
use crate::error::{Error, Result, Warning};
use crate::limits::Limits;
use crate::perf::Recording;
use crate::perf::processes::{MappedFile, is_memory};
use crate::stacks::collapsed::frames::Named;
use crate::stacks::perf_script;
use foldhash::HashMap;
use std::path::{Path, PathBuf};

/// How recordings of perf are read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PerfOptions {
    /// Programs and libraries to use instead of the recorded paths, found by build id or by name.
    pub binaries: Vec<PathBuf>,
    /// The directory that recorded paths are below, such as a copy of another machine's files. Default: the root.
    pub symfs: Option<PathBuf>,
}

/// The name of a function that is not known.
const UNKNOWN: &str = "[unknown]";
/// Files that are named in warnings.
const MOST_NAMED: usize = 10;
/// A file that was read is named if at least one in this number of samples is unknown.
const LEAST_SHARE: u64 = 100;

/// Makes the stacks of a table: one for each node of the samples. Returns also what is missing.
///
/// # Errors
///
/// Limit exceeded for stacks that are too deep with what was inlined.
pub(super) fn resolve(
    collected: &Collected,
    recording: &Recording,
    options: &PerfOptions,
    limits: &Limits,
    table: &mut StackTable,
) -> Result<(Vec<StackId>, Vec<Warning>)> {
    let mut resolver =
        Resolver { recording, options, limits, table, warnings: Vec::new(), missing: Vec::new(), used: Vec::new() };
    let frames = resolver.frames(collected);
    let unknown = resolver.symbol(UNKNOWN, FrameKind::Unknown);
    let mut stacks: Vec<StackId> = Vec::with_capacity(collected.nodes().len());
    for node in collected.nodes() {
        let mut stack = node.parent.and_then(|parent| stacks.get(parent as usize).copied());
        let of_place = frames.get(node.place as usize).filter(|frames| !frames.is_empty());
        for frame in of_place.map_or(&[unknown][..], Vec::as_slice) {
            stack = Some(resolver.table.push_frame(stack, *frame));
        }
        let Some(stack) = stack else { continue };
        let depth = resolver.table.depth(stack);
        if depth > limits.context_depth {
            let (what, limit) = ("number of frames of a stack", limits.context_depth.into());
            return Err(Error::above_limit(Some("context-depth"), what, depth.into(), limit));
        }
        stacks.push(stack);
    }
    let missing = std::mem::take(&mut resolver.missing);
    let mut warnings = resolver.warnings;
    let has_build_ids = !recording.features.build_ids.is_empty()
        || collected.processes.files().iter().any(|file| file.build_id.is_some());
    let by_name =
        if has_build_ids { "" } else { "; it has no build ids, so only a file with the recorded name counts" };
    for path in options.binaries.iter().filter(|path| !resolver.used.contains(path)) {
        let message = format!("{}: the recording has no samples of this program{by_name}", path.display());
        warnings.push(Warning::new(message));
    }
    warnings.extend(missing_warnings(collected, &missing));
    Ok((stacks, warnings))
}

/// A file with unknown functions.
struct Missing {
    /// The number of the file.
    file: u32,
    /// The places of these functions.
    places: Vec<usize>,
    /// Why they are unknown.
    reason: String,
    /// Whether the file was read. Most libraries have no symbols of their local functions, so few samples are not reported.
    is_read: bool,
}

struct Resolver<'a> {
    recording: &'a Recording,
    options: &'a PerfOptions,
    limits: &'a Limits,
    table: &'a mut StackTable,
    warnings: Vec<Warning>,
    missing: Vec<Missing>,
    /// Given programs that the recording has samples of, or that were rejected with a message.
    used: Vec<PathBuf>,
}

impl Resolver<'_> {
    /// The frames of every place, outermost first; empty for an unknown one.
    fn frames(&mut self, collected: &Collected) -> Vec<Vec<FrameId>> {
        let mut frames = vec![Vec::new(); collected.places().len()];
        let files = collected.processes.files();
        let mut places: Vec<Vec<usize>> = vec![Vec::new(); files.len()];
        for (at, place) in collected.places().iter().enumerate() {
            match place.place {
                Some(found) => places[found.file as usize].push(at),
                None if place.is_kernel => frames[at] = vec![self.symbol(UNKNOWN, FrameKind::Kernel)],
                None => {}
            }
        }
        let kernel = self.kernel_symbols(files);
        for (number, file) in files.iter().enumerate().filter(|(number, _)| !places[*number].is_empty()) {
            let places = &places[number];
            let lookup = |at: usize| lookup_offset(&collected.places()[at]);
            if let Some(pid) = file.memory_of {
                let list = if file.is_kernel() { None } else { self.perf_map(pid) };
                let kind = if file.is_kernel() { FrameKind::Kernel } else { FrameKind::Unknown };
                let list = if file.is_kernel() { kernel.as_ref() } else { list.as_ref() };
                if list.is_none() {
                    let reason = "no list of its symbols was found".to_string();
                    self.missing.push(Missing::not_read(number as u32, places, reason));
                }
                for at in places {
                    let name = list.and_then(|list| list.find(lookup(*at))).unwrap_or(UNKNOWN);
                    frames[*at] = vec![self.symbol(name, kind)];
                }
                continue;
            }
            self.add_program_frames(number as u32, file, places, &lookup, collected, &mut frames);
        }
        frames
    }

    #[cfg(feature = "correlate")]
    fn add_program_frames(
        &mut self,
        number: u32,
        file: &MappedFile,
        places: &[usize],
        lookup: &dyn Fn(usize) -> u64,
        collected: &Collected,
        frames: &mut [Vec<FrameId>],
    ) {
        let (program, debug) = match self.program(file) {
            Ok(found) => found,
            Err(reason) => return self.missing.push(Missing::not_read(number, places, reason)),
        };
        let lookup = |at: usize| (lookup(at), collected.places()[at].is_return);
        let mut offsets: Vec<(u64, bool)> = places.iter().map(|at| lookup(*at)).collect();
        offsets.sort_unstable();
        offsets.dedup();
        match program.frames(&offsets, debug.as_ref(), self.limits) {
            Ok((found, fault)) => {
                if let Some(fault) = fault {
                    let message = format!("{}: inlined functions are missing: {fault}", program.path.display());
                    self.warnings.push(Warning::new(message));
                }
                for at in places {
                    let found = offsets.binary_search(&lookup(*at)).ok().and_then(|at| found.get(at));
                    frames[*at] = found.into_iter().flatten().rev().map(|frame| self.frame(frame)).collect();
                }
                let unknown: Vec<usize> = places.iter().copied().filter(|at| frames[*at].is_empty()).collect();
                if !unknown.is_empty() {
                    let has_table = program.has_symbol_table() || debug.is_some_and(|debug| debug.has_symbol_table());
                    let reason = if has_table { "its symbol table lacks them" } else { "it has no symbol table" };
                    let reason = reason.to_string();
                    self.missing.push(Missing { file: number, places: unknown, reason, is_read: true });
                }
            }
            Err(error) => self.missing.push(Missing::not_read(number, places, error.to_string())),
        }
    }

    #[cfg(not(feature = "correlate"))]
    fn add_program_frames(
        &mut self,
        number: u32,
        _: &MappedFile,
        places: &[usize],
        _: &dyn Fn(usize) -> u64,
        _: &Collected,
        _: &mut [Vec<FrameId>],
    ) {
        self.missing.push(Missing::not_read(number, places, "this build does not read programs".to_string()));
    }

    /// The program of a mapping, a given one or the one at the recorded path, and the separate file with its symbols and
    /// debug info.
    #[cfg(feature = "correlate")]
    fn program(&mut self, file: &MappedFile) -> std::result::Result<(Program, Option<Program>), String> {
        let mut given = Vec::new();
        let found = self.find_program(file, &mut given);
        // A separate debug file does not say where the program was mapped.
        let Some(debug) = given.into_iter().next() else {
            let program = found?;
            // A program can be stripped after the recording.
            let unstripped = |id: &[u8]| Program::open(&cached_file(id, &["elf"])?).ok();
            let is_stripped = !program.has_symbol_table();
            let of_build = |id: &[u8]| debug_file(id).or_else(|| is_stripped.then(|| unstripped(id))?);
            let debug = program.build_id().and_then(|id| of_build(&id));
            return Ok((program, debug));
        };
        let path = debug.path.display().to_string();
        let program =
            found.map_err(|reason| format!("{path} has no code, and the program itself was not found: {reason}"))?;
        let is_of_program = debug.build_id() == program.build_id();
        Ok((program, is_of_program.then_some(debug)))
    }

    /// Finds the program of a mapping. Other given files of the same build are added to `further`.
    #[cfg(feature = "correlate")]
    fn find_program(&mut self, file: &MappedFile, further: &mut Vec<Program>) -> std::result::Result<Program, String> {
        let mut given = None;
        let expected = self.build_id(file);
        let recorded = String::from_utf8_lossy(without_mark(&file.path)).into_owned();
        let name = Path::new(&recorded).file_name();
        let path = match &self.options.symfs {
            Some(root) => root.join(recorded.trim_start_matches('/')),
            None => PathBuf::from(&recorded),
        };
        let open_recorded =
            || if recorded.starts_with('/') { Program::open(&path) } else { Err("not a file".to_string()) };
        // perf stores the build ids of files in which samples are, not those of their callers.
        let id_at_path = || {
            if self.options.binaries.is_empty() {
                None
            } else {
                open_recorded().ok().and_then(|found| found.build_id())
            }
        };
        let id = expected.clone().or_else(id_at_path);
        let mut mismatch = None;
        let mut is_right = |program: &Program| {
            let (Some(expected), found) = (&expected, program.build_id()) else { return true };
            if found.as_ref() == Some(expected) {
                return true;
            }
            let found = found.map_or("no build id".to_string(), |id| format!("build id {}", to_hex(&id)));
            let path = program.path.display();
            mismatch.get_or_insert(format!("{path} has {found}, but {recorded} ran with {}", to_hex(expected)));
            false
        };
        for path in &self.options.binaries {
            let has_name = path.file_name() == name;
            if !has_name && id.is_none() {
                continue;
            }
            let program = Program::open(path);
            let has_id = |program: &Program| id.is_some() && program.build_id() == id;
            match program {
                Ok(program) if has_id(&program) || has_name && is_right(&program) => {
                    self.used.push(path.clone());
                    match given {
                        None if program.has_code() => given = Some(program),
                        _ => further.push(program),
                    }
                }
                Ok(_) if has_name => self.used.push(path.clone()),
                Ok(_) => {}
                Err(reason) if has_name && given.is_none() => return Err(format!("{}: {reason}", path.display())),
                Err(_) => {}
            }
        }
        if let Some(given) = given {
            return Ok(given);
        }
        match open_recorded() {
            Ok(program) if is_right(&program) => return Ok(program),
            Ok(_) => {}
            Err(reason) => mismatch = mismatch.or(Some(reason)),
        }
        let cached = expected.as_ref().and_then(|id| cached_file(id, &["elf", "vdso"]));
        let cached = cached.and_then(|path| Program::open(&path).ok());
        cached.ok_or_else(|| mismatch.unwrap_or_default())
    }

    /// The build id in the mapping, or in the list of the recording.
    fn build_id(&self, file: &MappedFile) -> Option<Vec<u8>> {
        let listed = || self.recording.features.build_ids.iter().find(|listed| listed.path == file.path);
        file.build_id.clone().or_else(|| listed().map(|listed| listed.id.clone()))
    }

    /// The symbols of the kernel that was recorded, if it is the running one or a list of it was stored.
    fn kernel_symbols(&self, files: &[MappedFile]) -> Option<SymbolList> {
        let is_image = |path: &[u8]| path.starts_with(b"[kernel.kallsyms]");
        let listed = self.recording.features.build_ids.iter().find(|listed| is_image(&listed.path));
        let mapped = || files.iter().find(|file| file.is_kernel() && is_image(&file.path))?.build_id.clone();
        if let Some(root) = &self.options.symfs {
            return SymbolList::read_kernel(&root.join("proc/kallsyms"));
        }
        let Some(id) = listed.map(|listed| listed.id.clone()).or_else(mapped) else {
            // Recordings from a pipe and compressed ones have no build ids.
            return SymbolList::of_running_release(&self.recording.features.os_release);
        };
        let cached = || SymbolList::read_kernel(&cached_file(&id, &["kallsyms"])?);
        SymbolList::of_running_kernel(&id).or_else(cached)
    }

    fn perf_map(&self, pid: u32) -> Option<SymbolList> {
        let root = self.options.symfs.as_deref().unwrap_or(Path::new("/"));
        SymbolList::read_perf_map(&root.join(format!("tmp/perf-{pid}.map")))
    }

    /// A frame by the name of its symbol.
    fn symbol(&mut self, name: &str, kind: FrameKind) -> FrameId {
        self.named(name, kind, None)
    }

    #[cfg(feature = "correlate")]
    fn frame(&mut self, frame: &ResolvedFrame) -> FrameId {
        let kind = if frame.is_inlined { FrameKind::Inlined } else { FrameKind::Unknown };
        let id = self.named(&frame.name, kind, frame.line);
        if let Some(line) = frame.start_line {
            let function = self.table.frame(id).function;
            self.table.set_start_line(function, line);
        }
        id
    }

    fn named(&mut self, name: &str, kind: FrameKind, line: Option<u32>) -> FrameId {
        let named = perf_script::name_of(name, kind);
        let function = match &named.name {
            Named::Symbol(name) => self.table.intern_symbol(name),
            Named::Java { class, name, types } => {
                let types: Option<Vec<&str>> = types.as_ref().map(|types| types.iter().map(String::as_str).collect());
                self.table.intern_java(class, name, types.as_deref())
            }
        };
        self.table.intern_frame(Frame { function, bci: named.bci, line, kind: named.kind })
    }
}

/// Returns the offset to look up: a return address is after the call.
fn lookup_offset(place: &CodePlace) -> u64 {
    let offset = place.place.map_or(0, |place| place.offset);
    offset.saturating_sub(u64::from(place.is_return))
}

/// The path without the mark of a file that was removed.
fn without_mark(path: &[u8]) -> &[u8] {
    path.strip_suffix(b" (deleted)").unwrap_or(path)
}

/// A separate file with debug info, by build id.
#[cfg(feature = "correlate")]
fn debug_file(id: &[u8]) -> Option<Program> {
    let (first, rest) = id.split_first()?;
    let path = format!("/usr/lib/debug/.build-id/{}/{}.debug", to_hex(&[*first]), to_hex(rest));
    let program = Program::open(Path::new(&path)).ok()?;
    (program.build_id().as_deref() == Some(id)).then_some(program)
}

/// A file in the cache of perf, by build id.
fn cached_file(id: &[u8], names: &[&str]) -> Option<PathBuf> {
    let (first, rest) = id.split_first()?;
    let home = std::env::var_os("HOME")?;
    let folder = Path::new(&home).join(".debug/.build-id").join(to_hex(&[*first])).join(to_hex(rest));
    names.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

impl Missing {
    /// A file that could not be read.
    fn not_read(file: u32, places: &[usize], reason: String) -> Self {
        Self { file, places: places.to_vec(), reason, is_read: false }
    }
}

/// Names what is missing once, with the number of samples.
fn missing_warnings(collected: &Collected, missing: &[Missing]) -> Vec<Warning> {
    if missing.is_empty() {
        return Vec::new();
    }
    let of_places: HashMap<usize, usize> = missing
        .iter()
        .enumerate()
        .flat_map(|(number, of)| of.places.iter().map(move |place| (*place, number)))
        .collect();
    let mut counts = vec![0u64; missing.len()];
    let mut all = 0u64;
    for sample in collected.samples() {
        all = all.saturating_add(sample.count);
        let mut seen = Vec::new();
        let mut next = sample.stack;
        while let Some(node) = next.and_then(|at| collected.nodes().get(at as usize)) {
            if let Some(number) = of_places.get(&(node.place as usize)).filter(|number| !seen.contains(*number)) {
                seen.push(*number);
                counts[*number] = counts[*number].saturating_add(sample.count);
            }
            next = node.parent;
        }
    }
    let is_named = |(of, count): &(&Missing, u64)| *count > 0 && (!of.is_read || *count >= all.div_ceil(LEAST_SHARE));
    let mut sorted: Vec<(&Missing, u64)> = missing.iter().zip(counts).filter(is_named).collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let describe = |(of, count): &(&Missing, u64)| {
        let file = collected.processes.files().get(of.file as usize);
        let path = file.map(display_path).unwrap_or_default();
        let samples = number_of(*count, "sample");
        Warning::new(format!("{path}: the functions of {samples} are unknown: {}", of.reason))
    };
    let mut warnings: Vec<Warning> = sorted.iter().take(MOST_NAMED).map(describe).collect();
    if let Some(more) = sorted.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        warnings.push(Warning::new(format!("{} more without known functions", number_of(more, "file"))));
    }
    warnings
}

fn display_path(file: &MappedFile) -> String {
    let path = String::from_utf8_lossy(&file.path).into_owned();
    match file.memory_of {
        Some(_) if file.is_kernel() => "[kernel.kallsyms]".to_string(),
        Some(pid) if is_memory(&file.path) => format!("/tmp/perf-{pid}.map"),
        _ => path,
    }
}
