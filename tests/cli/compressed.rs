//! Tests of compressed inputs and outputs with the real compression tools.

use crate::program::{Folder, testdata};
use profbridge::Limits;
use profbridge::compression::{Compression, decompress};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

/// Profiles of every family: names and contents of files.
fn profiles() -> Vec<(&'static str, Vec<u8>)> {
    let file = |name: &str| fs::read(testdata(name)).expect("the file is there");
    let recording = decompress(&file("java/shapes-jdk17.jfr.gz"), &Limits::default()).expect("it is whole");
    let pprof = decompress(&file("pprof/bad/good.pprof"), &Limits::default()).expect("it is whole");
    vec![
        ("raw.profraw", file("raw/clang-16-ir.profraw")),
        ("indexed.profdata", file("raw/clang-13-ir.profdata")),
        ("text.proftext", b":ir\nmain\n1\n1\n5\n".to_vec()),
        ("sample.afdo", b"foo:10:1\n 1: 5\n".to_vec()),
        ("memory.yaml", file("memprof/clang-22-plain.yaml")),
        ("even.iprof", file("iprof/even-or-odd.iprof")),
        ("stacks.collapsed", b"a;b 1\nc;d 2\n".to_vec()),
        ("shapes.jfr", recording),
        ("cpu.pprof", pprof),
    ]
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut writer = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).expect("a writer");
    writer.write_all(bytes).expect("memory");
    writer.finish().expect("memory")
}

fn compress(bytes: &[u8], extension: &str) -> Vec<u8> {
    match extension {
        "gz" => Compression::Gzip.compress(bytes).expect("memory"),
        "zst" => Compression::Zstd.compress(bytes).expect("memory"),
        _ => xz(bytes),
    }
}

