//! PGO names of functions local to a file: `FILE;SYMBOL`.
//!
//! LLVM 17 on joins with `;` (`getIRPGOObjectName` in `InstrProf.cpp`), earlier
//! releases with `:`, and front-end instrumentation kept `:` longer.

/// The two parts of a local function's PGO name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LocalName<'a> {
    /// The source file, as the compiler was called with it.
    pub(super) file: &'a [u8],
    /// The linker symbol.
    pub(super) symbol: &'a [u8],
    /// The separator.
    separator: u8,
}

/// How symbols of Objective-C methods begin; they may hold colons.
const OBJECTIVE_C: [&[u8]; 4] = [b"-[", b"+[", b"\x01-[", b"\x01+["];

impl<'a> LocalName<'a> {
    /// Splits a PGO name; `None` for one that carries no file.
    pub(super) fn split(name: &'a [u8]) -> Option<Self> {
        let semicolon = name.iter().position(|byte| *byte == b';').map(|at| (at, b';'));
        let (at, separator) = semicolon.or_else(|| colon(name).map(|at| (at, b':')))?;
        let (file, symbol) = (&name[..at], &name[at + 1..]);
        (!file.is_empty() && !symbol.is_empty()).then_some(Self { file, symbol, separator })
    }

    /// Whether file and symbol, as they are, belong to this PGO name only: it
    /// has the present separator, and the file cannot be taken for a scope.
    pub(super) fn is_unambiguous(self) -> bool {
        self.separator == b';' && self.file.iter().any(|byte| matches!(byte, b'.' | b'/'))
    }
}

/// Returns the position of the older separator.
fn colon(name: &[u8]) -> Option<usize> {
    if OBJECTIVE_C.iter().any(|start| name.starts_with(start)) {
        return None;
    }
    let is_colon = |at: usize| name.get(at) == Some(&b':');
    // `::` belongs to a symbol that is spelled in the source's own words.
    let single = |at: &usize| is_colon(*at) && !is_colon(at + 1) && (*at == 0 || !is_colon(at - 1));
    let before_method = |at: &usize| single(at) && OBJECTIVE_C.iter().any(|start| name[at + 1..].starts_with(start));
    (0..name.len()).find(before_method).or_else(|| (0..name.len()).rfind(single))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(name: &str) -> Option<(&str, &str)> {
        let local = LocalName::split(name.as_bytes())?;
        Some((std::str::from_utf8(local.file).unwrap(), std::str::from_utf8(local.symbol).unwrap()))
    }

    #[test]
    fn both_separators_are_known() {
        assert_eq!(split("a.c;f"), Some(("a.c", "f")));
        assert_eq!(split("a.c:f"), Some(("a.c", "f")));
        assert_eq!(split("C:\\src\\a.c:f"), Some(("C:\\src\\a.c", "f")));
        assert_eq!(split("a;b;c"), Some(("a", "b;c")));
        assert_eq!(split("a.m:-[Foo bar:baz:]"), Some(("a.m", "-[Foo bar:baz:]")));
        for global in ["main", "-[Foo bar:]", "core::fmt", ";f", "a.c;", ""] {
            assert_eq!(split(global), None, "{global}");
        }
    }
}
