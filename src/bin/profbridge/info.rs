//! `info`: the format and the sections of files.

use crate::console;
use crate::documents::{self, FileJson};
use crate::finish::verdict;
use crate::hints::{with_path_advice, word_description};
use clap::Args;
use profbridge::driver::info;
use profbridge::families;
use profbridge::input::Input;
use profbridge::instr::Description;
use profbridge::instr::release::{RELEASES, ReleaseRow};
use profbridge::{Error, Result};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Describe files: format, version, producer, readers, sections
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  profbridge info default.profraw
  profbridge info build/app libapp.a
  profbridge info --json app.profdata
  profbridge info --versions

The exit code is 1 if a file is damaged or has an unknown format.")]
pub(crate) struct InfoArgs {
    /// Files; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "versions")]
    files: Vec<PathBuf>,
    /// Print the table of toolchains and the versions that they write
    #[arg(long, conflicts_with = "files")]
    versions: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl InfoArgs {
    /// Returns the given input files.
    pub(crate) fn named(&self) -> Vec<PathBuf> {
        self.files.clone()
    }

    /// Describes each file.
    pub(crate) fn run(self) -> Result<ExitCode> {
        if self.versions {
            print(|out| info::write_versions(out), versions_json, self.json, true)?;
            return Ok(ExitCode::SUCCESS);
        }
        let described: Vec<(&Path, Description)> =
            self.files.iter().map(|path| (path.as_path(), describe(path))).collect();
        let text = |out: &mut Vec<u8>| {
            for (at, (path, description)) in described.iter().enumerate() {
                if at != 0 {
                    out.push(b'\n');
                }
                info::write_description(out, &path.display().to_string(), description)?;
            }
            Ok(())
        };
        let damaged = described.iter().find_map(|(path, description)| Some((path, description.error.as_ref()?)));
        print(text, || files_json(&described), self.json, damaged.is_none())?;
        let Some((path, error)) = damaged else { return Ok(ExitCode::SUCCESS) };
        Ok(verdict(console::COULD_NOT, || format!("{}: {}", path.display(), error.message)))
    }
}

/// Describes a file, or the error for a file that cannot be opened.
fn describe(path: &Path) -> Description {
    let limits = crate::limits::chosen();
    let mut description = match families::describe_input(&Input::argument(path), &limits) {
        Ok(description) => description,
        Err(error) => {
            let mut description = Description::new("not opened", 0);
            description.set_error(&with_path_advice(error));
            description
        }
    };
    word_description(&mut description);
    description
}

fn print<'a>(
    text: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>,
    json: impl FnOnce() -> Json<'a>,
    as_json: bool,
    ok: bool,
) -> Result<()> {
    if as_json {
        return documents::print("profbridge.info/2", ok, &json());
    }
    let mut out = Vec::new();
    text(&mut out).map_err(|source| Error::io("cannot write", source))?;
    console::print_line(console::escape(String::from_utf8_lossy(&out)).trim_end());
    Ok(())
}

/// The output of `--json`; see `docs/json-schema/info-2.json`.
#[derive(Serialize)]
struct Json<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<DescribedFile<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    releases: Vec<ReleaseJson>,
}

#[derive(Serialize)]
struct DescribedFile<'a> {
    #[serde(flatten)]
    file: FileJson,
    #[serde(flatten)]
    description: &'a Description,
}

#[derive(Serialize)]
struct ReleaseJson {
    llvm: &'static str,
    raw_version: u32,
    indexed_version: u32,
    inferred: bool,
    rustc: Option<String>,
    swift: &'static [&'static str],
    xcode: &'static [&'static str],
}

fn files_json<'a>(described: &'a [(&Path, Description)]) -> Json<'a> {
    let file = |(path, description): &'a (&Path, Description)| {
        let mut file = FileJson::of_regular_file(path);
        // The first of several profiles in a raw file has a version, too.
        file.version = description.parts.first().and_then(|part| part.version.clone()).or(file.version);
        DescribedFile { file, description }
    };
    Json { files: described.iter().map(file).collect(), releases: Vec::new() }
}

fn versions_json() -> Json<'static> {
    let release = |row: &ReleaseRow| ReleaseJson {
        llvm: row.llvm,
        raw_version: row.raw_version,
        indexed_version: row.indexed_version,
        inferred: row.inferred,
        rustc: row.rustc_words(),
        swift: row.swift,
        xcode: row.xcode,
    };
    Json { files: Vec::new(), releases: RELEASES.iter().map(release).collect() }
}
