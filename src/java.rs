//! Java names in their various notations.
//!
//! | notation | example | used by |
//! |---|---|---|
//! | binary name, `Class.getName()` | `java.util.Map$Entry`, `[I`, `[Ljava.lang.String;`, `int` | iprof, [`StackTable`](crate::call_chains::StackTable) |
//! | internal name | `java/util/Map$Entry` | class files, recordings |
//! | descriptor | `Ljava/util/Map$Entry;`, `(I)V` | class files, recordings |
//! | source | `java.util.Map$Entry`, `int[]` | people, the JDK's perf map |

use std::borrow::Cow;

/// The most dimensions an array type can have (JVM specification, 4.3.2).
const MAX_DIMENSIONS: usize = 255;

/// Converts an internal name to a binary name: `java/lang/Thread` to `java.lang.Thread`.
///
/// Hidden classes end in an address that differs between runs. It is written `p/Outer$$Lambda$82+0x00007f55/7155` (JDK
/// 17), `p/Outer$$Lambda+0x7f/0x2a`, `p/Outer$$Lambda/0x7f` (JDK 21 and later) or `p/Outer$$Lambda.0x7f`. The binary
/// name keeps the address after a slash, like `Class.getName()`.
pub fn binary_name(internal: &str) -> String {
    match split_hidden(internal) {
        Some((outer, address)) => format!("{}/{address}", outer.replace('/', ".")),
        None => internal.replace('/', "."),
    }
}

/// Splits a hidden class in any notation into outer name and address.
fn split_hidden(name: &str) -> Option<(&str, &str)> {
    let start = name.find("+0x").or_else(|| name.rfind("/0x")).or_else(|| name.rfind(".0x"))?;
    let (outer, suffix) = (name.get(..start)?, name.get(start + 1..)?);
    let address = suffix.split('/').next().unwrap_or(suffix);
    let digits = address.strip_prefix("0x")?;
    let is_address = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_address && !outer.is_empty()).then_some((outer, address))
}

/// Returns true for classes of the JDK.
pub(crate) fn is_of_jdk(binary: &[u8]) -> bool {
    ["java.", "javax.", "jdk.", "sun.", "com.sun."].iter().any(|prefix| binary.starts_with(prefix.as_bytes()))
}

/// Returns true if a binary name is that of a hidden class. Images never contain hidden classes.
pub(crate) fn is_hidden(binary: &str) -> bool {
    binary.contains('/')
}

/// Returns the name of a hidden class without the parts that differ between runs, for display and comparison:
/// `p.Outer$$Lambda$82/0x7f` and `p.Outer$$Lambda/0x7f` are both `p.Outer$$Lambda/0x…`. Returns `None` for any other
/// class.
pub(crate) fn without_address(binary: &str) -> Option<String> {
    let (outer, suffix) = binary.rsplit_once('/')?;
    if !suffix.starts_with("0x") {
        return None;
    }
    // JDK 17 numbers lambdas in the order in which they are linked.
    let numbered = outer.rsplit_once('$').filter(|(name, number)| {
        name.ends_with("$$Lambda") && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    Some(format!("{}/0x…", numbered.map_or(outer, |(name, _)| name)))
}

/// Splits the first type off a descriptor: its binary name and the rest.
fn split_type(descriptor: &str) -> Option<(String, &str)> {
    let element = descriptor.trim_start_matches('[');
    let dimensions = descriptor.len() - element.len();
    if dimensions > MAX_DIMENSIONS {
        return None;
    }
    let first = *element.as_bytes().first()?;
    let (end, name) = if first == b'L' {
        let end = element.find(';')?;
        let class = element.get(1..end)?;
        if class.is_empty() {
            return None;
        }
        // A hidden class has a dot before its suffix in the descriptor and a slash in the name.
        (end + 1, swap_dots_and_slashes(class))
    } else {
        (1, primitive(first)?.to_string())
    };
    let rest = element.get(end..)?;
    if dimensions == 0 {
        return Some((name, rest));
    }
    let brackets = "[".repeat(dimensions);
    let element = match first {
        b'L' => format!("L{name};"),
        b'V' => return None,
        letter => char::from(letter).to_string(),
    };
    Some((brackets + &element, rest))
}

/// Returns the types of a method descriptor as binary names: the return type, then those of the parameters. `None` if
/// it is not a method descriptor.
pub fn parse_descriptor(descriptor: &str) -> Option<Vec<String>> {
    let (parameters, result) = descriptor.strip_prefix('(')?.rsplit_once(')')?;
    let types = parse_signature(parameters, result, split_type)?;
    (!types[1..].iter().any(|parameter| parameter == "void")).then_some(types)
}

/// Returns the return type, then those of the parameters, each read by `split_type`.
pub(crate) fn parse_signature(
    parameters: &str,
    result: &str,
    split_type: impl Fn(&str) -> Option<(String, &str)>,
) -> Option<Vec<String>> {
    let (result, rest) = split_type(result)?;
    if !rest.is_empty() {
        return None;
    }
    let (mut types, mut rest) = (vec![result], parameters);
    while !rest.is_empty() {
        let (parameter, after) = split_type(rest)?;
        types.push(parameter);
        rest = after;
    }
    Some(types)
}

/// Converts the source notation of a type to its binary name: `int[]` to `[I`, `java.lang.String[]` to
/// `[Ljava.lang.String;`.
pub(crate) fn parse_source_type(source: &str) -> String {
    let mut element = source.trim();
    let mut dimensions = 0;
    while let Some(shorter) = element.strip_suffix("[]") {
        element = shorter;
        dimensions += 1;
    }
    if dimensions == 0 || dimensions > MAX_DIMENSIONS || element.is_empty() {
        return source.trim().to_string();
    }
    let element = match primitive_letter(element.as_bytes()) {
        Some(letter) => char::from(letter).to_string(),
        None => format!("L{element};"),
    };
    "[".repeat(dimensions) + &element
}

/// The primitive types and `void`, with their letters in descriptors.
const PRIMITIVES: [(&str, u8); 9] = [
    ("boolean", b'Z'),
    ("byte", b'B'),
    ("short", b'S'),
    ("char", b'C'),
    ("int", b'I'),
    ("float", b'F'),
    ("long", b'J'),
    ("double", b'D'),
    ("void", b'V'),
];

/// Returns the name of a primitive type or `void` for its letter in descriptors.
pub(crate) fn primitive(letter: u8) -> Option<&'static str> {
    PRIMITIVES.iter().find(|(_, known)| *known == letter).map(|(name, _)| *name)
}

/// Returns the letter in descriptors of a primitive type or `void`.
pub(crate) fn primitive_letter(name: &[u8]) -> Option<u8> {
    PRIMITIVES.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, letter)| *letter)
}

