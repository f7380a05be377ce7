//! Tests with the output of Debian's perf, without a stackcollapse script.

use crate::commands::Folder;
use std::path::Path;
use std::process::{Command, Stdio};

const PROGRAM: &str = "static volatile unsigned long sink;
__attribute__((noinline)) void mix(int n) { for (int i = 0; i < n; i++) sink = sink * 31 + i; }
__attribute__((noinline)) void area(int n) { mix(n); mix(n / 2); sink++; }
int main(void) { for (int i = 0; i < 100; i++) { area(400000); sink++; } return sink == 42; }
";

fn runs(program: &str, arguments: &[&str], folder: &Path) -> bool {
    let mut run = Command::new(program);
    run.args(arguments).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    run.status().is_ok_and(|status| status.success())
}

fn printed(program: &str, arguments: &[&str], folder: &Path) -> String {
    let output = Command::new(program).args(arguments).current_dir(folder).stderr(Stdio::null()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn perf_script_output_is_read_directly() {
    let folder = Folder::new("perf");
    folder.write("spin.c", PROGRAM);
    let at = &folder.0;
    let is_built = runs("cc", &["-O1", "-fno-omit-frame-pointer", "spin.c", "-o", "spin"], at);
    // Without hardware counters, perf uses the clock.
    let record = ["record", "-q", "-F", "199", "-e", "cpu-clock", "-g", "-o", "perf.data", "./spin"];
    if !is_built || !runs("perf", &record, at) {
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            b"SKIPPED: perf cannot record here (Debian: linux-perf; kernel.perf_event_paranoid)\n",
        );
        return;
    }
    let script = printed("perf", &["script", "-i", "perf.data"], at);
    let samples = printed("perf", &["script", "-i", "perf.data", "-F", "comm,time"], at);
    let samples = samples.lines().filter(|line| !line.trim().is_empty()).count();
    if samples == 0 {
        let _ = std::io::Write::write_all(&mut std::io::stderr(), b"SKIPPED: perf took no sample here\n");
        return;
    }
    folder.write("spin.script", script);
    let shown = folder.run("show spin.script --json");
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["hits"], samples);
    assert_eq!(shown["threads"][0]["thread"], "spin");
    let hottest = &shown["methods"][0];
    assert_eq!(hottest["method"], "mix");
    assert!(hottest["inclusive"].as_u64().unwrap() * 10 > samples as u64 * 8, "{hottest}");
    folder.ok("flamegraph spin.script -o spin.svg");
    assert!(folder.read("spin.svg").contains("<title>mix: "));
}

#[test]
fn recordings_at_different_rates_are_merged_with_a_warning() {
    let folder = Folder::new("perf-rates");
    folder.write("spin.c", PROGRAM);
    let at = &folder.0;
    let record = |rate: &str, output: &str| {
        runs("perf", &["record", "-q", "-F", rate, "-e", "cpu-clock:u", "-g", "-o", output, "./spin"], at)
    };
    let is_built = runs("cc", &["-O1", "-fno-omit-frame-pointer", "spin.c", "-o", "spin"], at);
    if !is_built || !record("199", "slow.data") || !record("1999", "fast.data") {
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            b"SKIPPED: perf cannot record here (Debian: linux-perf; kernel.perf_event_paranoid)\n",
        );
        return;
    }
    let warns = |command: &str| {
        let output = folder.run(command);
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{command}: {messages}");
        messages.contains("have different sampling rates")
    };
    assert!(warns("merge slow.data fast.data -o both.pb.gz"));
    assert!(warns("merge slow.data fast.data -o both.collapsed"));
    assert!(warns("flamegraph slow.data fast.data -o both.svg"));
    assert!(!warns("merge slow.data slow.data -o twice.pb.gz"));
    assert!(!warns("merge --weighted-input=10,slow.data fast.data -o weighted.pb.gz"));
    // A pprof of a recording has its period.
    assert!(!warns("convert slow.data -o slow.pb.gz"));
    assert!(warns("merge slow.pb.gz fast.data -o both.pb.gz"));
    assert!(!warns("merge slow.pb.gz slow.data -o twice.pb.gz"));
    assert!(!warns("convert fast.data -o fast.pb.gz"));
    assert!(warns("merge slow.pb.gz fast.pb.gz -o both.pb.gz"));
    assert!(!warns("merge --weighted-input=10,slow.pb.gz fast.pb.gz -o of-pprof.pb.gz"));
    // A weight multiplies the recorded time of both.
    let times = ["weighted.pb.gz", "of-pprof.pb.gz"].map(|file| {
        let shown = String::from_utf8(folder.run(&format!("show {file}")).stdout).unwrap();
        shown.lines().find(|line| line.starts_with("Recorded time: ")).map(str::to_string)
    });
    assert!(times[0].is_some() && times[0] == times[1], "{times:?}");
}

