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

/// List the installed toolchains and what they read and write
#[derive(Debug, Args)]
#[command(after_help = "Searches for clang, rustc, llvm-profdata, llvm-cov, java, native-image and go in PATH, in the
    directory of rustc, and in the places given by LLVM_PROFDATA, RUST_LLVM_PROFDATA, JAVA_HOME and
    GRAALVM_HOME, and runs each to get its version. No other command starts programs.

    Exit code: 0 for success, also if something should be changed; 1 for failure; 2 for usage errors.

Examples:
  profbridge doctor
  profbridge doctor --json | jq -r '.advice[].message'")]
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
