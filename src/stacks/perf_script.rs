//! The text of `perf script`, without a stackcollapse script in between.
//!
//! ```text
//! circle worker  9774 15366.601498:   10101010 cpu-clock:pppH:
//!         7f1920eda824 void app.Main.lambda$start$0(java.lang.Runnable)+0x84 (/tmp/perf-9754.map)
//!         7f1920941260 Interpreter+0x6e0 (/tmp/perf-9754.map)
//!                              (an empty line ends the sample)
//! ```
//!
//! The innermost frame comes first. Without call graphs each sample is one line:
//!
//! ```text
//!          swapper     0 [001]  3734.343608:     250000 cpu-clock:  ffffffff821f236b halt+0xb ([kernel.kallsyms])
//! ```
//!
//! A sample counts once, whatever its period: periods of different events do not add up. `-F` leaves out any of the
//! fields; the command is needed, and the thread's number or the time.
//!
//! Without names, the text can have branch records, which are not stacks:
//!
//! ```text
//! PERF_RECORD_MMAP2 14215/14215: [0x555e2ccb2000(0x1000) @ 0x1000 fe:00 10019250 2020141114]: r-xp /opt/prog
//!      5618335e6360 0x5618335e638d/0x5618335e6360/P/-/-/1/  0x5618335e6380/0x5618335e6384/P/-/-/2/
//! ```

use crate::call_chains::FrameKind;
use crate::perf::is_event_named;
use crate::stacks::collapsed::frames;
use crate::stacks::collapsed::lines::{Line, is_comment, lines};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Lines that are looked at for the first frame.
const HEAD_LINES: usize = 200;

/// Returns true if a text is output of `perf script`: it contains only headers of samples before the first frame.
pub(crate) fn is_script(data: &[u8]) -> bool {
    begins_as_script(data, true)
}

/// Returns true if a text begins with headers of samples and a frame, or with a record of another kind if `or_record` is set.
fn begins_as_script(data: &[u8], or_record: bool) -> bool {
    let mut lines = lines(data).take(HEAD_LINES).peekable();
    let mut has_head = false;
    while let Some(line) = lines.next() {
        let text = String::from_utf8_lossy(line.bytes);
        if text.trim().is_empty() || is_comment(line.bytes) {
            continue;
        }
        if is_record(&text) {
            if or_record {
                return true;
            }
            continue;
        }
        if has_head && parse_frame(&text).is_some() {
            return true;
        }
        match Head::parse(&text).filter(|head| head.is_certain || lines.peek().is_some_and(is_padded_frame)) {
            Some(head) if head.frame.is_some() => return true,
            Some(_) => has_head = true,
            None => return false,
        }
    }
    false
}

/// Lines that are looked at for heads and addresses alone.
const FEW_LINES: usize = 16;

/// Returns true if a text is output of `perf script -F` that lacks fields of stacks: heads of samples alone, as with
/// `comm,tid,sym`, or addresses alone, as with `comm,tid,ip`. Their numbers look like the counts of other text formats.
pub(crate) fn lacks_fields(data: &[u8]) -> bool {
    let is_content = |line: &Line<'_>| !line.bytes.trim_ascii().is_empty() && !is_comment(line.bytes);
    let few: Vec<_> =
        lines(data).filter(is_content).take(FEW_LINES).map(|line| String::from_utf8_lossy(line.bytes)).collect();
    few.iter().any(|line| is_lone_address(line)) || (!few.is_empty() && few.iter().all(|line| is_lone_head(line)))
}

/// Returns true for numbers such as thread and period, perhaps after a command, with the blank that perf prints after each
/// field.
fn is_lone_head(line: &str) -> bool {
    let words: Vec<(usize, &str)> = words(line).collect();
    line.ends_with(' ') && !line.contains(';') && thread_before(&words).is_some()
}

/// Returns true for the line of a frame that has an address and nothing else.
fn is_lone_address(line: &str) -> bool {
    line.strip_prefix('\t').is_some_and(|address| address.len() == ADDRESS_WIDTH && is_address(address.trim_start()))
}

/// Lines that are looked at for branch records.
const BRANCH_LINES: usize = 50;

