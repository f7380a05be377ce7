//! Writes a sample profile in any encoding.

use super::binary::{self, Content, NEXT_VERSION, VERSION};
use super::options::{Encoding, WriteOptions};
use super::profile::{Kind, SampleProfile};
use super::record::{FunctionName, FunctionRecord};
use super::text_writer::{self, TextOptions};
use super::{compact, ext_writer, gcc, order};
use crate::error::{Error, ErrorKind, Result};
use crate::hint::Hint;
use crate::model::{Loss, LossKind};
use std::collections::HashSet;

/// Writes a profile.
///
/// # Errors
///
/// Unsupported if the encoding cannot store this kind of profile for the target release; too large if no function fits
/// the size limit, and for lines of frames that every reader rejects.
pub fn write(profile: &SampleProfile, options: &WriteOptions) -> Result<Vec<u8>> {
    Ok(fit(profile, options)?.0)
}

/// Returns the records that are written: all, unless there is a size limit.
///
/// # Errors
///
/// The errors of [`write()`], if there is a size limit.
pub(crate) fn written<'p>(profile: &'p SampleProfile, options: &WriteOptions) -> Result<Vec<&'p FunctionRecord>> {
    match options.size_limit {
        1.. if !profile.functions.is_empty() => Ok(fit(profile, options)?.1),
        _ => Ok(profile.functions.iter().collect()),
    }
}

/// Returns the options with the properties of the profile that LLVM's writer forgets.
fn in_effect(profile: &SampleProfile, options: &WriteOptions) -> WriteOptions {
    match options.as_llvm {
        true => *options,
        false => WriteOptions {
            partial: options.partial || profile.kind().partial,
            use_md5: options.use_md5 || profile.has_hashes(),
            vtables: options.vtables
                || (options.rules.knows_vtables() && profile.functions.iter().any(FunctionRecord::has_vtables)),
            ..*options
        },
    }
}

/// Returns the bytes, and the records in them: the hottest ones that fit the size limit.
fn fit<'p>(profile: &'p SampleProfile, options: &WriteOptions) -> Result<(Vec<u8>, Vec<&'p FunctionRecord>)> {
    check_requests(options)?;
    let options = &in_effect(profile, options);
    let kind = Kind { partial: options.partial, ..profile.kind() };
    check(kind, options)?;
    check_contexts(profile, kind, options)?;
    let mut records = order::written(profile, options.rules);
    let mut container: Vec<&FunctionRecord> = profile.functions.iter().collect();
    let mut had_unique_suffix = false;
    loop {
        let (names, rules) = (&profile.names, options.rules);
        let content = Content { names, records: &records, container: &container, rules, kind };
        let bytes = match options.encoding {
            Encoding::Text => {
                let mark_flat = options.split_layout && rules.knows_split_layout();
                let bracketed_callees = options.as_llvm && kind.context_sensitive;
                text_writer::write_records(names, &records, &TextOptions { rules, kind, mark_flat, bracketed_callees })
            }
            Encoding::Binary => binary::write_records(&content)?,
            Encoding::CompactBinary => compact::write_records(&content)?,
            Encoding::Gcc => gcc::write(names, &records, gcc_version(options)?)?,
            Encoding::ExtBinary => {
                ext_writer::write_records(&content, profile.symbols.as_ref(), options, &mut had_unique_suffix)?
            }
        };
        let (size, limit) = (bytes.len() as u64, options.size_limit);
        // LLVM rejects an empty profile here.
        if limit == 0 || (size <= limit && !(records.is_empty() && options.as_llvm)) {
            return Ok((bytes, records));
        }
        let share = limit as f64 / size as f64;
        let of_formula = (records.len() as f64 * share * share).round() as usize;
        let most = records.len().saturating_sub(1);
        // As in LLVM, which gives up if its formula keeps no function.
        let kept = if options.as_llvm { of_formula.min(most) } else { of_formula.clamp(1, most.max(1)) };
        if kept == 0 || records.len() < 2 {
            let field = if records.len() == 1 { "the output with one function" } else { "the output" };
            return Err(ErrorKind::TooLarge { field, found: size, limit }.into());
        }
        records.truncate(kept);
        let left: HashSet<*const FunctionRecord> = records.iter().map(|record| std::ptr::from_ref(*record)).collect();
        container.retain(|record| left.contains(&std::ptr::from_ref(*record)));
    }
}

