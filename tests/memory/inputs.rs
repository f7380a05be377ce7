//! Inputs of any size, honest and hostile.

use profbridge::bytes::{Encoding, Endian, PointerWidth};
use profbridge::instr::{FunctionRecord, Profile, ProfileKind};
use profbridge::{indexed, raw, sampleprof};

/// A kind of input.
#[derive(Clone, Copy)]
pub struct Made {
    pub name: &'static str,
    pub ending: &'static str,
    /// The smaller number of functions, entries or levels.
    pub few: usize,
    pub make: fn(usize) -> Vec<u8>,
    /// Whether a merge takes it.
    pub is_sound: bool,
}

const fn sound(name: &'static str, ending: &'static str, few: usize, make: fn(usize) -> Vec<u8>) -> Made {
    Made { name, ending, few, make, is_sound: true }
}

pub const TEXT: Made = sound("LLVM text", "proftext", 2000, text);
pub const TINY_TEXT: Made = sound("LLVM text of the smallest records", "proftext", 20_000, tiny_text);
pub const ONE_NAME: Made = sound("LLVM text of records with one name", "proftext", 5000, one_name);
pub const INDEXED: Made = sound("indexed", "profdata", 2000, |count| {
    indexed::write(&profile(count), &indexed::WriteOptions::default()).expect("it can be written")
});
pub const RAW: Made = sound("raw", "profraw", 2000, |count| {
    let encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version: 10 };
    raw::write(&profile(count), &raw::WriteOptions::new(encoding)).expect("it can be written")
});
pub const SAMPLE_TEXT: Made = sound("sample text", "prof", 4000, samples);
pub const EXT_BINARY: Made = sound("extensible binary", "afdo", 4000, |count| {
    let read = sampleprof::read(&samples(count), &sampleprof::ReadOptions::default()).expect("the text is sound");
    sampleprof::write(&read, &sampleprof::WriteOptions::default()).expect("it can be written")
});
pub const IPROF: Made = sound("iprof", "iprof", 4000, iprof);
pub const COLLAPSED: Made = sound("collapsed stacks", "collapsed", 4000, collapsed);
pub const DEEP_JSON: Made =
    Made { name: "JSON without end", ending: "iprof", few: 100_000, make: deep, is_sound: false };

fn profile(functions: usize) -> Profile {
    let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
    for number in 0..functions {
        let function = profile.functions.intern(format!("_ZN7example8function{number}Ev").as_bytes());
        let counters = (0..8).map(|counter| (number * counter) as u64).collect();
        profile.functions.push_record(function, &FunctionRecord::new(number as u64, counters));
    }
    profile
}

fn text(functions: usize) -> Vec<u8> {
    let record = |number: usize| format!("_ZN7example8function{number}Ev\n{number}\n4\n1\n20\n300\n4000\n\n");
    format!(":ir\n{}", (0..functions).map(record).collect::<String>()).into_bytes()
}

fn tiny_text(functions: usize) -> Vec<u8> {
    (0..functions).map(|number| format!("{number:x}f\n1\n1\n1\n")).collect::<String>().into_bytes()
}

fn one_name(records: usize) -> Vec<u8> {
    (0..records).map(|number| format!("f\n{number}\n1\n1\n")).collect::<String>().into_bytes()
}

fn samples(functions: usize) -> Vec<u8> {
    let record = |number: usize| {
        format!("function{number}:{}:10\n 1: 10\n 2: 20 callee{number}:15\n 3: inlined:30\n  1: 30\n", 60 + number)
    };
    (0..functions).map(record).collect::<String>().into_bytes()
}

fn iprof(entries: usize) -> Vec<u8> {
    let entry = |number: usize| format!("{{\"ctx\":\"0:0<1:{number}\",\"records\":[{number}]}}");
    let entries: Vec<String> = (0..entries).map(entry).collect();
    let head = "{\"version\":\"1.0.0\",\"types\":[{\"id\":0,\"name\":\"a.A\"},{\"id\":1,\"name\":\"void\"}],\
                \"methods\":[{\"id\":0,\"name\":\"m\",\"signature\":[0,1]},{\"id\":1,\"name\":\"n\",\"signature\":[0,1]}],";
    format!("{head}\"callCountProfiles\":[{}]}}", entries.join(",")).into_bytes()
}

fn collapsed(stacks: usize) -> Vec<u8> {
    let line = |number: usize| format!("main;a.B.c{};d.E.f{number};g.H.i {number}\n", number % 50);
    (1..=stacks).map(line).collect::<String>().into_bytes()
}

fn deep(levels: usize) -> Vec<u8> {
    format!("{{\"version\":\"1.0.0\",\"types\":[],\"methods\":[],\"x\":{}", "[".repeat(levels)).into_bytes()
}
