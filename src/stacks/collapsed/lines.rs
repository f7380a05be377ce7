//! The lines of a text of stacks, before their frames are looked at.

use super::names;

/// How many lines are looked at to tell the form.
const SAMPLE_LINES: usize = 2000;

/// The text behind its byte order mark.
pub(super) fn without_mark(data: &[u8]) -> &[u8] {
    data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data)
}

/// Lines with their offsets.
pub(super) fn lines(data: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let mut offset = 0u64;
    data.split(|byte| *byte == b'\n').map(move |line| {
        let start = offset;
        offset += line.len() as u64 + 1;
        (start, line.strip_suffix(b"\r").unwrap_or(line))
    })
}

/// Whether a text is of perf's form, by its frames.
pub(super) fn is_folded(data: &[u8]) -> bool {
    lines(data).take(SAMPLE_LINES).any(|(_, line)| {
        let line = String::from_utf8_lossy(line);
        let stack = line.rsplit_once(' ').map_or(&*line, |(stack, _)| stack);
        stack.split(';').skip(1).any(names::is_perf_frame)
    })
}

/// How many of the first lines are stacks, and how many of these end in a class
/// as in profiles of allocations and locks.
pub(super) fn class_leaves(data: &[u8]) -> (u64, u64) {
    let (mut all, mut classes) = (0u64, 0u64);
    for (_, line) in lines(data).take(SAMPLE_LINES) {
        let line = String::from_utf8_lossy(line);
        let Some((stack, _)) = line.rsplit_once(' ') else { continue };
        all += 1;
        classes += u64::from(names::is_class_leaf(stack.rsplit(';').next().unwrap_or(stack)));
    }
    (all, classes)
}

/// Takes `[name tid=123]` off the front; the name may hold anything.
pub(super) fn split_thread(stack: &str) -> (Option<&str>, &str) {
    if let Some(rest) = stack.strip_prefix('[') {
        let mut from = 0;
        while let Some(at) = rest.get(from..).and_then(|rest| rest.find(" tid=")) {
            let at = from + at;
            let after = &rest[at + " tid=".len()..];
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            if digits > 0
                && let Some(end) = after[digits..].strip_prefix(']')
            {
                match end.strip_prefix(';') {
                    Some(frames) => return (Some(&rest[..at]), frames),
                    None if end.is_empty() => return (Some(&rest[..at]), ""),
                    None => {}
                }
            }
            from = at + 1;
        }
    }
    (None, stack)
}
