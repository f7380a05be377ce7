//! The constant pools of a chunk.
//!
//! They come in events of type 1, each with the distance to the one before it;
//! the chunk's header knows the last. An event holds several pools: a type, a
//! number of constants, and for each a key and the value's fields.

use super::chunk::Chunk;
use super::metadata::{ClassIndex, Types};
use crate::error::{Error, Result};
use crate::memory::{self, HOLD_STACKS};
use foldhash::{HashMap, HashMapExt};

/// Where the constants stand that samples refer to.
#[derive(Debug, Default)]
pub(super) struct Pools {
    /// By class, then by key: offset of the value in the chunk.
    constants: HashMap<ClassIndex, HashMap<u64, u64>>,
}

/// Classes whose constants are remembered; all others are passed over.
const WANTED: [&str; 8] = [
    "jdk.types.StackTrace",
    "jdk.types.StackFrame",
    "jdk.types.Method",
    "jdk.types.Symbol",
    "jdk.types.FrameType",
    "java.lang.Class",
    "java.lang.Thread",
    "java.lang.String",
];

impl Pools {
    /// Walks the chain of constant-pool events from the last to the first.
    ///
    /// # Errors
    ///
    /// Truncated or malformed, with the place; a chain that does not go
    /// backwards is malformed.
    pub(super) fn read(chunk: &Chunk<'_>, types: &mut Types) -> Result<Self> {
        let mut pools = Self::default();
        for name in WANTED {
            if let Some(class) = types.by_name(name) {
                pools.constants.insert(class, HashMap::new());
            }
        }
        if chunk.pools_offset == 0 {
            return Ok(pools);
        }
        let mut offset = chunk.pools_offset;
        loop {
            let distance = pools.read_event(chunk, types, offset)?;
            if distance == 0 {
                return Ok(pools);
            }
            // The distance is a negative number: the chain goes backwards, so it ends.
            let before = offset.checked_add_signed(distance as i64).filter(|before| *before < offset);
            offset = before.ok_or_else(|| {
                let detail = format!(
                    "the constant pool before this one is {} bytes away, expected a negative distance",
                    distance as i64
                );
                Error::malformed(detail).at("constant pools", chunk.base.saturating_add(offset))
            })?;
        }
    }

    fn read_event(&mut self, chunk: &Chunk<'_>, types: &mut Types, offset: u64) -> Result<u64> {
        let event = chunk.event(offset, "constant pools")?;
        let mut reader = event.reader;
        if event.type_id != 1 {
            let detail = format!("the event at a constant-pool offset has type {}, expected 1", event.type_id);
            return Err(reader.place(Error::malformed(detail)));
        }
        reader.long("start of constant pools")?;
        reader.long("duration of constant pools")?;
        let distance = reader.long("distance to the constant pools before")?;
        reader.byte("type of constant pools")?;
        for _ in 0..reader.count("number of constant pools")? {
            let class_id = reader.long("type of constants")?;
            let class = types.by_id(class_id).ok_or_else(|| {
                let detail = format!("constants have type {class_id}, which the metadata does not describe");
                reader.place(Error::malformed(detail))
            })?;
            types.prepare(class).map_err(|error| reader.place(error))?;
            let count = reader.count("number of constants")?;
            let mut wanted = self.constants.get_mut(&class);
            for _ in 0..count {
                let key = reader.long("key of a constant")?;
                let at = reader.position() - chunk.base;
                types.skip_value(class, &mut reader)?;
                if let Some(constants) = &mut wanted {
                    // The walk goes backwards: what is there already is younger.
                    memory::reserve(*constants, 1, HOLD_STACKS)?;
                    constants.entry(key).or_insert(at);
                }
            }
        }
        Ok(distance)
    }

    /// Offset in the chunk of a constant.
    pub(super) fn find(&self, class: ClassIndex, key: u64) -> Option<u64> {
        self.constants.get(&class)?.get(&key).copied()
    }
}
