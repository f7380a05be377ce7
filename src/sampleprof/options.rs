//! Encodings, options of reading and writing, and what the releases of LLVM do differently.

use crate::cancel::Cancel;
use crate::error::{Error, ErrorKind, Result, io_message};
use crate::input::Input;
use crate::limits::Limits;
use crate::model::{FunctionFilter, Release, Remapping, name_ref};
use std::collections::BTreeSet;
use std::fmt;

/// A profile symbol list: all functions of the sampled program.
pub type SymbolList = BTreeSet<Vec<u8>>;

/// The encoding of a sample profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[cfg_attr(feature = "cli", value(rename_all = "lower"))]
#[non_exhaustive]
pub enum Encoding {
    /// Text profile.
    Text,
    /// The plain binary.
    Binary,
    /// The extensible binary: a table, then sections.
    ExtBinary,
    /// The compact binary of LLVM 8 to 16, which stores hashes instead of names.
    #[cfg_attr(feature = "cli", value(name = "compact"))]
    CompactBinary,
    /// The file that GCC's -fauto-profile reads.
    Gcc,
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "sample profile, text",
            Self::Binary => "sample profile, binary",
            Self::ExtBinary => "sample profile, extensible binary",
            Self::CompactBinary => "sample profile, compact binary",
            Self::Gcc => "sample profile of GCC",
        })
    }
}

/// Options of reading.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The release whose rules apply.
    pub rules: Rules,
    /// Limits for untrusted input.
    pub limits: Limits,
    /// Whether discriminators of text and plain binaries have bits of flow-sensitive passes. Extensible binaries state
    /// it themselves.
    pub flow_sensitive: bool,
    /// The number of low bits of discriminators that are kept in flow-sensitive profiles: 8, 14, 20, 26 or 32.
    pub discriminator_bits: u32,
    /// The number of symbols that are read of a profile symbol list.
    pub most_symbols: usize,
    /// Whether to read content that only other releases than that of `rules` read correctly: compact binaries, version
    /// 104, vtables, several records of one name.
    pub every_release: bool,
    /// Whether hashes of names become strings of their decimal digits if they do in the release of `rules`: up to LLVM 17.
    pub digits_for_hashes: bool,
    /// Ends the reading of a file, at its next function or name.
    pub(super) cancel: Cancel,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            rules: Rules::default(),
            limits: Limits::default(),
            flow_sensitive: false,
            discriminator_bits: 32,
            most_symbols: usize::MAX,
            every_release: true,
            digits_for_hashes: false,
            cancel: Cancel::default(),
        }
    }
}

impl ReadOptions {
    /// Returns the options for an input, which may be cancelled.
    pub(crate) fn of_input(&self, input: &Input) -> Self {
        Self { cancel: input.token(), ..self.clone() }
    }

    /// Returns true if version 104 is read.
    pub(super) fn reads_104(&self) -> bool {
        self.every_release || self.rules.writes_104()
    }

    /// Returns true if vtables are read.
    pub(super) fn reads_vtables(&self) -> bool {
        self.every_release || self.rules.knows_vtables()
    }

    /// Returns true if a second record of a name adds to the first one.
    pub(super) fn adds_repeated_records(&self) -> bool {
        self.every_release || self.rules.adds_repeated_records()
    }

    /// Returns true if hashes of names stay numbers.
    pub(super) fn keeps_hashes(&self) -> bool {
        !self.digits_for_hashes || self.rules.keeps_hashes()
    }

    /// Returns true if the flag of pre-inlined extensible binaries is used.
    pub(super) fn reads_preinlined_flag(&self) -> bool {
        self.every_release || self.rules.keeps_preinlined_flag()
    }

    /// Returns the bits of discriminators that are kept.
    pub(super) fn discriminator_mask(&self, flow_sensitive: bool) -> u32 {
        if flow_sensitive { low_bits(self.discriminator_bits) } else { u32::MAX }
    }
}

