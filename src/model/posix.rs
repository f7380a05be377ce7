//! POSIX extended regular expressions as LLVM's support library understands
//! them, compiled to an automaton that runs in linear time.
//!
//! | construct | meaning |
//! |---|---|
//! | `.` | any byte, newlines too |
//! | `^` `$` | beginning and end of the name, also in the middle of a pattern |
//! | `\x` | the character x itself, whatever it is |
//! | `{n}` `{n,}` `{n,m}` | repetition up to 255; `{` before anything but a digit is itself |
//! | `[…]` | classes, ranges, `[:alpha:]`, `[.x.]`, `[=x=]`, `[[:<:]]` and `[[:>:]]` |
//!
//! Back-references (`\1`) are not supported, because finite automata cannot match them. One fault of LLVM is fixed: it
//! never finds the end of a word (`[[:>:]]`) before `$`.

use crate::error::{Error, Result};
use crate::expressions::{self, Regex};
use std::fmt::Write;

/// Highest number of repetitions.
const MAX_REPEAT: u32 = 255;

const UNBALANCED_PARENTHESES: &str = "parentheses not balanced";
const UNBALANCED_BRACKETS: &str = "brackets ([ ]) not balanced";
const UNBALANCED_BRACES: &str = "braces not balanced";
const BAD_REPEAT: &str = "repetition-operator operand invalid";
const BAD_REPEAT_COUNT: &str = "invalid repetition count(s)";
const EMPTY_EXPRESSION: &str = "empty (sub)expression";
const TRAILING_BACKSLASH: &str = "trailing backslash (\\)";
const BAD_BACK_REFERENCE: &str = "invalid backreference number";
const BAD_RANGE: &str = "invalid character range";
const BAD_CLASS: &str = "invalid character class";
const BAD_COLLATING: &str = "invalid collating element";

/// Compiles a pattern.
///
/// # Errors
///
/// Usage with the text that LLVM prints for the first fault, or our own for
/// back-references and for patterns that would take too much memory.
pub(super) fn compile(pattern: &[u8]) -> Result<Regex> {
    let mut parser = Parser { rest: pattern, output: String::new(), groups: Vec::new(), groups_opened: 0 };
    parser.alternatives(None).map_err(Error::usage)?;
    build(&parser.output)
}

/// Compiles a pattern that stands for itself.
///
/// # Errors
///
/// Usage when it would take too much memory.
pub(super) fn compile_literal(text: &[u8]) -> Result<Regex> {
    let mut output = String::new();
    text.iter().for_each(|byte| push_byte(&mut output, *byte));
    build(&output)
}

fn build(syntax: &str) -> Result<Regex> {
    // Bytes instead of characters, and dots that match line breaks.
    expressions::compile(&format!("(?s-u){syntax}"), "the pattern")
}

fn push_byte(output: &mut String, byte: u8) {
    let _ = write!(output, "\\x{byte:02x}");
}

/// LLVM's message for an error.
type Fault = &'static str;

