//! Tests of `convert` with recordings, and of compilers with its output.

use crate::recording::{RECORDER, can_record, compile, perf_data, perf_record, record, record_chains, source};
use crate::schema::assert_has_schema;
use crate::support::{Folder, available, errors};
use serde_json::Value;
use std::process::Output;

const FRAMES: &str = "-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer";

/// Standard output.
fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Creates a directory with a recorder, if all tools are installed.
fn folder(test: &str, tools: &[&str]) -> Option<Folder> {
    let tools = [&RECORDER[..], tools].concat();
    let folder = available(test, &tools).then(Folder::new)?;
    can_record(&folder).then_some(folder)
}

#[test]
fn recordings_add_up_and_the_document_counts_samples() {
    let Some(folder) = folder("recordings add up", &["clang-22"]) else { return };
    compile(&folder, "clang-22 -O2 -g -fdebug-info-for-profiling", "work.c", "prog");
    record(&folder, "prog");
    let once = folder.run("profbridge convert prog.txt --binary prog -o once.prof --json");
    let twice = folder.run("profbridge convert prog.txt prog.txt --binary prog -o twice.prof --json");
    let [once, twice] = [once, twice].map(|output| -> Value {
        let document = serde_json::from_slice(&output.stdout).expect("it prints JSON");
        assert_has_schema(&document, "convert-1.json");
        document
    });
    let samples = |document: &Value| document["samples"][0]["read"]["samples"].as_u64().expect("a number");
    assert!(samples(&once) > 100);
    assert_eq!(samples(&twice), 2 * samples(&once));
    assert_eq!(once["samples"][0]["read"]["is_mapped"], true);
    assert_eq!(once["samples"][0]["runs"]["impossible"], 0);
}

#[test]
fn short_names_in_debug_info_are_announced() {
    const SOURCE: &str = "
        volatile int sink;
        struct Adder {
            int value;
            __attribute__((always_inline)) int step(int x) const { return x % 7 == 3 ? x + value : x * 3; }
            __attribute__((noinline)) int both(int x) { int r = step(x) + step(x + 1); sink = r; return r; }
        };
        int main() {
            Adder adder{3};
            for (int i = 0; i < 3000; i++) adder.both(i);
        }
    ";
    let Some(folder) = folder("short names in debug info", &["clang-22"]) else { return };
    folder.write("adder.cpp", SOURCE);
    for (flags, is_short) in [("-g1", true), ("-g", false), ("-g1 -fdebug-info-for-profiling", false)] {
        folder.run(&format!("clang-22 -O2 {flags} adder.cpp -o prog"));
        record(&folder, "prog");
        let output = folder.run("profbridge convert prog.txt --binary prog -o out.proftext");
        // One is not inlined, and one is.
        for said in ["debug info has no mangled name of 2 functions", "no line of the declaration of 2 functions"] {
            assert_eq!(errors(&output).contains(said), is_short, "{flags}: {}", errors(&output));
        }
        let profile = std::fs::read_to_string(folder.path("out.proftext")).expect("it is text");
        assert_eq!(profile.contains("Adder"), !is_short, "{flags}: {profile}");
    }
}

/// Profiles count lines from the declaration of the function.
#[test]
fn functions_without_the_line_of_their_declaration_are_announced() {
    const SOURCE: &str = "
        volatile int sink;


        static inline int step(int x) { return x % 7 == 3 ? x + 5 : x * 3; }
        __attribute__((noinline)) int both(int x) {
            int r = step(x) + step(x + 1);
            sink = r;
            return r;
        }
        int main() {
            for (int i = 0; i < 3000; i++) both(i);
        }
    ";
    let Some(folder) = folder("lines of declarations", &["clang-22"]) else { return };
    folder.write("steps.c", SOURCE);
    for (flags, lacks) in [("-g1", true), ("-g", false), ("-g1 -fdebug-info-for-profiling", false)] {
        folder.run(&format!("clang-22 -O2 {flags} steps.c -o prog"));
        record(&folder, "prog");
        let output = folder.run("profbridge convert prog.txt --binary prog -o out.proftext");
        let said = errors(&output).contains("debug info has no line of the declaration of 2 functions");
        assert_eq!(said, lacks, "{flags}: {}", errors(&output));
        let info = printed(&folder.run("profbridge info prog"));
        assert_eq!(info.contains("functions without the line of their declaration"), lacks, "{flags}: {info}");
        let fit = printed(&folder.run("profbridge fit out.proftext --against prog"));
        let (row, note) = ("not compared                         2  100.00 %", "without the line of their declaration");
        assert_eq!([fit.contains(row), fit.contains(note)], [lacks; 2], "{flags}: {fit}");
    }
}