/// Options of merging.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MergeOptions {
    /// The release whose rules apply.
    pub rules: Rules,
    /// New names of functions.
    pub remapping: Remapping,
    /// The number of low bits of discriminators that a remapping keeps if it works as in llvm-profdata: without calling
    /// contexts, checksums, attributes and vtables. `None` keeps everything.
    pub discriminator_bits: Option<u32>,
    /// Whether to drop the profile symbol lists of the inputs.
    pub drop_symbols: bool,
    /// Symbols to add to the profile symbol list.
    pub symbols: SymbolList,
    /// The handling of cold contexts.
    pub cold: ColdContexts,
    /// The layout of the result; `None` keeps that of the inputs.
    pub layout: Option<Layout>,
    /// The functions to keep.
    pub filter: Filter,
    /// Whether a file that does not state a kind has that of the file before, as in llvm-profdata.
    pub(crate) inherits_kinds: bool,
}

impl MergeOptions {
    /// Returns the default options for a release.
    pub fn of(rules: Rules) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Returns the bits of discriminators that a remapping keeps if it works as in llvm-profdata, with or without rules.
    pub(super) fn mask_of_llvm(&self) -> Option<u32> {
        self.discriminator_bits.filter(|_| self.remapping.is_given()).map(low_bits)
    }
}

/// The layout of inlined callees and calling contexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// Contexts become inlined callees of their callers.
    Nest {
        /// Whether to add them to the functions' own records as well.
        merged_base: bool,
    },
    /// Inlined callees and contexts become functions without context.
    Flat,
}

/// The cutoff of hot counts.
pub const HOT_CUTOFF: u32 = 990_000;
/// The cutoff of cold counts.
pub const COLD_CUTOFF: u32 = 999_999;

/// The count that separates hot from other counts, or cold from other counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold {
    /// The cutoff of the row of a summary that has the count, in millionths.
    pub cutoff: u32,
    /// A count that overrides that of the summary.
    pub count: Option<u64>,
}

impl Threshold {
    /// The smallest hot count.
    pub const HOT: Self = Self { cutoff: HOT_CUTOFF, count: None };
    /// The smallest count that is not cold.
    pub const COLD: Self = Self { cutoff: COLD_CUTOFF, count: None };
}

/// Options for cold contexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColdContexts {
    /// Merge them into the contexts of their last frames.
    pub merge: bool,
    /// Drop them; with `merge`, drop only merged ones that stay cold and have no other record.
    pub trim: bool,
    /// The number of last frames.
    pub frames: usize,
    /// Contexts with fewer samples are cold.
    pub threshold: Threshold,
}

impl Default for ColdContexts {
    fn default() -> Self {
        Self { merge: false, trim: false, frames: 1, threshold: Threshold::COLD }
    }
}

/// Selects functions by name or context. If names are hashes, a pattern that is a name also matches its hash.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    keep: Option<(FunctionFilter, String)>,
    drop: Option<(FunctionFilter, String)>,
}

impl Filter {
    /// Compiles the patterns of the functions to keep and to drop. An empty pattern counts as none.
    ///
    /// # Errors
    ///
    /// The errors of [`FunctionFilter::new`].
    pub fn new(keep: Option<&str>, drop: Option<&str>) -> Result<Self> {
        let compile = |pattern: Option<&str>| -> Result<Option<(FunctionFilter, String)>> {
            let given = pattern.filter(|pattern| !pattern.is_empty());
            given
                .map(|text| Ok((FunctionFilter::new(Some(text), None)?, name_ref(text.as_bytes()).to_string())))
                .transpose()
        };
        Ok(Self { keep: compile(keep)?, drop: compile(drop)? })
    }

    /// Returns true if the filter keeps every function.
    pub fn is_none(&self) -> bool {
        self.keep.is_none() && self.drop.is_none()
    }

    /// Returns true if the filter keeps the function or context with a title.
    pub fn keeps(&self, title: &[u8], hashed: bool) -> bool {
        let matches =
            |(filter, digits): &(FunctionFilter, String)| filter.keeps(title) || (hashed && digits.as_bytes() == title);
        self.keep.as_ref().is_none_or(matches) && !self.drop.as_ref().is_some_and(matches)
    }
}

/// A mask of the given number of low bits.
fn low_bits(bits: u32) -> u32 {
    if bits < 32 { (1 << bits) - 1 } else { u32::MAX }
}

