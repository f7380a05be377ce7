//! Tests of profiles without records: counts, names and hashes come from the image.

use crate::tools::{Workspace, available};
use crate::{merged, testdata, text};
use profbridge::families::{MergeOptions, merge_files};
use profbridge::input::WeightedInput;
use profbridge::instr::Release;
use profbridge::raw::correlate::{CorrelationKind, Images};
use profbridge::{Compat, ErrorKind, Hint, ImagePart, Limits};
use std::path::Path;
use std::sync::Arc;

fn images(kind: CorrelationKind, paths: &[&Path]) -> Arc<Images> {
    let mut images = Images::new(kind, Compat::Profbridge, Limits::default());
    for path in paths {
        images.add(path).unwrap();
    }
    Arc::new(images)
}

/// Returns the text of a profile correlated with images.
#[track_caller]
fn correlated(profile: &Path, images: &Arc<Images>, release: u32) -> String {
    let images = Arc::clone(images);
    text(&merged(profile, Release(release), |options| options.read.correlator = Some(images)), Release(release))
}

/// Returns the error of a profile that cannot be correlated.
#[track_caller]
fn refused(profile: &Path, images: Option<Arc<Images>>) -> profbridge::Error {
    let mut options = MergeOptions::default();
    options.read.correlator = images.map(|images| images as _);
    let report = merge_files(&[WeightedInput::new(profile)], &options, &mut |_, _| {}).unwrap();
    let failure = report.inputs.into_iter().find_map(|input| match input.outcome {
        profbridge::families::InputOutcome::Failed(error) => Some(error),
        _ => None,
    });
    failure.expect("the profile is refused")
}

#[test]
fn golden_profiles_correlate_to_the_genuine_text() {
    for (release, name, kind) in [
        (14, "debug-info", CorrelationKind::DebugInfo),
        (16, "debug-info", CorrelationKind::DebugInfo),
        (19, "debug-info", CorrelationKind::DebugInfo),
        (22, "debug-info", CorrelationKind::DebugInfo),
        (19, "binary", CorrelationKind::Binary),
        (22, "binary", CorrelationKind::Binary),
        (23, "debug-info", CorrelationKind::DebugInfo),
        (23, "binary", CorrelationKind::Binary),
        (22, "lambda-debug-info", CorrelationKind::DebugInfo),
        (23, "lambda-debug-info", CorrelationKind::DebugInfo),
        (23, "mcdc-debug-info", CorrelationKind::DebugInfo),
        (23, "mcdc-binary", CorrelationKind::Binary),
    ] {
        let stem = testdata(&format!("correlate/clang-{release}-{name}"));
        let images = images(kind, &[&stem.with_extension("binary")]);
        let expected = std::fs::read_to_string(stem.with_extension("proftext")).unwrap();
        assert_eq!(correlated(&stem.with_extension("profraw"), &images, release), expected, "{release} {name}");
    }
}

/// Finds a section of a 64-bit little-endian ELF file: the positions of its header, its offset and its address.
fn elf_section(bytes: &[u8], name: &[u8]) -> (usize, usize, u64) {
    let number =
        |at: usize, len: usize| bytes[at..at + len].iter().rev().fold(0u64, |all, byte| all << 8 | u64::from(*byte));
    let headers = number(0x28, 8) as usize;
    let of = |index: usize| headers + 64 * index;
    let names = number(of(number(0x3e, 2) as usize) + 24, 8) as usize;
    let found = (0..number(0x3c, 2) as usize).map(of).find(|header| {
        let at = names + number(*header, 4) as usize;
        bytes[at..].split(|byte| *byte == 0).next() == Some(name)
    });
    let header = found.expect("the section is there");
    (header, number(header + 24, 8) as usize, number(header + 16, 8))
}

#[test]
fn bitmaps_outside_their_section_are_refused() {
    let stem = testdata("correlate/clang-23-mcdc-binary");
    let profile = stem.with_extension("profraw");
    let image = std::fs::read(stem.with_extension("binary")).unwrap();
    let (bits, _, start) = elf_section(&image, b"__llvm_prf_bits");
    let (_, records, _) = elf_section(&image, b"__llvm_covdata");
    let folder = tempfile::tempdir().unwrap();
    let refusal = |damaged: Vec<u8>| {
        let path = folder.path().join("image");
        std::fs::write(&path, damaged).unwrap();
        refused(&profile, Some(images(CorrelationKind::Binary, &[&path]))).to_string()
    };
    // The first record's BitmapPtr, an address in the image.
    let mut damaged = image.clone();
    damaged[records + 32..records + 40].copy_from_slice(&(start - 1).to_le_bytes());
    let message = refusal(damaged);
    let expected = format!("Actual={:#x} Expected=[{start:#x}, {:#x})", start - 1, start + 5);
    assert!(message.contains("BitmapPtr out of range for function ") && message.contains(&expected), "{message}");
    // The section's size.
    let mut damaged = image.clone();
    damaged[bits + 32..bits + 40].fill(0);
    let message = refusal(damaged);
    assert!(message.contains("could not find profile bitmap section in correlated file"), "{message}");
}