#[test]
fn debug_info_that_programs_share_is_named() {
    let Some(folder) = folder("shared debug info", &["clang-22", "dwz"]) else { return };
    let source = folder.path("step.c").display().to_string();
    let functions: String =
        (0..40).map(|at| format!("static int f{at}(int a, int b) {{ return a * {at} + b; }}\n")).collect();
    let calls: String = (0..40).map(|at| format!("sink += f{at}(i, {at});")).collect();
    folder.write(
        "step.c",
        format!("{functions}volatile int sink; int main() {{ for (int i = 0; i < 3000; i++) {{ {calls} }} }}"),
    );
    folder.run(&format!("clang-22 -O2 -g -gdwarf-4 {source} -o prog"));
    folder.run(&format!("clang-22 -O2 -g -gdwarf-4 {source} -o other"));
    folder.run("dwz -m common.debug prog other");
    record(&folder, "prog");
    let info = printed(&folder.run("profbridge info prog"));
    assert!(info.contains("not for functions whose debug info is in a shared file (dwz -m)"), "{info}");
    let (_, message) = folder.failure("profbridge convert prog.txt --binary prog -o out.proftext");
    assert!(message.contains("a part of the debug info is in common.debug, which is not read"), "{message}");
}

/// GCC writes no mangled names of local functions to debug info.
#[test]
fn local_functions_that_gcc_compiled_have_the_names_of_their_symbols() {
    const HEADER: &str = "
        static volatile int sink;
        static inline int step(int x) {
            for (int i = 0; i < 10; i++) if ((x + i) % 7 == 3) sink += x;
            return x;
        }
    ";
    const MAIN: &str = "
        #include \"step.h\"
        namespace {
            struct A { __attribute__((noinline, noclone)) static void run(int x) { if (x % 7 == 3) sink += x; } };
            struct B { __attribute__((noinline, noclone)) static void run(int x) { if (x % 5 == 3) sink -= x; } };
        }
        int inlined(int x);
        int (*volatile called)(int) = step;
        int main(int argc, char **) {
            for (int i = 0; i < 3000; i++) { A::run(i + argc); called(i); inlined(i); }
            B::run(argc);
        }
    ";
    let Some(folder) = folder("names of local functions", &["g++"]) else { return };
    folder.write("step.h", HEADER);
    folder.write("runs.cpp", MAIN);
    folder.write("inlined.cpp", "#include \"step.h\"\nint inlined(int x) { return step(x); }\n");
    for flags in ["-g -gsplit-dwarf", "-g"] {
        folder.run(&format!("g++ -O2 {flags} runs.cpp inlined.cpp -o prog"));
        record(&folder, "prog");
        let said = errors(&folder.run("profbridge convert prog.txt --binary prog --to gcc -o out.afdo"));
        assert!(!said.contains("debug info has"), "{flags}: {said}");
        folder.run("profbridge convert prog.txt --binary prog -o out.proftext");
        let profile = std::fs::read_to_string(folder.path("out.proftext")).expect("it is text");
        for name in ["\n_ZN12_GLOBAL__N_11A3runEi:", "\n_ZL4stepi:", ": _ZL4stepi:"] {
            assert!(format!("\n{profile}").contains(name), "{flags} {name}: {profile}");
        }
    }
    folder.run("g++ -O2 -fauto-profile=out.afdo -fdump-tree-optimized=runs.txt -c runs.cpp");
    let compiled = std::fs::read_to_string(folder.path("runs.txt")).expect("GCC wrote it");
    let is_hot = |name: &str| {
        let mut functions = compiled.lines().filter(|line| line.starts_with(";; Function ") && line.contains(name));
        functions.next().expect(name).ends_with("(hot)")
    };
    assert!(is_hot("A::run") && !is_hot("B::run"), "{compiled}");
}