/// Options of writing.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct WriteOptions {
    /// The encoding.
    pub encoding: Encoding,
    /// The target release.
    pub rules: Rules,
    /// Whether to state that the profile has only part of the program's functions (extensible binary). It is also stated
    /// if all inputs state it, unless the output is [as LLVM's](Self::as_llvm).
    pub partial: bool,
    /// Whether to store MD5 hashes instead of names (extensible binary). They are also stored if the profile has hashes
    /// instead of some names, unless the output is [as LLVM's](Self::as_llvm).
    pub use_md5: bool,
    /// Whether to compress every section (extensible binary).
    pub compress: bool,
    /// Whether to store functions without inlined callees in sections of their own, or mark them in text.
    pub split_layout: bool,
    /// Whether to write vtables (extensible binary of LLVM 22 and later). They are also written if the profile has them,
    /// unless the output is [as LLVM's](Self::as_llvm).
    pub vtables: bool,
    /// 103, or 104 (extensible binary of LLVM 23 and later).
    pub version: u64,
    /// Whether to write what LLVM writes even if its readers misread or reject it. Text: a function that is inlined into
    /// one with a calling context is written in brackets, which become part of its name. Extensible binary: frames have
    /// lines of 65536 and above; a partial profile becomes a whole one; the decimal digits of hashes become names.
    pub as_llvm: bool,
    /// The maximum size of the output in bytes: the coldest functions are dropped until it fits. 0 means no limit.
    pub size_limit: u64,
}

impl WriteOptions {
    /// Returns what the options request that only an extensible binary can store. LLVM ignores such options.
    pub(crate) fn needs_sections(&self) -> Option<&'static str> {
        if self.as_llvm {
            return None;
        }
        let is_text = self.encoding == Encoding::Text;
        let requested = [
            (self.use_md5 && self.encoding != Encoding::CompactBinary, "hashes of names"),
            (self.compress, "compressed sections"),
            (self.partial, "the property of a partial profile"),
            (self.split_layout && !is_text, "the split layout"),
        ];
        requested.into_iter().find_map(|(is_requested, what)| is_requested.then_some(what))
    }
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            encoding: Encoding::ExtBinary,
            rules: Rules::default(),
            partial: false,
            use_md5: false,
            compress: false,
            split_layout: false,
            vtables: false,
            version: 103,
            as_llvm: false,
            size_limit: 0,
        }
    }
}

/// The rules of one LLVM release. Each method answers one question about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rules {
    release: Release,
    /// Whether a summary merges the contexts of a function first; `None` if the profile has contexts.
    merges_contexts: Option<bool>,
}

impl Rules {
    /// Returns the rules of a release.
    pub fn of(release: Release) -> Self {
        Self { release, merges_contexts: None }
    }

    /// Returns the rules with another treatment of calling contexts in summaries: whether those of a function are merged
    /// first. By default they are.
    #[must_use]
    pub fn merging_contexts_for_summary(self, merges: bool) -> Self {
        Self { merges_contexts: Some(merges), ..self }
    }

    /// Returns true if a summary is that of a profile without calling contexts.
    pub(super) fn merges_contexts_for_summary(self, has_contexts: bool) -> bool {
        self.merges_contexts.unwrap_or(has_contexts)
    }

    /// Returns the release.
    pub fn release(self) -> Release {
        self.release
    }

    /// The pre-inliner prefers functions that the program has inlined, and those without code, and functions can grow more.
    pub(crate) fn prefers_inlined(self) -> bool {
        self.release.0 >= 17
    }

    /// In recordings, branches from outside of the program count, and code that cannot have run from one branch to the next
    /// does not. Before, a sample ended at the first branch out of or into the program without the other one.
    pub(crate) fn counts_external_branches(self) -> bool {
        self.release.0 >= 15
    }

    /// In profiles of recordings, locations are executed at least as often as their calls.
    pub(crate) fn raises_to_calls(self) -> bool {
        self.release.0 >= 15
    }

    /// In profiles of recordings, functions have their names in debug info. Before, without the suffixes of copies.
    pub(crate) fn keeps_names_of_copies(self) -> bool {
        self.release.0 >= 17
    }

