//! The frames of collapsed and folded text.

use crate::call_chains::FrameKind;
use crate::java;

/// One frame of text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TextFrame {
    pub(crate) name: Named,
    pub(crate) bci: Option<i32>,
    pub(crate) kind: FrameKind,
}

/// The function of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// A Java method: binary name of the class, method, return type and parameters.
    Java { class: String, name: String, types: Option<Vec<String>> },
    /// Anything else.
    Symbol(String),
}

/// Suffixes that compilers give to parts of native functions.
const NATIVE_ENDINGS: [&str; 7] = ["cold", "plt", "isra", "part", "constprop", "llvm", "so"];

/// The annotation of frames of the kernel.
pub(crate) const KERNEL_MARK: &str = "_[k]";

/// Takes the annotation `_[j]` off a frame.
///
/// async-profiler (`ann`) and perf's folder (`--all`) write the same ones;
/// frames of the kernel carry theirs always.
pub(crate) fn split_annotation(text: &str) -> (&str, FrameKind) {
    let kinds = [
        ("_[0]", FrameKind::Interpreted),
        ("_[1]", FrameKind::C1),
        ("_[j]", FrameKind::Compiled),
        ("_[i]", FrameKind::Inlined),
        (KERNEL_MARK, FrameKind::Kernel),
    ];
    for (suffix, kind) in kinds {
        if let Some(name) = text.strip_suffix(suffix) {
            return (name, kind);
        }
    }
    (text, FrameKind::Unknown)
}

/// How the frames of a text are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Form {
    /// As async-profiler and our own writer put them: `app/Main.loop` is a Java method.
    #[default]
    Collapsed,
    /// As perf's folder puts them.
    Folded,
    /// As plain names: the text has no Java methods, so `runtime/pprof.Do`, `os.path.join` and `a.out` are other functions.
    Names,
}

impl Form {
    /// Parses a frame.
    pub(crate) fn parse(self, text: &str) -> TextFrame {
        match self {
            Self::Collapsed => parse_collapsed(text),
            Self::Folded => parse_perf(text),
            Self::Names => parse_name(text),
        }
    }
}

/// Parses a frame of a text without Java methods. Only a descriptor or an annotation makes it one.
fn parse_name(text: &str) -> TextFrame {
    let (name, kind) = split_annotation(text);
    if !matches!(kind, FrameKind::Unknown | FrameKind::Kernel) || parse_frame(text).is_some() {
        return parse_collapsed(text);
    }
    let kind = native(kind);
    TextFrame { name: Named::Symbol(name.to_string()), bci: None, kind }
}

/// Functions of Go's runtime with which stacks begin.
const GO_STARTS: [&str; 6] = [
    "runtime.goexit",
    "runtime.main",
    "runtime.mcall",
    "runtime.mstart",
    "runtime.systemstack",
    "runtime.gcBgMarkWorker",
];

/// Returns true if only a function of Go can have this name: a method of a pointer, a function of a package with a domain,
/// or a function of Go's runtime.
pub(crate) fn is_go_frame(text: &str) -> bool {
    let has_domain = || {
        let (domain, path) = text.split_once('/')?;
        let of_domain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-');
        // `0x` begins the address of a hidden class.
        let is_domain = domain.contains('.') && domain.starts_with(|c: char| c.is_ascii_lowercase());
        Some(is_domain && domain.chars().all(of_domain) && path.contains('.') && !path.starts_with("0x"))
    };
    text.contains(".(*") || GO_STARTS.contains(&text) || has_domain().unwrap_or(false)
}

/// Returns true if a frame is most likely a Java method: it has an annotation, a BCI or types, or its class begins with a
/// capital letter.
pub(crate) fn is_java_frame(text: &str) -> bool {
    let TextFrame { name, bci, kind } = parse_collapsed(text);
    let Named::Java { class, types, .. } = name else { return false };
    let simple = class.rsplit('.').next().unwrap_or(&class);
    bci.is_some() || types.is_some() || kind != FrameKind::Unknown || simple.starts_with(char::is_uppercase)
}

