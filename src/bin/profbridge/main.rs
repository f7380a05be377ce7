//! The program: parse, dispatch, exit code. Nothing else exits.

mod cli;
mod console;
mod convert;
mod llvm_compat;
mod merge;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments: Vec<std::ffi::OsString> = std::env::args_os().collect();
    if let Some(program) = arguments.first().filter(|program| llvm_compat::is_wanted(program)) {
        let program = program.clone();
        return llvm_compat::run(&program, arguments.split_off(1));
    }
    if arguments.get(1).is_some_and(|command| command == "llvm-profdata") {
        return llvm_compat::run("llvm-profdata".as_ref(), arguments.split_off(2));
    }
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