    /// Profiles of recordings have functions whose name many translation units use.
    pub fn keeps_ambiguous_functions(self) -> bool {
        self.release.0 < 18
    }

    /// The pre-inliner orders functions that call each other by the calls of all contexts, after all of their callers. Before,
    /// by those of the context with most calls, after the first caller.
    pub(crate) fn orders_by_all_calls(self) -> bool {
        self.release.0 >= 17
    }

    /// In profiles of programs with pseudo-probes, functions that debug info lacks are those of the symbol table.
    pub(crate) fn adds_functions_of_symbols(self) -> bool {
        self.release.0 >= 22
    }

    /// The discriminator of a call with a pseudo-probe has the number of the probe.
    pub(crate) fn reads_probe_discriminators(self) -> bool {
        self.release.0 >= 18
    }

    /// Hashes of names stay numbers. Before, they became strings of their decimal digits.
    pub(crate) fn keeps_hashes(self) -> bool {
        self.release.0 >= 18
    }

    /// A second record of a name adds to the first. Before, it replaced the first.
    pub(crate) fn adds_repeated_records(self) -> bool {
        self.release.0 >= 18
    }

    /// Records of equal totals are written by rising name. Before, by falling name.
    pub(crate) fn ties_rise(self) -> bool {
        self.release.0 >= 14
    }

    /// Extensible binaries have a table of contexts.
    pub(crate) fn has_context_table(self) -> bool {
        self.release.0 >= 14
    }

    /// Returns true if the release reads an encoding. That of GCC belongs to no release.
    pub(crate) fn reads(self, encoding: Encoding) -> bool {
        match encoding {
            Encoding::Text | Encoding::Binary | Encoding::Gcc => true,
            // LLVM 7 wrote and read compact binaries without a table of functions.
            Encoding::CompactBinary => (8..=16).contains(&self.release.0),
            Encoding::ExtBinary => self.release.0 >= 10,
        }
    }

    /// Extensible binaries state that a profile is partial.
    pub(crate) fn knows_partial_profiles(self) -> bool {
        self.release.0 >= 11
    }

    /// Extensible binaries state that discriminators are flow-sensitive.
    pub(crate) fn knows_flow_sensitive_profiles(self) -> bool {
        self.release.0 >= 13
    }

    /// Extensible binaries can store hashes instead of names.
    pub(crate) fn has_hashes_of_names(self) -> bool {
        self.release.0 >= 11
    }

    /// Hashes of names have 8 bytes. Before, they were LEB128 numbers.
    pub(crate) fn has_fixed_length_hashes(self) -> bool {
        self.release.0 >= 12
    }

    /// Profiles can have calling contexts and pseudo-probes.
    pub(crate) fn knows_contexts_and_probes(self) -> bool {
        self.release.0 >= 12
    }

    /// The summary counts inlined callees.
    pub(crate) fn summarizes_inlined_callees(self) -> bool {
        self.release.0 >= 9
    }

    /// A merge writes extensible binaries by default.
    pub fn writes_extensible_by_default(self) -> bool {
        self.release.0 >= 17
    }

    /// The keys of containers are the MD5 of names. Before, a hash of the bytes.
    pub(crate) fn keys_by_md5(self) -> bool {
        self.release.0 >= 18
    }

    /// Contexts are hashed with XXH3 over the C++ library's hashes of names.
    pub(crate) fn hashes_contexts_with_xxh3(self) -> bool {
        self.release.0 >= 23
    }

    /// The flag for names with `.__uniq.` is also set if hashes are stored.
    pub(crate) fn flags_unique_names_of_hashes(self) -> bool {
        self.release.0 < 18
    }

    /// The flag for pre-inlined profiles of extensible binaries is kept.
    pub(crate) fn keeps_preinlined_flag(self) -> bool {
        self.release.0 >= 15
    }

    /// The summary does not count inlined callees that were copied into the base profile, and nesting removes a callee
    /// from the call targets.
    pub(crate) fn minds_duplicates(self) -> bool {
        self.release.0 >= 15
    }

