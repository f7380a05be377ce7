//! Compares bytes, messages and exit codes with llvm-profgen.

use crate::recording::{RECORDER, can_record, compile, record, record_every};
use crate::support::{Folder, available, errors};
use std::process::{Command, Output};

pub(crate) const GENUINE: &str = "llvm-profgen-22";

/// Compilers, sources and programs. Those with large pages are large files, which are not read whole.
const PROGRAMS: [(&str, &str, &str); 6] = [
    ("clang-22 -O2 -g -fdebug-info-for-profiling -funique-internal-linkage-names", "work.c", "pie"),
    (
        "clang-22 -O3 -g -fdebug-info-for-profiling -mllvm -unroll-count=4 -Wl,-z,max-page-size=0x400000",
        "work.c",
        "unrolled",
    ),
    ("clang-22 -O2 -g -fdebug-info-for-profiling -no-pie", "work.c", "fixed"),
    ("clang-22 -O2 -g -gsplit-dwarf -fdebug-info-for-profiling -Wl,-z,max-page-size=0x400000", "work.c", "split"),
    ("gcc -O2 -g -freorder-blocks-and-partition -Wl,-z,max-page-size=0x400000", "work.c", "gcc"),
    (
        "clang-22 --driver-mode=g++ -O2 -gdwarf-4 -fdebug-info-for-profiling -fbasic-block-sections=all",
        "work.cpp",
        "sections",
    ),
];

const OPTIONS: [&str; 8] = [
    "--format=extbinary",
    "--format=binary --update-total-samples",
    "--format=text --fill-zero-for-all-funcs --show-density",
    "--use-md5 --populate-profile-symbol-list",
    "--format=text --trim-cold-profile --show-mmap-events",
    "--trim-cold-profile --profile-summary-cutoff-cold=500000",
    "--format=text --trim-cold-profile --profile-summary-cutoff-cold=0 --profile-summary-contextless",
    "--skip-symbolization --use-offset=0 --profile-summary-cutoff-cold=1000000",
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
    let [genuine, ours] = assert_same_profile(folder, GENUINE, options);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&ours.stderr), text(&genuine.stderr), "{options}");
    assert_eq!(text(&ours.stdout), text(&genuine.stdout), "{options}");
}