#[test]
fn the_binary_id_chooses_among_several_images() {
    let stem = |release, kind: &str| testdata(&format!("correlate/clang-{release}-{kind}"));
    let (one, other) = (stem(19, "binary"), stem(22, "binary"));
    let images = images(CorrelationKind::Binary, &[&other.with_extension("binary"), &one.with_extension("binary")]);
    for (stem, release) in [(&one, 19), (&other, 22)] {
        let expected = std::fs::read_to_string(stem.with_extension("proftext")).unwrap();
        assert_eq!(correlated(&stem.with_extension("profraw"), &images, release), expected);
    }
}

#[test]
fn errors_name_the_image_that_is_missing() {
    let stem = |release, kind: &str| testdata(&format!("correlate/clang-{release}-{kind}"));
    let profile = stem(22, "binary").with_extension("profraw");
    let error = refused(&profile, None);
    assert!(matches!(error.kind(), ErrorKind::MissingCorrelation), "{error}");
    let hint = error.hint().unwrap().to_string();
    assert!(hint.starts_with("pass the unstripped image with build id "), "{hint}");
    // Only profiles of IR instrumentation show which part of the image they need.
    let parts = [
        ("debug-info", Some(ImagePart::DebugInfo)),
        ("binary", Some(ImagePart::Sections)),
        ("mcdc-debug-info", None),
        ("mcdc-binary", None),
    ];
    for (kind, expected) in parts {
        let error = refused(&stem(23, kind).with_extension("profraw"), None);
        assert!(matches!(error.hint(), Some(Hint::GiveImage { part, .. }) if *part == expected), "{kind}: {error:?}");
    }

    let wrong = stem(19, "binary").with_extension("binary");
    let error = refused(&profile, Some(images(CorrelationKind::Binary, &[&wrong]))).to_string();
    assert!(
        error.contains("an image with build id ") && error.contains("clang-19-binary.binary has build id"),
        "{error}"
    );

    let complete = testdata("raw/clang-22-ir.profraw");
    let right = stem(22, "binary").with_extension("binary");
    let error = refused(&complete, Some(images(CorrelationKind::Binary, &[&right])));
    assert!(matches!(error.kind(), ErrorKind::UnexpectedCorrelation), "{error}");
}

#[test]
fn images_without_data_give_the_error_of_llvm() {
    let add = |kind, path: &Path| Images::new(kind, Compat::Llvm22, Limits::default()).add(path).unwrap_err();
    let debug = testdata("correlate/clang-22-debug-info.binary");
    let binary = testdata("correlate/clang-22-binary.binary");
    let error = add(CorrelationKind::Binary, &debug);
    assert_eq!(error.llvm_message(), "unable to correlate profile: could not find section (__llvm_covdata)");
    assert_eq!(error.path(), Some(debug.as_path()));
    let error = add(CorrelationKind::DebugInfo, &binary);
    assert_eq!(
        error.llvm_message(),
        "unable to correlate profile: could not find any profile data metadata in correlated file"
    );
    let error = add(CorrelationKind::Binary, &testdata("src/calc.c"));
    assert_eq!(error.llvm_message(), "The file was not recognized as a valid object file");
    let error = add(CorrelationKind::Binary, Path::new("no/such/file"));
    assert_eq!(error.llvm_message(), "No such file or directory");
}

