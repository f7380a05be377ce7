//! Profiles with calling contexts, from samples with call chains.

use crate::genuine::{GENUINE, assert_same, assert_same_profile, run};
use crate::plain::instructions;
use crate::recording::{RECORDER, can_record, compile, perf_data, record, record_chains, source};
use crate::schema::assert_has_schema;
use crate::support::{Folder, available, errors};
use serde_json::Value;

/// Compilers, sources and programs: inlining, recursion, tail calls, function pointers.
const PROGRAMS: [(&str, &str, &str); 5] = [
    ("clang-22 -O2 -g -fdebug-info-for-profiling", "calls.c", "calls"),
    ("clang-22 -O3 -g -no-pie -funique-internal-linkage-names", "calls.c", "fixed"),
    ("clang-22 -O1 -gdwarf-4 -gsplit-dwarf", "work.c", "split"),
    ("gcc -O2 -g", "calls.c", "gcc"),
    ("clang-22 --driver-mode=g++ -O2 -g -fbasic-block-sections=all", "work.cpp", "sections"),
];

/// Numbers of branches between samples, and of those that a sample has.
const INTERVALS: [(u64, u64); 3] = [(61, 16), (17, 32), (5, 8)];

/// The options that keep contexts as they are.
const RAW: &str = "--csspgo-preinliner=0 --gen-cs-nested-profile=0 --csprof-merge-cold-context=0";

const OPTIONS: [&str; 17] = [
    "--skip-symbolization",
    "--csspgo-preinliner=0 --gen-cs-nested-profile=0 --csprof-max-context-depth=2",
    "--format=text --csspgo-preinliner=0 --compress-recursion=0 --show-density",
    "--format=text --csspgo-preinliner=0 --gen-cs-nested-profile=0 --trim-cold-profile --csprof-max-cold-context-depth=2",
    "--format=text",
    "--trim-cold-profile --update-total-samples",
    "--format=text --use-context-cost-for-preinliner=0 --gen-cs-nested-profile=0",
    "--gen-cs-nested-profile=0 --sample-profile-hot-inline-threshold=2 --sample-profile-cold-inline-threshold=45",
    "--gen-cs-nested-profile=0 --sample-profile-inline-growth-limit=1 --sample-profile-inline-limit-min=9 \
     --sample-profile-inline-limit-max=20",
    "--gen-cs-nested-profile=0 --csspgo-preinliner-multiplier-for-previous-inlining=0",
    "--gen-cs-nested-profile=0 --profile-summary-cutoff-cold=900000 --profile-summary-contextless=0",
    "--trim-cold-profile --profile-summary-cutoff-hot=500000 --profile-summary-cutoff-cold=0",
    "--format=text --csprof-merge-cold-context --profile-summary-cutoff-hot=300000",
    "--format=text --csprof-merge-cold-context --profile-summary-cutoff-hot=0 --profile-summary-cold-count=9",
    "--profile-summary-cutoff-hot=0 --profile-summary-hot-count=99 --trim-cold-profile",
    "--generate-merged-base-profiles",
    "--extbinary-write-vtable-type-prof",
];

const FRAMES: &str = "-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer";

fn folder(test: &str, tools: &[&str]) -> Option<Folder> {
    let folder = available(test, &[&RECORDER[..], tools].concat()).then(Folder::new)?;
    can_record(&folder).then_some(folder)
}

#[test]
fn contexts_are_those_of_llvm_profgen() {
    let Some(folder) = folder("calling contexts", &["clang-22", "gcc", GENUINE]) else { return };
    for (compiler, source, program) in PROGRAMS {
        compile(&folder, &format!("{compiler} {FRAMES}"), source, program);
        for (interval, window) in INTERVALS {
            let recorded = record_chains(&folder, program, interval, window);
            for options in OPTIONS.iter().chain([&RAW]) {
                assert_same(&folder, &format!("--perfscript={recorded} --binary={program} {options}"));
            }
            let (_, raw) =
                run(&folder, &[GENUINE], &format!("--ps={recorded} --binary={program} --skip-symbolization"));
            folder.write("raw", raw.expect("counters by context"));
            for options in OPTIONS.iter().skip(1).chain([&RAW]) {
                assert_same(&folder, &format!("--unsymbolized-profile=raw --binary={program} {options}"));
            }
        }
    }
}

