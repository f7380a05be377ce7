//! What every reader of an LLVM profile offers to the modules that use it.

use crate::error::{Result, Warning};
use crate::model::names::NameText;
use crate::model::record::RecordView;
use crate::model::symbols::{NameRef, SymbolTable};
use crate::model::{BinaryId, MemProfSection, ProfileKind, TemporalProfile};

/// One record as a reader hands it out; valid until the next one is read.
#[derive(Debug, Clone, Copy)]
pub struct RecordRef<'a> {
    /// PGO name; empty when a raw record's hash has no name.
    pub name: &'a [u8],
    /// The name's hash where the file or the reader says it. A file may lie;
    /// the merger believes it only for names that it knows.
    pub name_ref: Option<NameRef>,
    /// A shared text that `name` is a piece of, if there is one: tables keep
    /// the text rather than copy the name.
    pub text: Option<&'a NameText>,
    /// The counts.
    pub record: RecordView<'a>,
}

/// A profile being read front to back, whatever its format.
///
/// After an error the reader is finished: further calls of
/// [`next_record`](Self::next_record) return `None`. The records handed out
/// before stay valid, and what the accessors return covers what was read.
pub trait ProfileReader: Send {
    /// Variant bits. A raw file with several profiles says those of the one
    /// being read, so ask before the first record and again after the last.
    fn kind(&self) -> ProfileKind;

    /// What `show --profile-version` prints: text 0, indexed the version, raw
    /// the whole version word.
    fn version_word(&self) -> u64;

    /// The next record in file order, or `None` at the end.
    ///
    /// # Errors
    ///
    /// The first fault found; see [`crate::error::ErrorKind`].
    fn next_record(&mut self) -> Result<Option<RecordRef<'_>>>;

    /// Whether the hashes handed out with names were computed from the names,
    /// rather than taken from the file as they stand there.
    fn hashes_names(&self) -> bool {
        false
    }

    /// Tells the reader that the record handed out last was taken over by a
    /// merge, as the first of its name and FuncHash, rather than added to one
    /// that was there.
    ///
    /// The text reader of LLVM 19 to 22 moves the bitmap out in the first case
    /// and forgets to clear it in the second, so that later records inherit it;
    /// see [`Compat::text_bitmaps_stick`](crate::compat::Compat::text_bitmaps_stick).
    fn record_taken_over(&mut self) {}

    /// Names known so far, for looking up value targets and traces. Complete
    /// once all records were read.
    fn symbols(&mut self) -> Result<&SymbolTable>;

    /// Image identities; complete once all records were read.
    fn binary_ids(&mut self) -> Result<Vec<BinaryId>>;

    /// Whether the format keeps a list of identities in every file, so that an
    /// empty list is worth announcing (LLVM does for indexed files of any version).
    fn lists_binary_ids(&self) -> bool {
        false
    }

    /// Traces; complete once all records were read. The traces of raw files
    /// have weight 1.
    fn temporal(&mut self) -> TemporalProfile;

    /// Whether the traces take the weight of the input in a merge, as those of
    /// raw files do; those of other formats keep their own.
    fn traces_take_input_weight(&self) -> bool {
        false
    }

    /// Names of vtables in file order; complete once all records were read.
    fn vtable_names(&mut self) -> Result<Vec<Vec<u8>>>;

    /// The memory profile, if the file has one.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    fn memprof(&self) -> Result<Option<MemProfSection>> {
        Ok(None)
    }

    /// Takes the warnings collected so far.
    fn take_warnings(&mut self) -> Vec<Warning> {
        Vec::new()
    }
}
