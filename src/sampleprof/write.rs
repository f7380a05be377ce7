//! Writing a profile in any encoding.

use super::names::FunctionName;
use super::options::Encoding;
use super::order;
use super::profile::{Kind, SampleProfile};
use super::record::FunctionRecord;
use super::rules::Rules;
use super::{binary, ext, text};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{self, HOLD_OUTPUT};
use crate::model::{Loss, LossKind};
use std::collections::HashSet;

/// How a profile is written.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct WriteOptions {
    /// The encoding.
    pub encoding: Encoding,
    /// The release whose bytes they are to be.
    pub rules: Rules,
    /// The profile holds only part of the program's functions (extensible binary).
    pub partial: bool,
    /// Store MD5 hashes in place of names (extensible binary).
    pub use_md5: bool,
    /// Compress every section (extensible binary).
    pub compress: bool,
    /// Functions without inlined callees apart; marked in text.
    pub split_layout: bool,
    /// Write virtual tables (extensible binary of LLVM 22 on).
    pub vtables: bool,
    /// 103, or 104 (extensible binary of LLVM 23 on).
    pub version: u64,
    /// What LLVM writes also where its readers take it for something else (text: functions inlined
    /// into one that has a calling context stand in brackets, which become part of the name), or not
    /// at all (extensible binary: frames of contexts with lines from 65536 on).
    pub as_llvm: bool,
    /// Leave out the coldest functions until the output has at most so many
    /// bytes; 0 is no limit.
    pub size_limit: u64,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            encoding: Encoding::ExtBinary,
            rules: Rules::default(),
            partial: false,
            use_md5: false,
            compress: false,
            split_layout: false,
            vtables: false,
            version: binary::VERSION,
            as_llvm: false,
            size_limit: 0,
        }
    }
}

/// Writes a profile.
///
/// # Errors
///
/// Unsupported when the encoding cannot be written, or not for that release or
/// kind of profile; too large when no function fits the limit, and for lines of frames that
/// no reader takes.
pub fn write(profile: &SampleProfile, options: &WriteOptions) -> Result<Vec<u8>> {
    Ok(fit(profile, options)?.0)
}

/// The records that are written: all, unless a size limits them.
///
/// # Errors
///
/// As [`write()`] where there is a limit.
pub(crate) fn written<'p>(profile: &'p SampleProfile, options: &WriteOptions) -> Result<Vec<&'p FunctionRecord>> {
    match options.size_limit {
        1.. if !profile.functions.is_empty() => Ok(fit(profile, options)?.1),
        _ => memory::collect(&profile.functions, HOLD_OUTPUT),
    }
}

/// The bytes, and the records in them.
fn fit<'p>(profile: &'p SampleProfile, options: &WriteOptions) -> Result<(Vec<u8>, Vec<&'p FunctionRecord>)> {
    let kind = Kind { partial: options.partial, ..profile.kind() };
    check(kind, options)?;
    check_contexts(profile, kind, options)?;
    let mut records = order::written(profile, options.rules)?;
    let mut container: Vec<&FunctionRecord> = memory::collect(&profile.functions, HOLD_OUTPUT)?;
    let mut had_unique_suffix = false;
    loop {
        let bytes = encode(profile, &records, &container, kind, options, &mut had_unique_suffix)?;
        let (size, limit) = (bytes.len() as u64, options.size_limit);
        if limit == 0 || (size <= limit && !records.is_empty()) {
            return Ok((bytes, records));
        }
        let share = limit as f64 / size as f64;
        let kept = (records.len() as f64 * share * share).round() as usize;
        let kept = kept.min(records.len().saturating_sub(1));
        if size <= limit || kept == 0 {
            return Err(ErrorKind::TooLarge { field: "the output with one function", found: size, limit }.into());
        }
        records.truncate(kept);
        let mut left: HashSet<*const FunctionRecord> = HashSet::new();
        memory::reserve(&mut left, records.len(), HOLD_OUTPUT)?;
        left.extend(records.iter().map(|record| std::ptr::from_ref(*record)));
        container.retain(|record| left.contains(&std::ptr::from_ref(*record)));
    }
}

/// Whether a profile can be written so.
///
/// # Errors
///
/// Unsupported, as [`write()`].
pub fn check_writable(profile: &SampleProfile, options: &WriteOptions) -> Result<()> {
    check(profile.kind(), options)?;
    check_contexts(profile, profile.kind(), options)
}

/// A function outside all calling contexts has no place in a table of contexts:
/// LLVM writes the number of its name in place of a context's, and no reader
/// finds the function again.
fn check_contexts(profile: &SampleProfile, kind: Kind, options: &WriteOptions) -> Result<()> {
    if options.encoding != Encoding::ExtBinary || !kind.context_sensitive {
        return Ok(());
    }
    check_lines(profile, options)?;
    let outside = profile.functions.iter().filter(|record| record.context.is_none()).count();
    if outside == 0 {
        return Ok(());
    }
    let functions = match outside {
        1 => "a function".to_string(),
        _ => format!("{outside} functions"),
    };
    let what = format!("writing {functions} without a calling context beside others with one");
    Err(Error::from(ErrorKind::Unsupported { what }).with_llvm_detail(UNSUPPORTED).with_hint("write text"))
}

