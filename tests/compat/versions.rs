//! Tests of llvm-profdata mode with toolchains of other releases.

use super::both::{Finished, Folder, genuine};
use std::path::{Path, PathBuf};

const REFUSED: &str = "raw profile version mismatch";

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

fn text(path: PathBuf) -> String {
    path.into_os_string().into_string().expect("the test data has plain names")
}

fn golden(name: &str) -> Option<Vec<u8>> {
    Some(std::fs::read(testdata(name)).expect("the golden file is there"))
}

/// The profiles of four runs of a program of clang 14, raw version 8.
fn runs_of_clang_14() -> Vec<String> {
    (1..=4).map(|run| text(testdata(&format!("merge/clang-14/run-{run}.profraw")))).collect()
}

/// Merges with a command line, using the tool of that name.
fn merge(folder: &Folder, name: &str, target: Option<&str>, options: &[&str], inputs: &[String]) -> Finished {
    let mut words = vec!["merge", "-o", "out"];
    words.extend(options);
    words.extend(inputs.iter().map(String::as_str));
    folder.drop_in_as(name, target, &words, b"")
}

#[track_caller]
fn assert_writes(finished: &Finished, expected: &str) {
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    assert!(finished.written == golden(expected), "{expected}: other bytes");
}

#[test]
fn dumps_that_llvm_22_refuses_become_the_profile_of_their_release() {
    let folder = Folder::new();
    let inputs = runs_of_clang_14();
    assert_writes(&merge(&folder, "llvm-profdata", None, &[], &inputs), "merge/clang-14/llvm-14.profdata");
    for mode in ["--failure-mode=any", "--failure-mode=all", "--failure-mode=warn"] {
        let finished = merge(&folder, "llvm-profdata", None, &[mode, "--sparse"], &inputs);
        assert_writes(&finished, "merge/clang-14/llvm-14-sparse.profdata");
    }
    let finished = merge(&folder, "llvm-profdata", None, &["--text"], &inputs);
    assert_writes(&finished, "merge/clang-14/llvm-14.proftext");
    let words: Vec<&str> =
        ["llvm-profdata", "merge", "-o", "out"].into_iter().chain(inputs.iter().map(String::as_str)).collect();
    assert_writes(&folder.ours(&words, b""), "merge/clang-14/llvm-14.profdata");
}

#[test]
fn the_name_and_the_environment_choose_a_release() {
    let folder = Folder::new();
    let inputs = runs_of_clang_14();
    for release in [14, 15, 16] {
        let (name, target) = (format!("llvm-profdata-{release}"), format!("llvm-{release}"));
        let (indexed, sparse, lines) = (
            format!("merge/clang-14/llvm-{release}.profdata"),
            format!("merge/clang-14/llvm-{release}-sparse.profdata"),
            format!("merge/clang-14/llvm-{release}.proftext"),
        );
        assert_writes(&merge(&folder, &name, None, &[], &inputs), &indexed);
        assert_writes(&merge(&folder, &name, None, &["-sparse"], &inputs), &sparse);
        assert_writes(&merge(&folder, &name, None, &["-text"], &inputs), &lines);
        assert_writes(&merge(&folder, "llvm-profdata", Some(&target), &[], &inputs), &indexed);
        assert_writes(&merge(&folder, "llvm-profdata-22", Some(&target), &["--text"], &inputs), &lines);
        assert_writes(&merge(&folder, &format!("{name}.exe"), None, &[], &inputs), &indexed);
        let version = folder.drop_in_as(&name, None, &["--version"], b"").stdout;
        assert!(version.starts_with(&format!("profbridge LLVM version {release}.0.")), "{version}");
        let command = folder.ours(&[&name, "--version"], b"");
        assert_eq!(command.stdout, version);
    }
    assert_writes(
        &merge(&folder, "llvm-profdata-14", Some("rustc-1.70"), &[], &inputs),
        "merge/clang-14/llvm-16.profdata",
    );
    let version = folder.drop_in_as("llvm-profdata", None, &["--version"], b"").stdout;
    assert_eq!(version, "profbridge LLVM version 22.1.8\n  Optimized build.\n");
    let version = folder.drop_in_as("llvm-profdata-14", Some("rustc-1.75"), &["merge", "--version"], b"").stdout;
    assert_eq!(version, "profbridge LLVM version 17.0.6\n  Optimized build.\n");
}

