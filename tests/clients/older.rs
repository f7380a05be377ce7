//! Runs each client's command line from the README with raw profiles of an older compiler. The compiler and the
//! coverage tool of the same release then read the output.

use super::workspace::{available, find};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const RELEASES: [u32; 3] = [14, 16, 19];

/// The compiler must warn about dropped counts, and fail.
const STRICT: &str = "-Wprofile-instr-out-of-date -Wprofile-instr-unprofiled -Werror";

/// The three ways to call profbridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    /// `profbridge`.
    Own,
    /// A link `llvm-profdata`.
    Link,
    /// A link `llvm-profdata-16`.
    Numbered,
}

/// A client's command line that merges the raw profiles in the directory `raw`.
struct Recipe {
    client: &'static str,
    name: Name,
    /// The command line after the program's name.
    line: &'static str,
    /// The output file.
    output: &'static str,
    /// The standard input.
    input: &'static str,
}

const LIST: &str = "raw/0.profraw\nraw/1.profraw\n";

/// The command lines of the clients; [`super::lines`] tests them with LLVM 22.
const RECIPES: [Recipe; 10] = [
    recipe("clang", Name::Own, "merge raw/0.profraw raw/1.profraw -o app.profdata", "app.profdata"),
    recipe("clang", Name::Link, "merge -output=code.profdata raw/0.profraw raw/1.profraw", "code.profdata"),
    recipe("cargo-llvm-cov", Name::Own, "merge -sparse -f list -o words.profdata -failure-mode=all", "words.profdata"),
    recipe("cargo-llvm-cov", Name::Link, "merge -sparse -f list -o words.profdata -num-threads=1", "words.profdata"),
    Recipe {
        client: "grcov",
        name: Name::Link,
        line: "merge -f - -sparse -o grcov.profdata -num-threads=1",
        output: "grcov.profdata",
        input: LIST,
    },
    recipe("cargo-pgo", Name::Link, "merge -o merged-1f.profdata raw/0.profraw raw/1.profraw", "merged-1f.profdata"),
    recipe(
        "CMake",
        Name::Numbered,
        "merge -sparse raw/0.profraw raw/1.profraw -o coverage.profdata",
        "coverage.profdata",
    ),
    recipe("Bazel", Name::Link, "merge -output coverage.dat.data raw/0.profraw raw/1.profraw", "coverage.dat.data"),
    recipe("Bazel", Name::Own, "merge -output _cc_coverage.dat raw/0.profraw raw/1.profraw", "_cc_coverage.dat"),
    recipe("rules_rust", Name::Numbered, "merge --sparse raw/0.profraw raw/1.profraw --output x.data", "x.data"),
];

const fn recipe(client: &'static str, name: Name, line: &'static str, output: &'static str) -> Recipe {
    Recipe { client, name, line, output, input: "" }
}

/// A directory with the tools of one release and profbridge.
struct Bench {
    folder: tempfile::TempDir,
    release: u32,
}

impl Bench {
    /// Prints a message and returns `None` if tools of the release are missing.
    fn of(test: &str, release: u32) -> Option<Self> {
        let tools = ["clang", "llvm-cov", "llvm-profdata"].map(|tool| format!("{tool}-{release}"));
        if !available(test, &tools.each_ref().map(String::as_str)) {
            return None;
        }
        let bench = Self { folder: tempfile::tempdir().expect("a temporary folder"), release };
        for folder in ["bin", "raw"] {
            std::fs::create_dir(bench.path(folder)).expect("folder can be made");
        }
        for (tool, name) in tools.iter().zip(["clang", "llvm-cov", "genuine"]) {
            bench.link(&find(tool).expect("asked before"), name);
        }
        for name in ["llvm-profdata", &tools[2], "profbridge"] {
            bench.link(Path::new(env!("CARGO_BIN_EXE_profbridge")), name);
        }
        for source in ["calc.c", "conditions.c"] {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/src").join(source);
            std::fs::copy(&from, bench.path(source)).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        }
        std::fs::write(bench.path("list"), LIST).expect("file can be written");
        Some(bench)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn link(&self, program: &Path, name: &str) {
        std::os::unix::fs::symlink(program, self.path("bin").join(name)).expect("the program can be linked");
    }

    /// Runs a shell command line with our links first on the search path.
    fn shell(&self, line: &str, target: Option<&str>) -> Output {
        let outer = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(self.path("bin")).chain(std::env::split_paths(&outer));
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(self.folder.path());
        command.env("PATH", std::env::join_paths(path).expect("folders without separators"));
        match target {
            Some(target) => command.env("PROFBRIDGE_FOR", target),
            None => command.env_remove("PROFBRIDGE_FOR"),
        };
        command.output().expect("the shell starts")
    }

    /// Like [`shell`](Self::shell), but the command line must succeed. Returns its standard output.
    #[track_caller]
    fn run(&self, line: &str, target: Option<&str>) -> Vec<u8> {
        let output = self.shell(line, target);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "LLVM {}: {line}: {}\n{text}", self.release, output.status);
        output.stdout
    }

    /// Runs a program twice, and merges its profiles with the real tool.
    #[track_caller]
    fn train(&self, build: &str, arguments: [&str; 2]) {
        self.run(build, None);
        for (at, arguments) in arguments.iter().enumerate() {
            self.run(&format!("LLVM_PROFILE_FILE=raw/{at}.profraw ./program {arguments}"), None);
        }
        self.run("genuine merge raw/0.profraw raw/1.profraw -o genuine.profdata", None);
        self.run("genuine merge -sparse raw/0.profraw raw/1.profraw -o genuine-sparse.profdata", None);
    }

