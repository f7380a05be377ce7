//! Tests of small files that request much memory or time: they are rejected early.

use super::program::{Finished, run, run_after, testdata};
use profbridge::bytes::{Encoding, Endian, PointerWidth, Sink, leb128};
use profbridge::compression::Compression;
use profbridge::instr::{FunctionRecord, Profile, ProfileKind};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The address space of a run in KiB. Most of it is for code, stacks and arenas of threads.
const SPACE: &str = "ulimit -v 600000";

/// Commands that read a profile.
const COMMANDS: [&[&str]; 5] =
    [&["merge", "-o", "/dev/null"], &["show"], &["info"], &["check"], &["llvm-profdata", "show"]];

fn run_in_little_space(arguments: &[&str], input: &Path) -> Finished {
    let mut all: Vec<PathBuf> = arguments.iter().map(PathBuf::from).collect();
    all.push(input.to_path_buf());
    run_after(SPACE, all)
}

/// Returns a raw profile of version 10 that contains only these names.
fn raw_with_names(names: &[u8]) -> Vec<u8> {
    let mut sink = Sink::new(Endian::Little);
    sink.bytes(&[0x81, 0x72, 0x66, 0x6f, 0x72, 0x70, 0x6c, 0xff]);
    let words = [10, 0, 0, 0, 0, 0, 0, 0, names.len() as u64, 0, 0, 0, 0, 0, 2];
    words.iter().for_each(|word| sink.u64(*word));
    sink.bytes(names);
    sink.align(8);
    sink.into_bytes()
}

/// Returns a compressed chunk that expands to `len` equal bytes.
fn chunk_of(byte: u8, len: usize) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    let block = vec![byte; 1 << 20];
    (0..len >> 20).for_each(|_| encoder.write_all(&block).unwrap());
    let stream = encoder.finish().unwrap();
    let mut sink = Sink::new(Endian::Little);
    leb128::write_uleb128(&mut sink, len as u64);
    leb128::write_uleb128(&mut sink, stream.len() as u64);
    sink.bytes(&stream);
    sink.into_bytes()
}

#[test]
fn a_decompression_bomb_ends_in_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let bomb = folder.path().join("bomb.profraw");
    // 1 GiB from 1 MiB: more than the address space, but within the default limit.
    fs::write(&bomb, raw_with_names(&chunk_of(b'a', 1 << 30))).unwrap();
    for command in COMMANDS {
        let finished = run_in_little_space(command, &bomb);
        finished.assert_orderly();
        let said = finished.stderr + &String::from_utf8_lossy(&finished.stdout);
        assert!(said.contains("memory") || said.contains("uncompress"), "{command:?}: {said}");
    }
    let bounded = ["merge", "--limit", "inflated-bytes=1000000", "-o", "/dev/null"];
    run_in_little_space(&bounded, &bomb)
        .assert_refused(&["size of inflated names is 1073741824, the limit is 1000000"]);
}

/// With any amount of memory, counters that do not fit do not abort the program.
#[test]
fn counters_that_memory_does_not_hold_end_in_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let [path, out] = ["large.profraw", "out.profdata"].map(|name| folder.path().join(name));
    let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
    let function = profile.functions.intern(b"main");
    profile.functions.push_record(function, &FunctionRecord::new(1, vec![1; 4 << 20]));
    let encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version: 10 };
    fs::write(&path, profbridge::raw::write(&profile, &profbridge::raw::WriteOptions::new(encoding)).unwrap()).unwrap();
    let arguments = ["merge", "--num-threads=1", "-o"].map(PathBuf::from);
    let arguments = [&arguments[..], &[out, path]].concat();
    let (mut refused, mut merged) = (0, 0);
    for mebibytes in (60..320).step_by(12) {
        let finished = run_after(&format!("ulimit -v {}", mebibytes << 10), &arguments);
        finished.assert_orderly();
        let is_refused = finished.code == Some(1) && finished.stderr.contains("memory");
        assert!(is_refused || finished.code == Some(0), "{mebibytes} MiB: {}", finished.stderr);
        refused += usize::from(is_refused);
        merged += usize::from(!is_refused);
    }
    assert!(refused > 2 && merged > 2, "{refused} refused, {merged} merged");
}

#[test]
fn many_small_bombs_are_one_bomb() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bombs.profraw");
    fs::write(&path, raw_with_names(&chunk_of(b'a', 4 << 20).repeat(8))).unwrap();
    let limits = ["merge", "--limit", "inflated-bytes=20000000", "-o", "/dev/null"];
    run_in_little_space(&limits, &path).assert_refused(&["the limit is 20000000"]);
}

