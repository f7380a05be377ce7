//! Names of functions: demangling, and the one rule by which options select functions.

use crate::error::{Error, Result};
use crate::expressions::{self, Regex};
#[cfg(feature = "demangle")]
use cpp_demangle::{DemangleOptions, Symbol};

/// Returns the name of a local function of IR profiles in the form of LLVM up to 17, `file:function`; `None` for a name
/// that does not have the form of later releases.
pub(crate) fn colon_form(name: &[u8]) -> Option<Vec<u8>> {
    with_separator(name, b';', b':')
}

/// Returns the name of a local function in the form of LLVM 18 and later, `file;function`; `None` for a name that does not
/// have the form of earlier releases.
pub(crate) fn semicolon_form(name: &[u8]) -> Option<Vec<u8>> {
    with_separator(name, b':', b';')
}

/// Replaces the character between file and function, if it is `old`.
fn with_separator(name: &[u8], old: u8, new: u8) -> Option<Vec<u8>> {
    // Most names have neither.
    (name.contains(&old) && separator(name) == Some(old)).then(|| {
        let mut form = name.to_vec();
        form[split_local(name).0.len()] = new;
        form
    })
}

/// Returns the character between file and function of a local function.
pub(crate) fn separator(name: &[u8]) -> Option<u8> {
    let (file, function) = split_local(name);
    (!file.is_empty()).then(|| name[name.len() - function.len() - 1])
}

/// Splits the name of a local function into its file and the function: `file;function`, or `file:function` of LLVM up to
/// 17. The file of other names is empty. A file name can have both characters, and an Objective-C method has `:` after
/// its `-[` or `+[`. No function begins with a number, as the bytecode indexes in names of methods do (`method:7`).
pub(crate) fn split_local(name: &[u8]) -> (&[u8], &[u8]) {
    let method = name.windows(2).position(|pair| matches!(pair, b"-[" | b"+[")).unwrap_or(name.len());
    match memchr::memrchr2(b':', b';', &name[..method]).map(|at| (&name[..at], &name[at + 1..])) {
        Some((_, [] | [b'0'..=b'9', ..] | [b'-', b'0'..=b'9', ..])) | None => (&[], name),
        Some(split) => split,
    }
}

/// Cuts the hash of Rust's legacy mangling (`17h`, 16 hexadecimal digits and `E`) and the suffixes after it, which begin
/// with a dot. `None` for a name without the hash.
pub(crate) fn without_rust_hash(symbol: &[u8]) -> Option<&[u8]> {
    let mut stem = symbol;
    loop {
        if let Some((path, [b'1', b'7', b'h', digits @ .., b'E'])) = stem.split_last_chunk::<20>()
            && digits.iter().all(u8::is_ascii_hexdigit)
        {
            return Some(path);
        }
        stem = &stem[..memchr::memrchr(b'.', stem)?];
    }
}

/// Demangles the name of a Rust or C++ function; `None` for other symbols, and without the feature `demangle`.
///
/// ```
/// assert_eq!(profbridge::names::demangled("_Z3addii").as_deref(), Some("add(int, int)"));
/// assert_eq!(profbridge::names::demangled("main"), None);
/// ```
#[cfg(feature = "demangle")]
pub fn demangled(symbol: &str) -> Option<String> {
    if let Ok(rust) = rustc_demangle::try_demangle(symbol) {
        return Some(format!("{rust:#}"));
    }
    symbol.starts_with("_Z").then(|| demangled_cpp(&Symbol::new(symbol).ok()?, &DemangleOptions::new())).flatten()
}

