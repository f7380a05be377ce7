//! What is remembered of inputs that could not be read.

use crate::error::{Error, ErrorKind};
use crate::partial::InputState;

/// An input that failed, to be told again when the merge ends.
pub(crate) fn failed(error: &Error) -> InputState {
    InputState::Failed { message: error.to_string(), hint: error.hint().map(ToString::to_string) }
}

/// The error that an input failed with.
pub(crate) fn remembered(state: &InputState) -> Option<Error> {
    let InputState::Failed { message, hint } = state else { return None };
    let error = Error::new(ErrorKind::InputFailed { message: message.clone() });
    Some(match hint {
        Some(hint) => error.with_hint(hint.clone()),
        None => error,
    })
}

/// The error of an input of which not even a message is kept.
pub(crate) fn unknown_failure() -> Error {
    Error::new(ErrorKind::InputFailed { message: "it could not be read".to_string() })
}

pub(crate) fn no_weight() -> Error {
    Error::usage("a partial merge has no weight of its own")
        .with_hint("give weights to the inputs when the partial merge is made")
}