/// Writes spaces of a size in MiB.
fn write_blanks(mebibytes: usize, out: &mut dyn Write) -> io::Result<()> {
    let block = vec![b' '; 1 << 20];
    (0..mebibytes).try_for_each(|_| out.write_all(&block))
}

fn xz(dictionary: u32, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Vec<u8> {
    let mut options = lzma_rust2::XzOptions::with_preset(0);
    options.lzma_options.dict_size = dictionary;
    let mut writer = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    write(&mut writer).unwrap();
    writer.finish().unwrap()
}

#[test]
fn bombs_of_every_compression_end_in_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let bomb = folder.path().join("bomb");
    let compressed = |compression: Compression| {
        let mut stream = Vec::new();
        compression.write_with(&mut stream, |out| write_blanks(1024, out)).unwrap();
        stream
    };
    for (stream, is_beyond_deflate) in [
        (compressed(Compression::Gzip), false),
        (compressed(Compression::Zstd), true),
        (xz(1 << 20, |out| write_blanks(128, out)), true),
    ] {
        fs::write(&bomb, stream).unwrap();
        for command in &COMMANDS[..4] {
            run_in_little_space(command, &bomb).assert_orderly();
            // Without the limit of the ratio, the memory runs out first.
            run_in_little_space(&[command, &["--limit", "inflate-ratio=1000000000"][..]].concat(), &bomb)
                .assert_orderly();
        }
        if is_beyond_deflate {
            run_in_little_space(&["merge", "-o", "/dev/null"], &bomb)
                .assert_refused(&["size of the inflated input is"]);
        }
        run_in_little_space(&["merge", "--limit", "stream-bytes=1000000", "-o", "/dev/null"], &bomb)
            .assert_refused(&["the limit is 1000000"]);
    }
}

/// A zstd frame of one byte and an xz stream of a few bytes that request the largest windows of their formats.
#[test]
fn windows_beyond_the_limit_are_refused_by_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("window");
    let zstd = |log: u8| [&[0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3][..], b"\x09\0\0a"].concat();
    let mut wide = xz(1 << 20, |out| out.write_all(b"main\n1\n1\n5\n"));
    // The dictionary size is the last byte of the filter. The block header has a checksum.
    let header_len = (usize::from(wide[12]) + 1) * 4;
    let size = wide[14..].windows(2).position(|filter| filter == [0x21, 1]).unwrap() + 16;
    wide[size] = 40;
    let mut checksum = flate2::Crc::new();
    checksum.update(&wide[12..12 + header_len - 4]);
    wide[12 + header_len - 4..12 + header_len].copy_from_slice(&checksum.sum().to_le_bytes());
    for stream in [zstd(28), zstd(31), zstd(41), wide] {
        fs::write(&path, stream).unwrap();
        for command in &COMMANDS[..4] {
            let finished = run_in_little_space(command, &path);
            finished.assert_orderly();
            let said = finished.stderr + &String::from_utf8_lossy(&finished.stdout);
            assert!(said.contains("window is larger than the limit") || said.contains("memory"), "{command:?}: {said}");
        }
    }
}

#[test]
fn sizes_near_two_to_the_sixtieth_are_refused_by_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.profraw");
    // Each word of the header.
    for word in 1..16 {
        let mut bytes = raw_with_names(b"");
        bytes[word * 8..word * 8 + 8].copy_from_slice(&(1u64 << 60 | 10).to_le_bytes());
        fs::write(&path, &bytes).unwrap();
        run_in_little_space(&["merge", "-o", "/dev/null"], &path).assert_orderly();
        run_in_little_space(&["llvm-profdata", "show"], &path).assert_orderly();
    }
}

#[test]
fn every_bad_file_is_survived_in_little_space() {
    for (folder, least) in [
        ("bad", 80),
        ("bad/sampleprof", 50),
        ("iprof/bad", 40),
        ("memprof/bad", 10),
        ("partial/bad", 20),
        ("pprof/bad", 10),
    ] {
        let mut seen = 0;
        for entry in fs::read_dir(testdata(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                seen += 1;
                let last = if folder == "bad" { COMMANDS[4] } else { COMMANDS[3] };
                for command in [COMMANDS[0], last] {
                    run_in_little_space(command, &path).assert_orderly();
                }
            }
        }
        assert!(seen > least, "{folder}: {seen}");
    }
}

