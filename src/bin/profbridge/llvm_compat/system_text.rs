//! Text of the command line as the system has it.

#[cfg(unix)]
use std::ffi::OsStr;
use std::ffi::OsString;

/// Text that came as an argument, back in the system's form.
pub(super) fn os_string(bytes: &[u8]) -> OsString {
    #[cfg(unix)]
    {
        <OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes).to_os_string()
    }
    #[cfg(not(unix))]
    {
        String::from_utf8_lossy(bytes).into_owned().into()
    }
}