/// Compares exit codes and profiles only. Returns the outputs of the tool and of the link with its name.
#[track_caller]
pub(crate) fn assert_same_profile(folder: &Folder, tool: &str, options: &str) -> [Output; 2] {
    let (genuine, expected) = run(folder, &[tool], options);
    let link = folder.path(tool);
    let _ = std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_profbridge"), &link);
    let (ours, found) = run(folder, &[link.to_str().expect("the folder's path is text")], options);
    assert_eq!(ours.status.code(), genuine.status.code(), "{options}");
    let length = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(Vec::len);
    assert!(found == expected, "{options}: {:?} bytes, not {:?}", length(&found), length(&expected));
    [genuine, ours]
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
fn profiles_of_older_releases_are_those_of_their_llvm_profgen() {
    if !available("profiles of older releases", &[&RECORDER[..], &["clang-22"]].concat()) {
        return;
    }
    let folder = Folder::new();
    if !can_record(&folder) {
        return;
    }
    let programs = [PROGRAMS[0], PROGRAMS[1], ("clang-22 -O1 -g", "starts.cpp", "starts")];
    for (compiler, source, program) in programs {
        compile(&folder, compiler, source, program);
        record(&folder, program);
    }
    for release in [14, 15, 16, 19] {
        let tool = format!("llvm-profgen-{release}");
        if !available("profiles of older releases", &[&tool]) {
            continue;
        }
        for (_, _, program) in programs {
            let input = format!("--perfscript={program}.txt --binary={program}");
            for options in ["", "--format=text --show-density", "--skip-symbolization"] {
                // LLVM 15 has another number for places outside of the program.
                if release != 15 || !options.contains("skip") {
                    let [genuine, ours] = assert_same_profile(&folder, &tool, &format!("{input} {options}"));
                    assert_eq!(density(&ours), density(&genuine), "{release} {program} {options}");
                }
            }
            let (_, expected) = run(&folder, &[&tool], &input);
            let options = format!("--binary {program} -o all.prof --for llvm-{release} --force");
            folder.run(&format!("profbridge convert {program}.txt {options}"));
            let found = std::fs::read(folder.path("all.prof")).expect("it is written");
            assert!(Some(found) == expected, "{release} {program}");
        }
    }
}

/// The printed density, and the warning about it.
fn density(output: &Output) -> (Vec<String>, String) {
    let errors = errors(output);
    let warnings = errors.lines().filter(|line| line.contains("estimated to")).map(String::from);
    (warnings.collect(), String::from_utf8_lossy(&output.stdout).into_owned())
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
fn accesses_of_vtables_are_those_of_llvm_profgen() {
    let tools = [&RECORDER[..], &["clang-22", "nm", GENUINE]].concat();
    if !available("accesses of vtables", &tools) {
        return;
    }
    let folder = Folder::new();
    if !can_record(&folder) {
        return;
    }
    compile(&folder, "clang-22 -O1 -g -no-pie -fno-rtti", "shapes.cpp", "prog");
    record(&folder, "prog");
    let symbols = String::from_utf8(folder.run("nm prog").stdout).expect("nm prints text");
    let vtables = symbols.lines().filter(|line| line.contains(" _ZTV")).filter_map(|line| line.split(' ').next());
    let recorded = std::fs::read_to_string(folder.path("prog.txt")).expect("it is text");
    let branches = recorded.split_whitespace().filter_map(|word| word.split_once("/0x").map(|(source, _)| source));
    let own: Vec<&str> = branches.filter(|source| source.len() < 10).take(40).collect();
    let mut accesses = String::from("some other line\n");
    for (at, (instruction, vtable)) in own.iter().zip(vtables.cycle()).enumerate() {
        let data = u64::from_str_radix(vtable, 16).expect("an address") + 16;
        let process = 7 + at % 2;
        accesses += &format!("PERF_RECORD_SAMPLE(IP, 0x4002): {process}/1: {instruction} period: 9 addr: {data:#x}\n");
    }
    folder.write("accesses.txt", accesses);
    folder.write("none.txt", "");
    let input = "--perfscript=prog.txt --binary=prog --data-access-perftrace";
    for options in
        ["accesses.txt --format=text", "accesses.txt", "accesses.txt --pid=7 --format=text", "missing.txt", "none.txt"]
    {
        assert_same(&folder, &format!("{input}={options}"));
    }
    let (_, raw) = run(&folder, &[GENUINE], "--perfscript=prog.txt --binary=prog --skip-symbolization");
    folder.write("raw.txt", raw.expect("it is written"));
    let unsymbolized = "--unsymbolized-profile=raw.txt --binary=prog --data-access-perftrace";
    for options in ["accesses.txt --format=text", "accesses.txt --pid=7", "missing.txt"] {
        assert_same(&folder, &format!("{unsymbolized}={options}"));
    }
    let (_, profile) = run(&folder, &[GENUINE], &format!("{input}=accesses.txt --format=text"));
    let profile = String::from_utf8(profile.expect("it is written")).expect("it is text");
    assert!(profile.contains(": vtables _ZTV"), "{profile}");
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
        let options = "--perfscript=chains.txt --binary=prog --ignore-stack-samples --format=text";
        assert_same(&folder, options);
        // llvm-profgen prints single findings in the order of hashes.
        let [genuine, ours] = [&[GENUINE][..], &[env!("CARGO_BIN_EXE_profbridge"), "llvm-profgen"]].map(|program| {
            let (output, _) = run(&folder, program, &format!("{options} --show-detailed-warning"));
            let mut lines: Vec<String> = errors(&output).lines().map(String::from).collect();
            lines.sort();
            lines
        });
        assert!(genuine.iter().any(|line| line.contains("invalid return address at 0x")), "{genuine:?}");
        assert_eq!(ours, genuine);
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

#[test]
fn windows_programs_have_the_profiles_of_llvm_profgen() {
    if !available("Windows programs", &["clang-22", "ld", "llvm-objdump-22", GENUINE]) {
        return;
    }
    let folder = Folder::new();
    compile(
        &folder,
        "clang-22 --target=x86_64-w64-windows-gnu -O2 -gdwarf -fdebug-info-for-profiling -c",
        "windows.c",
        "prog.o",
    );
    if !folder.try_run("ld -m i386pep -e start prog.o -o prog.exe").status.success() {
        return;
    }
    // GNU ld has symbols of code behind the code, where llvm-profgen decodes what is in its memory there.
    folder.run("objcopy --wildcard --strip-symbol=*RUNTIME_PSEUDO* --strip-symbol=__data_*__ prog.exe");
    folder.write("prog.txt", taken_jumps(&folder, "prog.exe", 0x1_4000_0000, 0x7FF7_0A1B_0000));
    for options in OPTIONS {
        assert_same(&folder, &format!("--perfscript=prog.txt --binary=prog.exe {options}"));
    }
    let output = folder.run("profbridge convert prog.txt --binary prog.exe -o prog.prof --json");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    assert_eq!(document["samples"][0]["read"]["is_mapped"], true);
    assert_eq!(document["samples"][0]["runs"]["not_on_boundary"], 0);
    for command in ["info prog.exe", "doctor prog.prof", "fit prog.prof --against prog.exe"] {
        let output = folder.try_run(&format!("profbridge {command}"));
        assert!(output.status.code().is_some_and(|code| code <= 2), "{command}: {output:?}");
    }
}

/// Samples of a program that take each of its jumps in turn, as if it had been loaded at an address.
fn taken_jumps(folder: &Folder, program: &str, base: u64, loaded: u64) -> String {
    let code = folder.run(&format!("llvm-objdump-22 -d --no-show-raw-insn {program}")).stdout;
    let code = String::from_utf8(code).expect("it prints text");
    let jumps: Vec<(u64, u64)> = code
        .lines()
        .filter_map(|line| {
            let (address, rest) = line.trim_start().split_once(':')?;
            let mut words = rest.split_whitespace();
            let target = words.nth(1).filter(|_| rest.contains('<'))?.strip_prefix("0x")?;
            let run_time = |text| Some(u64::from_str_radix(text, 16).ok()? - base + loaded);
            Some((run_time(address)?, run_time(target)?))
        })
        .collect();
    assert!(jumps.len() > 5, "{code}");
    let mut text = format!(
        "PERF_RECORD_MMAP2 5752/0: [0x{loaded:x}(0x640000) @ 0x1000 00:00 0 0]: r-xp c:\\Users\\me\\{program}\n"
    );
    for first in 0..200 {
        let taken = (0..16).map(|at| jumps[(first * 7 + at * (1 + first % 3)) % jumps.len()]);
        let taken: Vec<String> = taken.map(|(from, to)| format!("0x{from:x}/0x{to:x}/P/-/-/0")).collect();
        text += &format!(" {}\n", taken.join(" "));
    }
    text
}

#[test]
fn damaged_units_of_debug_info_are_skipped_and_counted() {
    let tools = [&RECORDER[..], &["clang-22", "objcopy", GENUINE]].concat();
    if !available("damaged units", &tools) {
        return;
    }
    let folder = Folder::new();
    if !can_record(&folder) {
        return;
    }
    compile(&folder, "clang-22 -O2 -g -c", "work.c", "work.o");
    compile(&folder, "clang-22 -O2 -g -Dmain=unused -c", "tails.c", "tails.o");
    folder.run("clang-22 -O2 -g work.o tails.o -o prog");
    record(&folder, "prog");
    folder.run("objcopy --dump-section .debug_info=info prog unchanged");
    let mut info = std::fs::read(folder.path("info")).expect("it is written");
    std::fs::create_dir(folder.path("part")).expect("it is new");
    let second = u32::from_le_bytes(info[..4].try_into().expect("four bytes")) as usize + 4;
    for (unit, damaged) in [(second, 1), (0, 2)] {
        // Behind the length, the version, the kind and the size of addresses: where the abbreviations are.
        info[unit + 8..unit + 12].fill(0x7F);
        folder.write("info", &info);
        folder.run("objcopy --update-section .debug_info=info prog damaged");
        std::fs::rename(folder.path("damaged"), folder.path("part/prog")).expect("it is moved");
        let output = folder.try_run("profbridge convert prog.txt --binary part/prog -o out.prof --json");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        if damaged == 1 {
            // LLVM prints texts of its library for DWARF as well.
            let options = "--perfscript=prog.txt --binary=part/prog --format=text";
            let (_, genuine) = run(&folder, &[GENUINE], options);
            let (_, ours) = run(&folder, &[env!("CARGO_BIN_EXE_profbridge"), "llvm-profgen"], options);
            assert!(genuine.is_some() && genuine == ours);
            let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
            assert_eq!(document["samples"][0]["program"]["damaged_units"], 1);
            assert!(errors.contains("1 unit of debug info cannot be read as a whole"), "{errors}");
        } else {
            assert_eq!(output.status.code(), Some(1), "{errors}");
            assert!(errors.contains("all units of debug info are damaged (2)"), "{errors}");
        }
    }
}