#[test]
fn deep_and_endless_json_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep.iprof");
    let start = "{\"version\":\"1.0.0\",\"types\":[],\"methods\":[],\"x\":";
    let texts = [
        format!("{start}{}", "[".repeat(3_000_000)),
        format!("{start}{}", "{\"a\":".repeat(1_000_000)),
        format!("{start}\"{}", "a".repeat(40 << 20)),
        format!("{{\"version\":\"1.0.0\",\"types\":[{}", "{\"id\":".repeat(1_000_000)),
    ];
    for text in texts {
        fs::write(&path, &text).unwrap();
        for command in [&["merge", "-o", "/dev/null"][..], &["check"], &["info"], &["repair", "-o", "/dev/null"]] {
            let finished = run_in_little_space(command, &path);
            assert!(!finished.stderr.contains("overflow"), "{}", finished.stderr);
            finished.assert_orderly();
        }
    }
}

#[test]
fn a_deep_context_is_refused_by_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep.collapsed");
    fs::write(&path, format!("{} 1\n", vec!["a.B.c"; 100].join(";"))).unwrap();
    let merge = |limit: &str| {
        run([
            Path::new("convert"),
            Path::new("--limit"),
            Path::new(limit),
            &path,
            Path::new("-o"),
            &folder.path().join("o.iprof"),
        ])
    };
    merge("context-depth=99").assert_refused(&["the limit is 99"]);
    merge("context-depth=100").assert_done();
}

#[test]
fn a_name_longer_than_the_limit_is_refused_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let profile = super::program::profile(&[(&"n".repeat(5000), 1)]);
    let files = [
        super::program::raw_bytes(&profile, 10),
        super::program::indexed_bytes(&profile),
        super::program::text_bytes(&profile),
    ];
    let path = folder.path().join("long");
    for bytes in files {
        fs::write(&path, bytes).unwrap();
        run_in_little_space(&["merge", "--limit", "name-bytes=4999", "-o", "/dev/null"], &path)
            .assert_refused(&["length of a name is 5000, the limit is 4999"]);
        run_in_little_space(&["merge", "--limit", "name-bytes=5000", "-o", "/dev/null"], &path).assert_done();
    }
}

#[test]
fn a_name_longer_than_the_limit_is_refused_in_every_family() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let name = "n".repeat(5000);
    let iprof = iprof_with("\"callCountProfiles\":[{\"ctx\":\"0:0\",\"records\":[1]}]")
        .replace("\"A\"", &format!("\"{name}\""));
    for (file, text) in
        [("a.prof", format!("{name}:2:1\n 1: 1\n")), ("a.collapsed", format!("a;{name} 5\n")), ("a.iprof", iprof)]
    {
        fs::write(place(file), text).unwrap();
    }
    for (from, to) in [("a.prof", "a.afdo"), ("a.collapsed", "a.pprof")] {
        run([Path::new("convert"), &place(from), Path::new("-o"), &place(to)]).assert_done();
    }
    for file in ["a.prof", "a.afdo", "a.collapsed", "a.pprof", "a.iprof"] {
        let out = place(&format!("out{}", &file[1..]));
        for (limit, is_kept) in [("name-bytes=4999", false), ("name-bytes=5000", true)] {
            let merge =
                [Path::new("merge"), Path::new("--limit"), Path::new(limit), &place(file), Path::new("-o"), &out];
            let finished = run(merge);
            if is_kept {
                finished.assert_done()
            } else {
                finished.assert_refused(&["limit"])
            };
        }
    }
}

/// Tests the factor in SECURITY.md with the worst known text.
#[test]
fn memory_stays_in_proportion_to_the_input() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small-records.proftext");
    let text: String = (0..300_000).map(|at| format!("{at:x}f\n1\n1\n1\n")).collect();
    let bytes = text.len() as u64;
    fs::write(&path, text).unwrap();
    let kilobytes = 100_000 + bytes * 60 / 1024;
    let merge = [Path::new("merge"), Path::new("--num-threads=1"), Path::new("-o"), Path::new("/dev/null"), &path];
    run_after(&format!("ulimit -v {kilobytes}"), merge).assert_done();
}

/// Large numbers of items are read within the limit of processor seconds. Comparing each item with all others would
/// take much longer.
const MANY: usize = 150_000;
const SECONDS: u32 = 60;

fn lines(line: impl Fn(usize) -> String) -> String {
    (0..MANY).map(line).collect()
}

