//! Where a profile ends: readers follow offsets and never look behind it.

use super::profile::{IndexedProfile, read_binary_ids, read_traces};
use crate::error::Result;

impl IndexedProfile<'_> {
    /// Bytes of the file that belong to the profile; what stands behind them no
    /// reader looks at. All of a file of version 8 with a memory profile, which
    /// reaches to the end.
    ///
    /// # Errors
    ///
    /// Those of damaged sections.
    pub fn extent(&self) -> Result<u64> {
        let mut end = self.table.check_index().map_err(|error| self.in_format(error))?;
        if let Some(mut ids) = self.binary_ids.clone() {
            read_binary_ids(&mut ids).map_err(|error| self.in_format(error))?;
            end = end.max(ids.position());
        }
        if let Some((names, offset)) = self.vtable_names_bytes()? {
            // The writer pads the names to whole words.
            end = end.max(offset.saturating_add((names.len() as u64).next_multiple_of(8)));
        }
        if let Some(mut traces) = self.traces.clone() {
            read_traces(&mut traces).map_err(|error| self.in_format(error))?;
            end = end.max(traces.position());
        }
        if let Some((offset, section)) = self.memprof {
            end = end.max(offset.saturating_add(section.len() as u64));
        }
        Ok(end.min(self.file.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::indexed::ReadOptions;
    use std::path::Path;

    #[test]
    fn real_files_end_where_their_profile_does() {
        let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
        let mut seen = 0;
        for folder in ["raw", "merge/clang-14", "merge/clang-19", "merge/clang-22", "memprof"] {
            for entry in std::fs::read_dir(testdata.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_none_or(|end| end != "profdata") {
                    continue;
                }
                let mut bytes = std::fs::read(&path).unwrap();
                let len = bytes.len() as u64;
                bytes.extend_from_slice(b"something else");
                let profile = IndexedProfile::read(&bytes, ReadOptions::default()).unwrap();
                let reaches_to_the_end = profile.version() == 8 && profile.has_memprof();
                let expected = if reaches_to_the_end { len + 14 } else { len };
                assert_eq!(profile.extent().unwrap(), expected, "{}", path.display());
                seen += 1;
            }
        }
        assert!(seen > 60, "{seen} files");
    }
}
