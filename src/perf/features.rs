//! Descriptions of the machine and the run in a recording.

use super::attributes::{Attribute, Attributes};
use super::records::{MISC_BUILD_ID, until_zero};
use crate::bytes::{Cursor, Endian};
use crate::error::Result;

/// Ids of features.
mod feature {
    pub(super) const BUILD_ID: u32 = 2;
    pub(super) const HOSTNAME: u32 = 3;
    pub(super) const OS_RELEASE: u32 = 4;
    pub(super) const VERSION: u32 = 5;
    pub(super) const ARCH: u32 = 6;
    pub(super) const CPU: u32 = 8;
    pub(super) const COMMAND_LINE: u32 = 11;
    pub(super) const EVENT_DESC: u32 = 12;
    pub(super) const DIRECTORY: u32 = 24;
}

/// The bit of `misc` that marks a build id with a size. It is bit 15 there.
const MISC_BUILD_ID_SIZE: u16 = MISC_BUILD_ID << 1;

/// The build id of a mapped file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BuildId {
    /// The path, as in the mapping.
    pub(crate) path: Vec<u8>,
    /// The id.
    pub(crate) id: Vec<u8>,
}

/// Descriptions of the machine and the run. Empty if the recording has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Features {
    /// The name of the machine.
    pub(crate) host: String,
    /// The release of its kernel.
    pub(crate) os_release: String,
    /// The release of perf.
    pub(crate) perf_version: String,
    /// The architecture, such as `x86_64`.
    pub(crate) arch: String,
    /// The processor.
    pub(crate) cpu: String,
    /// The command line of `perf record`.
    pub(crate) command_line: Vec<String>,
    /// Build ids of files with samples.
    pub(crate) build_ids: Vec<BuildId>,
    /// Whether the samples are in other files of a directory.
    pub(crate) is_directory: bool,
}

impl Features {
    /// Reads the content of a feature. Skips unknown features.
    ///
    /// # Errors
    ///
    /// Truncated.
    pub(super) fn read(
        &mut self,
        number: u32,
        content: &[u8],
        offset: u64,
        endian: Endian,
        attributes: &mut Attributes,
    ) -> Result<()> {
        let mut cursor = Cursor::new(content, offset, endian, "features");
        match number {
            feature::BUILD_ID => self.read_build_ids(cursor)?,
            feature::HOSTNAME => self.host = text(&mut cursor)?,
            feature::OS_RELEASE => self.os_release = text(&mut cursor)?,
            feature::VERSION => self.perf_version = text(&mut cursor)?,
            feature::ARCH => self.arch = text(&mut cursor)?,
            feature::CPU => self.cpu = text(&mut cursor)?,
            feature::COMMAND_LINE => {
                self.command_line.clear();
                for _ in 0..cursor.u32("number of arguments")? {
                    self.command_line.push(text(&mut cursor)?);
                }
            }
            feature::EVENT_DESC => read_events(cursor, attributes)?,
            feature::DIRECTORY => self.is_directory = true,
            _ => {}
        }
        Ok(())
    }

    /// Reads consecutive records of build ids.
    fn read_build_ids(&mut self, mut cursor: Cursor<'_>) -> Result<()> {
        while cursor.left() >= 8 {
            cursor.u32("type")?;
            let (misc, size) = (cursor.u16("misc")?, cursor.u16("size")?);
            let body = cursor.take("build id", u64::from(size).saturating_sub(8))?;
            if size < 8 {
                break;
            }
            self.add_build_id(misc, body);
        }
        Ok(())
    }

    /// Adds the build id of a record without its header.
    pub(super) fn add_build_id(&mut self, misc: u16, body: &[u8]) {
        let Some((id, path)) = body.get(4..).and_then(|rest| rest.split_at_checked(24)) else { return };
        let len = match misc & MISC_BUILD_ID_SIZE {
            0 => 20,
            _ => usize::from(id[20]).min(20),
        };
        let path = until_zero(path).to_vec();
        if let Some(id) = id.get(..len).filter(|id| id.iter().any(|byte| *byte != 0)) {
            self.build_ids.push(BuildId { path, id: id.to_vec() });
        }
    }
}

/// Reads a string: its length, and its bytes up to the first zero.
fn text(cursor: &mut Cursor<'_>) -> Result<String> {
    let len = cursor.u32("length of a string")?;
    Ok(String::from_utf8_lossy(until_zero(cursor.take("string", len.into())?)).into_owned())
}

/// Reads the names of events, which refer to attributes by id.
fn read_events(mut cursor: Cursor<'_>, attributes: &mut Attributes) -> Result<()> {
    let (events, size) = (cursor.u32("number of events")?, cursor.u32("attribute size")?);
    for at in 0..events {
        cursor.take("event attribute", size.into())?;
        let ids = cursor.u32("number of ids")?;
        let name = text(&mut cursor)?;
        let mut known = false;
        for _ in 0..ids {
            let id = cursor.u64("id")?;
            known = known || attributes.find(id).is_some();
            attributes.name(id, &name);
        }
        if !known {
            attributes.name_at(at as usize, &name);
        }
    }
    Ok(())
}

/// Reads an attribute in a record: its size, its fields, and ids up to the end.
///
/// # Errors
///
/// Truncated; limit exceeded.
pub(super) fn read_attribute_record(
    body: &[u8],
    offset: u64,
    endian: Endian,
    attributes: &mut Attributes,
) -> Result<()> {
    let mut cursor = Cursor::new(body, offset, endian, "attributes");
    cursor.u32("type")?;
    let size = cursor.u32("attribute size")?;
    let mut cursor = Cursor::new(body, offset, endian, "attributes");
    let attribute = Attribute::read(cursor.take("event attribute", size.into())?, offset, endian)?;
    let ids = cursor.rest().as_chunks::<8>().0;
    attributes.add(attribute, ids.iter().map(|id| endian.u64(*id)))
}