#[test]
fn perf_script_without_call_graphs_is_read_with_every_list_of_fields() {
    let folder = Folder::new("perf-lines");
    folder.write("spin.c", PROGRAM);
    let at = &folder.0;
    let is_built = runs("cc", &["-O1", "spin.c", "-o", "spin"], at);
    let record = ["record", "-q", "-F", "199", "-e", "cpu-clock", "-o", "perf.data", "./spin"];
    if !is_built || !runs("perf", &record, at) {
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            b"SKIPPED: perf cannot record here (Debian: linux-perf; kernel.perf_event_paranoid)\n",
        );
        return;
    }
    let samples = printed("perf", &["script", "-i", "perf.data", "-F", "comm,time"], at);
    let samples = samples.lines().filter(|line| !line.trim().is_empty()).count();
    if samples == 0 {
        let _ = std::io::Write::write_all(&mut std::io::stderr(), b"SKIPPED: perf took no sample here\n");
        return;
    }
    for options in [
        &[][..],
        &["--ns"],
        &["-F", "+pid"],
        &["-F", "+srcline"],
        &["--show-mmap-events", "--show-task-events"],
        &["-F", "comm,tid,time,event,ip,sym,dso"],
        &["-F", "comm,tid,time,period,ip,sym,dso"],
        &["-F", "comm,tid,time,ip,sym"],
        &["-F", "comm,tid,period,event,ip,sym"],
        &["-F", "comm,tid,event,ip,sym,dso"],
        &["-F", "comm,tid,ip,sym"],
        &["-F", "comm,time,period,event,ip,sym,dso"],
        &["-F", "comm,time,ip,sym"],
    ] {
        folder.write("spin.script", printed("perf", &[&["script", "-i", "perf.data"], options].concat(), at));
        let shown = folder.run("show spin.script --json");
        let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert_eq!(shown["hits"], samples, "{options:?}");
        assert_eq!(shown["threads"][0]["thread"], "spin", "{options:?}");
        assert_eq!(shown["methods"][0]["method"], "mix", "{options:?}");
    }
}

#[test]
fn samples_in_one_line_and_without_thread_numbers_are_stacks() {
    let folder = Folder::new("perf-one-line");
    let line = "spin  3731.112326:     250000 cycles:u:            118e mix+0x10 (/usr/bin/spin)\n";
    for (thread, name) in [("", "no"), (" 8540", "tid"), (" 8540/8541", "pid")] {
        folder.write(&format!("{name}.txt"), line.replace("spin  ", &format!("spin{thread}  ")).repeat(3));
        folder.ok(&format!("convert {name}.txt -o {name}.collapsed"));
        assert_eq!(folder.read(&format!("{name}.collapsed")), "mix 3\n", "{name}");
    }
}

#[test]
fn branch_records_are_rejected_as_stacks() {
    let folder = Folder::new("perf-branches");
    let map = "PERF_RECORD_MMAP2 1/1: [0x555e2ccb2000(0x1000) @ 0x1000 fe:00 1 2]: r-xp /opt/prog\n";
    let branches = "     5618335e6360 0x5618335e638d/0x5618335e6360/P/-/-/1/  0x5618335e6380/0x5618335e6384/P/-/-/2/\n";
    folder.write("app.txt", format!("{map}{branches}"));
    for command in ["show app.txt", "merge app.txt -o x.collapsed", "flamegraph app.txt -o x.svg"] {
        let message = folder.fails(1, command);
        assert!(message.contains("not a profile: branch records of `perf script`"), "{command}: {message}");
        assert!(message.contains("hint: make a sample profile with"), "{command}: {message}");
    }
    assert!(!folder.0.join("x.collapsed").exists());
}

