//! Limits on the resources that an input can use, checked before each allocation.
//!
//! Sizes in a file are first compared with the available bytes. These limits bound the expansion of a small file.

use crate::error::{Error, Result};

/// Limits for untrusted or damaged input. The defaults fit all known real profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum size of a decompressed section in bytes. Default: 1 GiB.
    pub inflated_bytes: u64,
    /// The maximum number of decompressed bytes per compressed byte; deflate cannot exceed about 1032. Default: 1100.
    pub inflate_ratio: u64,
    /// The maximum number of bytes from a pipe or a compressed stream, which have no file size. Default: 16 GiB.
    pub stream_bytes: u64,
    /// The maximum window of a zstd or xz stream in bytes, which its decoder keeps in memory. Default: 128 MiB.
    pub window_bytes: u64,
    /// The maximum length of a name in bytes. Default: 16 MiB.
    pub name_bytes: u64,
    /// The maximum nesting of JSON. Default: 256.
    pub json_depth: u32,
    /// The maximum number of frames in a calling context. Default: 4096.
    pub context_depth: u32,
}

impl Limits {
    /// The names of all limits, for [`set`](Self::set).
    pub const NAMES: &'static [&'static str] = &[
        "inflated-bytes",
        "inflate-ratio",
        "stream-bytes",
        "window-bytes",
        "name-bytes",
        "json-depth",
        "context-depth",
    ];

    /// Returns the largest size of a decompressed section in bytes, and the name of the limit that sets it.
    pub(crate) fn of_section(&self, compressed: u64) -> (u64, &'static str) {
        self.smaller(compressed, (self.inflated_bytes, "inflated-bytes"))
    }

    /// Returns the largest size of a decompressed stream in bytes, and the name of the limit that sets it.
    pub(crate) fn of_stream(&self, compressed: u64) -> (u64, &'static str) {
        self.smaller(compressed, (self.stream_bytes, "stream-bytes"))
    }

    fn smaller(&self, compressed: u64, size: (u64, &'static str)) -> (u64, &'static str) {
        size.min((compressed.saturating_mul(self.inflate_ratio), "inflate-ratio"))
    }

    /// Changes a limit by its name.
    ///
    /// # Errors
    ///
    /// A usage error for an unknown name, and for a number outside the range of the limit.
    pub fn set(&mut self, name: &str, value: u64) -> Result<()> {
        let small =
            || u32::try_from(value).map_err(|_| Error::usage(format!("the limit {name} must be at most {}", u32::MAX)));
        match name {
            "inflated-bytes" => self.inflated_bytes = value,
            "inflate-ratio" => self.inflate_ratio = value,
            "stream-bytes" => self.stream_bytes = value,
            "window-bytes" => self.window_bytes = value,
            "name-bytes" if value > MOST_NAME_BYTES => {
                return Err(Error::usage(format!("the limit {name} must be at most {MOST_NAME_BYTES}")));
            }
            "name-bytes" => self.name_bytes = value,
            "json-depth" => self.json_depth = small()?,
            "context-depth" => self.context_depth = small()?,
            _ => {
                let known = Self::NAMES.join(", ");
                return Err(Error::usage(format!("unknown limit {name:?}")).with_hint(format!("choose one of {known}")));
            }
        }
        Ok(())
    }
}

/// Lengths of names have 32 bits.
const MOST_NAME_BYTES: u64 = u32::MAX as u64;

impl Default for Limits {
    fn default() -> Self {
        Self {
            inflated_bytes: 1 << 30,
            inflate_ratio: 1100,
            stream_bytes: 16 << 30,
            window_bytes: 128 << 20,
            name_bytes: 16 << 20,
            json_depth: 256,
            context_depth: 4096,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_can_be_set_by_its_name() {
        let mut limits = Limits::default();
        for (at, name) in Limits::NAMES.iter().copied().enumerate() {
            limits.set(name, at as u64 + 7).unwrap();
        }
        let expected = Limits {
            inflated_bytes: 7,
            inflate_ratio: 8,
            stream_bytes: 9,
            window_bytes: 10,
            name_bytes: 11,
            json_depth: 12,
            context_depth: 13,
        };
        assert_eq!(limits, expected);
    }

    #[test]
    fn unknown_names_and_impossible_values_are_refused() {
        let mut limits = Limits::default();
        assert_eq!(limits.set("bytes", 1).unwrap_err().to_string(), "unknown limit \"bytes\"");
        for name in ["name-bytes", "json-depth", "context-depth"] {
            assert!(limits.set(name, 1 << 32).is_err(), "{name}");
        }
        assert_eq!(limits, Limits::default());
    }
}
