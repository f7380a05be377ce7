//! Errors of sample profiles in LLVM's words.

use crate::error::{Error, ErrorKind, io_message};

/// The text that llvm-profdata prints for an error of a sample profile, without
/// the path.
pub fn llvm_message(error: &Error) -> String {
    if let Some(detail) = error.llvm_detail() {
        return detail.to_string();
    }
    let class = match error.kind() {
        ErrorKind::Io { source, .. } => return io_message(source),
        ErrorKind::EmptyProfile | ErrorKind::UnrecognizedFormat => "Unrecognized sample profile encoding format",
        ErrorKind::BadMagic { .. } => "Invalid sample profile data (bad magic)",
        ErrorKind::UnsupportedVersion { .. } => "Unsupported sample profile format version",
        ErrorKind::Truncated { .. } => "Truncated profile data",
        ErrorKind::Malformed { .. } | ErrorKind::LimitExceeded { .. } => "Malformed sample profile data",
        ErrorKind::UncompressFailed { .. } => "Uncompress failure",
        ErrorKind::TooLarge { .. } => "Too much profile data",
        ErrorKind::Unsupported { .. } => "Profile encoding format unsupported for writing operations",
        other => return other.to_string(),
    };
    class.to_string()
}

/// Whether a line of a text was not understood. llvm-profdata says so with the
/// number of the line and ends, whatever the failure mode.
pub fn is_text_fault(error: &Error) -> bool {
    error.line().is_some() && error.llvm_detail().is_some()
}

/// Counts of one place that add up to more than fits.
pub(super) fn counter_overflow() -> Error {
    Error::malformed("counts of one place add up to more than 2^64 - 1").with_llvm_detail("Counter overflow")
}

/// An index behind the end of the names that were read.
pub(super) fn name_index(index: u64, names: usize) -> Error {
    Error::malformed(format!("name {index} of {names}")).with_llvm_detail("Truncated function name table")
}
