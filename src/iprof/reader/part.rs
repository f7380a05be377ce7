//! Top-level members by name.

use crate::iprof::document::Table;
use crate::iprof::sections::SectionKind;

/// Size of a part of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartSize {
    /// Entries that were complete, sound or not.
    pub entries: u64,
    /// Entries without errors, or mended.
    pub valid: u64,
    /// Bytes of text from the member's name to the end of its value.
    pub bytes: u64,
}

/// A top-level member that says how a value is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Version,
    Table(Table),
    /// The monitor section of 2022: an object.
    BareMonitor,
    Other(Vec<u8>),
}

/// Sections that GraalVM or its forks are known to write, beyond the format.
pub(super) const KNOWN_EXTENSIONS: [&[u8]; 3] = [b"ceConditionalProfilesV2", b"virtualInvokeMethodProfiles", b"llvm"];

/// Whether the format, or a fork of GraalVM, has a top-level member of this name.
pub(crate) fn is_known_member(name: &[u8]) -> bool {
    !matches!(Part::of(name).0, Part::Other(_)) || KNOWN_EXTENSIONS.contains(&name)
}

impl Part {
    /// The part of this name, and whether that is a name of 2022.
    pub(super) fn of(name: &[u8]) -> (Self, bool) {
        let section = |kind| Self::Table(Table::Section(kind));
        let legacy = match name {
            b"hotnessPoints" => section(SectionKind::CallCount),
            b"conditionalPoints" => section(SectionKind::Conditional),
            b"invokePoints" => section(SectionKind::VirtualInvoke),
            b"monitorsProfile" => Self::BareMonitor,
            b"version" => return (Self::Version, false),
            b"instanceOfProfiles" => return (section(SectionKind::Instanceof), false),
            _ => return (Table::of_name(name).map_or_else(|| Self::Other(name.to_vec()), Self::Table), false),
        };
        (legacy, true)
    }

    /// Under which name its findings and its size are kept.
    pub(super) fn group(&self) -> &'static str {
        match self {
            Self::Version => "version",
            Self::Table(table) => table.name(),
            Self::BareMonitor => SectionKind::Monitor.name(),
            Self::Other(_) => "other members",
        }
    }
}