#[track_caller]
fn succeed(folder: &Folder, line: &str) -> Vec<u8> {
    let finished = folder.run(&line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(finished.code, Some(0), "{line}: {}", finished.stderr);
    finished.stdout
}

#[test]
fn compressed_inputs_of_every_family_read_as_plain_ones() {
    for (name, content) in profiles() {
        let folder = Folder::new();
        fs::write(folder.path(name), &content).expect("written");
        // Recordings can be read, not written.
        let merged = if name == "shapes.jfr" { "merged.collapsed" } else { "merged" };
        let commands = ["show", "diff", "merge"];
        let run = |command: &str, input: &str| match command {
            "show" => succeed(&folder, &format!("show {input}")),
            "diff" => succeed(&folder, &format!("diff {input} {name}")),
            _ => {
                succeed(&folder, &format!("merge -q {input} -o {merged}"));
                fs::read(folder.path(merged)).expect("written")
            }
        };
        let expected = commands.map(|command| run(command, name));
        for extension in ["gz", "zst", "xz"] {
            // The format is detected from the content, not from the name.
            fs::write(folder.path("input"), compress(&content, extension)).expect("written");
            for (command, expected) in commands.iter().zip(&expected) {
                let found = String::from_utf8_lossy(&run(command, "input")).replace("input", name);
                assert!(found == String::from_utf8_lossy(expected), "{command} {name}.{extension}:\n{found}");
            }
            let checked = folder.run(&["check", "input"]);
            assert_eq!(checked.code, folder.run(&["check", name]).code, "{name}.{extension}: {}", checked.stderr);
            let tool = if extension == "xz" { "in an xz stream" } else { "stream (" };
            let described = String::from_utf8(succeed(&folder, "info input")).expect("UTF-8");
            assert!(described.contains(tool), "{name}.{extension}: {described}");
            // Standard input and directories.
            fs::create_dir_all(folder.path("d")).expect("created");
            fs::write(folder.path(&format!("d/{name}.{extension}")), compress(&content, extension)).expect("written");
        }
        succeed(&folder, &format!("merge -q d -o {merged}"));
    }
}

#[test]
fn info_names_the_compression() {
    let folder = Folder::new();
    fs::write(folder.path("a"), compress(b":ir\nmain\n1\n1\n5\n", "zst")).expect("written");
    let text = String::from_utf8(succeed(&folder, "info a")).expect("UTF-8");
    assert!(text.starts_with("a: LLVM text profile, in a zstd stream (15 bytes)"), "{text}");
    let json: serde_json::Value = serde_json::from_slice(&succeed(&folder, "info --json a")).expect("JSON");
    let file = &json["files"][0];
    assert_eq!((file["compression"].as_str(), file["inflated_size"].as_u64()), (Some("zstd"), Some(15)), "{json}");
}

/// A pprof profile is always compressed with gzip.
#[test]
fn pprof_is_read_inside_a_second_compression() {
    let folder = Folder::new();
    let pprof = fs::read(testdata("pprof/bad/good.pprof")).expect("the file is there");
    fs::write(folder.path("a.pprof"), &pprof).expect("written");
    let expected = succeed(&folder, "show a.pprof");
    for extension in ["zst", "xz"] {
        fs::write(folder.path("a.pprof"), compress(&pprof, extension)).expect("written");
        assert!(succeed(&folder, "show a.pprof") == expected, "{extension}");
    }
}

#[test]
fn damaged_inputs_are_reported_with_their_place() {
    let content = fs::read(testdata("raw/clang-16-ir.profraw")).expect("the file is there");
    for (extension, tool) in [("gz", "gzip"), ("zst", "zstd"), ("xz", "xz")] {
        let folder = Folder::new();
        let stream = compress(&content, extension);
        fs::write(folder.path("a.profraw"), &stream[..stream.len() / 2]).expect("written");
        for command in [&["show", "a.profraw"][..], &["merge", "a.profraw", "-o", "x.profdata"]] {
            let words = ["a.profraw: ", &format!("cannot decompress: {tool}: "), "after byte 0x"];
            folder.run(command).assert_refused(1, &words);
        }
        let checked = folder.run(&["check", "a.profraw"]);
        let said = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert!(checked.code == Some(3) && said.contains(&format!("{tool}: ")), "{said}{}", checked.stderr);
        assert_eq!(folder.names(), ["a.profraw"]);
    }
    let folder = Folder::new();
    fs::write(folder.path("a.bz2"), b"BZh91AY&SY\x01\x02\x03\x04").expect("written");
    folder.run(&["show", "a.bz2"]).assert_refused(1, &["bzip2 is not supported", "decompress the file first"]);
}

/// Commands that write, with the uncompressed name of their output.
const OUTPUTS: [(&str, &str); 14] = [
    ("merge -q text.proftext", "x.proftext"),
    ("merge -q text.proftext", "x.profdata"),
    ("convert -q text.proftext", "x.iprof"),
    ("convert -q indexed.profdata", "x.proftext"),
    ("merge -q sample.afdo", "x.proftext"),
    ("merge -q memory.yaml", "x.memprofyaml"),
    ("merge -q even.iprof", "x.iprof"),
    ("convert -q even.iprof", "x.iprof"),
    ("repair -q even.iprof", "x.iprof"),
    ("merge -q stacks.collapsed", "x.collapsed"),
    ("report stacks.collapsed", "x.html"),
    ("flamegraph stacks.collapsed", "x.svg"),
    ("show text.proftext", "x.txt"),
    ("show --json even.iprof", "x.json"),
];

fn folder_of_profiles() -> Folder {
    let folder = Folder::new();
    profiles().into_iter().for_each(|(name, content)| fs::write(folder.path(name), content).expect("written"));
    folder
}

#[test]
fn file_extensions_select_the_compression_of_outputs() {
    let tools = [("gz", Compression::Gzip), ("zst", Compression::Zstd)];
    for (command, output) in OUTPUTS {
        let folder = folder_of_profiles();
        succeed(&folder, &format!("{command} -o {output}"));
        let expected = fs::read(folder.path(output)).expect("written");
        for (extension, compression) in tools {
            let name = format!("{output}.{extension}");
            succeed(&folder, &format!("{command} -o {name}"));
            let stream = fs::read(folder.path(&name)).expect("written");
            assert_eq!(Compression::of(&stream), Some(compression), "{command} -o {name}");
            assert!(decompress(&stream, &Limits::default()).unwrap() == expected, "{command} -o {name}");
        }
    }
    let folder = folder_of_profiles();
    succeed(&folder, "flamegraph stacks.collapsed -o x.svg.gz");
    succeed(&folder, "flamegraph stacks.collapsed -o x.svgz");
    assert!(fs::read(folder.path("x.svgz")).unwrap() == fs::read(folder.path("x.svg.gz")).unwrap());
    // pprof is always compressed, and only once.
    for (name, compression) in
        [("x.pprof", Compression::Gzip), ("x.pb.gz", Compression::Gzip), ("x.pprof.zst", Compression::Zstd)]
    {
        succeed(&folder, &format!("convert -q cpu.pprof -o {name}"));
        let stream = fs::read(folder.path(name)).expect("written");
        assert_eq!(Compression::of(&stream), Some(compression), "{name}");
        assert_eq!(Compression::of(&decompress(&stream, &Limits::default()).unwrap()), None, "{name}");
    }
}

#[test]
fn other_compressions_of_outputs_are_refused_before_inputs_are_read() {
    let folder = Folder::new();
    let commands = OUTPUTS.iter().map(|(command, output)| (command.split(' ').next().unwrap(), *output));
    for (command, output) in commands.chain([("overlap missing", "x.txt"), ("order", "x.order")]) {
        for extension in ["xz", "bz2", "lz4", "zip", "Z", "lzma", "br"] {
            let line = format!("{command} missing -o {output}.{extension}");
            let finished = folder.run(&line.split(' ').collect::<Vec<_>>());
            let message =
                format!("{output}.{extension}: cannot write compressed files with the extension .{extension}");
            finished.assert_refused(2, &[&message, "hint: name the output .gz or .zst"]);
        }
    }
    assert!(folder.names().is_empty());
}

#[test]
fn compressed_partial_merges_are_read_like_others() {
    let folder = folder_of_profiles();
    for (input, output) in [
        ("text.proftext", "p.profdata.gz"),
        ("text.proftext", "p.profdata.zst"),
        ("sample.afdo", "p.afdo.gz"),
        ("even.iprof", "p.iprof"),
        ("even.iprof", "p.iprof.zst"),
        ("stacks.collapsed", "p.collapsed.zst"),
    ] {
        succeed(&folder, &format!("merge -q {input} -o whole.{input}"));
        succeed(&folder, &format!("merge -q --partial {input} -o {output}"));
        let compression = if output.ends_with(".zst") { Compression::Zstd } else { Compression::Gzip };
        assert_eq!(Compression::of(&fs::read(folder.path(output)).expect("written")), Some(compression), "{output}");
        succeed(&folder, &format!("merge -q {output} -o again.{input}"));
        let [whole, again] = ["whole", "again"].map(|name| fs::read(folder.path(&format!("{name}.{input}"))).unwrap());
        assert!(whole == again, "{output}");
    }
}

#[test]
fn llvm_profdata_mode_knows_no_compression() {
    let folder = folder_of_profiles();
    succeed(&folder, "llvm-profdata merge text.proftext -o plain");
    for extension in ["gz", "zst", "xz"] {
        succeed(&folder, &format!("llvm-profdata merge text.proftext -o x.{extension}"));
        assert!(fs::read(folder.path(&format!("x.{extension}"))).unwrap() == fs::read(folder.path("plain")).unwrap());
        let text = compress(b":ir\nmain\n1\n1\n5\n", extension);
        fs::write(folder.path("compressed"), text).expect("written");
        let shown = folder.run(&["llvm-profdata", "show", "compressed"]);
        shown.assert_refused(1, &["unrecognized instrumentation profile encoding format"]);
    }
}

/// Pipes bytes through a compressor. `None` if it is missing.
fn run_tool(command: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut words = command.split(' ');
    let mut tool = Command::new(words.next().expect("a command has a word"));
    let tool = tool.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut tool = match tool {
        Ok(tool) => tool,
        Err(_) => {
            println!("SKIPPED: streams of the genuine tools: no {command}");
            return None;
        }
    };
    let mut input = tool.stdin.take().expect("its input is a pipe");
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&bytes));
    let output = tool.wait_with_output().expect("it ends");
    let _ = writer.join();
    assert!(output.status.success(), "{command}");
    Some(output.stdout)
}