/// Whether a text has branch records without names, which are for sample profiles: `0xFROM/0xTO/P/-/-/1/`, perhaps after
/// other fields.
pub(crate) fn has_branch_records(data: &[u8]) -> bool {
    let lines = lines(data).take(BRANCH_LINES).filter(|line| !is_comment(line.bytes));
    lines.map(|line| String::from_utf8_lossy(line.bytes)).any(|text| text.split_ascii_whitespace().any(is_branch))
}

/// Returns true for branch records without samples that are stacks.
pub(crate) fn are_branch_records(data: &[u8]) -> bool {
    has_branch_records(data) && !begins_as_script(data, false)
}

/// `0x5618335e638d/0x5618335e6360/P`, and what follows.
fn is_branch(word: &str) -> bool {
    let mut fields = word.split('/');
    let mut is_hex = || fields.next().and_then(|field| field.strip_prefix("0x")).is_some_and(is_address);
    is_hex() && is_hex() && fields.next().is_some_and(|flag| matches!(flag, "M" | "P" | "-" | "N"))
}

/// Returns the part of a line before its branch records, which have no part in stacks.
fn without_branches(line: &str) -> &str {
    let Some(second_address) = line.find("/0x") else { return line };
    let start = line[..second_address].rfind(' ').map_or(0, |blank| blank + 1);
    let word = line[start..].split(' ').next().unwrap_or_default();
    if is_branch(word) { line[..start].trim_end() } else { line }
}

/// The line that begins a sample.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    /// The thread's name, which may hold anything.
    command: String,
    /// `cycles:u`, `cpu-clock:pppH`; empty where it was not printed.
    event: String,
    /// The only frame, if no call graph was recorded.
    frame: Option<(String, FrameKind)>,
    /// Whether the line has a time or a frame. Otherwise it is a head only before a frame.
    is_certain: bool,
}

impl Head {
    /// `command pid/tid [cpu] time: period event: address symbol (object)`, of which
    /// all after the thread may be missing.
    fn parse(line: &str) -> Option<Self> {
        if line.starts_with('\t') || is_comment(line.as_bytes()) {
            return None;
        }
        let line = without_branches(line);
        let words: Vec<(usize, &str)> = words(line).collect();
        Self::with_time(line, &words).or_else(|| Self::without_time(line))
    }

    /// The time is the first word of digits, a point, digits and a colon after a thread.
    fn with_time(line: &str, words: &[(usize, &str)]) -> Option<Self> {
        let times = || (0..words.len()).filter(|at| words[*at].1.strip_suffix(':').is_some_and(is_time));
        // The name of a thread may look like a thread and a time itself.
        let is_in_name = |at: usize| times().any(|time| time > at && thread_before(&words[at + 1..time]) == Some(0));
        let mut candidates = times().filter_map(|at| Some((at, Some(thread_before(&words[..at])?))));
        let with_thread = candidates.find(|(at, _)| !is_in_name(*at));
        // The fields may be without the thread's number; an event or a frame follows then.
        let (time, thread) = with_thread.or_else(|| {
            let at = times().find(|at| *at > 0)?;
            let rest = words.get(at + 1..)?;
            let has_event = rest.iter().any(|(_, word)| is_event(word));
            let has_frame = rest.first().is_some_and(|(at, _)| is_place(&line[*at..]));
            // Without these, only a frame in the next line shows that it is a sample.
            (has_event || has_frame || is_period_or_nothing(rest)).then_some((at, None))
        })?;
        let mut rest = &words[time + 1..];
        let is_certain = thread.is_some() || !is_period_or_nothing(rest);
        // An address may have digits only, and no period before it.
        let is_address_of_symbol = |after: &[(usize, &str)]| {
            after.first().is_some_and(|(at, word)| !is_event(word) && !is_place(&line[*at..]))
        };
        rest = match rest {
            [(_, period), after @ ..] if is_number(period) && !is_address_of_symbol(after) => after,
            _ => rest,
        };
        let mut event = "";
        if let [(_, word), after @ ..] = rest
            && is_event(word)
        {
            (event, rest) = (word, after);
        }
        let rest = rest.first().map_or("", |(at, _)| line[*at..].trim_end());
        // The data of a tracepoint is before the address.
        let frame = parse_place(rest).or_else(|| Some(split_place(rest)?.1));
        let Some(thread) = thread else {
            let command = line[..words[time].0].trim().to_string();
            let event = event.trim_end_matches(':').to_string();
            return Some(Self { command, event, frame, is_certain });
        };
        Some(Self::new(line, words[thread], event, frame, true))
    }

