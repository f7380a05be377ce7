//! Options of the LLVM libraries that are linked into llvm-profdata. Every subcommand accepts them, and most have no
//! effect there.
//!
//! The list comes from `llvm-profdata-22 --help-hidden` (22.1, all targets), with two undocumented options that `show
//! --hot-func-list` uses. Each line has `name` for a switch, `name=TYPE`, or `name=WORD|WORD`, with `?` before `=` if
//! the value is optional.

use super::options::OptionValue;
use profbridge::instr::Release;

static LIST: &str = include_str!("library_options.txt");

/// The value of a library option.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LibraryOption {
    pub(super) name: &'static str,
    pub(super) takes: LibraryOptionValue,
    /// Whether the value is optional.
    pub(super) optional: bool,
}

/// Like [`OptionValue`], but with words that are read at run time.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum LibraryOptionValue {
    Plain(OptionValue),
    Choice(Vec<&'static str>),
}

/// Options that are not in the list because only later releases have them.
const LATER: [(Release, &str); 1] = [(Release(23), "sample-profile-format-version=ulong")];

/// Finds a library option of a release.
pub(super) fn find(name: &str, release: Release) -> Option<LibraryOption> {
    if name.is_empty() {
        return None;
    }
    let later = LATER.iter().filter(|(since, _)| release >= *since).map(|(_, line)| *line);
    LIST.lines().chain(later).map(parse).find(|option| option.name == name)
}

fn parse(line: &'static str) -> LibraryOption {
    let Some((name, kind)) = line.split_once('=') else {
        return LibraryOption { name: line, takes: LibraryOptionValue::Plain(OptionValue::Switch), optional: true };
    };
    let takes = match kind {
        "int" => LibraryOptionValue::Plain(OptionValue::Signed(32)),
        "long" => LibraryOptionValue::Plain(OptionValue::Signed(64)),
        "uint" => LibraryOptionValue::Plain(OptionValue::Unsigned("uint")),
        "ulong" => LibraryOptionValue::Plain(OptionValue::Unsigned("ulong")),
        "number" => LibraryOptionValue::Plain(OptionValue::Float),
        "text" => LibraryOptionValue::Plain(OptionValue::Text),
        words => {
            LibraryOptionValue::Choice(words.split('|').map(|word| if word == "<empty>" { "" } else { word }).collect())
        }
    };
    LibraryOption { name: name.trim_end_matches('?'), takes, optional: name.ends_with('?') }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_that_matter_are_known() {
        let takes = |name| find(name, Release::DEFAULT).map(|option| option.takes);
        assert_eq!(takes("write-prev-version"), Some(LibraryOptionValue::Plain(OptionValue::Switch)));
        assert_eq!(takes("debug-file-directory"), Some(LibraryOptionValue::Plain(OptionValue::Text)));
        assert_eq!(takes("profile-summary-cutoff-hot"), Some(LibraryOptionValue::Plain(OptionValue::Signed(32))));
        assert_eq!(takes("vp-counters-per-site"), Some(LibraryOptionValue::Plain(OptionValue::Float)));
        assert_eq!(takes("correlate"), Some(LibraryOptionValue::Choice(vec!["", "debug-info", "binary"])));
        assert_eq!(takes("no-such-option"), None);
        assert_eq!(takes(""), None);
        assert_eq!(takes("sample-profile-format-version"), None);
        assert!(find("sample-profile-format-version", Release(23)).is_some());
    }
}