#[test]
fn recordings_of_different_events_are_added_and_compared_with_a_warning() {
    let folder = Folder::new("different-events");
    for (name, event) in [("a", "cycles:u"), ("b", "page-faults:u"), ("c", "cycles:k")] {
        let sample = format!("spin 8540 3731.1:     250000 {event}: \n\t    118e mix+0x10 (/usr/bin/spin)\n\n");
        folder.write(name, sample.repeat(2));
    }
    let added = "the recordings are of different events, whose samples are added up: cycles; page-faults";
    let compared = "b: its samples of page-faults are compared with those of cycles, which measure something else";
    for (arguments, warning) in [
        ("merge a OTHER -o x.collapsed", added),
        ("flamegraph a OTHER -o x.svg", added),
        ("report a OTHER -o x.html", added),
        ("diff a OTHER", compared),
        ("overlap a OTHER", compared),
        ("flamegraph a --baseline OTHER -o x.svg", compared),
    ] {
        let said = |other: &str| String::from_utf8(folder.run(&arguments.replace("OTHER", other)).stderr).unwrap();
        assert!(said("b").contains(warning), "{arguments}: {}", said("b"));
        // Modifiers make no other event.
        assert!(!said("c").contains("samples"), "{arguments}: {}", said("c"));
    }
    // A pprof keeps the events.
    for name in ["a", "b"] {
        folder.run(&format!("convert {name} -o {name}.pprof"));
    }
    let info = String::from_utf8(folder.run("info b.pprof").stdout).unwrap();
    assert!(info.contains("perf events: page-faults"), "{info}");
    for inputs in ["a.pprof b.pprof", "a b.pprof"] {
        let said = String::from_utf8(folder.run(&format!("merge {inputs} -o x.pprof")).stderr).unwrap();
        assert!(said.contains(added), "{inputs}: {said}");
    }
    let said = String::from_utf8(folder.run("diff a.pprof b.pprof").stderr).unwrap();
    assert!(said.contains("its samples of page-faults are compared with those of cycles"), "{said}");
}

#[test]
fn notes_about_frames_fit_the_cause() {
    let folder = Folder::new("perf-notes");
    let frame = |address: u32, name: &str| format!("\t{address:>16x} {name} (/usr/bin/spin)\n");
    let head = "spin 8540 3731.1:     250000 cycles:u: \n";
    let flat = format!("{head}{}\n", frame(0x118e, "mix")).repeat(3);
    folder.write("flat.txt", &flat);
    folder.write("deep.txt", format!("{flat}{head}{}{}\n", frame(0x118e, "mix"), frame(0x1190, "main")));
    let shown = String::from_utf8(folder.run("show flat.txt").stdout).unwrap();
    assert!(
        shown.contains("3 of 3 hits (100.000 %) have only one frame, probably because call chains were not recorded")
    );
    let shown = String::from_utf8(folder.run("show deep.txt").stdout).unwrap();
    assert!(shown.contains("3 of 4 hits (75.000 %) have only one frame, probably because frame pointers are missing"));
}

#[test]
fn samples_without_a_stack_are_mentioned_by_check() {
    let folder = Folder::new("perf-no-stack");
    let head = "spin 8540 3731.1:     250000 cycles:u: \n";
    folder.write("a.txt", format!("{head}\n{head}\t            118e mix (/usr/bin/spin)\n\n{head}\n"));
    let checked = folder.run("check a.txt");
    assert!(checked.status.success());
    let checked = String::from_utf8(checked.stdout).unwrap();
    assert!(checked.contains("info: stacks.no-stack: $: 2 samples without a stack, not counted"), "{checked}");
}

#[test]
fn scripts_without_times_or_thread_numbers_keep_their_samples() {
    let folder = Folder::new("perf-fields");
    let frame = "\t            118e mix (/usr/bin/spin)\n\n";
    for (name, head) in [
        ("time", "spin 30857.628731: "),
        ("tid", "spin    77 "),
        ("short", "kdamond.0    77 [000]    1001001 cpu-clock: "),
    ] {
        folder.write(&format!("{name}.txt"), format!("{head}\n{frame}").repeat(2));
        folder.ok(&format!("convert {name}.txt -o {name}.collapsed"));
        assert_eq!(folder.read(&format!("{name}.collapsed")), "mix 2\n", "{name}");
    }
    folder.write("few.txt", format!("spin \n{frame}"));
    let message = folder.fails(1, "show few.txt");
    assert!(message.contains("output of `perf script` has the fields comm, tid, ip and sym"), "{message}");
}