/// The pre-inliner of LLVM 16 decides otherwise. The program has calls for which this matters.
#[test]
fn contexts_of_other_releases_are_those_of_their_llvm_profgen() {
    for release in [16, 19] {
        let tool = format!("llvm-profgen-{release}");
        let clang = format!("clang-{release}");
        let Some(folder) = folder("contexts of other releases", &[&clang, &tool]) else { continue };
        for probes in ["", "-fpseudo-probe-for-profiling"] {
            let compiler = format!("{clang} --driver-mode=g++ -O2 -g -fdebug-info-for-profiling");
            compile(&folder, &format!("{compiler} {probes} {FRAMES}"), "templates.cpp", "prog");
            let recorded = record_chains(&folder, "prog", 5, 8);
            let is_known =
                |options: &&&str| !options.contains("vtable") && (release > 16 || !options.contains("multiplier"));
            let known = OPTIONS.iter().filter(is_known);
            for options in known.chain([&RAW, &"--csspgo-replay-preinline --format=text"]) {
                assert_same_profile(&folder, &tool, &format!("--perfscript={recorded} --binary=prog {options}"));
            }
        }
    }
}

/// The place of a call from a library is unknown. LLVM looks it up at address 1, where removed functions are.
#[test]
fn calls_from_libraries_are_those_of_llvm_profgen() {
    let Some(folder) = folder("calls from libraries", &["clang-22", GENUINE]) else { return };
    let mut callers = 0;
    for debug_info in ["-gdwarf-4 -gdwarf-aranges", "-gdwarf-4", "-gdwarf-5 -gdwarf-aranges"] {
        let sections = "-ffunction-sections -Wl,--gc-sections";
        let unused = source("unused.c");
        compile(&folder, &format!("clang-22 -O2 {debug_info} {sections} {FRAMES} {unused}"), "calls.c", "prog");
        let recorded = record_chains(&folder, "prog", 5, 8);
        let options = format!("--perfscript={recorded} --binary=prog --format=text --ignore-stack-samples");
        assert_same(&folder, &options);
        // The order of some lines is that of a hash table.
        let details = format!("--perfscript={recorded} --binary=prog --show-detailed-warning");
        let said = assert_same_profile(&folder, GENUINE, &details).map(|output| {
            let mut lines: Vec<String> = errors(&output).lines().map(str::to_string).collect();
            lines.sort_unstable();
            lines
        });
        assert_eq!(said[1], said[0]);
        let truncated = "warning: Profile context truncated due to missing probe for call instruction at 0x1";
        assert!(said[0].iter().any(|line| line == truncated), "{:?}", said[0]);
        let (_, profile) = run(&folder, &[GENUINE], &options);
        let profile = String::from_utf8(profile.expect("it is written")).expect("it is text");
        callers += usize::from(profile.contains("unused_product:0:0"));
    }
    assert!(callers > 0, "no removed function is found at address 1");
}

