//! What stands in front of the records of an extensible binary, and what
//! references in them lead to.

use super::sections::{Section, flags};
use crate::bytes::Cursor;
use crate::bytes::leb128::read_uleb128;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{self, HOLD_RECORDS};
use crate::sampleprof::ReadOptions;
use crate::sampleprof::binary::body::{BodyReader, read_cut, read_index};
use crate::sampleprof::binary::tables::{NameForm, read_names};
use crate::sampleprof::error::name_index;
use crate::sampleprof::names::NameId;
use crate::sampleprof::profile::{SampleProfile, StatedKind};
use crate::sampleprof::record::{Frame, FunctionRecord, LineLocation};

/// Names, contexts and switches that were read so far.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) names: Vec<NameId>,
    contexts: Vec<Box<[Frame]>>,
    pub(super) in_contexts: bool,
    has_vtables: bool,
    flow_sensitive: bool,
}

impl Tables {
    /// Takes note of the flags of a summary.
    pub(super) fn learn_kind(&mut self, section: &Section, options: &ReadOptions, stated: &mut StatedKind) {
        stated.partial |= section.has(flags::PARTIAL);
        if section.has(flags::CONTEXTS) {
            stated.context_sensitive = Some(true);
            self.in_contexts = true;
        }
        if section.has(flags::PREINLINED) && options.reads_preinlined_flag() {
            stated.preinlined = Some(true);
        }
        if section.has(flags::FLOW_SENSITIVE) {
            stated.flow_sensitive = Some(true);
            self.flow_sensitive = true;
        }
        self.has_vtables |= section.has(flags::VTABLES) && options.reads_vtables();
    }

    /// Reads names, which take the place of those before.
    pub(super) fn read_names(
        &mut self,
        section: &Section,
        cursor: &mut Cursor<'_>,
        options: &ReadOptions,
        profile: &mut SampleProfile,
    ) -> Result<()> {
        let form = if section.has(flags::FIXED_MD5) {
            NameForm::FixedHashes
        } else if section.has(flags::MD5) {
            NameForm::Hashes
        } else {
            NameForm::Strings
        };
        profile.stated.hashed |= form != NameForm::Strings;
        self.names = read_names(cursor, form, &mut profile.names, options.rules, &options.limits)?;
        Ok(())
    }

    /// Reads contexts, which take the place of those before.
    pub(super) fn read_contexts(&mut self, cursor: &mut Cursor<'_>, options: &ReadOptions) -> Result<()> {
        let count = read_uleb128(cursor, "number of contexts")?;
        if count > cursor.left() {
            return Err(cursor.place(Error::truncated("contexts", count, cursor.left())));
        }
        let limit = u64::from(options.limits.context_depth);
        self.contexts.clear();
        for _ in 0..count {
            let frames = read_uleb128(cursor, "number of frames")?;
            if frames > cursor.left() / 3 {
                return Err(cursor.place(Error::truncated("frames", frames.saturating_mul(3), cursor.left())));
            }
            if frames > limit {
                let kind = ErrorKind::LimitExceeded { what: "number of frames of a context", found: frames, limit };
                return Err(cursor.place(kind.into()));
            }
            let frames = memory::try_collect((0..frames).map(|_| self.frame(cursor, options)), HOLD_RECORDS)?;
            memory::push(&mut self.contexts, frames.into(), HOLD_RECORDS)?;
        }
        Ok(())
    }

    fn frame(&self, cursor: &mut Cursor<'_>, options: &ReadOptions) -> Result<Frame> {
        let function = read_index(cursor, &self.names)?;
        let line = read_cut(cursor, "line of a frame")?;
        if line >= 1 << 16 {
            let error = Error::malformed(format!("line {line} of a frame is not below 65536"));
            let words = "Illegal line offset in sample profile data";
            let named = options.rules.names_illegal_lines();
            return Err(cursor.place(if named { error.with_llvm_detail(words) } else { error }));
        }
        let discriminator = read_cut(cursor, "discriminator of a frame")?;
        Ok(Frame { function, location: LineLocation::new(line, discriminator) })
    }

    /// How bodies are read.
    pub(super) fn bodies(&self, options: &ReadOptions) -> BodyReader<'_> {
        BodyReader {
            names: &self.names,
            mask: options.discriminator_mask(self.flow_sensitive),
            has_vtables: self.has_vtables,
            names_illegal_lines: options.rules.names_illegal_lines(),
        }
    }

    /// Reads an index: an empty record of the function, or the context, that it
    /// stands for.
    pub(super) fn reference(&self, cursor: &mut Cursor<'_>) -> Result<FunctionRecord> {
        if !self.in_contexts {
            return Ok(FunctionRecord::new(read_index(cursor, &self.names)?));
        }
        let index = read_uleb128(cursor, "index of a context")?;
        let frames = usize::try_from(index).ok().and_then(|index| self.contexts.get(index));
        let frames = frames.ok_or_else(|| cursor.place(name_index(index, self.contexts.len())))?;
        FunctionRecord::in_context(frames.clone())
            .ok_or_else(|| cursor.place(Error::malformed("a context without frames")))
    }
}
