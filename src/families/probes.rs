//! The functions that an image's debug info tells of, as
//! `llvm-profdata show --debug-info` prints them.

use crate::compat::Compat;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::raw::correlate::{CorrelationKind, Image, Images, Probe};
use std::fmt::Write;
use std::path::Path;

/// The data to print about an image.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ProbeOptions {
    /// The names, sorted, one per line.
    pub names: bool,
    /// The size of the counters section.
    pub counters_size: bool,
    /// Whether to print everything as YAML only.
    pub yaml: bool,
}

/// Lists the instrumented functions of an image by its debug info.
///
/// # Errors
///
/// The errors of [`Images::add`].
pub fn list_probes(image: &Path, options: &ProbeOptions) -> Result<Vec<u8>> {
    let mut images = Images::new(CorrelationKind::DebugInfo, Compat::Llvm22, Limits::default());
    images.add(image).map_err(|error| if options.yaml { in_words_of_yaml(error) } else { error })?;
    let mut out = Vec::new();
    for image in images.given() {
        if options.yaml {
            out.extend_from_slice(yaml(image.probes()).as_bytes());
        } else {
            write_list(&mut out, image, options);
        }
    }
    Ok(out)
}

/// LLVM words one error otherwise when it writes YAML.
fn in_words_of_yaml(error: Error) -> Error {
    match (error.kind(), error.path()) {
        (ErrorKind::NotInBinary { what }, Some(path)) => {
            let detail = format!("could not find {what} in debug info");
            Error::new(ErrorKind::UnableToCorrelate { detail }).in_file(path)
        }
        _ => error,
    }
}

fn write_list(out: &mut Vec<u8>, image: &Image, options: &ProbeOptions) {
    let mut names: Vec<&[u8]> = image.probes().iter().map(|probe| probe.function_name.as_slice()).collect();
    names.sort_unstable();
    if options.names {
        for name in &names {
            out.extend_from_slice(name);
            out.push(b'\n');
        }
    }
    if options.counters_size {
        out.extend_from_slice(format!("Counters section size: 0x{:x} bytes\n", image.counters_len()).as_bytes());
    }
    out.extend_from_slice(format!("Found {} functions\n", names.len()).as_bytes());
}

fn yaml(probes: &[Probe]) -> String {
    let mut text = String::from("---\nProbes:\n");
    for probe in probes {
        let mut lead = "  - ";
        let mut line = |key: &str, value: &str| {
            let key = format!("{key}:");
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{lead}{key:<16} {value}");
            lead = "    ";
        };
        line("Function Name", &scalar(&probe.function_name));
        if let Some(name) = &probe.linkage_name {
            line("Linkage Name", &scalar(name));
        }
        line("CFG Hash", &format!("{:#X}", probe.func_hash).replace("0X", "0x"));
        line("Counter Offset", &format!("{:#X}", probe.counter_offset).replace("0X", "0x"));
        line("Num Counters", &probe.num_counters.to_string());
        if let Some(file) = &probe.file {
            line("File", &scalar(file));
        }
        if let Some(number) = probe.line {
            line("Line", &number.to_string());
        }
    }
    text.push_str("...\n");
    text
}

/// A string as YAML, with the quotes that LLVM's writer puts.
fn scalar(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if bytes.iter().any(|byte| *byte < 0x20 && *byte != b'\t' || *byte >= 0x7f) {
        let escaped: String = text.chars().flat_map(char::escape_default).collect();
        return format!("\"{escaped}\"");
    }
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-^., \t".contains(byte);
    let leads = bytes.first().is_none_or(|first| b"-,? \t".contains(first)) || bytes.last() == Some(&b' ');
    let is_word = matches!(
        text.as_ref(),
        "null" | "Null" | "NULL" | "~" | "true" | "True" | "TRUE" | "false" | "False" | "FALSE"
    );
    if bytes.iter().all(is_plain) && !leads && !is_word && text.parse::<f64>().is_err() {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_quoted_where_a_reader_would_misunderstand() {
        assert_eq!(scalar(b"_ZN3fooEv.llvm.1"), "_ZN3fooEv.llvm.1");
        assert_eq!(scalar(b"calc.c;add"), "'calc.c;add'");
        assert_eq!(scalar(b"it's"), "'it''s'");
        assert_eq!(scalar(b"12"), "'12'");
        assert_eq!(scalar(b""), "''");
        assert_eq!(scalar("ä".as_bytes()), "\"\\u{e4}\"");
    }
}