    /// Without a time, a thread's short number may look like the address of a frame: `dd    77 [000]    250000 cycles:`.
    fn without_time(line: &str) -> Option<Self> {
        let with_frame = split_place(line).and_then(|(fields, frame)| Self::of_fields(line, fields, Some(frame)));
        with_frame.or_else(|| Self::of_fields(line, line, None).filter(|_| !line.starts_with(' ')))
    }

    /// Fields from the right to the left, since a command may hold anything.
    fn of_fields(line: &str, fields: &str, frame: Option<(String, FrameKind)>) -> Option<Self> {
        let mut words: Vec<(usize, &str)> = words(fields).collect();
        let event = words.pop_if(|(_, word)| is_event(word)).map_or("", |(_, event)| event);
        if let [before @ .., last] = words.as_slice()
            && is_number(last.1)
            && thread_before(before).is_some()
            && !before.last().is_some_and(|before| is_thread_after(*before, *last))
        {
            // A period.
            words.pop();
        }
        let thread = thread_before(&words).filter(|thread| *thread > 0)?;
        let is_certain = frame.is_some();
        Some(Self::new(line, words[thread], event, frame, is_certain))
    }

    fn new(
        line: &str,
        (at, thread): (usize, &str),
        event: &str,
        frame: Option<(String, FrameKind)>,
        is_certain: bool,
    ) -> Self {
        let command = Some(line[..at].trim()).filter(|command| !command.is_empty()).unwrap_or(thread);
        let event = event.trim_end_matches(':').to_string();
        Self { command: command.to_string(), event, frame, is_certain }
    }
}

/// The words of a line and where they begin.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let starts = line.split(' ').scan(0, |next, word| {
        let at = *next;
        *next += word.len() + 1;
        Some((at, word))
    });
    starts.filter(|(_, word)| !word.is_empty())
}

/// Where the last word is `tid` or `pid/tid`. A CPU in brackets and the mode of the processor may follow it.
fn thread_before(words: &[(usize, &str)]) -> Option<usize> {
    let is_cpu = |word: &str| word.strip_prefix('[').and_then(|word| word.strip_suffix(']')).is_some_and(is_number);
    let is_mode = |word: &str| ["K", "U", "H", "G", "g"].contains(&word);
    let mut at = words.len().checked_sub(1)?;
    for follows in [&is_mode as &dyn Fn(&str) -> bool, &is_cpu] {
        at = if follows(words[at].1) { at.checked_sub(1)? } else { at };
    }
    let word = words[at].1;
    // The process of a sample without one is -1.
    let is_thread = word.split('/').all(|id| is_number(id.strip_prefix('-').unwrap_or(id)));
    // perf aligns a thread. Other numbers alone can be the end of its name.
    let is_alone = at + 1 == words.len() && !word.contains('/');
    let is_in_name = is_alone && at > 0 && width_of(words[at - 1], words[at]) < THREAD_DIGITS[0];
    (is_thread && !is_in_name).then_some(at)
}

/// The digits to which perf aligns threads: earlier to five, now to seven.
const THREAD_DIGITS: [usize; 2] = [5, 7];

/// The width of a word, with the blanks that align it.
fn width_of((at, before): (usize, &str), (last_at, last): (usize, &str)) -> usize {
    (last_at + last.len()).saturating_sub(at + before.len() + 1)
}

/// Returns true if a number is the thread, because perf aligned it as such, and the number before it ends the name of the
/// thread. perf aligns periods to ten digits.
fn is_thread_after(before: (usize, &str), last: (usize, &str)) -> bool {
    is_number(before.1) && THREAD_DIGITS.contains(&width_of(before, last))
}