/// Command lines of the real compression tools.
const TOOLS: [&str; 12] = [
    "gzip -1",
    "gzip -9",
    "zstd -1",
    "zstd -19",
    "zstd --ultra -22 --long=27",
    "zstd --no-check --fast=5",
    "xz -0",
    "xz -9e",
    "xz -T2 --block-size=70000",
    "xz --check=sha256",
    "xz --check=none",
    "xz --x86 --delta=dist=4 --lzma2=preset=6",
];

/// Bytes with and without repetitions, up to several blocks of every tool.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let part = (prop::collection::vec(any::<u8>(), 0..300), 0usize..600);
    prop::collection::vec(part, 0..5).prop_map(|parts| {
        let repeated = parts.into_iter().map(|(bytes, times)| bytes.repeat(times));
        repeated.collect::<Vec<_>>().concat()
    })
}

#[test]
fn streams_of_the_genuine_tools_are_read_back() {
    for tool in TOOLS {
        let mut runner = TestRunner::new(Config { cases: 12, failure_persistence: None, ..Config::default() });
        let limits = {
            let mut limits = Limits::default();
            limits.inflate_ratio = u64::MAX;
            limits
        };
        let done = runner.run(&bytes(), |bytes| {
            if let Some(stream) = run_tool(&format!("{tool} -c"), &bytes) {
                prop_assert!(decompress(&stream, &limits).unwrap() == bytes, "{} bytes", bytes.len());
                let twice = decompress(&[&stream[..], &stream].concat(), &limits).unwrap();
                prop_assert!(twice == bytes.repeat(2), "{} bytes, twice", bytes.len());
            }
            Ok(())
        });
        assert!(done.is_ok(), "{tool}: {done:?}");
    }
}