/// Whether a profile of that kind can be written so.
fn check(kind: Kind, options: &WriteOptions) -> Result<()> {
    let unsupported = |what: String, hint: &'static str| {
        Err(Error::from(ErrorKind::Unsupported { what }).with_llvm_detail(UNSUPPORTED).with_hint(hint))
    };
    let is_plain = matches!(options.encoding, Encoding::Binary | Encoding::CompactBinary);
    if is_plain && kind.context_sensitive {
        let what = "writing calling contexts in a plain or compact binary".to_string();
        return unsupported(what, "write an extensible binary or text, or make the layout flat");
    }
    if is_plain && kind.probe_based {
        let what = "writing a profile with pseudo-probes in a plain or compact binary".to_string();
        return unsupported(what, "write an extensible binary or text");
    }
    let release = options.rules.release();
    let versions: &[u64] =
        if options.rules.writes_104() { &[binary::VERSION, binary::NEXT_VERSION] } else { &[binary::VERSION] };
    if options.encoding == Encoding::ExtBinary && !versions.contains(&options.version) {
        let detail =
            format!("{release} writes {}", versions.iter().map(u64::to_string).collect::<Vec<_>>().join(" and "));
        return Err(ErrorKind::UnsupportedVersion { found: options.version, detail }.into());
    }
    match options.encoding {
        Encoding::Gcc => unsupported("writing GCC's form".to_string(), "write one that LLVM reads"),
        Encoding::CompactBinary if !options.rules.has_compact_binary() => {
            unsupported(format!("a compact binary for {release}"), "LLVM 16 is the last release that reads them")
        }
        Encoding::ExtBinary if kind.context_sensitive && !options.rules.has_context_table() => unsupported(
            format!("writing calling contexts in an extensible binary for {release}"),
            "write text, which that release reads",
        ),
        Encoding::ExtBinary if kind.context_sensitive && options.split_layout => unsupported(
            "writing calling contexts in the split layout".to_string(),
            "leave the split layout out: such a file has no table of contexts and cannot be read",
        ),
        _ => Ok(()),
    }
}

/// Readers refuse a line of more than 16 bits in the table of contexts.
fn check_lines(profile: &SampleProfile, options: &WriteOptions) -> Result<()> {
    const LAST: u32 = 0xffff;
    let frames = profile.functions.iter().flat_map(|record| record.context.iter().flatten());
    match frames.map(|frame| frame.location.line).max() {
        Some(line) if line > LAST && !options.as_llvm => {
            let (found, limit) = (line.into(), LAST.into());
            Err(ErrorKind::TooLarge { field: "the line of a frame", found, limit }.into())
        }
        _ => Ok(()),
    }
}

const UNSUPPORTED: &str = "Profile encoding format unsupported for writing operations";

fn encode(
    profile: &SampleProfile,
    records: &[&FunctionRecord],
    container: &[&FunctionRecord],
    kind: Kind,
    options: &WriteOptions,
    had_unique_suffix: &mut bool,
) -> Result<Vec<u8>> {
    let (names, rules) = (&profile.names, options.rules);
    match options.encoding {
        Encoding::Text => {
            let mark_flat = options.split_layout && rules.knows_split_layout();
            let bracketed_callees = options.as_llvm && kind.context_sensitive;
            let text_options = text::WriteOptions { rules, kind, mark_flat, bracketed_callees };
            text::write_records(names, records, &text_options)
        }
        Encoding::Binary => binary::write_records(&binary::Content { names, records, container, rules, kind }),
        Encoding::CompactBinary | Encoding::Gcc => {
            binary::write_compact(&binary::Content { names, records, container, rules, kind })
        }
        Encoding::ExtBinary => {
            let ext_options = ext::WriteOptions {
                rules,
                kind,
                version: options.version,
                use_md5: options.use_md5,
                compress: options.compress,
                split_layout: options.split_layout,
                vtables: options.vtables && rules.knows_vtables(),
                had_unique_suffix: *had_unique_suffix,
            };
            let written = ext::write_records(names, records, container, profile.symbols.as_ref(), &ext_options)?;
            *had_unique_suffix = written.has_unique_suffix;
            Ok(written.bytes)
        }
    }
}

/// What of a profile the output will not hold, by kind and count.
pub fn losses(profile: &SampleProfile, options: &WriteOptions) -> Vec<Loss> {
    let mut counted = Counted::default();
    profile.functions.iter().for_each(|record| counted.add(record));
    let kind = profile.kind();
    let hashes = profile.names.iter().filter(|name| matches!(name, FunctionName::Hash(_))).count() as u64;
    let strings = profile.names.len() as u64 - hashes;
    let (rules, encoding) = (options.rules, options.encoding);
    let ext = encoding == Encoding::ExtBinary;
    let text = encoding == Encoding::Text;
    let keeps_attributes = text || (ext && (kind.context_sensitive || kind.preinlined));
    let keeps_checksums = (text || ext) && kind.probe_based;
    let keeps_vtables = rules.knows_vtables() && (text || (ext && options.vtables));
    let becomes_hashes = encoding == Encoding::CompactBinary || (ext && options.use_md5);
    let symbols = profile.symbols.as_ref().map_or(0, |symbols| symbols.len() as u64);
    let lost = [
        (!keeps_attributes, LossKind::Attributes, counted.attributes),
        (!keeps_checksums, LossKind::Checksums, counted.checksums),
        (!keeps_vtables, LossKind::VirtualTables, counted.vtables),
        (!ext, LossKind::Symbols, symbols),
        (becomes_hashes, LossKind::Names, strings),
        (!ext && !becomes_hashes, LossKind::NameHashes, hashes),
    ];
    let described = lost.into_iter().filter(|(is_lost, _, count)| *is_lost && *count > 0);
    described.map(|(_, what, count)| Loss::new(what, count)).collect()
}

#[derive(Default)]
struct Counted {
    attributes: u64,
    checksums: u64,
    vtables: u64,
}

impl Counted {
    fn add(&mut self, record: &FunctionRecord) {
        self.attributes += u64::from(record.attributes != 0);
        self.checksums += u64::from(record.checksum != 0);
        self.vtables += record.vtables.len() as u64;
        record.call_sites.iter().for_each(|site| self.add(&site.callee));
    }
}