struct Parser<'a> {
    rest: &'a [u8],
    output: String,
    /// Numbers of the groups that are closed.
    groups: Vec<u32>,
    groups_opened: u32,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn peek_second(&self) -> Option<u8> {
        self.rest.get(1).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn eat(&mut self, text: &[u8]) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Branches joined by `|`, up to `stop` or the end.
    fn alternatives(&mut self, stop: Option<u8>) -> Result<(), Fault> {
        loop {
            let mut is_empty = true;
            while let Some(next) = self.peek() {
                if next == b'|' || Some(next) == stop {
                    break;
                }
                self.piece()?;
                is_empty = false;
            }
            if is_empty {
                return Err(EMPTY_EXPRESSION);
            }
            if !self.eat(b"|") {
                return Ok(());
            }
            self.output.push('|');
        }
    }

    /// One atom and its repetition.
    fn piece(&mut self) -> Result<(), Fault> {
        let start = self.output.len();
        let is_caret = self.atom()?;
        if !self.at_repetition() {
            return Ok(());
        }
        if is_caret {
            return Err(BAD_REPEAT);
        }
        self.output.insert_str(start, "(?:");
        self.output.push(')');
        self.repetition()?;
        if self.at_repetition() { Err(BAD_REPEAT) } else { Ok(()) }
    }

    fn at_repetition(&self) -> bool {
        match self.peek() {
            Some(b'*' | b'+' | b'?') => true,
            Some(b'{') => self.peek_second().is_some_and(|b| b.is_ascii_digit()),
            _ => false,
        }
    }

    /// Returns whether the atom was `^`, which cannot be repeated.
    fn atom(&mut self) -> Result<bool, Fault> {
        let Some(byte) = self.next() else { return Err(EMPTY_EXPRESSION) };
        match byte {
            b'(' => self.group()?,
            b')' => return Err(UNBALANCED_PARENTHESES),
            b'^' => {
                self.output.push_str("\\A");
                return Ok(true);
            }
            b'$' => self.output.push_str("\\z"),
            b'*' | b'+' | b'?' => return Err(BAD_REPEAT),
            b'.' => self.output.push('.'),
            b'[' => self.bracket()?,
            b'\\' => match self.next() {
                None => return Err(TRAILING_BACKSLASH),
                Some(digit @ b'1'..=b'9') if self.groups.contains(&u32::from(digit - b'0')) => {
                    return Err("back-references are not supported");
                }
                Some(b'1'..=b'9') => return Err(BAD_BACK_REFERENCE),
                Some(other) => push_byte(&mut self.output, other),
            },
            b'{' if self.peek().is_some_and(|b| b.is_ascii_digit()) => return Err(BAD_REPEAT),
            other => push_byte(&mut self.output, other),
        }
        Ok(false)
    }

    fn group(&mut self) -> Result<(), Fault> {
        if self.rest.is_empty() {
            return Err(UNBALANCED_PARENTHESES);
        }
        self.groups_opened += 1;
        let number = self.groups_opened;
        self.output.push_str("(?:");
        if self.peek() != Some(b')') {
            self.alternatives(Some(b')'))?;
        }
        if !self.eat(b")") {
            return Err(UNBALANCED_PARENTHESES);
        }
        self.groups.push(number);
        self.output.push(')');
        Ok(())
    }

    fn repetition(&mut self) -> Result<(), Fault> {
        match self.next() {
            Some(b'{') => {}
            Some(operator) => {
                self.output.push(char::from(operator));
                return Ok(());
            }
            None => return Ok(()),
        }
        let least = self.count()?;
        let mut most = Some(least);
        if self.eat(b",") {
            most = if self.peek().is_some_and(|b| b.is_ascii_digit()) { Some(self.count()?) } else { None };
            if most.is_some_and(|most| most < least) {
                return Err(BAD_REPEAT_COUNT);
            }
        }
        if !self.eat(b"}") {
            return Err(if self.rest.contains(&b'}') { BAD_REPEAT_COUNT } else { UNBALANCED_BRACES });
        }
        let _ = match most {
            Some(most) => write!(self.output, "{{{least},{most}}}"),
            None => write!(self.output, "{{{least},}}"),
        };
        Ok(())
    }

    fn count(&mut self) -> Result<u32, Fault> {
        let mut count = 0;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            count = count * 10 + u32::from(digit - b'0');
            if count > MAX_REPEAT {
                return Err(BAD_REPEAT_COUNT);
            }
            self.next();
        }
        Ok(count)
    }

    /// A bracket expression; `[` is read already.
    fn bracket(&mut self) -> Result<(), Fault> {
        for (text, boundary) in [(b"[:<:]]", "\\b{start}"), (b"[:>:]]", "\\b{end}")] {
            if self.eat(text) {
                self.output.push_str(boundary);
                return Ok(());
            }
        }
        let negated = self.eat(b"^");
        let mut set = [false; 256];
        if self.eat(b"]") {
            set[usize::from(b']')] = true;
        } else if self.eat(b"-") {
            set[usize::from(b'-')] = true;
        }
        while self.peek().is_some_and(|b| b != b']') && !self.rest.starts_with(b"-]") {
            self.bracket_term(&mut set)?;
        }
        if self.eat(b"-") {
            set[usize::from(b'-')] = true;
        }
        if !self.eat(b"]") {
            return Err(UNBALANCED_BRACKETS);
        }
        self.push_set(&set, negated);
        Ok(())
    }

    fn push_set(&mut self, set: &[bool; 256], negated: bool) {
        self.output.push('[');
        for (byte, _) in set.iter().enumerate().filter(|(_, member)| **member != negated) {
            let _ = write!(self.output, "\\x{byte:02x}");
        }
        // Rust's syntax has no empty class but allows a difference that is one.
        if set.iter().all(|member| *member == negated) {
            self.output.push_str("a--a");
        }
        self.output.push(']');
    }

    fn bracket_term(&mut self, set: &mut [bool; 256]) -> Result<(), Fault> {
        match (self.peek(), self.peek_second()) {
            (Some(b'-'), _) => Err(BAD_RANGE),
            (Some(b'['), Some(b':')) => {
                self.rest = &self.rest[2..];
                self.class(set)
            }
            (Some(b'['), Some(b'=')) => {
                self.rest = &self.rest[2..];
                self.equivalence(set)
            }
            _ => self.range(set),
        }
    }

    fn class(&mut self, set: &mut [bool; 256]) -> Result<(), Fault> {
        if self.rest.is_empty() {
            return Err(UNBALANCED_BRACKETS);
        }
        let len = self.rest.iter().take_while(|b| b.is_ascii_alphabetic()).count();
        let (name, rest) = self.rest.split_at(len);
        let member = class_of(name).ok_or(BAD_CLASS)?;
        self.rest = rest;
        (0..=u8::MAX).filter(member).for_each(|byte| set[usize::from(byte)] = true);
        if self.eat(b":]") { Ok(()) } else { Err(BAD_CLASS) }
    }

    fn equivalence(&mut self, set: &mut [bool; 256]) -> Result<(), Fault> {
        match self.peek() {
            None => return Err(UNBALANCED_BRACKETS),
            Some(b'-' | b']') => return Err(BAD_COLLATING),
            Some(_) => {}
        }
        let byte = self.collating_element(b"=]")?;
        set[usize::from(byte)] = true;
        Ok(())
    }

    /// One character, or two with `-` between. Characters compare signed, as
    /// they do on the machines LLVM was built for.
    fn range(&mut self, set: &mut [bool; 256]) -> Result<(), Fault> {
        let first = self.symbol()?;
        let mut last = first;
        if self.peek() == Some(b'-') && self.peek_second().is_some_and(|b| b != b']') {
            self.next();
            last = if self.eat(b"-") { b'-' } else { self.symbol()? };
        }
        let (first, last) = (first.cast_signed(), last.cast_signed());
        if first > last {
            return Err(BAD_RANGE);
        }
        (first..=last).for_each(|byte| set[usize::from(byte.cast_unsigned())] = true);
        Ok(())
    }

    fn symbol(&mut self) -> Result<u8, Fault> {
        if self.eat(b"[.") { self.collating_element(b".]") } else { self.next().ok_or(UNBALANCED_BRACKETS) }
    }

    /// A character by itself or by its POSIX name, up to `end`.
    fn collating_element(&mut self, end: &[u8; 2]) -> Result<u8, Fault> {
        let len = self.rest.windows(2).position(|pair| pair == end).ok_or(UNBALANCED_BRACKETS)?;
        let name = &self.rest[..len];
        self.rest = &self.rest[len + 2..];
        if let [byte] = name {
            return Ok(*byte);
        }
        NAMED.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, byte)| *byte).ok_or(BAD_COLLATING)
    }
}