#[test]
fn all_forms_of_dwarf_give_the_same_records() {
    for release in [19, 22] {
        let (clang, profdata) = (format!("clang-{release}"), format!("llvm-profdata-{release}"));
        if !available("debug info of several sorts", &[&clang, &profdata]) {
            continue;
        }
        let mut expected = None;
        for flags in ["-gdwarf-5", "-gdwarf-4", "-gdwarf-5 -gz", "-gdwarf-5 -gsplit-dwarf", "-gdwarf-4 -gsplit-dwarf"] {
            let workspace = Workspace::with(&["calc.c"]);
            workspace.run(&format!(
                "{clang} -O1 -fprofile-generate {flags} -mllvm -profile-correlate=debug-info -mllvm -disable-vp \
                 -c calc.c -o calc.o"
            ));
            workspace.run(&format!("{clang} -fprofile-generate calc.o -o calc"));
            workspace.train("./calc", "calc.profraw");
            if expected.is_none() {
                // The real tool reads only complete debug info.
                workspace.run(&format!("{profdata} merge --text --debug-info=calc calc.profraw -o llvm.proftext"));
                expected = Some(workspace.text("llvm.proftext"));
            }
            let images = images(CorrelationKind::DebugInfo, &[&workspace.path("calc")]);
            let found = correlated(&workspace.path("calc.profraw"), &images, release);
            assert_eq!(Some(found), expected, "{release} {flags}");
        }
    }
}

#[test]
fn two_images_in_one_file_are_distinguished() {
    if !available("two correlated images", &["clang-22"]) {
        return;
    }
    let workspace = Workspace::with(&["host.c", "plugin.c", "helpers.h"]);
    let flags = "-O1 -fprofile-generate -mllvm -profile-correlate=binary -mllvm -disable-vp -Wl,--build-id";
    let plain = "-O1 -fprofile-generate -mllvm -disable-vp -Wl,--build-id";
    let mut texts = Vec::new();
    for (folder, flags) in [("correlated", flags), ("plain", plain)] {
        std::fs::create_dir(workspace.path(folder)).unwrap();
        workspace.run(&format!("clang-22 {flags} -shared -fPIC plugin.c -o {folder}/libplugin.so"));
        workspace.run(&format!("clang-22 {flags} host.c -o {folder}/host -L{folder} -lplugin -Wl,-rpath,$ORIGIN"));
        let profile = format!("{folder}/run.profraw");
        workspace.train(&format!("./{folder}/host"), &profile);
        let path = workspace.path(&profile);
        texts.push(match folder {
            "plain" => text(&merged(&path, Release(22), |_| {}), Release(22)),
            _ => {
                let (host, plugin) = (workspace.path("correlated/host"), workspace.path("correlated/libplugin.so"));
                correlated(&path, &images(CorrelationKind::Binary, &[&host, &plugin]), 22)
            }
        });
    }
    assert_eq!(texts[0], texts[1]);
}

/// Runs the real tool and profbridge in llvm-profdata mode with the same arguments.
#[track_caller]
fn assert_same_as_llvm(workspace: &Workspace, line: &str) {
    let mut answers = Vec::new();
    for program in ["llvm-profdata-22".into(), workspace.path("llvm-profdata-22")] {
        let output = std::process::Command::new(&program)
            .args(line.split_whitespace())
            .current_dir(workspace.path(""))
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        answers.push((output.status.code(), text(&output.stdout), text(&output.stderr)));
    }
    assert_eq!(answers[1], answers[0], "{line}");
}

#[test]
#[cfg(unix)]
fn as_llvm_profdata_every_word_is_the_same() {
    if !available("correlation word by word", &["clang++-22", "llvm-profdata-22"]) {
        return;
    }
    let workspace = Workspace::with(&["shapes.cpp"]);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_profbridge"), workspace.path("llvm-profdata-22")).unwrap();
    let compile = "clang++-22 -g -O1 -fprofile-generate -mllvm -disable-vp shapes.cpp";
    workspace.run(&format!("{compile} -mllvm -profile-correlate=debug-info -o debug"));
    workspace.run(&format!("{compile} -mllvm -profile-correlate=binary -Wl,--build-id -o binary"));
    workspace.run(&format!("{compile} -o plain"));
    for program in ["debug", "binary", "plain"] {
        workspace.train(&format!("./{program}"), &format!("{program}.profraw"));
    }
    for image in ["debug", "binary", "plain", "missing", "shapes.cpp"] {
        for more in ["", "--show-prof-sym-list --detailed-summary", "--show-format=yaml", "--json"] {
            assert_same_as_llvm(&workspace, &format!("show --debug-info={image} {more}"));
        }
        for profile in ["debug", "binary", "plain"] {
            for option in ["--debug-info", "--binary-file"] {
                assert_same_as_llvm(&workspace, &format!("merge --text {option}={image} {profile}.profraw"));
            }
        }
    }
    for kind in ["debug-info", "binary"] {
        assert_same_as_llvm(
            &workspace,
            &format!("merge --text --correlate={kind} --debug-file-directory=. binary.profraw"),
        );
    }
}

