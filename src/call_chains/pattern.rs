//! Which methods are meant.

use crate::error::{Error, Result};
use crate::expressions::{self, Regex};
use crate::names::without_types;

/// Which methods are meant: a package, a class, a method, or a regular expression.
#[derive(Debug, Clone)]
pub struct MethodPattern(Pattern);

#[derive(Debug, Clone)]
enum Pattern {
    /// A method, with or without types, package and class; a class; a package.
    Name(String),
    /// Any part of the whole name.
    Regex(Regex),
}

impl MethodPattern {
    /// A method by its whole name (`app.Main.loop(int)`), without types (all
    /// overloads), without package (`Main.loop`) or alone (`loop`); all methods
    /// of a class with its nested ones, or of a package with those below it
    /// (`java.util` or `java.util.*`); or `/regular expression/`.
    ///
    /// # Errors
    ///
    /// Usage for an invalid regular expression, and for wildcards that are not at the end.
    pub fn parse(text: &str) -> Result<Self> {
        let inner = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')).filter(|inner| !inner.is_empty());
        if let Some(inner) = inner {
            return Ok(Self(Pattern::Regex(expressions::compile(inner, text)?)));
        }
        let name = text.strip_suffix(".**").or_else(|| text.strip_suffix(".*")).unwrap_or(text);
        // C++ has stars in parameters and operators.
        let begins_with_star = name.split(['.', ':']).any(|part| part.starts_with('*'));
        if name.is_empty() || begins_with_star {
            let hint = "pass a package, a class, a method, or /a regular expression/";
            return Err(Error::usage(format!("\"{text}\" is not a package or pattern")).with_hint(hint));
        }
        Ok(Self(Pattern::Name(name.to_string())))
    }

    /// Whether a Java method is meant by its whole name or by its package, class or method.
    pub fn matches(&self, method: &str) -> bool {
        match &self.0 {
            Pattern::Name(wanted) => method
                .strip_prefix(wanted.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '$', '('])),
            Pattern::Regex(expression) => expression.is_match(method.as_bytes()),
        }
    }

    /// Whether a Java method's name ends so (`run`, `Main.run` or `run(int)`), or that of its class (`Main`).
    fn ends(&self, method: &str) -> bool {
        let Pattern::Name(wanted) = &self.0 else { return false };
        // A name may hold a parenthesis; the last one begins the parameters.
        let named = method.rfind('(').map_or(method, |end| &method[..end]);
        let class = named.rfind('.').map_or("", |end| &named[..end]);
        let ends =
            |whole: &str, marks: &[char]| whole.strip_suffix(wanted.as_str()).is_some_and(|rest| rest.ends_with(marks));
        // `Inner.run` of a nested class, but no method after a dollar sign.
        let has_class = wanted.split('(').next().is_some_and(|name| name.contains('.'));
        let marks: &[char] = if has_class { &['.', '$'] } else { &['.'] };
        ends(named, marks) || ends(method, marks) || ends(class, &['.', '$'])
    }

    /// Names of C++ have types of results and parameters.
    fn is_symbol(&self, symbol: &str) -> bool {
        match &self.0 {
            Pattern::Name(wanted) => wanted == symbol || wanted == without_types(symbol),
            Pattern::Regex(expression) => expression.is_match(symbol.as_bytes()),
        }
    }

    fn ends_symbol(&self, symbol: &str) -> bool {
        let Pattern::Name(wanted) = &self.0 else { return false };
        let ends = |name: &str| name.strip_suffix(wanted.as_str()).is_some_and(|rest| rest.ends_with(['.', ':', '/']));
        ends(symbol) || ends(without_types(symbol))
    }

    /// Names of libraries have versions: `memcpy@@GLIBC_2.34`.
    fn is_within_symbol(&self, symbol: &str) -> bool {
        matches!(&self.0, Pattern::Name(wanted) if symbol.contains(wanted.as_str()))
    }

    /// Returns the matching functions: those whose name begins with the pattern, otherwise those whose name or class
    /// ends with it, otherwise symbols that contain it. `name` returns a function's readable name, and whether it is a Java method.
    pub(crate) fn find<T: Copy>(
        &self,
        functions: impl Iterator<Item = T>,
        name: impl Fn(T) -> (String, bool),
    ) -> Vec<T> {
        let functions: Vec<T> = functions.collect();
        let by = |in_java: &dyn Fn(&str) -> bool, in_symbols: &dyn Fn(&str) -> bool| {
            let is_meant = |function: &T| match name(*function) {
                (method, true) => in_java(&method),
                (symbol, false) => in_symbols(&symbol),
            };
            functions.iter().copied().filter(is_meant).collect::<Vec<_>>()
        };
        let found = by(&|method| self.matches(method), &|symbol| self.is_symbol(symbol));
        if !found.is_empty() {
            return found;
        }
        let found = by(&|method| self.ends(method), &|symbol| self.ends_symbol(symbol));
        if found.is_empty() { by(&|_| false, &|symbol| self.is_within_symbol(symbol)) } else { found }
    }
}

#[cfg(all(test, feature = "regex"))]
mod tests {
    use super::*;

    const NAMES: [(&str, bool); 8] = [
        ("app.Main.run(int)", true),
        ("app.Main.run()", true),
        ("app.Main$Inner.go()", true),
        ("app.sub.Other.run()", true),
        ("libc.so`read", false),
        ("ns::Type::draw(char*)", false),
        ("int ns::draw<ns::Type>(ns::Type)", false),
        ("redraw()", false),
    ];

    fn found(pattern: &str) -> Vec<usize> {
        let pattern = MethodPattern::parse(pattern).unwrap();
        pattern.find(0..NAMES.len(), |at: usize| (NAMES[at].0.to_string(), NAMES[at].1))
    }

    #[test]
    fn patterns_match_prefixes_and_suffixes_of_names() {
        for (pattern, expected) in [
            ("app.Main.run(int)", &[0][..]),
            ("app.Main.run", &[0, 1]),
            ("app.Main", &[0, 1, 2]),
            ("app", &[0, 1, 2, 3]),
            ("app.*", &[0, 1, 2, 3]),
            ("run", &[0, 1, 3]),
            ("run()", &[1, 3]),
            ("Main.run", &[0, 1]),
            ("Inner", &[2]),
            ("Inner.go", &[2]),
            ("Inner.go()", &[2]),
            ("ner.go", &[]),
            ("Other", &[3]),
            ("un", &[]),
            ("ap", &[]),
            ("libc.so`read", &[4]),
            ("draw(char*)", &[5]),
            ("draw", &[5]),
            ("ns::Type::draw", &[5]),
            ("ns::draw<ns::Type>", &[6]),
            ("redraw", &[7]),
            ("raw", &[5, 6, 7]),
            ("ns", &[5, 6]),
            ("Type", &[5, 6]),
            ("/^app.*run/", &[0, 1, 3]),
            ("/read$/", &[4]),
        ] {
            assert_eq!(found(pattern), expected, "{pattern}");
        }
        for wrong in ["", "*", "*.Main", "app.*.run", ".*", "/(/"] {
            assert!(MethodPattern::parse(wrong).is_err(), "{wrong}");
        }
    }
}
