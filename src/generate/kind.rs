//! The formats that are generated, and the kinds of content that a profile can have.

use crate::error::{Error, Result};
use crate::input::Family;

/// A format of generated files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A raw profile of an instrumented program.
    Raw,
    /// An indexed profile.
    Indexed,
    /// A text profile.
    Text,
    /// A sample profile as text.
    SampleText,
    /// A sample profile in the plain binary.
    SampleBinary,
    /// A sample profile in the extensible binary.
    SampleExtBinary,
    /// A sample profile in the compact binary of LLVM 8 to 16.
    SampleCompact,
    /// A memory profile in YAML.
    MemoryYaml,
    /// An indexed profile that contains only a memory profile.
    MemoryIndexed,
    /// An iprof file.
    Iprof,
    /// Collapsed stacks.
    Collapsed,
    /// A pprof profile, not compressed.
    Pprof,
}

impl Format {
    /// All formats with name and file extension.
    const ROWS: [(Self, &'static str, &'static str); 12] = [
        (Self::Raw, "raw", "profraw"),
        (Self::Indexed, "indexed", "profdata"),
        (Self::Text, "text", "proftext"),
        (Self::SampleText, "sample-text", "afdo"),
        (Self::SampleBinary, "sample-binary", "afdo"),
        (Self::SampleExtBinary, "sample-extbinary", "afdo"),
        (Self::SampleCompact, "sample-compact", "afdo"),
        (Self::MemoryYaml, "memory-yaml", "memprofyaml"),
        (Self::MemoryIndexed, "memory-indexed", "profdata"),
        (Self::Iprof, "iprof", "iprof"),
        (Self::Collapsed, "collapsed", "collapsed"),
        (Self::Pprof, "pprof", "pb"),
    ];

    /// The names of all formats.
    pub const NAMES: &'static [&'static str] = &{
        let mut names = [""; Self::ROWS.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = Self::ROWS[at].1;
            at += 1;
        }
        names
    };

    /// Returns the format of this name.
    ///
    /// # Errors
    ///
    /// A usage error that lists all names.
    pub fn parse(name: &str) -> Result<Self> {
        let found = Self::ROWS.iter().find(|row| row.1 == name).map(|row| row.0);
        found.ok_or_else(|| {
            Error::usage(format!("unknown format {name:?}")).with_hint(format!("formats: {}", Self::NAMES.join(", ")))
        })
    }

    fn row(self) -> &'static (Self, &'static str, &'static str) {
        // Every variant has a row: a test counts them.
        Self::ROWS.iter().find(|row| row.0 == self).unwrap_or(&Self::ROWS[0])
    }

    /// Returns the name, as [`parse`](Self::parse) accepts it.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Returns the usual file extension, without a dot.
    pub fn extension(self) -> &'static str {
        self.row().2
    }

    /// Returns the family of the files.
    pub fn family(self) -> Family {
        match self {
            Self::Raw | Self::Indexed | Self::Text => Family::Instr,
            Self::SampleText | Self::SampleBinary | Self::SampleExtBinary | Self::SampleCompact => Family::SampleProf,
            Self::MemoryYaml | Self::MemoryIndexed => Family::MemProf,
            Self::Iprof => Family::Iprof,
            Self::Collapsed | Self::Pprof => Family::Stacks,
        }
    }

    /// Returns the kinds of content that files of the family can have.
    pub fn kinds(self) -> &'static [Kind] {
        use Kind::*;
        match self.family() {
            Family::SampleProf => &[Inlined, Targets, Contexts, Probes, Vtables, Symbols],
            Family::MemProf => &[Callees, Data],
            Family::Iprof => &[Calls, Conditionals, VirtualInvokes, Monitors, Samples, Instanceof],
            Family::Stacks => &[Threads, Positions],
            _ => &[
                Values,
                Vtables,
                Bitmaps,
                Temporal,
                Uniformity,
                BinaryIds,
                FrontEnd,
                ContextSensitive,
                EntryFirst,
                LoopEntries,
                ByteCoverage,
                EntryCoverage,
            ],
        }
    }

    /// Returns the kinds that a file has if none are requested.
    pub(super) fn default_kinds(self) -> &'static [Kind] {
        use Kind::*;
        match self.family() {
            Family::SampleProf => &[Inlined, Targets],
            Family::Iprof => &[Calls, Conditionals, VirtualInvokes, Samples],
            Family::MemProf | Family::Stacks => &[],
            _ => &[Values],
        }
    }
}

