//! Programs of any size, and their raw memory profiles.

use profbridge::bytes::{Endian, Sink};

/// Kinds of sections.
const PROGBITS: u32 = 1;
const STRTAB: u32 = 3;

/// The address of the code, and the size of each function in bytes.
const CODE: u64 = 0x1000;
const FUNCTION: u64 = 16;

fn sink() -> Sink {
    Sink::new(Endian::Little)
}

fn uleb128(sink: &mut Sink, mut number: u64) {
    while number > 0x7f {
        sink.u8(number as u8 | 0x80);
        number >>= 7;
    }
    sink.u8(number as u8);
}

/// Returns an ELF program with these sections and this many bytes of code.
fn elf(sections: &[(&str, Vec<u8>)], code: u64) -> Vec<u8> {
    const HEADER: u64 = 64;
    const SEGMENT: u64 = 56;
    let mut names = vec![0];
    let (mut content, mut headers) = (sink(), sink());
    headers.zeros(64);
    content.zeros((HEADER + SEGMENT) as usize);
    let last = [(".shstrtab", Vec::new())];
    for (name, bytes) in sections.iter().chain(&last) {
        let at = names.len() as u32;
        names.extend_from_slice(name.as_bytes());
        names.push(0);
        let is_last = bytes.is_empty();
        let bytes = if is_last { &names } else { bytes };
        headers.u32(at);
        headers.u32(if is_last { STRTAB } else { PROGBITS });
        headers.u64s(&[0, 0, content.len() as u64, bytes.len() as u64, 0, 1, 0]);
        content.bytes(bytes);
        content.align(8);
    }
    let mut start = sink();
    start.bytes(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    [2, 62].into_iter().for_each(|half| start.u16(half));
    start.u32(1);
    start.u64s(&[CODE, HEADER, content.len() as u64]);
    start.u32(0);
    let count = sections.len() as u16 + 2;
    [HEADER as u16, SEGMENT as u16, 1, 64, count, count - 1].into_iter().for_each(|half| start.u16(half));
    // One loaded segment, readable and executable.
    [1, 5].into_iter().for_each(|word| start.u32(word));
    start.u64s(&[0, CODE, CODE, 0, code, 0x1000]);
    let mut bytes = content.into_bytes();
    bytes[..start.len()].copy_from_slice(&start.into_bytes());
    bytes.extend(headers.into_bytes());
    bytes
}

/// Returns a program with a data record and a name per function.
pub fn instrumented(functions: usize) -> Vec<u8> {
    let name = |number: usize| format!("_ZN7example8function{number}Ev");
    let mut data = sink();
    for number in 0..functions {
        data.u64s(&[profbridge::instr::name_ref(name(number).as_bytes()), number as u64, 0, 0, 0, 8]);
    }
    let text = (0..functions).map(name).collect::<Vec<_>>().join("\x01");
    let mut names = sink();
    uleb128(&mut names, text.len() as u64);
    uleb128(&mut names, 0);
    names.bytes(text.as_bytes());
    elf(&[("__llvm_prf_data", data.into_bytes()), ("__llvm_prf_names", names.into_bytes())], 0)
}

/// Attributes and forms of each kind of entry: unit, function, inlined call.
#[rustfmt::skip]
const ABBREVIATIONS: &[u8] = &[
    1, 0x11, 1, /* low pc */ 0x11, 0x01, /* high pc */ 0x12, 0x07, /* lines */ 0x10, 0x17, 0, 0,
    2, 0x2e, 1, /* name */ 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, /* line */ 0x3b, 0x05, 0, 0,
    3, 0x1d, 1, /* origin */ 0x31, 0x13, 0x11, 0x01, 0x12, 0x06,
    /* line of the call */ 0x59, 0x05, /* its column */ 0x57, 0x0b, 0, 0,
    0,
];

/// Debug info of one unit, in DWARF version 4.
struct DebugInfo {
    entries: Sink,
    functions: usize,
}

impl DebugInfo {
    const UNIT_HEADER: usize = 11;

    fn new(functions: usize) -> Self {
        let mut entries = sink();
        entries.u8(1);
        entries.u64s(&[CODE, functions as u64 * FUNCTION]);
        entries.u32(0);
        Self { entries, functions }
    }

    /// Starts a function. Returns its offset in the unit.
    fn begin_function(&mut self, number: usize, len: u64) -> u32 {
        let at = (Self::UNIT_HEADER + self.entries.len()) as u32;
        self.entries.u8(2);
        self.entries.bytes(format!("function{number}\0").as_bytes());
        self.entries.u64(CODE + number as u64 * FUNCTION);
        self.entries.u32(len as u32);
        self.entries.u16(number as u16);
        at
    }

    /// Starts the call of an inlined function.
    fn begin_inlined(&mut self, origin: u32, start: u64, len: u64, line: u16) {
        self.entries.u8(3);
        self.entries.u32(origin);
        self.entries.u64(start);
        self.entries.u32(len as u32);
        self.entries.u16(line);
        self.entries.u8(7);
    }

    fn end(&mut self) {
        self.entries.u8(0);
    }

    /// Returns the program, with a row of the line table per function.
    fn program(mut self) -> Vec<u8> {
        self.end();
        let mut info = sink();
        info.u32((Self::UNIT_HEADER - 4 + self.entries.len()) as u32);
        info.u16(4);
        info.u32(0);
        info.u8(8);
        info.bytes(&self.entries.into_bytes());
        let mut rows = sink();
        for number in 0..self.functions {
            rows.bytes(&[0, 9, 2]);
            rows.u64(CODE + number as u64 * FUNCTION);
            // The next line, a column, and the row.
            rows.bytes(&[3, 1, 5, 9, 1]);
        }
        rows.bytes(&[2, FUNCTION as u8, 0, 1, 1]);
        let mut header = sink();
        header.bytes(&[1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]);
        // No directories; one file.
        header.bytes(b"\0example.cc\0\0\0\0\0");
        let mut lines = sink();
        lines.u32((6 + header.len() + rows.len()) as u32);
        lines.u16(4);
        lines.u32(header.len() as u32);
        lines.bytes(&header.into_bytes());
        lines.bytes(&rows.into_bytes());
        let sections = [
            (".debug_abbrev", ABBREVIATIONS.to_vec()),
            (".debug_info", info.into_bytes()),
            (".debug_line", lines.into_bytes()),
        ];
        elf(&sections, self.functions as u64 * FUNCTION)
    }
}

/// Returns a program of functions with one inlined call each.
pub fn with_debug_info(functions: usize) -> Vec<u8> {
    let mut info = DebugInfo::new(functions);
    let mut origins = Vec::new();
    for number in 0..functions {
        origins.push(info.begin_function(number, FUNCTION));
        info.begin_inlined(origins[number / 2], CODE + number as u64 * FUNCTION + 4, 8, number as u16);
        info.end();
        info.end();
    }
    info.program()
}

/// Returns a program of one function with nested inlined calls.
pub fn of_nested_calls(depth: usize) -> Vec<u8> {
    let mut info = DebugInfo::new(depth);
    let len = depth as u64 * FUNCTION;
    let origin = info.begin_function(0, len);
    (0..depth).for_each(|level| info.begin_inlined(origin, CODE, len, level as u16));
    (0..=depth).for_each(|_| info.end());
    info.program()
}

/// Returns a raw memory profile of version 5 with one context per stack, each with a histogram of `entries` entries.
fn dump(stacks: &[Vec<u64>], code: u64, entries: u32) -> Vec<u8> {
    let mut sink = sink();
    sink.u64s(&[0xff6d_7072_6f66_7281, 5]);
    let [total, segments, records, frames] = [0; 4].map(|_: u8| sink.reserve());
    sink.patch(segments, sink.len() as u64);
    sink.u64s(&[1, CODE, CODE + code, 0, 0]);
    sink.zeros(32);
    sink.patch(records, sink.len() as u64);
    sink.u64(stacks.len() as u64);
    for id in 1..=stacks.len() as u64 {
        sink.u64(id);
        sink.u32(id as u32);
        sink.zeros(128);
        sink.u32(entries);
        sink.u64(0);
        sink.zeros(2 * entries as usize);
    }
    sink.align(8);
    sink.patch(frames, sink.len() as u64);
    sink.u64(stacks.len() as u64);
    for (id, addresses) in (1..).zip(stacks) {
        sink.u64s(&[id, addresses.len() as u64]);
        sink.u64s(addresses);
    }
    sink.patch(total, sink.len() as u64);
    sink.into_bytes()
}

/// Returns an address in a function.
fn address(function: usize) -> u64 {
    CODE + function as u64 * FUNCTION + 6
}

/// Returns a raw memory profile with this number of functions and contexts.
pub fn memory_dump(functions: usize) -> Vec<u8> {
    let stack = |number: usize| vec![address(number), address(number / 7), address(0)];
    dump(&(0..functions).map(stack).collect::<Vec<_>>(), functions as u64 * FUNCTION, 0)
}

/// Returns a raw memory profile whose contexts are all in the same functions.
pub fn dump_of_few_addresses(contexts: usize) -> Vec<u8> {
    let stack = |number: usize| vec![address(number % 7), address(number / 7 % 7), address(number / 49)];
    dump(&(0..contexts).map(stack).collect::<Vec<_>>(), contexts as u64 * FUNCTION, 0)
}