/// Returns true if a type is one of Java's eight primitive types or `void`.
pub(crate) fn is_primitive(type_name: &[u8]) -> bool {
    primitive_letter(type_name).is_some()
}

/// Returns true if `Class.getName()` of some class can return this name.
///
/// Hidden classes end in `/` and a suffix. By JVMS 4.2 a class name can contain any character except `. ; [ /`; control
/// characters are rejected here as well.
pub(crate) fn is_java_type_name(type_name: &[u8]) -> bool {
    let dimensions = type_name.iter().take_while(|b| **b == b'[').count();
    let element = &type_name[dimensions..];
    if dimensions == 0 {
        return is_class_name(element);
    }
    match element {
        [letter] => *letter != b'V' && primitive(*letter).is_some(),
        [b'L', class @ .., b';'] => dimensions <= 255 && is_class_name(class),
        _ => false,
    }
}

fn is_class_name(name: &[u8]) -> bool {
    let (plain, suffix) = split_suffix(name);
    let part =
        |part: &[u8]| !part.is_empty() && !part.iter().any(|b| matches!(b, b';' | b'[' | b'/' | 0..=0x1f | 0x7f));
    plain.split(|b| *b == b'.').all(part) && suffix.is_none_or(|suffix| part(suffix) && !suffix.contains(&b'.'))
}

/// Splits a hidden class's binary name at its last slash.
fn split_suffix(name: &[u8]) -> (&[u8], Option<&[u8]>) {
    match name.iter().rposition(|b| *b == b'/') {
        Some(slash) => (&name[..slash], Some(&name[slash + 1..])),
        None => (name, None),
    }
}

/// Returns the JVM descriptor of a type: `Ljava/util/Map$Entry;` for `java.util.Map$Entry`.
///
/// In the name of a hidden class the last `/` becomes `.`, so that all descriptors are distinct.
pub(crate) fn type_descriptor(type_name: &[u8]) -> Vec<u8> {
    if let Some(letter) = primitive_letter(type_name) {
        return vec![letter];
    }
    let dimensions = type_name.iter().take_while(|b| **b == b'[').count();
    let (brackets, element) = type_name.split_at(dimensions);
    let mut descriptor = brackets.to_vec();
    if dimensions > 0 && element.len() == 1 {
        descriptor.extend(element);
        return descriptor;
    }
    let class = match element {
        [b'L', class @ .., b';'] if dimensions > 0 => class,
        other => other,
    };
    let (plain, suffix) = split_suffix(class);
    descriptor.push(b'L');
    descriptor.extend(plain.iter().map(|b| if *b == b'.' { b'/' } else { *b }));
    if let Some(suffix) = suffix {
        descriptor.push(b'.');
        descriptor.extend(suffix);
    }
    descriptor.push(b';');
    descriptor
}

/// Returns a type in source notation: `int[][]` for `[[I`.
pub(crate) fn source_type_name(type_name: &[u8]) -> Cow<'_, [u8]> {
    let dimensions = type_name.iter().take_while(|b| **b == b'[').count();
    if dimensions == 0 {
        return Cow::Borrowed(type_name);
    }
    let element: &[u8] = match &type_name[dimensions..] {
        [b'L', class @ .., b';'] => class,
        [letter] => match primitive(*letter) {
            Some(name) => name.as_bytes(),
            None => return Cow::Borrowed(type_name),
        },
        _ => return Cow::Borrowed(type_name),
    };
    Cow::Owned([element, &b"[]".repeat(dimensions)].concat())
}

