//! A pprof profile in memory.

use crate::call_chains::Unit;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// The meaning of a value: `cpu` in `nanoseconds`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ValueType {
    /// The kind: `samples`, `cpu`, `alloc_space`.
    pub kind: StringId,
    /// In what: `count`, `nanoseconds`, `bytes`.
    pub unit: StringId,
}

/// A program or library in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// The address after the last.
    pub limit: u64,
    /// Byte of the file that is at the first address.
    pub offset: u64,
    /// The file.
    pub file: StringId,
    /// The id of its build.
    pub build_id: StringId,
    /// Functions, file names, line numbers and inlined frames are resolved, in
    /// this order.
    pub resolved: [bool; 4],
}

/// A function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Function {
    /// As people read it.
    pub name: StringId,
    /// As the system spells it, perhaps mangled.
    pub system_name: StringId,
    /// Its source file.
    pub file: StringId,
    /// Line on which it begins, 0 where that is not known.
    pub start_line: i64,
}

/// A function at a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Line {
    /// Position in [`Profile::functions`].
    pub function: Option<u32>,
    /// Line of the source file, 0 where that is not known.
    pub line: i64,
    /// Column, 0 where that is not known.
    pub column: i64,
}

/// A place in the code.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Location {
    /// Position in [`Profile::mappings`].
    pub mapping: Option<u32>,
    /// Address, 0 where that is not known.
    pub address: u64,
    /// The functions at this location: the innermost inlined function first, its outermost caller last. Empty if the
    /// address is not symbolized.
    pub lines: Box<[Line]>,
    /// Several functions have this code, of which one is named.
    pub is_folded: bool,
}

/// Something known about a sample, as text or as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Label {
    /// The key: `thread`, `bytes`.
    pub key: StringId,
    /// The text, or the empty one for a number.
    pub text: StringId,
    /// The number.
    pub number: i64,
    /// In what the number is.
    pub unit: StringId,
}

/// One sample of [`Samples`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleRef<'a> {
    /// Positions in [`Profile::locations`], the leaf first.
    pub locations: &'a [u32],
    /// As many as [`Profile::sample_types`].
    pub values: &'a [i64],
    /// Its labels.
    pub labels: &'a [Label],
}

/// All samples, in three rows of memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples {
    pub(super) width: usize,
    locations: Vec<u32>,
    values: Vec<i64>,
    labels: Vec<Label>,
    /// Where the locations and the labels of each sample end.
    ends: Vec<(usize, usize)>,
}

impl Samples {
    /// No samples, of `width` values each.
    pub fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Adds one; its values are as many as all others have.
    ///
    /// # Panics
    ///
    /// With another number of values.
    pub fn push(&mut self, locations: &[u32], values: &[i64], labels: &[Label]) {
        assert_eq!(values.len(), self.width, "all samples have as many values");
        self.locations.extend_from_slice(locations);
        self.values.extend_from_slice(values);
        self.labels.extend_from_slice(labels);
        self.ends.push((self.locations.len(), self.labels.len()));
    }

    /// The sample at a position.
    ///
    /// # Panics
    ///
    /// When there are not as many.
    pub fn get(&self, index: usize) -> SampleRef<'_> {
        let (locations, labels) = match index.checked_sub(1) {
            Some(before) => self.ends[before],
            None => (0, 0),
        };
        let (locations_end, labels_end) = self.ends[index];
        SampleRef {
            locations: &self.locations[locations..locations_end],
            values: &self.values[index * self.width..(index + 1) * self.width],
            labels: &self.labels[labels..labels_end],
        }
    }

    /// All, in order of the file.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = SampleRef<'_>> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// The samples for which `keep` returns true.
    pub(super) fn filtered(&self, keep: impl Fn(SampleRef<'_>) -> bool) -> Self {
        let mut kept = Self::new(self.width);
        for sample in self.iter().filter(|sample| keep(*sample)) {
            kept.push(sample.locations, sample.values, sample.labels);
        }
        kept
    }

    pub(super) fn values_mut(&mut self, index: usize) -> &mut [i64] {
        &mut self.values[index * self.width..(index + 1) * self.width]
    }

    /// The same samples with only the values in these columns.
    pub(super) fn keep_columns(&mut self, columns: &[usize]) {
        let mut values = Vec::new();
        for index in 0..self.len() {
            values.extend(columns.iter().map(|column| self.values[index * self.width + column]));
        }
        self.values = values;
        self.width = columns.len();
    }
}

