//! The steps of a comparison: instrument, run, merge, compile with the profile.

use super::kind::{Kind, Language, SAMPLES, SOURCES, Source};
use super::measure::{self, Used};
use super::process::{Failure, Runner, output_of};
use super::toolchain::Toolchain;
use crate::this_program;
use profbridge::{Error, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The result of a step that starts programs.
type Step<T> = std::result::Result<T, Failure>;

/// The number of rounds of each program. It is the same for all toolchains, so that equal counters have equal counts.
const ROUNDS: u32 = 100;

/// A directory with the sources, and the programs that run in it.
pub(super) struct Work {
    sources: PathBuf,
    root: PathBuf,
    pub(super) runner: Runner,
    /// The command that starts this program.
    profbridge: Vec<OsString>,
}

/// The profiles that a program of a toolchain wrote.
pub(super) struct Written {
    directory: PathBuf,
    /// Raw profiles; the sample profile for that kind.
    profiles: Vec<PathBuf>,
    /// The record of each function, if the reader computes its FuncHash again.
    pub(super) records: BTreeMap<String, Record>,
}

/// The FuncHash and the counters of a function.
#[derive(Debug, PartialEq)]
pub(super) struct Record {
    pub(super) hash: u64,
    pub(super) counters: Vec<u64>,
}

/// A profile that profbridge wrote, and the functions whose counts it reports as lost.
pub(super) struct Merged {
    pub(super) profile: PathBuf,
    pub(super) lost: usize,
    pub(super) loss: Option<String>,
}

impl Work {
    /// Writes the sources into a directory.
    pub(super) fn new(root: &Path, runner: Runner) -> Result<Self> {
        let sources = root.join("sources");
        let write = || {
            fs::create_dir_all(&sources)?;
            SOURCES.iter().try_for_each(|source| fs::write(sources.join(source.file), source.text))?;
            fs::write(sources.join("program.prof"), SAMPLES)
        };
        write().map_err(|error| Error::io("cannot write the programs", error).in_file(&sources))?;
        let profbridge = this_program::command().map_err(|error| Error::io("cannot find this program", error))?;
        Ok(Self { sources, root: root.to_path_buf(), runner, profbridge })
    }

    /// Returns a new directory for the files of a step.
    fn directory(&self, parts: &[&str]) -> Step<PathBuf> {
        let directory = parts.iter().fold(self.root.clone(), |path, part| path.join(part));
        fs::create_dir_all(&directory).map_err(|error| Failure::new(format!("cannot create a directory: {error}")))?;
        Ok(directory)
    }

    /// Builds a program with a toolchain and runs it.
    pub(super) fn write(&self, toolchain: &Toolchain, kind: Kind, source: &Source) -> Step<Written> {
        let directory = self.directory(&[kind.name(), &toolchain.name, source.file])?;
        let mut written = Written { directory, profiles: Vec::new(), records: BTreeMap::new() };
        match kind {
            Kind::Sample => {
                let (samples, output) = (self.sources.join("program.prof"), written.directory.join("profile.afdo"));
                let line = ["merge", "--sample", "--extbinary"].map(OsStr::new);
                self.profdata(toolchain, &written.directory, &line, &[samples], &output)?;
                written.profiles.push(output);
            }
            Kind::Cs => {
                let first = self.train(&written, toolchain, kind, source, &[], "first")?;
                let profile = written.directory.join("first.profdata");
                self.merge(toolchain, &written.directory, std::slice::from_ref(&first), &profile, &[])?;
                let using = [format!("-fprofile-use={}", profile.display()), "-fcs-profile-generate".to_string()];
                let second = self.train(&written, toolchain, kind, source, &using, "second")?;
                written.profiles = vec![first, second];
            }
            _ => written.profiles.push(self.train(&written, toolchain, kind, source, &[], "profile")?),
        }
        if kind.has_hashes() {
            let text = written.directory.join("profile.proftext");
            let of_kind = usize::from(kind == Kind::Cs)..;
            self.merge(toolchain, &written.directory, &written.profiles[of_kind], &text, &[OsStr::new("--text")])?;
            written.records = records(&fs::read_to_string(text).unwrap_or_default());
        }
        Ok(written)
    }

    /// Builds a program, runs it, and returns its raw profile. `using` are other options than those of the kind; a program
    /// built with them runs longer, so that its counts differ.
    fn train(
        &self,
        written: &Written,
        toolchain: &Toolchain,
        kind: Kind,
        source: &Source,
        using: &[String],
        name: &str,
    ) -> Step<PathBuf> {
        let directory = &written.directory;
        let program = directory.join("program");
        let mut command = self.compiler(toolchain, kind, source);
        match (source.language, kind) {
            (Language::Rust, Kind::Coverage) => drop(command.arg("-Cinstrument-coverage")),
            (Language::Rust, _) => drop(command.arg("-Cprofile-generate")),
            _ if using.is_empty() => drop(command.args(kind.instrumenting_options())),
            _ => drop(command.args(using)),
        }
        command.arg("-o").arg(&program).arg(source.file);
        self.runner.run(&mut command, &directory.join("build")).map_err(|failure| named(&toolchain.name, failure))?;
        let profile =
            directory.join(format!("{name}.{}", if kind == Kind::Memprof { "memprofraw" } else { "profraw" }));
        let mut command = Command::new(&program);
        let rounds = if using.is_empty() { ROUNDS } else { ROUNDS + 7 };
        // Relative names, because the runtime library replaces patterns such as %p.
        command.current_dir(directory).arg(rounds.to_string());
        match kind {
            Kind::Memprof => command.env("MEMPROF_OPTIONS", "log_path=memory"),
            _ => command.env("LLVM_PROFILE_FILE", format!("{name}.profraw")),
        };
        let of_program = |failure| named(&format!("the program of {}", toolchain.name), failure);
        self.runner.run(&mut command, &directory.join("run")).map_err(of_program)?;
        if kind == Kind::Memprof {
            rename_memory_profile(directory, &profile);
        }
        match profile.is_file() {
            true => Ok(profile),
            false => Err(of_program(Failure::new("writes no profile"))),
        }
    }

    /// Returns the command of a compiler with the options that all steps have.
    fn compiler(&self, toolchain: &Toolchain, kind: Kind, source: &Source) -> Command {
        let mut command = Command::new(&toolchain.compiler);
        command.current_dir(&self.sources);
        match source.language {
            Language::Rust => command.args(["--edition=2021", "-Copt-level=1", "-Ccodegen-units=1"]),
            Language::C => command.args(kind.common_options()),
            // The programs need no C++ library, so that they can be linked where it is missing.
            Language::Cxx => command
                .args(["--driver-mode=g++", "-nostdlib++", "-fno-rtti", "-fno-exceptions"])
                .args(kind.common_options()),
        };
        command
    }

    /// Merges a toolchain's profiles with the llvm-profdata of a reader.
    pub(super) fn merge_directly(&self, written: &Written, reader: &Toolchain, kind: Kind) -> Step<PathBuf> {
        let directory = self.directory_for(written, reader, "direct")?;
        let output = directory.join("profile.profdata");
        let program = written.profiled_binary();
        let mut line = vec![OsStr::new("merge")];
        match kind {
            Kind::Sample => line.extend(["--sample", "--extbinary"].map(OsStr::new)),
            Kind::Memprof => line.push(&program),
            _ => {}
        }
        self.profdata(reader, &directory, &line, &written.profiles, &output)?;
        Ok(output)
    }

    /// Merges toolchains' profiles with profbridge for a reader. The files belong to the first toolchain.
    pub(super) fn merge_through(&self, all: &[&Written], reader: &Toolchain, kind: Kind) -> Step<Merged> {
        let [written, ..] = all else { return Err(Failure::new("no profile")) };
        let name = if all.len() == 1 { "through" } else { "together" };
        let directory = self.directory_for(written, reader, name)?;
        let output = directory.join(if kind == Kind::Sample { "profile.afdo" } else { "profile.profdata" });
        let inputs: Vec<PathBuf> = all.iter().flat_map(|written| written.profiles.clone()).collect();
        let program = written.profiled_binary();
        let mut options = vec![OsStr::new("--json")];
        options.extend((kind == Kind::Memprof).then_some(program.as_os_str()));
        options.extend((kind == Kind::Fe && all.len() > 1).then_some(OsStr::new("--hashes=reader")));
        let document = self.merge(reader, &directory, &inputs, &output, &options)?;
        let losses =
            || document["findings"].as_array().into_iter().flatten().filter(|finding| finding["is_loss"] == true);
        let functions = |finding: &Value| finding["functions"].as_u64().unwrap_or_default();
        let lost = losses().map(functions).fold(0, u64::saturating_add);
        let kinds: Vec<&str> = losses().filter_map(|finding| finding["kind"].as_str()).collect();
        let loss = (lost > 0).then(|| format!("profbridge reports the loss: {}", kinds.join(", ")));
        Ok(Merged { profile: output, lost: usize::try_from(lost).unwrap_or(usize::MAX), loss })
    }

    fn directory_for(&self, written: &Written, reader: &Toolchain, name: &str) -> Step<PathBuf> {
        self.directory(&[&written.directory.to_string_lossy(), &format!("for-{}", reader.name), name])
    }

    /// Runs `profbridge merge` for a target release and returns its document, if there is one.
    fn merge(
        &self,
        target: &Toolchain,
        directory: &Path,
        inputs: &[PathBuf],
        output: &Path,
        options: &[&OsStr],
    ) -> Step<Value> {
        let mut command = Command::new(&self.profbridge[0]);
        command.args(&self.profbridge[1..]).current_dir(directory);
        command.args(["merge", "--for", &target.release]).args(options).args(inputs).arg("-o").arg(output);
        let log = directory.join("profbridge");
        self.runner.run(&mut command, &log).map_err(|failure| named("profbridge", failure))?;
        let document = fs::read(output_of(&log)).unwrap_or_default();
        Ok(serde_json::from_slice(&document).unwrap_or_default())
    }

    /// Runs the llvm-profdata of a toolchain.
    fn profdata(
        &self,
        toolchain: &Toolchain,
        directory: &Path,
        line: &[&OsStr],
        inputs: &[PathBuf],
        output: &Path,
    ) -> Step<()> {
        let mut command = Command::new(tool(toolchain.llvm_profdata.as_deref(), "llvm-profdata", toolchain)?);
        command.current_dir(directory).args(line).args(inputs).arg("-o").arg(output);
        let run = self.runner.run(&mut command, &directory.join("llvm-profdata"));
        run.map(drop).map_err(|failure| named(&tool_name("llvm-profdata", toolchain), failure))
    }

    /// Lets a reader use a merged profile, and returns the counts that it uses.
    pub(super) fn read(
        &self,
        profile: &Path,
        reader: &Toolchain,
        kind: Kind,
        source: &Source,
        writer: &Written,
    ) -> Step<Used> {
        let log = profile.with_extension("use");
        if kind.is_coverage() {
            let mut command = Command::new(tool(reader.llvm_cov.as_deref(), "llvm-cov", reader)?);
            command.current_dir(&self.sources).arg("export").arg(writer.program());
            command.arg("-instr-profile").arg(profile);
            let name = tool_name("llvm-cov", reader);
            self.runner.run(&mut command, &log).map_err(|failure| named(&name, failure))?;
            let used = measure::of_coverage(kind, &read_text(&output_of(&log))?);
            return used.ok_or_else(|| named(&name, Failure::new("prints other JSON than expected")));
        }
        if kind == Kind::Temporal {
            let mut command = Command::new(tool(reader.llvm_profdata.as_deref(), "llvm-profdata", reader)?);
            command.arg("order").arg(profile);
            let run = self.runner.run(&mut command, &log);
            run.map_err(|failure| named(&tool_name("llvm-profdata", reader), failure))?;
            return Ok(measure::of_order(&read_text(&output_of(&log))?));
        }
        // Calls are as in the profile; those to hot targets are made direct in a second run.
        let (messages, text) = self.assembly(profile, reader, kind, source, &["-mllvm", "-disable-icp"])?;
        let mut used = measure::of_assembly(kind, &text);
        used.warnings = measure::warnings(&messages);
        if kind == Kind::Ir && source.language != Language::Rust {
            let all_hot = ["-mllvm", "-profile-summary-hot-count=1"];
            let (_, text) = self.assembly(profile, reader, kind, source, &all_hot)?;
            used.direct_calls = measure::direct_calls(&text);
        }
        Ok(used)
    }

    /// Compiles with a profile. Returns the compiler's messages and LLVM's assembly.
    fn assembly(
        &self,
        profile: &Path,
        reader: &Toolchain,
        kind: Kind,
        source: &Source,
        options: &[&str],
    ) -> Step<(String, String)> {
        let output = profile.with_extension("ll");
        let mut command = self.compiler(reader, kind, source);
        let with_path = |option: &str| {
            let mut option = OsString::from(option);
            option.push(profile);
            option
        };
        match source.language {
            Language::Rust => command.arg(with_path("-Cprofile-use=")).arg("--emit=llvm-ir"),
            _ => command
                .arg(with_path(kind.using_option()))
                .args(kind.reporting_options())
                .args(if kind == Kind::Cs { &[] } else { options })
                .args(["-S", "-emit-llvm"]),
        };
        command.arg(source.file).arg("-o").arg(&output);
        let run = self.runner.run(&mut command, &profile.with_extension("use"));
        let messages = run.map_err(|failure| named(&reader.name, failure))?;
        Ok((messages, read_text(&output)?))
    }
}

impl Written {
    fn program(&self) -> PathBuf {
        self.directory.join("program")
    }

    fn profiled_binary(&self) -> OsString {
        let mut option = OsString::from("--profiled-binary=");
        option.push(self.program());
        option
    }
}

/// Adds the name of a tool to the reason of a failure.
fn named(tool: &str, failure: Failure) -> Failure {
    Failure { end: format!("{tool}: {}", failure.reason()), messages: String::new(), ..failure }
}

fn tool_name(tool: &str, toolchain: &Toolchain) -> String {
    format!("{tool} of LLVM {}", toolchain.llvm)
}

fn tool<'a>(path: Option<&'a Path>, tool: &str, toolchain: &Toolchain) -> Step<&'a Path> {
    path.ok_or_else(|| Failure::not_installed(format!("{} is not installed", tool_name(tool, toolchain))))
}

