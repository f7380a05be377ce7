//! Programs with pseudo-probes.

use crate::genuine::{GENUINE, assert_same, run};
use crate::recording::{RECORDER, can_record, compile, perf_data, record};
use crate::support::{Folder, available};

/// Compilers, sources and programs: static functions, copies of code, several sections, functions without debug info.
const PROGRAMS: [(&str, &str, &str); 5] = [
    ("clang-22 -O2 -g -funique-internal-linkage-names", "work.c", "unique"),
    ("clang-22 -O3 -g -mllvm -unroll-count=4 -no-pie", "work.c", "unrolled"),
    ("clang-22 -O2 -g -ffunction-sections", "work.c", "sections"),
    ("clang-22 -O2", "work.c", "bare"),
    // Debug info has no linkage names.
    ("clang++-22 -O2 -g1", "work.cpp", "lines"),
];

const OPTIONS: [&str; 7] = [
    "--format=text",
    "--format=extbinary --mark-all-context-preinlined",
    "--use-md5 --trim-cold-profile --update-total-samples",
    "--format=text --load-function-from-symbol=false --fill-zero-for-all-funcs",
    "--format=text --use-dwarf-correlation",
    "--format=binary",
    "--use-md5 --format=binary",
];

fn folder(test: &str, tools: &[&str]) -> Option<Folder> {
    let folder = available(test, &[&RECORDER[..], tools].concat()).then(Folder::new)?;
    can_record(&folder).then_some(folder)
}

#[test]
fn probes_have_the_counts_of_llvm_profgen() {
    let Some(folder) = folder("profiles by probes", &["clang-22", "clang++-22", GENUINE]) else { return };
    for (compiler, source, program) in PROGRAMS {
        compile(&folder, &format!("{compiler} -fpseudo-probe-for-profiling"), source, program);
        record(&folder, program);
        for options in OPTIONS {
            assert_same(&folder, &format!("--perfscript={program}.txt --binary={program} {options}"));
        }
    }
    let (_, text) = run(&folder, &[GENUINE], "--perfscript=unique.txt --binary=unique --format=text");
    let text = String::from_utf8(text.expect("it is written")).expect("it is text");
    assert!(text.contains("!CFGChecksum") && text.contains("classify"), "{text}");
}

/// Debug info of lines has only functions with inlined calls. Before LLVM 22, llvm-profgen knew no others.
#[test]
fn convert_follows_the_release_of_the_target() {
    for release in [16, 19, 22] {
        let (clang, genuine) = (format!("clang-{release}"), format!("llvm-profgen-{release}"));
        let Some(folder) = folder("probes for releases", &[&clang, &genuine]) else { continue };
        compile(&folder, &format!("{clang} -O2 -g1 -fpseudo-probe-for-profiling"), "work.c", "prog");
        record(&folder, "prog");
        folder.run(&format!("{genuine} --perfscript=prog.txt --binary=prog --format=text -o expected"));
        let convert = format!("profbridge convert prog.txt --binary prog --for llvm-{release}");
        folder.run(&format!("{convert} --sample-format text -o found.prof"));
        let [expected, found] = ["expected", "found.prof"].map(|name| std::fs::read(folder.path(name)).expect(name));
        assert!(expected == found, "{release}");
    }
}

#[test]
fn damaged_probes_are_errors_as_in_llvm_profgen() {
    let Some(folder) = folder("damaged probes", &["clang-22", "objcopy", GENUINE]) else { return };
    compile(&folder, "clang-22 -O2 -g -fpseudo-probe-for-profiling", "work.c", "prog");
    record(&folder, "prog");
    let recorded = std::fs::read_to_string(folder.path("prog.txt")).expect("it is text");
    for (section, file) in [(".pseudo_probe", "probes"), (".pseudo_probe_desc", "names")] {
        folder.run(&format!("objcopy --dump-section {section}={file} prog copy"));
        let bytes = std::fs::read(folder.path(file)).expect("it was dumped");
        folder.write(file, &bytes[..bytes.len() - 3]);
        folder.run(&format!("objcopy --update-section {section}={file} prog cut{file}"));
        folder.write("cut.txt", recorded.replace("/prog\n", &format!("/cut{file}\n")));
        assert_same(&folder, &format!("--perfscript=cut.txt --binary=cut{file} --format=text"));
        let (code, message) = folder.failure(&format!("profbridge convert cut.txt --binary cut{file} -o out.prof"));
        assert_eq!(code, Some(1));
        assert!(message.contains(section) && message.contains("byte 0x"), "{message}");
    }
}

#[test]
fn clang_uses_the_probes_without_a_warning() {
    for release in [16, 19, 22] {
        let clang = format!("clang-{release}");
        let Some(folder) = folder("clang uses probes", &[&clang]) else { continue };
        let compiler = format!("{clang} -O2 -g -fpseudo-probe-for-profiling");
        compile(&folder, &compiler, "work.c", "prog");
        record(&folder, "prog");
        folder.run(&format!("profbridge convert prog.txt --binary prog -o app.prof --for llvm-{release}"));
        let profile = folder.path("app.prof");
        let uses = format!("{compiler} -fprofile-sample-use={} -Werror", profile.display());
        compile(&folder, &uses, "work.c", "again");
        folder.run("./again");
    }
}

#[test]
fn a_recording_of_perf_has_the_samples_of_its_text() {
    let Some(folder) = folder("recording of perf", &["clang-22"]) else { return };
    compile(&folder, "clang-22 -O2 -g", "work.c", "prog");
    record(&folder, "prog");
    let text = std::fs::read_to_string(folder.path("prog.txt")).expect("it is text");
    folder.write("one.data", perf_data(&text, 5));
    folder.run("profbridge convert prog.txt --binary prog -o text.prof");
    folder.run("profbridge convert one.data --binary prog -o data.prof");
    let read = |name: &str| std::fs::read(folder.path(name)).expect("it was written");
    assert!(read("text.prof") == read("data.prof"));
    let link = folder.path("llvm-profgen");
    let _ = std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_profbridge"), &link);
    let link = [link.to_str().expect("the folder's path is text")];
    let (_, from_text) = run(&folder, &link, "--perfscript=prog.txt --binary=prog");
    let (_, from_data) = run(&folder, &link, "--perfdata=one.data --binary=prog");
    assert!(from_text.is_some_and(|bytes| !bytes.is_empty()));
    assert!(run(&folder, &link, "--perfscript=prog.txt --binary=prog").1 == from_data);
    compile(&folder, "clang-22 -O2 -g", "work.c", "other");
    let (code, message) = folder.failure("profbridge convert one.data --binary other -o out.prof");
    assert_eq!(code, Some(1));
    assert!(message.contains("no sample is in other") && message.contains("/prog"), "{message}");
}
