//! Compares bytes, messages and exit codes with llvm-profgen.

use crate::recording::{RECORDER, can_record, compile, record, record_every};
use crate::support::{Folder, available};
use std::process::{Command, Output};

pub(crate) const GENUINE: &str = "llvm-profgen-22";

/// Compilers, sources and programs.
const PROGRAMS: [(&str, &str, &str); 6] = [
    ("clang-22 -O2 -g -fdebug-info-for-profiling -funique-internal-linkage-names", "work.c", "pie"),
    ("clang-22 -O3 -g -fdebug-info-for-profiling -mllvm -unroll-count=4", "work.c", "unrolled"),
    ("clang-22 -O2 -g -fdebug-info-for-profiling -no-pie", "work.c", "fixed"),
    ("clang-22 -O2 -g -gsplit-dwarf -fdebug-info-for-profiling", "work.c", "split"),
    ("gcc -O2 -g -freorder-blocks-and-partition", "work.c", "gcc"),
    (
        "clang-22 --driver-mode=g++ -O2 -gdwarf-4 -fdebug-info-for-profiling -fbasic-block-sections=all",
        "work.cpp",
        "sections",
    ),
];

const OPTIONS: [&str; 6] = [
    "--format=extbinary",
    "--format=binary --update-total-samples",
    "--format=text --fill-zero-for-all-funcs --show-density",
    "--use-md5 --populate-profile-symbol-list",
    "--format=text --trim-cold-profile --show-mmap-events",
    "--skip-symbolization --use-offset=0",
];

/// Runs an llvm-profgen command line, which writes the file `out`.
pub(crate) fn run(folder: &Folder, program: &[&str], options: &str) -> (Output, Option<Vec<u8>>) {
    let out = folder.path("out");
    let _ = std::fs::remove_file(&out);
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).args(options.split_whitespace()).arg("--output=out");
    let output = command.current_dir(folder.path("")).output().expect("the program runs");
    (output, std::fs::read(&out).ok())
}

#[track_caller]
pub(crate) fn assert_same(folder: &Folder, options: &str) {
    let (genuine, expected) = run(folder, &[GENUINE], options);
    let link = folder.path(GENUINE);
    let _ = std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_profbridge"), &link);
    let (ours, found) = run(folder, &[link.to_str().expect("the folder's path is text")], options);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&ours.stderr), text(&genuine.stderr), "{options}");
    assert_eq!(text(&ours.stdout), text(&genuine.stdout), "{options}");
    assert_eq!(ours.status.code(), genuine.status.code(), "{options}");
    let length = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(Vec::len);
    assert!(found == expected, "{options}: {:?} bytes, not {:?}", length(&found), length(&expected));
}

#[test]
fn recorded_programs_have_the_profiles_of_llvm_profgen() {
    let tools = [&RECORDER[..], &["clang-22", "gcc", GENUINE]].concat();
    if !available("profiles of recorded programs", &tools) {
        return;
    }
    let folder = Folder::new();
    if !can_record(&folder) {
        return;
    }
    for (compiler, source, program) in PROGRAMS {
        compile(&folder, compiler, source, program);
        record(&folder, program);
        for options in OPTIONS {
            assert_same(&folder, &format!("--perfscript={program}.txt --binary={program} {options}"));
        }
        let (_, raw) = run(&folder, &[GENUINE], &format!("--ps={program}.txt --binary={program} --skip-symbolization"));
        folder.write("raw", raw.expect("it is written"));
        assert_same(&folder, &format!("--unsymbolized-profile=raw --binary={program} --format=text"));
    }
}