/// Functions that were inlined everywhere and have no code of their own.
const INLINED: &str = "
#define INLINED __attribute__((always_inline)) static inline
INLINED int twice(int x) { int sum = 0; for (int i = 0; i < x; i++) sum += i * x; return sum; }
INLINED int thrice(int x) { int sum = 0; for (int i = 1; i < x; i++) sum -= i * x; return sum; }
int main(int count, char **names) { return twice(count) + thrice(count) > 1000; }
";

#[test]
#[cfg(unix)]
fn as_llvm_profdata_inlined_functions_have_a_warning() {
    if !available("inlined functions", &["clang-22", "llvm-profdata-22"]) {
        return;
    }
    let workspace = Workspace::with(&[]);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_profbridge"), workspace.path("llvm-profdata-22")).unwrap();
    std::fs::write(workspace.path("inlined.c"), INLINED).unwrap();
    workspace.run(
        "clang-22 -g -O2 -fprofile-generate -mllvm -disable-vp -mllvm -profile-correlate=debug-info inlined.c -o inlined",
    );
    workspace.train("./inlined", "inlined.profraw");
    for most in ["", "=0", "=1"].map(|most| most.replace('=', "--max-debug-info-correlation-warnings=")) {
        assert_same_as_llvm(&workspace, &format!("merge --text --debug-info=inlined inlined.profraw {most}"));
    }
    assert_same_as_llvm(&workspace, "show --debug-info=inlined");
    // Nothing is wrong with such functions.
    let mut images = Images::new(CorrelationKind::DebugInfo, Compat::Profbridge, Limits::default());
    images.add(&workspace.path("inlined")).unwrap();
    assert!(images.warnings().is_empty(), "{:?}", images.warnings());
}

/// A Windows program whose counters start 8 bytes after the start of their section, after the marker of the runtime.
const WINDOWS_PROGRAM: &str = "
int __llvm_profile_runtime;
__attribute__((section(\".lprfc$A\"))) char counters_start = 0;
__attribute__((section(\".lprfc$Z\"))) char counters_stop = 0;
static int twice(int a) { return a * 2; }
int pick(int a) { if (a > 3) return twice(a); return a; }
int entry(void) { int s = 0; for (int i = 0; i < 9; i++) s += pick(i); return s; }
";

#[test]
fn counters_of_a_windows_image_begin_after_a_marker() {
    if !available("a Windows image", &["clang-22", "lld-link-22", "llvm-profdata-22"]) {
        return;
    }
    let workspace = Workspace::with(&[]);
    std::fs::write(workspace.path("program.c"), WINDOWS_PROGRAM).unwrap();
    workspace.run(
        "clang-22 --target=x86_64-pc-windows-msvc -O1 -fprofile-generate -mllvm -profile-correlate=binary \
         -mllvm -disable-vp -c program.c -o program.obj",
    );
    workspace.run("lld-link-22 program.obj /entry:entry /nodefaultlib /subsystem:console /out:program.exe");
    // The bytes that the runtime would write: from the byte after the marker to the end.
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let header = words(&[0xff6c_7072_6f66_7281, 1 << 56 | 10, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    let dump = [header, vec![0; 7], words(&[11, 22, 33]), vec![0]].concat();
    std::fs::write(workspace.path("program.profraw"), dump).unwrap();
    workspace.run("llvm-profdata-22 merge --text --binary-file=program.exe program.profraw -o llvm.proftext");
    let expected = workspace.text("llvm.proftext");
    assert!(["11", "22", "33"].iter().all(|count| expected.lines().any(|line| line == *count)), "{expected}");
    let images = images(CorrelationKind::Binary, &[&workspace.path("program.exe")]);
    assert_eq!(correlated(&workspace.path("program.profraw"), &images, 22), expected);
}

#[test]
fn the_program_takes_several_images() {
    let stem = |release: u32| testdata(&format!("correlate/clang-{release}-binary")).display().to_string();
    let run = |images: &[u32]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_profbridge"));
        command.args(["merge", "--text", "-q", &format!("{}.profraw", stem(19)), &format!("{}.profraw", stem(22))]);
        for release in images {
            command.arg(format!("--binary-file={}.binary", stem(*release)));
        }
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, out, _) = run(&[22, 19]);
    assert_eq!(code, Some(0));
    assert!(out.contains("\nmain\n"), "{out}");
    let (code, _, err) = run(&[22]);
    assert_eq!(code, Some(1));
    assert!(err.contains("clang-19-binary.profraw") && err.contains("pass that image also"), "{err}");
}