#[test]
fn genuine_tools_read_outputs() {
    let folder = folder_of_profiles();
    succeed(&folder, "merge -q indexed.profdata -o plain.profdata");
    let plain = fs::read(folder.path("plain.profdata")).expect("written");
    for (extension, tool) in [("gz", "gzip -dc"), ("zst", "zstd -dc")] {
        succeed(&folder, &format!("merge -q indexed.profdata -o x.profdata.{extension}"));
        let stream = fs::read(folder.path(&format!("x.profdata.{extension}"))).expect("written");
        if let Some(found) = run_tool(tool, &stream) {
            assert!(found == plain, "{tool}");
        }
    }
}

#[test]
fn damaged_compression_is_a_damaged_file() {
    let folder = Folder::new();
    let content: Vec<u8> = (1..2000u32).flat_map(|n| format!("function_{};leaf {n}\n", n * n).into_bytes()).collect();
    for extension in ["gz", "zst", "xz"] {
        let bytes = compress(&content, extension);
        fs::write(folder.path("short"), &bytes[..bytes.len() / 2]).expect("written");
        fs::write(folder.path("long"), [&bytes[..], b"junk\n"].concat()).expect("written");
        fs::write(folder.path("twice"), bytes.repeat(2)).expect("written");
        for (name, problem) in [("short", "the data ends early"), ("long", "other data follows the compressed data")] {
            let checked = folder.run(&["check", name]);
            let printed = String::from_utf8_lossy(&checked.stdout).into_owned();
            assert_eq!(checked.code, Some(3), "{extension}: {printed}");
            assert!(printed.contains(": unusable: record again\n"), "{extension}: {printed}");
            assert!(printed.contains(problem) && printed.contains("copy it again"), "{extension}: {printed}");
        }
        assert_eq!(folder.run(&["check", "twice"]).code, Some(0), "{extension}");
    }
}
