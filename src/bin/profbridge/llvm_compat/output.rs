//! Where reports go.

use super::failure::Failure;
use super::parsed::Parsed;
use std::io::{self, Write};

/// The output file, or standard output; made before the inputs are read.
pub(super) fn create_output(parsed: &Parsed) -> Result<Box<dyn Write + Send>, Failure> {
    let Some(path) = parsed.os_text("output").filter(|path| path != "-") else {
        return Ok(Box::new(io::BufWriter::new(io::stdout())));
    };
    match std::fs::File::create(&path) {
        Ok(file) => Ok(Box::new(io::BufWriter::new(file))),
        Err(error) => Err(Failure::Message {
            whence: Some(path.as_encoded_bytes().to_vec()).filter(|whence| !whence.is_empty()),
            text: profbridge::error::io_message(&error),
            note: None,
        }),
    }
}
