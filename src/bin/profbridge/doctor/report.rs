//! The report as data and as text.

use super::advice::{self, Advice};
use super::machine::{self, Machine, Tool};
use super::program;
use super::versions::Kind;
use crate::this_program;
use profbridge::Result;
use profbridge::instr::release::RELEASES;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

/// The output of `--json`; see `docs/json-schema/doctor-1.json`.
#[derive(Serialize)]
pub(super) struct Report {
    program: Program,
    #[serde(flatten)]
    machine: Machine,
    advice: Vec<Advice>,
    /// The given programs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) programs: Vec<program::Program>,
}

/// This program.
#[derive(Serialize)]
struct Program {
    path: Option<String>,
    version: &'static str,
    /// The newest release of LLVM whose files can be read and written.
    newest_llvm: u32,
}

impl Report {
    /// Creates the report of this machine and the given programs.
    pub(super) fn of_this_machine(programs: &[PathBuf]) -> Result<Self> {
        let machine = Machine::look();
        let programs = programs.iter().map(|path| program::Program::look(path, &machine)).collect::<Result<_>>()?;
        Ok(Self { program: Program::this(), advice: advice::on(&machine), machine, programs })
    }

    /// Returns the text about the given programs; without programs, about the machine.
    pub(super) fn text(&self, programs: &[PathBuf]) -> Result<String> {
        if programs.is_empty() {
            return Ok(self.to_string());
        }
        let mut out = Vec::new();
        for (at, (path, program)) in programs.iter().zip(&self.programs).enumerate() {
            if at != 0 {
                out.push(b'\n');
            }
            program.write(path, &mut out)?;
        }
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

impl Program {
    fn this() -> Self {
        let newest = RELEASES.iter().map(|row| row.major).max().unwrap_or(0);
        Self { path: this_program::file().map(machine::words), version: env!("CARGO_PKG_VERSION"), newest_llvm: newest }
    }
}

/// Describes the files that a tool reads and writes.
fn files(tool: &Tool) -> String {
    if let Some(error) = &tool.error {
        return error.clone();
    }
    match (tool.tool, tool.llvm, tool.raw_version, tool.indexed_version) {
        _ if tool.is_profbridge => "this program: raw and indexed profiles of every version".to_string(),
        (Kind::LlvmCov, Some(llvm), _, Some(indexed)) => format!("LLVM {llvm}: reads indexed 1 to {indexed}"),
        (Kind::LlvmProfdata, Some(llvm), Some(raw), Some(indexed)) => {
            format!("LLVM {llvm}: reads raw {raw} and indexed 1 to {indexed}, writes indexed {indexed}")
        }
        (_, Some(llvm), Some(raw), Some(indexed)) => {
            format!("LLVM {llvm}: programs write raw {raw}, the compiler reads indexed 1 to {indexed}")
        }
        (_, Some(llvm), ..) => format!("LLVM {llvm}, which this program does not support yet"),
        (Kind::Java, ..) => "recordings (.jfr)".to_string(),
        (Kind::NativeImage, ..) => "reads and writes .iprof".to_string(),
        (Kind::Go, ..) => "reads pprof (default.pgo)".to_string(),
        _ => String::new(),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = &self.program;
        let path = program.path.as_deref().unwrap_or("at an unknown place");
        writeln!(f, "profbridge {} ({path}), LLVM up to {}", program.version, program.newest_llvm)?;
        writeln!(f, "\nTools")?;
        self.write_tools(f)?;
        writeln!(f, "\nCalls of llvm-profdata find")?;
        for client in &self.machine.clients {
            let name = if client.client == "PATH" { "a search of PATH" } else { client.client };
            match (&client.finds, client.llvm) {
                (Some(path), _) if client.is_profbridge => writeln!(f, "  {name:<17} {path}, this program")?,
                (Some(path), Some(llvm)) => writeln!(f, "  {name:<17} {path}, of LLVM {llvm}")?,
                (Some(path), None) => writeln!(f, "  {name:<17} {path}")?,
                (None, _) => writeln!(f, "  {name:<17} none")?,
            }
        }
        if !self.machine.environment.is_empty() {
            writeln!(f, "\nEnvironment")?;
            self.machine
                .environment
                .iter()
                .try_for_each(|variable| writeln!(f, "  {}={}", variable.name, variable.value))?;
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
        let name_width = self.machine.tools.iter().map(|tool| tool.name().len()).max().unwrap_or(0).max(12);
        let versions = self.machine.tools.iter().filter_map(|tool| tool.version.as_ref());
        let version_width = versions.map(String::len).max().unwrap_or(0);
        for kind in Kind::ALL {
            let mut found = self.machine.tools.iter().filter(|tool| tool.tool == kind).peekable();
            if found.peek().is_none() {
                writeln!(f, "  {:<name_width$}  not found", kind.name())?;
            }
            for tool in found {
                let version = tool.version.as_deref().unwrap_or("?");
                let line = format!("  {:<name_width$}  {version:<version_width$}  {}", tool.name(), files(tool));
                writeln!(f, "{}", line.trim_end())?;
            }
        }
        Ok(())
    }
}