/// Whether the words are a period or none at all.
fn is_period_or_nothing(words: &[(usize, &str)]) -> bool {
    words.is_empty() || matches!(words, [(_, period)] if is_number(period))
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_time(word: &str) -> bool {
    word.split_once('.').is_some_and(|(seconds, fraction)| is_number(seconds) && is_number(fraction))
}

fn is_event(word: &str) -> bool {
    word.strip_suffix(':').is_some_and(|event| !event.is_empty() && !is_time(event))
}

/// A mapping, a fork or the like between samples.
fn is_record(line: &str) -> bool {
    line.contains(": PERF_RECORD_") && Head::parse(line).is_some()
}

/// The source line of the frame before: `file.c:20`, `program[113f]`, `??:0`.
fn is_source_line(line: &str) -> bool {
    let is_place = |text: &str| match text.strip_suffix(']') {
        Some(text) => text.rsplit_once('[').is_some_and(|(_, address)| is_address(address)),
        None => text.rsplit_once(':').is_some_and(|(_, line)| is_number(line)),
    };
    line.starts_with("  ") && is_place(line.trim())
}

/// An indented frame.
fn parse_frame(line: &str) -> Option<(String, FrameKind)> {
    if line.starts_with(char::is_whitespace) { parse_place(without_branches(line).trim()) } else { None }
}

/// Whether a line is a frame as perf aligns it, which hardly any other text has.
fn is_padded_frame(line: &Line<'_>) -> bool {
    let text = String::from_utf8_lossy(line.bytes);
    let address = text.strip_prefix('\t').and_then(|text| text.get(..ADDRESS_WIDTH));
    address.is_some_and(|address| is_address(address.trim_start())) && parse_frame(&text).is_some()
}

/// Characters of an address.
const ADDRESS_WIDTH: usize = 16;

fn is_address(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_place(text: &str) -> bool {
    parse_place(text.trim_end()).is_some()
}

/// Splits the address and symbol off the end of a line. perf aligns them after two blanks.
fn split_place(line: &str) -> Option<(&str, (String, FrameKind))> {
    let mut starts = line.rmatch_indices("  ").map(|(at, blanks)| at + blanks.len());
    starts.find_map(|at| Some((&line[..at], parse_place(line[at..].trim_end())?)))
}

/// Parses `7f19 symbol+0x1f (object)`: the symbol, and the kind of the frame according to the object.
fn parse_place(text: &str) -> Option<(String, FrameKind)> {
    let (address, rest) = text.split_once(' ')?;
    let is_object = ["(/", "(["].iter().any(|start| rest.starts_with(start))
        || rest.starts_with('(') && rest.find(')') == Some(rest.len() - 1);
    // A number before an event is a period.
    let is_event = rest.split(' ').next().is_some_and(is_event);
    if !is_address(address) || rest.starts_with(' ') || is_object || is_event {
        return None;
    }
    let named = rest.strip_suffix(')').map(|rest| rest.strip_suffix(" (deleted)").unwrap_or(rest));
    let (symbol, object) = named.and_then(split_object).unwrap_or((rest, ""));
    let symbol = match symbol.rsplit_once("+0x") {
        Some((symbol, offset)) if is_address(offset) => symbol,
        _ => symbol,
    };
    let kind = match object {
        "inlined" => FrameKind::Inlined,
        _ if is_kernel(object) => FrameKind::Kernel,
        _ => FrameKind::Unknown,
    };
    Some((symbol.trim().to_string(), kind))
}

/// Splits `symbol (object`. Paths can have blanks and parentheses, and so do functions of the JDK: `StubRoutines (1)`.
fn split_object(named: &str) -> Option<(&str, &str)> {
    let path = [" (/", " (["].iter().filter_map(|start| named.find(start)).min();
    match path {
        Some(at) => Some((&named[..at], &named[at + 2..])),
        None => named.rsplit_once(" (").filter(|(_, object)| !is_number(object)),
    }
}

/// Returns true for the kernel and its modules, which have names in brackets, like some memory areas of programs.
fn is_kernel(object: &str) -> bool {
    let of_programs = ["[unknown]", "[vdso]", "[vsyscall]", "[heap]", "[stack]", "[anon]"];
    object.ends_with(".ko") || object.ends_with("vmlinux") || object.starts_with('[') && !of_programs.contains(&object)
}

/// One sample: its thread, and its frames from the outermost, as perf's folder
/// spells them.
pub(crate) type Sample = (String, Vec<(String, FrameKind)>);

/// Goes through the samples of a text; returns the events that they are of, and
/// the numbers of the lines that are not part of a sample.
pub(crate) fn each_sample<E>(
    data: &[u8],
    wanted: Option<&str>,
    mut visit: impl FnMut(Sample, u64, u64) -> Result<(), E>,
) -> Result<(BTreeSet<String>, Vec<u64>), E> {
    let (mut events, mut skipped) = (BTreeSet::new(), Vec::new());
    let mut open: Option<(Sample, u64, u64)> = None;
    let mut is_left_out = false;
    let mut close = |open: &mut Option<(Sample, u64, u64)>| match open.take() {
        Some(((thread, mut frames), number, offset)) => {
            frames.reverse();
            visit((thread, frames), number, offset)
        }
        None => Ok(()),
    };
    let mut lines = lines(data).peekable();
    while let Some(line) = lines.next() {
        let text: Cow<'_, str> = String::from_utf8_lossy(line.bytes);
        if text.trim().is_empty() || is_record(&text) {
            close(&mut open)?;
            is_left_out = false;
            continue;
        }
        let head = Head::parse(&text);
        if let Some(head) = head.filter(|head| head.is_certain || lines.peek().is_some_and(is_padded_frame)) {
            close(&mut open)?;
            let is_wanted = wanted.is_none_or(|wanted| is_event_named(&head.event, wanted));
            events.insert(head.event);
            is_left_out = !is_wanted;
            if is_wanted {
                open = Some(((head.command, head.frame.into_iter().collect()), line.number, line.offset));
            }
        } else if let (Some(((_, frames), _, _)), Some(frame)) = (&mut open, parse_frame(&text)) {
            frames.push(frame);
        } else if !(is_left_out || is_comment(line.bytes) || open.is_some() && is_source_line(&text)) {
            skipped.push(line.number);
        }
    }
    close(&mut open)?;
    Ok((events, skipped))
}

/// Returns the frame of a symbol. The object provides data that the symbol lacks.
pub(crate) fn name_of(symbol: &str, kind: FrameKind) -> frames::TextFrame {
    if kind == FrameKind::Kernel {
        return frames::TextFrame { name: frames::Named::Symbol(symbol.to_string()), bci: None, kind };
    }
    let found = frames::parse_perf(symbol);
    frames::TextFrame { kind: if kind == FrameKind::Unknown { found.kind } else { kind }, ..found }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(symbol: &str, kind: FrameKind) -> Option<(String, FrameKind)> {
        Some((symbol.to_string(), kind))
    }

    #[test]
    fn heads_of_every_shape_are_understood() {
        for (line, command, event) in [
            ("spin  8540 15342.316160:   10101010 cpu-clock:pppH: ", "spin", "cpu-clock:pppH"),
            ("circle worker  9774 15366.601498:   10101010 cpu-clock:pppH:", "circle worker", "cpu-clock:pppH"),
            ("java 12/34 [001]  8.000001: cycles:u:", "java", "cycles:u"),
            ("a: b 1.5: 7 [002] 3.25:  1 cycles: ", "a: b 1.5:", "cycles"),
            ("x     5 1.25:", "x", ""),
            (":-1    -1 [000]  5578.690034: cpu-clock: ", ":-1", "cpu-clock"),
            ("prog 12024  3731.112326:     250000 ", "prog", ""),
            ("swapper     0 [001] 1.1:     250000 cycles:", "swapper", "cycles"),
            ("swapper     0 [000]  5578.690034:     250000 cpu-clock: ", "swapper", "cpu-clock"),
            ("swapper     0/0     [112]  5578.690034: cpu-clock: ", "swapper", "cpu-clock"),
            ("my worker:1 [2] 12054  3731.115615:     250000 cpu-clock: ", "my worker:1 [2]", "cpu-clock"),
            (" 12054  3731.115615: cpu-clock: ", "12054", "cpu-clock"),
            ("#1 worker   6402 32820.747316:    2004008 cpu-clock:u: ", "#1 worker", "cpu-clock:u"),
            ("x  123 9.5:   6402 [001] 32820.747316:    2004008 cpu-clock:u: ", "x  123 9.5:", "cpu-clock:u"),
            ("my worker   12054 [003] U      3731.115615:     250000 cpu-clock: ", "my worker", "cpu-clock"),
            ("prog   12054 K      3731.115615: cpu-clock: ", "prog", "cpu-clock"),
            (
                "            perf 29931 [000]  5576.985941: sched:sched_switch: prev_comm=perf prev_pid=29931 prev_prio=120",
                "perf",
                "sched:sched_switch",
            ),
        ] {
            let head = Head::parse(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((head.command.as_str(), head.event.as_str(), head.frame), (command, event, None), "{line}");
            assert!(head.is_certain, "{line}");
        }
        for line in ["", "main:100:10", "a;b 12;", " spin 1 2.5 cycles:", "# cmdline : x", "\tspin 1 2.5: cycles:", "0"]
        {
            assert_eq!(Head::parse(line), None, "{line}");
        }
        for (line, command, event) in [
            ("prog 12024 ", "prog", ""),
            ("prog 12024 cpu-clock: ", "prog", "cpu-clock"),
            ("my worker 12024/12025 [001]     250000 cpu-clock: ", "my worker", "cpu-clock"),
            ("prog 12024     250000 ", "prog", ""),
            ("swapper     0     250000 cpu-clock: ", "swapper", "cpu-clock"),
            ("kdamond.0    77 [000]    1001001 cpu-clock: ", "kdamond.0", "cpu-clock"),
            ("kdamond.0 77 [000]", "kdamond.0", ""),
            ("worker 2   23649 cpu-clock:u: ", "worker 2", "cpu-clock:u"),
            ("worker 2 4194304 ", "worker 2", ""),
            ("worker 2 23649 cpu-clock: ", "worker 2", "cpu-clock"),
            ("swapper     0      23649 ", "swapper", ""),
        ] {
            let head = Head::parse(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(
                (head.command.as_str(), head.event.as_str(), head.is_certain),
                (command, event, false),
                "{line}"
            );
        }
    }

    #[test]
    fn heads_without_thread_numbers_are_understood() {
        let head = Head::parse("my worker  3731.112326:     250000 cycles:u:  118e text+0x10 (/usr/bin/spin)").unwrap();
        assert_eq!((head.command.as_str(), head.event.as_str()), ("my worker", "cycles:u"));
        assert_eq!(head.frame, frame("text", FrameKind::Unknown));
        let head = Head::parse("spin  3731.112326: cycles: ").unwrap();
        assert_eq!((head.command.as_str(), head.event.as_str(), head.frame), ("spin", "cycles", None));
        for line in ["my worker 30857.628731: ", "my worker 30857.628731:     250000 "] {
            let head = Head::parse(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((head.command.as_str(), head.event.as_str(), head.frame), ("my worker", "", None), "{line}");
            assert!(!head.is_certain, "{line}");
        }
        // perf aligns a thread, and a command may end in a number.
        let head = Head::parse("worker 12 3731.112326:     250000 cycles:u: ").unwrap();
        assert_eq!((head.command.as_str(), head.event.as_str()), ("worker 12", "cycles:u"));
        let head = Head::parse("worker 12      77 3731.112326:     250000 cycles:u: ").unwrap();
        assert_eq!((head.command.as_str(), head.event.as_str()), ("worker 12", "cycles:u"));
        for line in ["chapter 1.2: of the book", "at 12.30: we", "3.5: cycles:", "worker 12 cycles: ", "worker 12 "] {
            assert_eq!(Head::parse(line), None, "{line}");
        }
    }

    #[test]
    fn branch_records_are_distinguished_from_stacks() {
        let map = "PERF_RECORD_MMAP2 1/1: [0x555e2ccb2000(0x1000) @ 0x1000 fe:00 1 2]: r-xp /opt/prog\n";
        let branches = "     5618335e6360 0x5618335e638d/0x5618335e6360/P/-/-/1/  0x1/0x2/M/-/-/12//NON_SPEC\n";
        assert!(are_branch_records(format!("{map}{branches}").as_bytes()));
        assert!(are_branch_records(b" 0x5618335e638d/0x5618335e6360/-/-/-/0 \n"));
        for text in [map, "a;b 1\n", "\t 118e text+0x10 (x)\n", "0x10/0x20 5\n"] {
            assert!(!are_branch_records(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_sample_in_one_line_has_its_frame() {
        let object = "(/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2)";
        for (fields, command, event) in [
            ("            prog 11762  3726.988322:     250000 cpu-clock: ", "prog", "cpu-clock"),
            ("            prog 11762  3726.988322165:     250000 cpu-clock: ", "prog", "cpu-clock"),
            ("            prog 11762/11762  3726.988322:     250000 cpu-clock: ", "prog", "cpu-clock"),
            ("            prog 11762/11763  [000]  3726.988322:     250000 cpu-clock: ", "prog", "cpu-clock"),
            ("         swapper     0 [001]  3726.988322:     250000 cycles:ppp: ", "swapper", "cycles:ppp"),
            (
                " my worker:1 [2] 12054  3731.115615:     250000 cpu/event=0x3c,umask=0x1/u: ",
                "my worker:1 [2]",
                "cpu/event=0x3c,umask=0x1/u",
            ),
            ("            prog 11762  3726.988322: cpu-clock: ", "prog", "cpu-clock"),
            ("            prog 11762  3726.988322: ", "prog", ""),
            ("            prog 11762  3726.988322:     250000 ", "prog", ""),
            ("            prog 11762 cpu-clock: ", "prog", "cpu-clock"),
            ("            prog 11762     250000 cpu-clock: ", "prog", "cpu-clock"),
            ("            prog 11762 ", "prog", ""),
            ("           rustc  4447 [000] ", "rustc", ""),
            ("            cafe 11762  3726.988322:     250000 cpu-clock: ", "cafe", "cpu-clock"),
            (
                "            perf 29931 [000]  5576.985941: sched:sched_switch: prev_comm=perf ==> next_comm=migration/0 ",
                "perf",
                "sched:sched_switch",
            ),
        ] {
            for (place, symbol, kind) in [
                (format!("     7eff03be869e handle_amd+0x7e {object}"), "handle_amd", FrameKind::Unknown),
                ("     7eff03be869e handle_amd".to_string(), "handle_amd", FrameKind::Unknown),
                ("     118500 add (/opt/prog)".to_string(), "add", FrameKind::Unknown),
                (" ffffffff816cc905 path_init+0x5 ([kernel.kallsyms])".to_string(), "path_init", FrameKind::Kernel),
                (
                    format!("     7f02168d3f80 (anonymous namespace)::f(int)+0x7 {object}"),
                    "(anonymous namespace)::f(int)",
                    FrameKind::Unknown,
                ),
                ("           401136 [unknown] ([unknown])".to_string(), "[unknown]", FrameKind::Unknown),
            ] {
                let line = format!("{fields}{place}");
                let head = Head::parse(&line).unwrap_or_else(|| panic!("{line}"));
                assert_eq!((head.command.as_str(), head.event.as_str()), (command, event), "{line}");
                assert_eq!((head.frame, head.is_certain), (frame(symbol, kind), true), "{line}");
            }
        }
        let head = Head::parse("spin 8540 2.5: 1 cycles:  118e text+0x10 (/usr/bin/spin)").unwrap();
        assert_eq!(head.frame, frame("text", FrameKind::Unknown));
    }

    #[test]
    fn frames_lose_address_offset_and_object() {
        for (line, symbol, kind) in [
            ("\t  7f19 void Shapes.text()+0xa73 (/tmp/perf-1.map)", "void Shapes.text()", FrameKind::Unknown),
            (
                "  8282d2 JavaCalls::call_helper+0x302 (/usr/lib/libjvm.so)",
                "JavaCalls::call_helper",
                FrameKind::Unknown,
            ),
            ("  ffff8 asm_exc+0x1 ([kernel.kallsyms])", "asm_exc", FrameKind::Kernel),
            ("  ffff8 ext4_x ([ext4])", "ext4_x", FrameKind::Kernel),
            ("  7ff8 __vdso_x ([vdso])", "__vdso_x", FrameKind::Unknown),
            ("  118e mix (inlined)", "mix", FrameKind::Inlined),
            ("  118e [unknown] (/usr/lib/x.so)", "[unknown]", FrameKind::Unknown),
            ("\t  119b leaf+0x4b (/opt/prog (deleted))", "leaf", FrameKind::Unknown),
            ("  1227 touch+0x57 (/opt/My App (x86)/bin/ex)", "touch", FrameKind::Unknown),
            ("  1227 touch (/opt/v1.2 (beta) (deleted))", "touch", FrameKind::Unknown),
            ("  1227 StubRoutines (1)+0x57 (/opt/a (b)/x.so)", "StubRoutines (1)", FrameKind::Unknown),
            (
                "\t  119b std::vector<int>::at(int) const+0x4b (/opt/prog)",
                "std::vector<int>::at(int) const",
                FrameKind::Unknown,
            ),
        ] {
            assert_eq!(parse_frame(line), Some((symbol.to_string(), kind)), "{line}");
        }
        assert_eq!(parse_frame("118e mix"), None);
        assert_eq!(parse_frame("  mix up"), None);
        assert_eq!(parse_frame("  118e (/opt/prog)"), None);
        assert_eq!(parse_frame("  118e (/opt/My App (x86)/prog)"), None);
    }

    #[test]
    fn a_script_is_distinguished_from_other_text() {
        let record =
            "swapper     0     0.000000: PERF_RECORD_MMAP -1/0: [0xff(0x1) @ 0xff]: x [kernel.kallsyms]_text\n";
        let prog = "            prog 11762  3726.988322:     250000 cpu-clock:      7eff03be869e handle_amd\n";
        for text in [
            "# comment\n\nspin 8540 2.5: 1 cycles: \n\t 118e text+0x10 (x)\n",
            "swapper     0 [001] 1.1: 1 cycles: \n\nspin 8540 2.5: 1 cycles: \n\t 118e text+0x10 (x)\n",
            &format!("{record}{prog}"),
            "prog 12024 \n\t           1566a update_active.constprop.0\n",
            "prog 30857.628731: \n\t           1566a update_active.constprop.0\n",
            record,
        ] {
            assert!(is_script(text.as_bytes()), "{text}");
        }
        assert!(!is_script(b"spin 8540 2.5: 1 cycles: \nmain\n"));
        for text in ["", "a;b 1\n", "main:10:1\n 1: 2\n", "main\n10\n1\n5\n", "Chapter 5\n\tadd water\n"] {
            assert!(!is_script(text.as_bytes()), "{text}");
        }
    }

    /// The samples of a text as lines, and the numbers of the lines that were skipped.
    fn samples(text: &str) -> (Vec<String>, Vec<u64>) {
        let mut samples = Vec::new();
        let (_, skipped) = each_sample(text.as_bytes(), None, |(thread, frames), number, _| {
            let frames: Vec<String> = frames.into_iter().map(|(symbol, _)| symbol).collect();
            samples.push(format!("{number} {thread};{}", frames.join(";")));
            Ok::<(), ()>(())
        })
        .unwrap();
        (samples, skipped)
    }

    #[test]
    fn samples_of_both_forms_and_other_lines_are_read() {
        let blocks = "# comment\nprog 12024  3731.112326:     250000 cpu-clock: \n\
                      \t           1566a leaf+0x4fa (/opt/prog)\n  cpu-features.c:126\n\
                      \t           14645 main+0x25 (/opt/prog)\n  prog[113f]\n\nrubbish\n\
                      prog 12024 12.5: PERF_RECORD_EXIT(12024:12024):(1:1)\n\
                      dd     7 \n\t           1566a copy\n\nprog 12024  3731.112569:     250000 cpu-clock: \n";
        assert_eq!(samples(blocks), (vec!["2 prog;main;leaf".into(), "10 dd;copy".into(), "13 prog;".into()], vec![8]));
        let lines = "            prog 11762  3726.988322: cpu-clock:      7eff03be869e f (/opt/prog)\n  a.c:7\n\
                     \x20             dd 11762  3726.988547: cpu-clock:  ffffffff816cc905 g ([kernel.kallsyms])\nrubbish 5\n";
        assert_eq!(samples(lines), (vec!["1 prog;f".into(), "3 dd;g".into()], vec![4]));
    }
}