/// LLVM 22 reads text and indexed files, so only the name or the environment selects a target.
#[test]
fn inputs_of_llvm_22_become_its_profile_by_default() {
    let folder = Folder::new();
    let version = |finished: Finished| {
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
        u64::from_le_bytes(finished.written.expect("a file is written")[8..16].try_into().unwrap()) as u32
    };
    let old = text(testdata("merge/clang-14/llvm-14.profdata"));
    for (inputs, expected) in [
        (vec!["a.proftext".to_string()], 13),
        (vec![old.clone()], 13),
        (vec![text(testdata("raw/clang-22-ir.profraw")), old.clone()], 13),
        (vec![text(testdata("raw/clang-19-ir.profraw"))], 13),
        (vec![text(testdata("raw/clang-14-ir.profraw")), "a.proftext".to_string()], 13),
        (vec![text(testdata("raw/clang-14-ir.profraw")), text(testdata("raw/clang-22-ir.profraw"))], 12),
    ] {
        assert_eq!(version(merge(&folder, "llvm-profdata", None, &[], &inputs)), expected, "{inputs:?}");
        assert_eq!(version(merge(&folder, "llvm-profdata-16", None, &[], &inputs)), 9, "{inputs:?}");
        assert_eq!(version(merge(&folder, "llvm-profdata", Some("llvm-18"), &[], &inputs)), 11, "{inputs:?}");
        assert_eq!(version(merge(&folder, "llvm-profdata-14", Some("llvm-22"), &[], &inputs)), 13, "{inputs:?}");
        let previous = &["--write-prev-version"];
        assert_eq!(version(merge(&folder, "llvm-profdata-22", None, previous, &inputs)), 11, "{inputs:?}");
        assert_eq!(version(merge(&folder, "llvm-profdata-16", None, previous, &inputs)), 9, "{inputs:?}");
    }
}

#[test]
fn exact_keeps_the_refusals_under_every_name() {
    let folder = Folder::new();
    let inputs = runs_of_clang_14();
    for name in ["llvm-profdata", "llvm-profdata-22", "llvm-profdata-14"] {
        let finished = merge(&folder, name, Some("exact"), &[], &inputs);
        assert_eq!((finished.code, finished.written.is_none()), (Some(1), true), "{}", finished.stderr);
        assert!(finished.stderr.contains(REFUSED), "{}", finished.stderr);
        for line in [vec!["show"], vec!["order"], vec!["overlap", "a.proftext"]] {
            let words: Vec<&str> = line.into_iter().chain([inputs[0].as_str()]).collect();
            let finished = folder.drop_in_as(name, Some("exact"), &words, b"");
            assert_eq!(finished.code, Some(1), "{words:?}");
            assert!(finished.stderr.contains(REFUSED), "{}", finished.stderr);
        }
        let version = folder.drop_in_as(name, Some("exact"), &["--version"], b"").stdout;
        assert!(version.starts_with("profbridge LLVM version 22."), "{version}");
    }
}

#[test]
fn old_and_new_files_are_shown_compared_and_ordered() {
    let folder = Folder::new();
    for file in ["clang-13-ir", "clang-14-ir", "clang-16-ir", "clang-19-ir", "clang-22-ir"] {
        let (raw, indexed) =
            (text(testdata(&format!("raw/{file}.profraw"))), text(testdata(&format!("raw/{file}.profdata"))));
        let shown = |path: &str| {
            let finished =
                folder.drop_in_as("llvm-profdata", None, &["show", "--all-functions", "--counts", path], b"");
            assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{path}");
            let mut lines: Vec<String> = finished.stdout.lines().map(str::to_string).collect();
            lines.sort();
            lines
        };
        assert_eq!(shown(&raw), shown(&indexed), "{file}");
        let compared = folder.drop_in_as("llvm-profdata", None, &["overlap", &raw, &indexed], b"");
        assert_eq!((compared.code, compared.stderr.as_str()), (Some(0), ""));
        assert!(compared.stdout.contains("Edge profile overlap: 100.000%"), "{}", compared.stdout);
        assert_eq!(folder.drop_in_as("llvm-profdata", None, &["order", &raw], b"").code, Some(0));
        let checked = folder.ours(&["check", &raw], b"");
        assert_eq!(checked.code, Some(0), "{}{}", checked.stdout, checked.stderr);
    }
}

/// Unknown versions and damage are not treated as old versions.
#[test]
fn unreadable_files_of_any_version_are_errors() {
    let folder = Folder::new();
    for (file, expected) in [
        ("bad/unsupported-version.profraw", REFUSED),
        ("bad/version-6.profraw", REFUSED),
        ("bad/unsupported-version.profdata", "unsupported instrumentation profile format version"),
    ] {
        let finished = merge(&folder, "llvm-profdata", None, &[], &[text(testdata(file))]);
        assert_eq!((finished.code, finished.written.is_none()), (Some(1), true), "{file}");
        assert!(finished.stderr.contains(expected), "{file}: {}", finished.stderr);
    }
    let whole = std::fs::read(testdata("raw/clang-14-ir.profraw")).expect("the test data is there");
    for len in [9, 17, 80, 120, whole.len() / 2, whole.len() - 9] {
        folder.write("cut.profraw", &whole[..len]);
        let finished = merge(&folder, "llvm-profdata", None, &[], &["cut.profraw".to_string()]);
        assert_eq!((finished.code, finished.written.is_none()), (Some(1), true), "{len} bytes: {}", finished.stderr);
        assert!(
            !finished.stderr.contains("panicked") && finished.stderr.contains("cut.profraw"),
            "{}",
            finished.stderr
        );
    }
}