fn class_of(name: &[u8]) -> Option<fn(&u8) -> bool> {
    Some(match name {
        b"alnum" => u8::is_ascii_alphanumeric,
        b"alpha" => u8::is_ascii_alphabetic,
        b"blank" => |b| matches!(b, b' ' | b'\t'),
        b"cntrl" => u8::is_ascii_control,
        b"digit" => u8::is_ascii_digit,
        b"graph" => u8::is_ascii_graphic,
        b"lower" => u8::is_ascii_lowercase,
        b"print" => |b| matches!(b, b' '..=b'~'),
        b"punct" => u8::is_ascii_punctuation,
        b"space" => |b| matches!(b, b' ' | 9..=13),
        b"upper" => u8::is_ascii_uppercase,
        b"xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    })
}

/// Names of characters in the POSIX portable character set that a symbol's
/// name may hold.
const NAMED: [(&str, u8); 24] = [
    ("tab", b'\t'),
    ("newline", b'\n'),
    ("space", b' '),
    ("exclamation-mark", b'!'),
    ("quotation-mark", b'"'),
    ("number-sign", b'#'),
    ("dollar-sign", b'$'),
    ("percent-sign", b'%'),
    ("ampersand", b'&'),
    ("asterisk", b'*'),
    ("plus-sign", b'+'),
    ("comma", b','),
    ("hyphen", b'-'),
    ("period", b'.'),
    ("slash", b'/'),
    ("colon", b':'),
    ("semicolon", b';'),
    ("less-than-sign", b'<'),
    ("equals-sign", b'='),
    ("greater-than-sign", b'>'),
    ("question-mark", b'?'),
    ("commercial-at", b'@'),
    ("underscore", b'_'),
    ("tilde", b'~'),
];

#[cfg(all(test, feature = "regex"))]
mod tests {
    use super::*;

    #[test]
    fn faults_have_llvms_words() {
        let cases = [
            ("(", UNBALANCED_PARENTHESES),
            (")", UNBALANCED_PARENTHESES),
            ("(()", UNBALANCED_PARENTHESES),
            ("*", BAD_REPEAT),
            ("a**", BAD_REPEAT),
            ("a{1}{2}", BAD_REPEAT),
            ("{1", BAD_REPEAT),
            ("^*m", BAD_REPEAT),
            ("(?i)main", BAD_REPEAT),
            ("a{2", UNBALANCED_BRACES),
            ("a{1,", UNBALANCED_BRACES),
            ("a{2,1}", BAD_REPEAT_COUNT),
            ("a{256}", BAD_REPEAT_COUNT),
            ("a{1a}", BAD_REPEAT_COUNT),
            ("[", UNBALANCED_BRACKETS),
            ("[]", UNBALANCED_BRACKETS),
            ("[a", UNBALANCED_BRACKETS),
            ("[[.", UNBALANCED_BRACKETS),
            ("[z-a]", BAD_RANGE),
            ("[a-", BAD_RANGE),
            ("[a-c-e]", BAD_RANGE),
            ("[--a]", BAD_RANGE),
            ("[[:alpha:]-z]", BAD_RANGE),
            ("[a-é]", BAD_RANGE),
            ("[[:foo:]]", BAD_CLASS),
            ("[[:alpha:", BAD_CLASS),
            ("[[:]]", BAD_CLASS),
            ("[[.foo.]]", BAD_COLLATING),
            ("[[=ab=]]", BAD_COLLATING),
            ("a|", EMPTY_EXPRESSION),
            ("|a", EMPTY_EXPRESSION),
            ("(|a)", EMPTY_EXPRESSION),
            ("(a|", EMPTY_EXPRESSION),
            ("\\", TRAILING_BACKSLASH),
            ("\\1", BAD_BACK_REFERENCE),
            ("(a)\\1", "back-references are not supported"),
        ];
        for (pattern, fault) in cases {
            assert_eq!(compile(pattern.as_bytes()).unwrap_err().to_string(), fault, "{pattern}");
        }
    }

    #[test]
    fn matches_are_llvms() {
        // What llvm-profdata 22 keeps of these three names.
        let cases: [(&str, &[&str]); 19] = [
            ("()", &["main", "fo+o", "a.c;cold"]),
            ("\\d", &["a.c;cold"]),
            ("[[.a.]]", &["main", "a.c;cold"]),
            ("[[=a=]]", &["main", "a.c;cold"]),
            ("[]a]", &["main", "a.c;cold"]),
            ("[^]a]", &["main", "fo+o", "a.c;cold"]),
            ("(^a)", &["a.c;cold"]),
            ("a$b", &[]),
            ("[[:<:]]main", &["main"]),
            ("\\.", &["a.c;cold"]),
            ("\\b", &[]),
            ("\\n", &["main"]),
            ("ma\\in", &["main"]),
            ("[a-]", &["main", "a.c;cold"]),
            ("a{x}", &[]),
            ("$*", &["main", "fo+o", "a.c;cold"]),
            ("o[+]o", &["fo+o"]),
            ("^.{4}$", &["main", "fo+o"]),
            ("[[.-.]-a]", &["main", "a.c;cold"]),
        ];
        for (pattern, expected) in cases {
            let regex = compile(pattern.as_bytes()).unwrap();
            let found: Vec<&str> =
                ["main", "fo+o", "a.c;cold"].into_iter().filter(|n| regex.is_match(n.as_bytes())).collect();
            assert_eq!(found, expected, "{pattern}");
        }
    }

    #[test]
    fn names_are_bytes_and_dots_match_newlines() {
        assert!(compile(b"a.b").unwrap().is_match(b"a\xffb"));
        assert!(compile(b"a.b").unwrap().is_match(b"a\nb"));
        assert!(compile(b"[\xff]").unwrap().is_match(b"\xff"));
    }
}
