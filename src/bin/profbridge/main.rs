//! The program: parse, dispatch, exit code. Nothing else exits.

mod cli;
mod console;
mod convert;
mod flamegraph;
mod merge;
mod report;
mod stacks;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments: Vec<std::ffi::OsString> = std::env::args_os().collect();
    cli::normalize(&mut arguments);
    match cli::Cli::try_parse_from(arguments) {
        Ok(cli) => console::finish(cli.command.run()),
        Err(error) => {
            let failed = error.use_stderr();
            // Printing help into a closed pipe is no failure.
            let _ = error.print();
            if failed { ExitCode::from(1) } else { ExitCode::SUCCESS }
        }
    }
}
