//! Detects Itanium C++ symbols that can be demangled without loss, and splits demangled symbols.
//!
//! The parser accepts a small part of the ABI's grammar: source names in named scopes, with parameters that are builtin
//! types, classes, pointers, references and `const`. Two different symbols of this part never demangle to the same
//! text, because the ABI allows one spelling only: a component that occurred before must be a substitution. Other
//! symbols (constructors, operators, templates, `std`, qualifiers of methods, internal linkage, clones) may demangle to
//! the same text and are rejected.

use crate::names::{demangled_cpp, without_rust_hash};
use cpp_demangle::{DemangleOptions, Symbol};
use msvc_demangler::DemangleFlags;

/// Returns true if no other function symbol demangles to the same scope, name and parameter types.
pub(super) fn is_unambiguous(symbol: &[u8]) -> bool {
    let Some(rest) = symbol.strip_prefix(b"_Z") else { return false };
    let mut parser = Parser { rest, seen: Vec::new() };
    parser.function().is_some() && parser.rest.is_empty()
}

/// Returns true if no other vtable symbol demangles to the same class.
pub(super) fn is_vtable_unambiguous(symbol: &[u8]) -> bool {
    let Some(rest) = symbol.strip_prefix(b"_ZTV") else { return false };
    let mut parser = Parser { rest, seen: Vec::new() };
    parser.class().is_some() && parser.rest.is_empty()
}

const BUILTINS: [(u8, &str); 21] = [
    (b'v', "void"),
    (b'w', "wchar_t"),
    (b'b', "bool"),
    (b'c', "char"),
    (b'a', "signed char"),
    (b'h', "unsigned char"),
    (b's', "short"),
    (b't', "unsigned short"),
    (b'i', "int"),
    (b'j', "unsigned int"),
    (b'l', "long"),
    (b'm', "unsigned long"),
    (b'x', "long long"),
    (b'y', "unsigned long long"),
    (b'n', "__int128"),
    (b'o', "unsigned __int128"),
    (b'f', "float"),
    (b'd', "double"),
    (b'e', "long double"),
    (b'g', "__float128"),
    (b'z', "..."),
];

struct Parser<'a> {
    rest: &'a [u8],
    /// The components that may be substituted, in the order of the ABI.
    seen: Vec<String>,
}

impl Parser<'_> {
    fn take(&mut self, byte: u8) -> bool {
        let found = self.rest.first() == Some(&byte);
        self.rest = &self.rest[usize::from(found)..];
        found
    }

    /// Adds a component. Returns `None` if a substitution is required instead.
    fn remember(&mut self, component: String) -> Option<String> {
        if self.seen.contains(&component) {
            return None;
        }
        self.seen.push(component.clone());
        Some(component)
    }

    fn function(&mut self) -> Option<()> {
        if self.take(b'N') {
            let mut scope = self.source_name()?;
            let mut last = self.source_name()?;
            self.remember(scope.clone())?;
            while !self.take(b'E') {
                scope = self.remember(format!("{scope}::{last}"))?;
                last = self.source_name()?;
            }
        } else {
            self.source_name()?;
        }
        if self.rest == b"v" {
            self.rest = &[];
            return Some(());
        }
        // A symbol without types belongs to a variable.
        self.parameter()?;
        while !self.rest.is_empty() {
            self.parameter()?;
        }
        Some(())
    }

    fn parameter(&mut self) -> Option<String> {
        for (code, mark) in [(b'R', "&"), (b'O', "&&")] {
            if self.take(code) {
                let target = self.pointed()?;
                return self.remember(format!("{target}{mark}"));
            }
        }
        match self.rest.first()? {
            b'v' => None,
            _ => self.pointed(),
        }
    }

    /// Parses a type that is not a reference.
    fn pointed(&mut self) -> Option<String> {
        if self.take(b'P') {
            let target = self.pointed()?;
            return self.remember(format!("{target}*"));
        }
        if self.take(b'K') {
            if self.rest.first() == Some(&b'K') {
                return None;
            }
            let target = self.pointed()?;
            return self.remember(format!("{target} const"));
        }
        if let Some((_, word)) = BUILTINS.iter().find(|(code, _)| self.rest.first() == Some(code)) {
            self.rest = &self.rest[1..];
            return Some((*word).to_string());
        }
        if self.rest.first() == Some(&b'S') {
            return self.substitution();
        }
        self.class()
    }

    fn class(&mut self) -> Option<String> {
        if !self.take(b'N') {
            let name = self.source_name()?;
            return self.remember(name);
        }
        let mut scope = match self.rest.first()? {
            b'S' => self.substitution()?,
            _ => {
                let name = self.source_name()?;
                self.remember(name)?
            }
        };
        loop {
            let name = self.source_name()?;
            scope = self.remember(format!("{scope}::{name}"))?;
            if self.take(b'E') {
                return Some(scope);
            }
        }
    }

    fn substitution(&mut self) -> Option<String> {
        self.rest = self.rest.strip_prefix(b"S")?;
        let end = self.rest.iter().position(|byte| *byte == b'_')?;
        let (digits, rest) = (&self.rest[..end], &self.rest[end + 1..]);
        self.rest = rest;
        let index = match digits {
            [] => 0,
            [b'0', _, ..] => return None,
            _ if digits.iter().all(|d| d.is_ascii_digit() || d.is_ascii_uppercase()) => {
                usize::from_str_radix(std::str::from_utf8(digits).ok()?, 36).ok()?.checked_add(1)?
            }
            _ => return None,
        };
        self.seen.get(index).cloned()
    }

    fn source_name(&mut self) -> Option<String> {
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 || self.rest[0] == b'0' {
            return None;
        }
        let len: usize = std::str::from_utf8(&self.rest[..digits]).ok()?.parse().ok()?;
        let (name, rest) = self.rest[digits..].split_at_checked(len)?;
        self.rest = rest;
        let name = std::str::from_utf8(name).ok()?;
        let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'))
            && !name.as_bytes()[0].is_ascii_digit();
        let special = name == "std" || name.starts_with("_GLOBAL_") || BUILTINS.iter().any(|(_, word)| *word == name);
        (plain && !special).then(|| name.to_string())
    }
}

