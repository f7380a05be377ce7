//! `generate`: synthetic profiles, and a description of their content.

use crate::convert::RawArch;
use crate::family_table;
use crate::outputs::refuse_terminal;
use crate::plural::number_of;
use crate::show::ShowArgs;
use crate::toolchains::{ToolchainParser, suggest};
use crate::{console, documents};
use clap::builder::PossibleValuesParser;
use clap::{Args, FromArgMatches};
use profbridge::families::{Written, require_earlier_output};
use profbridge::generate::{Damage, DamageReport, Format, Generated, Generator, Kind, Request};
use profbridge::input::output::{is_standard_output, replace_by_name, replace_by_name_with};
use profbridge::input::{Family, Input};
use profbridge::iprof::Version;
use profbridge::{Error, Hint, Result};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Generate synthetic profiles for tests of readers
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  profbridge generate --format raw --for llvm-16 --functions 1000 --files 10 --seed 7 -o DIR --truth truth.json
  profbridge generate --format indexed --for llvm-23 --functions 5 --kinds values,bitmaps,temporal -o small.profdata
  profbridge generate --format iprof --to-version 1.1.0 --methods 5000 --contexts 20000 -o big.iprof
  profbridge generate --format raw --raw-arch 32be --damage lengths --seed 3 -o broken.profraw

The same command line gives the same bytes on every machine. docs/reference/generate.md lists the kinds of each format.")]
pub(crate) struct GenerateArgs {
    /// Format of the files
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(Format::NAMES))]
    format: String,
    /// Output file, or a directory for several files; `-` is standard output
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
    /// Number of files; more than one makes the output a directory with file-0001 and so on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=9999))]
    files: u32,
    /// Start of the random numbers
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Number of functions or methods
    #[arg(long, visible_alias = "methods", value_name = "N", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    functions: u32,
    /// Number of calling contexts of an iprof, or of stacks [default: four for each method]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    contexts: Option<u32>,
    /// Number of counters of each function, or of line locations in sample profiles [default: a few]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    counters: Option<u32>,
    /// Greatest number of distinct counts in instrumentation profiles [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    distinct_counts: Option<u32>,
    /// Greatest depth of stacks; each has at least half of it [default: most have 10 to 20 frames]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    depth: Option<u32>,
    /// Kinds of content, separated by commas [default: the usual ones of the format]
    #[arg(long, value_name = "KIND,KIND,…", value_delimiter = ',', hide_possible_values = true)]
    #[arg(value_parser = PossibleValuesParser::new(Kind::NAMES))]
    kinds: Option<Vec<String>>,
    /// Toolchain that reads LLVM's formats, for example llvm-14 or rustc-1.75 [default: llvm-22]
    #[arg(long = "for", value_name = "TOOLCHAIN", value_parser = ToolchainParser, hide_possible_values = true)]
    toolchain: Option<String>,
    /// Version of the format: raw, indexed, memory profile or extensible binary [default: that of the toolchain]
    #[arg(long, value_name = "N")]
    format_version: Option<u32>,
    /// Width and byte order of raw profiles [default: 64le]
    #[arg(long, value_enum, value_name = "ARCH")]
    raw_arch: Option<RawArch>,
    /// Version of iprof files, 1.0.0 or 1.1.0 [default: the lowest that stores the kinds]
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    to_version: Option<Version>,
    /// Damage every file at a place that the truth names
    #[arg(long, value_name = "DAMAGE", value_parser = PossibleValuesParser::new(Damage::NAMES))]
    damage: Option<String>,
    /// Write the content that a reader must find as JSON; see docs/json-schema/generate-1.json
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// Print that JSON on standard output
    #[arg(long, conflicts_with = "truth")]
    json: bool,
    /// Write into a directory that is not empty, or replace a file that is not an earlier output
    #[arg(long)]
    force: bool,
}

fn parse_version(text: &str) -> std::result::Result<Version, String> {
    Version::parse(text).ok_or_else(|| "a version has three numbers, such as 1.1.0".to_string())
}

/// One file in the truth; see `docs/json-schema/generate-1.json`.
#[derive(Serialize)]
struct FileTruth<'a> {
    path: String,
    totals: &'a BTreeMap<&'static str, u64>,
    damage: Option<DamageReport>,
    command: Vec<String>,
}

/// The start of the truth.
#[derive(Serialize)]
struct Truth<'a> {
    format: &'a str,
    seed: u64,
}