/// A kind of content in addition to the content that every file of the family has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Targets of indirect calls and sizes of memory operations.
    Values,
    /// Vtables of virtual calls, or of line locations in a sample profile.
    Vtables,
    /// MC/DC bitmaps.
    Bitmaps,
    /// Temporal traces.
    Temporal,
    /// Uniformity of blocks on a GPU.
    Uniformity,
    /// Identities of images.
    BinaryIds,
    /// Counters of the front end. Without it counters are those of the IR pass.
    FrontEnd,
    /// Context-sensitive records only.
    ContextSensitive,
    /// Counter 0 is that of the entry block.
    EntryFirst,
    /// Loop entries have counters.
    LoopEntries,
    /// Counters of one byte: 0 or 1.
    ByteCoverage,
    /// One counter for each function.
    EntryCoverage,
    /// Inlined callsites.
    Inlined,
    /// Call targets of line locations.
    Targets,
    /// Calling contexts.
    Contexts,
    /// Pseudo-probes with checksums.
    Probes,
    /// The profile symbol list.
    Symbols,
    /// Callees of the call sites of a memory profile.
    Callees,
    /// Accesses to static data.
    Data,
    /// Call counts.
    Calls,
    /// Branches.
    Conditionals,
    /// Receiver types of virtual calls.
    VirtualInvokes,
    /// Types that were synchronized on.
    Monitors,
    /// Samples.
    Samples,
    /// Types of instance-of tests, which need version 1.1.0.
    Instanceof,
    /// Thread names.
    Threads,
    /// Bytecode indices in collapsed stacks, lines in a pprof.
    Positions,
}

impl Kind {
    /// All kinds with their names.
    const ROWS: [(Self, &'static str); 27] = [
        (Self::Values, "values"),
        (Self::Vtables, "vtables"),
        (Self::Bitmaps, "bitmaps"),
        (Self::Temporal, "temporal"),
        (Self::Uniformity, "uniformity"),
        (Self::BinaryIds, "binary-ids"),
        (Self::FrontEnd, "front-end"),
        (Self::ContextSensitive, "context-sensitive"),
        (Self::EntryFirst, "entry-first"),
        (Self::LoopEntries, "loop-entries"),
        (Self::ByteCoverage, "byte-coverage"),
        (Self::EntryCoverage, "entry-coverage"),
        (Self::Inlined, "inlined"),
        (Self::Targets, "targets"),
        (Self::Contexts, "contexts"),
        (Self::Probes, "probes"),
        (Self::Symbols, "symbols"),
        (Self::Callees, "callees"),
        (Self::Data, "data"),
        (Self::Calls, "calls"),
        (Self::Conditionals, "conditionals"),
        (Self::VirtualInvokes, "virtual-invokes"),
        (Self::Monitors, "monitors"),
        (Self::Samples, "samples"),
        (Self::Instanceof, "instanceof"),
        (Self::Threads, "threads"),
        (Self::Positions, "positions"),
    ];

    /// The names of all kinds.
    pub const NAMES: &'static [&'static str] = &{
        let mut names = [""; Self::ROWS.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = Self::ROWS[at].1;
            at += 1;
        }
        names
    };

    /// Returns the name, as [`parse`](Self::parse) accepts it.
    pub fn name(self) -> &'static str {
        Self::ROWS.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// Returns the kind of this name.
    ///
    /// # Errors
    ///
    /// A usage error for a name that no kind has, and for a kind that files of the format never have.
    pub fn parse(name: &str, format: Format) -> Result<Self> {
        if let Some(kind) = format.kinds().iter().find(|kind| kind.name() == name) {
            return Ok(*kind);
        }
        let names: Vec<&str> = format.kinds().iter().map(|kind| kind.name()).collect();
        let detail = match Self::NAMES.contains(&name) {
            true => format!("{} files have no {name}", format.name()),
            false => format!("unknown kind {name:?}"),
        };
        Err(Error::usage(detail).with_hint(format!("kinds of {} files: {}", format.name(), names.join(", "))))
    }
}

/// Rejects kinds that contradict each other.
pub(super) fn check_kinds(kinds: &[Kind]) -> Result<()> {
    let ir_only = [Kind::ContextSensitive, Kind::EntryFirst, Kind::LoopEntries, Kind::EntryCoverage, Kind::Temporal];
    let has = |kind: &Kind| kinds.contains(kind);
    if let Some(kind) = ir_only.iter().find(|kind| has(&Kind::FrontEnd) && has(kind)) {
        return Err(Error::usage(format!("a profile of front-end counters has no {}", kind.name())));
    }
    if has(&Kind::Contexts) && has(&Kind::Inlined) {
        return Err(Error::usage("calling contexts and inlined callsites are two ways to describe inlining")
            .with_hint("generate contexts or inlined"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for (format, name, _) in Format::ROWS {
            assert_eq!(Format::parse(name).unwrap(), format);
            for kind in format.kinds() {
                assert_eq!(Kind::parse(kind.name(), format).unwrap(), *kind);
            }
        }
        assert!(Kind::ROWS.iter().all(|(kind, _)| Format::ROWS.iter().any(|row| row.0.kinds().contains(kind))));
    }

    #[test]
    fn a_kind_of_another_family_is_an_error() {
        let error = Kind::parse("bitmaps", Format::Iprof).unwrap_err();
        assert_eq!(error.to_string(), "iprof files have no bitmaps");
        assert!(Kind::parse("colours", Format::Raw).unwrap_err().to_string().contains("unknown kind"));
    }
}