#[test]
fn a_directory_of_perf_record_threads_is_named_by_every_command() {
    let folder = Folder::new("perf-threads");
    let at = &folder.0;
    let record = ["record", "-q", "--threads", "-e", "cpu-clock", "-g", "-a", "-o", "thr.data", "true"];
    if !runs("perf", &record, at) || !at.join("thr.data/data.0").exists() {
        let _ = std::io::Write::write_all(&mut std::io::stderr(), b"SKIPPED: perf cannot record threads here\n");
        return;
    }
    for command in [
        "show thr.data",
        "info thr.data",
        "report thr.data -o x.html",
        "flamegraph thr.data -o x.svg",
        "merge thr.data -o x.collapsed",
        "convert thr.data -o x.collapsed",
        "check thr.data",
        "show thr.data/data",
        "info thr.data/data",
        "report thr.data/data -o x.html",
        "flamegraph thr.data/data -o x.svg",
        "merge thr.data/data -o x.collapsed",
        "convert thr.data/data -o x.collapsed",
        "check thr.data/data",
    ] {
        let output = folder.run(command);
        assert!(!output.status.success(), "{command}");
        let texts = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
        assert!(texts.contains("perf record --threads"), "{command}: {texts}");
        assert!(texts.contains("perf script -i DIRECTORY"), "{command}: {texts}");
    }
}

/// Returns the exclusive and inclusive hits of a program's own functions.
fn hits_of(folder: &Folder, input: &str) -> Vec<(String, u64, u64)> {
    let shown = folder.run(&format!("show {input} --json"));
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    let methods = shown["methods"].as_array().unwrap().iter().map(|row| {
        (
            row["method"].as_str().unwrap().to_string(),
            row["exclusive"].as_u64().unwrap(),
            row["inclusive"].as_u64().unwrap(),
        )
    });
    let mut methods: Vec<_> = methods.filter(|(name, ..)| ["mix", "area", "main"].contains(&&**name)).collect();
    methods.sort();
    methods
}

#[test]
fn recordings_of_every_form_agree_with_perf_script() {
    let folder = Folder::new("perf-data");
    folder.write("spin.c", PROGRAM);
    let at = &folder.0;
    // Go's compiler needs the first lines of functions.
    if !runs("cc", &["-O1", "-g", "-fno-omit-frame-pointer", "spin.c", "-o", "spin"], at) {
        let _ = std::io::Write::write_all(&mut std::io::stderr(), b"SKIPPED: no C compiler\n");
        return;
    }
    let shell = |command: &str| runs("sh", &["-c", command], at);
    for record in [
        "perf record -q -F 199 -e cpu-clock -g -o NAME ./spin",
        "perf record -q -F 199 -e cpu-clock -o NAME ./spin",
        "perf record -q -F 199 -e cpu-clock -g -o - ./spin > NAME",
        "perf record -q -F 199 -e cpu-clock -g -z -o NAME ./spin",
        "perf record -q -F 199 -e cpu-clock,task-clock -g -o NAME ./spin",
    ] {
        let _ = std::fs::remove_file(at.join("perf.data"));
        if !shell(&record.replace("NAME", "perf.data")) {
            let message = format!("SKIPPED: {record} (Debian: linux-perf; kernel.perf_event_paranoid)\n");
            let _ = std::io::Write::write_all(&mut std::io::stderr(), message.as_bytes());
            continue;
        }
        folder.write("spin.script", printed("perf", &["script", "-i", "perf.data"], at));
        let expected = hits_of(&folder, "spin.script");
        assert!(expected.iter().any(|(name, ..)| name == "mix"), "{record}: {expected:?}");
        assert_eq!(hits_of(&folder, "perf.data"), expected, "{record}");
        let info = folder.run("info perf.data");
        let info = String::from_utf8_lossy(&info.stdout).into_owned();
        assert!(info.contains("event cpu-clock") && info.contains("perf record"), "{record}: {info}");
        folder.ok("check perf.data");
        folder.ok("flamegraph perf.data -o spin.svg");
        assert!(folder.read("spin.svg").contains("<title>mix: "), "{record}");
        folder.ok("merge perf.data -o default.pgo");
    }
}

