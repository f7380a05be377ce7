//! Recordings without branch records: samples of instructions, with and without call chains.

use crate::recording::{compile, perf_record, plain_recording, remapped_recording, set_period};
use crate::schema::assert_has_schema;
use crate::support::{Folder, available, errors};
use serde_json::Value;
use std::collections::BTreeMap;

const CLANG: &str = "clang-22 -O2 -g -fdebug-info-for-profiling -fno-omit-frame-pointer";

/// Converts a recording and returns the document.
#[track_caller]
fn convert(folder: &Folder, arguments: &str) -> Value {
    let output = folder.run(&format!("profbridge convert {arguments} --json"));
    let document = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    assert_has_schema(&document, "convert-1.json");
    document
}

fn read(folder: &Folder, name: &str) -> String {
    std::fs::read_to_string(folder.path(name)).expect("a text file")
}

/// The instructions of a function: addresses in order.
pub(crate) fn instructions(folder: &Folder, program: &str, function: &str) -> Vec<(u64, String)> {
    let listing = folder.run(&format!("objdump -d --no-show-raw-insn --disassemble={function} {program}"));
    let listing = String::from_utf8(listing.stdout).expect("objdump prints text");
    let after = listing.split_once(&format!("<{function}>:\n")).expect("the function is there").1;
    let lines = after.lines().take_while(|line| !line.is_empty());
    let instruction = |line: &str| {
        let (address, text) = line.trim().split_once(':')?;
        Some((u64::from_str_radix(address, 16).ok()?, text.trim().to_string()))
    };
    lines.filter_map(instruction).collect()
}

/// The address after the first instruction that contains a text.
fn after(code: &[(u64, String)], text: &str) -> u64 {
    let at = code.iter().position(|(_, instruction)| instruction.contains(text)).expect("the instruction is there");
    code[at + 1].0
}

/// The numbers after the name of a function that is not inlined: total and head.
fn numbers(profile: &str, function: &str) -> Option<(u64, u64)> {
    let line = profile.lines().find_map(|line| line.strip_prefix(&format!("{function}:")))?;
    let (total, head) = line.split_once(':')?;
    Some((total.parse().ok()?, head.parse().ok()?))
}

/// The call targets in a profile, each with its last count.
fn targets(profile: &str) -> BTreeMap<String, u64> {
    let counts = profile.lines().filter_map(|line| line.strip_prefix(' ')?.trim_start().split_once(": "));
    // The first word of an inlined function has a colon, that of a line is its count.
    let lines = counts.filter(|(_, counts)| !counts.split(' ').next().is_some_and(|first| first.contains(':')));
    let targets = lines.flat_map(|(_, counts)| counts.split(' ').skip(1));
    let target = |target: &str| Some((target.split_once(':')?.0.to_string(), target.split_once(':')?.1.parse().ok()?));
    targets.filter_map(target).collect()
}

const KERNEL: u64 = 0xffff_8000_0000_1234;
const IN_KERNEL: u64 = 128u64.wrapping_neg();
const IN_USER: u64 = 512u64.wrapping_neg();

#[test]
fn samples_count_at_their_lines() {
    let Some(folder) = available("plain samples", &["clang-22", "objdump", "readelf"]).then(Folder::new) else {
        return;
    };
    compile(&folder, &format!("{CLANG} -no-pie"), "busy.c", "busy");
    let [main, outer, small] = ["main", "loop", "small"].map(|name| instructions(&folder, "busy", name));
    let from_loop = after(&outer, "<small>");
    let from_main = after(&main, "<loop>");
    let often = instructions(&folder, "busy", "often")[3].0;
    let from_table = after(&main, "call   *");
    let mut samples: Vec<(u64, Vec<u64>)> = Vec::new();
    let mut push = |times: usize, ip: u64, chain: &[u64]| samples.extend(vec![(ip, chain.to_vec()); times]);
    // The instruction with most samples gives the count of the line.
    push(30, small[4].0, &[IN_USER, small[4].0, from_loop, from_main, 0x7000_0000]);
    push(20, small[5].0, &[IN_USER, small[5].0, from_loop, from_main, 0x7000_0000]);
    // The first instruction: the caller is missing from the call chain.
    push(5, small[0].0, &[IN_USER, small[0].0, from_main, 0x7000_0000]);
    push(40, often, &[IN_USER, often, from_table, 0x7000_0000]);
    // In the kernel, for a process that called from `loop`.
    push(7, KERNEL, &[IN_KERNEL, KERNEL, IN_USER, 0x7000_0000, from_loop, from_main]);
    push(3, 0x7000_0000, &[]);
    push(2, small[4].0 + 1, &[]);
    // A frame that does not follow a call.
    push(1, small[6].0, &[IN_USER, small[6].0, outer[0].0, from_main]);
    folder.write("perf.data", plain_recording(&folder, "busy", &samples));
    let document = convert(&folder, "perf.data --binary busy -o app.proftext");
    let plain = &document["samples"][0]["plain"];
    let found = ["all", "used", "in_kernel", "outside", "not_instructions", "without_function", "calls", "cut_chains"]
        .map(|name| plain[name].as_u64().expect("a number"));
    assert_eq!(found, [108, 96, 7, 3, 2, 0, 30 * 2 + 20 * 2 + 5 + 40 + 7 * 2, 1]);
    let profile = read(&folder, "app.proftext");
    assert_eq!(numbers(&profile, "small"), Some((56, 30)), "{profile}");
    assert_eq!(numbers(&profile, "often"), Some((40, 40)), "{profile}");
    // Nothing was sampled in `loop`, but calls were seen: to `small`, which was entered 30 times.
    assert!(profile.contains("wrap:30\n  1: 30 small:30\n"), "the line of an inlined call has its count: {profile}");
    assert_eq!(targets(&profile), [("loop", 1), ("often", 40), ("small", 30)].map(|(n, c)| (n.to_string(), c)).into());
    assert!(profile.contains("small:56:30\n 0: 30\n"), "{profile}");
    let output = folder.run("profbridge convert perf.data --binary busy -o app.prof");
    let message = errors(&output);
    for expected in [
        "no sample has branch records: counts are estimated from 96 samples; record branches with `perf record -b`",
        "not used: 12 of 108 samples (7 in the kernel, 3 in other programs or the PLT, 2 within an instruction)",
        "96 samples used; this program needs about ",
    ] {
        assert!(message.contains(expected), "{expected}: {message}");
    }
    let enough = |input: &str| {
        let output = folder.run(&format!("profbridge merge {input} --binary busy -o weighted.prof --force"));
        let message = errors(&output);
        let (_, number) = message.split_once(" used; this program needs about ").expect("they are few");
        number.split_whitespace().next().expect("a word").to_string()
    };
    // Weights do not make more samples.
    let once = enough("perf.data");
    assert!(once.parse::<u64>().is_ok_and(|number| number > 96), "{once}");
    for weight in [2, 7, 1000, 1_000_000_000] {
        assert_eq!(enough(&format!("--weighted-input={weight},perf.data")), once, "weight {weight}");
    }
    // Another build.
    let moved = [vec![(small[4].0, Vec::new()); 50], vec![(small[4].0 + 1, Vec::new()); 9]].concat();
    folder.write("moved.data", plain_recording(&folder, "busy", &moved));
    let message = errors(&folder.run("profbridge convert moved.data --binary busy -o moved.prof"));
    assert!(message.contains("busy is probably not the build that was recorded"), "{message}");
    assert!(!message.contains("frame pointers"), "{message}");
    // Without call chains.
    let bare: Vec<(u64, Vec<u64>)> = samples.iter().map(|(ip, _)| (*ip, Vec::new())).collect();
    folder.write("bare.data", plain_recording(&folder, "busy", &bare));
    let message = errors(&folder.run("profbridge convert bare.data --binary busy -o bare.proftext"));
    assert!(
        message.contains("no call chain has a call within busy: if there are calls, record with `perf record -g`"),
        "{message}"
    );
    let profile = read(&folder, "bare.proftext");
    assert_eq!((numbers(&profile, "small"), targets(&profile).len()), (Some((56, 30)), 0), "{profile}");
    assert!(!profile.contains(": 0\n"), "lines without samples may have run: {profile}");
}

