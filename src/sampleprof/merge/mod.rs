//! Adding up sample profiles, and changing their layout.
//!
//! [`Merger`] takes profiles one after another and follows the rules of one
//! release of LLVM. The result depends on the inputs and their order only; what
//! it holds grows with the functions of the result, not with the inputs.

mod cold;
mod fold;
mod layout;
mod merger;
mod remap;
mod rename;

pub use cold::ColdContexts;
pub use fold::RecordFault;
pub use layout::Layout;
pub use merger::Merger;

pub(super) use fold::merge_record;
pub(super) use merger::{order_of_input, summarize};
pub(super) use remap::remap;
pub(super) use rename::rename;