#[test]
fn wrong_values_are_errors_that_list_the_known_ones() {
    let folder = Folder::new();
    for (name, target, expected) in [
        ("llvm-profdata", Some("llvm-99"), "error: PROFBRIDGE_FOR must be a toolchain or exact: LLVM 99 is newer"),
        ("llvm-profdata-16", Some("newest"), "must be a toolchain or exact: unknown toolchain \"newest\""),
        ("llvm-profdata", Some("Exact"), "must be a toolchain or exact: unknown toolchain \"Exact\"\n"),
        ("llvm-profdata-99", None, "error: the program's name selects LLVM 99, but LLVM 3.5 to "),
        ("llvm-profdata-2", Some("llvm-16"), "error: the program's name selects LLVM 2,"),
    ] {
        for line in [vec!["merge", "-o", "out", "a.proftext"], vec!["show", "a.proftext"], vec!["--version"]] {
            let finished = folder.drop_in_as(name, target, &line, b"");
            assert_eq!((finished.code, finished.written.is_none()), (Some(1), true), "{line:?}");
            assert!(finished.stderr.contains(expected) && finished.stdout.is_empty(), "{}", finished.stderr);
        }
    }
}

/// A program name for another release is not ignored silently.
#[test]
fn losses_of_the_chosen_release_are_reported() {
    let folder = Folder::new();
    let inputs = [text(testdata("raw/clang-22-mcdc.profraw"))];
    let finished = merge(&folder, "llvm-profdata-16", None, &[], &inputs);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stderr.starts_with("warning: out: dropped "), "{}", finished.stderr);
    assert!(finished.stderr.contains("bitmap"), "{}", finished.stderr);
}

/// With every program name, the output equals the real tool's output if the tool reads the inputs.
#[test]
fn real_profiles_give_the_result_of_llvm_or_are_accepted() {
    let Some(tool) = genuine("real_profiles_give_the_result_of_llvm_or_are_accepted") else { return };
    let folder = Folder::new();
    let entries = std::fs::read_dir(testdata("raw")).expect("the test data is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("the folder is readable").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "profraw" || extension == "profdata"));
    files.sort();
    let (mut taken, mut alike) = (0, 0);
    for file in files {
        let name = text(file);
        let words = ["merge", "-o", "out", name.as_str()];
        let theirs = folder.run(&tool, &words, b"");
        let ours = folder.drop_in_as("llvm-profdata", None, &words, b"");
        let for_its_version = [REFUSED, "unsupported instrumentation profile format version"];
        if for_its_version.iter().any(|refusal| theirs.stderr.contains(refusal)) {
            let needs_image = ours.stderr.contains("correlation");
            assert!(needs_image || ours.code == Some(0), "{name}: {}", ours.stderr);
            assert_eq!(ours.written.is_some(), !needs_image, "{name}");
            taken += 1;
        } else if theirs.code.is_some() && !theirs.stderr.contains("LLVM ERROR") {
            assert_eq!((ours.code, &ours.stderr), (theirs.code, &theirs.stderr), "{name}");
            assert!(ours.written == theirs.written, "{name}: other bytes");
            alike += 1;
        }
    }
    assert!(taken > 20 && alike > 40, "{taken} taken, {alike} alike");
}

/// Files that the release's own tool rejects have names of another release range.
#[test]
fn raw_profiles_of_all_releases_work_for_the_chosen_release() {
    let folder = Folder::new();
    let both: Vec<String> =
        ["raw/clang-14-ir.profraw", "raw/clang-22-ir.profraw"].map(|name| text(testdata(name))).into();
    for (name, prefix) in [("llvm-profdata-16", "calc.c:"), ("llvm-profdata-22", "calc.c;")] {
        let finished = merge(&folder, name, None, &["--text"], &both);
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{name}");
        let written = finished.written.expect("there is an output");
        let written = String::from_utf8_lossy(&written);
        let locals: Vec<&str> = written.lines().filter(|line| line.starts_with("calc.c")).collect();
        assert!(!locals.is_empty() && locals.iter().all(|line| line.starts_with(prefix)), "{name}: {locals:?}");
    }
    // If LLVM 22 reads all inputs, the output has its bytes.
    let indexed = [text(testdata("raw/clang-16-ir.profdata")), text(testdata("raw/clang-22-ir.profdata"))];
    let finished = merge(&folder, "llvm-profdata", None, &["--text"], &indexed);
    let written = finished.written.expect("there is an output");
    let written = String::from_utf8_lossy(&written);
    assert!(written.contains(".c:") && written.contains(".c;"), "{written}");
}