/// Start code of a static libc has no frame pointers, and its calls are not in the profile.
#[test]
fn call_chains_that_end_beyond_code_without_debug_info_are_not_cut() {
    let Some(folder) = available("start code", &["clang-22", "objdump", "readelf"]).then(Folder::new) else {
        return;
    };
    compile(&folder, &format!("{CLANG} -no-pie"), "busy.c", "busy");
    let [start, main, outer, small] =
        ["_start", "main", "loop", "small"].map(|name| instructions(&folder, "busy", name));
    let frames = [small[4].0, after(&outer, "<small>"), after(&main, "<loop>"), after(&start, "call"), outer[0].0];
    let cut = [IN_USER, small[4].0, outer[0].0];
    let mut samples = vec![(small[4].0, [&[IN_USER], &frames[..]].concat()); 30];
    samples.push((small[4].0, cut.to_vec()));
    folder.write("perf.data", plain_recording(&folder, "busy", &samples));
    let document = convert(&folder, "perf.data --binary busy -o app.proftext");
    let plain = &document["samples"][0]["plain"];
    assert_eq!((&plain["calls"], &plain["cut_chains"]), (&90.into(), &1.into()), "{document}");
}

/// Debug info keeps functions that the linker removed, with code at address 0.
#[test]
fn functions_that_the_linker_removed_have_no_samples() {
    let Some(folder) = available("removed functions", &["clang-22", "objdump", "readelf"]).then(Folder::new) else {
        return;
    };
    let body: String =
        (0..3000).map(|at| format!("  x = x * {} + y; y ^= x >> {};\n", at * 7 + 3, at % 13 + 1)).collect();
    folder.write("large.c", format!("int large(int x, int y) {{\n{body}  return x + y;\n}}\n"));
    folder.write("small.c", "int other(int); int removed(int x) { return x * 3 + other(x) + other(2); }\n");
    for (source, layout) in [("small.c", "separate-code"), ("large.c", "separate-code"), ("large.c", "noseparate-code")]
    {
        let flags = format!("-ffunction-sections -Wl,--gc-sections -Wl,-z,{layout} -pie -fPIE");
        let source = folder.path(source).display().to_string();
        compile(&folder, &format!("{CLANG} {flags} {source}"), "busy.c", "busy");
        let [main, outer, small] = ["main", "loop", "small"].map(|name| instructions(&folder, "busy", name));
        let chain = vec![IN_USER, small[4].0, after(&outer, "<small>"), after(&main, "<loop>"), 0x7000_0000];
        folder.write("perf.data", plain_recording(&folder, "busy", &vec![(small[4].0, chain); 30]));
        convert(&folder, "perf.data --binary busy -o app.proftext");
        let profile = read(&folder, "app.proftext");
        let functions: Vec<&str> = profile.lines().filter(|line| !line.starts_with(' ')).collect();
        assert_eq!(functions, ["loop:30:0", "small:30:30", "main:1:0"], "{source} {layout}: {profile}");
    }
}

/// The program is only in call chains.
#[test]
fn a_program_that_only_calls_others_has_no_samples() {
    let Some(folder) = available("callers", &["clang-22", "objdump", "readelf"]).then(Folder::new) else { return };
    compile(&folder, &format!("{CLANG} -no-pie"), "busy.c", "busy");
    let caller = after(&instructions(&folder, "busy", "main"), "@plt>");
    let chain = vec![IN_USER, 0x7000_0000, caller];
    folder.write("perf.data", plain_recording(&folder, "busy", &vec![(0x7000_0000, chain); 30]));
    for output in ["app.prof", "profiles/"] {
        let (code, message) = folder.failure(&format!("profbridge convert perf.data --binary busy -o {output}"));
        assert_eq!(code, Some(1), "{message}");
        assert!(message.contains("busy: no sample is in busy"), "{message}");
        assert!(!folder.path(output).exists(), "{output}");
    }
}

