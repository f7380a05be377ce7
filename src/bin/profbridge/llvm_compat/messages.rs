//! Lines on standard error: `error: …`, `warning: …`, `note: …`.

use std::io::{self, IsTerminal, Write};

/// Prints an error with an optional note; `whence` is a file name as given.
pub(super) fn error(whence: Option<&[u8]>, text: &str, note: Option<&str>) {
    labelled("error: ", "1;31", whence, text);
    if let Some(note) = note {
        labelled("note: ", "1;30", None, note);
    }
}

/// Prints a warning.
pub(super) fn warning(whence: Option<&[u8]>, text: &str) {
    labelled("warning: ", "1;35", whence, text);
}

/// Prints a line without a label.
pub(super) fn line(text: &[u8]) {
    // Ignore write errors: if standard error is closed, there is nowhere to report them.
    let _ = io::stderr().lock().write_all(&[text, b"\n"].concat());
}

fn labelled(label: &str, colour: &str, whence: Option<&[u8]>, text: &str) {
    let mut line = Vec::new();
    if io::stderr().is_terminal() {
        line.extend_from_slice(format!("\x1b[0;{colour}m{label}\x1b[0m").as_bytes());
    } else {
        line.extend_from_slice(label.as_bytes());
    }
    if let Some(whence) = whence {
        line.extend_from_slice(whence);
        line.extend_from_slice(b": ");
    }
    line.extend_from_slice(text.as_bytes());
    self::line(&line);
}