    /// Runs every recipe. `read` must print the same for its output and for the output of the real tool.
    #[track_caller]
    fn assert_recipes(&self, read: impl Fn(&str) -> String) {
        let [whole, sparse] = ["genuine.profdata", "genuine-sparse.profdata"].map(|name| self.run(&read(name), None));
        assert!(!whole.is_empty() && !sparse.is_empty());
        let chosen = format!("llvm-{}", self.release);
        for Recipe { client, name, line, output, input } in &RECIPES {
            let program = match name {
                Name::Own => "profbridge".to_string(),
                Name::Link => "llvm-profdata".to_string(),
                Name::Numbered => format!("llvm-profdata-{}", self.release),
            };
            // LLVM 22 reads the raw profiles of LLVM 19 itself, so the link writes LLVM 22's bytes.
            let must_say = *name == Name::Link && self.release == 19;
            let ways = [None, Some(chosen.as_str())];
            for target in ways.into_iter().filter(|target| target.is_some() || !must_say) {
                let _ = std::fs::remove_file(self.path(output));
                self.run(&format!("printf '{input}' | {program} {line}"), target);
                let read = self.run(&read(output), None);
                let expected = if line.contains("-sparse") { &sparse } else { &whole };
                assert!(read == *expected, "LLVM {}, {client} as {name:?} for {target:?}", self.release);
            }
        }
    }
}

#[test]
fn older_compilers_use_the_merges_of_every_client() {
    for release in RELEASES {
        let Some(bench) = Bench::of("compilers_of_older_releases", release) else { continue };
        bench.train("clang -O1 -fprofile-generate calc.c -o program", ["400 3", "7 2"]);
        let compile = |profile: &str| format!("clang -O2 {STRICT} -fprofile-use={profile} -S calc.c -o -");
        bench.assert_recipes(compile);
        let without = bench.run("clang -O2 -S calc.c -o -", None);
        assert!(bench.run(&compile("app.profdata"), None) != without, "LLVM {release}: the profile changed nothing");
    }
}

#[test]
fn older_coverage_tools_use_the_merges_of_every_client() {
    for release in RELEASES {
        let Some(bench) = Bench::of("coverage_tools_of_older_releases", release) else { continue };
        bench.train("clang -fprofile-instr-generate -fcoverage-mapping conditions.c -o program", ["3", "1"]);
        bench.assert_recipes(|profile| format!("llvm-cov export -format=lcov -instr-profile={profile} program"));
    }
}

/// cargo-llvm-cov appends the words of `LLVM_PROFDATA_FLAGS` to its own arguments.
#[test]
fn flags_and_environment_choose_the_reader_of_a_mixture() {
    for release in RELEASES {
        let Some(bench) = Bench::of("flags_and_environment_choose", release) else { continue };
        bench.train("clang -fprofile-instr-generate -fcoverage-mapping conditions.c -o program", ["3", "1"]);
        // A partial merge of a newer tool.
        bench.run("profbridge merge raw/1.profraw -o raw/newer.profdata --for llvm-22", None);
        std::fs::write(bench.path("list"), "raw/0.profraw\nraw/newer.profdata\n").expect("file can be written");
        let report = |profile: &str| format!("llvm-cov export -format=lcov -instr-profile={profile} program");
        let expected = bench.run(&report("genuine.profdata"), None);
        let line = "merge -sparse -f list -o words.profdata -failure-mode=all -num-threads=1";
        let chosen = format!("llvm-{release}");
        for (call, target) in [
            (format!("profbridge {line} --for {chosen}"), None),
            (format!("profbridge {line}"), Some(chosen.as_str())),
            (format!("llvm-profdata {line}"), Some(chosen.as_str())),
            (format!("llvm-profdata-{release} {line}"), None),
        ] {
            bench.run(&call, target);
            assert!(bench.run(&report("words.profdata"), None) == expected, "{call}");
        }
        // Without a given target, the newest input determines it. Its hashes may need version 12, which LLVM 19 reads.
        bench.run(&format!("profbridge {line}"), None);
        let read = bench.shell(&report("words.profdata"), None).status.success();
        assert!(release == 19 || !read, "LLVM {release} reads a newer version than its own");
    }
}

#[test]
fn a_link_called_llvm_profdata_in_a_path_of_llvm_16_serves_its_dumps_without_options() {
    let Some(bench) = Bench::of("a_link_called_llvm_profdata_in_a_path_of_llvm_16", 16) else { return };
    bench.train("clang -O1 -fprofile-generate calc.c -o program", ["400 3", "7 2"]);
    let merged = bench.shell("llvm-profdata merge -o app.profdata raw/*.profraw", None);
    assert!(merged.status.success() && merged.stderr.is_empty(), "{}", String::from_utf8_lossy(&merged.stderr));
    let compile =
        |profile: &str| bench.run(&format!("clang -O2 {STRICT} -fprofile-use={profile} -S calc.c -o -"), None);
    assert!(compile("app.profdata") == compile("genuine.profdata"));
    for line in ["show raw/0.profraw", "overlap raw/0.profraw raw/1.profraw", "order raw/0.profraw"] {
        let shown = bench.run(&format!("llvm-profdata {line}"), None);
        assert!(!shown.is_empty(), "{line}");
    }
    let refused = bench.shell("llvm-profdata merge -o exact.profdata raw/*.profraw", Some("exact"));
    assert_eq!((refused.status.code(), bench.path("exact.profdata").exists()), (Some(1), false));
}
