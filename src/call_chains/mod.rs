//! Who calls a method, and what it calls: one grammar of patterns and one way
//! to count, for sampled stacks of every source and for iprof.

mod pattern;
mod tree;

pub use pattern::MethodPattern;
pub(crate) use tree::ChainTree;
pub use tree::Direction;
