//! The text of `perf script` without branch records: sampled addresses, and call chains.
//!
//! ```text
//!     560bedcad2b9 loop+0x89 (/opt/prog)
//! prog 23706 39262.832872:     500000 cpu-clock:u:
//!                 12fb small+0x1b (/opt/prog)
//!                 1264 loop+0x34 (/opt/prog)
//! ```
//!
//! One line is one sample, or a head is followed by the frames of its call chain up to an empty line. Addresses of lines are
//! those of the process. Frames of call chains have offsets in files, in perf 6 at least, or addresses of the process. So a
//! frame is where its symbol is, if the text has symbols; otherwise the mappings and the file of the frame decide.

use super::loading::{Loading, MappingFault};
use super::plain::{PlainFindings, PlainGatherer};
use super::program::Program;
use super::script::{Lines, Patterns, ReadFindings, ScriptOptions};
use super::{Counters, counters::EXTERNAL};
use crate::digits::parse_hex;
use crate::error::Result;
use crate::input::Input;
use crate::limits::Limits;
use crate::names::demangled;
use crate::perf::event::{CpuMode, Sample};
use crate::perf::{is_event_named, no_event_named};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// The samples of a text.
#[derive(Debug)]
pub(super) struct PlainText {
    pub(super) counters: Counters,
    pub(super) plain: PlainFindings,
    pub(super) read: ReadFindings,
    /// Frames of the program that cannot be found, because the text has neither their files nor fitting mappings.
    pub(super) unplaced: u64,
    /// The events whose samples are in the program.
    pub(super) used_events: Vec<String>,
}

/// Addresses of the kernel have this bit.
const KERNEL_BIT: u64 = 1 << 63;
/// The markers in call chains.
const TO_KERNEL: u64 = 128u64.wrapping_neg();
const TO_USER: u64 = 512u64.wrapping_neg();

/// Reads samples; `None` if the text has none.
pub(super) fn read(
    input: &Input,
    program: &Program<'_>,
    options: &ScriptOptions,
    limits: &Limits,
) -> Result<Option<PlainText>> {
    let mut reader = Reader {
        program,
        identity: Loading::new(program, None, false),
        loading: Loading::new(program, options.process, options.is_kernel),
        mapped: BTreeMap::new(),
        starts: function_starts(program),
        gatherer: PlainGatherer::default(),
        read: ReadFindings::default(),
        unplaced: 0,
        bias: None,
        chain: Vec::new(),
        most_frames: options.most_frames as usize,
        wanted: options.event.as_deref(),
        event: String::new(),
        events: BTreeMap::new(),
    };
    let patterns = Patterns::new()?;
    let mut lines = Lines::new(input.content(limits)?);
    // A head without frames yet.
    let mut head = false;
    while lines.next()? {
        let text = String::from_utf8_lossy(&lines.line);
        if text.contains("PERF_RECORD_") {
            reader.close(&mut head);
            if let Some(mapping) = patterns.mapping(&lines.line) {
                reader.map(&mapping)?;
            }
            continue;
        }
        let trimmed = text.trim();
        if trimmed.is_empty() {
            reader.close(&mut head);
            continue;
        }
        if trimmed.starts_with('#') {
            continue;
        }
        let is_indented = text.starts_with('\t') || (text.starts_with(' ') && head);
        match place_in(&text, is_indented) {
            Some(place) if is_indented => {
                head = true;
                reader.push(&place);
            }
            Some(place) => {
                reader.close(&mut head);
                reader.begin(&text);
                reader.push(&place);
                reader.close(&mut true);
            }
            // Lines of the source follow their frames.
            None if head && text.starts_with([' ', '\t']) => {}
            None => {
                reader.close(&mut head);
                head = trimmed.ends_with(':') || trimmed.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/');
                reader.read.bad_lines += u64::from(!head);
                reader.begin(&text);
            }
        }
    }
    reader.close(&mut head);
    let Reader { gatherer, mut read, unplaced, mapped, events, .. } = reader;
    if let Some(wanted) = &options.event
        && !events.keys().any(|event| is_event_named(event, wanted))
    {
        return Err(no_event_named(wanted, &events.into_keys().collect::<Vec<_>>()));
    }
    let used_events = events.into_iter().filter(|(_, is_used)| *is_used).map(|(event, _)| event).collect();
    read.is_mapped = !mapped.is_empty();
    let plain = gatherer.findings;
    let has_samples = plain.all != 0 && plain.all >= read.bad_lines;
    Ok(has_samples.then(|| PlainText { counters: gatherer.finish(), plain, read, unplaced, used_events }))
}

