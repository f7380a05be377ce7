//! An order of functions in which a program's start touches few pages.
//!
//! From the temporal traces of a profile: functions that ran at about the same
//! time in many runs are put side by side, by recursive balanced bisection
//! (`partition`). The result is that of `llvm-profdata order` to the byte.

mod partition;

pub use partition::Node;

use crate::error::{Error, Result};
use crate::model::{NameRef, ProfileReader, TemporalProfile, TemporalTrace};
use crate::number_format::exponential;
use hashbrown::{HashMap, HashSet};
use serde::Serialize;
use std::io::{self, Write};

/// Functions that are taken to fit on one page, their sizes being unknown.
const FUNCTIONS_PER_PAGE: usize = 32;

/// How functions are ordered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OrderOptions {
    /// The last traces are set aside and the order is judged by them. Default: 0.
    pub test_traces: usize,
}

/// The order, and how good it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Order {
    /// Functions, first to last.
    pub functions: Vec<OrderedFunction>,
    /// Page touches summed up over the test traces after each function; `None`
    /// when no trace was set aside.
    pub page_fault_area: Option<f64>,
}

/// One line of the order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OrderedFunction {
    /// The file of a local function (`file;name`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The symbol, bytes that are not UTF-8 replaced.
    pub name: String,
    #[serde(skip)]
    raw: (Vec<u8>, Vec<u8>),
}

/// Orders the functions that occur in a profile's traces.
///
/// `reader` is read to its end; a fault on the way ends the run.
///
/// # Errors
///
/// Those of the reader; usage when as many traces are set aside as there are.
pub fn order(reader: &mut dyn ProfileReader, options: &OrderOptions) -> Result<Order> {
    while reader.next_record()?.is_some() {}
    order_traces(reader, options)
}

/// As [`order`], for a reader whose records were read already.
///
/// # Errors
///
/// As [`order`].
pub fn order_traces(reader: &mut dyn ProfileReader, options: &OrderOptions) -> Result<Order> {
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
    let functions = order.iter().map(|id| OrderedFunction::new(symbols.name(*id).unwrap_or_default())).collect();
    Ok(Order { functions, page_fault_area })
}

/// The functions of the traces, in their order.
pub fn order_nodes(traces: &[TemporalTrace]) -> Vec<NameRef> {
    let mut nodes = partition::nodes_of(traces);
    partition::run(&mut nodes);
    nodes.into_iter().map(|node| node.id).collect()
}

/// Sums up, over all traces and after each function of them that is in the
/// order, the pages touched so far. 32 bits, and printed in single precision.
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
    /// Splits `file;name`; a name that ends with the semicolon has no file.
    fn new(pgo_name: &[u8]) -> Self {
        let (file, name) = match pgo_name.iter().position(|b| *b == b';') {
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
    /// Writes the lines of `llvm-profdata order`: comments, then one symbol each.
    ///
    /// # Errors
    ///
    /// Those of `out`.
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