/// A function that jumps to another one in place of a call has no frame.
#[test]
fn tail_calls_count_as_calls() {
    let Some(folder) = available("tail calls", &["clang-22", "objdump", "readelf"]).then(Folder::new) else {
        return;
    };
    compile(&folder, &format!("{CLANG} -no-pie"), "tail_calls.c", "tail");
    let [main, pick, either, work] = ["main", "pick", "either", "work"].map(|name| instructions(&folder, "tail", name));
    let count = |code: &[(u64, String)], start: &str| {
        code.iter().filter(|(_, text)| text.starts_with(start) && text.ends_with("<work>")).count()
    };
    assert_eq!((count(&pick, "j"), count(&pick, "call")), (1, 1), "{pick:?}");
    assert_eq!((count(&either, "j"), count(&either, "call")), (2, 0), "{either:?}");
    let [from_pick, from_either] = ["<pick>", "<either>"].map(|name| after(&main, name));
    let (called, at) = (after(&pick, "call"), work[3].0);
    let mut samples: Vec<(u64, Vec<u64>)> = Vec::new();
    let mut push = |times: usize, chain: &[u64]| samples.extend(vec![(at, chain.to_vec()); times]);
    push(70, &[IN_USER, at, from_pick, 0x7000_0000]);
    push(10, &[IN_USER, at, called, from_pick, 0x7000_0000]);
    // It is unknown which of the two jumps it was.
    push(20, &[IN_USER, at, from_either, 0x7000_0000]);
    folder.write("perf.data", plain_recording(&folder, "tail", &samples));
    convert(&folder, "perf.data --binary tail -o tail.proftext");
    let profile = read(&folder, "tail.proftext");
    assert_eq!(numbers(&profile, "work"), Some((100, 100)), "{profile}");
    assert!(profile.contains(" 1: 70 work:70\n 3: 10 work:10\n"), "{profile}");
    assert!(!profile.contains("either:20"), "{profile}");
    // It was entered at least as often as it jumped, although nothing was sampled in it.
    assert_eq!(numbers(&profile, "pick"), Some((80, 70)), "{profile}");
    assert!(profile.contains(" 0: 70 pick:70\n"), "{profile}");

    // Two frames are missing: `through` jumps to `pick`, which jumps to `work`.
    let from_caller = after(&instructions(&folder, "tail", "caller"), "<through>");
    let chain = vec![IN_USER, at, from_caller, 0x7000_0000];
    folder.write("perf.data", plain_recording(&folder, "tail", &vec![(at, chain); 30]));
    convert(&folder, "perf.data --binary tail -o tail.proftext");
    let profile = read(&folder, "tail.proftext");
    for (function, call) in
        [("caller", " 0: 30 through:30\n"), ("through", " 2: 30 pick:30\n"), ("pick", " 1: 30 work:30\n")]
    {
        let body = profile.split_once(&format!("{function}:30:30\n")).map(|(_, body)| body);
        assert!(body.is_some_and(|body| body.starts_with(call)), "{function}: {profile}");
    }
}

/// The first caller of a recursive function is in every chain, but called it once.
#[test]
fn the_innermost_call_of_a_recursive_function_counts() {
    let Some(folder) = available("recursion", &["clang-22", "objdump", "readelf"]).then(Folder::new) else {
        return;
    };
    compile(&folder, &format!("{CLANG} -no-pie"), "recursion.c", "walks");
    let [main, walk] = ["main", "walk"].map(|name| instructions(&folder, "walks", name));
    let (inner, outer, at) = (after(&walk, "call"), after(&main, "<walk>"), walk[3].0);
    let mut samples = vec![(at, vec![IN_USER, at, inner, inner, inner, outer, 0x7000_0000]); 95];
    samples.extend(vec![(at, vec![IN_USER, at, outer, 0x7000_0000]); 5]);
    folder.write("perf.data", plain_recording(&folder, "walks", &samples));
    convert(&folder, "perf.data --binary walks -o walks.proftext");
    let profile = read(&folder, "walks.proftext");
    let (of_walk, of_main) = profile.split_once("main:").unwrap_or_else(|| panic!("{profile}"));
    assert!(of_walk.contains(": 95 walk:95\n") && of_main.contains(": 5 walk:5\n"), "{profile}");
}

/// A shared library calls its own functions by its linkage table, unless they are hidden.
#[test]
fn calls_by_a_linkage_table_are_those_of_the_call_chain() {
    let Some(folder) = available("linkage tables", &["clang-22", "objdump", "readelf"]).then(Folder::new) else {
        return;
    };
    compile(&folder, &format!("{CLANG} -fPIC -shared -Dstatic="), "busy.c", "libbusy.so");
    let [outer, small] = ["loop", "small"].map(|name| instructions(&folder, "libbusy.so", name));
    let chain = vec![IN_USER, small[4].0, after(&outer, "<small@plt>")];
    folder.write("perf.data", plain_recording(&folder, "libbusy.so", &vec![(small[4].0, chain); 30]));
    convert(&folder, "perf.data --binary libbusy.so -o lib.proftext");
    assert_eq!(targets(&read(&folder, "lib.proftext")), [("small".to_string(), 30)].into());
}

#[test]
fn samples_of_a_library_end_where_another_one_takes_its_place() {
    let Some(folder) = available("unloaded libraries", &["clang-22", "objdump", "readelf"]).then(Folder::new) else {
        return;
    };
    compile(&folder, &format!("{CLANG} -fPIC -shared -Dstatic="), "busy.c", "libbusy.so");
    let at = instructions(&folder, "libbusy.so", "small")[4].0;
    let own = folder.path("libbusy.so").display().to_string();
    // Code in large pages is memory without a file.
    for (then, expected) in [("/opt/other.so", 30), ("//anon", 60), (&own, 60)] {
        let samples = vec![(at, vec![IN_USER, at]); 30];
        folder.write("perf.data", remapped_recording(&folder, "libbusy.so", &[&own, then], &samples));
        convert(&folder, "perf.data --binary libbusy.so -o lib.proftext");
        let profile = read(&folder, "lib.proftext");
        assert_eq!(numbers(&profile, "small").map(|(total, _)| total), Some(expected), "{then}: {profile}");
    }
}

#[test]
fn the_order_and_the_parts_of_recordings_do_not_matter() {
    let Some(folder) = available("order", &["clang-22", "objdump", "readelf"]).then(Folder::new) else { return };
    compile(&folder, &format!("{CLANG} -no-pie"), "busy.c", "busy");
    let [main, outer, small] = ["main", "loop", "small"].map(|name| instructions(&folder, "busy", name));
    let (from_loop, from_main) = (after(&outer, "<small>"), after(&main, "<loop>"));
    let sample = |at: usize| {
        let ip = small[2 + at % (small.len() - 2)].0;
        (ip, vec![IN_USER, ip, from_loop, from_main])
    };
    let samples: Vec<(u64, Vec<u64>)> = (0..500).map(|at| sample(at * at / 7)).collect();
    let reversed: Vec<(u64, Vec<u64>)> = samples.iter().rev().cloned().collect();
    for (name, part) in
        [("whole", &samples[..]), ("reversed", &reversed), ("first", &samples[..123]), ("second", &samples[123..])]
    {
        folder.write(name, plain_recording(&folder, "busy", part));
    }
    for inputs in ["whole", "reversed", "first second", "second first"] {
        folder.run(&format!("profbridge convert {inputs} --binary busy -o app.proftext --force"));
        let profile = read(&folder, "app.proftext");
        folder.run("profbridge convert whole --binary busy -o expected.proftext --force");
        assert_eq!(profile, read(&folder, "expected.proftext"), "{inputs}");
    }
}

#[test]
fn llvm_profgen_mode_still_refuses_such_recordings() {
    let Some(folder) = available("refused", &["clang-22", "objdump", "readelf"]).then(Folder::new) else { return };
    compile(&folder, &format!("{CLANG} -no-pie"), "busy.c", "busy");
    let ip = instructions(&folder, "busy", "small")[4].0;
    folder.write("perf.data", plain_recording(&folder, "busy", &[(ip, Vec::new())]));
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_profbridge"), folder.path("llvm-profgen")).expect("a link");
    let (code, message) = folder.failure("./llvm-profgen --perfdata=perf.data --binary=busy --output=out.prof");
    assert_eq!((code, &*message), (Some(1), "llvm-profgen: error: Invalid perf script input!\n"));
    let (_, message) = folder.failure("profbridge convert perf.data --binary busy --contexts -o out.prof");
    assert!(message.contains("no branch records") && message.contains("`perf record -b -g`"), "{message}");
}

