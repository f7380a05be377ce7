//! Inputs of any size, valid and hostile.

use crate::{programs, recordings};
use lzma_rust2::{XzOptions, XzWriter};
use profbridge::bytes::{Encoding, Endian, PointerWidth};
use profbridge::compression::Compression;
use profbridge::families::partial::{Partial, PartialOptions};
use profbridge::input::{Family, Input};
use profbridge::instr::{FunctionRecord, MemProfSection, Profile, ProfileKind, Release};
use profbridge::memprof::yaml;
use profbridge::{Compat, Limits, indexed, memprof, raw, sampleprof};
use std::io::Write;

/// A kind of input.
#[derive(Clone, Copy)]
pub struct Made {
    pub name: &'static str,
    pub extension: &'static str,
    /// The smaller number of functions, entries or levels.
    pub few: usize,
    pub make: fn(usize) -> Vec<u8>,
    /// Whether a merge accepts it.
    pub is_sound: bool,
    /// The uncompressed content, if the input is compressed and the size of its content counts.
    pub content: Option<fn(usize) -> Vec<u8>>,
    /// The program that wrote it, if the command needs one. Both sizes count.
    pub in_directory_of: Option<fn(usize) -> Vec<u8>>,
}

const fn valid(name: &'static str, extension: &'static str, few: usize, make: fn(usize) -> Vec<u8>) -> Made {
    Made { name, extension, few, make, is_sound: true, content: None, in_directory_of: None }
}

const fn hostile(name: &'static str, extension: &'static str, few: usize, make: fn(usize) -> Vec<u8>) -> Made {
    Made { name, extension, few, make, is_sound: false, content: None, in_directory_of: None }
}

pub const TEXT: Made = valid("LLVM text", "proftext", 1500, llvm_text);
pub const TINY_TEXT: Made = valid("LLVM text of the smallest records", "proftext", 6000, tiny_text);
pub const ONE_NAME: Made = valid("LLVM text of records with one name", "proftext", 5000, one_name);
pub const INDEXED: Made = valid("indexed", "profdata", 2000, |count| {
    indexed::write(&profile(count), &indexed::WriteOptions::default()).expect("it can be written")
});
pub const RAW: Made = valid("raw", "profraw", 2000, |count| {
    let encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version: 10 };
    raw::write(&profile(count), &raw::WriteOptions::new(encoding)).expect("it can be written")
});
pub const SAMPLE_TEXT: Made = valid("sample text", "prof", 2000, samples);
pub const EXT_BINARY: Made = valid("extensible binary", "afdo", 2000, |count| {
    let read = sampleprof::read(&samples(count), &sampleprof::ReadOptions::default()).expect("the text is sound");
    sampleprof::write(&read, &sampleprof::WriteOptions::default()).expect("it can be written")
});
pub const IPROF: Made = valid("iprof", "iprof", 3000, iprof);
pub const COLLAPSED: Made = valid("collapsed stacks", "collapsed", 2000, collapsed);
pub const MEMORY_YAML: Made = valid("memprof YAML", "yaml", 1000, memory_yaml);
pub const MEMORY_SECTION: Made = valid("indexed with a memory profile", "profdata", 1000, |count| {
    let memory = yaml::read(&memory_yaml(count), Compat::Profbridge, &Limits::default()).expect("it is sound");
    let options = memprof::indexed::WriteOptions::new(Release::DEFAULT, None, true).expect("it is written");
    let bytes = memprof::indexed::write(&memory, &options).expect("it can be written");
    let mut profile = Profile::default();
    profile.kind = ProfileKind::MEMPROF;
    profile.memprof = Some(MemProfSection { bytes, offset: 0, indexed_version: 13 });
    indexed::write(&profile, &indexed::WriteOptions::default()).expect("it can be written")
});
pub const LISTED_YAML: Made = hostile("YAML of small items", "yaml", 100_000, |count| {
    format!("---\nHeapProfileRecords: [{}]\n", "a,".repeat(count)).into_bytes()
});
pub const KEYED_YAML: Made = hostile("YAML of small keys", "yaml", 30_000, |count| {
    let keys: String = (0..count).map(|number| format!("{number:x},")).collect();
    format!("---\nHeapProfileRecords: {{{keys}}}\n").into_bytes()
});
pub const OPEN_YAML: Made = hostile("YAML of open brackets", "yaml", 100_000, |count| {
    format!("---\nHeapProfileRecords: {}", "[".repeat(count)).into_bytes()
});
pub const PPROF: Made = valid("pprof", "pprof", 2000, |count| pprof(count, true));
pub const PPROF_TEXTS: Made =
    valid("pprof of empty strings", "pprof", 100_000, |count| [pprof(1, true), b"\x32\x00".repeat(count)].concat());
