//! The program: parsing, dispatch, exit code. No other code exits.

mod bridged;
mod check;
mod cli;
mod console;
mod convert;
mod correlate;
mod cross_release;
mod demangled;
mod diff;
mod doctor;
mod documents;
mod drawing;
mod family_table;
mod finish;
mod fit;
mod flamegraph;
mod generate;
mod hints;
mod info;
mod interop;
mod iprof_convert;
mod iprof_files;
mod iprof_merge;
mod iprof_show;
mod limits;
mod llvm_compat;
mod man;
mod memprof;
mod merge;
mod merge_document;
mod merge_gates;
mod merge_inputs;
mod merge_report;
mod option_suggestions;
mod order;
mod out_of_memory;
mod outputs;
mod overlap;
mod plural;
mod profgen;
mod repair;
mod report;
mod sample_files;
mod shell;
mod show;
mod show_stacks;
mod spelling;
mod stack_write;
mod stacks;
mod standard_output;
mod target;
mod this_program;
mod toolchains;
#[cfg(feature = "tracing-counters")]
mod traces;
mod validate;

use documents::Call;
use profbridge::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs with the arguments of the process.
#[cfg(not(feature = "tracing-counters"))]
pub fn main() -> ExitCode {
    out_of_memory::exit_instead_of_abort();
    run(std::env::args_os().collect(), None)
}

/// Runs as without the feature, then prints the measurements of merge threads.
#[cfg(feature = "tracing-counters")]
pub fn main() -> ExitCode {
    out_of_memory::exit_instead_of_abort();
    let began = std::time::Instant::now();
    let code = run(std::env::args_os().collect(), None);
    traces::print(began.elapsed());
    code
}

/// Runs with the given arguments, of which the first is the name of the program. The Python package calls this
/// function with its interpreter, because it cannot contain a program.
pub fn run(mut arguments: Vec<OsString>, interpreter: Option<PathBuf>) -> ExitCode {
    interpreter.into_iter().for_each(this_program::set_interpreter);
    if let Some(program) = arguments.first().filter(|program| llvm_compat::is_wanted(program)) {
        let program = program.clone();
        return llvm_compat::run(&program, arguments.split_off(1));
    }
    if let Some(command) = arguments.get(1).filter(|command| llvm_compat::is_command(command)) {
        let command = command.clone();
        return llvm_compat::run(&command, arguments.split_off(2));
    }
    let mut call = Call { json: documents::are_asked_for(&arguments), ..Call::default() };
    let command = arguments.iter().skip(1).map(|word| word.to_string_lossy()).find(|word| !word.starts_with('-'));
    call.command = command.map(|word| word.into_owned()).unwrap_or_default();
    profbridge::input::output::on_removed_leftover(console::removed_leftover);
    let arguments = llvm_compat::expand(arguments);
    let program = cli::Cli::needed(&arguments);
    let arguments = match spelling::normalize(&program, arguments) {
        Ok(arguments) => arguments,
        Err(error) => return finish::fail(&error, console::WRONG_USE, &call),
    };
    match cli::Cli::parse(program, arguments) {
        Ok(cli) => {
            console::set_quiet(cli.program.quiet);
            call.inputs = cli.command.inputs();
            finish::finish(limits::choose(&cli.program.limits).and_then(|()| cli.run()), &call)
        }
        Err(error) => {
            let error = option_suggestions::advise(error, &call.command);
            let printed = error.print();
            if !error.use_stderr() {
                // Help or version output.
                let printed = printed.map_err(|source| Error::io("cannot write standard output", source));
                return finish::finish(printed.map(|()| ExitCode::SUCCESS), &call);
            }
            call.print_wrong_use(documents::wrong_use(&error.render().to_string()), console::WRONG_USE);
            finish::with_standard_output(ExitCode::from(console::WRONG_USE))
        }
    }
}
