//! Descriptions as text.

use crate::digits::{column_width, number_of};
use crate::model::description::{Description, PartDescription, PartialDescription};
use crate::model::release::{RELEASES, ReleaseRow};
use std::io::{self, Write};

/// Writes the description of one file; `name` is the name given by the user.
///
/// # Errors
///
/// The errors of `out`.
pub fn write_description(out: &mut dyn Write, name: &str, description: &Description) -> io::Result<()> {
    let version = match description.parts.as_slice() {
        [first, rest @ ..] if rest.iter().all(|part| part.version == first.version) => first.version.as_ref(),
        _ => None,
    };
    write!(out, "{name}: {}", description.format)?;
    if let Some(version) = version {
        write!(out, ", version {version}")?;
    }
    if let (Some(compression), Some(content)) = (description.compression, description.inflated_size) {
        let article = if compression == "xz" { "an" } else { "a" };
        write!(out, ", in {article} {compression} stream ({content} bytes)")?;
    }
    writeln!(out)?;
    line(out, "size", &number_of(description.size, "byte"))?;
    if !description.supported && description.error.is_none() {
        line(out, "content", "recognized, but not supported by this program")?;
    }
    for (at, part) in description.parts.iter().enumerate() {
        if description.parts.len() > 1 {
            let version = part.version.as_deref().unwrap_or("?");
            writeln!(out, "  profile {} at byte {:#x}, version {version}", at + 1, part.offset)?;
        }
        write_part(out, part)?;
    }
    if let Some(part) = &description.partial_merge {
        write_partial_merge(out, part)?;
    }
    for warning in &description.warnings {
        line(out, "warning", warning)?;
    }
    if let Some(error) = &description.error {
        line(out, "error", &error.message)?;
    }
    if let Some(hint) = &description.hint {
        line(out, "hint", &hint.to_string())?;
    }
    Ok(())
}

fn write_part(out: &mut dyn Write, part: &PartDescription) -> io::Result<()> {
    if !part.variant.is_empty() {
        line(out, "variant", &part.variant.join(", "))?;
    }
    let bits = part.pointer_bits.map(|bits| format!("{bits} bits"));
    let encoding: Vec<&str> = bits.as_deref().into_iter().chain(part.byte_order.as_deref()).collect();
    if !encoding.is_empty() {
        line(out, "encoding", &encoding.join(", "))?;
    }
    for (label, value) in [("written by", &part.written_by), ("read by", &part.read_by)] {
        if let Some(value) = value {
            line(out, label, value)?;
        }
    }
    for id in &part.binary_ids {
        line(out, "binary id", id)?;
    }
    for fact in &part.facts {
        line(out, &fact.label, &fact.value)?;
    }
    if part.sections.is_empty() {
        return Ok(());
    }
    let widest = column_width(part.sections.iter().map(|section| section.name.len()).chain(["section".len()]));
    writeln!(out, "  {:widest$}  {:>12}  {:>12}  {:>10}", "section", "offset", "bytes", "entries")?;
    for section in &part.sections {
        let offset = section.offset.map_or("-".to_string(), |offset| format!("{offset:#x}"));
        let entries = section.entries.map_or("-".to_string(), |entries| entries.to_string());
        writeln!(out, "  {:widest$}  {offset:>12}  {:>12}  {entries:>10}", section.name, section.size)?;
    }
    Ok(())
}

fn write_partial_merge(out: &mut dyn Write, part: &PartialDescription) -> io::Result<()> {
    line(out, "partial merge", &format!("{} of {}", part.used, number_of(part.inputs.len(), "input")))?;
    if let Some(count) = part.sums {
        line(out, "sums", &count.to_string())?;
    }
    for words in &part.applied {
        line(out, "applied", words)?;
    }
    for input in &part.inputs {
        let became = match (&input.error, input.records) {
            (Some(error), _) => format!("not used: {error}"),
            (None, _) if input.outcome == "empty" => "empty".to_string(),
            (None, Some(1)) => "1 record".to_string(),
            (None, Some(records)) => number_of(records, "record"),
            (None, None) => "kept".to_string(),
        };
        let weight = if input.weight == 1 { String::new() } else { format!(", weight {}", input.weight) };
        line(out, "input", &format!("{}: {became}{weight}", input.path))?;
    }
    Ok(())
}

fn line(out: &mut dyn Write, label: &str, value: &str) -> io::Result<()> {
    writeln!(out, "  {label:<13} {value}")
}

/// Writes the versions that each toolchain writes.
///
/// # Errors
///
/// The errors of `out`.
pub fn write_versions(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{:<6} {:>3} {:>8}  {:<15} {:<12} Xcode*", "LLVM", "raw", "indexed", "rustc", "Swift*")?;
    for row in &RELEASES {
        let row: &ReleaseRow = row;
        let mark = |inferred: bool| if inferred { "*" } else { "" };
        let rustc = row.rustc_words().unwrap_or_default() + mark(row.rustc_is_inferred());
        let (raw, indexed) = (row.raw_version, format!("{}{}", row.indexed_version, mark(row.inferred)));
        let text = format!(
            "{:<6} {raw:>3} {indexed:>8}  {rustc:<15} {:<12} {}",
            row.llvm,
            row.swift.join(", "),
            row.xcode.join(", ")
        );
        writeln!(out, "{}", text.trim_end())?;
    }
    writeln!(out)?;
    writeln!(out, "A tool reads raw profiles of its own version only, and indexed profiles up to its own version.")?;
    writeln!(out, "Raw versions 3 and 6 existed only in development, before LLVM 3.9 and between 12 and 13.")?;
    writeln!(
        out,
        "*  Inferred from sources and release branches; no file or tool of the release was available. The other"
    )?;
    writeln!(
        out,
        "   versions were measured: profbridge reads what the compiler writes, and writes the bytes of its \
         llvm-profdata."
    )?;
    writeln!(
        out,
        "rustc: the LLVM that `rustc -vV` prints. Swift and Xcode: the first and the newest releases with that LLVM;"
    )?;
    writeln!(out, "the numbers of Apple's clang are not those of LLVM.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_reads_as_a_table() {
        let mut description = Description::new("LLVM raw profile", 90);
        description.supported = true;
        let mut part =
            PartDescription { version: Some("8".into()), pointer_bits: Some(64), ..PartDescription::default() };
        part.byte_order = Some("little-endian".into());
        part.variant = vec!["IR instrumentation".into(), "temporal".into()];
        part.section("header", Some(0), 88, Some(11));
        part.section("names", Some(88), 2, None);
        description.parts.push(part);
        description.warnings.push("odd".into());
        let mut out = Vec::new();
        write_description(&mut out, "a.profraw", &description).unwrap();
        let expected = "\
a.profraw: LLVM raw profile, version 8
  size          90 bytes
  variant       IR instrumentation, temporal
  encoding      64 bits, little-endian
  section        offset         bytes     entries
  header            0x0            88          11
  names            0x58             2           -
  warning       odd
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn every_release_has_a_line_of_versions() {
        let mut out = Vec::new();
        write_versions(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("\n13       7        7  1.56 to 1.59    5.6          13.3\n"), "{text}");
        assert!(text.contains("\n12       5       7*  1.52 to 1.55    5.5          13.0\n"), "{text}");
        assert!(text.contains("\n18       9       11  1.78 to 1.81\n"), "{text}");
        assert!(text.contains("\n23      11       14  1.99 to 1.102*\n"), "{text}");
    }
}
