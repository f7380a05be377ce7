//! Text on its way to the output.

use crate::error::{Error, Result};
use std::io::{self, Write};

/// Text that is printed when there is enough of it.
pub(super) struct Page<'o> {
    pub(super) text: Vec<u8>,
    /// Nothing is printed yet, since there may be an error in its place.
    pub(super) waits: bool,
    out: &'o mut (dyn Write + Send),
}

impl<'o> Page<'o> {
    pub(super) fn new(out: &'o mut (dyn Write + Send)) -> Self {
        Self { text: Vec::new(), waits: false, out }
    }

    /// So many bytes are printed at once.
    const ENOUGH: usize = 1 << 16;

    pub(super) fn print_if_full(&mut self) -> Result<()> {
        if self.waits || self.text.len() < Self::ENOUGH { Ok(()) } else { self.print() }
    }

    pub(super) fn print(&mut self) -> Result<()> {
        let written = self.out.write_all(&self.text);
        self.text.clear();
        printed(written)
    }
}

pub(super) fn printed(result: io::Result<()>) -> Result<()> {
    result.map_err(|source| Error::io("cannot write", source))
}