#[test]
fn wrong_use_has_the_messages_of_llvm_profgen() {
    let tools = [&RECORDER[..], &["clang-22", GENUINE]].concat();
    if !available("messages of llvm-profgen", &tools) {
        return;
    }
    let folder = Folder::new();
    if !can_record(&folder) {
        return;
    }
    compile(&folder, "clang-22 -O2 -g", "work.c", "prog");
    compile(&folder, "clang-22 -O1 -g", "work.c", "other");
    compile(&folder, "clang-22 -O2", "work.c", "bare");
    record(&folder, "prog");
    folder.write("words.txt", "no samples here\n");
    folder.write("raw.txt", "1\n90-a1\n");
    let recorded = std::fs::read_to_string(folder.path("prog.txt")).expect("it is text");
    let samples: String =
        recorded.lines().filter(|line| !line.contains("MMAP")).map(|line| line.to_owned() + "\n").collect();
    folder.write("unmapped.txt", &samples);
    let counted: String = recorded
        .lines()
        .map(|line| if line.contains("MMAP") { format!("{line}\n") } else { format!("7\n{line}\n\nsome words\n") })
        .collect();
    folder.write("counted.txt", counted);
    let mapping = recorded.lines().next().expect("it begins with mappings");
    folder.write("torn.txt", format!("{}\n{samples}", mapping.replace(" @ 0x1000 ", " @ 0x3000 ")));
    for options in [
        "--binary=prog",
        "--perfscript=prog.txt",
        "--perfscript=none --binary=prog",
        "--perfscript=prog.txt --binary=none",
        "--perfscript=prog.txt --unsymbolized-profile=raw.txt --binary=prog",
        "--perfscript=words.txt --binary=prog",
        "--unsymbolized-profile=raw.txt --binary=prog",
        "--perfscript=prog.txt --binary=words.txt",
        "--perfscript=prog.txt --binary=prog --format=foo",
        "--perfscript=prog.txt --binary=prog --format=gcc",
        "--perfscript=prog.txt --binary=prog --compress-recursion=-2",
        "--perfscript=prog.txt --binary=bare --format=text",
        "--perfscript=prog.txt --binary=other --format=text",
        "--perfscript=unmapped.txt --binary=prog --format=text",
        "--perfscript=counted.txt --binary=prog --format=text",
        "--perfscript=torn.txt --binary=prog --format=text",
        "--perfscript=prog.txt --binary=prog --pid=1 --format=text",
    ] {
        assert_same(&folder, options);
    }
}

#[test]
fn assembly_is_refused() {
    let folder = Folder::new();
    folder.write("text", "");
    let program = [env!("CARGO_BIN_EXE_profbridge"), "llvm-profgen"];
    let (refused, written) = run(&folder, &program, "--perfscript=text --binary=text --show-disassembly-only");
    assert_eq!(refused.status.code(), Some(1));
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(message.starts_with("llvm-profgen: error: --show-disassembly-only is not supported"), "{message}");
    assert!(written.is_none());
}

#[test]
fn incomplete_call_chains_lose_samples_as_in_llvm_profgen() {
    let tools = [&RECORDER[..], &["clang-22", GENUINE]].concat();
    if !available("call chains", &tools) {
        return;
    }
    let folder = Folder::new();
    if !can_record(&folder) {
        return;
    }
    compile(&folder, "clang-22 -O1 -g -no-pie", "work.c", "prog");
    // Other samples have the same branches with other chains: with 61 branches between them none, with 22 some.
    for interval in [22, 61] {
        let recorded = record_every(&folder, "prog", interval);
        let recorded = std::fs::read_to_string(recorded).expect("it is text");
        folder.write("chains.txt", with_call_chains(&recorded));
        assert_same(&folder, "--perfscript=chains.txt --binary=prog --ignore-stack-samples --format=text");
    }
    let output = folder.run("profbridge convert chains.txt --binary prog -o out.prof --json");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    assert!(document["samples"][0]["read"]["incomplete_chains"].as_u64() > Some(0), "{document}");
    assert!(document["samples"][0]["read"]["invalid_return_addresses"].as_u64() > Some(0), "{document}");
}

/// Gives each sample the address of the sample before it as its caller, which seldom follows a call.
fn with_call_chains(recorded: &str) -> String {
    let (mut chains, mut caller) = (String::new(), "0");
    for line in recorded.lines() {
        match line.trim_start().split_once(' ') {
            Some((address, branches)) if !line.contains("MMAP") => {
                chains += &format!("\n\t{address}\n\t{caller}\n {}\n", branches.trim_start());
                caller = address;
            }
            _ => chains += &format!("{line}\n"),
        }
    }
    chains
}
