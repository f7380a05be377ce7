//! Demangled symbols, taken apart again.

use cpp_demangle::{DemangleOptions, Symbol};
use msvc_demangler::DemangleFlags;

/// A function's symbol in the words of its language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Demangled {
    /// Scope and name, `ns::Shape::area`.
    qualified: String,
    /// The types of the parameters that the symbol contains.
    pub(super) parameters: Vec<String>,
    /// The returned type, if the symbol contains it.
    pub(super) returns: Option<String>,
}

impl Demangled {
    /// Demangles a function's symbol: Rust (legacy and v0), Itanium C++, MSVC.
    pub(super) fn function(symbol: &[u8]) -> Option<Self> {
        let symbol = std::str::from_utf8(symbol).ok()?;
        // The mark that keeps the assembler from decorating a name.
        let symbol = symbol.strip_prefix('\x01').unwrap_or(symbol);
        rust(symbol).or_else(|| itanium(symbol)).or_else(|| msvc(symbol))
    }

    /// The enclosing scope, if any, and the last component.
    pub(super) fn scope_and_name(&self) -> (Option<&str>, &str) {
        split_scope(&self.qualified)
    }

    /// Takes a full signature apart, given the qualified name inside it.
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

/// The class of a vtable's symbol, Itanium or MSVC.
pub(super) fn class_of_vtable(symbol: &[u8]) -> Option<String> {
    let symbol = std::str::from_utf8(symbol).ok()?;
    let symbol = symbol.strip_prefix('\x01').unwrap_or(symbol);
    if symbol.starts_with("_ZTV") {
        let text = Symbol::new(symbol_without_clones(symbol)).ok()?.demangle().ok()?;
        // `{vtable(Shape)}` in this library's words, `vtable for Shape` in those of others.
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

/// A symbol without what the optimizer appended after a dot.
fn symbol_without_clones(symbol: &str) -> &str {
    symbol.split('.').next().unwrap_or(symbol)
}

fn rust(symbol: &str) -> Option<Demangled> {
    let demangled = rustc_demangle::try_demangle(symbol).ok()?;
    // The legacy scheme looks like C++'s but for the hash at its end.
    if symbol.contains("_ZN") && !has_legacy_hash(symbol) {
        return None;
    }
    let qualified = format!("{demangled:#}");
    (!qualified.is_empty()).then(|| Demangled { qualified, parameters: Vec::new(), returns: None })
}

/// Returns true if the last component, or the last before a clone's dot, is `h` and 16 digits.
fn has_legacy_hash(symbol: &str) -> bool {
    let Some((_, tail)) = symbol.rsplit_once("17h") else { return false };
    let Some((hash, rest)) = tail.split_at_checked(16) else { return false };
    hash.bytes().all(|byte| byte.is_ascii_hexdigit()) && (rest == "E" || rest.starts_with("E."))
}

fn itanium(symbol: &str) -> Option<Demangled> {
    if !symbol.starts_with("_Z") && !symbol.starts_with("__Z") {
        return None;
    }
    let parsed = Symbol::new(symbol_without_clones(symbol)).ok()?;
    let full = parsed.demangle().ok()?;
    let qualified = parsed.demangle_with_options(&DemangleOptions::new().no_params().no_return_type()).ok()?;
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

/// Where brackets are closed: walks a text and knows how deep it is.
struct Depth(usize);

impl Depth {
    fn step(&mut self, before: Option<u8>, byte: u8) {
        match byte {
            b'<' | b'(' | b'[' | b'{' => self.0 += 1,
            // The arrow of a returned type.
            b'>' if before == Some(b'-') => {}
            b'>' | b')' | b']' | b'}' => self.0 = self.0.saturating_sub(1),
            _ => {}
        }
    }
}

/// The types of a parameter list, which ends at its closing parenthesis.
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
/// An operator's name is the rest, whatever follows: it may hold brackets and,
/// converting to a type, colons.
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
