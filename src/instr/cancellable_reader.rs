//! A reader that ends when its input is cancelled.

use crate::cancel::Cancel;
use crate::error::{Result, Warning};
use crate::input::Input;
use crate::model::{BinaryId, MemProfSection, ProfileKind, ProfileReader, RecordRef, SymbolTable, TemporalProfile};

/// A reader that fails at the next record after cancellation.
pub(crate) struct CancellableReader<'r> {
    reader: &'r mut dyn ProfileReader,
    cancel: Option<&'r Cancel>,
}

impl<'r> CancellableReader<'r> {
    pub(crate) fn new(reader: &'r mut dyn ProfileReader, input: &'r Input) -> Self {
        Self { reader, cancel: input.cancel() }
    }
}

impl ProfileReader for CancellableReader<'_> {
    fn kind(&self) -> ProfileKind {
        self.reader.kind()
    }

    fn version_word(&self) -> u64 {
        self.reader.version_word()
    }

    fn next_record(&mut self) -> Result<Option<RecordRef<'_>>> {
        self.cancel.map_or(Ok(()), Cancel::check)?;
        self.reader.next_record()
    }

    fn hashes_names(&self) -> bool {
        self.reader.hashes_names()
    }

    fn record_taken_over(&mut self) {
        self.reader.record_taken_over();
    }

    fn symbols(&mut self) -> Result<&SymbolTable> {
        self.reader.symbols()
    }

    fn binary_ids(&mut self) -> Result<Vec<BinaryId>> {
        self.reader.binary_ids()
    }

    fn lists_binary_ids(&self) -> bool {
        self.reader.lists_binary_ids()
    }

    fn temporal(&mut self) -> TemporalProfile {
        self.reader.temporal()
    }

    fn traces_take_input_weight(&self) -> bool {
        self.reader.traces_take_input_weight()
    }

    fn vtable_names(&mut self) -> Result<Vec<Vec<u8>>> {
        self.reader.vtable_names()
    }

    fn memprof(&self) -> Result<Option<MemProfSection>> {
        self.reader.memprof()
    }

    fn take_warnings(&mut self) -> Vec<Warning> {
        self.reader.take_warnings()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::Compat;
    use crate::error::ErrorKind;
    use crate::text::TextReader;

    const TEXT: &[u8] = b":ir\nf\n1\n1\n5\n\ng\n1\n1\n5\n";

    #[test]
    fn a_reader_ends_at_the_record_after_cancellation() {
        let cancel = Cancel::default();
        let input = Input::new("a").cancelled_by(&cancel);
        let mut reader = TextReader::new(TEXT, Compat::Profbridge).unwrap();
        let mut reader = CancellableReader::new(&mut reader, &input);
        assert!(reader.next_record().unwrap().is_some());
        cancel.cancel();
        assert!(matches!(reader.next_record().unwrap_err().kind(), ErrorKind::Cancelled));
    }
}
