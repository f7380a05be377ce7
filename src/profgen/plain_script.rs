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
//! those of the process. A head can end with a number, such as a period.

use super::Counters;
use super::frame_addresses::{FrameFinder, Place, parse_place};
use super::loading::{Loading, MappingFault};
use super::mapping_lines::Patterns;
use super::plain::{PlainFindings, PlainGatherer};
use super::program::Program;
use super::script::{Lines, ReadFindings, ScriptOptions};
use crate::digits::parse_hex;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::limits::Limits;
use crate::perf::event::{CpuMode, Sample};
use crate::perf::{is_event_named, no_event_named};
use std::collections::BTreeMap;

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
        finder: FrameFinder::new(program, Loading::new(program, options.process, options.is_kernel)),
        gatherer: PlainGatherer::default(),
        read: ReadFindings::default(),
        chain: Vec::new(),
        most_frames: options.most_frames as usize,
        wanted: options.event.as_deref(),
        event: String::new(),
        events: BTreeMap::new(),
    };
    let patterns = Patterns::new()?;
    let mut lines = Lines::new(input.content(limits)?);
    // A head without frames yet. A line of unknown form is one if a frame follows.
    let (mut head, mut unknown) = (false, false);
    let mut after_sample = false;
    // Whether the open sample is one line with an address. If frames follow, the number is another field of a head.
    let mut is_one_line = false;
    while lines.next()? {
        let text = String::from_utf8_lossy(&lines.line);
        let (was_unknown, was_sample) = (std::mem::take(&mut unknown), std::mem::take(&mut after_sample));
        if text.contains("PERF_RECORD_") {
            if text.contains("PERF_RECORD_SAMPLE(") {
                let detail = "the text is the raw dump of a recording (`perf script -D`)";
                return Err(Error::usage(detail).with_hint("print it without `-D`, or pass perf.data itself"));
            }
            reader.close(&mut head);
            if let Some(mapping) = patterns.mapping(&lines.line) {
                reader.finder.map(&mapping).map_err(MappingFault::into_error)?;
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
        let has_head = head && !is_one_line;
        let is_indented = text.starts_with('\t') || (text.starts_with(' ') && has_head);
        match place_in(&text, is_indented) {
            Some(place) if is_indented => {
                if !has_head {
                    reader.chain.clear();
                }
                (head, is_one_line) = (true, false);
                reader.read.bad_lines -= u64::from(was_unknown);
                reader.push(&place);
            }
            Some(place) => {
                reader.close(&mut head);
                reader.begin(&text);
                reader.push(&place);
                (head, is_one_line) = (true, true);
                after_sample = true;
            }
            // Lines of the source follow their frames.
            None if (has_head || was_sample) && text.starts_with([' ', '\t']) => {}
            None => {
                reader.close(&mut head);
                is_one_line = false;
                head = trimmed.ends_with(':') || trimmed.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/');
                unknown = !head;
                reader.read.bad_lines += u64::from(unknown);
                reader.begin(&text);
            }
        }
    }
    reader.close(&mut head);
    let Reader { gatherer, mut read, finder, events, .. } = reader;
    if let Some(wanted) = &options.event
        && !events.keys().any(|event| is_event_named(event, wanted))
    {
        return Err(no_event_named(wanted, &events.into_keys().collect::<Vec<_>>()));
    }
    let used_events = events.into_iter().filter(|(_, is_used)| *is_used).map(|(event, _)| event).collect();
    read.is_mapped = finder.is_mapped();
    let plain = gatherer.findings;
    let has_samples = plain.all != 0 && plain.all >= read.bad_lines;
    Ok(has_samples.then(|| PlainText {
        counters: gatherer.finish(),
        plain,
        read,
        unplaced: finder.unplaced,
        used_events,
    }))
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

struct Reader<'r, 'p> {
    program: &'r Program<'p>,
    /// For addresses that are link-time addresses already.
    identity: Loading,
    finder: FrameFinder<'r, 'p>,
    gatherer: PlainGatherer,
    read: ReadFindings,
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

    /// Adds a frame to the open sample.
    fn push(&mut self, place: &Place<'_>) {
        if place.is_inlined() || self.chain.len() >= self.most_frames {
            return;
        }
        let (marker, address) = match place.address & KERNEL_BIT {
            0 => (TO_USER, self.finder.link_time(place)),
            _ => (TO_KERNEL, place.address),
        };
        if self.chain.iter().rev().find(|address| **address >= TO_USER) != Some(&marker) {
            self.chain.push(marker);
        }
        self.chain.push(address);
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