/// Both symbols of a constructor mark its code, so that none is its name.
#[test]
fn functions_with_one_name_in_debug_info_are_announced() {
    const SOURCE: &str = "
        static volatile int sink;
        namespace {
            template <class T> struct Box {
                T value;
                __attribute__((noinline, noclone)) Box(T x) : value(x) { if (sink % 7 == 3) sink += int(x); }
            };
        }
        int main(int argc, char **) {
            for (int i = 0; i < 3000; i++) {
                Box<int> one(i + argc);
                Box<double> other(i * 0.5);
                sink += one.value + int(other.value);
            }
        }
    ";
    let Some(folder) = folder("one name of several functions", &["g++"]) else { return };
    folder.write("boxes.cpp", SOURCE);
    folder.run("g++ -O2 -g boxes.cpp -o prog");
    record(&folder, "prog");
    let said = errors(&folder.run("profbridge convert prog.txt --binary prog --to gcc -o out.afdo"));
    assert!(
        said.contains("debug info has one name for several functions, whose samples add up: 1 name, such as Box"),
        "{said}"
    );
}

/// Static functions of one name are known by their files, even if their lines are equal. A function of a header is one.
#[test]
fn static_functions_of_one_name_in_several_files_are_announced() {
    let Some(folder) = folder("static functions of one name", &["gcc", "clang-22"]) else { return };
    folder.write(
        "step.h",
        "static __attribute__((noinline)) int step(int x) { volatile int all = 0; for (int i = 0; i < x % 8; i++) all += i; \
         return all; }\n",
    );
    let source = |name: &str, sum: &str| {
        format!(
            "{} int helper(int x) {{ volatile int all = 0; for (int i = 0; i < x % 9; i++) all += {sum}; return all; }}\n\
             #include \"step.h\"\n\
             int {name}(int x) {{ return helper(x) + step(x); }}\n",
            "static __attribute__((noinline))",
        )
    };
    folder.write("a.c", source("first", "i"));
    std::fs::create_dir(folder.path("sub")).expect("the folder is writable");
    folder.write("sub/a.c", source("second", "i * i"));
    folder.write(
        "main.c",
        "int first(int), second(int);\nint main(int c, char **v) { int all = 0; for (int i = 0; i < 3000; i++) \
         all += first(i + c) ^ second(i); return all == 7; }\n",
    );
    for compiler in ["gcc", "gcc -gdwarf-4", "clang-22", "clang-22 -gsplit-dwarf"] {
        folder.run(&format!("{compiler} -O1 -g -c a.c -o a.o"));
        folder.run(&format!("{compiler} -O1 -g -I. -c sub/a.c -o sub/a.o"));
        folder.run(&format!("{compiler} -O1 -g main.c a.o sub/a.o -o prog"));
        record(&folder, "prog");
        let said = errors(&folder.run("profbridge convert prog.txt --binary prog -o out.afdo"));
        let expected = "debug info has one name for several functions, whose samples add up: 1 name, such as helper";
        assert!(said.contains(expected), "{compiler}: {said}");
    }
}

#[test]
fn missing_split_debug_info_is_announced() {
    if !available("missing split debug info", &["clang-22"]) {
        return;
    }
    let folder = Folder::new();
    folder.write("split.c", "int main(int c, char **v) { return c * 3; }\n");
    folder.run("clang-22 -O1 -g -gsplit-dwarf -c split.c -o split.o");
    folder.run("clang-22 split.o -o split");
    let (missing, advice) = ("the split debug info of 1 unit was not found", "keep the .dwo files");
    let said = |command: &str| {
        let output = folder.run(command);
        format!("{}{}", String::from_utf8_lossy(&output.stdout), errors(&output))
    };
    let [info, doctor] = ["profbridge info split", "profbridge doctor split"].map(said);
    assert!(!info.contains(missing) && !doctor.contains(missing) && !doctor.contains(advice), "{info}{doctor}");
    std::fs::remove_file(folder.path("split.dwo")).expect("clang wrote it");
    let [info, doctor] = ["profbridge info split", "profbridge doctor split"].map(said);
    assert!(info.contains(missing), "{info}");
    assert!(doctor.contains(missing) && doctor.contains(advice), "{doctor}");
}