/// Demangles a symbol of C++ like c++filt and perf. The library prints `f<int, >` for an empty parameter pack,
/// and `(unsigned int)5` for `5u`.
#[cfg(feature = "demangle")]
pub(crate) fn demangled_cpp(symbol: &Symbol<&str>, options: &DemangleOptions) -> Option<String> {
    const PACKS: [(&str, &str); 7] =
        [(", &&)", ")"), (", &&,", ","), (", >", ">"), (", )", ")"), ("<, ", "<"), ("(, ", "("), (", , ", ", ")];
    const NUMBERS: [(&str, &str); 5] = [
        ("(unsigned int)", "u"),
        ("(unsigned long)", "ul"),
        ("(unsigned long long)", "ull"),
        ("(long)", "l"),
        ("(long long)", "ll"),
    ];
    let mut name = symbol.demangle_with_options(options).ok()?;
    while let Some((found, instead)) = PACKS.iter().find(|(found, _)| name.contains(found)) {
        name = name.replace(found, instead);
    }
    // The suffix of -funique-internal-linkage-names has a number.
    name = name.replace("[clone .__uniq] [clone .", "[clone .__uniq.");
    // After a blank, it belongs to the type of an array.
    if let Some(at) = name.find("(&&)").filter(|at| *at > 0 && name.as_bytes()[at - 1] != b' ') {
        name.replace_range(at + 1..at + 3, "");
    }
    let (mut out, mut rest) = (String::with_capacity(name.len()), &*name);
    while let Some(at) = rest.find('(') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let number = NUMBERS.iter().find_map(|(kind, suffix)| {
            let after = rest.strip_prefix(kind)?;
            let sign = usize::from(after.starts_with('-'));
            let digits = after[sign..].bytes().take_while(u8::is_ascii_digit).count();
            (digits > 0).then(|| (after.split_at(sign + digits), suffix))
        });
        match number {
            Some(((number, after), suffix)) => {
                out.push_str(number);
                out.push_str(suffix);
                rest = after;
            }
            None => {
                out.push('(');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    Some(out)
}

/// Returns `None`: the feature `demangle` is off.
#[cfg(not(feature = "demangle"))]
pub fn demangled(_symbol: &str) -> Option<String> {
    None
}

/// A C++ name without the types of its result and parameters, which perf prints or not.
pub(crate) fn without_types(name: &str) -> &str {
    const ANONYMOUS: &str = "(anonymous namespace)";
    const CALL: &str = "operator()";
    let (mut depth, mut start, mut skipped) = (0_usize, 0, 0);
    for (at, letter) in name.char_indices() {
        if depth == 0 && name[at..].starts_with("operator") {
            // The signs of an operator are not brackets.
            let signs = if name[at..].starts_with(CALL) { CALL.len() } else { name[at..].find('(').unwrap_or(0) };
            skipped = at + signs;
        }
        if at < skipped {
            continue;
        }
        match letter {
            '(' if depth == 0 && at > start && !name[at..].starts_with(ANONYMOUS) => return &name[start..at],
            '<' | '(' | '{' | '[' => depth += 1,
            '>' | ')' | '}' | ']' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    &name[start..]
}

/// Demangles every symbol in a text. `escape` rewrites a demangled name.
pub fn demangle_text(text: &str, escape: impl Fn(String) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.');
    let mut rest = text;
    while let Some(begin) = rest.find(is_part) {
        let (before, from) = rest.split_at(begin);
        let (word, after) = from.split_at(from.find(|c| !is_part(c)).unwrap_or(from.len()));
        out.push_str(before);
        match demangled(word) {
            Some(name) => out.push_str(&escape(name)),
            None => out.push_str(word),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Selects functions by name.
#[derive(Debug, Clone)]
pub struct NamePattern(Pattern);

#[derive(Debug, Clone)]
enum Pattern {
    /// Part of the name as stored; llvm-profdata's rule.
    Stored(Vec<u8>),
    Within(String),
    Exact(String),
    Regex(String, Regex),
}

impl NamePattern {
    /// Parses text that the name or the demangled name must contain, `=NAME` for the whole name, or
    /// `/REGULAR EXPRESSION/`.
    ///
    /// ```
    /// use profbridge::names::NamePattern;
    ///
    /// assert!(NamePattern::parse("add(int")?.matches(b"a.cpp;_Z3addii"));
    /// assert!(NamePattern::parse("=add(int, int)")?.matches(b"a.cpp;_Z3addii"));
    /// assert!(!NamePattern::parse("=add")?.matches(b"_Z3addii"));
    /// assert!(NamePattern::parse("/^main$/")?.matches(b"main"));
    /// # Ok::<(), profbridge::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A usage error for an invalid regular expression.
    pub fn parse(text: &str) -> Result<Self> {
        if let Some(inner) = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')).filter(|it| !it.is_empty())
        {
            return Ok(Self(Pattern::Regex(inner.to_string(), expressions::compile(inner, text)?)));
        }
        Ok(Self(match text.strip_prefix('=').filter(|name| !name.is_empty()) {
            Some(name) => Pattern::Exact(name.to_string()),
            None => Pattern::Within(text.to_string()),
        }))
    }

    /// Selects names that contain the bytes as stored, as llvm-profdata does.
    pub fn stored(part: &[u8]) -> Self {
        Self(Pattern::Stored(part.to_vec()))
    }

    /// Returns true if the pattern selects a function, by its name or its demangled name.
    pub fn matches(&self, name: &[u8]) -> bool {
        if let Pattern::Stored(part) = &self.0 {
            return contains(name, part);
        }
        if self.matches_name(name) {
            return true;
        }
        let Ok(text) = std::str::from_utf8(name) else { return false };
        let readable = demangle_text(text, |name| name);
        readable != text && self.matches_name(readable.as_bytes())
    }

    fn matches_name(&self, name: &[u8]) -> bool {
        match &self.0 {
            Pattern::Stored(part) => contains(name, part),
            Pattern::Within(part) => contains(name, part.as_bytes()),
            // A local function is stored with its file.
            Pattern::Exact(wanted) => {
                let is_file = |file: &[u8]| file.ends_with(b";") || file.ends_with(b":") && !file.ends_with(b"::");
                name.strip_suffix(wanted.as_bytes()).is_some_and(|file| file.is_empty() || is_file(file))
            }
            Pattern::Regex(_, expression) => expression.is_match(name),
        }
    }

    /// Returns the name of a function that the pattern selects whatever its other names; `None` for expressions.
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Pattern::Within(name) | Pattern::Exact(name) => Some(name),
            Pattern::Stored(_) | Pattern::Regex(..) => None,
        }
    }

    /// Returns the error for a pattern that selects no function.
    pub fn nothing_found(&self) -> Error {
        Error::nothing_found(match &self.0 {
            Pattern::Stored(part) => format!("no function name contains {:?}", String::from_utf8_lossy(part)),
            Pattern::Within(part) => format!("no function name contains {part:?}"),
            Pattern::Exact(name) => format!("no function has the name {name:?}"),
            Pattern::Regex(expression, _) => format!("no function name matches /{expression}/"),
        })
    }
}

fn contains(name: &[u8], part: &[u8]) -> bool {
    part.is_empty() || name.windows(part.len()).any(|window| window == part)
}

#[cfg(all(test, feature = "regex", feature = "demangle"))]
mod tests {
    use super::*;

    #[cfg(feature = "demangle")]
    #[test]
    fn names_of_cpp_are_those_of_other_tools() {
        for (symbol, expected) in [
            ("_Z3invIZ4mainE3$_0JEEiT_DpT0_", "int inv<main::$_0>(main::$_0)"),
            ("_Z3litILm5EEii", "int lit<5ul>(int)"),
            ("_Z3litILj5EEii", "int lit<5u>(int)"),
            ("_Z3litILln5EEii", "int lit<-5l>(int)"),
            ("_Z3litILi5EEii", "int lit<5>(int)"),
            ("_Z1gIJEEvDpOT_", "void g<>()"),
            ("_ZL4utill.__uniq.387", "util(long) [clone .__uniq.387]"),
            ("_ZL4utill.__uniq.387.llvm.5", "util(long) [clone .__uniq.387] [clone .llvm.5]"),
            ("_ZL4utill.part.0.isra.1", "util(long) [clone .part.0] [clone .isra.1]"),
            ("_ZN4llvm15AnalysisManagerINS_8FunctionEJEE5clearEv", "llvm::AnalysisManager<llvm::Function>::clear()"),
        ] {
            assert_eq!(demangled(symbol).as_deref(), Some(expected), "{symbol}");
        }
    }

    #[test]
    fn the_hash_of_rust_is_cut_with_its_suffixes() {
        let without = |name: &str| without_rust_hash(name.as_bytes()).map(|path| path.escape_ascii().to_string());
        let path = "_ZN29_$LT$t..A$u20$as$u20$t..S$GT$2go";
        for suffix in ["", ".llvm.123", ".part.0.llvm.7"] {
            assert_eq!(without(&format!("{path}17h0123456789abcdefE{suffix}")).as_deref(), Some(path));
        }
        for other in [&format!("{path}E"), &format!("{path}17h0123456789abcdegE"), "main", "", ".", "17hE"] {
            assert_eq!(without(other), None, "{other}");
        }
    }

    #[test]
    fn patterns_select_stored_and_demangled_names() {
        let names = ["main", "calc.c;add", "a.cpp;_Z3addii", "_RNvCs1234_7mycrate3foo", "mainline", "b.cpp:_ZL3subi"];
        for (pattern, expected) in [
            ("main", &[0, 4][..]),
            ("=main", &[0]),
            ("=add", &[1]),
            ("add", &[1, 2]),
            ("add(int, int)", &[2]),
            ("=add(int, int)", &[2]),
            ("mycrate::foo", &[3]),
            ("_Z3", &[2]),
            ("/^main$/", &[0]),
            ("/add\\(int/", &[2]),
            ("=_ZL3subi", &[5]),
            ("=sub(int)", &[5]),
            ("=foo", &[]),
            ("nosuch", &[]),
            ("=", &[]),
            ("/", &[]),
        ] {
            let pattern = NamePattern::parse(pattern).unwrap();
            let found: Vec<usize> = (0..names.len()).filter(|at| pattern.matches(names[*at].as_bytes())).collect();
            assert_eq!(found, expected, "{pattern:?}");
        }
        assert!(NamePattern::parse("/(/").is_err());
        assert!(!NamePattern::stored(b"add(").matches(b"_Z3addii"));
    }

    #[test]
    fn local_names_of_every_release_have_a_file() {
        for (name, file, function) in [
            ("a.cpp;_ZL1f", "a.cpp", "_ZL1f"),
            ("a.cpp:_ZL1f", "a.cpp", "_ZL1f"),
            ("a;b.c:f", "a;b.c", "f"),
            ("a;b;f", "a;b", "f"),
            ("a:b.c:f", "a:b.c", "f"),
            ("C:\\a.c:f", "C:\\a.c", "f"),
            ("C:\\a.c;f", "C:\\a.c", "f"),
            ("C:/a.c:f", "C:/a.c", "f"),
            ("b.m:-[Foo bar:]", "b.m", "-[Foo bar:]"),
            ("b.m;-[Foo bar:]", "b.m", "-[Foo bar:]"),
            ("b.m:__9-[X y:]_block_invoke", "b.m", "__9-[X y:]_block_invoke"),
            ("-[X y:z:]", "", "-[X y:z:]"),
            ("a.B#f(int)int:7", "", "a.B#f(int)int:7"),
            ("[a.B#f(int)int:-1 @ a.B#g()void:0]", "", "[a.B#f(int)int:-1 @ a.B#g()void:0]"),
            (";f", "", "f"),
            ("f;", "", "f;"),
            ("f:", "", "f:"),
            ("main", "", "main"),
            ("", "", ""),
        ] {
            assert_eq!(split_local(name.as_bytes()), (file.as_bytes(), function.as_bytes()), "{name}");
            let [old, new] = [':', ';'].map(|separator| format!("{file}{separator}{function}"));
            let form = |other: &str, form| if file.is_empty() || name == other { None } else { Some(form) };
            assert_eq!(semicolon_form(name.as_bytes()), form(&new, new.clone().into_bytes()), "{name}");
            assert_eq!(colon_form(name.as_bytes()), form(&old, old.clone().into_bytes()), "{name}");
        }
    }

    #[test]
    fn names_that_are_not_utf_8_are_compared_as_bytes() {
        assert!(NamePattern::parse("add").unwrap().matches(b"\xff;add"));
        assert!(NamePattern::parse("=add").unwrap().matches(b"\xff;add"));
    }

    #[test]
    fn names_of_cpp_are_compared_without_types() {
        for (name, expected) in [
            ("int apply<main::{lambda(int)#1}>(main::{lambda(int)#1}, int)", "apply<main::{lambda(int)#1}>"),
            ("Acc<int>::add(int)", "Acc<int>::add"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
            ("gen::fold::<u64>", "gen::fold::<u64>"),
            ("(anonymous namespace)::Cmp::operator()(int, int) const", "(anonymous namespace)::Cmp::operator()"),
            ("bool std::operator< <int>(Pair<int> const&)", "std::operator< <int>"),
            ("main", "main"),
        ] {
            assert_eq!(without_types(name), expected);
        }
    }
}