/// Checks that a profile can be written.
///
/// # Errors
///
/// Unsupported; see [`write()`].
pub fn check_writable(profile: &SampleProfile, options: &WriteOptions) -> Result<()> {
    check_requests(options)?;
    let options = &in_effect(profile, options);
    check(profile.kind(), options)?;
    check_contexts(profile, profile.kind(), options)
}

/// Rejects options that the encoding would ignore.
fn check_requests(options: &WriteOptions) -> Result<()> {
    let encoding = match options.encoding {
        Encoding::ExtBinary => return Ok(()),
        Encoding::Text => "text",
        Encoding::Binary => "a plain binary",
        Encoding::CompactBinary => "a compact binary",
        Encoding::Gcc => "GCC's encoding",
    };
    match options.needs_sections() {
        None => Ok(()),
        Some(what) => Err(Error::from(ErrorKind::Unsupported { what: format!("writing {what} in {encoding}") })
            .with_hint("write an extensible binary, or omit the option")),
    }
}

/// Rejects functions without a calling context in a profile of contexts: a table of contexts cannot store them. LLVM
/// writes the index of the name instead of that of a context, so that no reader accepts the file. Therefore
/// llvm-profdata has no message for it.
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
    let what = format!("writing {functions} without a calling context in an extensible binary of calling contexts");
    let detail = format!("{what}, which no tool could read; write text");
    Err(Error::from(ErrorKind::Unsupported { what }).with_llvm_detail(detail).with_hint("write text"))
}

/// Checks that a profile of this kind can be written.
fn check(kind: Kind, options: &WriteOptions) -> Result<()> {
    fn unsupported(what: String, hint: impl Into<Hint>) -> Result<()> {
        Err(Error::from(ErrorKind::Unsupported { what }).with_llvm_detail(UNSUPPORTED).with_hint(hint))
    }
    let release = options.rules.release();
    // No other encoding helps.
    if options.encoding != Encoding::Gcc && !options.rules.knows_contexts_and_probes() {
        if kind.probe_based {
            let hint = "LLVM 12 and later read them; for earlier releases, sample a build whose debug info has lines";
            return unsupported(format!("writing pseudo-probes for {release}"), hint);
        }
        if kind.context_sensitive {
            let hint = Hint::NestContexts;
            return unsupported(format!("writing calling contexts for {release}"), hint);
        }
    }
    let is_plain = matches!(options.encoding, Encoding::Binary | Encoding::CompactBinary);
    if is_plain && kind.context_sensitive {
        let what = "writing calling contexts in a plain or compact binary".to_string();
        return unsupported(what, "write an extensible binary or text, or make the layout flat");
    }
    if is_plain && kind.probe_based {
        let what = "writing a profile with pseudo-probes in a plain or compact binary".to_string();
        return unsupported(what, "write an extensible binary or text");
    }
    let versions: &[u64] = if options.rules.writes_104() { &[VERSION, NEXT_VERSION] } else { &[VERSION] };
    if options.encoding == Encoding::ExtBinary && !versions.contains(&options.version) {
        let detail =
            format!("{release} writes {}", versions.iter().map(u64::to_string).collect::<Vec<_>>().join(" and "));
        return Err(ErrorKind::UnsupportedVersion { found: options.version, detail }.into());
    }
    match options.encoding {
        Encoding::Gcc if options.as_llvm => {
            unsupported("writing GCC's encoding".to_string(), "write an encoding that LLVM reads")
        }
        Encoding::Gcc if kind.context_sensitive => {
            unsupported("writing calling contexts for GCC".to_string(), Hint::NestContexts)
        }
        Encoding::Gcc if kind.probe_based => {
            unsupported("writing pseudo-probes for GCC".to_string(), "sample a build whose debug info has lines")
        }
        Encoding::Gcc if kind.hashed => {
            unsupported("writing hashes of names for GCC".to_string(), "write the profile with its names")
        }
        Encoding::Gcc => gcc_version(options).map(drop),
        Encoding::CompactBinary if !options.rules.reads(Encoding::CompactBinary) => {
            unsupported(format!("a compact binary for {release}"), "LLVM 8 to 16 read compact binaries")
        }
        Encoding::ExtBinary if !options.rules.reads(Encoding::ExtBinary) => {
            unsupported(format!("an extensible binary for {release}"), "LLVM 10 and later read extensible binaries")
        }
        Encoding::ExtBinary if options.use_md5 && !options.rules.has_hashes_of_names() => unsupported(
            format!("writing hashes of names in an extensible binary for {release}"),
            "LLVM 11 and later read them",
        ),
        Encoding::ExtBinary if kind.context_sensitive && !options.rules.has_context_table() => unsupported(
            format!("writing calling contexts in an extensible binary for {release}"),
            "write a text profile",
        ),
        Encoding::ExtBinary if kind.context_sensitive && options.split_layout => unsupported(
            "writing calling contexts in the split layout".to_string(),
            "omit the split layout, which has no table of contexts",
        ),
        _ => Ok(()),
    }
}

