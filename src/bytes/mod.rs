//! The only code that touches raw bytes: reading with checked bounds, writing
//! with places to fill in later, and the name chunks that raw and indexed
//! profiles share.

pub mod cursor;
pub(crate) mod deflate;
pub mod encoding;
pub(crate) mod hash_table;
pub mod head;
pub mod leb128;
pub mod names;
pub mod sink;
pub(crate) mod window;

pub use cursor::Cursor;
pub use encoding::{Encoding, Endian, PointerWidth};
pub use head::{Confidence, Head};
pub use sink::{Place, Sink};