/// A frame as async-profiler and our own writer put it.
fn parse_collapsed(text: &str) -> TextFrame {
    if let Some(frame) = parse_frame(text) {
        let name = Named::Java { class: frame.class, name: frame.name, types: Some(frame.types) };
        return TextFrame { name, bci: (frame.bci != UNKNOWN_BCI).then_some(frame.bci), kind: FrameKind::Unknown };
    }
    let (text, kind) = split_annotation(text);
    if kind == FrameKind::Kernel {
        return TextFrame { name: Named::Symbol(text.to_string()), bci: None, kind };
    }
    let (method, bci) = split_bci(text);
    let method = if kind == FrameKind::Unknown { method } else { without_line(method) };
    match parse_dotted(method) {
        Some(name) => TextFrame { name, bci, kind },
        None => TextFrame { name: Named::Symbol(text.to_string()), bci: None, kind: native(kind) },
    }
}

/// A frame as perf's folder puts it.
pub(crate) fn parse_perf(text: &str) -> TextFrame {
    let (text, kind) = split_annotation(text);
    if kind == FrameKind::Kernel {
        return TextFrame { name: Named::Symbol(text.to_string()), bci: None, kind };
    }
    match parse_colons(text).or_else(|| parse_perf_map(text)) {
        Some(name) => {
            TextFrame { name, bci: None, kind: if kind == FrameKind::Unknown { FrameKind::Compiled } else { kind } }
        }
        None => TextFrame { name: Named::Symbol(text.to_string()), bci: None, kind: native(kind) },
    }
}

/// The iprof's value for a BCI that is not known.
pub(crate) const UNKNOWN_BCI: i32 = -5;

/// A function that is not a Java method is native code, unless the source has another kind.
fn native(kind: FrameKind) -> FrameKind {
    if kind == FrameKind::Unknown { FrameKind::Native } else { kind }
}

fn split_bci(text: &str) -> (&str, Option<i32>) {
    match text.rsplit_once('@') {
        Some((method, bci)) => match bci.parse::<i32>() {
            Ok(bci) => (method, (bci != UNKNOWN_BCI).then_some(bci)),
            Err(_) => (text, None),
        },
        None => (text, None),
    }
}

/// Cuts the line number, which async-profiler's converter can append instead of the BCI. It annotates all Java methods, so
/// that `Class.method:12` is not a name with a colon.
fn without_line(text: &str) -> &str {
    let line = text.rsplit_once(':').filter(|(_, line)| line.parse::<u32>().is_ok());
    line.map_or(text, |(method, _)| method)
}

/// `java/lang/String.valueOf`, perhaps with a descriptor; dots for slashes too.
fn parse_dotted(text: &str) -> Option<Named> {
    if text.contains("::") {
        return None;
    }
    let (method, types) = split_descriptor(text)?;
    let (class, name) = method.rsplit_once('.')?;
    if !is_class(class) || !is_method(name) || (types.is_none() && NATIVE_ENDINGS.contains(&name)) {
        return None;
    }
    Some(Named::Java { class: java::binary_name(class), name: name.to_string(), types })
}

/// Splits a descriptor off the end, with `|` or `:` instead of `;`. Text with parentheses that are not a descriptor is
/// not a Java method: `None`.
fn split_descriptor(text: &str) -> Option<(&str, Option<Vec<String>>)> {
    let Some(open) = text.find('(') else { return Some((text, None)) };
    let (method, descriptor) = text.split_at(open);
    let mut descriptor = descriptor.replace(['|', ':'], ";");
    let result = descriptor.rsplit_once(')').map_or("", |(_, result)| result.trim_start_matches('['));
    if result.starts_with('L') && !result.ends_with(';') {
        // The last `;` was taken for the end of the frame.
        descriptor.push(';');
    }
    let types = java::parse_descriptor(&descriptor)?;
    Some((method, Some(types)))
}

/// The agent's names: `Lapp/Main;::loop`, tidied to `app/Main:::loop`; with its
/// dotted option `app.Main::loop`.
fn parse_colons(text: &str) -> Option<Named> {
    let (class, method) = text.split_once("::")?;
    let (method, marked) = match method.strip_prefix(':') {
        Some(method) => (method, true),
        None => (method, false),
    };
    let (class, glued) = match class.strip_suffix(';') {
        Some(class) => (class, true),
        None => (class, false),
    };
    // C++ has `::` too. Slashes, dots and the `;` of a descriptor it has not.
    if !(marked || glued || class.contains(['/', '.'])) {
        return None;
    }
    let class = if marked || glued { strip_descriptor_letter(class, glued) } else { class };
    let (name, types) = split_descriptor(method)?;
    if !is_class(class) || !is_method(name) {
        return None;
    }
    Some(Named::Java { class: java::binary_name(class), name: name.to_string(), types })
}

