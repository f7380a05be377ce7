//! The text of `perf script`, which no folder has touched.
//!
//! ```text
//! circle worker  9774 15366.601498:   10101010 cpu-clock:pppH:
//!         7f1920eda824 void app.Main.lambda$start$0(java.lang.Runnable)+0x84 (/tmp/perf-9754.map)
//!         7f1920941260 Interpreter+0x6e0 (/tmp/perf-9754.map)
//!                              (an empty line ends the sample)
//! ```
//!
//! The innermost frame comes first. A sample counts once, whatever its period:
//! periods of different events do not add up.

use super::lines::lines;
use super::names;
use crate::stacks::model::FrameKind;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Lines that are looked at for the head of a sample.
const HEAD_LINES: usize = 200;

/// Whether a text is what `perf script` prints: the head of a sample, and either a
/// frame behind it or an indented line below it.
pub(super) fn is_script(data: &[u8]) -> bool {
    let mut found = lines(data)
        .map(|(_, line)| line)
        .take(HEAD_LINES)
        .skip_while(|line| line.trim_ascii().is_empty() || line.starts_with(b"#"));
    let Some(first) = found.next() else { return false };
    let Some(head) = Head::parse(&String::from_utf8_lossy(first)) else { return false };
    let next = found.next();
    head.frame.is_some() || next.is_some_and(|line| parse_frame(&String::from_utf8_lossy(line)).is_some())
}

/// The line that begins a sample.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The thread's name, which may hold anything.
    pub(super) command: String,
    /// `cycles:u`, `cpu-clock:pppH`; empty where it was not printed.
    pub(super) event: String,
    /// The only frame, where the stack was not recorded.
    pub(super) frame: Option<(String, FrameKind)>,
}

impl Head {
    /// `command pid/tid [cpu] time: period event: frame`, of which process, CPU,
    /// period and frame may be missing.
    pub(super) fn parse(line: &str) -> Option<Self> {
        if line.starts_with(char::is_whitespace) {
            return None;
        }
        // The time is the first word of digits, a point and digits that ends in a
        // colon and has a thread's number before it.
        let (mut from, mut found) = (0, None);
        while let Some(at) = line.get(from..)?.find(": ").map(|at| from + at).or_else(|| last_colon(line, from)) {
            let start = line[..at].rfind(' ').map_or(0, |space| space + 1);
            found =
                thread_before(&line[..start]).filter(|_| is_time(&line[start..at])).map(|thread| (start, at, thread));
            if found.is_some() {
                break;
            }
            from = at + 1;
        }
        let (start, at, thread) = found?;
        let command = line[..line[..start].rfind(thread)?].trim_end().to_string();
        let mut rest = line[at + 1..].trim();
        if let Some((period, after)) = rest.split_once(' ')
            && period.bytes().all(|byte| byte.is_ascii_digit())
        {
            rest = after.trim_start();
        }
        let (event, rest) = match rest.split_once(' ') {
            Some((event, rest)) => (event, rest),
            None => (rest, ""),
        };
        let event = event.trim_end_matches(':').to_string();
        Some(Self { command, event, frame: parse_frame(&format!(" {rest}")) })
    }
}

fn last_colon(line: &str, from: usize) -> Option<usize> {
    let at = line.len().checked_sub(1).filter(|at| *at >= from)?;
    line.ends_with(':').then_some(at)
}

/// The last word, `pid` or `pid/tid`, one in brackets passed over.
fn thread_before(line: &str) -> Option<&str> {
    let mut words = line.split(' ').rev().filter(|word| !word.is_empty());
    let last = words.next()?;
    let thread = if last.starts_with('[') && last.ends_with(']') { words.next()? } else { last };
    let is_id = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    thread.split('/').all(is_id).then_some(thread)
}

fn is_time(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    word.split_once('.').is_some_and(|(seconds, fraction)| digits(seconds) && digits(fraction))
}

/// `7f19 symbol+0x1f (object)`: the symbol, and what the object says of how it ran.
fn parse_frame(line: &str) -> Option<(String, FrameKind)> {
    if !line.starts_with(char::is_whitespace) {
        return None;
    }
    let (address, rest) = line.trim().split_once(' ')?;
    if address.is_empty() || !address.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let (symbol, object) = match rest.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) {
        Some((symbol, object)) => (symbol, object),
        None => (rest, ""),
    };
    let symbol = match symbol.rsplit_once("+0x") {
        Some((symbol, offset)) if offset.bytes().all(|byte| byte.is_ascii_hexdigit()) => symbol,
        _ => symbol,
    };
    let kind = match object {
        "inlined" => FrameKind::Inlined,
        _ if is_kernel(object) => FrameKind::Kernel,
        _ => FrameKind::Unknown,
    };
    Some((symbol.trim().to_string(), kind))
}