#[test]
fn messages_name_the_missing_data() {
    let Some(folder) = folder("messages of convert", &["clang-22"]) else { return };
    compile(&folder, "clang-22 -O2 -g", "work.c", "prog");
    compile(&folder, "clang-22 -O2 -g", "work.c", "other");
    compile(&folder, "clang-22 -O2", "work.c", "bare");
    folder.write("only.c", "int main(int c, char **v) { return c * 3; }\n");
    folder.run("clang-22 -O2 -g1 only.c -o lines");
    record(&folder, "prog");
    folder.write("words.txt", "no samples here\n");
    let recorded = std::fs::read_to_string(folder.path("prog.txt")).expect("it is text");
    let without_mappings: Vec<&str> = recorded.lines().filter(|line| !line.contains("PERF_RECORD_")).collect();
    folder.write("nomap.txt", without_mappings.join("\n"));
    for (line, expected) in [
        ("nomap.txt --binary prog", "print the mappings, too (option `show-mmap-events`"),
        ("prog.txt --binary bare", "bare: the program has no debug info"),
        ("prog.txt --binary lines", "lines: the debug info of the program has no functions"),
        ("prog.txt --binary lines", "-fdebug-info-for-profiling"),
        ("prog.txt --binary other", "no sample is in other"),
        ("words.txt --binary prog", "`perf record -b`"),
        ("prog.txt --binary prog --sparse", "--sparse is not for sample profiles"),
        ("prog.txt --binary prog --to iprof", "--binary is not for this conversion"),
    ] {
        let (code, message) = folder.failure(&format!("profbridge convert {line} -o out.prof"));
        assert!(matches!(code, Some(1 | 2)), "{line}: {code:?}");
        assert!(message.contains(expected), "{line}: {message}");
    }
    let (_, message) = folder.failure("profbridge convert prog.txt --binary other -o out.prof");
    let sampled = folder.path("prog");
    assert!(message.contains(&*sampled.to_string_lossy()), "{message}");
}

#[test]
fn convert_writes_the_bytes_of_llvm_profgen() {
    for release in [16, 19, 22] {
        let genuine = format!("llvm-profgen-{release}");
        let Some(folder) = folder("the bytes of llvm-profgen", &["clang-22", &genuine]) else { continue };
        compile(&folder, "clang-22 -O2 -g", "work.c", "prog");
        record(&folder, "prog");
        for format in ["extbinary", "text"] {
            folder.run(&format!("{genuine} --perfscript=prog.txt --binary=prog --format={format} -o expected"));
            let chosen = if format == "text" { "--sample-format text" } else { "" };
            folder
                .run(&format!("profbridge convert prog.txt --binary prog --for llvm-{release} {chosen} -o found.prof"));
            let [expected, found] =
                ["expected", "found.prof"].map(|name| std::fs::read(folder.path(name)).expect(name));
            assert!(expected == found, "{release} {format}");
        }
    }
}

/// `perf script -F +brstack` prints its default fields in front of the branch records.
#[test]
fn other_fields_in_front_of_branch_records_change_nothing() {
    let Some(folder) = folder("other fields of perf script", &["clang-22"]) else { return };
    compile(&folder, "clang-22 -O2 -g", "work.c", "prog");
    let recorded = std::fs::read_to_string(record(&folder, "prog")).expect("it is text");
    let other = |fields: &dyn Fn(&str) -> String| -> String {
        let line = |line: &str| {
            let (address, branches) = line.trim_start().split_once(' ').unwrap_or((line, ""));
            if line.contains("PERF_RECORD_MMAP") {
                format!("prog 1234 123.000000: {line}\n")
            } else {
                format!("{}  {branches}\n", fields(address))
            }
        };
        recorded.lines().map(line).collect()
    };
    folder.write("few.txt", other(&|address| format!("prog  1234   124.002000:  {address}")));
    let all = |address: &str| format!("prog  1234 124.002000:    1000003 cycles:u:   {address} [unknown] (prog)");
    folder.write("all.txt", other(&all));
    for name in ["prog", "few", "all"] {
        folder.run(&format!("profbridge convert {name}.txt --binary prog -o {name}.prof"));
    }
    let [expected, few, all] =
        ["prog.prof", "few.prof", "all.prof"].map(|name| std::fs::read(folder.path(name)).expect(name));
    assert!(expected == few && expected == all);
    let (_, message) = folder.failure("profbridge show few.txt");
    assert!(message.contains("not a profile: branch records of `perf script`"), "{message}");
    let shown = folder.run("profbridge show all.txt");
    let shown = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.contains("[unknown]") && !shown.contains("0x"), "{shown}");
}

