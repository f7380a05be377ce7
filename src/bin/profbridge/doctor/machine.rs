//! The toolchains of this machine: tools, which client finds which, environment variables.

use super::probe;
use super::search::{self, Found};
use super::versions::{self, Kind};
use crate::this_program;
use profbridge::instr::release::{self, ReleaseRow};
use profbridge::instr::target::ENVIRONMENT;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The toolchains and variables of a machine.
#[derive(Serialize)]
pub(super) struct Machine {
    /// By kind; within a kind in the order of the search path.
    pub(super) tools: Vec<Tool>,
    pub(super) clients: Vec<Client>,
    pub(super) environment: Vec<Variable>,
}

/// A tool and the versions of its files.
#[derive(Serialize)]
pub(super) struct Tool {
    pub(super) tool: Kind,
    pub(super) path: String,
    /// Other names of the same program.
    also: Vec<String>,
    /// Whether it is this program under the name of the tool.
    pub(super) is_profbridge: bool,
    pub(super) version: Option<String>,
    /// The major version of its LLVM.
    pub(super) llvm: Option<u32>,
    /// The version of the raw profiles that its programs write, or that it reads.
    pub(super) raw_version: Option<u32>,
    /// The version of the indexed profiles that it writes, and the newest that it reads.
    pub(super) indexed_version: Option<u32>,
    /// Why the version or the release is unknown.
    pub(super) error: Option<String>,
}

/// A program that calls `llvm-profdata`, and what it finds.
#[derive(Serialize)]
pub(super) struct Client {
    pub(super) client: &'static str,
    /// `None` if it finds none.
    pub(super) finds: Option<String>,
    pub(super) is_profbridge: bool,
    pub(super) llvm: Option<u32>,
}

/// An environment variable that selects tools or releases, if it is set.
#[derive(Serialize)]
pub(super) struct Variable {
    pub(super) name: &'static str,
    pub(super) value: String,
}

/// The variables that locate an llvm-profdata or pass options to it.
const VARIABLES: [&str; 4] = [ENVIRONMENT, "LLVM_PROFDATA", "LLVM_PROFDATA_FLAGS", "RUST_LLVM_PROFDATA"];

impl Machine {
    /// Examines this machine.
    pub(super) fn look() -> Self {
        let bundled = bundled_with_rustc();
        let others = [
            search::of_variable("LLVM_PROFDATA", None),
            search::of_variable("RUST_LLVM_PROFDATA", None),
            search::of_variable("JAVA_HOME", Some("java")),
            search::of_variable("GRAALVM_HOME", Some("native-image")),
            search::of_variable("JAVA_HOME", Some("native-image")),
            bundled.clone(),
        ];
        let others: Vec<PathBuf> = others.into_iter().flatten().collect();
        let mut tools: Vec<Tool> = search::tools(&others).iter().map(Tool::ask).collect();
        // A stable sort keeps the order of the search path within a kind.
        tools.sort_by_key(|tool| tool.tool);
        let set = |name: &'static str| {
            let value = std::env::var_os(name)?;
            Some(Variable { name, value: value.to_string_lossy().into_owned() })
        };
        let environment = VARIABLES.into_iter().filter_map(set).collect();
        Self { clients: clients(&tools, bundled.as_deref()), tools, environment }
    }

    /// Returns the value of a variable, if it is set.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.environment.iter().find(|variable| variable.name == name).map(|variable| variable.value.as_str())
    }
}