// Splitting demangled symbols.

/// A demangled function symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Demangled {
    /// The scope and name, such as `ns::Shape::area`.
    qualified: String,
    /// The parameter types, if the symbol contains them.
    pub(super) parameters: Vec<String>,
    /// The return type, if the symbol contains it.
    pub(super) returns: Option<String>,
}

impl Demangled {
    /// Demangles a function's symbol: Rust (legacy and v0), Itanium C++ or MSVC.
    pub(super) fn function(symbol: &[u8]) -> Option<Self> {
        let symbol = std::str::from_utf8(symbol).ok()?;
        // LLVM's prefix for names that must not be decorated.
        let symbol = symbol.strip_prefix('\x01').unwrap_or(symbol);
        rust(symbol).or_else(|| itanium(symbol)).or_else(|| msvc(symbol))
    }

    /// Returns the enclosing scope, if any, and the last component.
    pub(super) fn scope_and_name(&self) -> (Option<&str>, &str) {
        split_scope(&self.qualified)
    }

    /// Splits a full signature, given the qualified name in it.
    fn from_signature(qualified: String, full: &str) -> Option<Self> {
        if qualified.is_empty() {
            return None;
        }
        let starts = |at: &usize| *at == 0 || matches!(full.as_bytes()[at - 1], b' ' | b'*' | b'&');
        let call = format!("{qualified}(");
        let at = full.match_indices(&call).map(|(at, _)| at).find(starts);
        let Some(at) = at else {
            return Some(Self { qualified, parameters: Vec::new(), returns: None });
        };
        let returns = Some(full[..at].trim()).filter(|text| !text.is_empty()).map(str::to_string);
        let parameters = parameters(&full[at + call.len()..]);
        Some(Self { qualified, parameters, returns })
    }
}

/// Returns the class of an Itanium or MSVC vtable symbol.
pub(super) fn class_of_vtable(symbol: &[u8]) -> Option<String> {
    let symbol = std::str::from_utf8(symbol).ok()?;
    let symbol = symbol.strip_prefix('\x01').unwrap_or(symbol);
    if symbol.starts_with("_ZTV") {
        let text = demangled_cpp(&Symbol::new(symbol_without_clones(symbol)).ok()?, &DemangleOptions::new())?;
        // This library prints `{vtable(Shape)}`, others `vtable for Shape`.
        let class = text.strip_prefix("{vtable(").and_then(|rest| rest.strip_suffix(")}"));
        return class.or_else(|| text.strip_prefix("vtable for ")).map(str::to_string);
    }
    if symbol.starts_with("??_7") {
        let text = msvc_demangler::demangle(symbol, DemangleFlags::NAME_ONLY).ok()?;
        let class = text.trim_start_matches("const ").strip_suffix("::`vftable'")?;
        return (!class.is_empty()).then(|| class.to_string());
    }
    None
}

