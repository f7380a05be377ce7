//! The bridge between the LLVM model and iprof, both ways.
//!
//! ```text
//! iprof ── to_llvm ──▶ records that say in their names what they count
//!   ▲                        │ LLVM's own tools merge, show and compare them
//!   └────── to_iprof ◀───────┘
//! LLVM ─── to_iprof ─▶ standard sections where they are true
//!   ▲                  + the member `llvm`, which has everything exactly
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
//! | file | holds |
//! |---|---|
//! | `notation` | Java's types and methods as LLVM names, percent-encoded one to one |
//! | `record_name`, `shape` | names and hashes of the bridge's records |
//! | `content`, `records` | what a document counts; the records for it |
//! | `decode` | records of the bridge become iprof again |
//! | `demangle`, `sections` | LLVM's own functions as methods; their data as iprof sections |
//! | `extension`, `consistency` | the member `llvm`; whether the sections still agree with it |
//! | `documents` | merging documents that carry an LLVM profile |
//! | [`stacks`] | sampled stacks of other profilers |

mod consistency;
mod content;
mod decode;
pub mod demangle;
mod documents;
mod escape;
pub mod extension;
pub mod notation;
pub mod record_name;
mod records;
mod resolve_branches;
mod sections;
pub mod shape;
mod spelling;
pub mod stacks;
mod to_iprof;
mod to_llvm;

pub use consistency::Trust;
pub use documents::{Parts, carries_profile, join, split};
pub use records::PROFILE_KIND;
pub use to_iprof::{ToIprofOptions, to_iprof};
pub use to_llvm::{ToLlvmOptions, to_llvm};