/// perf 6 prints offsets in files for the frames, in front of branches with files.
#[test]
fn text_of_perf_with_all_fields_has_the_contexts() {
    let tools = ["clang-22", "perf"];
    let Some(folder) = folder("text of perf with all fields", &tools) else { return };
    compile(&folder, &format!("clang-22 -O2 -g {FRAMES}"), "calls.c", "prog");
    let recorded = record_chains(&folder, "prog", 17, 16);
    let text = std::fs::read_to_string(folder.path(&recorded)).expect("it is text");
    folder.write("prog.data", perf_data(&text, 5));
    for contexts in ["", "--contexts"] {
        folder.run(&format!("profbridge convert {recorded} --binary prog -o text.prof {contexts} --force"));
        let expected = std::fs::read(folder.path("text.prof")).expect("it is written");
        for fields in ["+brstack", "comm,ip,sym,symoff,dso,brstack"] {
            let script = folder.run(&format!("perf script -i prog.data --show-mmap-events -F {fields}"));
            folder.write("all.txt", script.stdout);
            folder.run(&format!("profbridge convert all.txt --binary prog -o all.prof {contexts} --force"));
            let found = std::fs::read(folder.path("all.prof")).expect("it is written");
            assert!(found == expected, "{fields} {contexts}");
        }
        // Without their files, offsets do not say where frames are.
        let script = folder.run("perf script -i prog.data --show-mmap-events -F ip,brstack");
        let has_offsets = !String::from_utf8_lossy(&script.stdout).contains("\t    5555");
        folder.write("offsets.txt", script.stdout);
        let command = format!("profbridge convert offsets.txt --binary prog -o all.prof {contexts} --force");
        let warned = errors(&folder.run(&command)).contains("could not be found in the program");
        assert_eq!(warned, has_offsets, "{contexts}");
    }
}

/// LLVM takes `lock` for an instruction. The code for one thread jumps behind it.
#[test]
fn locks_count_as_instructions() {
    let Some(folder) = folder("code with locks", &["clang-22", GENUINE]) else { return };
    compile(&folder, &format!("clang-22 -O2 -g {FRAMES}"), "locks.c", "locks");
    let recorded = record_chains(&folder, "locks", 7, 16);
    for options in ["--skip-symbolization", RAW, "--format=text", "--format=text --ignore-stack-samples"] {
        assert_same(&folder, &format!("--perfscript={recorded} --binary=locks {options}"));
    }
}

#[test]
fn incomplete_text_has_the_messages_of_llvm_profgen() {
    let Some(folder) = folder("truncated chains", &["clang-22", GENUINE]) else { return };
    compile(&folder, &format!("clang-22 -O2 -g {FRAMES}"), "calls.c", "prog");
    let recorded = record_chains(&folder, "prog", 17, 16);
    let text = std::fs::read_to_string(folder.path(&recorded)).expect("it is text");
    let unmapped: Vec<&str> = text.lines().filter(|line| !line.contains("MMAP")).collect();
    folder.write("unmapped.txt", unmapped.join("\n") + "\n");
    assert_same(&folder, "--perfscript=unmapped.txt --binary=prog --format=text");
    let ends: Vec<usize> = text.match_indices("\n 0x").map(|(at, _)| at).collect();
    for end in &ends[ends.len() - 20..] {
        folder.write("cut.txt", &text[..=*end]);
        assert_same(&folder, "--perfscript=cut.txt --binary=prog --format=text");
    }
}

/// Programs with pseudo-probes: without debug info, copies of code, tail calls.
const PROBED: [(&str, &str, &str); 4] = [
    ("clang-22 -O2 -g", "calls.c", "probed"),
    ("clang-22 -O3 -g -no-pie -funique-internal-linkage-names -mllvm -unroll-count=4", "work.c", "copies"),
    ("clang-22 -O2", "calls.c", "bare"),
    ("clang-22 -O2 -g", "tails.c", "tails"),
];

#[test]
fn contexts_of_probes_are_those_of_llvm_profgen() {
    let Some(folder) = folder("calling contexts of probes", &["clang-22", GENUINE]) else { return };
    for (compiler, source, program) in PROBED {
        compile(&folder, &format!("{compiler} -fpseudo-probe-for-profiling {FRAMES}"), source, program);
        let recorded = record_chains(&folder, program, 17, 32);
        let of_probes =
            [RAW, "--csprof-max-unsymbolized-context-depth=1", "--infer-missing-frames=0", "--use-dwarf-correlation"];
        for options in OPTIONS.iter().chain(&of_probes) {
            assert_same(&folder, &format!("--perfscript={recorded} --binary={program} {options}"));
        }
    }
}

