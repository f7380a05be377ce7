//! Partial merges: what a file carries so that a merge can go on where it ended.
//!
//! ```text
//! ┌─────────────────────────┐
//! │ a profile (or nothing)  │  what LLVM's tools of its version read
//! ├─────────────────────────┤
//! │ state, deflated         │  what is needed to go on exactly
//! ├─────────────────────────┤
//! │ footer                  │  lengths, checksums, family, version, magic
//! └─────────────────────────┘
//! ```
//!
//! Readers of an indexed or extensible binary profile follow offsets from its
//! header and never look at bytes behind it (LLVM 14, 16, 19, 22 and 23, measured).
//!
//! An iprof, collapsed text or pprof has an end of its own: whoever opens such a
//! file here sees the document alone ([`document_len`]).
//!
//! This module knows the frame ([`Frame`]), the inputs that every family
//! remembers ([`PartialInput`]) and how numbers are written ([`Encoder`],
//! [`Decoder`]); the state itself belongs to the merge of its family. Where
//! inputs decide about more of the result than can be added up, they are kept
//! ([`StoredInputs`]).

mod frame;
mod inputs;
mod kept;
mod wire;

pub use frame::{FOOTER_BYTES, Family, Frame, MAGIC, append, document_len};
pub use inputs::{InputOrigin, InputState, PartialInput};
pub use kept::{StoredInput, StoredInputs};
pub use wire::{Decoder, Encoder};