/// Records a program with call chains, if perf works here.
fn recorded(test: &str, compiler: &str, source: &str, tools: &[&str]) -> Option<Folder> {
    let folder = available(test, &[&["perf"], tools].concat()).then(Folder::new)?;
    compile(&folder, compiler, source, "busy");
    perf_record(&folder, "-g", "./busy 3000", "perf.data").then_some(folder)
}

#[test]
fn a_recording_of_perf_becomes_a_profile_in_every_form() {
    let Some(folder) = recorded("perf", CLANG, "busy.c", &["clang-22"]) else { return };
    let document = convert(&folder, "perf.data --binary busy -o app.proftext");
    let plain = |name: &str| document["samples"][0]["plain"][name].as_u64().expect("a number");
    let unused = ["in_kernel", "outside", "not_instructions", "without_function"].map(plain).iter().sum::<u64>();
    assert!(plain("used") > 100 && plain("all") == plain("used") + unused, "{document}");
    let profile = read(&folder, "app.proftext");
    let (small, outer) = (numbers(&profile, "small").expect("sampled"), numbers(&profile, "loop").expect("sampled"));
    assert!(small.1 > 10 * outer.1.max(1), "the small function is entered more often: {profile}");
    assert!(profile.contains(": classify:") || profile.contains(": rnd:"), "inlined functions: {profile}");
    let targets = targets(&profile);
    assert!(targets["often"] > targets.get("seldom").copied().unwrap_or(0), "{profile}");
    assert!(targets.contains_key("small") && targets.contains_key("loop"), "{profile}");
    assert_eq!(numbers(&profile, "never"), None);
    let counts = profile.lines().filter_map(|line| line.trim_start().split_once(": "));
    assert!(counts.clone().count() > 5, "{profile}");
    assert!(!counts.map(|(_, counts)| counts).any(|counts| counts == "0" || counts.starts_with("0 ")), "{profile}");
    for options in
        ["--sample-format text", "--sample-format binary", "--sample-format extbinary", "--use-md5", "--for llvm-16"]
    {
        folder.run(&format!("profbridge convert perf.data --binary busy -o app.prof --force {options}"));
        for release in [16, 19, 22] {
            let tool = format!("llvm-profdata-{release}");
            if available("show", &[&tool]) {
                let shown = folder.run(&format!("{tool} show --sample app.prof"));
                assert!(!shown.stdout.is_empty() && errors(&shown).is_empty(), "{tool} {options}: {}", errors(&shown));
            }
        }
        folder.run("profbridge check app.prof");
    }
}

#[test]
fn clang_uses_the_samples_without_a_warning() {
    for release in [16, 19, 22] {
        let clang = format!("clang-{release} -O2 -g -fdebug-info-for-profiling -fno-omit-frame-pointer");
        let tool = format!("clang-{release}");
        let Some(folder) = recorded("clang uses samples", &clang, "busy.c", &[&tool]) else { continue };
        folder.run(&format!("profbridge convert perf.data --binary busy -o app.prof --for llvm-{release}"));
        let uses = format!("{clang} -fprofile-sample-use={} -Werror", folder.path("app.prof").display());
        compile(&folder, &format!("{uses} -S -emit-llvm"), "busy.c", "busy.ll");
        let code = read(&folder, "busy.ll");
        let weights = code.lines().filter(|line| line.contains("\"branch_weights\"")).count();
        assert!(weights > 1 && code.contains("\"function_entry_count\""), "{code}");
        let calls_directly = code.lines().any(|line| line.contains(" call ") && line.contains("@often("));
        assert!(calls_directly, "the computed call goes to its frequent target: {code}");
        compile(&folder, &uses, "busy.c", "again");
        folder.run("./again 1");
    }
}

#[test]
fn rustc_uses_the_samples_without_a_warning() {
    let Some(folder) = available("rustc uses samples", &["rustc", "perf", "nm"]).then(Folder::new) else { return };
    let compiler = "rustc -O -g -C force-frame-pointers=yes";
    compile(&folder, compiler, "busy.rs", "busy");
    if !perf_record(&folder, "-g", "./busy", "perf.data") {
        return;
    }
    let said = folder.run("profbridge convert perf.data --binary busy -o app.prof");
    // Methods of traits have dots in their legacy names.
    let is_legacy = String::from_utf8_lossy(&folder.run("nm busy").stdout).contains("$u20$as$u20$");
    assert_eq!(errors(&said).contains("whose names have dots"), is_legacy, "{}", errors(&said));
    let profile = folder.path("app.prof");
    // Releases before 1.100 take the same LLVM option by another way.
    let help = String::from_utf8(folder.run("rustc -C help").stdout).expect("rustc prints text");
    let option = if help.contains("profile-sample-use") {
        format!("-C profile-sample-use={}", profile.display())
    } else {
        format!("-Z profile-sample-use={}", profile.display())
    };
    let uses = format!("env RUSTC_BOOTSTRAP=1 {compiler} -D warnings {option}");
    compile(&folder, &format!("{uses} --emit=llvm-ir"), "busy.rs", "busy.ll");
    assert!(read(&folder, "busy.ll").contains("\"function_entry_count\""));
    compile(&folder, &uses, "busy.rs", "again");
}

