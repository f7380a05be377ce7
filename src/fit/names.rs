//! Names of local functions, and how alike two names are.

/// A profile name taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SplitName<'a> {
    /// The source file in front of a local function's name.
    pub(super) file: Option<&'a [u8]>,
    /// The function's own name.
    pub(super) function: &'a [u8],
}

/// Takes a name apart: `file;function` of LLVM 18 and later, `file:function` of
/// front ends and earlier releases. File names may hold both characters, so the
/// last one counts; methods of Objective-C hold `:` between brackets.
pub(super) fn split(name: &[u8]) -> SplitName<'_> {
    let at = name.iter().rposition(|byte| *byte == b';').or_else(|| {
        let end = match name.last() {
            Some(b']') => method_start(name)?,
            _ => name.len(),
        };
        name[..end].iter().rposition(|byte| *byte == b':')
    });
    match at {
        Some(at) if at > 0 && at + 1 < name.len() => SplitName { file: Some(&name[..at]), function: &name[at + 1..] },
        _ => SplitName { file: None, function: name },
    }
}

/// Where a method of Objective-C, `-[Class name:]`, begins.
fn method_start(name: &[u8]) -> Option<usize> {
    let at = name.windows(2).position(|pair| matches!(pair, b"-[" | b"+["))?;
    Some(at)
}

/// A function's name without what changes when it moves: the marks of local
/// symbols in C++, hashes of files that compilers append.
pub(super) fn canonical(function: &[u8]) -> Vec<u8> {
    let mut name = function;
    for mark in [&b".llvm."[..], b".__uniq."] {
        let Some(at) = name.windows(mark.len()).rposition(|window| window == mark) else { continue };
        let rest = &name[at + mark.len()..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 && digits == rest.len() {
            name = &name[..at];
        }
    }
    // `_ZL3foov` is a local `foo()`, `_Z3foov` a global one.
    match name.strip_prefix(b"_ZL") {
        Some(rest) if rest.first().is_some_and(u8::is_ascii_digit) => [b"_Z", rest].concat(),
        _ => name.to_vec(),
    }
}

/// How alike two names are, from 0 to 1: pairs of neighbouring characters that
/// both have, of all pairs (the coefficient of Sørensen and Dice).
pub(super) fn similarity(a: &[u8], b: &[u8]) -> f64 {
    let pairs = |name: &[u8]| {
        let mut pairs: Vec<[u8; 2]> =
            name[..name.len().min(MOST_COMPARED)].windows(2).map(|pair| [pair[0], pair[1]]).collect();
        pairs.sort_unstable();
        pairs
    };
    let (a, b) = (pairs(a), pairs(b));
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let (mut at, mut other, mut common) = (0, 0, 0usize);
    while at < a.len() && other < b.len() {
        match a[at].cmp(&b[other]) {
            std::cmp::Ordering::Less => at += 1,
            std::cmp::Ordering::Greater => other += 1,
            std::cmp::Ordering::Equal => (at, other, common) = (at + 1, other + 1, common + 1),
        }
    }
    (2 * common) as f64 / (a.len() + b.len()) as f64
}

/// Bytes of a name that are compared: mangled templates have many thousands.
const MOST_COMPARED: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_separator_before_the_function_counts() {
        let cases: [(&str, Option<&str>, &str); 9] = [
            ("main", None, "main"),
            ("a.c;f", Some("a.c"), "f"),
            ("a.c:f", Some("a.c"), "f"),
            ("C:x;y/t.c;local", Some("C:x;y/t.c"), "local"),
            ("C:\\t.c:local", Some("C:\\t.c"), "local"),
            ("a.m:-[Foo bar:]", Some("a.m"), "-[Foo bar:]"),
            ("+[Foo bar:with:]", None, "+[Foo bar:with:]"),
            (";f", None, ";f"),
            ("f:", None, "f:"),
        ];
        for (name, file, function) in cases {
            let found = split(name.as_bytes());
            assert_eq!((found.file, found.function), (file.map(str::as_bytes), function.as_bytes()), "{name}");
        }
    }

    #[test]
    fn marks_of_local_symbols_do_not_count() {
        for (name, expected) in [
            ("_ZL3foov", "_Z3foov"),
            ("_ZLfoo", "_ZLfoo"),
            ("f.__uniq.1234567", "f"),
            ("f.llvm.99", "f"),
            ("f.llvm.x", "f.llvm.x"),
        ] {
            assert_eq!(canonical(name.as_bytes()), expected.as_bytes());
        }
    }

    #[test]
    fn names_with_much_in_common_are_alike() {
        let alike = |a: &str, b: &str| similarity(a.as_bytes(), b.as_bytes());
        assert!(alike("old_name_of_it", "new_name_of_it") > 0.7);
        assert!(alike("parse_header", "read_trailer") < 0.4);
        assert_eq!(alike("same", "same"), 1.0);
        assert_eq!(alike("a", "a"), 0.0);
    }
}