    /// Nesting always merges callees into their base profiles.
    pub(crate) fn always_merges_base_profiles(self) -> bool {
        self.release.0 <= 14
    }

    /// A nested profile states that it is pre-inlined.
    pub(crate) fn nesting_is_preinlining(self) -> bool {
        self.release.0 <= 14
    }

    /// In a merge of files, merging cold contexts uses 1 frame for every number of frames but 0.
    pub(crate) fn folds_to_one_frame(self) -> bool {
        self.release.0 <= 17
    }

    /// Checksums and attributes of inlined callees are written, as text and in extensible binaries.
    pub(crate) fn writes_nested_checksums(self) -> bool {
        self.release.0 >= 14
    }

    /// Text and extensible binaries can store vtables.
    pub(crate) fn knows_vtables(self) -> bool {
        self.release.0 >= 22
    }

    /// A malformed line of metadata has its own message.
    pub(crate) fn names_metadata_faults(self) -> bool {
        self.release.0 >= 20
    }

    /// A line number that is too large has its own message. Before, LLVM misread the rest of the record, which is an
    /// error here as well.
    pub(crate) fn names_illegal_lines(self) -> bool {
        self.release.0 >= 20
    }

    /// Version 104 of extensible binaries is read, and written on request.
    pub(crate) fn writes_104(self) -> bool {
        self.release.0 >= 23
    }

    /// An extensible binary has a section for calling contexts.
    pub(crate) fn knows_context_section(self) -> bool {
        self.release.0 >= 14
    }

    /// Functions without inlined callees can have sections of their own.
    pub(crate) fn knows_split_layout(self) -> bool {
        self.release.0 >= 20
    }
}

/// Returns the message of llvm-profdata for an error of a sample profile, without the path.
pub fn llvm_message(error: &Error) -> String {
    if let Some(detail) = error.llvm_detail() {
        return detail.to_string();
    }
    let class = match error.kind() {
        ErrorKind::Io { source, .. } => return io_message(source),
        ErrorKind::EmptyProfile | ErrorKind::UnrecognizedFormat => "Unrecognized sample profile encoding format",
        ErrorKind::BadMagic { .. } => "Invalid sample profile data (bad magic)",
        ErrorKind::UnsupportedVersion { .. } => "Unsupported sample profile format version",
        ErrorKind::Truncated { .. } => "Truncated profile data",
        ErrorKind::Malformed { .. } | ErrorKind::LimitExceeded { .. } => "Malformed sample profile data",
        ErrorKind::UncompressFailed { .. } => "Uncompress failure",
        ErrorKind::TooLarge { .. } => "Too much profile data",
        ErrorKind::Unsupported { .. } => "Profile encoding format unsupported for writing operations",
        other => return other.to_string(),
    };
    class.to_string()
}

/// Returns true if a line of a text profile is malformed. llvm-profdata prints the number of the line and ends, whatever
/// the failure mode.
pub fn is_text_fault(error: &Error) -> bool {
    error.line().is_some() && error.llvm_detail().is_some()
}

/// Returns true if a binary profile, or an extensible one before its sections, is truncated. llvm-profdata ends then,
/// whatever the failure mode. It reads truncated sections as if they were complete.
pub(super) fn is_fatal_truncation(error: &Error) -> bool {
    let is_of = |encoding: Encoding| error.format().is_some_and(|format| format == encoding.to_string());
    let is_before_sections = || matches!(error.section(), Some("header" | SECTION_TABLE));
    matches!(error.kind(), ErrorKind::Truncated { .. })
        && (is_of(Encoding::Binary) || (is_of(Encoding::ExtBinary) && is_before_sections()))
}

/// The name of the section table of extensible binary profiles in errors.
pub(super) const SECTION_TABLE: &str = "header table";

/// The error for counts of one line location whose sum is too large.
pub(super) fn counter_overflow() -> Error {
    Error::malformed("the sum of the counts of one line location exceeds 2^64 - 1").with_llvm_detail("Counter overflow")
}

/// The error for an index beyond the names that were read.
pub(super) fn name_index(index: u64, names: usize) -> Error {
    Error::malformed(format!("name {index} of {names}")).with_llvm_detail("Truncated function name table")
}