#[test]
fn several_programs_get_a_profile_each_or_one_together() {
    let Some(folder) = available("several programs", &["clang-22", "objdump", "readelf"]).then(Folder::new) else {
        return;
    };
    for program in ["busy", "other"] {
        compile(&folder, &format!("{CLANG} -no-pie"), "busy.c", program);
        let ip = instructions(&folder, program, "small")[4].0;
        folder.write(&format!("{program}.data"), plain_recording(&folder, program, &vec![(ip, Vec::new()); 60]));
    }
    let inputs = "busy.data other.data";
    let document = convert(&folder, &format!("{inputs} --binary busy --binary other -o profiles/ --to text"));
    for (at, program) in ["busy", "other"].into_iter().enumerate() {
        assert_eq!(document["samples"][at]["path"], program);
        assert_eq!(document["samples"][at]["plain"]["used"], 60);
        folder.run(&format!("profbridge convert {inputs} --binary {program} -o {program}.proftext"));
        let (own, expected) = (format!("profiles/{program}.proftext"), format!("{program}.proftext"));
        assert_eq!(read(&folder, &own), read(&folder, &expected), "{program}");
    }
    // A directory that exists, and binary profiles.
    folder.run(&format!("profbridge convert {inputs} --binary busy --binary other -o profiles"));
    assert!(folder.path("profiles/busy.prof").exists() && folder.path("profiles/other.prof").exists());
    let output = folder.run(&format!("profbridge convert {inputs} --binary busy --binary other -o both.proftext"));
    let message = errors(&output);
    assert!(message.contains("several programs have 1 function of the same name: their counts add up"), "{message}");
    assert_eq!(numbers(&read(&folder, "both.proftext"), "small"), Some((120, 120)));
    // One of several programs may be without samples, but not the only one of a profile.
    let output = folder.run("profbridge convert busy.data --binary busy --binary other -o one.proftext");
    assert!(errors(&output).contains("warning: other: no sample is in other"), "{}", errors(&output));
    assert_eq!(read(&folder, "one.proftext"), read(&folder, "busy.proftext"));
    compile(&folder, &format!("{CLANG} -no-pie"), "busy.c", "third");
    for (programs, output) in
        [("third --binary ./third", "none.proftext"), ("busy --binary other", "each/"), ("other", "none.proftext")]
    {
        let (code, message) =
            folder.failure(&format!("profbridge convert busy.data --binary {programs} -o {output} --force"));
        assert!(code == Some(1) && message.contains("no sample is in"), "{code:?}: {message}");
        assert!(!folder.path(output).exists());
    }
    let (code, message) =
        folder.failure(&format!("profbridge convert {inputs} --binary busy --binary ./busy -o profiles"));
    assert!(code == Some(2) && message.contains("two programs have the same name"), "{code:?}: {message}");
    let (code, message) =
        folder.failure(&format!("profbridge convert {inputs} --binary busy --binary other --dwp x -o profiles"));
    assert!(code == Some(2) && message.contains("--debug-binary and --dwp are for one program"), "{code:?}: {message}");
}

#[test]
fn partial_merges_of_several_programs_are_finished_together() {
    let Some(folder) = available("parts of programs", &["clang-22", "objdump", "readelf"]).then(Folder::new) else {
        return;
    };
    for (program, build_id) in [("busy", "0xb1"), ("other", "0xb2")] {
        compile(&folder, &format!("{CLANG} -no-pie -Wl,--build-id={build_id}"), "busy.c", program);
        let ip = instructions(&folder, program, "small")[4].0;
        folder.write(&format!("{program}.data"), plain_recording(&folder, program, &vec![(ip, Vec::new()); 60]));
    }
    // Both partial merges are of the same recordings.
    for program in ["busy", "other"] {
        folder.run(&format!(
            "profbridge merge --partial busy.data other.data --binary {program} -o {program}.part --force"
        ));
    }
    // A profile does not replace a partial merge, which holds more.
    for command in ["merge", "convert"] {
        let (code, message) = folder.failure(&format!("profbridge {command} busy.data --binary busy -o busy.part"));
        assert!(code == Some(2) && message.contains("not an earlier output: partial merge"), "{code:?}: {message}");
    }
    let parts = "busy.part other.part --binary busy --binary other";
    for (inputs, output) in [(parts.to_string(), "parts"), (parts.replace("part", "data"), "whole")] {
        let document = convert(&folder, &format!("{inputs} -o {output}/ --to text"));
        let used = document["inputs"].as_array().expect("a list").iter().map(|input| &input["outcome"]);
        assert_eq!(used.collect::<Vec<_>>(), ["used", "used"], "{document}");
        folder.run(&format!("profbridge merge {inputs} -o {output}.proftext"));
    }
    for name in ["/busy.proftext", "/other.proftext", ".proftext"] {
        assert_eq!(read(&folder, &format!("parts{name}")), read(&folder, &format!("whole{name}")), "{name}");
    }
    let (code, message) = folder.failure("profbridge merge busy.part other.part --binary busy -o one.prof");
    assert!(code == Some(2) && message.contains("other.part: the partial merge has samples of other"), "{message}");
    // The same build under another name.
    std::fs::copy(folder.path("busy"), folder.path("renamed")).expect("it is copied");
    folder.run("profbridge merge busy.part --binary renamed -o renamed.proftext");
    assert_eq!(read(&folder, "renamed.proftext"), read(&folder, "parts/busy.proftext"));
    compile(&folder, &format!("{CLANG} -no-pie"), "busy.c", "third");
    let ip = instructions(&folder, "third", "small")[4].0;
    folder.write("third.data", plain_recording(&folder, "third", &vec![(ip, Vec::new()); 60]));
    folder.run("profbridge merge --partial third.data --binary third -o third.part");
    let (code, message) = folder.failure(&format!("profbridge merge third.part {parts} -o all.prof"));
    let expected = "third.part: the partial merge has samples of none of these programs";
    assert!(code == Some(2) && message.contains(expected), "{code:?}: {message}");
}

#[test]
fn recordings_of_another_program_are_not_used() {
    let Some(folder) = available("other programs", &["clang-22", "objdump", "readelf"]).then(Folder::new) else {
        return;
    };
    for (program, options) in [("busy", "-no-pie"), ("other", "-no-pie -DREPEAT=3 -Wl,--build-id=0x1234")] {
        compile(&folder, &format!("{CLANG} {options}"), "busy.c", program);
        let ip = instructions(&folder, program, "small")[4].0;
        folder.write(&format!("{program}.data"), plain_recording(&folder, program, &vec![(ip, Vec::new()); 60]));
    }
    let inputs = "busy.data other.data --binary busy";
    let document = convert(&folder, &format!("{inputs} -o sum.prof"));
    let outcomes: Vec<&Value> = document["inputs"].as_array().unwrap().iter().map(|input| &input["outcome"]).collect();
    assert_eq!(outcomes, ["used", "empty"], "{document}");
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("other.data: no sample is in busy"), "{warnings}");
    for output in ["sum.prof --force", "sum.part --partial"] {
        let (code, message) = folder.failure(&format!("profbridge merge {inputs} -o {output} --min-inputs 2"));
        assert!(code == Some(3) && message.contains("is 1, below 2"), "{code:?}: {message}");
    }
    // A recording of several programs is used if one of them uses it.
    let both = convert(&folder, "busy.data other.data --binary busy --binary other -o both.prof");
    assert_eq!(both["inputs"][1]["outcome"], "used", "{both}");
}

