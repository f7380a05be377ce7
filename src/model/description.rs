//! The description of a file and its sections, for any format.

use crate::error_report::ErrorReport;
use crate::hint::Hint;

/// The description of a file, as printed by `info`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Description {
    /// The description of the format.
    #[cfg_attr(feature = "serde", serde(rename = "description"))]
    pub format: String,
    /// Whether profbridge reads the format's content.
    pub supported: bool,
    /// Bytes of the file as stored.
    pub size: u64,
    /// The name of the compression, if the file is compressed: `gzip`, `zstd` or `xz`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub compression: Option<&'static str>,
    /// Bytes of the content, if the file is compressed.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub inflated_size: Option<u64>,
    /// The parts of the file: one, or one per image that wrote a raw file.
    pub parts: Vec<PartDescription>,
    /// The merge state, if the file is a partial merge.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub partial_merge: Option<PartialDescription>,
    /// Harmless deviations.
    pub warnings: Vec<String>,
    /// The error that stops reading; `None` for a valid file.
    pub error: Option<ErrorReport>,
    /// An instruction for the user, if there is one.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub hint: Option<Hint>,
}

/// A partial merge: the data that continues the merge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PartialDescription {
    /// The name of the family, see [`Family::name`](crate::input::Family::name).
    pub family: &'static str,
    /// The number of inputs that were merged or stored.
    pub used: usize,
    /// Sums of functions and contexts; `None` if the inputs themselves are stored.
    pub sums: Option<usize>,
    /// Filters and renamings that were applied, as options.
    pub applied: Vec<String>,
    /// The inputs, in order.
    pub inputs: Vec<PartialInputDescription>,
}

/// An input of a partial merge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PartialInputDescription {
    /// The path as given.
    pub path: String,
    /// The weight, at least 1.
    pub weight: u64,
    /// `used`, `empty` or `failed`.
    pub outcome: &'static str,
    /// The number of records; `None` if the input itself is stored.
    pub records: Option<u64>,
    /// The error.
    pub error: Option<String>,
    /// Notes.
    pub warnings: Vec<String>,
}

/// One profile of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PartDescription {
    /// Position of the first byte in the decompressed file.
    pub offset: u64,
    /// The version, as written in the file.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub version: Option<String>,
    /// Names of the variant flags.
    pub variant: Vec<String>,
    /// `little-endian` or `big-endian`, if it depends on the machine.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub byte_order: Option<String>,
    /// Bits of a pointer, if it depends on the machine.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub pointer_bits: Option<u32>,
    /// Releases that write the version.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub written_by: Option<String>,
    /// Releases whose tools read the version.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub read_by: Option<String>,
    /// Sections in file order.
    pub sections: Vec<SectionDescription>,
    /// Binary ids in hexadecimal.
    pub binary_ids: Vec<String>,
    /// Other facts, as label and value.
    pub facts: Vec<Fact>,
}

/// A label and a value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Fact {
    /// The label.
    pub label: String,
    /// The value.
    pub value: String,
}

/// One section of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SectionDescription {
    /// The section's name in the format.
    pub name: String,
    /// Position of the first byte in the decompressed file; `None` if sections have no fixed position.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub offset: Option<u64>,
    /// Size in bytes.
    pub size: u64,
    /// The number of entries, if the format counts them.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub entries: Option<u64>,
}

/// Precedes the step that the readers of a file require.
const AFTER: &str = ", after ";

impl Description {
    /// Creates the description of a file of a format.
    pub fn new(format: impl Into<String>, size: u64) -> Self {
        Self { format: format.into(), size, ..Self::default() }
    }

    /// Notes that other programs read the file only after a step. The last one counts.
    pub(crate) fn read_after(&mut self, step: &str) {
        for read_by in self.parts.iter_mut().filter_map(|part| part.read_by.as_mut()) {
            read_by.truncate(read_by.find(AFTER).unwrap_or(read_by.len()));
            read_by.push_str(AFTER);
            read_by.push_str(step);
        }
    }

    /// Stores the error that stops reading.
    pub fn set_error(&mut self, error: &crate::error::Error) {
        self.error = Some(error.into());
        self.hint = error.hint().cloned();
    }
}

impl PartDescription {
    /// Adds a section.
    pub fn section(&mut self, name: impl Into<String>, offset: Option<u64>, size: u64, entries: Option<u64>) {
        self.sections.push(SectionDescription { name: name.into(), offset, size, entries });
    }

    /// Adds a label and a value.
    pub fn fact(&mut self, label: impl Into<String>, value: impl Into<String>) {
        self.facts.push(Fact { label: label.into(), value: value.into() });
    }
}