/// The stackcollapse script removes the `L` only if there is a slash.
fn strip_descriptor_letter(class: &str, always: bool) -> &str {
    match class.strip_prefix('L') {
        Some(rest) if always || !class.contains('/') => rest,
        _ => class,
    }
}

/// The JDK's own map: `double app.Circle.area(int)`; the folder cuts `(int)`.
fn parse_perf_map(text: &str) -> Option<Named> {
    let (method, parameters) = match text.strip_suffix(')').and_then(|text| text.rsplit_once('(')) {
        Some((method, parameters)) => (method, Some(parameters)),
        None => (text, None),
    };
    let (result, method) = method.rsplit_once(' ')?;
    let (class, name) = method.rsplit_once('.')?;
    if !is_source_type(result) || !is_class(class) || !is_method(name) {
        return None;
    }
    let types = match parameters {
        None => None,
        Some(parameters) => {
            let mut types = vec![java::parse_source_type(result)];
            for parameter in parameters.split(',').map(str::trim).filter(|parameter| !parameter.is_empty()) {
                if !is_source_type(parameter) {
                    return None;
                }
                types.push(java::parse_source_type(parameter));
            }
            Some(types)
        }
    };
    Some(Named::Java { class: java::binary_name(class), name: name.to_string(), types })
}

fn is_source_type(text: &str) -> bool {
    is_class(text.trim_end_matches("[]"))
}

fn is_class(text: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '/' | '-' | '.' | '+');
    !text.is_empty()
        && text.chars().all(allowed)
        && text.chars().next().is_some_and(|first| first.is_alphabetic() || matches!(first, '_' | '$'))
}

fn is_method(text: &str) -> bool {
    if matches!(text, "<init>" | "<clinit>") {
        return true;
    }
    // Kotlin puts a hyphen into names.
    let mut chars = text.chars();
    chars.next().is_some_and(|first| first.is_alphabetic() || matches!(first, '_' | '$'))
        && chars.all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '-'))
}

/// Whether a leaf is a class rather than a method: what allocation and lock
/// profiles end in, marked as if it were inlined or in the kernel.
pub(crate) fn is_class_leaf(text: &str) -> bool {
    let Some(name) = text.strip_suffix("_[i]").or_else(|| text.strip_suffix("_[k]")) else { return false };
    if name.contains('/') {
        return false;
    }
    let element = name.trim_end_matches("[]");
    let last = element.rsplit('.').next().unwrap_or(element);
    is_class(element)
        && (element.len() < name.len() || (element.contains('.') && last.starts_with(|c: char| c.is_uppercase())))
}

/// Whether the frame is one that only perf's folder writes.
pub(crate) fn is_perf_frame(text: &str) -> bool {
    let (name, _) = split_annotation(text);
    parse_colons(name).is_some() || text.starts_with("::") || (name.contains('(') && parse_perf_map(name).is_some())
}

// Our own form of a collapsed frame, which keeps everything an iprof has:
// `app/Main.loop(ILjava/lang/String|)V@12`.
//
// Class names are internal, a hidden class has a dot before its suffix, and
// `|` stands for the `;` of descriptors. Characters that would be misread are
// percent-encoded, so names and frames correspond one to one.

/// Characters that mean something in a frame.
const RESERVED: &str = "%;|@()[]/.`";

/// Appends `text` with all that would be misread encoded byte by byte.
fn encode(text: &str, out: &mut String) {
    for c in text.chars() {
        if RESERVED.contains(c) || c.is_control() || c.is_whitespace() {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        } else {
            out.push(c);
        }
    }
}

/// The reverse of [`encode`]; `None` if an escape is invalid or the result is not UTF-8.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first != b'%' {
            bytes.push(*first);
            rest = after;
            continue;
        }
        let (digits, after) = after.split_first_chunk::<2>()?;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        bytes.push((digit(digits[0])? * 16 + digit(digits[1])?) as u8);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