/// The event of a line: the first word with a colon at its end after the time, if that is printed.
fn event_in(line: &str) -> &str {
    let words = || line.split_ascii_whitespace().filter_map(|word| word.strip_suffix(':'));
    let is_time = |word: &str| {
        word.split_once('.').is_some_and(|(seconds, rest)| {
            [seconds, rest].iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
        })
    };
    match words().position(is_time) {
        Some(time) => words().nth(time + 1).unwrap_or_default(),
        None => words().next().unwrap_or_default(),
    }
}

/// A frame: its address, and its symbol and file if they are printed.
#[derive(Debug, PartialEq, Eq)]
struct Place<'t> {
    address: u64,
    symbol: &'t str,
    offset: Option<u64>,
    file: &'t str,
}

/// The frame of a line. Before those that are not indented can be other fields, from which two blanks separate them.
fn place_in(text: &str, is_indented: bool) -> Option<Place<'_>> {
    let text = text.trim_end();
    if is_indented {
        return parse_place(text.trim_start());
    }
    let after_blanks = text.rmatch_indices("  ").find_map(|(at, blanks)| parse_place(&text[at + blanks.len()..]));
    // Addresses of 16 digits fill their column.
    let of_kernel = || {
        let starts = text.match_indices(' ').map(|(at, _)| at + 1);
        std::iter::once(0).chain(starts).find_map(|at| {
            let word = text[at..].split(' ').next().filter(|word| word.len() == 16)?;
            parse_hex(word.as_bytes()).and_then(|_| parse_place(&text[at..]))
        })
    };
    after_blanks.or_else(of_kernel).or_else(|| parse_place(text).filter(|place| !place.symbol.is_empty()))
}

/// `ADDRESS SYMBOL+0xOFFSET (FILE)`, of which the first is certain.
fn parse_place(text: &str) -> Option<Place<'_>> {
    let (address, rest) = text.split_once(' ').unwrap_or((text, ""));
    let address = parse_hex(address.as_bytes())?;
    // A number before an event is a period.
    if rest.starts_with(' ') || rest.ends_with(':') || rest.split(' ').next().is_some_and(|word| word.ends_with(':')) {
        return None;
    }
    // Symbols have brackets, too: the file comes after the last blank and bracket.
    let is_deleted = rest.strip_suffix(" (deleted))");
    let inner = is_deleted.or_else(|| rest.strip_suffix(')')).map(|inner| {
        inner.strip_prefix('(').map_or_else(
            || inner.rsplit_once(" (").filter(|_| rest.contains(" (")),
            |file| if file.contains(" (") { inner.rsplit_once(" (") } else { Some(("", file)) },
        )
    });
    let (symbol, file) = inner.flatten().unwrap_or((rest, ""));
    let (symbol, offset) = match symbol.rsplit_once("+0x") {
        Some((symbol, offset)) if parse_hex(offset.as_bytes()).is_some() => (symbol, parse_hex(offset.as_bytes())),
        _ => (symbol, None),
    };
    Some(Place { address, symbol, offset, file })
}

/// The name as perf prints it: of C++ and Rust without the mangling.
fn printed(name: &[u8]) -> Cow<'_, str> {
    let name = String::from_utf8_lossy(name);
    match demangled(&name) {
        Some(text) => Cow::Owned(without_types(&text).to_string()),
        None => name,
    }
}

