//! `--demangle`: demangling the symbols in any output text.

use clap::Args;
use profbridge::names::{NamePattern, demangle_text};
use std::borrow::Cow;
use std::io::{self, Write};

/// Options for printing names.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct DemangleArgs {
    /// Demangle C++ and Rust names
    #[arg(long)]
    demangle: bool,
}

/// Parses the value of `--function`, for the command line parser.
pub(crate) fn parse_pattern(text: &str) -> Result<NamePattern, String> {
    NamePattern::parse(text).map_err(|error| error.to_string())
}

impl DemangleArgs {
    /// Returns text with demangled names; in JSON, quotes stay escaped.
    pub(crate) fn apply<'t>(self, text: &'t str, is_json: bool) -> Cow<'t, str> {
        let escape = |name: String| if is_json { name.replace('\\', "\\\\").replace('"', "\\\"") } else { name };
        if self.demangle { Cow::Owned(demangle_text(text, escape)) } else { Cow::Borrowed(text) }
    }

    /// Wraps a writer like [`apply`](Self::apply), for text written in parts. Names do not span lines.
    pub(crate) fn writer<W: Write>(self, out: W, is_json: bool) -> DemangledWriter<W> {
        DemangledWriter { out, line: Vec::new(), arguments: self, is_json }
    }
}

/// Demangles text line by line. Text that is not UTF-8 is unchanged.
pub(crate) struct DemangledWriter<W: Write> {
    out: W,
    line: Vec<u8>,
    arguments: DemangleArgs,
    is_json: bool,
}

impl<W: Write> DemangledWriter<W> {
    /// Writes the text after the last line break.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.line);
        self.pass_on(&rest)
    }

    fn pass_on(&mut self, bytes: &[u8]) -> io::Result<()> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.out.write_all(self.arguments.apply(text, self.is_json).as_bytes()),
            Err(_) => self.out.write_all(bytes),
        }
    }
}

impl<W: Write> Write for DemangledWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.arguments.demangle {
            return self.out.write(bytes);
        }
        self.line.extend_from_slice(bytes);
        if let Some(end) = self.line.iter().rposition(|byte| *byte == b'\n') {
            let rest = self.line.split_off(end + 1);
            let lines = std::mem::replace(&mut self.line, rest);
            self.pass_on(&lines)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: DemangleArgs = DemangleArgs { demangle: true };

    #[test]
    fn symbols_in_a_text_are_demangled_and_all_else_is_left_alone() {
        let text = "a.cpp:_ZL3addii: 5\n  _RNvCs1234_7mycrate3foo, main _Zno 1.5\n";
        let expected = "a.cpp:add(int, int): 5\n  mycrate::foo, main _Zno 1.5\n";
        assert_eq!(ALL.apply(text, false), expected);
        assert_eq!(DemangleArgs::default().apply(text, false), text);
    }

    #[test]
    fn names_split_across_writes_are_demangled() {
        let text = "x\n_Z3fooi 1\n_Z3bari";
        let mut whole = Vec::new();
        for len in 1..text.len() {
            let mut out = Vec::new();
            let mut writer = ALL.writer(&mut out, false);
            text.as_bytes().chunks(len).for_each(|part| writer.write_all(part).unwrap());
            writer.finish().unwrap();
            whole.push(out);
        }
        assert!(whole.iter().all(|out| out == b"x\nfoo(int) 1\nbar(int)"));
    }

    #[test]
    fn json_stays_json() {
        let text = "{\"name\":\"_Zli2_xPKc\"}";
        let value: serde_json::Value = serde_json::from_str(&ALL.apply(text, true)).unwrap();
        assert!(value["name"].as_str().unwrap().contains("operator"), "{value}");
    }
}
