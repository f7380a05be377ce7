//! `doctor`: the toolchains of this machine, the profile versions that each reads and writes, the `llvm-profdata` that
//! a build finds, and settings to change.

mod advice;
pub(crate) mod machine;
pub(crate) mod probe;
mod program;
mod report;
pub(crate) mod search;
pub(crate) mod versions;

use crate::console;
use crate::documents;
use crate::finish::verdict;
use clap::Args;
use profbridge::Result;
use report::Report;
use std::path::PathBuf;
use std::process::ExitCode;

/// List the installed toolchains and what they read and write
#[derive(Debug, Args)]
#[command(after_help = "Searches for clang, rustc, llvm-profdata, llvm-cov, java, native-image and go in PATH, in the
directory of rustc, and in the places given by LLVM_PROFDATA, RUST_LLVM_PROFDATA, JAVA_HOME and
GRAALVM_HOME, and runs each to get its version. Only doctor and interop start programs.

For programs, libraries, object files or archives, prints the profiles that each writes and can
use, the installed tools that read them, and advice.

Exit code: 0 for success, also if something should be changed; 1 for failure; 2 for usage errors.

Examples:
  profbridge doctor
  profbridge doctor build/app
  profbridge doctor --json | jq -r '.advice[].message'")]
pub(crate) struct DoctorArgs {
    /// Programs, libraries, object files or archives to examine
    #[arg(value_name = "PROGRAM")]
    programs: Vec<PathBuf>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

impl DoctorArgs {
    /// Examines the machine and prints the report.
    pub(crate) fn run(self) -> Result<ExitCode> {
        let report = Report::of_this_machine(&self.programs)?;
        let damaged = self.programs.iter().zip(&report.programs).find(|(_, program)| !program.is_readable());
        if self.json {
            documents::print("profbridge.doctor/1", damaged.is_none(), &report)?;
        } else {
            console::print_line(console::escape(&report.text(&self.programs)?).trim_end());
        }
        let Some((path, _)) = damaged else { return Ok(ExitCode::SUCCESS) };
        Ok(verdict(console::COULD_NOT, || format!("{}: cannot examine the file", path.display())))
    }
}
