//! Compares with the installed tools and compilers. Skipped if they are missing.

use crate::files::{file, folder, merged, options, sections, stems, without_build_id};
use profbridge::families::MergeOptions;
use profbridge::instr::Release;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns a program of LLVM. Prints a message and returns `None` if it is missing.
fn tool(name: &str, release: u32) -> Option<String> {
    let name = format!("{name}-{release}");
    if Command::new(&name).arg("--version").output().is_ok() {
        return Some(name);
    }
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("SKIPPED: {name} is not installed\n").as_bytes());
    None
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap()
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

/// Runs profbridge as llvm-profdata.
fn ours(arguments: &[&str]) -> Output {
    run(Command::new(env!("CARGO_BIN_EXE_profbridge")).arg("llvm-profdata").args(arguments))
}

/// Runs both programs with different output files and compares all results.
fn compare(genuine: &str, folder: &Path, arguments: &[&str]) {
    let [theirs, mine] = ["theirs", "mine"].map(|name| folder.join(name));
    let _ = (std::fs::remove_file(&theirs), std::fs::remove_file(&mine));
    let with_output = |path: &Path| {
        [arguments, &["-o", path.to_str().unwrap()]].concat().into_iter().map(String::from).collect::<Vec<_>>()
    };
    let a = run(Command::new(genuine).args(with_output(&theirs)));
    let arguments_of_ours = with_output(&mine);
    let b = ours(&arguments_of_ours.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(a.status.code(), b.status.code(), "{arguments:?}: {}{}", text(&a.stderr), text(&b.stderr));
    let stderr = |output: &Output| text(&output.stderr).replace(&format!("{genuine}: "), "");
    assert_eq!(stderr(&a), stderr(&b), "{arguments:?}");
    assert!(std::fs::read(&theirs).ok() == std::fs::read(&mine).ok(), "{arguments:?}: other bytes");
}

/// Returns a document for a seed. Stacks share roots, and functions repeat.
fn document(seed: u64) -> String {
    let mut state = seed;
    let mut below = move |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let mut frame = |depth: usize| {
        format!(
            "{{ Function: f{}, LineOffset: {}, Column: {}, IsInlineFrame: {} }}",
            if depth == 0 { 0 } else { below(12) },
            below(5),
            below(4),
            below(3) == 0
        )
    };
    let mut stack = |len: usize| (0..len).rev().map(&mut frame).collect::<Vec<_>>().join(", ");
    let mut text = "---\nHeapProfileRecords:\n".to_string();
    for function in 0..seed % 40 + 1 {
        text += &format!("  - GUID: f{}\n    AllocSites:\n", (function * 7) % 50);
        for site in 0..function % 4 {
            let len = (seed + function + site) as usize % 7;
            text += &format!("      - Callstack: [ {} ]\n", stack(len));
            text += &format!(
                "        MemInfoBlock: {{ AllocCount: {}, TotalSize: {}, TotalLifetime: {} }}\n",
                site + 1,
                function * 100,
                site * 300_000
            );
        }
        text += "    CallSites:\n";
        for site in 0..function % 3 {
            text += &format!("      - Frames: [ {} ]\n        CalleeGuids: [ f{site}, 0x9 ]\n", stack(2));
        }
    }
    text + "DataAccessProfiles:\n  SampledRecords:\n    - Symbol: 'a/b'\n      AccessCount: 3\n  KnownColdSymbols: [ x, y ]\n...\n"
}

#[test]
fn documents_become_the_bytes_of_release_22() {
    let Some(genuine) = tool("llvm-profdata", 22) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("document.yaml");
    for seed in 0..24 {
        std::fs::write(&path, document(seed)).unwrap();
        let version = format!("--memprof-version={}", 2 + seed % 3);
        let mut arguments = vec!["merge", "--num-threads=1", &version, path.to_str().unwrap()];
        if seed % 2 == 0 {
            arguments.push("--memprof-full-schema");
        }
        if seed % 5 == 0 {
            arguments.extend(["--memprof-random-hotness", "--memprof-random-hotness-seed=42"]);
        }
        compare(&genuine, folder.path(), &arguments);
        let shown = |output: Output| text(&output.stdout);
        let merged = folder.path().join("theirs");
        let show = ["show", "--memory", merged.to_str().unwrap()];
        assert_eq!(shown(run(Command::new(&genuine).args(show))), shown(ours(&show)), "seed {seed}");
    }
}

#[test]
fn thresholds_of_hot_and_cold_change_the_summary() {
    let Some(genuine) = tool("llvm-profdata", 22) else { return };
    let folder = tempfile::tempdir().unwrap();
    let stem = crate::files::folder().join("clang-22-two-dumps");
    let named = |part: &str| file(&stem, part).to_str().unwrap().to_string();
    let (raw, old, indexed) = (named("memprofraw"), named("v3.profdata"), named("v4.profdata"));
    let binary = format!("--profiled-binary={}", named("binary"));
    let yaml = folder.path().join("blocks.yaml");
    // Also blocks without allocations, where LLVM divides by zero.
    let sites = [(0, 11, 5000, 7), (1, 12, 5000, 4), (1, 13, 500, 5), (0, 14, 500, 0), (3, 15, 900_000, 10)];
    let sites = sites.iter().zip(1..).map(|((count, size, lifetime, density), line)| {
        let frame = format!("{{ Function: 0x11, LineOffset: {line}, Column: 1, IsInlineFrame: false }}");
        let numbers = format!("TotalLifetime: {lifetime}, TotalLifetimeAccessDensity: {density}");
        let block = format!("{{ AllocCount: {count}, TotalSize: {size}, {numbers} }}");
        format!("      - Callstack: [ {frame} ]\n        MemInfoBlock: {block}\n")
    });
    let document =
        format!("---\nHeapProfileRecords:\n  - GUID: 0x11\n    AllocSites:\n{}...\n", sites.collect::<String>());
    std::fs::write(&yaml, document).unwrap();
    let yaml = yaml.to_str().unwrap();
    let cases: [&[&str]; 8] = [
        &[],
        &["--memprof-use-hot-hints"],
        &["--memprof-use-hot-hints", "--memprof-min-ave-lifetime-access-density-hot-threshold=0"],
        &["--memprof-ave-lifetime-cold-threshold=0"],
        &["--memprof-ave-lifetime-cold-threshold=4"],
        // The product with 1000 has 32 bits.
        &["--memprof-ave-lifetime-cold-threshold=4294968"],
        &["--memprof-ave-lifetime-cold-threshold=0", "--memprof-lifetime-access-density-cold-threshold=1e3"],
        &["--memprof-lifetime-access-density-cold-threshold=-1"],
    ];
    let mut summaries = std::collections::BTreeSet::new();
    for case in cases {
        for inputs in [&[raw.as_str()][..], &[yaml], &[&raw, yaml], &[&indexed]] {
            let merge = ["merge", "--num-threads=1", "--memprof-version=4", &binary];
            compare(&genuine, folder.path(), &[&merge, case, inputs].concat());
        }
        compare(&genuine, folder.path(), &[&["merge", "--num-threads=1", &indexed], case].concat());
        for input in [&raw, &old, &indexed] {
            let show = [&["show", "--memory", &binary, input], case].concat();
            let (expected, found) = (run(Command::new(&genuine).args(&show)), ours(&show));
            assert_eq!(text(&found.stdout), text(&expected.stdout), "{show:?}");
            summaries.insert(text(&found.stdout).lines().take(8).collect::<String>());
        }
    }
    assert!(summaries.len() >= 5, "{summaries:#?}");
}

#[test]
fn under_llvms_name_several_inputs_become_its_bytes() {
    let Some(genuine) = tool("llvm-profdata", 22) else { return };
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    let stem = crate::files::folder().join("clang-22-plain");
    let raw = file(&stem, "memprofraw").to_str().unwrap().to_string();
    let indexed = file(&stem, "v4.profdata").to_str().unwrap().to_string();
    let (one, two) = (write("1.yaml", &document(17)), write("2.yaml", &document(30)));
    let (ir, front_end) = (write("ir.proftext", ":ir\nmain\n1\n1\n1\n"), write("fe.proftext", ":fe\nmain\n1\n1\n1\n"));
    let (bad, empty) = (write("bad.yaml", "---\nHeap: 1\n"), write("empty.yaml", "---\n...\n"));
    let binary = format!("--profiled-binary={}", file(&stem, "binary").display());
    let cases: [&[&str]; 12] = [
        &[&raw, &raw],
        &[&raw, &one],
        &[&one, &raw],
        &[&one, &two, &empty, "--failure-mode=warn"],
        &[&indexed],
        &[&indexed, &raw],
        &[&indexed, &indexed, &ir],
        &[&ir, &raw, &two],
        &[&front_end, &raw],
        &[&front_end, &one],
        &[&empty, &ir, "--failure-mode=all"],
        &[&empty],
    ];
    for case in cases {
        for version in ["--memprof-version=3", "--memprof-version=4"] {
            compare(&genuine, folder.path(), &[&["merge", "--num-threads=1", version, &binary], case].concat());
        }
    }
    // LLVM also reports the position of the error in the document.
    assert_eq!(ours(&["merge", &bad, "-o", "/dev/null"]).status.code(), Some(1));
}

#[test]
fn raw_profiles_that_cannot_be_read_end_as_in_release_22() {
    let Some(genuine) = tool("llvm-profdata", 22) else { return };
    let folder = tempfile::tempdir().unwrap();
    let stem = crate::files::folder().join("clang-22-plain");
    let raw = file(&stem, "memprofraw");
    let cut = folder.path().join("cut.memprofraw");
    std::fs::write(&cut, &std::fs::read(&raw).unwrap()[..2000]).unwrap();
    let binary = |stem: &Path| format!("--profiled-binary={}", file(stem, "binary").display());
    let other = crate::files::folder().join("clang-19-plain");
    let anonymous = without_build_id(&stem, folder.path());
    for (input, option) in [
        (&raw, None),
        (&raw, Some(binary(&other))),
        (&raw, Some(format!("--profiled-binary={}", anonymous.display()))),
        (&raw, Some("--profiled-binary=/no/such/file".to_string())),
        (&raw, Some(format!("--profiled-binary={}", file(&stem, "yaml").display()))),
        (&cut, Some(binary(&stem))),
    ] {
        let mut arguments = vec!["merge", input.to_str().unwrap()];
        arguments.extend(option.as_deref());
        compare(&genuine, folder.path(), &arguments);
        arguments[0] = "show";
        arguments.push("--memory");
        let (theirs, mine) = (run(Command::new(&genuine).args(&arguments)), ours(&arguments));
        assert_eq!(text(&theirs.stderr), text(&mine.stderr), "{arguments:?}");
    }
}

#[test]
fn raw_profiles_of_other_versions_are_read_in_llvm_mode() {
    let stem = folder().join("clang-16-plain");
    let binary = format!("--profiled-binary={}", file(&stem, "binary").display());
    let output = ours(&["show", "--memory", &binary, file(&stem, "memprofraw").to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("\n    Version: 2\n"));
}

/// Returns the output of a compiler for a profile, without file names.
fn compiled(compiler: &str, profile: &Path, folder: &Path) -> String {
    let output = folder.join("out.ll");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/src/allocations.cpp");
    let mut command = Command::new(compiler);
    command.args(["-O2", "-gmlt", "-fdebug-info-for-profiling", "-S", "-emit-llvm", "-o"]).arg(&output).arg(&source);
    command.arg(format!("-fmemory-profile-use={}", profile.display()));
    let done = run(&mut command);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let listing = std::fs::read_to_string(&output).unwrap();
    let name = profile.display().to_string();
    listing.lines().filter(|line| !line.contains(&name)).collect::<Vec<_>>().join("\n")
}

#[test]
fn each_release_reads_files_written_for_it() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("sum.profdata");
    for release in [15, 16, 19, 22] {
        let Some(genuine) = tool("llvm-profdata", release) else { continue };
        for input in sections() {
            let mut options = MergeOptions::default();
            options.release = Release(release);
            std::fs::write(&path, merged(std::slice::from_ref(&input), &options)).unwrap();
            let shown = run(Command::new(&genuine).arg("show").arg(&path));
            assert!(shown.status.success(), "{release}, {}: {}", input.display(), text(&shown.stderr));
        }
    }
}

#[test]
fn compilers_make_the_same_of_our_files() {
    for release in [19, 22] {
        let Some(compiler) = tool("clang++", release) else { continue };
        let folder = tempfile::tempdir().unwrap();
        for stem in stems(release) {
            let mine = folder.path().join("mine.profdata");
            std::fs::write(&mine, merged(&[file(&stem, "memprofraw")], &options(&stem, release, None))).unwrap();
            let version = if release == 19 { 0 } else { 3 };
            let golden = file(&stem, &format!("v{version}.profdata"));
            let listing = compiled(&compiler, &mine, folder.path());
            assert!(listing.contains("memprof"), "{} leaves no mark", stem.display());
            assert!(listing == compiled(&compiler, &golden, folder.path()), "{}", stem.display());
        }
    }
}

#[test]
fn compilers_read_merged_memory_profiles() {
    for release in [19, 22] {
        let Some(compiler) = tool("clang++", release) else { continue };
        let temporary = tempfile::tempdir().unwrap();
        let stem = folder().join(format!("clang-{release}-plain"));
        let inputs: Vec<PathBuf> = vec![file(&stem, "memprofraw"), file(&stem, "v3.profdata")];
        let path = temporary.path().join("sum.profdata");
        std::fs::write(&path, merged(&inputs, &options(&stem, release, None))).unwrap();
        // The averages of one run and of two equal runs are the same.
        let once = temporary.path().join("once.profdata");
        std::fs::write(&once, merged(&inputs[..1], &options(&stem, release, None))).unwrap();
        let listing = compiled(&compiler, &path, temporary.path());
        assert!(listing == compiled(&compiler, &once, temporary.path()), "release {release}");
    }
}
