//! Whether the index of a hash table agrees with its payload.
//!
//! A walk does not use the index and a lookup uses nothing else, so that a
//! damaged index goes unnoticed by merges and fails compilers.

use super::lookup::{Item, Table};
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, Result};
use crate::model::name_ref;

impl Table<'_> {
    /// Walks the payload bucket by bucket and compares with the index.
    ///
    /// # Errors
    ///
    /// Malformed for the first disagreement.
    pub(super) fn verify(&self) -> Result<()> {
        self.check_index()?;
        let mut cursor = Cursor::new(self.payload, self.payload_offset, Endian::Little, "hash table");
        let mut entries = 0u64;
        for (bucket, offset) in self.bucket_offsets().enumerate().filter(|(_, offset)| *offset != 0) {
            if offset != cursor.position() {
                let detail = format!("the index puts bucket {bucket} at {offset:#x}, it can only be here");
                return Err(cursor.place(Error::malformed(detail)));
            }
            let items = cursor.u16("items of the bucket")?;
            for _ in 0..items {
                self.verify_item(&mut cursor, bucket as u64)?;
            }
            entries += u64::from(items);
        }
        if entries != self.entries() {
            let detail = format!("the index counts {} entries, its buckets hold {entries}", self.entries());
            return Err(Error::malformed(detail).at("hash table index", self.index_offset));
        }
        if cursor.left() >= 8 || cursor.rest().iter().any(|byte| *byte != 0) {
            let detail = format!("{} bytes before the index belong to no bucket", cursor.left());
            return Err(cursor.place(Error::malformed(detail)));
        }
        Ok(())
    }

    fn verify_item(&self, cursor: &mut Cursor<'_>, bucket: u64) -> Result<()> {
        let place = cursor.clone();
        let item = Item::read(cursor)?;
        let hash = name_ref(item.name);
        let malformed = |detail: String| Err(place.place(Error::malformed(detail)));
        if item.name_ref != hash {
            let name = item.name.escape_ascii();
            return malformed(format!("the key hash of {name} is {:#x}, its MD5 says {hash:#x}", item.name_ref));
        }
        let expected = hash & (self.bucket_offsets().len() as u64 - 1);
        if expected != bucket {
            let name = item.name.escape_ascii();
            return malformed(format!(
                "{name} is in bucket {bucket}, where no lookup finds it, rather than {expected}"
            ));
        }
        Ok(())
    }
}
