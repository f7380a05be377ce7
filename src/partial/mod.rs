//! Partial merges: files with the data that continues a merge.
//!
//! ```text
//! ┌─────────────────────────┐
//! │ a profile (or nothing)  │  read by LLVM's tools of its version
//! ├─────────────────────────┤
//! │ state                   │  the data that continues the merge
//! ├─────────────────────────┤
//! │ footer                  │  lengths, checksums, family, version, magic
//! └─────────────────────────┘
//! ```
//!
//! Readers of an indexed or extensible binary profile follow offsets from its header and ignore bytes after it
//! (measured with LLVM 14, 16, 19, 22 and 23).
//!
//! Readers of an iprof, collapsed text or pprof read to the end of the file, so opening such a file returns only the
//! document (`document_len`).
//!
//! This module contains the frame ([`Frame`]), the inputs that every family stores ([`PartialInput`]) and the encoding
//! of numbers ([`Encoder`], [`Decoder`]). The state itself belongs to the merge of its family. If the inputs affect the
//! result in more ways than sums can represent, the inputs themselves are stored ([`StoredInputs`]).

mod claimed;
mod duplicates;
mod frame;
mod inputs;
mod stored_inputs;
mod wire;

pub(crate) use claimed::{claimed_path, original_path};
pub use duplicates::Duplicates;
pub use frame::{FOOTER_BYTES, Frame, MAGIC, append};
pub(crate) use frame::{document_len, write};
pub use inputs::{InputOrigin, InputState, PartialInput};
pub use stored_inputs::{StoredInput, StoredInputs};
pub use wire::{Decoder, Encoder};
