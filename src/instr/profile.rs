//! Whole profiles in a call: read, look at, write.

use crate::error::{Error, Result};
use crate::input;
use crate::instr::encode::{OutputFormat, WriteOptions, encode, write_file};
use crate::instr::open::{ReadOptions, open_reader};
use crate::instr::{InputOptions, MergeOptions, Merger};
use crate::limits::Limits;
use crate::model::{FunctionView, Functions, Profile};
use std::path::Path;

impl Profile {
    /// Reads a raw, indexed or text profile, whichever the file holds, as a
    /// merge of that one file makes it.
    ///
    /// ```
    /// use profbridge::Profile;
    ///
    /// let profile = Profile::from_path("testdata/raw/clang-22-ir.profraw")?;
    /// let main = profile.functions.find(b"main").expect("every program has one");
    /// for record in main.records() {
    ///     println!("{:#x}: {:?}", record.func_hash, record.counters);
    /// }
    /// # Ok::<(), profbridge::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// I/O, an empty file, a format that is none of these, and every fault of
    /// its content, with path, format, section and offset.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = input::open(path, input::Access::Read, &Limits::default())?;
        Self::from_bytes(&bytes).map_err(|error: Error| error.in_file(path))
    }

    /// Reads a raw, indexed or text profile in memory.
    ///
    /// # Errors
    ///
    /// As [`from_path`](Self::from_path), without a path.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let options = ReadOptions::default();
        let mut merge = MergeOptions::default();
        merge.keep_vtable_names = true;
        let mut merger = Merger::new(merge);
        let mut reader = open_reader(bytes, &options)?;
        merger.add_reader(reader.as_mut(), &InputOptions::default(), &mut |_, _| {})?;
        Ok(merger.finish())
    }

    /// Encodes the profile in a format; what that cannot hold is left out.
    ///
    /// ```
    /// use profbridge::instr::Release;
    /// use profbridge::{OutputFormat, Profile};
    ///
    /// let profile = Profile::from_path("testdata/raw/clang-22-ir.profraw")?;
    /// let for_16 = profile.to_bytes(OutputFormat::for_release(Release(16)))?;
    /// assert_eq!(Profile::from_bytes(&for_16)?.functions.len(), profile.functions.len());
    /// # Ok::<(), profbridge::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Usage for a version that does not exist; too large where a size does not
    /// fit its field.
    pub fn to_bytes(&self, format: OutputFormat) -> Result<Vec<u8>> {
        encode(self, &WriteOptions { format, ..WriteOptions::default() }).map(|encoded| encoded.bytes)
    }

    /// Writes the profile to a file, which is replaced whole or not at all.
    ///
    /// # Errors
    ///
    /// As [`to_bytes`](Self::to_bytes), and I/O.
    pub fn write_to_path(&self, path: impl AsRef<Path>, format: OutputFormat) -> Result<()> {
        write_file(self, &WriteOptions { format, ..WriteOptions::default() }, path.as_ref()).map(|_| ())
    }
}

/// The functions of a profile, in order of first appearance.
impl<'a> IntoIterator for &'a Profile {
    type Item = FunctionView<'a>;
    type IntoIter = Functions<'a>;

    fn into_iter(self) -> Functions<'a> {
        self.functions.iter()
    }
}