#[test]
fn a_program_that_was_built_again_is_not_used() {
    let folder = Folder::new("perf-rebuilt");
    folder.write("spin.c", PROGRAM);
    let at = &folder.0;
    let build = ["-O1", "-Wl,--build-id", "-fno-omit-frame-pointer", "spin.c", "-o", "spin"];
    let record = ["record", "-q", "-F", "199", "-e", "cpu-clock", "-g", "-o", "perf.data", "./spin"];
    if !runs("cc", &build, at) || !runs("perf", &record, at) {
        let _ = std::io::Write::write_all(&mut std::io::stderr(), b"SKIPPED: perf cannot record here\n");
        return;
    }
    std::fs::rename(at.join("spin"), at.join("before")).unwrap();
    folder.write("spin.c", PROGRAM.replace("31", "37"));
    assert!(runs("cc", &build, at));
    // perf may have stored a copy of the program.
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
        let output = command.args(arguments).env("HOME", at).current_dir(at).output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let warnings = run(&["convert", "perf.data", "-o", "a.collapsed"]);
    assert!(warnings.contains("has build id ") && warnings.contains(" ran with "), "{warnings}");
    assert!(!folder.read("a.collapsed").contains("mix"));
    let warnings = run(&["convert", "perf.data", "--binary", "before", "-o", "b.collapsed"]);
    assert!(!warnings.contains("build id"), "{warnings}");
    assert!(folder.read("b.collapsed").contains(";mix"));
}

/// Debug info keeps a function that the linker removed, with code at address 0.
#[test]
fn functions_that_the_linker_removed_hide_no_inlined_ones() {
    // A namespace after the removed function is not in it.
    const INLINED: &str = "
        volatile long sink;
        namespace part {
            __attribute__((always_inline)) static inline void inner(long n) { for (long i = 0; i < n; i++) sink += i; }
            __attribute__((noinline)) void outer(long n) { inner(n); sink += 1; }
        }
        int main() { part::outer(200000000); return 0; }
    ";
    let folder = Folder::new("perf-removed");
    let body = "x = x * 7 + y; y ^= x >> 3; ".repeat(3000);
    let removed = |name: &str| format!("int {name}(int x, int y) {{ {body} return x + y; }}\n");
    folder.write("removed.cpp", removed("first"));
    folder.write("spin.cpp", removed("second") + INLINED);
    let at = &folder.0;
    let flags = ["-O1", "-g", "-fno-omit-frame-pointer", "-ffunction-sections", "-Wl,--gc-sections"];
    let build = [&flags[..], &["removed.cpp", "spin.cpp", "-o", "spin"]].concat();
    let record = ["record", "-q", "-F", "199", "-e", "cpu-clock:u", "-g", "-o", "perf.data", "./spin"];
    if !runs("clang++-22", &build, at) || !runs("perf", &record, at) {
        let _ = std::io::Write::write_all(&mut std::io::stderr(), b"SKIPPED: perf cannot record here\n");
        return;
    }
    folder.ok("convert perf.data --binary spin -o a.collapsed");
    let stacks = folder.read("a.collapsed");
    assert!(stacks.contains("outer;part::inner ") && !stacks.contains("outer "), "{stacks}");
}

/// Inlined functions are in the split debug info.
#[test]
fn missing_files_of_split_debug_info_are_named() {
    let folder = Folder::new("perf-split");
    folder.write("spin.c", PROGRAM);
    let at = &folder.0;
    let build = ["-O1", "-g", "-gsplit-dwarf", "-fno-omit-frame-pointer", "-c", "spin.c", "-o", "spin.o"];
    let record = ["record", "-q", "-F", "199", "-e", "cpu-clock:u", "-g", "-o", "perf.data", "./spin"];
    if !runs("clang-22", &build, at) || !runs("clang-22", &["spin.o", "-o", "spin"], at) || !runs("perf", &record, at) {
        let _ = std::io::Write::write_all(&mut std::io::stderr(), b"SKIPPED: perf cannot record here\n");
        return;
    }
    let convert = || folder.ok("convert perf.data --binary spin -o a.collapsed");
    assert!(!convert().contains("inlined functions are missing"));
    std::fs::remove_file(at.join("spin.dwo")).unwrap();
    let warnings = convert();
    assert!(warnings.contains("inlined functions are missing") && warnings.contains("spin.dwo"), "{warnings}");
}

