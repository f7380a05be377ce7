//! Synthetic profiles: files of any family and format, made from a seed.
//!
//! ```text
//! Request ─▶ Generator ─▶ model of the family ─▶ its writer ─▶ Generated: bytes, totals
//!  format, release,        instr, samples,                        │
//!  kinds, sizes, seed      memory, iprof, stacks                  └─▶ damage
//! ```
//!
//! The same request gives the same bytes on every machine and in every later version of one major release. Files of one
//! request are runs of one program: they have the same functions and different counts.
//!
//! ```
//! use profbridge::generate::{Format, Generator, Request};
//!
//! let mut request = Request::new(Format::Text);
//! request.functions = 3;
//! let file = Generator::new(&request)?.file(1)?;
//! assert_eq!(file.totals["functions"], 3);
//! assert_eq!(file.bytes, Generator::new(&request)?.file(1)?.bytes);
//! # Ok::<(), profbridge::Error>(())
//! ```

mod damage;
mod generated;
mod instr;
mod iprof;
mod kind;
mod memory;
mod names;
mod random;
mod request;
mod samples;
mod stacks;
#[cfg(test)]
mod tests;

pub use damage::{Damage, DamageReport};
pub use generated::Generated;
pub use kind::{Format, Kind};
pub use random::Random;
pub use request::{Generator, Request};

use crate::error::Result;
use crate::input::Family;

impl Generator {
    /// Generates a file. `number` counts from 1; other numbers have other counts of the same functions.
    ///
    /// # Errors
    ///
    /// A usage error for a kind that the format cannot store in this version; the errors of the writer.
    pub fn file(&self, number: u32) -> Result<Generated> {
        match self.request.format.family() {
            Family::SampleProf => samples::file(self, number),
            Family::MemProf => memory::file(self, number),
            Family::Iprof => iprof::file(self, number),
            Family::Stacks => stacks::file(self, number),
            _ => instr::file(self, number),
        }
    }
}
