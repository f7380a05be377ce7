//! Builds, runs and symbolizes programs in many ways, with each installed release of clang. profbridge and the real
//! tool give the same results for their raw profiles.

use profbridge::Limits;
use profbridge::instr::Release;
use profbridge::memprof::raw::{self, Program, RawMemProf};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

/// The tools of a release: the installed ones, or those in `LLVM_R_BIN`.
struct Toolchain {
    release: u32,
    compiler: PathBuf,
    profdata: PathBuf,
    /// The flags that the compiler needs.
    flags: Vec<&'static str>,
}

fn toolchain(release: u32) -> Option<Toolchain> {
    let found = match std::env::var_os(format!("LLVM_{release}_BIN")) {
        Some(folder) => {
            let tool = |name: &str| Path::new(&folder).join(name);
            Toolchain {
                release,
                compiler: tool("clang++"),
                profdata: tool("llvm-profdata"),
                // Such builds may find another C++ library first.
                flags: vec!["-stdlib=libstdc++"],
            }
        }
        None => {
            let tool = |name: &str| PathBuf::from(format!("{name}-{release}"));
            Toolchain { release, compiler: tool("clang++"), profdata: tool("llvm-profdata"), flags: Vec::new() }
        }
    };
    let runs = |tool: &Path| Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if runs(&found.compiler) && runs(&found.profdata) {
        return Some(found);
    }
    let _ = std::io::Write::write_all(
        &mut std::io::stderr(),
        format!("SKIPPED: clang and llvm-profdata of release {release} are not installed\n").as_bytes(),
    );
    None
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    output
}

fn ours() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
    command.arg("llvm-profdata");
    command
}

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/src/allocations.cpp");

/// A program that was built and run in a directory.
struct Run {
    folder: tempfile::TempDir,
}

impl Run {
    /// Builds `source` with these flags and runs it.
    fn new(tools: &Toolchain, source: &str, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // In two steps, because split debug info belongs to the object file.
        let mut compile = Command::new(&tools.compiler);
        compile.current_dir(&folder).args(&tools.flags).args(["-O1", "-fmemory-profile", "-fno-omit-frame-pointer"]);
        compile.args(["-fdebug-info-for-profiling", "-fno-optimize-sibling-calls", "-c", "-o", "object.o"]);
        let (compiling, linking): (Vec<&str>, Vec<&str>) =
            flags.iter().partition(|flag| !flag.starts_with("-Wl,") && !flag.contains("pie"));
        done(compile.args(compiling).arg(source));
        let mut link = Command::new(&tools.compiler);
        link.current_dir(&folder).args(&tools.flags).args(["-fmemory-profile", "-Wl,--build-id", "object.o"]);
        done(link.args(linking).args(["-o", "program"]));
        let run = Self { folder };
        done(Command::new(run.path("program")).arg("20").env("MEMPROF_OPTIONS", run.log_path()));
        let dump = std::fs::read_dir(&run.folder).unwrap().map(|entry| entry.unwrap().path());
        let mut dump =
            dump.filter(|path| path.extension().is_some_and(|pid| pid.as_encoded_bytes()[0].is_ascii_digit()));
        std::fs::rename(dump.next().expect("the program leaves a dump"), run.path("dump.memprofraw")).unwrap();
        run
    }

