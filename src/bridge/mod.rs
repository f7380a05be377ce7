//! Converts profiles between the LLVM model and iprof, in both directions.
//!
//! ```text
//! iprof ── to_llvm ──▶ records whose names describe their counters
//!   ▲                        │ LLVM's own tools merge, show and compare them
//!   └────── to_iprof ◀───────┘
//! LLVM ─── to_iprof ─▶ standard sections, where LLVM's data fits their meaning
//!   ▲                  + the member `llvm`, which stores LLVM's records exactly
//!   └────── to_llvm ◀──┘
//! ```
//!
//! Tests (tests/bridge) check its laws: both round trips return the input; a merge by LLVM equals a merge as iprof;
//! data that cannot be converted is counted, and never dropped silently.
//!
//! ```
//! use profbridge::bridge::{ToIprofOptions, ToLlvmOptions, to_iprof, to_llvm};
//! use profbridge::iprof::{CountEntry, Document, Frame};
//!
//! let mut document = Document::new();
//! let (main, void) = (document.add_type(b"app.Main"), document.add_type(b"void"));
//! let method = document.add_method(b"run", &[main, void]);
//! let context = document.add_context(&[Frame { method, bci: 0 }]);
//! document.sections.call_counts.push(CountEntry { context, count: 3 });
//!
//! let (profile, losses) = to_llvm(&document, &ToLlvmOptions::default())?;
//! let run = profile.functions.find(b"app.Main#run()void").unwrap();
//! assert_eq!(run.records().next().unwrap().counters, [3]);
//! assert!(losses.is_empty());
//!
//! let (back, _) = to_iprof(&profile, &ToIprofOptions::default())?;
//! assert_eq!(back.sections.call_counts[0].count, 3);
//! # Ok::<(), profbridge::Error>(())
//! ```
//!
//! | file | content |
//! |---|---|
//! | `names`, `shape` | names and hashes of the bridge's records: types and methods, percent-encoded one to one |
//! | `records` | the counts of a document, and the records for them |
//! | `chain_order` | names with callers, one after the other in order |
//! | `decode` | converts the bridge's records back to iprof |
//! | `demangle`, `sections` | LLVM's own functions as methods, and their data as iprof sections |
//! | `extension`, `consistency` | the member `llvm`, and the comparison with the sections |
//! | `to_llvm`, `to_iprof` | both directions; splitting documents for a merge and joining them |
//! | [`stacks`] | sampled stacks of other profilers |

mod chain_order;
mod consistency;
mod decode;
mod demangle;
mod extension;
mod names;
mod records;
mod sections;
mod shape;
#[doc(hidden)]
pub mod stacks;
mod to_iprof;
mod to_llvm;

pub use consistency::Trust;
pub(crate) use extension::Extension;
pub use extension::MEMBER;
pub(crate) use to_iprof::ConvertedProfile;
pub use to_iprof::{ToIprofOptions, to_iprof};
pub use to_llvm::{Parts, ToLlvmOptions, join, split, to_llvm};
