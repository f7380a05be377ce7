//! The error messages of llvm-profdata 22.

use super::kind::{ErrorKind, io_message};

/// LLVM's message for an error.
pub(super) enum ClassText {
    /// The message of the class, which a detail can follow.
    Class(&'static str),
    /// The whole message.
    Whole(String),
}

/// Returns the message of a class, as in `getInstrProfErrString` of LLVM 22.
pub(super) fn class_text(kind: &ErrorKind) -> ClassText {
    let class = match kind {
        // LLVM prints the system's message on Windows and Unix.
        ErrorKind::Io { source, .. } => return ClassText::Whole(io_message(source)),
        ErrorKind::EmptyProfile => "empty raw profile file",
        ErrorKind::UnrecognizedFormat => "unrecognized instrumentation profile encoding format",
        ErrorKind::BadMagic { .. } => "invalid instrumentation profile data (bad magic)",
        ErrorKind::BadHeader { .. } => "invalid instrumentation profile data (file header is corrupt)",
        ErrorKind::UnsupportedVersion { .. } => "unsupported instrumentation profile format version",
        ErrorKind::UnsupportedHashType { .. } => "unsupported instrumentation profile hash type",
        ErrorKind::Truncated { .. } => "truncated profile data",
        ErrorKind::TooLarge { .. } | ErrorKind::LimitExceeded { .. } => "too much profile data",
        ErrorKind::Malformed { .. } => "malformed instrumentation profile data",
        ErrorKind::UncompressFailed { .. } => "failed to uncompress data (zlib)",
        ErrorKind::EndOfFile => "end of File",
        ErrorKind::RawVersionMismatch { found, expected } => {
            return ClassText::Whole(format!(
                "raw profile version mismatch: Profile uses raw profile format version = {found}; \
                     expected version = {expected}\nPLEASE update this tool to version in the raw profile, \
                     or regenerate raw profile with expected version."
            ));
        }
        ErrorKind::CounterValueTooLarge { value } => {
            return ClassText::Whole(format!(
                "excessively large counter value suggests corrupted profile data: {value}"
            ));
        }
        ErrorKind::MissingCorrelation => "debug info/binary for correlation is required",
        ErrorKind::UnexpectedCorrelation => "debug info/binary for correlation is not necessary",
        ErrorKind::KindConflict { .. } => "Merge IR generated profile with Clang generated profile.",
        ErrorKind::MissingProgram { build_ids } => {
            let text = "Path to profiled binary is empty, expected binary with one of the following build ids:";
            let ids: String = build_ids.iter().map(|id| format!("\n BuildId: {id}")).collect();
            return ClassText::Whole(format!("\n{text}\n{ids}"));
        }
        ErrorKind::InputsFailed { .. } => return ClassText::Whole("no profile can be merged".to_string()),
        ErrorKind::UnableToCompare { detail } => return ClassText::Whole(detail.clone()),
        ErrorKind::UnableToSymbolize { detail } => return ClassText::Whole(detail.clone()),
        ErrorKind::NotAnObject { .. } => "The file was not recognized as a valid object file",
        ErrorKind::UnableToCorrelate { detail } => {
            return ClassText::Whole(format!("unable to correlate profile: {detail}"));
        }
        other => return ClassText::Whole(other.to_string()),
    };
    ClassText::Class(class)
}
