//! Top-level members by name.

use crate::iprof::sections::SectionKind;

/// Size of a part of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartSize {
    /// Entries that were complete, sound or not.
    pub entries: u64,
    /// Entries without errors, or mended.
    pub sound: u64,
    /// Bytes of text from the member's name to the end of its value.
    pub bytes: u64,
}

/// A top-level member that says how a value is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Version,
    Types,
    Methods,
    Section(SectionKind),
    /// The monitor section of 2022: an object.
    BareMonitor,
    Other(Vec<u8>),
}

/// Sections that GraalVM or its forks are known to write, beyond the format.
pub(super) const KNOWN_EXTENSIONS: [&[u8]; 3] = [b"ceConditionalProfilesV2", b"virtualInvokeMethodProfiles", b"llvm"];

/// Whether the format, or a fork of GraalVM, has a top-level member of this name.
pub(in crate::iprof) fn is_known_member(name: &[u8]) -> bool {
    !matches!(Part::of(name).0, Part::Other(_)) || KNOWN_EXTENSIONS.contains(&name)
}

impl Part {
    /// The part of this name, and whether that is a name of 2022.
    pub(super) fn of(name: &[u8]) -> (Self, bool) {
        let legacy = match name {
            b"hotnessPoints" => Self::Section(SectionKind::CallCount),
            b"conditionalPoints" => Self::Section(SectionKind::Conditional),
            b"invokePoints" => Self::Section(SectionKind::VirtualInvoke),
            b"monitorsProfile" => Self::BareMonitor,
            _ => {
                let section = SectionKind::ALL.iter().find(|kind| kind.name().as_bytes() == name);
                let part = match (name, section) {
                    (b"version", _) => Self::Version,
                    (b"types", _) => Self::Types,
                    (b"methods", _) => Self::Methods,
                    (b"instanceOfProfiles", _) => Self::Section(SectionKind::Instanceof),
                    (_, Some(kind)) => Self::Section(*kind),
                    _ => Self::Other(name.to_vec()),
                };
                return (part, false);
            }
        };
        (legacy, true)
    }

    /// Under which name its findings and its size are kept.
    pub(super) fn group(&self) -> &'static str {
        match self {
            Self::Version => "version",
            Self::Types => "types",
            Self::Methods => "methods",
            Self::Section(kind) => kind.name(),
            Self::BareMonitor => SectionKind::Monitor.name(),
            Self::Other(_) => "other members",
        }
    }
}
