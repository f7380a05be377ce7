//! The profile passes of releases older than any compiler that Debian or `install.sh` has. They are in a Python package
//! that contains LLVM as a library; `passes/run.py` calls them.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::compilers::skip;

const RELEASES: [u32; 6] = [6, 7, 8, 9, 10, 11];

/// Names and hashes are those that the passes of these releases compute for `instr.ll`.
const COUNTERS: &str = "\
:ir
FILE:loc
24868915205
2
30
70

ext
72057625880836027
4
11
22
33
9

main
281504189613384
2
5
95
1
0
1
2
FILE:loc:60
ext:35
";

const SAMPLES: &str = "\
caller:5000:10
 1: 10
 2: 1000
 4: 990 leaf:600 other:390
 5: 990
 6: 10
 3: leaf:1500
  1: 990
  2: 100
  3: 880
leaf:600:60
 1: 60
 2: 20
 3: 40
";

/// The library of a release, if it is installed.
fn library(test: &str, release: u32) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = root.join(format!(".llvm/passes-{release}/libllvmlite.so"));
    if !library.is_file() {
        skip(test, &format!("the passes of LLVM {release} are not installed"));
        return None;
    }
    Some(library)
}

struct Passes {
    library: PathBuf,
    release: u32,
    folder: tempfile::TempDir,
}

impl Passes {
    fn new(library: PathBuf, release: u32, profile: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("in.txt"), profile).unwrap();
        Self { library, release, folder }
    }

    /// Writes the profile for the release.
    fn convert(&self, options: &str, output: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_profbridge"))
            .args(["merge", "in.txt", "--for", &format!("llvm-{}", self.release), "-o", output])
            .args(options.split_whitespace())
            .current_dir(self.folder.path())
            .output()
            .unwrap()
    }

    /// Returns the module with the data that the release uses of each profile.
    fn modules(&self, kind: &str, module: &str, profiles: &[String]) -> Vec<String> {
        let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/releases/passes");
        let output = Command::new("python3")
            .arg(files.join("run.py"))
            .args([&self.library, Path::new(kind), &files.join(module)])
            .args(profiles)
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "LLVM {}: {said}", self.release);
        let modules = String::from_utf8(output.stdout).unwrap();
        modules.split_terminator('\x0c').map(str::to_string).collect()
    }
}

#[test]
fn old_releases_use_instrumentation_profiles() {
    for release in RELEASES {
        let Some(library) = library("old_releases_use_instrumentation_profiles", release) else { continue };
        // The parser of the first ones has no name of the file.
        let file = if release < 8 { "<string>" } else { "dir/instr.c" };
        let passes = Passes::new(library, release, &COUNTERS.replace("FILE", file));
        let output = passes.convert("", "out.profdata");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let module = &passes.modules("instr", "instr.ll", &["out.profdata".to_string()])[0];
        let loc = i64::from_ne_bytes(name_ref(&format!("{file}:loc")));
        for expected in [
            "!{!\"TotalCount\", i64 275}",
            "!{!\"function_entry_count\", i64 100}",
            "!{!\"branch_weights\", i32 30, i32 70}",
            "!{!\"branch_weights\", i32 33, i32 22, i32 11}",
            "!{!\"branch_weights\", i32 9, i32 24}",
            &format!("!{{!\"VP\", i32 0, i64 95, i64 {loc}, i64 60, i64 -2953423517159131221, i64 35}}"),
        ] {
            assert!(module.contains(expected), "LLVM {release}: no {expected} in\n{module}");
        }
    }
}

/// Returns the bytes of a NameRef.
fn name_ref(name: &str) -> [u8; 8] {
    let digest = md5::compute(name);
    digest[..8].try_into().unwrap()
}

#[test]
fn old_releases_use_sample_profiles_in_each_encoding_that_is_written_for_them() {
    const ENCODINGS: [(&str, RangeInclusive<u32>); 6] = [
        ("--sample-format binary", 6..=11),
        ("--sample-format compact", 8..=11),
        ("--sample-format extbinary", 10..=11),
        ("--sample-format extbinary --use-md5", 11..=11),
        ("--sample-format extbinary --compress-all-sections", 10..=11),
        ("", 6..=11),
    ];
    for release in RELEASES {
        let test = "old_releases_use_sample_profiles_in_each_encoding_that_is_written_for_them";
        let Some(library) = library(test, release) else { continue };
        let passes = Passes::new(library, release, SAMPLES);
        let mut written = vec!["in.txt".to_string()];
        for (number, (options, releases)) in ENCODINGS.into_iter().enumerate() {
            let name = format!("{number}.prof");
            let output = passes.convert(options, &name);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.success(), releases.contains(&release), "LLVM {release}, {options}: {said}");
            // The library of LLVM 10 has no zlib.
            if output.status.success() && !(release == 10 && options.contains("compress")) {
                written.push(name);
            }
        }
        let modules = passes.modules("sample", "samples.ll", &written);
        assert_eq!(modules.len(), written.len());
        assert!(modules[0].contains("!{!\"branch_weights\", i32 991, i32 12}"), "{}", modules[0]);
        for (module, name) in modules.iter().zip(&written) {
            assert_eq!(*module, modules[0], "LLVM {release}, {name}");
        }
    }
}