    fn log_path(&self) -> String {
        format!("log_path={}", self.path("dump").display())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the indexed file that a tool writes for the raw profile.
    fn merged(&self, command: &mut Command, arguments: &[&str]) -> Vec<u8> {
        let output = self.path("merged.profdata");
        let mut command = command.arg("merge").args(arguments).current_dir(&self.folder);
        command = command.args(["--num-threads=1", "--profiled-binary=program", "dump.memprofraw", "-o"]).arg(&output);
        done(command);
        std::fs::read(output).unwrap()
    }

    /// Both tools merge the profile to the same bytes and print the same text.
    fn compare(&self, tools: &Toolchain, what: &str) {
        let for_release = format!("llvm-{}", tools.release);
        let merged =
            |command: &mut Command, version: &[&str]| self.merged(command.env("PROFBRIDGE_FOR", &for_release), version);
        // Release 18 and earlier write only version 0 and have no option.
        let versions: &[&[&str]] =
            if tools.release >= 19 { &[&["--memprof-version=3"], &["--memprof-version=2"]] } else { &[&[]] };
        for version in versions {
            let (theirs, mine) = (merged(&mut Command::new(&tools.profdata), version), merged(&mut ours(), version));
            assert!(theirs == mine, "{what}, release {}, {version:?}: other bytes", tools.release);
        }
        if tools.release >= 22 {
            let show = |command: &mut Command| {
                let command = command.args(["show", "--memory", "--profiled-binary=program", "dump.memprofraw"]);
                text(&done(command.current_dir(&self.folder)).stdout)
            };
            assert!(show(&mut Command::new(&tools.profdata)) == show(&mut ours()), "{what}: other text");
        }
    }

    /// Returns the output of a compiler for a profile of the program, without file names.
    fn compiled(&self, tools: &Toolchain, profile: &[u8]) -> String {
        let (input, output) = (self.path("use.profdata"), self.path("out.ll"));
        std::fs::write(&input, profile).unwrap();
        let mut command = Command::new(&tools.compiler);
        command.args(&tools.flags).args(["-O2", "-gmlt", "-fdebug-info-for-profiling", "-S", "-emit-llvm", "-o"]);
        done(command.arg(&output).arg(SOURCE).arg(format!("-fmemory-profile-use={}", input.display())));
        let listing = std::fs::read_to_string(&output).unwrap();
        let name = input.display().to_string();
        listing.lines().filter(|line| !line.contains(&name)).collect::<Vec<_>>().join("\n")
    }
}

#[test]
fn programs_of_each_release_are_looked_up_as_its_tool_does() {
    for release in [17, 18, 19, 22, 23] {
        let Some(tools) = toolchain(release) else { continue };
        for flags in [&["-gmlt"][..], &["-gmlt", "-no-pie"]] {
            Run::new(&tools, SOURCE, flags).compare(&tools, &format!("{flags:?}"));
        }
    }
}

#[test]
fn compilers_read_our_files_as_those_of_their_own_tool() {
    for release in [19, 22, 23] {
        let Some(tools) = toolchain(release) else { continue };
        let run = Run::new(&tools, SOURCE, &["-gmlt"]);
        let for_release = format!("llvm-{release}");
        // Random hotness makes sure that some allocations are cold.
        let by_chance = ["--memprof-random-hotness", "--memprof-random-hotness-seed=7"];
        // Release 19 does not have the option.
        let chances = [&[][..], &by_chance];
        for chance in &chances[..if release == 19 { 1 } else { 2 }] {
            let theirs = run.merged(&mut Command::new(&tools.profdata), chance);
            let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
            let mine = run.merged(command.env("PROFBRIDGE_FOR", &for_release), chance);
            let listing = run.compiled(&tools, &mine);
            assert!(listing.contains("\"memprof\"=") || listing.contains("!memprof"), "release {release}, {chance:?}");
            assert_eq!(chance.is_empty(), !listing.contains("\"memprof\"=\"cold\""), "release {release}, {chance:?}");
            assert!(listing == run.compiled(&tools, &theirs), "release {release}, {chance:?}: other code");
        }
    }
}

/// Lines count from the declaration of their function.
#[test]
fn functions_without_the_line_of_their_declaration_are_announced() {
    let Some(tools) = toolchain(22) else { return };
    for (flags, lacks) in [(&["-gmlt"][..], false), (&["-gmlt", "-fno-debug-info-for-profiling"], true)] {
        let run = Run::new(&tools, SOURCE, flags);
        let said = |arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
            let command = command.args(arguments).args(["--profiled-binary=program", "dump.memprofraw"]);
            text(&done(command.current_dir(&run.folder)).stderr).contains("no line of the declaration of ")
        };
        assert_eq!([said(&["show"]), said(&["merge", "-o", "out.profdata"])], [lacks; 2], "{flags:?}");
        let info = done(Command::new(env!("CARGO_BIN_EXE_profbridge")).arg("info").arg(run.path("program")));
        assert_eq!(text(&info.stdout).contains("but lines of functions are missing"), lacks, "{flags:?}");
    }
}

