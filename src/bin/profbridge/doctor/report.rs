//! What was found, as data and as text.

use super::advice::{self, Advice};
use super::probe;
use super::search::{self, Found};
use super::versions::{self, Kind};
use profbridge::instr::release::{self, RELEASES, ReleaseRow};
use profbridge::pipeline::target::ENVIRONMENT;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// What `--json` prints; see `docs/json-schema/doctor-1.json`.
#[derive(Serialize)]
pub(super) struct Report {
    schema: &'static str,
    program: Program,
    pub(super) tools: Vec<Tool>,
    pub(super) clients: Vec<Client>,
    pub(super) environment: Vec<Variable>,
    advice: Vec<Advice>,
}

/// This program.
#[derive(Serialize)]
struct Program {
    path: Option<String>,
    version: &'static str,
    /// Newest release of LLVM whose files are read and written.
    newest_llvm: u32,
}

/// A tool and the files that it deals in.
#[derive(Serialize)]
pub(super) struct Tool {
    pub(super) tool: Kind,
    pub(super) path: String,
    /// Other names of the same program.
    also: Vec<String>,
    /// Whether it is this program under that name.
    pub(super) is_profbridge: bool,
    pub(super) version: Option<String>,
    /// The major number of the LLVM in it.
    pub(super) llvm: Option<u32>,
    /// Version of the raw profiles that its programs write, or that it reads.
    pub(super) raw_version: Option<u32>,
    /// Version of the indexed profiles that it writes, and the newest that it reads.
    pub(super) indexed_version: Option<u32>,
    /// Why the version is not known.
    error: Option<String>,
}

/// Someone who calls `llvm-profdata`, and what he gets.
#[derive(Serialize)]
pub(super) struct Client {
    pub(super) client: &'static str,
    /// Nothing where none is found.
    pub(super) finds: Option<String>,
    pub(super) is_profbridge: bool,
    pub(super) llvm: Option<u32>,
}

/// A variable that chooses tools or releases, where it is set.
#[derive(Serialize)]
pub(super) struct Variable {
    pub(super) name: &'static str,
    pub(super) value: String,
}

/// The variables that say where an llvm-profdata is, or what it is to do.
const VARIABLES: [&str; 4] = [ENVIRONMENT, "LLVM_PROFDATA", "LLVM_PROFDATA_FLAGS", "RUST_LLVM_PROFDATA"];

impl Report {
    /// Looks at the machine.
    pub(super) fn of_this_machine() -> Self {
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
        // A stable sort: within a kind what the search path has first stays first.
        tools.sort_by_key(|tool| tool.tool);
        let set = |name: &'static str| {
            let value = std::env::var_os(name)?;
            Some(Variable { name, value: value.to_string_lossy().into_owned() })
        };
        let mut report = Self {
            schema: "profbridge.doctor/1",
            program: Program::this(),
            clients: clients(&tools, bundled.as_deref()),
            tools,
            environment: VARIABLES.into_iter().filter_map(set).collect(),
            advice: Vec::new(),
        };
        report.advice = advice::on(&report);
        report
    }

    /// What a variable says, where it is set.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.environment.iter().find(|variable| variable.name == name).map(|variable| variable.value.as_str())
    }
}

impl Program {
    fn this() -> Self {
        let newest = RELEASES.iter().map(|row| row.major).max().unwrap_or(0);
        Self { path: this_program().map(words), version: env!("CARGO_PKG_VERSION"), newest_llvm: newest }
    }
}

impl Tool {
    fn ask(found: &Found) -> Self {
        let mut tool = Self {
            tool: found.kind,
            path: words(&found.path),
            also: found.also.iter().map(words).collect(),
            is_profbridge: this_program().is_some_and(|program| program == found.file),
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
                // An llvm-cov reads no raw profiles, nor does it write any profile.
                tool.raw_version = row.filter(|_| found.kind != Kind::LlvmCov).map(|row| row.raw_version);
                tool.indexed_version = row.map(|row| row.indexed_version);
                (tool.llvm, tool.version) = (version.llvm, Some(version.version));
                if version.is_of_apple {
                    tool.error = Some("Apple's numbers are not LLVM's; --for takes xcode-N".to_string());
                }
            }
            Err(error) => tool.error = Some(error),
        }
        tool
    }

    /// The name by which it is called.
    fn name(&self) -> String {
        let name = Path::new(&self.path).file_name().map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| self.tool.name().to_string())
    }

    /// Whether it is found under the name without a number.
    pub(super) fn has_plain_name(&self) -> bool {
        let plain = format!("{}{}", self.tool.name(), std::env::consts::EXE_SUFFIX);
        let is_plain = |path: &String| Path::new(path).file_name().is_some_and(|name| name == plain.as_str());
        is_plain(&self.path) || self.also.iter().any(is_plain)
    }

    /// What it reads and writes, in words.
    fn files(&self) -> String {
        match (self.tool, self.llvm, self.raw_version, self.indexed_version) {
            _ if self.is_profbridge => "this program: raw and indexed profiles of every version".to_string(),
            (Kind::LlvmCov, Some(llvm), _, Some(indexed)) => format!("LLVM {llvm}: reads indexed 1 to {indexed}"),
            (Kind::LlvmProfdata, Some(llvm), Some(raw), Some(indexed)) => {
                format!("LLVM {llvm}: reads raw {raw} and indexed 1 to {indexed}, writes indexed {indexed}")
            }
            (_, Some(llvm), Some(raw), Some(indexed)) => {
                format!("LLVM {llvm}: programs write raw {raw}, the compiler reads indexed 1 to {indexed}")
            }
            (_, Some(llvm), ..) => format!("LLVM {llvm}, which this program does not know yet"),
            (Kind::Java, ..) => "recordings (.jfr)".to_string(),
            (Kind::NativeImage, ..) => "reads and writes .iprof".to_string(),
            (Kind::Go, ..) => "reads pprof (default.pgo)".to_string(),
            _ => self.error.clone().unwrap_or_default(),
        }
    }
}