/// Returns the version of GCC's encoding to write. The versions of extensible binaries count as "not given".
fn gcc_version(options: &WriteOptions) -> Result<gcc::WrittenVersion> {
    let wanted = if [VERSION, NEXT_VERSION].contains(&options.version) { 2 } else { options.version };
    gcc::WrittenVersion::of(wanted).ok_or_else(|| {
        let detail = "GCC 12 and later read 2, earlier releases 1".to_string();
        ErrorKind::UnsupportedVersion { found: wanted, detail }.into()
    })
}

/// Rejects lines of more than 16 bits in the table of contexts, because readers reject them.
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

/// Returns what the output does not store, by kind and count.
pub fn losses(profile: &SampleProfile, options: &WriteOptions) -> Vec<Loss> {
    let options = &in_effect(profile, options);
    let (mut counted, mut of_callees) = (Counted::default(), Counted::default());
    // If the profile cannot be written, its writer returns the error.
    let records = written(profile, options).unwrap_or_default();
    records.iter().for_each(|record| counted.add(record));
    let callees = records.iter().flat_map(|record| &record.call_sites).map(|site| &site.callee);
    callees.for_each(|callee| of_callees.add(callee));
    let dropped = (profile.functions.len() - records.len()) as u64;
    let kind = profile.kind();
    let hashes = profile.names.iter().filter(|name| matches!(name, FunctionName::Hash(_))).count() as u64;
    let strings = profile.names.len() as u64 - hashes;
    let (rules, encoding) = (options.rules, options.encoding);
    let ext = encoding == Encoding::ExtBinary;
    let text = encoding == Encoding::Text;
    let keeps_attributes = text || (ext && (kind.context_sensitive || kind.preinlined));
    let keeps_checksums = (text || ext) && kind.probe_based;
    let ext_keeps_callees = rules.writes_nested_checksums() && !kind.context_sensitive;
    let keeps_attributes_of_callees = text || ext_keeps_callees;
    let keeps_checksums_of_callees = if text { rules.writes_nested_checksums() } else { ext_keeps_callees };
    let lost_of = |keeps: [bool; 2], [all, of_callees]: [u64; 2]| match keeps {
        [false, _] => all,
        [true, false] => of_callees,
        [true, true] => 0,
    };
    let attributes =
        lost_of([keeps_attributes, keeps_attributes_of_callees], [counted.attributes, of_callees.attributes]);
    let checksums = lost_of([keeps_checksums, keeps_checksums_of_callees], [counted.checksums, of_callees.checksums]);
    let keeps_vtables = rules.knows_vtables() && (text || (ext && options.vtables));
    let becomes_hashes = encoding == Encoding::CompactBinary || (ext && options.use_md5);
    let symbols = profile.symbols.as_ref().map_or(0, |symbols| symbols.len() as u64);
    let is_flow_sensitive = kind.flow_sensitive && !(ext && rules.knows_flow_sensitive_profiles());
    let is_partial = options.partial && !(ext && rules.knows_partial_profiles());
    let properties = u64::from(is_flow_sensitive) + u64::from(is_partial);
    let lost = [
        (true, LossKind::Attributes, attributes),
        (true, LossKind::Checksums, checksums),
        (!keeps_vtables, LossKind::VirtualTables, counted.vtables),
        (!ext, LossKind::Symbols, symbols),
        (true, LossKind::KindBits, properties),
        (becomes_hashes, LossKind::Names, strings),
        (!ext && !becomes_hashes, LossKind::NameHashes, hashes),
        (true, LossKind::FunctionsBeyondSize, dropped),
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
