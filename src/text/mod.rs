//! Text profiles (`.proftext`), as `llvm-profdata merge --text` writes them.
//!
//! ```text
//! file    = header* record*
//! header  = ":" keyword
//! record  = name hash count counter{count}
//!           [ "$" size byte{size} ]
//!           [ kinds ( kind sites site{sites} ){kinds} ]
//! site    = values ( value ":" count ){values}
//! ```
//!
//! One item a line; empty lines and lines that begin with `#` are skipped
//! anywhere (`TextInstrProfReader` in LLVM's `InstrProfReader.cpp`).
//!
//! LLVM's form cannot say everything. Names that begin with `#` read as
//! comments, a name that begins with `$` after a record without bitmap reads
//! as a bitmap, and a call target whose function is not in the file is called
//! an external symbol. Under [`Compat::Profbridge`](crate::Compat) the writer
//! mends that with lines that LLVM takes for comments:
//!
//! | line | meaning |
//! |---|---|
//! | `#!name=NAME` | a name that cannot stand on a line of its own, with `%XX` for odd bytes |
//! | `#!\|LINE` | a line of the record with such a name: LLVM skips the record whole |
//! | `#!target=HASH` | the name hash of the next value, which is written as an external symbol |
//! | `#!functions=HASH,…` | the name hashes of the trace on the next line |
//! | `#!names=file:function` | local functions are called as by LLVM 17 and earlier, although some name holds a `;` |
//!
//! and with an empty bitmap (`$0`) before a name that begins with `$`. The
//! reader knows both forms; under [`Compat::Llvm22`](crate::Compat) such lines
//! are comments, as for LLVM.

mod batch;
mod evidence;
mod lines;
mod numbers;
mod parser;
mod pieces;
mod reader;
mod write;

pub use evidence::{evidence, is_blank};
pub use reader::TextReader;
pub(crate) use write::{Functions, Source, is_plain_name, write_source};
pub use write::{TextOptions, Written, losses, write, write_record, write_to};

/// How the text calls a target without a name.
const EXTERNAL: &[u8] = b"** External Symbol **";

/// Begins a line that only this program reads.
mod directive {
    pub(super) const NAME: &[u8] = b"#!name=";
    pub(super) const HIDDEN: &[u8] = b"#!|";
    pub(super) const TARGET: &[u8] = b"#!target=";
    pub(super) const FUNCTIONS: &[u8] = b"#!functions=";
    pub(super) const COLON_NAMES: &[u8] = b"#!names=file:function";
}

/// Whether a text says that its local functions are called `file:function`, as
/// LLVM 17 and earlier call them: the names alone do not tell where a file's
/// name holds a `;`.
pub fn has_colon_names(text: &[u8]) -> bool {
    head_has_colon_names(text).unwrap_or(false)
}

/// As [`has_colon_names`], for the beginning of a text; `None` where the lines that tell it may go on behind it.
fn head_has_colon_names(text: &[u8]) -> Option<bool> {
    let mut lines = text.split(|byte| *byte == b'\n');
    let is_head = |line: &&[u8]| line.first().is_some_and(|first| matches!(first, b'#' | b':'));
    let has = lines.by_ref().take_while(is_head).any(|line| line == directive::COLON_NAMES);
    // Behind the last line feed there is an empty line.
    (has || lines.next().is_some()).then_some(has)
}

/// Whether some record of a text may have a bitmap: a line begins as one does.
pub fn has_bitmaps(text: &[u8]) -> bool {
    text.contains(&b'$') && text.windows(2).any(|pair| pair == b"\n$")
}
