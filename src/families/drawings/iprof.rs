//! An iprof for reports and flame graphs.

use super::content::{Content, Drawn};
use crate::bridge::stacks::{IprofHits, stacks_from_iprof};
use crate::call_chains::Selection;
use crate::error::{Error, Result};
use crate::families::read::stacks::{StackOptions, read_iprof, without_addresses};
use crate::hint::Hint;
use crate::input::{Access, Input};
pub use crate::iprof::IprofContent;

/// Reads one iprof: what several say together takes a merge.
pub(crate) fn draw(inputs: &[Input], options: &StackOptions, _: &Selection) -> Result<Drawn> {
    let [input] = inputs else {
        let path = inputs.get(1).map(|input| input.path.clone()).unwrap_or_default();
        return Err(Error::usage("several iprof files were given, but a report shows one")
            .with_hint(Hint::MergeFirst)
            .in_file(path));
    };
    let in_file = |error: Error| error.in_file(&input.path);
    let data = input.bytes(Access::Read, &options.limits)?;
    let (document, warnings) = read_iprof(&data, &options.limits).map_err(in_file)?;
    let (samples, _) = stacks_from_iprof(&document, IprofHits::Samples)?;
    let (calls, _) = stacks_from_iprof(&document, IprofHits::CallCounts)?;
    let content = IprofContent { document, samples: without_addresses(&samples), calls };
    Ok((Content::Iprof(content), warnings.into_iter().map(|warning| warning.in_file(&input.path)).collect()))
}