#[test]
fn split_debug_info_is_followed() {
    let Some(tools) = toolchain(22) else { return };
    for dwarf in ["-gdwarf-4", "-gdwarf-5"] {
        let run = Run::new(&tools, SOURCE, &["-g", dwarf, "-gsplit-dwarf", "-fsplit-dwarf-inlining"]);
        run.compare(&tools, &format!("{dwarf}, .dwo"));
        let split = run.merged(&mut ours(), &[]);
        let package =
            Command::new("llvm-dwp-22").current_dir(&run.folder).args(["-e", "program", "-o", "program.dwp"]).output();
        std::fs::remove_file(run.path("object.dwo")).unwrap();
        if package.is_ok_and(|output| output.status.success()) {
            run.compare(&tools, &format!("{dwarf}, .dwp"));
            assert!(run.merged(&mut ours(), &[]) == split, "{dwarf}: the package says something else");
            std::fs::remove_file(run.path("program.dwp")).unwrap();
        } else {
            let _ = std::io::Write::write_all(&mut std::io::stderr(), b"SKIPPED: llvm-dwp-22 is not installed\n");
        }
        // The remaining data is in the skeleton.
        run.compare(&tools, &format!("{dwarf}, nothing but the program"));
        assert!(run.merged(&mut ours(), &[]) != split, "{dwarf}");
    }
}

#[test]
fn compressed_debug_info_is_inflated() {
    let Some(tools) = toolchain(22) else { return };
    Run::new(&tools, SOURCE, &["-g", "-gz=zlib"]).compare(&tools, "-gz");
}

