//! Whether bytes are a memory profile.

use super::raw::is_raw;
use crate::bytes::{Confidence, Head};

/// The form of a memory profile that is a file of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// What an instrumented program dumps.
    Raw,
    /// YAML.
    Yaml,
}

/// What speaks for a memory profile: a magic number, or a YAML document with
/// one of the members that hold everything.
pub fn evidence(head: &Head<'_>) -> Option<(Form, Confidence)> {
    if is_raw(head.bytes()) {
        return Some((Form::Raw, Confidence::Certain));
    }
    let has_member = || head.has(b"HeapProfileRecords") || head.has(b"DataAccessProfiles");
    (head.begins(b"---") && has_member()).then_some((Form::Yaml, Confidence::Certain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_known_and_other_yaml_is_not() {
        let of = |bytes: &[u8]| evidence(&Head::new(bytes)).map(|(form, _)| form);
        assert_eq!(of(b"---\nHeapProfileRecords:\n"), Some(Form::Yaml));
        assert_eq!(of(b"---\nheader:\n  profile-version: 1\n"), None);
        assert_eq!(of(&[0x81, 0x72, 0x66, 0x6f, 0x72, 0x70, 0x6d, 0xff]), Some(Form::Raw));
    }
}