impl Tool {
    fn ask(found: &Found) -> Self {
        let mut tool = Self {
            tool: found.kind,
            path: words(&found.path),
            also: found.also.iter().map(words).collect(),
            is_profbridge: this_program::file().is_some_and(|program| program == found.file),
            version: None,
            llvm: None,
            raw_version: None,
            indexed_version: None,
            error: None,
        };
        if tool.is_profbridge {
            tool.version = Some(env!("CARGO_PKG_VERSION").to_string());
            return tool;
        }
        match version_of(found) {
            Ok(version) => {
                let row = version.llvm.and_then(row_of);
                // llvm-cov neither reads raw profiles nor writes profiles.
                tool.raw_version = row.filter(|_| found.kind != Kind::LlvmCov).map(|row| row.raw_version);
                tool.indexed_version = row.map(|row| row.indexed_version);
                (tool.llvm, tool.version) = (version.llvm, Some(version.version));
                if version.is_of_apple {
                    tool.error = Some("Apple's version numbers are not those of LLVM; use --for xcode-N".to_string());
                }
            }
            Err(error) => tool.error = Some(error),
        }
        tool
    }

    /// Returns the name by which it is called.
    pub(super) fn name(&self) -> String {
        let name = Path::new(&self.path).file_name().map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| self.tool.name().to_string())
    }

    /// Returns true if it is found under the name without a version number.
    pub(super) fn has_plain_name(&self) -> bool {
        let plain = format!("{}{}", self.tool.name(), std::env::consts::EXE_SUFFIX);
        let is_plain = |path: &String| Path::new(path).file_name().is_some_and(|name| name == plain.as_str());
        is_plain(&self.path) || self.also.iter().any(is_plain)
    }
}

/// Returns the version of a tool, by the first command line that succeeds.
pub(crate) fn version_of(found: &Found) -> Result<versions::Version, String> {
    let mut last = probe::NoAnswer::Nothing;
    for question in found.kind.questions() {
        let answer = probe::ask(&found.path, question);
        match answer.map(|text| versions::parse(found.kind, &text)) {
            Ok(Some(version)) => return Ok(version),
            Ok(None) => last = probe::NoAnswer::Nothing,
            Err(error) => last = error,
        }
    }
    Err(last.to_string())
}

/// Returns the llvm-profdata of rustup's component llvm-tools, in the directory of the first rustc.
pub(crate) fn bundled_with_rustc() -> Option<PathBuf> {
    let rustc = search::first_in_path("rustc")?;
    let root = probe::ask(&rustc, &["--print", "sysroot"]).ok()?;
    let version = probe::ask(&rustc, &["-vV"]).ok()?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "))?;
    let name = format!("llvm-profdata{}", std::env::consts::EXE_SUFFIX);
    let path = Path::new(root.trim()).join("lib/rustlib").join(host).join("bin").join(name);
    path.is_file().then_some(path)
}

/// Returns what the clients of llvm-profdata find.
fn clients(tools: &[Tool], bundled: Option<&Path>) -> Vec<Client> {
    let in_path = search::first_in_path("llvm-profdata");
    let variable = search::of_variable("LLVM_PROFDATA", None);
    let bundled = bundled.map(Path::to_path_buf);
    let finds = [
        ("PATH", in_path.clone()),
        ("cargo-llvm-cov", variable.or_else(|| bundled.clone())),
        ("cargo-pgo", bundled.or(in_path)),
    ];
    let client = |(client, path): (&'static str, Option<PathBuf>)| {
        let finds = path.map(words);
        let tool = tools.iter().find(|tool| finds.as_ref().is_some_and(|path| tool.is_at(path)));
        let (is_profbridge, llvm) = tool.map_or((false, None), |tool| (tool.is_profbridge, tool.llvm));
        Client { client, finds, is_profbridge, llvm }
    };
    finds.map(client).into()
}

impl Tool {
    /// Returns true if this is one of its paths.
    pub(super) fn is_at(&self, path: &String) -> bool {
        self.path == *path || self.also.contains(path)
    }
}

/// Returns the last row of the release table with this major version.
pub(crate) fn row_of(llvm: u32) -> Option<&'static ReleaseRow> {
    release::parse(&format!("llvm-{llvm}")).ok()
}

pub(super) fn words(path: impl AsRef<Path>) -> String {
    path.as_ref().to_string_lossy().into_owned()
}
