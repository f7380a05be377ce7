//! The destination of reports.

use super::failure::Failure;
use super::parsed::Parsed;
use profbridge::input::output::open_unreplaced;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Creates the output file, or opens standard output, before the inputs are read.
pub(super) fn create_output(parsed: &Parsed) -> Result<Box<dyn Write + Send>, Failure> {
    let Some(path) = parsed.os_text("output").filter(|path| path != "-") else {
        return Ok(Box::new(io::BufWriter::new(io::stdout())));
    };
    let create = || Ok(Box::new(File::create(&path)?) as Box<dyn Write + Send>);
    match open_unreplaced(Path::new(&path)).unwrap_or_else(create) {
        Ok(out) => Ok(Box::new(io::BufWriter::new(out))),
        Err(error) => Err(Failure::Message {
            whence: Some(path.as_encoded_bytes().to_vec()).filter(|whence| !whence.is_empty()),
            text: profbridge::error::io_message(&error),
            note: None,
        }),
    }
}
