//! How files are read.

use crate::iprof::version::Version;
use crate::limits::Limits;
use std::num::NonZeroUsize;

/// How a file is read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Bounds on hostile input.
    pub limits: Limits,
    /// The version of a file that has none, or a malformed one. Default: none; such files are rejected.
    pub assume_version: Option<Version>,
    /// Pass over members that are not part of the format. Default: `false`, they are kept.
    pub(crate) drop_unknown: bool,
    /// Look for equal contexts within a section, which costs some memory. Default: `false`.
    pub find_duplicates: bool,
    /// Accept files with errors, without what is wrong in them. Default: `false`.
    pub accept_errors: bool,
    /// Accept what stands before a syntax error. Default: `false`.
    pub salvage: bool,
    /// Read a call count at another position as one at position 0. Default: `false`, it is dropped.
    pub reset_call_count_leaf: bool,
    /// Keep the whole rows of an entry that ends within one. Default: `false`, it is dropped.
    pub keep_whole_rows: bool,
    /// Join two sections of one name. Default: `false`, which rejects the file.
    pub join_sections: bool,
    /// Stop where a writer would write the file in another way. Default: `false`.
    pub(crate) only_as_written: bool,
    /// Threads that parse a large section; `None` asks the machine. The result does not depend on it.
    pub threads: Option<NonZeroUsize>,
}