/// The version of a tool, by the first question that it answers.
fn version_of(found: &Found) -> Result<versions::Version, String> {
    let mut last = String::new();
    for question in found.kind.questions() {
        let answer = probe::ask(&found.path, question);
        match answer.map(|text| versions::parse(found.kind, &text)) {
            Ok(Some(version)) => return Ok(version),
            Ok(None) => last = "says nothing of its version".to_string(),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The llvm-profdata of rustup's component llvm-tools, in the folder of the
/// rustc that is found first.
fn bundled_with_rustc() -> Option<PathBuf> {
    let rustc = search::first_in_path("rustc")?;
    let root = probe::ask(&rustc, &["--print", "sysroot"]).ok()?;
    let version = probe::ask(&rustc, &["-vV"]).ok()?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "))?;
    let name = format!("llvm-profdata{}", std::env::consts::EXE_SUFFIX);
    let path = Path::new(root.trim()).join("lib/rustlib").join(host).join("bin").join(name);
    path.is_file().then_some(path)
}

/// What those who call llvm-profdata find.
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
    fn is_at(&self, path: &String) -> bool {
        self.path == *path || self.also.contains(path)
    }
}

/// The release of a number, the last of several.
pub(super) fn row_of(llvm: u32) -> Option<&'static ReleaseRow> {
    release::parse(&format!("llvm-{llvm}")).ok()
}

fn this_program() -> Option<PathBuf> {
    std::env::current_exe().and_then(|path| path.canonicalize()).ok()
}

fn words(path: impl AsRef<Path>) -> String {
    path.as_ref().to_string_lossy().into_owned()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = &self.program;
        let path = program.path.as_deref().unwrap_or("at an unknown place");
        writeln!(f, "profbridge {} ({path}), LLVM up to {}", program.version, program.newest_llvm)?;
        writeln!(f, "\nTools")?;
        self.write_tools(f)?;
        writeln!(f, "\nWho calls llvm-profdata gets")?;
        for client in &self.clients {
            let name = if client.client == "PATH" { "a search of PATH" } else { client.client };
            match (&client.finds, client.llvm) {
                (Some(path), _) if client.is_profbridge => writeln!(f, "  {name:<17} {path}, this program")?,
                (Some(path), Some(llvm)) => writeln!(f, "  {name:<17} {path}, of LLVM {llvm}")?,
                (Some(path), None) => writeln!(f, "  {name:<17} {path}")?,
                (None, _) => writeln!(f, "  {name:<17} none")?,
            }
        }
        if !self.environment.is_empty() {
            writeln!(f, "\nEnvironment")?;
            self.environment.iter().try_for_each(|variable| writeln!(f, "  {}={}", variable.name, variable.value))?;
        }
        writeln!(f, "\nAdvice")?;
        if self.advice.is_empty() {
            writeln!(f, "  nothing to do")?;
        }
        self.advice.iter().try_for_each(|advice| writeln!(f, "  - {advice}"))
    }
}

impl Report {
    fn write_tools(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name_width = self.tools.iter().map(|tool| tool.name().len()).max().unwrap_or(0).max(12);
        let versions = self.tools.iter().filter_map(|tool| tool.version.as_ref());
        let version_width = versions.map(String::len).max().unwrap_or(0);
        for kind in Kind::ALL {
            let mut found = self.tools.iter().filter(|tool| tool.tool == kind).peekable();
            if found.peek().is_none() {
                writeln!(f, "  {:<name_width$}  not found", kind.name())?;
            }
            for tool in found {
                let version = tool.version.as_deref().unwrap_or("?");
                let line = format!("  {:<name_width$}  {version:<version_width$}  {}", tool.name(), tool.files());
                writeln!(f, "{}", line.trim_end())?;
            }
        }
        Ok(())
    }
}
