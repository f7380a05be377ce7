//! The last resort if memory is refused for an ordinary allocation: an exit code without a core dump.

use signal_hook::consts::SIGABRT;
use signal_hook::flag::register_conditional_shutdown;
use std::sync::atomic::AtomicBool;

/// Makes the process end with exit code 1 when it would abort; the message is then already on standard error. On
/// Windows an abort sends no signal, so it remains an abort.
///
/// For `main` only: a process that also runs other code, such as Python, keeps its own handler.
pub(crate) fn exit_instead_of_abort() {
    static ALWAYS: AtomicBool = AtomicBool::new(true);
    // If registration fails, the process ends with the system's default behaviour.
    let _ = register_conditional_shutdown(SIGABRT, 1, &ALWAYS);
}