#[test]
fn inputs_that_need_a_program_are_known_and_named() {
    let Some(folder) = folder("what needs a program", &["clang-22", "llvm-profgen-22"]) else { return };
    compile(&folder, "clang-22 -O2 -g", "work.c", "prog");
    record(&folder, "prog");
    folder.run("profbridge merge --partial prog.txt --binary prog -o part");
    folder.run("llvm-profgen-22 --perfscript=prog.txt --binary=prog --skip-symbolization -o counters.txt");
    let shown = folder.run("profbridge info part --json");
    let shown: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    assert_eq!(shown["files"][0]["partial_merge"]["inputs"][0]["path"], "prog.txt");
    for (input, words) in [
        ("part", "a partial merge of recordings needs the program"),
        ("prog.txt", "not a profile: branch records of `perf script`"),
        ("counters.txt", "not a profile: unsymbolized profile of llvm-profgen"),
    ] {
        for line in [
            format!("show {input}"),
            format!("diff {input} {input}"),
            format!("report {input} -o out.html"),
            format!("merge {input} -o out.afdo"),
            format!("convert {input} -o out.afdo"),
        ] {
            let (_, message) = folder.failure(&format!("profbridge {line}"));
            assert!(message.contains(words), "{line}: {message}");
            assert!(
                message.contains("hint: make a sample profile with `profbridge merge --binary"),
                "{line}: {message}"
            );
        }
        folder.run(&format!("profbridge merge {input} --binary prog -o out.prof"));
    }
    let whole = std::fs::read(folder.path("part")).expect("the partial merge");
    folder.write("cut", &whole[..whole.len() / 2]);
    let (_, message) = folder.failure("profbridge merge cut --binary prog -o out.prof");
    assert!(message.contains("cut: not a profile: unrecognized format"), "{message}");
}

#[test]
fn few_samples_are_called_few() {
    let Some(folder) = folder("few samples", &["clang-22"]) else { return };
    compile(&folder, "clang-22 -O2 -g", "work.c", "prog");
    let recorded = std::fs::read_to_string(record(&folder, "prog")).expect("it is text");
    let (mappings, samples): (Vec<&str>, Vec<&str>) = recorded.lines().partition(|line| line.contains("MMAP"));
    let few: String = [mappings, samples[samples.len() - 10..].to_vec()].concat().join("\n");
    folder.write("few.txt", few);
    let output = folder.run("profbridge convert few.txt --binary prog -o few.prof");
    let message = errors(&output);
    assert!(message.contains(" used; this program needs about "), "{message}");
}

#[test]
fn clang_uses_the_profile_without_a_warning() {
    for release in [16, 19, 22] {
        let clang = format!("clang-{release}");
        let Some(folder) = folder("clang uses the profile", &[&clang]) else { continue };
        let compiler = format!("{clang} -O2 -g -fdebug-info-for-profiling");
        compile(&folder, &compiler, "work.c", "prog");
        record(&folder, "prog");
        folder.run(&format!("profbridge convert prog.txt --binary prog -o app.prof --for llvm-{release}"));
        let profile = folder.path("app.prof");
        let uses = format!("{compiler} -fprofile-sample-use={} -Werror -Rpass=sample-profile", profile.display());
        compile(&folder, &uses, "work.c", "again");
        folder.run("./again");
    }
}

/// Compilers inline the same calls with the profiles of both tools, also in programs with templates and generics.
#[test]
fn compilers_inline_the_same_calls_as_with_the_profile_of_llvm_profgen() {
    for release in [16, 19, 22] {
        let [clang, genuine] = ["clang", "llvm-profgen"].map(|tool| format!("{tool}-{release}"));
        let Some(folder) = folder("inlined calls", &[&clang, &genuine]) else { continue };
        for kind in ["-fdebug-info-for-profiling", "-fpseudo-probe-for-profiling"] {
            let compiler = format!("{clang} --driver-mode=g++ -O2 -g {kind} {FRAMES}");
            compile(&folder, &compiler, "templates.cpp", "prog");
            let recorded = record_chains(&folder, "prog", 17, 32);
            for (contexts, ignored) in [("", "--ignore-stack-samples"), ("--contexts", "")] {
                folder.run(&format!("{genuine} --perfscript={recorded} --binary=prog {ignored} -o genuine.prof"));
                let line = format!("profbridge convert {recorded} --binary prog {contexts} --for llvm-{release}");
                folder.run(&format!("{line} -o ours.prof --force"));
                let [expected, found] = ["genuine.prof", "ours.prof"].map(|profile| {
                    let uses = format!("-fprofile-sample-use={}", folder.path(profile).display());
                    let source = source("templates.cpp");
                    let output = folder.run(&format!("{compiler} {uses} -Werror -Rpass=inline -c {source} -o out.o"));
                    errors(&output).replace(profile, "")
                });
                assert!(found.matches("inlined into").count() > 100, "{release} {kind}: {found}");
                assert!(found == expected, "{release} {kind} {contexts}");
            }
        }
    }
}

