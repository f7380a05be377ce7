//! What of a name stands in a box that has no room for all of it.

/// As much of `name` as fits into so many letters: all, else without its
/// parameters, else class and method, else the method, else the end of that.
/// Nothing where fewer than three letters fit. `assets/label.js` does the same.
pub(super) fn label(name: &str, fits: usize, is_whole: bool) -> String {
    if fits < 3 {
        return String::new();
    }
    let short = if is_whole { name } else { shortened(name, fits) };
    let length = short.chars().count();
    if length <= fits {
        return short.to_string();
    }
    let end: String = short.chars().skip(length + 1 - fits).collect();
    format!("…{end}")
}

fn shortened(name: &str, fits: usize) -> &str {
    let plain = without_parameters(name);
    let fitting = [name, plain, last(plain, 2)].into_iter().find(|part| part.chars().count() <= fits);
    fitting.unwrap_or_else(|| last(plain, 1))
}

/// `a.B.f(int)` is `a.B.f`. What follows a parenthesis may be part of the name,
/// as in `operator()` and `(*T).f`.
fn without_parameters(name: &str) -> &str {
    let cut = name.find('(').filter(|_| name.ends_with(')'));
    match cut.map(|at| &name[..at]) {
        Some(plain) if !plain.is_empty() && !plain.ends_with("operator") && !plain.ends_with('.') => plain,
        _ => name,
    }
}

/// The last `count` of the parts that dots, colons and slashes divide.
fn last(name: &str, count: usize) -> &str {
    let mut rest = name;
    for _ in 0..count {
        match rest.rfind(['.', ':', '/']) {
            // Marks stand for one another: `::` is one.
            Some(at) => rest = rest[..at].trim_end_matches(['.', ':', '/']),
            None => return name,
        }
    }
    name[rest.len()..].trim_start_matches(['.', ':', '/'])
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn the_method_name_is_cut_last() {
        let name = "java.util.HashMap.putVal(int,Object)";
        for (fits, expected) in [
            (36, name),
            (35, "java.util.HashMap.putVal"),
            (24, "java.util.HashMap.putVal"),
            (23, "HashMap.putVal"),
            (13, "putVal"),
            (5, "…tVal"),
            (2, ""),
        ] {
            assert_eq!(label(name, fits, false), expected, "{fits}");
        }
        assert_eq!(label(name, 10, true), "…t,Object)");
        assert_eq!(label("std::vec::Vec::push", 12, false), "Vec::push");
        assert_eq!(label("example.org/a/b.(*T).run", 10, false), "(*T).run");
        assert_eq!(label("a::operator()", 12, false), "operator()");
        assert_eq!(label("memcpy", 4, false), "…cpy");
    }
}
