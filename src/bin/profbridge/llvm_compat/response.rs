//! Response files: `@FILE` is replaced by the words of FILE.

use profbridge::system::os_string;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The maximum nesting of response files. LLVM only detects cycles.
const MOST_NESTED: usize = 64;

/// Replaces each `@FILE` by the words of that file. A file that cannot be read, or that would include itself, is left
/// unchanged.
pub(crate) fn expand(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut expanded = Vec::with_capacity(arguments.len());
    let mut above = Vec::new();
    for argument in arguments {
        expand_one(argument, &mut above, &mut expanded);
    }
    expanded
}

fn expand_one(argument: OsString, above: &mut Vec<PathBuf>, expanded: &mut Vec<OsString>) {
    let Some(path) = argument.as_encoded_bytes().strip_prefix(b"@").map(os_string) else {
        expanded.push(argument);
        return;
    };
    let path = Path::new(&path);
    let identity = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let text = if above.contains(&identity) || above.len() >= MOST_NESTED { None } else { std::fs::read(path).ok() };
    let Some(text) = text else {
        expanded.push(argument);
        return;
    };
    above.push(identity);
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    for word in words(text) {
        expand_one(word, above, expanded);
    }
    above.pop();
}

/// Splits like a GNU shell: blanks separate words; a backslash escapes the next character, also inside double quotes;
/// single quotes group as well.
fn words(text: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) => {
                // A backslash at the end is dropped.
                let escaped = bytes.next();
                word.get_or_insert_default().extend(escaped);
            }
            (b'\'' | b'"', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (_, Some(open)) if open == byte => quote = None,
            (b' ' | b'\t' | b'\r' | b'\n' | 0, None) => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.iter().map(|word| os_string(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::fs;

    fn texts(words: &[OsString]) -> Vec<&str> {
        words.iter().filter_map(|word| OsStr::to_str(word)).collect()
    }

    #[test]
    fn words_are_split_as_a_shell_does() {
        let split = words(b"merge 'a b' \"c \\\" d\"\te\\ f\n\ng''h \"\"");
        assert_eq!(texts(&split), ["merge", "a b", "c \" d", "e f", "gh", ""]);
    }

    #[test]
    fn files_nest_and_circles_end() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        fs::write(at("outer"), format!("one @{} three", at("inner"))).unwrap();
        fs::write(at("inner"), format!("two @{}", at("outer"))).unwrap();
        let expanded = expand(vec![format!("@{}", at("outer")).into(), "@missing".into()]);
        assert_eq!(texts(&expanded), ["one", "two", &format!("@{}", at("outer")), "three", "@missing"]);
    }
}