#[test]
fn recordings_with_different_rates_get_a_warning() {
    let Some(folder) = available("sampling rates", &["clang-22", "objdump", "readelf"]).then(Folder::new) else {
        return;
    };
    compile(&folder, &format!("{CLANG} -no-pie"), "busy.c", "busy");
    let ip = instructions(&folder, "busy", "small")[4].0;
    folder.write("busy.data", plain_recording(&folder, "busy", &vec![(ip, Vec::new()); 60]));
    let mut longer = plain_recording(&folder, "busy", &vec![(ip, Vec::new()); 61]);
    folder.write("same.data", &longer);
    set_period(&mut longer, 1000);
    folder.write("other.data", &longer);
    for (inputs, is_mixed) in [
        ("busy.data", false),
        ("busy.data same.data", false),
        ("busy.data other.data", true),
        ("busy.data --weighted-input=1000,other.data", false),
    ] {
        let output = folder.run(&format!("profbridge merge {inputs} --binary busy --force -o busy.prof"));
        assert_eq!(errors(&output).contains("the inputs have different sampling rates"), is_mixed, "{inputs}");
    }
    // A partial merge keeps the rates, unless weights compensate them.
    for (inputs, is_mixed) in [("busy.data", true), ("--weighted-input=1000,busy.data", false)] {
        folder.run(&format!("profbridge merge {inputs} --binary busy --partial --force -o busy.part"));
        let output = folder.run("profbridge merge busy.part other.data --binary busy --force -o busy.prof");
        assert_eq!(errors(&output).contains("the inputs have different sampling rates"), is_mixed, "{inputs}");
    }
}

/// The outermost frames of Go are not after a call, and its compiler reads pprof only.
#[test]
fn programs_of_go_get_no_advice_on_frame_pointers() {
    let Some(folder) = available("programs of Go", &["clang-22", "objcopy", "objdump", "readelf"]).then(Folder::new)
    else {
        return;
    };
    compile(&folder, &format!("{CLANG} -no-pie"), "busy.c", "busy");
    folder.write("info", "\u{ff} Go buildinf:");
    folder.run("objcopy --add-section .go.buildinfo=info busy go");
    let ip = instructions(&folder, "go", "small")[4].0;
    folder.write("perf.data", plain_recording(&folder, "go", &vec![(ip, Vec::new()); 60]));
    let warnings = convert(&folder, "perf.data --binary go -o go.prof")["warnings"].to_string();
    assert!(warnings.contains("merge the recording into default.pgo"), "{warnings}");
    assert!(!warnings.contains("frame pointers"), "{warnings}");
}

#[test]
fn a_weight_is_an_input_several_times_but_no_further_samples() {
    let Some(folder) = available("weights", &["clang-22", "objdump", "readelf"]).then(Folder::new) else { return };
    compile(&folder, &format!("{CLANG} -no-pie"), "busy.c", "busy");
    let [main, outer, small] = ["main", "loop", "small"].map(|name| instructions(&folder, "busy", name));
    let (from_loop, from_main) = (after(&outer, "<small>"), after(&main, "<loop>"));
    let sample = |at: usize| {
        let ip = small[2 + at % (small.len() - 2)].0;
        let caller = if at.is_multiple_of(3) { from_main } else { from_loop };
        (ip, vec![IN_USER, ip, caller, 0x7000_0000])
    };
    let samples: Vec<(u64, Vec<u64>)> = (0..50).map(|at| sample(at * at / 7)).collect();
    folder.write("perf.data", plain_recording(&folder, "busy", &samples));
    let thrice = "perf.data perf.data perf.data --allow-duplicates";
    folder.run(&format!("profbridge merge {thrice} --binary busy -o thrice.proftext"));
    folder.run("profbridge merge perf.data --binary busy -o once.proftext");
    let few = "50 samples used; this program needs about ";
    let needed = |line: &str| {
        let message = errors(&folder.run(line));
        let after = message.split_once(few).unwrap_or_else(|| panic!("{line}: {message}")).1;
        after.split_whitespace().next().expect("a number").to_string()
    };
    let once = needed("profbridge merge perf.data --binary busy -o once.proftext");
    for weight in [3, 1000] {
        let line = format!("profbridge merge --weighted-input {weight},perf.data --binary busy -o weighted.proftext");
        // Estimates are rounded after weights, so the number needed differs with large ones.
        let needed = needed(&line);
        if weight == 3 {
            assert_eq!(needed, once, "{line}");
            assert_eq!(read(&folder, "weighted.proftext"), read(&folder, "thrice.proftext"));
        }
    }
}

#[test]
fn totals_are_sums_of_samples() {
    let Some(folder) = available("totals", &["clang-22", "objdump", "readelf"]).then(Folder::new) else { return };
    compile(&folder, &format!("{CLANG} -no-pie"), "busy.c", "busy");
    let [main, outer, small] = ["main", "loop", "small"].map(|name| instructions(&folder, "busy", name));
    let (from_loop, from_main) = (after(&outer, "<small>"), after(&main, "<loop>"));
    let mut samples = vec![(small[0].0, vec![IN_USER, small[0].0, from_loop, from_main]); 30];
    samples.extend(vec![(outer[0].0, Vec::new()); 50]);
    folder.write("perf.data", plain_recording(&folder, "busy", &samples));
    folder.run("profbridge merge perf.data --binary busy -o app.proftext");
    let profile = read(&folder, "app.proftext");
    // 50 samples, and the calls of `small` at a line without samples.
    assert_eq!(numbers(&profile, "loop").map(|(total, _)| total), Some(80), "{profile}");
}

#[test]
fn totals_count_the_samples_of_unrolled_loops_once() {
    let Some(folder) = available("unrolled", &["clang-22", "objdump", "readelf"]).then(Folder::new) else { return };
    let source = "__attribute__((noinline)) int unrolled(volatile int *at) {\n  int sum = 0;\n#pragma clang loop \
                  unroll_count(8)\n  for (int i = 0; i < 4096; i++)\n    sum += at[i];\n  return sum;\n}\nint \
                  main(void) {\n  static volatile int numbers[4096];\n  return unrolled(numbers);\n}\n";
    folder.write("unrolled.c", source);
    folder.run("clang-22 -O2 -g -fdebug-info-for-profiling -no-pie unrolled.c -o unrolled");
    let code = instructions(&folder, "unrolled", "unrolled");
    let samples: Vec<_> = code.iter().map(|(address, _)| vec![(*address, Vec::new()); 3]).collect();
    folder.write("perf.data", plain_recording(&folder, "unrolled", &samples.concat()));
    folder.run("profbridge merge perf.data --binary unrolled -o app.proftext");
    let profile = read(&folder, "app.proftext");
    assert_eq!(numbers(&profile, "unrolled").map(|(total, _)| total), Some(3 * code.len() as u64), "{profile}");
    // Lines count every iteration.
    assert!(profile.contains(": 24\n"), "{profile}");
}

