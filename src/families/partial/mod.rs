//! Partial merges of every family: made of inputs, joined, finished.
//!
//! [`Partial`] is a merge that has not ended. For any split of the inputs into partial merges, and any tree of merging
//! these, [`finish`](Partial::finish) gives the result of one merge, as long as the inputs stay in order.
//!
//! ```
//! use profbridge::input::{Family, Input};
//! use profbridge::families::partial::{Finished, Partial, PartialOptions};
//!
//! let options = PartialOptions::default();
//! let dump = |name: &str, count: u64| Input::from_bytes(name, format!(":ir\nmain\n1\n1\n{count}\n").into_bytes());
//! // On two machines …
//! let first = Partial::of(&[dump("a", 5), dump("b", 6)], Family::Instr, &options)?.to_bytes()?;
//! let second = Partial::of(&[dump("c", 7)], Family::Instr, &options)?.to_bytes()?;
//! // … and on a third.
//! let mut all = Partial::from_bytes(&first, &options)?;
//! all.append(Partial::from_bytes(&second, &options)?)?;
//! let Finished::Instr(report) = all.finish(&options)? else { panic!("a merge of another family") };
//! report.verdict(&options.instr)?;
//! let main = report.profile.functions.find(b"main").expect("it was in all of them");
//! assert_eq!(main.records().next().expect("one record").counters, [18]);
//! # Ok::<(), profbridge::Error>(())
//! ```

mod any;
mod describe;
mod options;
mod stored_inputs;

pub use crate::instr::partial::files::{finish, merge_partially, open, write_file};
pub use any::{Finished, Partial};
pub use options::PartialOptions;
pub(crate) use stored_inputs::open_each;
pub(crate) use stored_inputs::{encode_kept, keep_inputs};
pub use stored_inputs::{kept_inputs, open_kept};

pub(crate) use describe::{check, check_bare, describe_any, describe_bare};