impl GenerateArgs {
    /// Generates the files.
    pub(crate) fn run(self) -> Result<ExitCode> {
        let request = self.request()?;
        let damage = self.damage.as_deref().map(Damage::parse).transpose()?;
        let work = Work { generator: Generator::new(&request)?, damage, arguments: &self, request: &request };
        // The first file shows whether the request is possible, before anything is written.
        let first = work.file(1)?;
        let is_directory = self.is_directory();
        self.check_output(is_directory, request.format)?;
        if is_directory {
            fs::create_dir_all(&self.output)
                .map_err(|source| Error::io("cannot create the directory", source).in_file(&self.output))?;
        }
        match self.truth() {
            None => work.write(first, is_directory, None)?,
            Some(truth) => {
                let mut written = Ok(());
                replace_by_name_with(truth, |out| {
                    written = work.write(first, is_directory, Some(out));
                    if written.is_ok() { Ok(()) } else { Err(io::Error::other("the files are incomplete")) }
                })
                .or_else(|error| written.and(Err(error)))?;
            }
        }
        if !is_standard_output(&self.output) && !console::is_quiet() {
            let files = number_of(self.files, "file");
            console::status(&format!("{}: {files} in the format {}", self.output.display(), request.format.name()));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the output for the truth, if it is requested.
    fn truth(&self) -> Option<&Path> {
        if self.json { Some(Path::new("-")) } else { self.truth.as_deref() }
    }

    fn request(&self) -> Result<Request> {
        let format = Format::parse(&self.format)?;
        let mut request = Request::new(format);
        if let Some(toolchain) = &self.toolchain {
            // The parser of the library has no suggestions.
            profbridge::instr::release::parse(toolchain).map_err(|error| suggest(error, toolchain))?;
        }
        request.toolchain = self.toolchain.clone();
        request.version = self.format_version;
        request.architecture = self.raw_arch.map(RawArch::parts);
        request.iprof_version = self.to_version;
        request.functions = self.functions;
        request.contexts = self.contexts;
        request.counters = self.counters;
        request.distinct_counts = self.distinct_counts;
        request.depth = self.depth;
        let kinds = |kinds: &Vec<String>| kinds.iter().map(|kind| Kind::parse(kind, format)).collect();
        request.kinds = self.kinds.as_ref().map(kinds).transpose()?;
        request.seed = self.seed;
        Ok(request)
    }

    fn is_directory(&self) -> bool {
        let ends_in_slash = self.output.as_os_str().to_string_lossy().ends_with(std::path::is_separator);
        self.files > 1 || ends_in_slash || self.output.is_dir()
    }

    /// Checks that nothing is lost by writing the output.
    fn check_output(&self, is_directory: bool, format: Format) -> Result<()> {
        if self.truth().is_some_and(is_standard_output) {
            console::needs_file(&self.output)?;
        }
        if let Some(truth) = self.truth().filter(|_| !self.force) {
            require_earlier_output(truth, Written::Report, Hint::ReplaceFile)?;
        }
        let is_text = matches!(
            format,
            Format::Text | Format::SampleText | Format::MemoryYaml | Format::Iprof | Format::Collapsed
        );
        if !is_directory {
            refuse_terminal(&self.output, is_text)?;
            return match self.force {
                true => Ok(()),
                false => require_earlier_output(&self.output, Written::Profile(format.family()), Hint::ReplaceFile),
            };
        }
        let in_output = |error: Error| error.in_file(&self.output);
        if is_standard_output(&self.output) {
            return Err(Error::usage("standard output takes only one file").with_hint("name a directory with -o"));
        }
        if self.output.exists() && !self.output.is_dir() {
            return Err(in_output(Error::usage("the output is not a directory")).with_hint("name a directory with -o"));
        }
        let Ok(mut entries) = fs::read_dir(&self.output) else { return Ok(()) };
        if entries.next().is_some() && !self.force {
            return Err(in_output(Error::usage("the directory is not empty"))
                .with_hint("name another directory, or add files with --force"));
        }
        Ok(())
    }
}

/// A checked request and the outputs.
struct Work<'a> {
    generator: Generator,
    damage: Option<Damage>,
    arguments: &'a GenerateArgs,
    request: &'a Request,
}

/// A file, intact and damaged.
type Made = (Generated, Option<(Generated, DamageReport)>);

/// Returns the bytes to write.
fn bytes_of((intact, damaged): &Made) -> &[u8] {
    damaged.as_ref().map_or(&intact.bytes, |(damaged, _)| &damaged.bytes)
}

impl Work<'_> {
    /// Generates a file, intact, and its damage.
    fn file(&self, number: u32) -> Result<Made> {
        let intact = self.generator.file(number)?;
        let damaged = match self.damage {
            None => None,
            Some(damage) => {
                let mut damaged = intact.clone();
                let report = damaged.damage(damage, self.request.seed.wrapping_add(number.into()))?;
                Some((damaged, report))
            }
        };
        Ok((intact, damaged))
    }

