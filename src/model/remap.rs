//! Renaming functions while they are read: the remapping file.

use crate::error::{Error, Result};
use hashbrown::HashMap;

/// Old name → new name.
#[derive(Debug, Clone, Default)]
pub struct Remapping {
    names: HashMap<Vec<u8>, Vec<u8>, foldhash::fast::RandomState>,
}

impl Remapping {
    /// Parses lines `OLD NEW` with one blank between. Empty lines and lines
    /// that begin with `#` are skipped; when OLD occurs twice the first counts.
    ///
    /// # Errors
    ///
    /// Usage with the line's number as its section, and a hint with the form
    /// that is expected.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let mut remapping = Self::default();
        for (index, line) in text.split(|b| *b == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() || line[0] == b'#' {
                continue;
            }
            let mut words = line.split(|b| *b == b' ');
            match (words.next(), words.next(), words.next()) {
                (Some(old), Some(new), None) if !old.is_empty() && !new.is_empty() => {
                    remapping.names.entry(old.to_vec()).or_insert_with(|| new.to_vec());
                }
                _ => {
                    let error = Error::usage("unexpected line in remapping file");
                    return Err(error
                        .in_section(format!("line {}", index + 1))
                        .with_hint("expected 'old_symbol new_symbol'"));
                }
            }
        }
        Ok(remapping)
    }

    /// The name that `name` gets; itself when it is not mentioned.
    pub fn apply<'a>(&'a self, name: &'a [u8]) -> &'a [u8] {
        self.names.get(name).map_or(name, Vec::as_slice)
    }

    /// Whether no name is mentioned.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_for_a_name_counts() {
        let remapping = Remapping::parse(b"# comment\n\nold new\r\nold newer\na.c;f b.c;f\n").unwrap();
        assert_eq!(remapping.apply(b"old"), b"new");
        assert_eq!(remapping.apply(b"a.c;f"), b"b.c;f");
        assert_eq!(remapping.apply(b"other"), b"other");
        assert!(!remapping.is_empty());
    }

    #[test]
    fn a_line_must_have_two_words() {
        for bad in ["one", "a b c", "a  b", " a", "a ", " "] {
            let failure = Remapping::parse(format!("x y\n{bad}\n").as_bytes()).unwrap_err();
            assert_eq!(failure.section(), Some("line 2"), "{bad:?}");
            assert_eq!(failure.hint(), Some(&"expected 'old_symbol new_symbol'".into()));
        }
    }
}
