//! `doctor`: the toolchains of this machine, the profile versions that each reads and writes, the `llvm-profdata` that
//! a build finds, and settings to change.

mod advice;
mod machine;
mod probe;
mod report;
mod search;
mod versions;

use crate::console;
use crate::documents;
use clap::Args;
use profbridge::Result;
use report::Report;
use std::process::ExitCode;

/// Say which toolchains are on this machine, what they read and write, and what to set
#[derive(Debug, Args)]
#[command(
    after_help = "Looks for clang, rustc, llvm-profdata, llvm-cov, java, native-image and go in PATH, in rustc's own
folder, and where LLVM_PROFDATA, RUST_LLVM_PROFDATA, JAVA_HOME and GRAALVM_HOME point, and asks each
for its version. This is the only command that starts other programs.

Exit code: 0 when the machine was looked at, whatever was found; 1 when it could not be; 2 for wrong use.

Examples:
  profbridge doctor
  profbridge doctor --json | jq -r '.advice[].message'"
)]
pub(crate) struct DoctorArgs {
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

impl DoctorArgs {
    /// Examines the machine and prints the report.
    pub(crate) fn run(self) -> Result<ExitCode> {
        let report = Report::of_this_machine();
        if self.json {
            documents::print("profbridge.doctor/1", true, &report)?;
        } else {
            console::print_line(console::escape(&report.to_string()).trim_end());
        }
        Ok(ExitCode::SUCCESS)
    }
}
