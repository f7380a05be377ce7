//! What the releases of LLVM do differently with sample profiles.

use crate::model::Release;

/// The rules of one release, as questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rules {
    release: Release,
}

impl Rules {
    /// The rules of a release.
    pub fn of(release: Release) -> Self {
        Self { release }
    }

    /// The release.
    pub fn release(self) -> Release {
        self.release
    }

    /// Names that are hashes stay numbers; before, they became the strings of
    /// their decimal digits.
    pub fn keeps_hashes(self) -> bool {
        self.release.0 >= 18
    }

    /// A second record of a name adds to the first; before, it took its place.
    pub fn adds_repeated_records(self) -> bool {
        self.release.0 >= 18
    }

    /// Records of equal totals are written by rising name; before, falling.
    pub fn ties_rise(self) -> bool {
        self.release.0 >= 14
    }

    /// Contexts stand in a table of their own in extensible binaries.
    pub fn has_context_table(self) -> bool {
        self.release.0 >= 14
    }

    /// Compact binaries are written and read.
    pub fn has_compact_binary(self) -> bool {
        self.release.0 <= 16
    }

    /// A merge writes extensible binaries unless told otherwise.
    pub fn writes_extensible_by_default(self) -> bool {
        self.release.0 >= 17
    }

    /// Containers are keyed by the MD5 of names; before, by a hash of the bytes.
    pub fn keys_by_md5(self) -> bool {
        self.release.0 >= 18
    }

    /// Contexts are hashed with XXH3 over the C++ library's hashes of names.
    pub fn hashes_contexts_with_xxh3(self) -> bool {
        self.release.0 >= 23
    }

    /// The flag for names with `.__uniq.` is set with hashes too.
    pub fn flags_unique_names_of_hashes(self) -> bool {
        self.release.0 < 18
    }

    /// The flag for pre-inlined profiles of extensible binaries is kept.
    pub fn keeps_preinlined_flag(self) -> bool {
        self.release.0 >= 15
    }

    /// Inlined callees that were copied into the base profile do not count in
    /// the summary, and nesting takes a callee out of the call targets.
    pub fn minds_duplicates(self) -> bool {
        self.release.0 >= 15
    }

    /// Nesting always merges callees into their base profiles.
    pub fn always_merges_base_profiles(self) -> bool {
        self.release.0 <= 14
    }

    /// A nested profile is stated to be pre-inlined.
    pub fn nesting_is_preinlining(self) -> bool {
        self.release.0 <= 14
    }

    /// Folding cold contexts takes any number of frames but 0 for 1.
    pub fn folds_to_one_frame(self) -> bool {
        self.release.0 <= 17
    }

    /// Checksums of inlined callees are written as text.
    pub fn writes_nested_checksums(self) -> bool {
        self.release.0 >= 14
    }

    /// Lines of virtual tables are known in text and extensible binaries.
    pub fn knows_vtables(self) -> bool {
        self.release.0 >= 22
    }

    /// A line of metadata that is none is said to be that.
    pub fn names_metadata_faults(self) -> bool {
        self.release.0 >= 20
    }

    /// A line of the body that is too large is an error; before, the rest of the
    /// record was misread, which is an error here as well.
    pub fn names_illegal_lines(self) -> bool {
        self.release.0 >= 20
    }

    /// Version 104 of extensible binaries is read, and written on request.
    pub fn writes_104(self) -> bool {
        self.release.0 >= 23
    }

    /// Functions without inlined callees can be written apart.
    pub fn knows_split_layout(self) -> bool {
        self.release.0 >= 20
    }
}
