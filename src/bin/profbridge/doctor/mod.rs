//! `doctor`: the toolchains of this machine, the profile versions that each reads and writes, the `llvm-profdata` that
//! a build finds, and settings to change.

mod advice;
mod machine;
mod probe;
mod program;
mod report;
mod search;
mod versions;

use crate::console;
use crate::documents;
use crate::finish::verdict;
use clap::Args;
use profbridge::Result;
use report::Report;
use std::path::PathBuf;
use std::process::ExitCode;

/// Say which toolchains are on this machine, what they read and write, and what to set
#[derive(Debug, Args)]
#[command(
    after_help = "Looks for clang, rustc, llvm-profdata, llvm-cov, java, native-image and go in PATH, in rustc's own
folder, and where LLVM_PROFDATA, RUST_LLVM_PROFDATA, JAVA_HOME and GRAALVM_HOME point, and asks each
for its version. This is the only command that starts other programs.

With programs, libraries, object files or archives, says which profiles each writes and can use, which
tools here read them, and what to do about it.

Exit code: 0 when all was looked at, whatever was found; 1 when it could not be; 2 for wrong use.

Examples:
  profbridge doctor
  profbridge doctor build/app
  profbridge doctor --json | jq -r '.advice[].message'"
)]
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