pub const PPROF_SAMPLES: Made =
    hostile("pprof of samples without values", "pprof", 50_000, |count| pprof(count, false));
pub const STACKS_PART: Made = Made {
    content: Some(collapsed),
    ..valid("partial merge of stacks", "partial", 2000, |count| part(Family::Stacks, collapsed(count)))
};
pub const SAMPLES_PART: Made = Made {
    content: Some(samples),
    ..valid("partial merge of samples", "partial", 2000, |count| part(Family::SampleProf, samples(count)))
};
pub const INSTR_PART: Made = Made {
    content: Some(llvm_text),
    ..valid("partial merge of LLVM text", "partial", 2000, |count| part(Family::Instr, llvm_text(count)))
};
pub const IPROF_PART: Made = Made {
    content: Some(iprof),
    ..valid("partial merge of iprof files", "partial", 3000, |count| part(Family::Iprof, iprof(count)))
};
pub const TEXT_IN_GZIP: Made = Made {
    content: Some(llvm_text),
    ..valid("LLVM text in gzip", "gz", 1500, |count| compressed(Compression::Gzip, &llvm_text(count)))
};
pub const TEXT_IN_ZSTD: Made = Made {
    content: Some(llvm_text),
    ..valid("LLVM text in zstd", "zst", 1500, |count| compressed(Compression::Zstd, &llvm_text(count)))
};
pub const TEXT_IN_XZ: Made =
    Made { content: Some(llvm_text), ..valid("LLVM text in xz", "xz", 1500, |count| xz(&llvm_text(count))) };
pub const IPROF_IN_XZ: Made =
    Made { content: Some(iprof), ..valid("iprof in xz", "xz", 3000, |count| xz(&iprof(count))) };
pub const RECORDING: Made = valid("recording", "jfr", 2000, recordings::recording);
pub const TRACES: Made = valid("LLVM text with traces", "proftext", 2000, traces);
pub const PROGRAM: Made = valid("program", "elf", 4000, programs::instrumented);
pub const DEBUG_PROGRAM: Made = valid("program with debug info", "elf", 2000, programs::with_debug_info);
pub const NESTED_PROGRAM: Made = hostile("program of nested calls", "elf", 1000, programs::of_nested_calls);
pub const MEMORY_DUMP: Made = Made {
    in_directory_of: Some(programs::with_debug_info),
    ..valid("raw memory profile with its program", "memprofraw", 1000, programs::memory_dump)
};
pub const NESTED_CALLS: Made = Made {
    in_directory_of: Some(programs::of_nested_calls),
    ..hostile("raw memory profile with a program of nested calls", "memprofraw", 1000, programs::memory_dump)
};
pub const SAME_PLACES: Made = Made {
    in_directory_of: Some(programs::of_nested_calls),
    ..hostile("raw memory profile of stacks in nested calls", "memprofraw", 300, programs::dump_of_few_addresses)
};
pub const DEEP_JSON: Made = hostile("JSON without end", "iprof", 100_000, deep);