    /// Writes all files, and the truth about them.
    fn write(&self, first: Made, is_directory: bool, mut truth: Option<&mut (dyn Write + Send)>) -> Result<()> {
        // If the first file cannot be written, there is no document yet.
        replace_by_name(&self.path(1, is_directory), bytes_of(&first))?;
        let head = Truth { format: self.request.format.name(), seed: self.request.seed };
        let head = documents::line("profbridge.generate/1", true, &head)?;
        write_truth(&mut truth, |out| write!(out, "{},\"files\":[", head.strip_suffix('}').unwrap_or(&head)))?;
        let mut file = Some(first);
        for number in 1..=self.arguments.files {
            let path = self.path(number, is_directory);
            let (intact, damaged) = match file.take() {
                Some(first) => first,
                None => {
                    let made = self.file(number)?;
                    replace_by_name(&path, bytes_of(&made))?;
                    made
                }
            };
            if truth.is_some() {
                let damage = damaged.map(|(_, report)| report);
                let command = self.show_command(&path);
                let words = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
                let path = path.to_string_lossy().into_owned();
                let entry = FileTruth { path, totals: &intact.totals, damage, command: words };
                let entry = serde_json::to_string(&entry)
                    .map_err(|error| Error::io("cannot write JSON", io::Error::from(error)))?;
                let comma = if number > 1 { "," } else { "" };
                write_truth(&mut truth, |out| {
                    write!(out, "{comma}\n{},\"show\":", entry.strip_suffix('}').unwrap_or(&entry))
                })?;
                self.show(command, intact.bytes, &mut truth)?;
                write_truth(&mut truth, |out| out.write_all(b"}"))?;
            }
        }
        write_truth(&mut truth, |out| out.write_all(b"]}\n"))
    }

    fn path(&self, number: u32, is_directory: bool) -> PathBuf {
        let output = &self.arguments.output;
        match is_directory {
            true => output.join(format!("file-{number:04}.{}", self.request.format.extension())),
            false => output.clone(),
        }
    }

    /// Returns the command that prints everything in a file as JSON.
    fn show_command(&self, path: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = ["profbridge", "show", "--json"].map(OsString::from).into();
        match self.request.format.family() {
            Family::MemProf => words.push("--memory".into()),
            Family::Instr => {
                let all = ["all-functions", "counts", "ic-targets", "memop-sizes", "show-vtables", "binary-ids"];
                words.extend(all.map(|option| format!("--{option}").into()));
                words.push("--temporal-profile-traces".into());
                if self.request.kinds.as_ref().is_some_and(|kinds| kinds.contains(&Kind::ContextSensitive)) {
                    words.push("--showcs".into());
                }
            }
            _ => {}
        }
        words.push(path.into());
        words
    }

    /// Appends the output of a `show` command for an intact file.
    fn show(&self, command: Vec<OsString>, bytes: Vec<u8>, truth: &mut Option<&mut (dyn Write + Send)>) -> Result<()> {
        let path = command.last().cloned().unwrap_or_default();
        let temporary = |source| Error::io("cannot create a temporary file", source);
        let directory = tempfile::tempdir().map_err(temporary)?;
        let output = directory.path().join("show.json");
        let mut words = command;
        words.drain(..1);
        words.extend(["-o".into(), output.clone().into_os_string()]);
        let parser = ShowArgs::augment_args(clap::Command::new("show"));
        let matches = parser.try_get_matches_from(words).map_err(|error| Error::usage(error.to_string()))?;
        let arguments = ShowArgs::from_arg_matches(&matches).map_err(|error| Error::usage(error.to_string()))?;
        family_table::show_input(&arguments, &Input::from_bytes(path, bytes))?;
        let mut shown = File::open(&output).map_err(temporary)?;
        write_truth(truth, |out| io::copy(&mut shown, out).map(drop))
    }
}

/// Writes to the truth, if it is requested.
fn write_truth(
    truth: &mut Option<&mut (dyn Write + Send)>,
    write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> Result<()> {
    match truth {
        Some(out) => write(&mut **out).map_err(|source| Error::io("cannot write the truth", source)),
        None => Ok(()),
    }
}