/// Which frames are missing depends on the context that is looked at first.
#[test]
fn missing_frames_in_a_cycle_of_tail_calls_are_those_of_llvm_profgen() {
    let Some(folder) = folder("a cycle of tail calls", &["clang-22", "objdump", GENUINE]) else { return };
    compile(&folder, &format!("clang-22 -O2 -g -no-pie -fpseudo-probe-for-profiling {FRAMES}"), "cycle.c", "prog");
    let code = |function: &str| instructions(&folder, "prog", function);
    let start = |function: &str| code(function)[0].0;
    let jump = |function: &str| code(function).iter().find(|(_, text)| text.starts_with("jmp")).expect("a tail call").0;
    let (first, second, leave) = (start("first"), start("second"), start("leave"));
    let main = code("main");
    let call = |callee: &str| {
        let at = main.iter().position(|(_, text)| text.starts_with("call") && text.contains(&format!("<{callee}>")));
        let at = at.expect("a call");
        (main[at].0, main[at + 1].0)
    };
    let ((call_first, after_first), (call_second, after_second)) = (call("first"), call("second"));
    let leaves = code("leave").iter().find(|(_, text)| text.starts_with("ret")).expect("a return").0;
    let (to_leave, to_second, to_first) = ((jump("second"), leave), (jump("first"), second), (jump("second"), first));
    let mut text = "PERF_RECORD_MMAP2 7/7: [0x401000(0x1000) @ 0x1000 08:01 1 0]: r-xp /prog\n".to_string();
    for (after, branches) in [
        (after_first, vec![to_leave, to_second, (call_first, first)]),
        (after_second, vec![to_leave, to_second, to_first, (call_second, second)]),
    ] {
        let branches = [(leaves, after)].into_iter().chain(branches);
        let branches: String = branches.map(|(from, to)| format!(" {from:#x}/{to:#x}/P/-/-/1")).collect();
        text += &format!("\n\t{after:x}\n{branches}\n\n");
    }
    folder.write("samples.txt", text);
    let options = "--perfscript=samples.txt --binary=prog --format=text --csspgo-preinliner=0 --gen-cs-nested-profile=0 \
                   --csprof-merge-cold-context=0";
    let (_, expected) = run(&folder, &[GENUINE], options);
    let expected = String::from_utf8(expected.expect("it is written")).expect("it is text");
    assert!(expected.contains("[main:2 @ first:2 @ second:2 @ leave]"), "{expected}");
    for _ in 0..8 {
        assert_same(&folder, options);
    }
}

#[test]
fn a_written_profile_can_be_finished_later() {
    let Some(folder) = folder("finished contexts", &["clang-22", GENUINE]) else { return };
    for (program, probes) in [("lines", ""), ("probes", "-fpseudo-probe-for-profiling")] {
        compile(&folder, &format!("clang-22 -O2 -g {probes} {FRAMES}"), "calls.c", program);
        let recorded = record_chains(&folder, program, 17, 16);
        let (_, whole) = run(&folder, &[GENUINE], &format!("--perfscript={recorded} --binary={program} {RAW}"));
        folder.write("whole.prof", whole.expect("it is written"));
        for options in &OPTIONS[3..] {
            assert_same(&folder, &format!("--llvm-sample-profile=whole.prof --binary={program} {options}"));
        }
    }
}