/// Returns a symbol without the suffixes that the optimizer appends after a dot.
fn symbol_without_clones(symbol: &str) -> &str {
    symbol.split('.').next().unwrap_or(symbol)
}

fn rust(symbol: &str) -> Option<Demangled> {
    let demangled = rustc_demangle::try_demangle(symbol).ok()?;
    // Legacy Rust symbols look like C++ symbols except for the hash at their end.
    if symbol.contains("_ZN") && without_rust_hash(symbol.as_bytes()).is_none() {
        return None;
    }
    let qualified = format!("{demangled:#}");
    (!qualified.is_empty()).then(|| Demangled { qualified, parameters: Vec::new(), returns: None })
}

fn itanium(symbol: &str) -> Option<Demangled> {
    if !symbol.starts_with("_Z") && !symbol.starts_with("__Z") {
        return None;
    }
    let parsed = Symbol::new(symbol_without_clones(symbol)).ok()?;
    let full = demangled_cpp(&parsed, &DemangleOptions::new())?;
    let qualified = demangled_cpp(&parsed, &DemangleOptions::new().no_params().no_return_type())?;
    Demangled::from_signature(qualified, &full)
}

fn msvc(symbol: &str) -> Option<Demangled> {
    if !symbol.starts_with('?') {
        return None;
    }
    let short = DemangleFlags::NO_ACCESS_SPECIFIERS
        | DemangleFlags::NO_MS_KEYWORDS
        | DemangleFlags::NO_MEMBER_TYPE
        | DemangleFlags::NO_THISTYPE
        | DemangleFlags::NO_CLASS_TYPE;
    let full = msvc_demangler::demangle(symbol, short).ok()?;
    let qualified = msvc_demangler::demangle(symbol, short | DemangleFlags::NAME_ONLY).ok()?;
    Demangled::from_signature(qualified, &full)
}

/// Tracks the depth of brackets in a string.
struct Depth(usize);

impl Depth {
    fn step(&mut self, before: Option<u8>, byte: u8) {
        match byte {
            b'<' | b'(' | b'[' | b'{' => self.0 += 1,
            // The arrow before a return type.
            b'>' if before == Some(b'-') => {}
            b'>' | b')' | b']' | b'}' => self.0 = self.0.saturating_sub(1),
            _ => {}
        }
    }
}

/// Splits the parameter types, up to the closing parenthesis.
fn parameters(list: &str) -> Vec<String> {
    let mut depth = Depth(0);
    let mut found = Vec::new();
    let mut start = 0;
    let mut before = None;
    for (at, byte) in list.bytes().enumerate() {
        if depth.0 == 0 && matches!(byte, b',' | b')') {
            found.push(list[start..at].trim().to_string());
            start = at + 1;
            if byte == b')' {
                break;
            }
        }
        depth.step(before, byte);
        before = Some(byte);
    }
    if found.len() == 1 && matches!(found[0].as_str(), "" | "void") {
        found.clear();
    }
    found.retain(|text| !text.is_empty());
    found
}

/// Splits a qualified name at the last `::` outside brackets.
///
/// The text from `operator` is one component, because it may contain brackets and, for conversions, colons.
fn split_scope(qualified: &str) -> (Option<&str>, &str) {
    let bytes = qualified.as_bytes();
    let mut depth = Depth(0);
    let mut split = None;
    let mut at = 0;
    while at < bytes.len() {
        let before = at.checked_sub(1).map(|before| bytes[before]);
        if depth.0 == 0 {
            if is_operator(bytes, at) {
                break;
            }
            if bytes[at..].starts_with(b"::") {
                split = Some(at);
                at += 2;
                continue;
            }
        }
        depth.step(before, bytes[at]);
        at += 1;
    }
    match split {
        Some(at) if at > 0 && at + 2 < bytes.len() => (Some(&qualified[..at]), &qualified[at + 2..]),
        _ => (None, qualified),
    }
}