/// A C++ name without the types of its result and parameters, which perf prints or not.
fn without_types(name: &str) -> &str {
    const ANONYMOUS: &str = "(anonymous namespace)";
    const CALL: &str = "operator()";
    let (mut depth, mut start, mut skipped) = (0_usize, 0, 0);
    for (at, letter) in name.char_indices() {
        if depth == 0 && name[at..].starts_with("operator") {
            // The signs of an operator are not brackets.
            let signs = if name[at..].starts_with(CALL) { CALL.len() } else { name[at..].find('(').unwrap_or(0) };
            skipped = at + signs;
        }
        if at < skipped {
            continue;
        }
        match letter {
            '(' if depth == 0 && at > start && !name[at..].starts_with(ANONYMOUS) => return &name[start..at],
            '<' | '(' | '{' | '[' => depth += 1,
            '>' | ')' | '}' | ']' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    &name[start..]
}

/// The starts of functions by their printed name.
fn function_starts(program: &Program<'_>) -> HashMap<String, Vec<u64>> {
    let mut starts: HashMap<String, Vec<u64>> = HashMap::new();
    for function in program.functions.iter() {
        let addresses = function.ranges.iter().map(|(start, _)| *start);
        let raw = String::from_utf8_lossy(&function.name).into_owned();
        let name = printed(&function.name).into_owned();
        // The other form is that of the symbol table.
        if name != raw {
            starts.entry(raw).or_default().extend(addresses.clone());
        }
        starts.entry(name).or_default().extend(addresses);
    }
    starts
}

struct Reader<'r, 'p> {
    program: &'r Program<'p>,
    /// For addresses that are link-time addresses already.
    identity: Loading,
    loading: Loading,
    /// Mapped parts of the program by their start: length and link-time address.
    mapped: BTreeMap<u64, (u64, u64)>,
    /// Starts of functions by name.
    starts: HashMap<String, Vec<u64>>,
    gatherer: PlainGatherer,
    read: ReadFindings,
    unplaced: u64,
    /// The distance of the process from link-time addresses, according to the last frame that was found by its symbol.
    bias: Option<u64>,
    /// The call chain of one sample, with markers.
    chain: Vec<u64>,
    most_frames: usize,
    /// The event whose samples count; `None` for all.
    wanted: Option<&'r str>,
    /// The event of the open sample.
    event: String,
    /// The events of all samples, and whether one of their samples is in the program.
    events: BTreeMap<String, bool>,
}

impl Reader<'_, '_> {
    /// Begins a sample with the line that has its event.
    fn begin(&mut self, line: &str) {
        self.event.clear();
        self.event.push_str(event_in(line));
    }

    fn map(&mut self, mapping: &super::script::MappingLine<'_>) -> Result<()> {
        let is_executable = mapping.protection.contains(&b'x');
        if !is_executable || !self.loading.is_program(mapping.path) {
            return Ok(());
        }
        let loaded = self.loading.map_program(mapping.process, mapping.start, mapping.offset);
        loaded.map_err(MappingFault::into_error)?;
        if self.loading.is_mapped {
            self.mapped.insert(mapping.start, (mapping.len, self.loading.link_time(mapping.start)));
        }
        Ok(())
    }

    /// Adds a frame to the open sample.
    fn push(&mut self, place: &Place<'_>) {
        // What is inlined has the address of the frame that follows.
        if place.file == "inlined" || self.chain.len() >= self.most_frames {
            return;
        }
        let (marker, address) = match place.address & KERNEL_BIT {
            0 => (TO_USER, self.link_time(place)),
            _ => (TO_KERNEL, place.address),
        };
        if self.chain.iter().rev().find(|address| **address >= TO_USER) != Some(&marker) {
            self.chain.push(marker);
        }
        self.chain.push(address);
    }

    /// The link-time address of a frame; [`EXTERNAL`] if it is not in the program.
    fn link_time(&mut self, place: &Place<'_>) -> u64 {
        if !place.file.is_empty() && !self.loading.is_program(place.file.as_bytes()) {
            return EXTERNAL;
        }
        let before = self.mapped.range(..=place.address).next_back();
        let by_mapping = before.and_then(|(start, (len, address))| {
            let distance = place.address - start;
            (distance < *len).then(|| address.wrapping_add(distance))
        });
        let segments = self.program.segments.iter().rev();
        let mut by_offset = segments.filter_map(|segment| {
            let distance = place.address.checked_sub(segment.offset)?;
            Some(segment.address.wrapping_add(distance)).filter(|address| self.program.code.contains(*address))
        });
        // Without mappings, the program can be at the addresses of the linker.
        let linked = self.mapped.is_empty().then_some(place.address);
        let candidates = [by_mapping, by_offset.next(), linked.filter(|address| self.program.code.contains(*address))];
        if place.symbol.is_empty() || place.symbol == "[unknown]" {
            let has_file = !place.file.is_empty();
            let sure = if has_file || by_mapping.is_some() { &candidates[..] } else { &candidates[2..] };
            let found = sure.iter().flatten().next();
            self.unplaced += u64::from(found.is_none() && candidates[1].is_some());
            return found.copied().unwrap_or(EXTERNAL);
        }
        let has_symbol = |address: &u64| {
            let function = self.program.functions.function_at(*address);
            function.is_some_and(|function| {
                *function.name == *place.symbol.as_bytes() || printed(&function.name) == without_types(place.symbol)
            })
        };
        if let Some(address) = candidates.iter().flatten().copied().find(has_symbol) {
            return address;
        }
        // Where the program was is unknown, but pages stay whole.
        let by_symbol = place.offset.and_then(|offset| {
            let starts = self.starts.get(place.symbol).or_else(|| self.starts.get(without_types(place.symbol)))?;
            let mut places = starts.iter().map(|start| start.wrapping_add(offset));
            places.find(|address| place.address.wrapping_sub(*address) % 4096 == 0)
        });
        if let Some(address) = by_symbol {
            self.bias = Some(place.address.wrapping_sub(address));
            return address;
        }
        if place.file.is_empty() && by_mapping.is_none() {
            return EXTERNAL;
        }
        // Functions without debug info have names, too.
        let by_bias = self.bias.map(|bias| place.address.wrapping_sub(bias));
        let mut found = candidates.into_iter().chain([by_bias]).flatten();
        found.find(|address| self.program.code.contains(*address)).unwrap_or(EXTERNAL)
    }

    /// Counts the open sample. A head without frames is a sample whose address is unknown.
    fn close(&mut self, is_open: &mut bool) {
        if !std::mem::take(is_open) {
            return;
        }
        let is_used = self.events.entry(self.event.clone()).or_default();
        if self.wanted.is_some_and(|wanted| !is_event_named(&self.event, wanted)) {
            self.chain.clear();
            return;
        }
        self.read.lines = self.read.lines.saturating_add(1);
        let used_before = self.gatherer.findings.used;
        let ip = self.chain.iter().copied().find(|address| *address < TO_USER);
        let mode = if self.chain.first() == Some(&TO_KERNEL) { CpuMode::Kernel } else { CpuMode::User };
        let (chain, branches) = (std::mem::take(&mut self.chain), &[]);
        let call_chain = if chain.len() > 2 { &chain[..] } else { &[] };
        let sample = Sample { pid: None, tid: None, time: None, event: 0, period: 1, ip, mode, call_chain, branches };
        self.gatherer.add(self.program, &sample, Some(&self.identity));
        *is_used |= self.gatherer.findings.used != used_before;
        self.chain = chain;
        self.chain.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place<'t>(address: u64, symbol: &'t str, offset: Option<u64>, file: &'t str) -> Place<'t> {
        Place { address, symbol, offset, file }
    }

    #[test]
    fn names_of_cpp_are_compared_without_types() {
        for (name, expected) in [
            ("int apply<main::{lambda(int)#1}>(main::{lambda(int)#1}, int)", "apply<main::{lambda(int)#1}>"),
            ("Acc<int>::add(int)", "Acc<int>::add"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
            ("gen::fold::<u64>", "gen::fold::<u64>"),
            ("(anonymous namespace)::Cmp::operator()(int, int) const", "(anonymous namespace)::Cmp::operator()"),
            ("bool std::operator< <int>(Pair<int> const&)", "std::operator< <int>"),
            ("main", "main"),
        ] {
            assert_eq!(without_types(name), expected);
        }
    }

    #[test]
    fn events_are_found_after_the_time() {
        for (line, expected) in [
            ("busy 25726 48085.679379:          1 page-faults:u: ", "page-faults:u"),
            ("a b: 26133 4.5:  9 sched:sched_switch:  7f3036774b70 f+0x0 (/opt/prog)", "sched:sched_switch"),
            ("cpu-clock:u: ", "cpu-clock:u"),
            ("busy 25726 48085.679379: 560bedcad2b9 loop+0x89 (/opt/prog)", ""),
            ("560bedcad2b9 loop+0x89 (/opt/prog)", ""),
        ] {
            assert_eq!(event_in(line), expected, "{line}");
        }
    }

    #[test]
    fn frames_are_found_in_lines_of_all_fields() {
        for (line, expected) in [
            ("     560bedcad2b9", place(0x560bedcad2b9, "", None, "")),
            ("     560bedcad2b9 loop", place(0x560bedcad2b9, "loop", None, "")),
            ("23703      560bedcad2b9 loop", place(0x560bedcad2b9, "loop", None, "")),
            (
                "            busy 23703 39261.6:     500000 cpu-clock:u:      560bedcad300 small+0x20 (/tmp/a b/busy)",
                place(0x560bedcad300, "small", Some(0x20), "/tmp/a b/busy"),
            ),
            (
                "   b 1 [003] 878.4:  100000 cycles:ppp:  ffffffff81b9764c iowrite16+0xc ([kernel.kallsyms])",
                place(0xffffffff81b9764c, "iowrite16", Some(0xc), "[kernel.kallsyms]"),
            ),
            ("ffffffff81b9764c iowrite16", place(0xffffffff81b9764c, "iowrite16", None, "")),
            (
                "  560bedcad300 f(int (*)(char))+0x2 (/opt/prog (deleted))",
                place(0x560bedcad300, "f(int (*)(char))", Some(2), "/opt/prog"),
            ),
        ] {
            assert_eq!(place_in(line, false), Some(expected), "{line}");
        }
        assert_eq!(place_in("\t            12fb small (/p)", true), Some(place(0x12fb, "small", None, "/p")));
        for line in ["cafe 23706 39262.832872:     500000 cpu-clock:u: ", "busy 23706 39262.8: ", "words"] {
            assert_eq!(place_in(line, false), None, "{line}");
        }
    }
}