/// Returns the package of a type, empty for the unnamed one; for arrays that of the element.
pub fn package(type_name: &[u8]) -> &[u8] {
    let dimensions = type_name.iter().take_while(|b| **b == b'[').count();
    let element = match &type_name[dimensions..] {
        [b'L', class @ .., b';'] if dimensions > 0 => class,
        other => other,
    };
    let (plain, _) = split_suffix(element);
    plain.iter().rposition(|b| *b == b'.').map_or(&[], |dot| &plain[..dot])
}

/// Converts between the binary name of a class, with dots, and its name in class files, with slashes.
pub(crate) fn swap_dots_and_slashes(class: &str) -> String {
    let swap = |c| match c {
        '/' => '.',
        '.' => '/',
        c => c,
    };
    class.chars().map(swap).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_become_binary_names() {
        let types = |text| parse_descriptor(text).map(|types| types.join(" "));
        assert_eq!(types("()V").as_deref(), Some("void"));
        assert_eq!(
            types("(ILjava/util/Map$Entry;[[J)[Ljava/lang/String;").as_deref(),
            Some("[Ljava.lang.String; int java.util.Map$Entry [[J")
        );
        assert_eq!(types("(Lp/Outer$$Lambda.0x7f;)I").as_deref(), Some("int p.Outer$$Lambda/0x7f"));
        for bad in ["", "()", "V", "(V)V", "(L;)V", "(Lx)V", "([V)V", "(I)VV", "(Q)V", "([)V", "(I"] {
            assert_eq!(types(bad), None, "{bad}");
        }
        assert_eq!(types(&format!("({}I)V", "[".repeat(256))), None);
    }

    #[test]
    fn hidden_classes_keep_their_address_after_a_slash() {
        assert_eq!(binary_name("p/Outer$$Lambda$82+0x00007f55b0/715521683"), "p.Outer$$Lambda$82/0x00007f55b0");
        assert_eq!(binary_name("p/Outer$$Lambda+0x7f/0x2a"), "p.Outer$$Lambda/0x7f");
        assert_eq!(binary_name("p/Outer$$Lambda/0x7f"), "p.Outer$$Lambda/0x7f");
        assert_eq!(binary_name("p/Outer$$Lambda.0x7f"), "p.Outer$$Lambda/0x7f");
        assert_eq!(binary_name("p/0xnothex"), "p.0xnothex");
        assert_eq!(binary_name("a/B"), "a.B");
        assert!(is_hidden("p.Outer$$Lambda/0x7f") && !is_hidden("a.B"));
    }

    #[test]
    fn addresses_of_hidden_classes_can_be_left_out() {
        for name in ["p.Outer$$Lambda$82/0x00007f55b0", "p.Outer$$Lambda/0x7f"] {
            assert_eq!(without_address(name).as_deref(), Some("p.Outer$$Lambda/0x…"));
        }
        assert_eq!(without_address("a.B"), None);
        assert_eq!(without_address("java.lang.invoke.LambdaForm$DMH/s21ef14da"), None);
    }

    #[test]
    fn source_types_become_binary_names() {
        for (source, binary) in
            [("int", "int"), ("int[][]", "[[I"), (" app.Main[] ", "[Lapp.Main;"), ("a.B", "a.B"), ("[]", "[]")]
        {
            assert_eq!(parse_source_type(source), binary);
        }
    }

    #[test]
    fn descriptors_follow_the_name_of_each_kind_of_type() {
        for (name, descriptor) in [
            ("int", "I"),
            ("void", "V"),
            ("java.util.Map$Entry", "Ljava/util/Map$Entry;"),
            ("[[C", "[[C"),
            ("[Ljava.lang.String;", "[Ljava/lang/String;"),
            ("p.Outer$$Lambda/0xd5f5", "Lp/Outer$$Lambda.0xd5f5;"),
            ("[Lp.Outer$$Lambda/0xd5;", "[Lp/Outer$$Lambda.0xd5;"),
        ] {
            assert_eq!(String::from_utf8(type_descriptor(name.as_bytes())).unwrap(), descriptor);
            assert!(is_java_type_name(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn impossible_class_names_are_reported() {
        for name in ["", "a..b", "[", "[V", "[Lx", "a;b", ".a", "a.", "a/b/c", "Ljava/lang/String;", "p.X/0.1", "[Q"] {
            assert!(!is_java_type_name(name.as_bytes()), "{name}");
        }
        assert!(is_java_type_name("p.Ünïcode$1".as_bytes()));
    }

    #[test]
    fn brackets_follow_the_element_in_readable_names() {
        assert_eq!(source_type_name(b"[[I").as_ref(), b"int[][]");
        assert_eq!(source_type_name(b"[La.B;").as_ref(), b"a.B[]");
        assert_eq!(source_type_name(b"[weird").as_ref(), b"[weird");
        assert_eq!(package(b"[La.b.C;"), b"a.b");
        assert_eq!(package(b"a.b.C$$Lambda/0x1.2"), b"a.b");
        assert_eq!(package(b"Main"), b"");
    }
}