/// The pre-inliner moves the record of a call to a caller without one, and then merges the calls below it.
#[test]
fn merged_recursion_is_that_of_llvm_profgen() {
    let Some(folder) = folder("recursive contexts", &["clang-22", GENUINE]) else { return };
    compile(&folder, &format!("clang-22 -O2 -g -fpseudo-probe-for-profiling {FRAMES}"), "calls.c", "prog");
    let mut profile = "[main]:1:1\n 1: 1\n !CFGChecksum: 9\n".to_string();
    for (calls, count) in [(0, 2), (1, 4), (6, 8), (7, 16), (8, 32)] {
        let context = "rec:4 @ ".repeat(calls);
        profile += &format!("[main:13 @ {context}rec]:{}:0\n 1: {count}\n 3: {count}\n !CFGChecksum: 7\n", 2 * count);
    }
    folder.write("whole.prof", profile);
    let options = "--llvm-sample-profile=whole.prof --binary=prog --format=text --gen-cs-nested-profile=0";
    assert_same(&folder, options);
    let (_, written) = run(&folder, &[GENUINE], options);
    let written = String::from_utf8(written.expect("it is written")).expect("it is text");
    assert!(written.contains("[rec]:60:0\n"), "{written}");
}

#[test]
fn recordings_have_the_contexts_of_their_text() {
    let Some(folder) = folder("contexts of recordings", &["clang-22"]) else { return };
    compile(&folder, &format!("clang-22 -O2 -g {FRAMES}"), "calls.c", "prog");
    let recorded = record_chains(&folder, "prog", 17, 16);
    let text = std::fs::read_to_string(folder.path(&recorded)).expect("it is text");
    folder.write("prog.data", perf_data(&text, 5));
    let link = folder.path("llvm-profgen");
    let _ = std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_profbridge"), &link);
    let link = [link.to_str().expect("the path of the folder is text")];
    let options = format!("--binary=prog --format=text {RAW}");
    let (_, from_text) = run(&folder, &link, &format!("--perfscript={recorded} {options}"));
    let (_, from_data) = run(&folder, &link, &format!("--perfdata=prog.data {options}"));
    let text = String::from_utf8(from_text.clone().expect("it is written")).expect("it is text");
    assert!(text.contains("[main:") && text.contains(" @ twice:"), "{text}");
    assert!(from_text == from_data);
}

#[test]
fn clang_uses_contexts_without_a_warning() {
    let Some(folder) = folder("clang uses contexts", &["clang-22"]) else { return };
    let link = folder.path("llvm-profgen");
    let _ = std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_profbridge"), &link);
    let link = [link.to_str().expect("the path of the folder is text")];
    for (kind, options) in [
        ("-fdebug-info-for-profiling", ""),
        ("-fdebug-info-for-profiling", "--gen-cs-nested-profile=0"),
        ("-fpseudo-probe-for-profiling", ""),
        ("-fpseudo-probe-for-profiling", "--gen-cs-nested-profile=0"),
    ] {
        let compiler = format!("clang-22 -O2 -g {kind} {FRAMES}");
        compile(&folder, &compiler, "calls.c", "prog");
        let recorded = record_chains(&folder, "prog", 17, 16);
        let (_, profile) = run(&folder, &link, &format!("--perfscript={recorded} --binary=prog {options}"));
        folder.write("app.prof", profile.expect("it is written"));
        let uses = format!("-fprofile-sample-use={} -Werror", folder.path("app.prof").display());
        compile(&folder, &format!("{compiler} {uses}"), "calls.c", "again");
        folder.run("./again");
    }
}