#[test]
fn recordings_without_branch_records_next_to_others_are_not_used() {
    let Some(folder) = available("mixed recordings", &["clang-22", "objdump", "readelf"]).then(Folder::new) else {
        return;
    };
    compile(&folder, &format!("{CLANG} -no-pie"), "busy.c", "busy");
    let small = instructions(&folder, "busy", "small");
    folder.write("plain.data", plain_recording(&folder, "busy", &vec![(small[4].0, Vec::new()); 60]));
    let (first, last) = (small[0].0, small[small.len() - 1].0);
    let branches = format!(" {last:#x}/{first:#x}/P/-/-/0 {last:#x}/{first:#x}/P/-/-/0\n").repeat(9);
    folder.write("branches.txt", branches);
    for inputs in ["plain.data branches.txt", "branches.txt plain.data"] {
        let document = convert(&folder, &format!("{inputs} --binary busy -o app.prof --force"));
        let outcome = |name: &str| {
            let inputs = document["inputs"].as_array().expect("a list");
            inputs.iter().find(|input| input["path"] == name).expect("the input")["outcome"].clone()
        };
        assert_eq!((outcome("plain.data"), outcome("branches.txt")), ("not-used".into(), "used".into()), "{document}");
        let (code, message) = folder.failure(&format!("profbridge merge {inputs} --binary busy -o x --min-inputs 2"));
        assert!(code == Some(3) && message.contains("the number of inputs used is 1"), "{code:?}: {message}");
    }
    // The parts of a merge know it, too.
    for name in ["plain.data", "branches.txt"] {
        folder.run(&format!("profbridge merge --partial {name} --binary busy -o {name}.part"));
    }
    let (code, message) =
        folder.failure("profbridge merge plain.data.part branches.txt.part --binary busy -o x --min-inputs 2");
    assert!(code == Some(3) && message.contains("the number of inputs used is 1"), "{code:?}: {message}");
}

#[test]
fn recordings_of_different_events_are_added_with_a_warning() {
    let tools = ["clang-22", "perf"];
    let Some(folder) = available("different-events", &tools).then(Folder::new) else { return };
    compile(&folder, CLANG, "busy.c", "busy");
    for (options, name) in [("-F 999 -g", "one.data"), ("-F 499 -e task-clock:u -g", "two.data")] {
        if !perf_record(&folder, options, "./busy", name) {
            return;
        }
        folder.run(&format!("profbridge merge --partial {name} --binary busy -o {name}.part"));
    }
    let added = "the recordings are of different events, whose samples are added up: cpu-clock; cpu-clock, task-clock";
    for inputs in ["one.data two.data", "one.data.part two.data.part", "one.data.part two.data"] {
        let said = errors(&folder.try_run(&format!("profbridge merge {inputs} --binary busy -o out.prof")));
        assert!(said.contains(added) && !said.contains("different sampling rates"), "{inputs}: {said}");
    }
    let same =
        errors(&folder.try_run("profbridge merge one.data one.data.part --allow-duplicates --binary busy -o out.prof"));
    assert!(!same.contains("different"), "{same}");
}

#[test]
fn recordings_of_two_programs_at_different_rates_are_added_with_a_warning() {
    let tools = ["clang-22", "perf"];
    let Some(folder) = available("two-rates", &tools).then(Folder::new) else { return };
    for (program, rate, option) in [("one", "999", ""), ("two", "499", "-no-pie")] {
        compile(&folder, &format!("{CLANG} {option}"), "busy.c", program);
        if !perf_record(&folder, &format!("-F {rate} -g"), &format!("./{program}"), &format!("{program}.data")) {
            return;
        }
    }
    let said = |inputs: &str| {
        errors(&folder.try_run(&format!("profbridge merge {inputs} --binary one --binary two -o out.prof --force")))
    };
    let rates = said("one.data two.data").matches("the inputs have different sampling rates").count();
    assert_eq!(rates, 1, "{}", said("one.data two.data"));
    assert!(!said("--weighted-input 2,two.data one.data").contains("sampling rates"));
}

#[test]
fn one_of_several_events_can_be_chosen() {
    let tools = ["clang-22", "perf"];
    let Some(folder) = available("events", &tools).then(Folder::new) else { return };
    compile(&folder, CLANG, "busy.c", "busy");
    if !perf_record(&folder, "-e task-clock:u -g", "./busy", "both.data") {
        return;
    }
    let script = "perf script -F comm,pid,time,event,ip,sym,symoff,dso -i both.data --show-mmap-events";
    folder.write("both.txt", folder.run(script).stdout);
    folder.write("bare.txt", folder.run("perf script -F ip,sym,symoff,dso -i both.data").stdout);
    for input in ["both.data", "both.txt"] {
        let used = |options: &str| {
            let document = convert(&folder, &format!("{input} --binary busy {options} -o out.prof"));
            document["samples"][0]["plain"]["used"].as_u64().expect("a number of samples")
        };
        let (all, cpu, task) = (used(""), used("--sample-type cpu-clock"), used("--sample-type task-clock:u"));
        assert_eq!(all, cpu + task, "{input}");
        assert!(cpu > 0 && task > 0, "{input}");
        let convert = |options: &str| folder.try_run(&format!("profbridge convert {input} {options}"));
        let added = "samples of several events are added up: cpu-clock:u, task-clock:u";
        assert!(errors(&convert("--binary busy -o out.prof")).contains(added));
        assert!(!errors(&convert("--binary busy --sample-type cpu-clock -o out.prof")).contains("several events"));
        for output in ["--binary busy -o none.prof", "-o none.collapsed"] {
            let refused = convert(&format!("{output} --sample-type cycles"));
            let expected =
                format!("error: {input}: there is no event cycles\n  hint: events: cpu-clock:u, task-clock:u\n");
            assert_eq!((refused.status.code(), errors(&refused)), (Some(2), expected));
        }
        // Stacks of an event are those of its samples.
        let hits = |options: &str| -> u64 {
            folder.run(&format!("profbridge convert {input} {options} -o out.collapsed"));
            let text = read(&folder, "out.collapsed");
            text.lines().filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum()
        };
        assert_eq!(hits(""), hits("--sample-type cpu-clock") + hits("--sample-type task-clock"), "{input}");
    }
    let bare = folder.try_run("profbridge convert bare.txt --binary busy --sample-type cycles -o none.prof");
    assert!(errors(&bare).contains("the input has no names of events"), "{}", errors(&bare));
    folder.run("profbridge merge --partial both.data --binary busy --sample-type cpu-clock -o cpu.part");
    let partial = folder.try_run("profbridge merge cpu.part --binary busy --sample-type cpu-clock -o none.prof");
    assert!(errors(&partial).contains("the events of a partial merge are added up already"), "{}", errors(&partial));
}

