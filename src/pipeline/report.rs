//! Reports about files: opens them and hands their readers to the reports.

use super::merge::{MergeObserver, MergeOptions, merge_files};
use super::open::{ReadOptions, open_reader, outline_of, window_of_text};
use crate::error::{Error, Result, Warning};
use crate::input::{Access, Input, InputBytes};
use crate::instr::{FunctionTable, ProfileReader};
use crate::iprof::statistics::{self, FigureOptions, Statistics, repeats, statistics_from};
use crate::iprof::{self, Findings};
use crate::raw::LargeCounters;
use crate::report::order::{self, Order, OrderOptions};
use crate::report::overlap::{self, OverlapOptions, OverlapReport, Sums};
use crate::report::show::{self, ShowOptions, ShowReport};
use crate::text::{self, TextReader};
use std::io::Write;

/// A report and what is worth saying about the files it is from.
#[derive(Debug)]
#[non_exhaustive]
pub struct Reported<T> {
    /// The report.
    pub report: T,
    /// Warnings of the readers, with the files' paths.
    pub warnings: Vec<Warning>,
}

/// Shows a file as llvm-profdata does; what was read before a fault is written.
/// The report is how many functions `options` choose by name.
///
/// # Errors
///
/// Those of the file's reader, with its path; I/O when `out` fails.
pub fn show_file(
    input: impl Into<Input>,
    read: &ReadOptions,
    options: &ShowOptions,
    out: &mut (dyn Write + Send),
) -> Result<Reported<u64>> {
    with_reader(&input.into(), read, |reader| show::show(reader, options, &text::write_record, out))
}

/// The views of a file as data.
///
/// # Errors
///
/// Those of the file's reader, with its path.
pub fn collect_file(
    input: impl Into<Input>,
    read: &ReadOptions,
    options: &ShowOptions,
) -> Result<Reported<ShowReport>> {
    with_reader(&input.into(), read, |reader| show::collect(reader, options))
}

/// The statistics of an iprof. One that has something more than once is read a
/// second time.
///
/// # Errors
///
/// I/O, what makes the file invalid, and usage when no method matches what
/// callers or callees are asked of, all with the path.
pub fn iprof_statistics(input: impl Into<Input>, options: &FigureOptions) -> Result<(Statistics, Findings)> {
    let input = input.into();
    let in_file = |error: Error| error.in_file(&input.path);
    let (statistics, findings) = statistics_from(input.stream()?, options).map_err(in_file)?;
    if !repeats(&findings) {
        return Ok((statistics, findings));
    }
    let (document, _) = iprof::read_from(input.stream()?, &options.read).map_err(in_file)?;
    let joined = statistics::statistics(&document, options).map_err(in_file)?;
    Ok((joined.of_file(statistics), findings))
}

/// Orders the functions of a file's traces.
///
/// LLVM passes over a fault behind the records that it could read, and so does
/// its rules here.
///
/// # Errors
///
/// Those of the file's reader, with its path; usage when too many traces are
/// set aside.
pub fn order_file(input: impl Into<Input>, read: &ReadOptions, options: &OrderOptions) -> Result<Reported<Order>> {
    with_reader(&input.into(), read, |reader| {
        if read.compat.ignores_faults_when_comparing() {
            while let Ok(Some(_)) = reader.next_record() {}
            return order::order_traces(reader, options);
        }
        order::order(reader, options)
    })
}

/// What came of a comparison.
#[derive(Debug)]
pub enum Comparison {
    /// The two have something to compare.
    Done(Box<OverlapReport>),
    /// The first of the two whose counters add up to nothing.
    NothingCounted {
        /// Whether it is the base profile.
        is_base: bool,
    },
}

/// Compares two files; `observer` hears of records of the base profile that
/// contradict each other.
///
/// # Errors
///
/// Those of the files' readers, with the path. LLVM passes over what
/// is found behind the header.
pub fn overlap_files(
    base: impl Into<Input>,
    test: impl Into<Input>,
    read: &ReadOptions,
    options: &OverlapOptions,
    observer: &mut dyn MergeObserver,
) -> Result<Reported<Comparison>> {
    let (base, test) = (&base.into(), &test.into());
    let sums = |input: &Input| {
        with_reader(input, read, |reader| {
            let mut sums = Sums::default();
            let added = sums.add_profile(reader, options.context_sensitive);
            if read.compat.ignores_faults_when_comparing() { Ok(sums) } else { added.map(|()| sums) }
        })
    };
    let (base_sums, test_sums) = (sums(base)?, sums(test)?);
    for (sums, is_base) in [(&base_sums, true), (&test_sums, false)] {
        if sums.report.edges < 1.0 {
            return Ok(Reported { report: Comparison::NothingCounted { is_base }, warnings: Vec::new() });
        }
    }
    let (base_sums, base_warnings, test_sums) = (base_sums.report, base_sums.warnings, test_sums.report);
    // LLVM opens both once more, and finds nothing left of what came through a pipe.
    let again = |input: &Input| if read.compat.is_llvm() { Input::new(&input.path) } else { input.clone() };
    let functions = base_functions(&again(base), read, observer)?;
    let mut compared = with_reader(&again(test), read, |reader| {
        let (report, compared) = overlap::overlap(&functions, base_sums, test_sums, reader, options);
        if !read.compat.ignores_faults_when_comparing() {
            compared?;
        }
        Ok(Comparison::Done(Box::new(report)))
    })?;
    compared.warnings.splice(0..0, base_warnings);
    Ok(compared)
}

/// The functions of a file, records of one name and hash added up.
fn base_functions(input: &Input, read: &ReadOptions, observer: &mut dyn MergeObserver) -> Result<FunctionTable> {
    let options = MergeOptions { read: reporting(read), ..MergeOptions::default() };
    let report = merge_files(std::slice::from_ref(input), &options, observer)?;
    Ok(report.profile.functions)
}

/// Opens a file and lends its reader; errors and warnings name the file.
fn with_reader<T>(
    input: &Input,
    read: &ReadOptions,
    use_reader: impl FnOnce(&mut dyn ProfileReader) -> Result<T>,
) -> Result<Reported<T>> {
    let read = &reporting(read);
    let path = &input.path;
    let report = |reader: &mut dyn ProfileReader| {
        let report = use_reader(reader)?;
        let warnings = reader.take_warnings().into_iter().map(|warning| warning.in_file(path)).collect();
        Ok(Reported { report, warnings })
    };
    let done = if let Some((_, outline)) = outline_of(input, read) {
        outline.reader(read.indexed()).and_then(|mut reader| report(&mut reader))
    } else if let Some((_, window)) = window_of_text(input, read) {
        TextReader::through(window, read.compat).and_then(|mut reader| report(&mut reader))
    } else {
        let bytes: InputBytes = if read.compat.inflates_gzip() {
            input.bytes(Access::Read, &read.limits)?
        } else {
            input.stored_bytes(Access::Read, &read.limits)?
        };
        open_reader(&bytes, read).and_then(|mut reader| report(&mut *reader))
    };
    done.map_err(|error| error.in_file(path))
}

/// LLVM minds large counters when it merges, not when it shows.
fn reporting(read: &ReadOptions) -> ReadOptions {
    let mut read = read.clone();
    if read.compat.is_llvm() {
        read.large_counters = LargeCounters::Accept;
    }
    read
}