/// A profile, its ids resolved to positions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// All strings; the first is empty.
    pub strings: Strings,
    /// The types of the values of each sample.
    pub sample_types: Vec<ValueType>,
    /// The samples.
    pub samples: Samples,
    /// Programs and libraries; the first is the main program.
    pub mappings: Vec<Mapping>,
    /// Places in the code.
    pub locations: Vec<Location>,
    /// Functions.
    pub functions: Vec<Function>,
    /// Regular expression for functions that are left out with all they call.
    pub drop_frames: StringId,
    /// Regular expression for functions that are kept nevertheless.
    pub keep_frames: StringId,
    /// When it was made, in nanoseconds since 1970; 0 where not known.
    pub time_nanos: i64,
    /// How long that took; 0 where not known.
    pub duration_nanos: i64,
    /// The type of the period between two samples.
    pub period_type: Option<ValueType>,
    /// The length of the period.
    pub period: i64,
    /// Free text, line by line.
    pub comments: Vec<StringId>,
    /// Kind of the value that viewers show by default.
    pub default_sample_type: StringId,
    /// Where the kinds of values are explained.
    pub doc_url: StringId,
}

impl Profile {
    /// A string for people; bytes that are not UTF-8 are replaced.
    pub fn text(&self, id: StringId) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.strings.get(id))
    }

    /// Kind and unit of a value: `cpu/nanoseconds`.
    pub fn value_name(&self, of: ValueType) -> String {
        format!("{}/{}", self.text(of.kind), self.text(of.unit))
    }

    /// Returns the events of perf that were sampled: the comments of this program about them.
    pub(crate) fn perf_events(&self) -> impl Iterator<Item = String> {
        let texts = self.comments.iter().map(|id| self.text(*id));
        texts.filter_map(|text| text.strip_prefix(EVENTS_COMMENT).map(str::to_string))
    }

    /// All kinds and units.
    pub(crate) fn value_names(&self) -> Vec<String> {
        self.sample_types.iter().map(|of| self.value_name(*of)).collect()
    }

    /// Returns the main value: the number of samples, otherwise the CPU time, otherwise the file's default, otherwise
    /// the last.
    pub(crate) fn main_value(&self) -> Option<usize> {
        let named = |kind: &[u8], unit: Unit| {
            let is_named = |of: &ValueType| self.strings.get(of.kind) == kind && self.unit(*of).0 == unit;
            self.sample_types.iter().position(is_named)
        };
        let default = || self.sample_types.iter().position(|of| of.kind == self.default_sample_type);
        let last = || self.sample_types.len().checked_sub(1);
        let cpu_time = || named(b"cpu", Unit::Nanoseconds);
        named(b"samples", Unit::Hits).or_else(cpu_time).or_else(default).or_else(last)
    }

    /// The unit in which values of a type are added, and how many of it one value is. Values of a unit that is not
    /// known are hits.
    pub(super) fn unit(&self, of: ValueType) -> (Unit, u64) {
        Unit::named(&self.text(of.unit)).unwrap_or((Unit::Hits, 1))
    }

    /// The value that Go's compiler weighs by, as a position among the types: the first of two.
    pub(crate) fn value_for_go(&self) -> Option<usize> {
        self.sample_types.iter().position(|of| {
            let (kind, unit) = (self.strings.get(of.kind), self.strings.get(of.unit));
            (kind, unit) == (b"samples", b"count") || (kind, unit) == (b"cpu", b"nanoseconds")
        })
    }
}

/// The start of a comment that lists the events of recordings of perf.
pub(super) const EVENTS_COMMENT: &str = "perf events: ";

// The strings of a profile.

/// Position of a text in [`Strings`]; 0 is the empty one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct StringId(pub(super) u32);

impl StringId {
    /// Whether it is the empty text.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// All strings of a profile, end to end; bytes as in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Default for Strings {
    fn default() -> Self {
        Self { bytes: Vec::new(), ends: vec![0] }
    }
}

impl Strings {
    /// Returns the number of strings, the empty one included.
    #[allow(clippy::len_without_is_empty, reason = "there always is the empty text")]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// A text.
    ///
    /// # Panics
    ///
    /// For the number of another profile's text.
    pub fn get(&self, id: StringId) -> &[u8] {
        let at = id.0 as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[at]]
    }

    /// All strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.ends.len()).map(|at| self.get(StringId(at as u32)))
    }

    /// Adds a text, whether there is an equal one or not; `None` after 2^32.
    pub(super) fn push(&mut self, text: &[u8]) -> Option<StringId> {
        let id = u32::try_from(self.ends.len()).ok()?;
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
        Some(StringId(id))
    }
}

/// Strings, equal ones once.
#[derive(Debug, Default)]
pub(super) struct StringInterner {
    pub(super) strings: Strings,
    table: HashTable<StringId>,
    state: RandomState,
}

impl StringInterner {
    /// The number of `text`, new or old.
    ///
    /// # Panics
    ///
    /// At 2^32 distinct strings, which would take more than 32 GiB.
    pub(super) fn intern(&mut self, text: &[u8]) -> StringId {
        if text.is_empty() {
            return StringId::default();
        }
        let hash = self.state.hash_one(text);
        if let Some(found) = self.table.find(hash, |id| self.strings.get(*id) == text) {
            return *found;
        }
        let id = self.strings.push(text).expect("fewer than 2^32 distinct strings fit into memory");
        let (strings, state) = (&self.strings, &self.state);
        self.table.insert_unique(hash, id, |id| state.hash_one(strings.get(*id)));
        id
    }
}