fn read_text(path: &Path) -> Step<String> {
    fs::read_to_string(path).map_err(|error| Failure::new(format!("cannot read the output: {error}")))
}

/// Renames `memory.PID`, which the runtime library writes.
fn rename_memory_profile(directory: &Path, profile: &Path) {
    let is_profile = |name: &OsStr| name.to_string_lossy().starts_with("memory.");
    let found = fs::read_dir(directory).into_iter().flatten().flatten().find(|entry| is_profile(&entry.file_name()));
    // Without a file, the caller reports that the program wrote no profile.
    let _ = found.map(|entry| fs::rename(entry.path(), profile));
}

/// Returns the record of each function of a text profile. The names are without the file of local functions.
fn records(text: &str) -> BTreeMap<String, Record> {
    let lines: Vec<&str> = text.lines().collect();
    let record = |(at, window): (usize, &[&str])| {
        let (name, hash) = (window[0].rsplit([';', ':']).next()?, window[2].parse().ok()?);
        // After the hash: a comment, the number of counters, a comment, the counters.
        let counters: Vec<u64> = lines.iter().skip(at + 6).map_while(|line| line.parse().ok()).collect();
        (window[1] == "# Func Hash:").then(|| (name.to_string(), Record { hash, counters }))
    };
    lines.windows(3).enumerate().filter_map(record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_local_functions_have_plain_names() {
        let record = |name: &str, hash: u64| {
            format!("{name}\n# Func Hash:\n{hash}\n# Num Counters:\n2\n# Counter Values:\n5\n{hash}\n\n")
        };
        let text = format!(":ir\n{}{}", record("x;y.c;f", 17), record("g", 18));
        let expected = |hash| Record { hash, counters: vec![5, hash] };
        assert_eq!(records(&text), [("f".to_string(), expected(17)), ("g".to_string(), expected(18))].into());
    }
}