#[test]
fn convert_reads_unsymbolized_contexts() {
    let Some(folder) = folder("unsymbolized contexts", &["clang-22", GENUINE]) else { return };
    compile(&folder, &format!("clang-22 -O2 -g -fdebug-info-for-profiling {FRAMES}"), "calls.c", "prog");
    let recorded = record_chains(&folder, "prog", 17, 16);
    let (_, raw) = run(&folder, &[GENUINE], &format!("--perfscript={recorded} --binary=prog --skip-symbolization"));
    folder.write("raw.txt", raw.expect("it is written"));
    let (_, expected) = run(&folder, &[GENUINE], "--unsymbolized-profile=raw.txt --binary=prog");
    folder.run("profbridge convert raw.txt --binary prog --contexts -o ours.prof");
    assert!(std::fs::read(folder.path("ours.prof")).ok() == expected);
    folder.write("twice.txt", std::fs::read(folder.path("raw.txt")).expect("it exists"));
    folder.run("profbridge convert raw.txt twice.txt --binary prog --contexts -o double.prof");
    let shown = |name: &str| folder.run(&format!("profbridge info {name} --json")).stdout;
    let total = |name: &str| {
        let document: Value = serde_json::from_slice(&shown(name)).expect("it prints JSON");
        let facts = document["files"][0]["parts"][0]["facts"].as_array().expect("a list").clone();
        let total = facts.iter().find(|fact| fact["label"] == "total count").expect("it has a total");
        total["value"].as_str().and_then(|total| total.parse::<u64>().ok()).expect("a number")
    };
    assert_eq!(total("double.prof"), 2 * total("ours.prof"));
    for (line, expected) in [
        ("convert raw.txt --binary prog -o no.prof", "make a profile with calling contexts"),
        (&format!("convert raw.txt {recorded} --binary prog --contexts -o no.prof"), "convert each kind by itself"),
        ("merge raw.txt --binary prog --contexts --partial -o no.part", "convert it, and merge the profile"),
    ] {
        let (_, message) = folder.failure(&format!("profbridge {line}"));
        assert!(message.contains(expected), "{message}");
    }
}

/// `convert` makes the profile of `llvm-profgen` without options, from text and from a recording.
#[test]
fn convert_makes_contexts_on_request() {
    let Some(folder) = folder("contexts of convert", &["clang-22", GENUINE]) else { return };
    for kind in ["-fdebug-info-for-profiling", "-fpseudo-probe-for-profiling"] {
        compile(&folder, &format!("clang-22 -O2 -g {kind} {FRAMES}"), "calls.c", "prog");
        let recorded = record_chains(&folder, "prog", 17, 16);
        let (_, expected) = run(&folder, &[GENUINE], &format!("--perfscript={recorded} --binary=prog"));
        let text = std::fs::read_to_string(folder.path(&recorded)).expect("it is text");
        folder.write("prog.data", perf_data(&text, 5));
        for input in [recorded.as_str(), "prog.data"] {
            let line = format!("profbridge convert {input} --binary prog --contexts -o ours.prof --json");
            let document: Value = serde_json::from_slice(&folder.run(&line).stdout).expect("it prints JSON");
            assert_has_schema(&document, "convert-1.json");
            assert!(document["samples"][0]["contexts"]["contexts"].as_u64() > Some(5), "{document}");
            let ours = std::fs::read(folder.path("ours.prof")).expect("it is written");
            assert!(ours == expected.clone().expect("it is written"), "{kind}, {input}");
        }
    }
    // Without contexts, call chains are lost.
    let recorded = record_chains(&folder, "prog", 17, 16);
    let text = std::fs::read_to_string(folder.path(&recorded)).expect("it is text");
    folder.write("prog.data", perf_data(&text, 5));
    for input in [recorded.as_str(), "prog.data"] {
        let line = format!("profbridge convert {input} --binary prog -o ours.prof");
        let output = folder.run(&format!("{line} --json"));
        let document: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
        assert_has_schema(&document, "convert-1.json");
        let chains = document["samples"][0]["read"]["call_chains"].as_u64().expect("a number");
        assert!(chains > 5, "{document}");
        assert_eq!(document["losses"][0]["count"], chains, "{document}");
        let note = format!("ours.prof: dropped {chains} call chains; --contexts makes a profile with calling contexts");
        assert!(errors(&output).contains(&note), "{}", errors(&output));
        let (_, message) = folder.failure(&format!("{line} --strict"));
        assert!(message.contains(&format!("some data cannot be converted: {chains} call chains")), "{message}");
        let output = folder.run(&format!("{line} --contexts"));
        assert!(!errors(&output).contains("dropped"), "{}", errors(&output));
    }
    let without = record(&folder, "prog");
    let line = format!("profbridge convert {} --binary prog --contexts -o ours.prof", without.display());
    let (_, message) = folder.failure(&line);
    assert!(message.contains("no sample has branch records and a call chain"), "{message}");
}
