//! Which Itanium C++ symbols lose nothing when they are demangled.
//!
//! A small recogniser for the plainest part of the ABI's grammar: source names,
//! nested in named scopes, with parameters that are builtin types, classes,
//! pointers, references and `const`. Inside it two different symbols never
//! print the same, because each name is spelled in the one way the ABI allows:
//! what was spelled before must be a substitution. All else (constructors,
//! operators, templates, `std`, qualifiers of methods, internal linkage,
//! clones) prints alike in some cases and is not recognised.

/// Whether the demangled scope, name and parameter types belong to this
/// function's symbol alone.
pub(super) fn is_unambiguous(symbol: &[u8]) -> bool {
    let Some(rest) = symbol.strip_prefix(b"_Z") else { return false };
    let mut parser = Parser { rest, seen: Vec::new() };
    parser.function().is_some() && parser.rest.is_empty()
}

/// Whether the demangled class belongs to this vtable's symbol alone.
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
    /// The components that can be substituted, in the order of the ABI.
    seen: Vec<String>,
}

impl Parser<'_> {
    fn take(&mut self, byte: u8) -> bool {
        let found = self.rest.first() == Some(&byte);
        self.rest = &self.rest[usize::from(found)..];
        found
    }

    /// Notes a component; `None` when it should have been a substitution.
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
        // Without any type the symbol is a variable's.
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
}