/// Releases before 1.100 take the same LLVM option by another way.
#[test]
fn rustc_uses_the_profile_without_a_warning() {
    let Some(folder) = folder("rustc uses the profile", &["rustc"]) else { return };
    let help = folder.run("rustc -C help");
    let stable = String::from_utf8_lossy(&help.stdout).contains("profile-sample-use");
    compile(&folder, "rustc -O -g -C force-frame-pointers=yes", "generics.rs", "prog");
    let recorded = record_chains(&folder, "prog", 5, 16);
    folder.run(&format!("profbridge convert {recorded} --binary prog -o app.prof"));
    let option =
        format!("{} profile-sample-use={}", if stable { "-C" } else { "-Z" }, folder.path("app.prof").display());
    let uses = format!("env RUSTC_BOOTSTRAP=1 rustc -O -g -D warnings {option}");
    compile(&folder, &format!("{uses} --emit=llvm-ir"), "generics.rs", "again.ll");
    let code = std::fs::read_to_string(folder.path("again.ll")).expect("it is text");
    assert!(code.contains("\"function_entry_count\""));
}

#[test]
fn partial_merges_of_recordings_give_the_profile_of_one_merge() {
    let Some(folder) = folder("partial merges of recordings", &["clang-22"]) else { return };
    let frames = "-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer";
    compile(&folder, &format!("clang-22 -O2 -g -Wl,--build-id {frames}"), "calls.c", "app");
    std::fs::create_dir(folder.path("other")).expect("a new directory");
    compile(&folder, &format!("clang-22 -O1 -g -Wl,--build-id {frames}"), "calls.c", "other/app");
    for (name, interval, window) in [("a", 61, 16), ("b", 17, 32), ("c", 5, 8)] {
        let recorded = record_chains(&folder, "app", interval, window);
        let text = std::fs::read_to_string(folder.path(&recorded)).expect("it is text");
        folder.write(&format!("{name}.data"), perf_data(&text, 7));
    }
    for contexts in ["", "--contexts"] {
        let make =
            |arguments: &str| folder.run(&format!("profbridge {arguments} --binary app {contexts} --force --quiet"));
        make("merge a.data b.data c.data -o once.prof");
        make("merge --partial a.data -o 1.part");
        make("merge --partial b.data c.data -o 2.part");
        make("merge --partial 1.part 2.part -o all.part");
        make("merge --partial a.data b.data c.data -o one.part");
        let once = std::fs::read(folder.path("once.prof")).expect("it was written");
        for inputs in ["1.part 2.part", "1.part b.data c.data", "all.part"] {
            make(&format!("merge {inputs} -o parts.prof"));
            assert_eq!(std::fs::read(folder.path("parts.prof")).expect("it was written"), once, "{inputs} {contexts}");
        }
        let [all, one] = ["all.part", "one.part"].map(|name| std::fs::read(folder.path(name)).expect("it was written"));
        assert_eq!(all, one, "any split gives the same bytes");
        make("convert 1.part 2.part -o parts.prof");
        assert_eq!(std::fs::read(folder.path("parts.prof")).expect("it was written"), once, "convert {contexts}");
    }
    folder.run("profbridge merge --partial a.data --binary app -o flat.part --quiet");
    for (arguments, message) in [
        ("1.part a.data --binary app", "a.data and 1.part both contain a.data, which would be counted twice"),
        ("1.part --binary other/app", "the partial merge has samples of app with the build id"),
        ("1.part", "a partial merge of recordings needs the program that was sampled"),
        ("--weighted-input=2,1.part --binary app", "a partial merge cannot have a weight"),
        ("flat.part --binary app --contexts", "no sample has branch records and a call chain"),
        ("a.data --binary app --max-input-share=50%", "--max-input-share is not for recordings"),
        ("once.prof --binary app", "it is not a recording"),
        ("a.data --binary app --failure-mode=warn", "--failure-mode is not for recordings"),
        ("--watch . --until idle:1 --binary app", "--watch is not for recordings"),
        ("a.data --binary app --min-functions=1000", "below 1000"),
    ] {
        let (_, failed) = folder.failure(&format!("profbridge merge {arguments} -o failed.prof"));
        assert!(failed.contains(message), "{arguments}: {failed}");
        assert!(!folder.path("failed.prof").exists(), "{arguments}");
    }
    // A shard without samples.
    folder.write("empty.data", "");
    folder.run("profbridge merge --partial empty.data --binary app -o empty.part --quiet");
    let output = folder.run("profbridge merge empty.data empty.part a.data --binary app -o empty.prof");
    assert!(errors(&output).contains("empty.data: the file is empty; skipped"), "{}", errors(&output));
    assert!(errors(&output).contains("from 1 of 3 inputs"), "{}", errors(&output));
    let output = folder.run("profbridge merge --partial a.data --binary app -o lost.part");
    assert!(errors(&output).contains("call chains; --contexts makes a profile"), "{}", errors(&output));
    let checked = folder.run("profbridge check 1.part");
    assert!(String::from_utf8_lossy(&checked.stdout).contains("1.part: partial: usable"), "{checked:?}");
}