/// The kernel and its modules stand in brackets, as some memory of programs does.
fn is_kernel(object: &str) -> bool {
    let of_programs = ["[unknown]", "[vdso]", "[vsyscall]", "[heap]", "[stack]", "[anon]"];
    object.ends_with(".ko") || object.ends_with("vmlinux") || object.starts_with('[') && !of_programs.contains(&object)
}

/// One sample: its thread, and its frames from the outermost, as perf's folder
/// spells them.
pub(super) type Sample = (String, Vec<(String, FrameKind)>);

/// Goes through the samples of a text; returns the events that they are of, and
/// the number of the lines that are none.
pub(super) fn each_sample<E>(
    data: &[u8],
    mut visit: impl FnMut(Sample, u64, u64) -> Result<(), E>,
) -> Result<(BTreeSet<String>, Vec<u64>), E> {
    let (mut events, mut skipped) = (BTreeSet::new(), Vec::new());
    let mut open: Option<(Sample, u64, u64)> = None;
    let mut close = |open: &mut Option<(Sample, u64, u64)>| match open.take() {
        Some(((thread, mut frames), number, offset)) => {
            frames.reverse();
            visit((thread, frames), number, offset)
        }
        None => Ok(()),
    };
    for ((offset, line), number) in lines(data).zip(1u64..) {
        let text: Cow<'_, str> = String::from_utf8_lossy(line);
        if text.trim().is_empty() {
            close(&mut open)?;
        } else if let Some(frame) = parse_frame(&text).filter(|_| open.is_some()) {
            open.iter_mut().for_each(|((_, frames), _, _)| frames.push(frame.clone()));
        } else if let Some(head) = Head::parse(&text) {
            close(&mut open)?;
            events.insert(head.event);
            open = Some(((head.command, head.frame.into_iter().collect()), number, offset));
        } else if !text.starts_with('#') {
            skipped.push(number);
        }
    }
    close(&mut open)?;
    Ok((events, skipped))
}

/// What a symbol names; the object says what the symbol does not.
pub(super) fn name_of(symbol: &str, kind: FrameKind) -> names::TextFrame {
    if kind == FrameKind::Kernel {
        return names::TextFrame { name: names::Named::Symbol(symbol.to_string()), bci: None, kind };
    }
    let found = names::parse_perf(symbol);
    names::TextFrame { kind: if kind == FrameKind::Unknown { found.kind } else { kind }, ..found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_every_shape_are_understood() {
        for (line, command, event) in [
            ("spin  8540 15342.316160:   10101010 cpu-clock:pppH: ", "spin", "cpu-clock:pppH"),
            ("circle worker  9774 15366.601498:   10101010 cpu-clock:pppH:", "circle worker", "cpu-clock:pppH"),
            ("java 12/34 [001]  8.000001: cycles:u:", "java", "cycles:u"),
            ("a: b 1.5: 7 [002] 3.25:  1 cycles: ", "a: b 1.5:", "cycles"),
            ("x 5 1.25:", "x", ""),
        ] {
            let head = Head::parse(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((head.command.as_str(), head.event.as_str(), head.frame), (command, event, None), "{line}");
        }
        for line in ["", "main:100:10", " spin 1 2.5: cycles:", "a;b 12", "spin 1 25: cycles:", "# cmdline : x"] {
            assert_eq!(Head::parse(line), None, "{line}");
        }
        let head = Head::parse("spin 8540 2.5: 1 cycles:  118e text+0x10 (/usr/bin/spin)").unwrap();
        assert_eq!(head.frame, Some(("text".to_string(), FrameKind::Unknown)));
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
        ] {
            assert_eq!(parse_frame(line), Some((symbol.to_string(), kind)), "{line}");
        }
        assert_eq!(parse_frame("118e mix"), None);
        assert_eq!(parse_frame("  mix up"), None);
    }

    #[test]
    fn a_script_is_told_from_other_texts() {
        assert!(is_script(b"# comment\n\nspin 8540 2.5: 1 cycles: \n\t 118e text+0x10 (x)\n"));
        assert!(!is_script(b"spin 8540 2.5: 1 cycles: \nmain\n"));
        for text in ["", "a;b 1\n", "main:10:1\n 1: 2\n", "main\n10\n1\n5\n"] {
            assert!(!is_script(text.as_bytes()), "{text}");
        }
    }
}