/// Appends a class by its binary name: `a.B/0x7f` is `a/B.0x7f`.
fn encode_class(binary: &str, out: &mut String) {
    let (outer, suffix) = match binary.rsplit_once('/') {
        Some((outer, suffix)) => (outer, Some(suffix)),
        None => (binary, None),
    };
    for (position, part) in outer.split('.').enumerate() {
        if position > 0 {
            out.push('/');
        }
        encode(part, out);
    }
    if let Some(suffix) = suffix {
        out.push('.');
        encode(suffix, out);
    }
}

fn decode_class(text: &str) -> Option<String> {
    decode(&java::swap_dots_and_slashes(text))
}

/// Appends a type as a descriptor has it, with `|` for `;`.
fn encode_type(binary: &str, out: &mut String) {
    if let Some(letter) = java::primitive_letter(binary.as_bytes()) {
        out.push(char::from(letter));
        return;
    }
    let element = binary.trim_start_matches('[');
    let dimensions = binary.len() - element.len();
    let class = element.strip_prefix('L').and_then(|class| class.strip_suffix(';'));
    let is_letter = matches!(element, "Z" | "B" | "C" | "S" | "I" | "J" | "F" | "D");
    if dimensions > 0 && (is_letter || class.is_some()) {
        out.push_str(&"[".repeat(dimensions));
        match class {
            Some(class) => push_class(class, out),
            None => out.push_str(element),
        }
        return;
    }
    push_class(binary, out);
}

fn push_class(binary: &str, out: &mut String) {
    out.push('L');
    encode_class(binary, out);
    out.push('|');
}

fn split_type(text: &str) -> Option<(String, &str)> {
    let element = text.trim_start_matches('[');
    let brackets = &text[..text.len() - element.len()];
    if let Some(class) = element.strip_prefix('L') {
        let (class, rest) = class.split_once('|')?;
        let class = decode_class(class)?;
        let name = if brackets.is_empty() { class } else { format!("{brackets}L{class};") };
        return Some((name, rest));
    }
    let letter = element.get(..1)?;
    let rest = element.get(1..)?;
    if brackets.is_empty() {
        // One-letter descriptors are the same in both spellings.
        let types = java::parse_descriptor(&format!("(){letter}"))?;
        return Some((types.into_iter().next()?, rest));
    }
    "ZBCSIJFD".contains(letter).then(|| (format!("{brackets}{letter}"), rest))
}

/// Appends class and method, and the descriptor when its types are given.
pub(crate) fn write_method(class: &str, name: &str, types: Option<&[&str]>, out: &mut String) {
    encode_class(class, out);
    out.push('.');
    encode(name, out);
    if let Some([result, parameters @ ..]) = types {
        out.push('(');
        for parameter in parameters {
            encode_type(parameter, out);
        }
        out.push(')');
        encode_type(result, out);
    }
}

/// A method as [`write_method`] writes it with its types.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ExactFrame {
    pub(crate) class: String,
    pub(crate) name: String,
    /// Return type, then parameters.
    pub(crate) types: Vec<String>,
    pub(crate) bci: i32,
}

/// Parses a frame with descriptor and BCI; `None` when it has another form.
pub(crate) fn parse_frame(text: &str) -> Option<ExactFrame> {
    let (method, bci) = text.rsplit_once('@')?;
    let bci = bci.parse().ok()?;
    let (name, descriptor) = method.split_once('(')?;
    let (parameters, result) = descriptor.split_once(')')?;
    let (class, name) = name.rsplit_once('.')?;
    let types = java::parse_signature(parameters, result, split_type)?;
    Some(ExactFrame { class: decode_class(class)?, name: decode(name)?, types, bci })
}