#[test]
fn a_program_is_known_by_its_build_id() {
    let Some(folder) = available("build ids of recordings", &["clang-22", "perf"]).then(Folder::new) else { return };
    compile(&folder, "clang-22 -O1 -g -Wl,--build-id", "busy.c", "app");
    if !perf_record(&folder, "-e cpu-clock:u -F 1999", "app", "monday.data") {
        return;
    }
    std::fs::copy(folder.path("app"), folder.path("renamed")).expect("a copy");
    // The segments of another build can be elsewhere in its file.
    for flags in ["-Wl,-z,noseparate-code", "-O2"] {
        compile(&folder, &format!("clang-22 {flags} -g -Wl,--build-id"), "busy.c", "app");
        folder.run("profbridge convert monday.data --binary renamed -o renamed.prof --quiet");
        for command in ["convert monday.data", "merge monday.data", "merge --partial monday.data"] {
            let (code, message) = folder.failure(&format!("profbridge {command} --binary app -o other.prof"));
            assert_eq!(code, Some(1), "{message}");
            assert!(message.contains("app: the samples are of another build of app"), "{message}");
        }
    }
    if !perf_record(&folder, "-e cpu-clock:u -F 1999", "app", "tuesday.data") {
        return;
    }
    let output = folder.run("profbridge merge monday.data tuesday.data --binary app -o both.prof");
    let alone = folder.run("profbridge merge tuesday.data --binary app -o alone.prof");
    assert!(errors(&output).contains("a recorded app has another build id: its samples are left out"), "{output:?}");
    assert!(!errors(&alone).contains("another build"), "{alone:?}");
    let read = |name: &str| std::fs::read(folder.path(name)).expect("it was written");
    assert_eq!(read("both.prof"), read("alone.prof"));
}

/// Lines of text do not say of which process they are.
#[test]
fn a_text_of_two_processes_has_a_warning() {
    let Some(folder) = folder("two processes", &["clang-22"]) else { return };
    compile(&folder, "clang-22 -O2 -g -fdebug-info-for-profiling", "work.c", "prog");
    record(&folder, "prog");
    let text = std::fs::read_to_string(folder.path("prog.txt")).expect("it is text");
    let mapping = text.lines().find(|line| line.contains("/prog")).expect("the program is mapped");
    let start = mapping.split(['[', '(']).nth(1).expect("an address");
    let moved = mapping.replacen(start, "0x7000000000", 1);
    folder.write("two.txt", format!("{moved}\n{text}{}", "0x7000001000/0x7000001010/P/-/-/0\n".repeat(9)));
    let warning = "the program is mapped at 2 addresses";
    let convert = |text: &str| errors(&folder.run(&format!("profbridge convert {text} --binary prog -o out.prof")));
    assert!(convert("two.txt").contains(warning), "{}", convert("two.txt"));
    assert!(!convert("prog.txt").contains(warning));
}
