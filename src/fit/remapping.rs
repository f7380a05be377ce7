//! A remapping file that gives functions the names they have in the new build.

use super::class::Class;
use std::collections::BTreeMap;

/// A remapping file and what it could not hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RemappingFile {
    /// The file's content, for `merge -r`.
    pub text: Vec<u8>,
    /// Functions that it renames.
    pub functions: u64,
    /// Functions whose names hold blanks or line ends, which the file cannot say.
    pub left_out: u64,
}

/// Writes old and new names, those that moved first, guesses after them and
/// marked as such.
pub fn write_remapping(names: &BTreeMap<Vec<u8>, (Vec<u8>, Class)>) -> RemappingFile {
    let mut file = RemappingFile::default();
    let sayable = |name: &[u8]| !name.iter().any(u8::is_ascii_whitespace) && !name.starts_with(b"#");
    for (wanted, heading) in [
        (Class::Moved, "# The same functions in another file, or made local or global.\n"),
        (Class::Renamed, "# Guesses: the same hash and shape under a similar name. Look at them before use.\n"),
    ] {
        let mut is_first = true;
        for (old, (new, class)) in names.iter().filter(|(_, (_, class))| *class == wanted) {
            if !sayable(old) || !sayable(new) {
                file.left_out += 1;
                continue;
            }
            debug_assert_eq!(*class, wanted);
            if std::mem::take(&mut is_first) {
                file.text.extend_from_slice(heading.as_bytes());
            }
            file.text.extend_from_slice(&[old, &b" "[..], new, b"\n"].concat());
            file.functions += 1;
        }
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instr::Remapping;

    #[test]
    fn merge_reads_the_written_remapping() {
        let names = BTreeMap::from([
            (b"old".to_vec(), (b"new".to_vec(), Class::Renamed)),
            (b"a.c;f".to_vec(), (b"f".to_vec(), Class::Moved)),
            (b"-[A b]".to_vec(), (b"-[C b]".to_vec(), Class::Renamed)),
        ]);
        let file = write_remapping(&names);
        assert_eq!((file.functions, file.left_out), (2, 1));
        let text = String::from_utf8(file.text.clone()).unwrap();
        assert!(text.find("a.c;f f\n") < text.find("# Guesses"), "{text}");
        let remapping = Remapping::parse(&file.text).unwrap();
        assert_eq!((remapping.apply(b"old"), remapping.apply(b"a.c;f")), (&b"new"[..], &b"f"[..]));
    }
}