/// Parses a method as [`write_method`] writes it without types.
pub(crate) fn parse_names(text: &str) -> Option<(String, String)> {
    let (class, name) = text.rsplit_once('.')?;
    Some((decode_class(class)?, decode(name)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn java(frame: TextFrame) -> String {
        let kind = frame.kind.word();
        match frame.name {
            Named::Java { class, name, types } => {
                let types = types.map_or("?".to_string(), |types| types.join(" "));
                let bci = frame.bci.map_or(String::new(), |bci| format!("@{bci}"));
                format!("{class}#{name}#{types}{bci} {kind}")
            }
            Named::Symbol(name) => format!("symbol {name} {kind}"),
        }
    }

    #[test]
    fn every_naming_dialect_of_async_profiler_is_understood() {
        for (text, expected) in [
            ("java/lang/String.valueOf", "java.lang.String#valueOf#? unknown"),
            ("java.lang.String.valueOf", "java.lang.String#valueOf#? unknown"),
            ("String.valueOf", "String#valueOf#? unknown"),
            ("app/Main$Inner.<init>_[i]", "app.Main$Inner#<init>#? inlined"),
            ("app/Main.run_[j]", "app.Main#run#? compiled"),
            ("app/Main.run_[0]", "app.Main#run#? interpreted"),
            ("app/Main.run_[1]", "app.Main#run#? c1"),
            ("a.B.name(Ljava/lang/String|[I)V", "a.B#name#void java.lang.String [I unknown"),
            ("p/Outer$$Lambda.0x00007f5500.run", "p.Outer$$Lambda/0x00007f5500#run#? unknown"),
            ("p/Outer$$Lambda/0x00007f5500.run", "p.Outer$$Lambda/0x00007f5500#run#? unknown"),
            ("app/Main.loop@12", "app.Main#loop#?@12 unknown"),
            ("app/Main.loop@-5", "app.Main#loop#? unknown"),
            ("app/Main.loop(I)V@-5", "app.Main#loop#void int unknown"),
            ("app/Main.foo-impl", "app.Main#foo-impl#? unknown"),
            ("app/Main.loop:12_[j]", "app.Main#loop#? compiled"),
            ("app/Main.f(Ljava/lang/String|)V:12_[0]", "app.Main#f#void java.lang.String interpreted"),
            ("f:main.cpp:12_[i]", "symbol f:main.cpp:12 inlined"),
            ("do_syscall_64_[k]", "symbol do_syscall_64 kernel"),
            ("Monitor::wait(long)", "symbol Monitor::wait(long) native"),
            (
                "std::vector<int, std::allocator<int> >::push_back",
                "symbol std::vector<int, std::allocator<int> >::push_back native",
            ),
            ("libc.so.6`memcpy", "symbol libc.so.6`memcpy native"),
            ("__memcpy_avx.cold", "symbol __memcpy_avx.cold native"),
            ("foo.constprop.0", "symbol foo.constprop.0 native"),
            ("[unknown]", "symbol [unknown] native"),
            ("start_thread", "symbol start_thread native"),
        ] {
            assert_eq!(java(parse_collapsed(text)), expected, "{text}");
        }
    }

    #[test]
    fn functions_of_go_are_not_java_methods() {
        for text in
            ["main.(*T).m", "net/http.(*conn).serve", "github.com/a/b.F", "gopkg.in/yaml%2ev2.U", "runtime.main"]
        {
            assert!(is_go_frame(text), "{text}");
        }
        for text in [
            "app/Main.loop",
            "p/outer.0x7f.run",
            "p.outer/0x7f.run",
            "app.Main.f(Ljava/lang/String|)V@3",
            "[libjvm.so]",
            "/usr/lib/libc.so.6",
            "libc.so.6",
        ] {
            assert!(!is_go_frame(text), "{text}");
        }
        for text in ["app/Main.loop", "Main.main", "p/outer.0x7f.run@3", "a/b.c_[j]", "a/b.<init>(I)V@-5", "p.A$b.run"]
        {
            assert!(is_java_frame(text), "{text}");
        }
        for text in
            ["a.out", "os.path.join", "numpy.dot", "runtime/pprof.Do", "_GLOBAL__sub_I_a.cpp", "foo.cold", "main"]
        {
            assert!(!is_java_frame(text), "{text}");
        }
        for (text, expected) in [
            ("runtime/pprof.Do", "symbol runtime/pprof.Do native"),
            ("main.main", "symbol main.main native"),
            ("sys_read_[k]", "symbol sys_read kernel"),
            ("app/Main.run_[j]", "app.Main#run#? compiled"),
            ("app/Main.loop(I)V@3", "app.Main#loop#void int@3 unknown"),
        ] {
            assert_eq!(java(Form::Names.parse(text)), expected, "{text}");
        }
    }

    #[test]
    fn every_naming_dialect_of_perf_is_understood() {
        for (text, expected) in [
            ("java/lang/Thread:::run", "java.lang.Thread#run#? compiled"),
            ("Lapp/Main;::loop", "app.Main#loop#? compiled"),
            ("Lapp/Main;::loop(ILjava/lang/String;)V", "app.Main#loop#void int java.lang.String compiled"),
            ("LMain:::loop", "Main#loop#? compiled"),
            ("app.Main::loop", "app.Main#loop#? compiled"),
            ("app/Main:::loop_[i]", "app.Main#loop#? inlined"),
            ("double app.Circle.area(int)", "app.Circle#area#double int compiled"),
            (
                "java.lang.String[] app.Main.<init>(int[], java.util.Map$Entry)",
                "app.Main#<init>#[Ljava.lang.String; [I java.util.Map$Entry compiled",
            ),
            ("void app.Main.run()", "app.Main#run#void compiled"),
            ("double app.Circle.area", "app.Circle#area#? compiled"),
            ("Interpreter", "symbol Interpreter native"),
            ("JavaThread::run", "symbol JavaThread::run native"),
            ("StubRoutines (1)", "symbol StubRoutines (1) native"),
            ("[libjvm.so]", "symbol [libjvm.so] native"),
            ("sys_read_[k]", "symbol sys_read kernel"),
        ] {
            assert_eq!(java(parse_perf(text)), expected, "{text}");
        }
    }

    #[test]
    fn leaves_of_allocation_profiles_are_classes() {
        for leaf in ["java.lang.String_[i]", "byte[]_[k]", "app.Main$Inner_[k]"] {
            assert!(is_class_leaf(leaf), "{leaf}");
        }
        for leaf in ["java/lang/String.valueOf_[i]", "java.lang.String.valueOf_[i]", "sys_read_[k]", "a.isra.0_[k]"] {
            assert!(!is_class_leaf(leaf), "{leaf}");
        }
    }

    fn write(class: &str, name: &str, types: &[&str], bci: i32) -> String {
        let mut out = String::new();
        write_method(class, name, Some(types), &mut out);
        format!("{out}@{bci}")
    }

    #[test]
    fn a_frame_with_descriptor_and_bci_reads_like_java() {
        let text = write("app.Main", "loop", &["void", "int", "[Ljava.lang.String;"], 12);
        assert_eq!(text, "app/Main.loop(I[Ljava/lang/String|)V@12");
        assert_eq!(write("p.Outer$$Lambda/0x7f", "run", &["void"], -5), "p/Outer$$Lambda.0x7f.run()V@-5");
        assert_eq!(parse_frame("app/Main.loop"), None);
        assert_eq!(parse_frame("app/Main.loop(I)V"), None);
        assert_eq!(parse_frame("app/Main.loop(Q)V@1"), None);
    }

    #[test]
    fn names_that_break_naive_parsers_survive() {
        for (class, name) in [
            ("a.B", "computeValue%1"),
            ("a.B", "String(AAAZ)"),
            ("[Ljava.lang.String;", "clone"),
            ("a.b/c.d/e.f", "x;y z@3"),
            ("", ""),
            ("a..B.", "."),
            ("é世", "λ\u{2028}"),
        ] {
            let types = ["[V", "int", "[Lint;", "[[I", "", "[", "x;y", "void"];
            let frame = parse_frame(&write(class, name, &types, -6)).unwrap();
            assert_eq!((frame.class.as_str(), frame.name.as_str(), frame.bci), (class, name, -6));
            assert_eq!(frame.types, types);
        }
    }

    proptest! {
        #[test]
        fn every_frame_survives(class in ".{0,12}", name in ".{0,12}", types in prop::collection::vec("\\[{0,2}.{0,6}", 1..4), bci: i32) {
            let borrowed: Vec<&str> = types.iter().map(String::as_str).collect();
            let text = write(&class, &name, &borrowed, bci);
            prop_assert!(!text.contains(';') && !text.contains(char::is_whitespace));
            prop_assert_eq!(parse_frame(&text), Some(ExactFrame { class, name, types, bci }));
        }
    }
}