#[test]
fn code_in_several_segments_is_found_in_profbridge_mode() {
    const FAR: &str = "#include <cstdlib>
        void *volatile kept;
        __attribute__((noinline, section(\".far\"))) void far_away(int n) { kept = malloc(n); free(kept); }
        __attribute__((noinline)) void near_by(int n) { kept = malloc(7 * n); free(kept); far_away(n); }
        int main() { near_by(5); far_away(3); return 0; }\n";
    let Some(tools) = toolchain(22) else { return };
    for pie in ["-pie", "-no-pie"] {
        let source = tempfile::Builder::new().suffix(".cpp").tempfile().unwrap();
        std::fs::write(&source, FAR).unwrap();
        let flags = ["-gmlt", "-fPIE", pie, "-Wl,--section-start=.far=0x10000000"];
        let run = Run::new(&tools, source.path().to_str().unwrap(), &flags);
        let dump = std::fs::read(run.path("dump.memprofraw")).unwrap();
        let raw = RawMemProf::read(&dump, &Limits::default()).unwrap();
        let program = Program::open(&run.path("program"), &Limits::default()).unwrap();
        let profile = raw::resolve(&raw, &[Arc::new(program)], Release::DEFAULT).unwrap().profile;
        let mut names: Vec<String> = profile.names.values().map(|name| text(name)).collect();
        names.sort();
        assert_eq!(names, ["_Z7near_byi", "_Z8far_awayi", "main"], "{pie}");
        assert_eq!(profile.alloc_sites().count(), 3, "{pie}");
        // The real tool needs exactly one segment, and so does llvm-profdata mode.
        let refused = |command: &mut Command| {
            let command = command.args(["merge", "--profiled-binary=program", "dump.memprofraw", "-o", "out"]);
            let output = command.current_dir(&run.folder).output().unwrap();
            (output.status.code(), text(&output.stderr))
        };
        let theirs = refused(&mut Command::new(&tools.profdata));
        assert!(theirs.1.contains("Expect only one executable load segment in the binary"), "{theirs:?}");
        assert_eq!(refused(&mut ours()), theirs);
    }
}

#[test]
fn stripped_programs_are_refused_as_release_22_refuses_them() {
    let Some(tools) = toolchain(22) else { return };
    let run = Run::new(&tools, SOURCE, &["-gmlt", "-Wl,--strip-debug"]);
    for command in [&["merge", "-o", "out"][..], &["show", "--memory"]] {
        let refused = |program: &mut Command| {
            let program = program.args(command).args(["--profiled-binary=program", "dump.memprofraw"]);
            let output = program.current_dir(&run.folder).output().unwrap();
            (output.status.code(), text(&output.stderr))
        };
        assert_eq!(refused(&mut ours()), refused(&mut Command::new(&tools.profdata)), "{command:?}");
    }
    let mut own = Command::new(env!("CARGO_BIN_EXE_profbridge"));
    let own =
        own.current_dir(&run.folder).args(["show", "--profiled-binary=program", "dump.memprofraw"]).output().unwrap();
    let said = text(&own.stderr);
    assert!(said.contains("debug info has no function") && said.contains("pass the unstripped program"), "{said}");
}

#[test]
fn images_of_a_process_are_looked_up_one_by_one_or_together() {
    let Some(tools) = toolchain(22) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str| std::fs::write(path(name), text).unwrap();
    write("lib.cpp", "#include <cstdlib>\nvoid *in_library(int n) { return malloc(n); }\n");
    write(
        "main.cpp",
        "#include <cstdlib>\nvoid *in_library(int);\nvoid *volatile kept;\nint main() { kept = malloc(3); kept = in_library(5); }\n",
    );
    let flags = [
        "-O1",
        "-gmlt",
        "-fdebug-info-for-profiling",
        "-fno-omit-frame-pointer",
        "-fno-optimize-sibling-calls",
        "-fmemory-profile",
        "-Wl,--build-id",
    ];
    let compile =
        |arguments: &[&str]| done(Command::new(&tools.compiler).current_dir(&folder).args(flags).args(arguments));
    compile(&["-fPIC", "-shared", "lib.cpp", "-o", "libother.so"]);
    compile(&["main.cpp", "-L.", "-lother", "-Wl,-rpath,$ORIGIN", "-o", "program"]);
    done(Command::new(path("program")).current_dir(&folder).env("MEMPROF_OPTIONS", "log_path=dump"));
    let dump = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let dump = dump.into_iter().find(|path| path.to_string_lossy().contains("/dump.")).unwrap();
    for image in ["program", "libother.so"] {
        let show = |command: &mut Command| {
            let command = command.args(["show", "--memory"]).arg(format!("--profiled-binary={image}")).arg(&dump);
            text(&done(command.current_dir(&folder)).stdout)
        };
        let mine = show(&mut ours());
        assert!(mine.contains("SymbolName"), "{image}");
        assert_eq!(mine, show(&mut Command::new(&tools.profdata)), "{image}");
    }
    // If both images are given, each address is found in its own image.
    let programs = ["libother.so", "program"].map(|image| format!("--profiled-binary={image}"));
    let mut both = Command::new(env!("CARGO_BIN_EXE_profbridge"));
    let both = text(&done(both.current_dir(&folder).arg("show").args(programs).arg(&dump)).stdout);
    assert!(both.contains("\n5 bytes in 1 allocation, ") && both.contains("\n3 bytes in 1 allocation, "), "{both}");
    assert!(both.contains("  _Z10in_libraryi +0:34\n  main +0:"), "{both}");
}
