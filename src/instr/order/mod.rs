//! A function order with which the startup of a program touches few pages.
//!
//! Functions that ran at about the same time in many temporal traces are placed next to each other, by recursive
//! balanced bisection (`partition`). The order is that of `llvm-profdata order` of LLVM 22.

mod partition;

pub use partition::Node;

use crate::compat::Compat;
use crate::error::{Error, Result};
use crate::model::{NameRef, ProfileReader, TemporalProfile, TemporalTrace};
use crate::names::split_local;
use crate::number_format::exponential;
use hashbrown::{HashMap, HashSet};
use serde::Serialize;
use std::io::{self, Write};

/// The assumed number of functions per page, because their sizes are unknown.
const FUNCTIONS_PER_PAGE: usize = 32;

/// Options for ordering functions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OrderOptions {
    /// The number of last traces that are set aside to evaluate the order. Default: 0.
    pub test_traces: usize,
}

/// The order and its quality.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Order {
    /// Functions, first to last.
    pub functions: Vec<OrderedFunction>,
    /// The sum of page touches over the test traces after each function; `None` if no trace was set aside.
    pub page_fault_area: Option<f64>,
}

/// One line of the order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OrderedFunction {
    /// The file of a local function (`file;name`, or `file:name` of LLVM up to 17).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The symbol, bytes that are not UTF-8 replaced.
    pub name: String,
    #[serde(skip)]
    raw: (Vec<u8>, Vec<u8>),
}

/// Orders the functions that occur in a profile's traces.
///
/// `reader` is read to its end; a fault ends the run.
///
/// # Errors
///
/// The errors of the reader; a usage error if all traces are set aside.
pub fn order(reader: &mut dyn ProfileReader, options: &OrderOptions) -> Result<Order> {
    while reader.next_record()?.is_some() {}
    order_traces(reader, options, Compat::Profbridge)
}

/// Like [`order`], for a reader whose records were already read.
///
/// # Errors
///
/// The errors of [`order`].
pub(crate) fn order_traces(reader: &mut dyn ProfileReader, options: &OrderOptions, compat: Compat) -> Result<Order> {
    let TemporalProfile { traces, .. } = reader.temporal();
    if options.test_traces > 0 && options.test_traces >= traces.len() {
        return Err(Error::usage(format!(
            "--num-test-traces must be smaller than the total number of traces: expected: < {}, actual: {}",
            traces.len(),
            options.test_traces
        )));
    }
    let (used, tests) = traces.split_at(traces.len() - options.test_traces);
    let order = order_nodes(used);
    let page_fault_area = (!tests.is_empty()).then(|| page_fault_area(&order, tests));
    let symbols = reader.symbols()?;
    let function = |id: &NameRef| OrderedFunction::new(symbols.name(*id).unwrap_or_default(), compat);
    Ok(Order { functions: order.iter().map(function).collect(), page_fault_area })
}

/// Orders the functions of the traces.
pub(crate) fn order_nodes(traces: &[TemporalTrace]) -> Vec<NameRef> {
    let mut nodes = partition::nodes_of(traces);
    partition::run(&mut nodes);
    nodes.into_iter().map(|node| node.id).collect()
}

/// Sums, over all traces and after each of their functions that is in the order, the number of pages touched so far.
/// The sum has 32 bits and is printed in single precision.
fn page_fault_area(order: &[NameRef], traces: &[TemporalTrace]) -> f64 {
    let pages: HashMap<NameRef, usize, foldhash::fast::FixedState> =
        order.iter().enumerate().map(|(at, id)| (*id, at / FUNCTIONS_PER_PAGE)).collect();
    let mut area = 0u32;
    for trace in traces {
        let mut touched: HashSet<usize, foldhash::fast::FixedState> = HashSet::default();
        for page in trace.functions.iter().filter_map(|id| pages.get(id)) {
            touched.insert(*page);
            area = area.wrapping_add(touched.len() as u32);
        }
    }
    f64::from(area as f32)
}

impl OrderedFunction {
    /// Splits the name of a local function. A name that ends with the separator has no file.
    fn new(pgo_name: &[u8], compat: Compat) -> Self {
        let (file, name) = match pgo_name.iter().position(|b| *b == b';') {
            _ if compat.splits_names_at_colons() => split_local(pgo_name),
            Some(at) if at + 1 < pgo_name.len() => (&pgo_name[..at], &pgo_name[at + 1..]),
            _ => (&[][..], pgo_name),
        };
        Self {
            file: (!file.is_empty()).then(|| String::from_utf8_lossy(file).into_owned()),
            name: String::from_utf8_lossy(name).into_owned(),
            raw: (file.to_vec(), name.to_vec()),
        }
    }
}

impl Order {
    /// Writes the lines of `llvm-profdata order`: comments, then one symbol per line.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "# Ordered {} functions", self.functions.len())?;
        if let Some(area) = self.page_fault_area {
            writeln!(out, "# Total area under the page fault curve: {}", exponential(area))?;
        }
        writeln!(
            out,
            "# Warning: Mach-O may prefix symbols with \"_\" depending on the linkage and this output does not take \
             that into account. Some post-processing may be required before passing to the linker via -order_file."
        )?;
        for OrderedFunction { raw: (file, name), .. } in &self.functions {
            if !file.is_empty() {
                out.write_all(&[b"# ", file.as_slice(), b"\n"].concat())?;
            }
            out.write_all(name)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
