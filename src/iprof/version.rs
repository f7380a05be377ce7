//! The version of an iprof file, `major.minor.patch`.

use std::fmt;

/// A version: major for another encoding, minor for additions, patch for nothing that shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Another encoding.
    pub major: u32,
    /// Additions, such as a new section.
    pub minor: u32,
    /// No visible change.
    pub patch: u32,
}

impl Version {
    /// The first published version: six profile sections.
    pub const V1_0: Self = Self { major: 1, minor: 0, patch: 0 };
    /// 1.0 and instance-of profiles.
    pub const V1_1: Self = Self { major: 1, minor: 1, patch: 0 };

    /// Parses `major.minor.patch`; three plain decimal numbers, nothing else.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(|part| {
            let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            part.parse::<u32>().ok().filter(|_| digits)
        });
        let version = Self { major: parts.next()??, minor: parts.next()??, patch: parts.next()?? };
        parts.next().is_none().then_some(version)
    }

    /// The version to write once something changed: 0.x files become 1.0.0.
    #[must_use]
    pub fn released(self) -> Self {
        self.max(Self::V1_0)
    }
}

impl Default for Version {
    fn default() -> Self {
        Self::V1_0
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_three_numbers_are_a_version() {
        assert_eq!(Version::parse("1.1.0"), Some(Version::V1_1));
        assert_eq!(Version::parse("0.2.17"), Some(Version { major: 0, minor: 2, patch: 17 }));
        for text in ["1x0y0", "10000", "1.0", "1.0.0.0", "1..0", "+1.0.0", "1.0.-0", "", "1.0.99999999999"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }
}
