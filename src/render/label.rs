//! The part of a function's name that fits into a box. `assets/label.js` does the same when a reader zooms.

/// Returns the part of `name` that fits into the given number of letters: all, otherwise without parameters, otherwise
/// class and method, otherwise the method, otherwise its end. Empty if fewer than three letters fit. `is_whole` allows
/// only all or the end. Only the end is cut inside brackets.
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
    let plain = without_parameters(without_suffix(name));
    let fitting = [name, plain, last(plain, 2)].into_iter().find(|part| part.chars().count() <= fits);
    fitting.unwrap_or_else(|| last(plain, 1))
}

/// `memcpy@@GLIBC_2.34` is `memcpy`, and `f.llvm.12` is `f`.
fn without_suffix(name: &str) -> &str {
    let at = outside_brackets(name).find(|at| name[*at..].starts_with('@') || name[*at..].starts_with(".llvm."));
    at.filter(|at| *at > 0).map_or(name, |at| &name[..at])
}

/// `a.B.f(int)` is `a.B.f`. The last parentheses may be part of the name, as in `operator()` and `bar.(*T)`.
fn without_parameters(name: &str) -> &str {
    let cut = outside_brackets(name).filter(|at| name[*at..].starts_with('(')).last();
    match cut.filter(|_| name.ends_with(')')).map(|at| &name[..at]) {
        Some(plain) if !plain.is_empty() && !plain.ends_with("operator") && !plain.ends_with('.') => plain,
        _ => name,
    }
}

/// The last `count` of the parts that dots, colons and slashes outside of brackets divide.
fn last(name: &str, count: usize) -> &str {
    let is_separator = |letter: char| matches!(letter, '.' | ':' | '/');
    let at: Vec<usize> = outside_brackets(name).filter(|at| name[*at..].starts_with(is_separator)).collect();
    // Repeated separators are one: `::`.
    let ends: Vec<usize> = at.iter().map(|at| at + 1).filter(|end| !at.contains(end)).collect();
    ends.len().checked_sub(count).map_or(name, |from| &name[ends[from]..])
}

/// The positions of the letters outside of brackets, opening brackets included. `operator<`, `->` and a bracket that
/// nothing opens do not count as brackets.
fn outside_brackets(name: &str) -> impl Iterator<Item = usize> {
    let mut depth = 0u32;
    name.char_indices().filter_map(move |(at, letter)| {
        let before = &name[..at];
        let is_operator = || before.trim_end_matches(['<', '>', '-', '=']).ends_with("operator");
        let is_outside = depth == 0;
        match letter {
            '<' | '>' if is_operator() => {}
            '>' if before.ends_with('-') => {}
            '(' | '<' | '[' | '{' => depth += 1,
            ')' | '>' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        is_outside.then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::label;
    use std::process::Command;

    /// A name, the letters that fit, and the label.
    const LABELS: [(&str, usize, &str); 30] = [
        ("java.util.HashMap.putVal(int,Object)", 36, "java.util.HashMap.putVal(int,Object)"),
        ("java.util.HashMap.putVal(int,Object)", 35, "java.util.HashMap.putVal"),
        ("java.util.HashMap.putVal(int,Object)", 24, "java.util.HashMap.putVal"),
        ("java.util.HashMap.putVal(int,Object)", 23, "HashMap.putVal"),
        ("java.util.HashMap.putVal(int,Object)", 13, "putVal"),
        ("java.util.HashMap.putVal(int,Object)", 5, "…tVal"),
        ("java.util.HashMap.putVal(int,Object)", 2, ""),
        ("java.util.ArrayList.<init>(int)", 16, "ArrayList.<init>"),
        ("std::vec::Vec::push", 12, "Vec::push"),
        ("example.org/a/b.(*T).run", 10, "(*T).run"),
        ("example.org/a/b.(*T).run(int)", 10, "(*T).run"),
        ("a::operator()", 12, "operator()"),
        ("memcpy", 4, "…cpy"),
        ("std::function<void (std::string::iterator)>::operator()", 30, "operator()"),
        ("core::ptr::drop_in_place<alloc::vec::Vec<u8>>", 40, "ptr::drop_in_place<alloc::vec::Vec<u8>>"),
        ("core::ptr::drop_in_place<alloc::vec::Vec<u8>>", 10, "…:Vec<u8>>"),
        ("<alloc::vec::Vec<T> as core::ops::Drop>::drop", 20, "drop"),
        ("operator()(std::pair<a::b,c.d>)", 20, "operator()"),
        ("a::f(b::c (*)(d::e))", 10, "a::f"),
        ("[libc.so.6]", 8, "…c.so.6]"),
        ("[kernel.kallsyms]", 17, "[kernel.kallsyms]"),
        ("github.com/foo/bar.(*T).Method", 12, "(*T).Method"),
        ("func.with{a.b.c}", 12, "with{a.b.c}"),
        ("main.Map[go.shape.int,go.shape.string].func1", 12, "func1"),
        ("memcpy@@GLIBC_2.34", 8, "memcpy"),
        ("a::foo.llvm.1234", 10, "a::foo"),
        ("a::operator<<(std::ostream&)", 12, "operator<<"),
        ("a::operator->(b::c)", 12, "operator->"),
        ("a::Square<b::c>::area() const", 14, "area() const"),
        ("ünter::größe", 6, "größe"),
    ];

    #[test]
    fn labels_are_cut_outside_of_brackets() {
        for (name, fits, expected) in LABELS {
            assert_eq!(label(name, fits, false), expected, "{name}, {fits}");
        }
        assert_eq!(label("java.util.HashMap.putVal(int,Object)", 10, true), "…t,Object)");
    }

    #[test]
    fn the_script_cuts_labels_alike() {
        let mut program = include_str!("assets/label.js").to_owned();
        for (name, fits, _) in LABELS {
            program.push_str(&format!("\nconsole.log(fitLabel({name:?}, {fits}, false));"));
        }
        match Command::new("node").arg("-e").arg(program).output() {
            Ok(output) if output.status.success() => {
                let expected: String = LABELS.iter().map(|(.., expected)| format!("{expected}\n")).collect();
                assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
            }
            Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
            Err(_) => println!("SKIPPED: the_script_cuts_labels_alike: node is not installed"),
        }
    }
}