fn iprof_with(members: &str) -> String {
    format!(
        "{{\"version\":\"1.0.0\",\"types\":[{{\"id\":0,\"name\":\"A\"}}],\
         \"methods\":[{{\"id\":0,\"name\":\"m\",\"signature\":[0,0]}}],{members}}}"
    )
}

/// Returns files of many equal items, with their file extensions.
fn crowds() -> Vec<(&'static str, &'static str, String)> {
    let entries = |entry: &dyn Fn(usize) -> String| (0..MANY).map(entry).collect::<Vec<_>>().join(",");
    let rows = entries(&|at| format!("{at},0,1"));
    vec![
        ("records of one name", "proftext", lines(|at| format!("f\n{at}\n1\n1\n\n"))),
        ("records of no name", "proftext", lines(|at| format!("f{at}\n1\n1\n0\n\n"))),
        ("values of one site", "proftext", {
            format!("f\n1\n1\n1\n1\n0\n1\n{MANY}\n{}", lines(|at| format!("g{at}:1\n")))
        }),
        ("functions of samples", "prof", lines(|at| format!("f{at}:2:1\n 1: 1\n"))),
        ("lines of one function", "prof", format!("f:2:1\n{}", lines(|at| format!(" {}: 1\n", at % 65536)))),
        ("inlined callees", "prof", format!("f:2:1\n{}", lines(|at| format!(" 1: g{at}:1\n  1: 1\n")))),
        ("stacks of one root", "collapsed", lines(|at| format!("a;b{at};c 1\n"))),
        ("entries of one context", "iprof", {
            let calls = entries(&|at| format!("{{\"ctx\":\"0:0\",\"records\":[{at}]}}"));
            iprof_with(&format!("\"callCountProfiles\":[{calls}]"))
        }),
        ("shapes of one branch", "iprof", {
            let shapes = entries(&|at| format!("{{\"ctx\":\"0:1\",\"records\":[{at},0,1]}}"));
            iprof_with(&format!("\"conditionalProfiles\":[{shapes}]"))
        }),
        ("a list that has all of another", "iprof", {
            let few = "{\"ctx\":\"0:1\",\"records\":[0,0,99999999]}";
            iprof_with(&format!("\"conditionalProfiles\":[{few},{{\"ctx\":\"0:1\",\"records\":[{rows}]}}]"))
        }),
        ("types of one site", "iprof", {
            let types = entries(&|at| format!("{{\"id\":{},\"name\":\"B{at}\"}}", at + 1));
            let pairs = entries(&|at| format!("{},1", at + 1));
            iprof_with(&format!("\"virtualInvokeProfiles\":[{{\"ctx\":\"0:1\",\"records\":[{pairs}]}}]")).replacen(
                "{\"id\":0,\"name\":\"A\"}",
                &format!("{{\"id\":0,\"name\":\"A\"}},{types}"),
                1,
            )
        }),
        ("unknown members", "iprof", iprof_with(&entries(&|at| format!("\"x{at}\":1")))),
    ]
}

#[test]
fn time_grows_with_the_input_and_not_with_its_square() {
    let folder = tempfile::tempdir().unwrap();
    for (what, extension, text) in crowds() {
        let (path, out) =
            (folder.path().join(format!("many.{extension}")), folder.path().join(format!("out.{extension}")));
        fs::write(&path, text).unwrap();
        let commands: &[&[&str]] = match extension {
            "iprof" => &[&["check"], &["merge"], &["merge", "--on-branch-clash=union"]],
            _ => &[&["check"], &["merge"]],
        };
        for command in commands {
            let mut arguments: Vec<PathBuf> = command.iter().map(PathBuf::from).collect();
            arguments.push(path.clone());
            if command[0] == "merge" {
                arguments.extend(["-o".into(), out.clone()]);
            }
            let finished = run_after(&format!("ulimit -t {SECONDS}"), &arguments);
            assert!(finished.code.is_some(), "{what}, {command:?}: more than {SECONDS} processor seconds");
        }
    }
}

#[test]
fn wrong_limits_are_errors() {
    for (argument, words) in [
        ("x", "NAME=NUMBER"),
        ("no-such=1", "unknown limit"),
        ("json-depth=99999999999", "must be at most 4294967295"),
        ("name-bytes=-1", "NAME=NUMBER"),
    ] {
        run(["merge", "--limit", argument, "/dev/null"]).assert_wrong_use(&[words]);
    }
}