fn profile(functions: usize) -> Profile {
    let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
    for number in 0..functions {
        let function = profile.functions.intern(format!("_ZN7example8function{number}Ev").as_bytes());
        let counters = (0..8).map(|counter| (number * counter) as u64).collect();
        profile.functions.push_record(function, &FunctionRecord::new(number as u64, counters));
    }
    profile
}

fn llvm_text(functions: usize) -> Vec<u8> {
    let record = |number: usize| format!("_ZN7example8function{number}Ev\n{number}\n4\n1\n20\n300\n4000\n\n");
    format!(":ir\n{}", (0..functions).map(record).collect::<String>()).into_bytes()
}

/// Each function is in three traces.
fn traces(functions: usize) -> Vec<u8> {
    let name = |number: usize| format!("_ZN7example8function{}Ev", number % functions);
    let trace = |start: usize| (start..start + 30).map(name).collect::<Vec<_>>().join(",");
    let traces: String = (0..functions).step_by(10).map(|start| format!("1\n{}\n", trace(start))).collect();
    let head = format!(":ir\n:temporal_prof_traces\n{0}\n{0}\n{traces}", functions.div_ceil(10));
    [head.into_bytes(), llvm_text(functions)[":ir\n".len()..].to_vec()].concat()
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

fn memory_yaml(functions: usize) -> Vec<u8> {
    let record = |number: usize| {
        let frame = |function: usize, line: usize| {
            format!("{{ Function: function{function}, LineOffset: {line}, Column: 3, IsInlineFrame: false }}")
        };
        let stack = [frame(number, 1), frame(number / 7, 2), frame(0, number % 90)].join(", ");
        let block =
            format!("{{ AllocCount: {number}, TotalSize: 64, TotalLifetime: 5, TotalLifetimeAccessDensity: 6 }}");
        format!(
            "  - GUID: function{number}\n    AllocSites:\n      - Callstack: [ {stack} ]\n        MemInfoBlock: {block}\n"
        )
    };
    format!("---\nHeapProfileRecords:\n{}", (0..functions).map(record).collect::<String>()).into_bytes()
}

fn part(family: Family, content: Vec<u8>) -> Vec<u8> {
    let inputs = [Input::from_bytes("input", content)];
    Partial::of(&inputs, family, &PartialOptions::default()).expect("it is read").to_bytes().expect("it is small")
}

/// Returns a pprof profile with a function, a location and a sample for each number.
fn pprof(samples: usize, with_values: bool) -> Vec<u8> {
    fn varint(mut number: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while number > 0x7f {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    }
    let number = |field: usize, value: usize| [varint(field << 3), varint(value)].concat();
    let piece = |field: usize, data: Vec<u8>| [varint(field << 3 | 2), varint(data.len()), data].concat();
    let mut bytes = piece(1, [number(1, 1), number(2, 2)].concat());
    for at in 1..=samples {
        let value = if with_values { number(2, at) } else { Vec::new() };
        bytes.extend(piece(2, [number(1, at), number(1, 1), value].concat()));
    }
    for at in 1..=if with_values { samples } else { 1 } {
        bytes.extend(piece(4, [number(1, at), piece(4, number(1, at))].concat()));
        bytes.extend(piece(5, [number(1, at), number(2, at + 2)].concat()));
    }
    let texts = ["", "samples", "count"].map(String::from).into_iter();
    for text in
        texts.chain((0..samples.min(if with_values { samples } else { 1 })).map(|at| format!("example.function{at}")))
    {
        bytes.extend(piece(6, text.into_bytes()));
    }
    bytes
}

fn compressed(compression: Compression, content: &[u8]) -> Vec<u8> {
    compression.compress(content).expect("there is memory")
}

fn xz(content: &[u8]) -> Vec<u8> {
    let mut writer = XzWriter::new(Vec::new(), XzOptions::with_preset(6)).expect("the preset exists");
    writer.write_all(content).and_then(|()| writer.finish()).expect("there is memory")
}
