//! The last resort where memory is refused for something that cannot be given up: an exit code, and no core dump.

use signal_hook::consts::SIGABRT;
use signal_hook::flag::register_conditional_shutdown;
use std::sync::atomic::AtomicBool;

/// From now on the process ends with the exit code of errors where it would abort; why is on standard error by then.
/// On Windows an abort sends no signal and stays one.
///
/// This is for `main`: whoever runs other things in the process, such as Python, keeps what it has.
pub(crate) fn exit_instead_of_abort() {
    static ALWAYS: AtomicBool = AtomicBool::new(true);
    // A process that may not say how it ends does so as the system has it.
    let _ = register_conditional_shutdown(SIGABRT, 1, &ALWAYS);
}