#[test]
fn a_named_package_must_be_one() {
    let Some(folder) = available("packages", &["clang-22", "objdump", "readelf"]).then(Folder::new) else { return };
    compile(&folder, &format!("{CLANG} -no-pie"), "busy.c", "busy");
    let ip = instructions(&folder, "busy", "small")[4].0;
    folder.write("perf.data", plain_recording(&folder, "busy", &[(ip, Vec::new())]));
    folder.write("text.dwp", "text");
    for (file, code, words) in [
        ("text.dwp", 2, "text.dwp: the file is not a package of split debug info"),
        ("busy", 2, "busy: the file is not a package of split debug info"),
        ("missing.dwp", 1, "missing.dwp: cannot open"),
    ] {
        for command in ["convert", "merge --partial"] {
            let (found, message) =
                folder.failure(&format!("profbridge {command} perf.data --binary busy --dwp {file} -o out"));
            assert!(found == Some(code) && message.contains(words), "{file}: {found:?}: {message}");
        }
    }
}

#[test]
fn the_text_of_plain_samples_gives_the_profile_of_their_recording() {
    let tools = ["clang-22", "perf"];
    if !available("text of plain samples", &tools) {
        return;
    }
    let folder = Folder::new();
    let compiler = "clang-22 -O2 -g -fno-omit-frame-pointer";
    compile(&folder, compiler, "busy.c", "pie");
    compile(&folder, &format!("{compiler} -no-pie"), "busy.c", "fixed");
    for (program, options, chains) in
        [("pie", "", false), ("pie", "-g", true), ("fixed", "", false), ("fixed", "-g", true)]
    {
        if !perf_record(&folder, options, &format!("./{program}"), "perf.data") {
            return;
        }
        folder.run(&format!("profbridge convert perf.data --binary {program} -o data.proftext --force"));
        let expected = std::fs::read(folder.path("data.proftext")).expect("it is written");
        for (fields, needs_mappings) in [
            ("", false),
            ("-F +pid", false),
            ("-F +srcline", false),
            ("-F ip,sym,symoff", false),
            ("-F comm,pid,ip,sym,symoff,dso", false),
            // The number at the end of a head is not an address, even if it could be one.
            ("-F comm,period,ip,sym,symoff,dso", false),
            ("-F -event", false),
            ("-F ip,sym", true),
            ("-F ip", true),
        ] {
            for mappings in ["--show-mmap-events", ""] {
                // Offsets in files need files or names, addresses of a process need mappings.
                let is_lost =
                    if chains { fields == "-F ip" } else { needs_mappings && mappings.is_empty() && program == "pie" };
                let text = folder.run(&format!("perf script -i perf.data {fields} {mappings}"));
                folder.write("text.txt", text.stdout);
                let line = format!("profbridge convert text.txt --binary {program} -o text.proftext --force");
                if is_lost {
                    let output = folder.try_run(&line);
                    let message = errors(&output);
                    assert!(!output.status.success() && message.contains("pass perf.data itself"), "{message}");
                    continue;
                }
                let said = errors(&folder.run(&line));
                assert!(!said.contains("could not be read"), "{program} {options} {fields} {mappings}: {said}");
                let found = std::fs::read(folder.path("text.proftext")).expect("it is written");
                assert!(found == expected, "{program} {options} {fields} {mappings}");
            }
        }
        let samples = |input: &str| {
            let document = convert(&folder, &format!("{input} --binary {program} -o counted.proftext --force"));
            document["samples"][0]["plain"]["all"].clone()
        };
        folder.write("text.txt", folder.run("perf script -F comm,period,ip,sym,symoff,dso -i perf.data").stdout);
        assert_eq!(samples("text.txt"), samples("perf.data"), "{program} {options}");
        folder.write("text.txt", folder.run("perf script -i perf.data").stdout);
        folder.run(&format!("profbridge merge text.txt --binary {program} -o merged.proftext --force"));
        folder.write("dump.txt", folder.run("perf script -D -i perf.data").stdout);
        let (_, message) = folder.failure(&format!("profbridge convert dump.txt --binary {program} -o none.proftext"));
        assert!(message.contains("print it without `-D`"), "{message}");
    }
}

#[test]
fn the_debug_file_of_a_stripped_program_has_its_symbols() {
    let tools = ["clang-22", "objdump", "readelf", "objcopy", "strip"];
    let Some(folder) = available("stripped programs", &tools).then(Folder::new) else { return };
    for (flags, name) in [("-no-pie", "busy"), ("-no-pie -fpseudo-probe-for-profiling", "probed")] {
        compile(&folder, &format!("{CLANG} {flags} -Wl,--build-id"), "busy.c", name);
        let code = instructions(&folder, name, "main");
        let samples: Vec<_> = code.iter().map(|(address, _)| (*address, Vec::new())).collect();
        folder.write("perf.data", plain_recording(&folder, name, &samples));
        folder.run(&format!("profbridge convert perf.data --binary {name} -o whole.proftext"));
        std::fs::create_dir_all(folder.path("stripped")).unwrap();
        let stripped = format!("stripped/{name}");
        folder.run(&format!("objcopy --only-keep-debug {name} {name}.debug"));
        folder.run(&format!("strip {name} -o {stripped}"));
        let convert = format!("profbridge convert perf.data --binary {stripped}");
        folder.run(&format!("{convert} --debug-binary {name}.debug -o stripped.proftext"));
        assert_eq!(read(&folder, "stripped.proftext"), read(&folder, "whole.proftext"), "{name}");
        let refused = folder.try_run(&format!("{convert} -o none.proftext"));
        assert!(errors(&refused).contains("or give the file with its debug info as well"), "{refused:?}");
        // The debug file alone is not enough.
        let refused = folder.try_run(&format!("profbridge convert perf.data --binary {name}.debug -o none.proftext"));
        assert!(
            errors(&refused)
                .contains("error: busy.debug: the file has debug info, but no code".replace("busy", name).as_str()),
            "{refused:?}"
        );
        // Debug info without symbols is not enough.
        folder.run(&format!("objcopy --wildcard --strip-symbol=* {name}.debug {name}.nosymbols"));
        let refused = folder.try_run(&format!("{convert} --debug-binary {name}.nosymbols -o none.proftext"));
        assert!(errors(&refused).contains("the program has no symbol table"), "{refused:?}");
    }
    let other = folder
        .try_run("profbridge convert perf.data --binary stripped/probed --debug-binary busy.debug -o none.proftext");
    assert!(errors(&other).contains("busy.debug: the file is of another build than the program"), "{other:?}");
    // Without build ids, only the name tells that a file is the program.
    folder.run("cp busy renamed");
    for (output, expected) in [
        ("none.proftext", "the recording has no build ids: give the program that was sampled, under its name"),
        ("none.collapsed", "it has no build ids, so only a file with the recorded name counts"),
    ] {
        let renamed = folder.try_run(&format!("profbridge convert perf.data --binary renamed -o {output}"));
        assert!(errors(&renamed).contains(expected), "{renamed:?}");
    }
}