/// Returns true if the word `operator` is at `at`.
fn is_operator(bytes: &[u8], at: usize) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    bytes[at..].starts_with(b"operator")
        && !at.checked_sub(1).is_some_and(|before| is_word(&bytes[before]))
        && !bytes.get(at + 8).is_some_and(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_functions_and_methods_are_unambiguous() {
        for symbol in [
            "_Z3foov",
            "_Z3fooi",
            "_Z3fooPKcz",
            "_ZN5Shape4areaEv",
            "_ZN2ns5Shape4growERKS0_i",
            "_Z1fP5ShapeS0_RKS_",
            "_Z1fN2ns1AENS_1BE",
        ] {
            assert!(is_unambiguous(symbol.as_bytes()), "{symbol}");
        }
    }

    #[test]
    fn ambiguous_names_are_not_recognized() {
        for symbol in [
            "main",
            "_Z3foo",
            "_ZN5ShapeD0Ev",
            "_ZN5ShapeC2Ev",
            "_ZNK5Shape4areaEv",
            "_ZL3foov",
            "_Z3foov.cold",
            "_Z3maxIiET_S0_S0_",
            "_ZN12_GLOBAL__N_13fooEv",
            "_ZN3foo17h0123456789abcdefE",
            "_ZNSt6vectorIiSaIiEE9push_backEi",
            "_ZN3fooEv",
            "_Z1f3int",
            "_Z1f1A1A",
            "_Z03foov",
            "_Z1fS_",
            "_Z1fvi",
            "_ZN1AplERKS_",
            "_ZTV5Shape",
        ] {
            assert!(!is_unambiguous(symbol.as_bytes()), "{symbol}");
        }
    }

    #[test]
    fn vtables_of_plain_classes_are_unambiguous() {
        assert!(is_vtable_unambiguous(b"_ZTV5Shape"));
        assert!(is_vtable_unambiguous(b"_ZTVN2ns5ShapeE"));
        assert!(!is_vtable_unambiguous(b"_ZTVN12_GLOBAL__N_15ShapeE"));
        assert!(!is_vtable_unambiguous(b"_ZTV1AIiE"));
    }

    fn apart(symbol: &str) -> (String, String, Vec<String>, Option<String>) {
        let demangled = Demangled::function(symbol.as_bytes()).unwrap_or_else(|| panic!("{symbol} does not demangle"));
        let (scope, name) = demangled.scope_and_name();
        (scope.unwrap_or_default().to_string(), name.to_string(), demangled.parameters.clone(), demangled.returns)
    }

    fn case(symbol: &str, scope: &str, name: &str, parameters: &[&str], returns: Option<&str>) {
        let parameters: Vec<String> = parameters.iter().map(|text| (*text).to_string()).collect();
        let expected = (scope.to_string(), name.to_string(), parameters, returns.map(str::to_string));
        assert_eq!(apart(symbol), expected, "{symbol}");
    }

    #[test]
    fn itanium_symbols() {
        case("_ZN5Shape4areaEv", "Shape", "area", &[], None);
        case("_Z3fooiPKc", "", "foo", &["int", "char const*"], None);
        case("_ZN5ShapeD2Ev", "Shape", "~Shape", &[], None);
        case("_ZN2ns1AplERKS0_", "ns::A", "operator+", &["ns::A const&"], None);
        case("_ZNK1AcvSsEv", "A", "operator std::string", &[], None);
        case("_Z3maxIiET_S0_S0_", "", "max<int>", &["int", "int"], Some("int"));
        case("_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)", "foo", &[], None);
        case("_Z3foov.cold.1", "", "foo", &[], None);
        case("_Z1fSt6vectorIiSaIiEEi", "", "f", &["std::vector<int, std::allocator<int> >", "int"], None);
        case("_ZN1AclEv", "A", "operator()", &[], None);
    }

    #[test]
    fn rust_symbols() {
        case("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write", "write_fmt", &[], None);
        let generic =
            "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE";
        case(generic, "<Test + 'static as foo::Bar<Test>>", "bar", &[], None);
        case("_RNvC6_123foo3bar", "123foo", "bar", &[], None);
    }

    #[test]
    fn msvc_symbols() {
        case("?area@Shape@@QEAAHXZ", "Shape", "area", &[], Some("int"));
        case("?f@@YAXHPEBD@Z", "", "f", &["int", "char const *"], Some("void"));
    }

    #[test]
    fn unmangled_names_are_unchanged() {
        for name in ["main", "_start", "foo.bar", "$s4main3fooyyF", "_ZBAD", "?bad", "zlib::inflate"] {
            assert_eq!(Demangled::function(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn vtables_belong_to_classes() {
        assert_eq!(class_of_vtable(b"_ZTV5Shape").as_deref(), Some("Shape"));
        assert_eq!(class_of_vtable(b"_ZTVN2ns6CircleE").as_deref(), Some("ns::Circle"));
        assert_eq!(class_of_vtable(b"??_7Shape@@6B@").as_deref(), Some("Shape"));
        assert_eq!(class_of_vtable(b"vtable.0"), None);
    }
}