#[test]
fn a_stripped_program_has_the_functions_of_its_separate_debug_file() {
    for layout in ["separate-code", "noseparate-code"] {
        check_debug_file(layout);
    }
}

fn check_debug_file(layout: &str) {
    let folder = Folder::new(&format!("perf-stripped-{layout}"));
    folder.write("spin.c", PROGRAM);
    let at = &folder.0;
    let linked = format!("-Wl,--build-id=0xa1b2c3d4,-z,{layout}");
    let build = ["-O1", "-g", &linked, "-fno-omit-frame-pointer", "spin.c", "-o", "full"];
    let record = ["record", "-q", "-F", "199", "-e", "cpu-clock", "-g", "-o", "perf.data", "./spin"];
    if !runs("cc", &build, at)
        || !runs("objcopy", &["--only-keep-debug", "full", "spin.debug"], at)
        || !runs("strip", &["full", "-o", "spin"], at)
        || !runs("perf", &record, at)
    {
        let _ = std::io::Write::write_all(&mut std::io::stderr(), b"SKIPPED: perf cannot record here\n");
        return;
    }
    // perf may have stored a copy of the program.
    let run = |command: &str| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_profbridge"));
        let output = program.args(command.split(' ')).env("HOME", at).current_dir(at).output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let path = std::fs::canonicalize(at.join("spin")).unwrap();
    let warning = format!("{}: the functions of ", path.display());
    let warnings = run("convert perf.data -o a.collapsed");
    assert!(warnings.contains(&warning) && warnings.contains("are unknown: it has no symbol table"), "{warnings}");
    assert!(!folder.read("a.collapsed").contains("mix"));
    run("convert perf.data --binary full -o full.collapsed");
    assert!(folder.read("full.collapsed").contains(";mix"));
    for binaries in ["--binary spin.debug", "--binary spin --binary spin.debug", "--binary spin.debug --binary spin"] {
        let warnings = run(&format!("convert perf.data {binaries} -o b.collapsed"));
        assert!(!warnings.contains(&warning) && !warnings.contains("no samples of this program"), "{warnings}");
        assert_eq!(folder.read("b.collapsed"), folder.read("full.collapsed"), "{binaries}");
    }
    // perf stores no build ids of programs that only call others.
    assert!(runs(
        "perf",
        &["record", "-B", "-q", "-F", "199", "-e", "cpu-clock", "-g", "-o", "ids.data", "./spin"],
        at
    ));
    for binary in ["spin.debug", "full"] {
        let warnings = run(&format!("convert ids.data --binary {binary} -o b.collapsed"));
        assert!(!warnings.contains(&warning) && !warnings.contains("no samples of this program"), "{warnings}");
        assert!(folder.read("b.collapsed").contains(";mix"));
    }
    // perf stored a copy before the program was stripped.
    let cache = at.join(".debug/.build-id/a1/b2c3d4");
    std::fs::create_dir_all(&cache).unwrap();
    std::fs::copy(at.join("full"), cache.join("elf")).unwrap();
    let warnings = run("convert perf.data -o c.collapsed");
    assert!(!warnings.contains(&warning), "{warnings}");
    assert_eq!(folder.read("c.collapsed"), folder.read("full.collapsed"));
    std::fs::remove_dir_all(at.join(".debug")).unwrap();
    // Its segments do not say where the program was mapped.
    std::fs::rename(at.join("spin"), at.join("moved")).unwrap();
    let warnings = run("convert perf.data --binary spin.debug -o c.collapsed");
    assert!(warnings.contains("spin.debug has no code, and the program itself was not found: "), "{warnings}");
    for command in ["convert perf.data --binary moved", "merge perf.data --binary moved"] {
        let message = run(&format!("{command} --debug-binary spin.debug -o d.collapsed"));
        assert!(message.contains("--debug-binary is for sample profiles"), "{message}");
        assert!(message.contains("hint: for stacks, pass the debug file with --binary"), "{message}");
    }
}
