//! Checksums and attributes of functions.

use super::sections::{Section, flags};
use super::tables::Tables;
use crate::bytes::leb128::{read_uleb128, write_uleb128};
use crate::bytes::{Cursor, Sink};
use crate::error::{ErrorKind, Result};
use crate::memory::{self, HOLD_RECORDS};
use crate::sampleprof::binary::body::{BodyWriter, read_cut, read_index, read_u32};
use crate::sampleprof::names::NameId;
use crate::sampleprof::order;
use crate::sampleprof::record::{FunctionRecord, LineLocation, MAX_INLINE_DEPTH};

/// How metadata is read.
pub(super) struct MetadataReader<'a> {
    names: &'a [NameId],
    has_checksums: bool,
    has_attributes: bool,
    in_contexts: bool,
}

impl<'a> MetadataReader<'a> {
    /// As the flags of its section say.
    pub(super) fn new(section: &Section, tables: &'a Tables) -> Self {
        Self {
            names: &tables.names,
            has_checksums: section.has(flags::PROBES),
            has_attributes: section.has(flags::ATTRIBUTES),
            in_contexts: tables.in_contexts,
        }
    }

    /// Reads what belongs to a record; without one it is passed over.
    pub(super) fn read(&self, cursor: &mut Cursor<'_>, record: Option<&mut FunctionRecord>) -> Result<()> {
        self.read_at(cursor, record, 0)
    }

    fn read_at(&self, cursor: &mut Cursor<'_>, record: Option<&mut FunctionRecord>, depth: usize) -> Result<()> {
        if depth > MAX_INLINE_DEPTH {
            let (found, limit) = (depth as u64, MAX_INLINE_DEPTH as u64);
            return Err(
                cursor.place(ErrorKind::LimitExceeded { what: "depth of inlined callees", found, limit }.into())
            );
        }
        // As for LLVM, a section may end behind any reference.
        if cursor.is_empty() {
            return Ok(());
        }
        let mut record = record;
        if self.has_checksums {
            let checksum = read_uleb128(cursor, "checksum")?;
            if let Some(record) = record.as_deref_mut().filter(|_| checksum != 0) {
                record.checksum = checksum;
            }
        }
        if self.has_attributes {
            let attributes = read_u32(cursor, "attributes")?;
            if let Some(record) = record.as_deref_mut() {
                record.attributes = attributes;
            }
        }
        if self.in_contexts {
            return Ok(());
        }
        for _ in 0..read_u32(cursor, "number of inlined callees")? {
            let line = read_cut(cursor, "line of an inlined callee")?;
            let discriminator = read_cut(cursor, "discriminator of an inlined callee")?;
            let name = read_index(cursor, self.names)?;
            let callee = match record.as_deref_mut() {
                Some(record) => {
                    memory::reserve(&mut record.call_sites, 1, HOLD_RECORDS)?;
                    let at = record.call_site_at(LineLocation::new(line, discriminator), name);
                    Some(&mut record.call_sites[at].callee)
                }
                None => None,
            };
            self.read_at(cursor, callee, depth + 1)?;
        }
        Ok(())
    }
}

/// How metadata is written.
pub(super) struct MetadataWriter<'a> {
    pub(super) bodies: BodyWriter<'a>,
    pub(super) with_checksums: bool,
    pub(super) with_attributes: bool,
    pub(super) in_contexts: bool,
}

impl MetadataWriter<'_> {
    /// Appends what belongs to a record, behind its reference.
    pub(super) fn write(&self, sink: &mut Sink, record: &FunctionRecord) {
        if self.with_checksums {
            write_uleb128(sink, record.checksum);
        }
        if self.with_attributes {
            write_uleb128(sink, u64::from(record.attributes));
        }
        if self.in_contexts {
            return;
        }
        write_uleb128(sink, record.call_sites.len() as u64);
        for site in order::call_sites(self.bodies.names, record) {
            self.bodies.location(sink, site.location);
            self.bodies.name(sink, site.callee.name);
            self.write(sink, &site.callee);
        }
    }
}
