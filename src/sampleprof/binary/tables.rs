//! Summaries and tables of names in binary forms.

use crate::bytes::leb128::{read_uleb128, write_uleb128};
use crate::bytes::{Cursor, Sink};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::memory::{self, HOLD_NAMES};
use crate::sampleprof::names::{FunctionName, NameId, Names};
use crate::sampleprof::rules::Rules;
use crate::sampleprof::summary::{Summary, SummaryRow};

use super::body::read_cut;

/// Reads magic and version.
pub(crate) fn read_header(cursor: &mut Cursor<'_>, magic: u64, versions: &[u64]) -> Result<u64> {
    let found = read_uleb128(cursor, "magic")?;
    if found != magic {
        return Err(ErrorKind::BadMagic { detail: format!("found {found:#x}, expected {magic:#x}") }.into());
    }
    let version = read_uleb128(cursor, "version")?;
    if !versions.contains(&version) {
        let known: Vec<String> = versions.iter().map(ToString::to_string).collect();
        let detail = match version {
            super::NEXT_VERSION => "LLVM 23 writes it on request, and older releases do not read it".to_string(),
            105.. => format!("a release later than LLVM 23 wrote it; known are {}", known.join(" and ")),
            _ => format!("known are {}", known.join(" and ")),
        };
        return Err(cursor.place(ErrorKind::UnsupportedVersion { found: version, detail }.into()));
    }
    Ok(version)
}

/// Appends magic and version.
pub(crate) fn write_header(sink: &mut Sink, magic: u64, version: u64) {
    write_uleb128(sink, magic);
    write_uleb128(sink, version);
}

/// Reads a summary.
pub(crate) fn read_summary(cursor: &mut Cursor<'_>) -> Result<Summary> {
    let mut summary = Summary {
        total: read_uleb128(cursor, "total count")?,
        max: read_uleb128(cursor, "largest count")?,
        max_head: read_uleb128(cursor, "largest head")?,
        counts: read_uleb128(cursor, "number of counts")?,
        functions: read_uleb128(cursor, "number of functions")?,
        rows: Vec::new(),
    };
    for _ in 0..read_uleb128(cursor, "number of summary rows")? {
        summary.rows.push(SummaryRow {
            cutoff: read_cut(cursor, "cutoff")?,
            min_count: read_uleb128(cursor, "smallest count of a cutoff")?,
            counts: read_uleb128(cursor, "counts of a cutoff")?,
        });
    }
    Ok(summary)
}

/// Appends a summary.
pub(crate) fn write_summary(sink: &mut Sink, summary: &Summary) {
    for value in [summary.total, summary.max, summary.max_head, summary.counts, summary.functions] {
        write_uleb128(sink, value);
    }
    write_uleb128(sink, summary.rows.len() as u64);
    for row in &summary.rows {
        write_uleb128(sink, u64::from(row.cutoff));
        write_uleb128(sink, row.min_count);
        write_uleb128(sink, row.counts);
    }
}

/// How names are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameForm {
    /// Strings that end in a NUL.
    Strings,
    /// MD5 hashes as ULEB128 numbers.
    Hashes,
    /// MD5 hashes of eight bytes.
    FixedHashes,
}

/// Reads a table of names.
pub(crate) fn read_names(
    cursor: &mut Cursor<'_>,
    form: NameForm,
    names: &mut Names,
    rules: Rules,
    limits: &Limits,
) -> Result<Vec<NameId>> {
    let count = read_uleb128(cursor, "number of names")?;
    // Each name takes a byte at least.
    let least = if form == NameForm::FixedHashes { 8 } else { 1 };
    if count > cursor.left() / least {
        return Err(cursor.place(Error::truncated("names", count.saturating_mul(least), cursor.left())));
    }
    let mut table = Vec::new();
    memory::reserve(&mut table, count as usize, HOLD_NAMES)?;
    for _ in 0..count {
        table.push(match form {
            NameForm::Strings => names.insert(FunctionName::Text(read_string(cursor, limits)?)),
            NameForm::Hashes => insert_hash(names, read_uleb128(cursor, "MD5 of a name")?, rules),
            NameForm::FixedHashes => insert_hash(names, cursor.u64("MD5 of a name")?, rules),
        });
    }
    names.check_memory()?;
    Ok(table)
}

/// Up to LLVM 17 a hash becomes the string of its digits.
fn insert_hash(names: &mut Names, hash: u64, rules: Rules) -> NameId {
    if rules.keeps_hashes() {
        names.insert(FunctionName::Hash(hash))
    } else {
        names.insert(FunctionName::Text(hash.to_string().as_bytes()))
    }
}

/// A string and the NUL behind it.
pub(crate) fn read_string<'data>(cursor: &mut Cursor<'data>, limits: &Limits) -> Result<&'data [u8]> {
    let Some(len) = cursor.rest().iter().position(|byte| *byte == 0) else {
        return Err(cursor.place(Error::truncated("a name and the NUL behind it", cursor.left() + 1, cursor.left())));
    };
    if len as u64 > limits.name_bytes {
        let (found, limit) = (len as u64, limits.name_bytes);
        return Err(cursor.place(ErrorKind::LimitExceeded { what: "length of a name", found, limit }.into()));
    }
    let text = cursor.take("name", len as u64)?;
    cursor.take("NUL behind a name", 1)?;
    Ok(text)
}

/// Which names of a profile a file holds, in which order.
#[derive(Debug, Default)]
pub(crate) struct NameTable {
    /// The names in the order of the file.
    pub(crate) names: Vec<NameId>,
    /// Index in the file of each name of the profile that is in it.
    pub(crate) index: Vec<u32>,
}

/// Collects names that are used.
#[derive(Debug)]
pub(crate) struct NameCollector<'a> {
    names: &'a Names,
    used: Vec<bool>,
}

impl<'a> NameCollector<'a> {
    pub(crate) fn new(names: &'a Names) -> Self {
        Self { names, used: vec![false; names.len()] }
    }

    pub(crate) fn add(&mut self, name: NameId) {
        self.used[name.index()] = true;
    }

    /// The table, in the order of names.
    pub(crate) fn finish(self) -> NameTable {
        let mut names: Vec<NameId> = self.names.ids().filter(|name| self.used[name.index()]).collect();
        names.sort_unstable_by(|a, b| self.names.compare(*a, *b));
        let mut index = vec![u32::MAX; self.names.len()];
        for (at, name) in names.iter().enumerate() {
            index[name.index()] = at as u32;
        }
        NameTable { names, index }
    }
}

/// Appends a table of names as strings.
pub(crate) fn write_names(sink: &mut Sink, names: &Names, table: &[NameId]) {
    write_uleb128(sink, table.len() as u64);
    for name in table {
        sink.bytes(&names.get(*name).to_bytes());
        sink.u8(0);
    }
}
