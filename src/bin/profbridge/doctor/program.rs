//! `doctor PROGRAM`: the profiles that a program writes and can use, the tools here that read them, and what to do.

use super::machine::Machine;
use crate::documents::FileJson;
use crate::hints::word_description;
use profbridge::driver::info;
use profbridge::families::{ProgramReport, report_program};
use profbridge::input::{Access, Input};
use profbridge::{Error, Result};
use serde::Serialize;
use std::path::Path;

/// A program and the tools for its profiles.
#[derive(Serialize)]
pub(super) struct Program {
    #[serde(flatten)]
    file: FileJson,
    #[serde(flatten)]
    report: ProgramReport,
    /// The tools of this machine that read its raw profiles.
    read_by_tools: Vec<String>,
}

impl Program {
    /// Examines a program.
    pub(super) fn look(path: &Path, machine: &Machine) -> Result<Self> {
        let limits = crate::limits::chosen();
        let bytes = Input::new(path).stored_bytes(Access::Read, &limits)?;
        let mut report = report_program(path, &bytes, &limits);
        word_description(&mut report.description);
        let knows_kind = |tool: &super::machine::Tool| {
            report.known_since.is_none_or(|since| tool.llvm.is_some_and(|major| major >= since.0))
        };
        let reads = |tool: &&super::machine::Tool| {
            tool.tool == super::versions::Kind::LlvmProfdata
                && (tool.is_profbridge || (tool.raw_version == report.raw_version && knows_kind(tool)))
        };
        let tools = machine.tools.iter().filter(reads).map(|tool| tool.path.clone());
        let read_by_tools: Vec<String> = if report.raw_version.is_some() { tools.collect() } else { Vec::new() };
        if report.raw_version.is_some() && read_by_tools.is_empty() {
            report
                .advice
                .push("merge its profiles with `profbridge merge`: no llvm-profdata here reads them".to_string());
        }
        Ok(Self { file: FileJson::of_regular_file(path), report, read_by_tools })
    }

    /// Returns whether the file could be read to its end.
    pub(super) fn is_readable(&self) -> bool {
        self.report.description.error.is_none()
    }

    /// Writes the description, the tools and the advice.
    pub(super) fn write(&self, path: &Path, out: &mut Vec<u8>) -> Result<()> {
        use std::io::Write;
        let written =
            info::write_description(out, &path.display().to_string(), &self.report.description).and_then(|()| {
                for tool in &self.read_by_tools {
                    writeln!(out, "  {:<13} {tool}", "tool here")?;
                }
                let advice = &self.report.advice;
                if !advice.is_empty() {
                    writeln!(out, "\nAdvice")?;
                } else if self.is_readable() {
                    writeln!(out, "\nAdvice\n  nothing to do")?;
                }
                advice.iter().try_for_each(|advice| writeln!(out, "  - {advice}"))
            });
        written.map_err(|source| Error::io("cannot write", source))
    }
}
