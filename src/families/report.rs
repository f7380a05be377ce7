//! Reports about files: opens them and hands their readers to the reports.

use crate::error::{Error, ErrorKind, Result, WithWarnings};
use crate::input::{Family, Input};
use crate::instr::cross_release::apply::following;
use crate::instr::cross_release::{Followed, Following};
use crate::instr::file_merge::{MergeOptions, RecordError, merge_files};
use crate::instr::open::{ReadOptions, with_reader};
use crate::instr::order::{self, Order, OrderOptions};
use crate::instr::overlap::{self, OverlapOptions, OverlapReport, Sums};
use crate::instr::show::{self, ShowOptions, ShowReport};
use crate::iprof::Findings;
use crate::iprof::statistics::{Statistics, StatisticsOptions, read_statistics};
use crate::model::{Profile, ProfileReader};
use crate::raw::LargeCounters;
use crate::text;
use std::io::Write;

/// Shows a file like llvm-profdata. Output before a fault is written. The report is the number of functions that
/// `options` select by name.
///
/// # Errors
///
/// The errors of the file's reader, with its path; I/O if `out` fails.
pub fn show_file(
    input: impl Into<Input>,
    read: &ReadOptions,
    options: &ShowOptions,
    out: &mut (dyn Write + Send),
) -> Result<WithWarnings<u64>> {
    report_with(&input.into(), read, |reader| show::show(reader, options, &text::write_record, out))
}

/// The views of a file as data.
///
/// # Errors
///
/// The errors of the file's reader, with its path.
pub fn collect_file(
    input: impl Into<Input>,
    read: &ReadOptions,
    options: &ShowOptions,
) -> Result<WithWarnings<ShowReport>> {
    report_with(&input.into(), read, |reader| show::collect(reader, options))
}

/// The statistics of an iprof; see `read_statistics`.
///
/// # Errors
///
/// I/O; the errors of the file; usage if no method matches the options for callers or callees; all with the path.
pub fn iprof_statistics(input: impl Into<Input>, options: &StatisticsOptions) -> Result<(Statistics, Findings)> {
    let input = input.into();
    let in_file = |error: Error| error.in_file(&input.path);
    read_statistics(|| input.stream(), options).map_err(in_file)
}

/// Orders the functions of a file's traces.
///
/// In LLVM's mode, a fault after the readable records is ignored, as in LLVM.
///
/// # Errors
///
/// The errors of the file's reader, with its path; unsupported for other families; usage if too many traces are held
/// out.
pub fn order_file(input: impl Into<Input>, read: &ReadOptions, options: &OrderOptions) -> Result<WithWarnings<Order>> {
    let input = input.into();
    if !read.compat.is_llvm()
        && let Some(family) = input.family()?.filter(|family| *family != Family::Instr)
    {
        let what = format!("ordering functions by {}", family.words());
        return Err(Error::new(ErrorKind::Unsupported { what })
            .in_file(&input.path)
            .with_hint("pass an LLVM instrumentation profile with temporal traces"));
    }
    report_with(&input, read, |reader| {
        if !read.compat.ignores_faults_when_comparing() {
            return order::order(reader, options);
        }
        while let Ok(Some(_)) = reader.next_record() {}
        order::order_traces(reader, options, read.compat)
    })
}

/// The result of a comparison.
#[derive(Debug)]
pub enum Comparison {
    /// The two have something to compare.
    Done {
        /// The overlap.
        report: Box<OverlapReport>,
        /// Functions that were compared although their names or hashes differ between releases.
        followed: Vec<Followed>,
        /// Records of the base profile that contradict each other.
        soft_errors: Vec<RecordError>,
    },
    /// The first profile whose counters are all 0.
    NothingCounted {
        /// Whether it is the base profile.
        is_base: bool,
    },
}

/// Compares two files.
///
/// # Errors
///
/// The errors of the files' readers, with the path. LLVM ignores faults after the header.
pub fn overlap_files(
    base: impl Into<Input>,
    test: impl Into<Input>,
    read: &ReadOptions,
    options: &OverlapOptions,
) -> Result<WithWarnings<Comparison>> {
    let (base, test) = (&base.into(), &test.into());
    let is_exact = options.exact_names || read.compat.is_llvm();
    let following = if is_exact { Following::default() } else { following(base, test, read)? };
    let sums = |input: &Input| {
        report_with(input, read, |reader| {
            let mut sums = Sums::default();
            let added = sums.add_profile(reader, options.context_sensitive);
            if read.compat.ignores_faults_when_comparing() { Ok(sums) } else { added.map(|()| sums) }
        })
    };
    let (base_sums, test_sums) = (sums(base)?, sums(test)?);
    for (sums, is_base) in [(&base_sums, true), (&test_sums, false)] {
        if sums.value.edges < 1.0 {
            return Ok(WithWarnings::new(Comparison::NothingCounted { is_base }, Vec::new()));
        }
    }
    let (base_sums, base_warnings, test_sums) = (base_sums.value, base_sums.warnings, test_sums.value);
    // LLVM opens both again. If they are pipes, they are empty then.
    let again = |input: &Input| if read.compat.is_llvm() { input.reopened() } else { input.clone() };
    let (profile, soft_errors) = base_profile(&again(base), read)?;
    let functions = following.apply(profile).functions;
    let mut compared = report_with(&again(test), read, |reader| {
        let (report, compared) =
            overlap::overlap(&functions, base_sums, test_sums, &mut following.reader(reader), options);
        if !read.compat.ignores_faults_when_comparing() {
            compared?;
        }
        Ok(report)
    })?;
    compared.warnings.splice(0..0, base_warnings);
    let followed = following.into_followed();
    Ok(compared.map(|report| Comparison::Done { report: Box::new(report), followed, soft_errors }))
}

/// Reads a file and adds up its records of one name and hash.
fn base_profile(input: &Input, read: &ReadOptions) -> Result<(Profile, Vec<RecordError>)> {
    let options = MergeOptions { read: reporting(read), ..MergeOptions::default() };
    let report = merge_files(std::slice::from_ref(input), &options, &mut |_, _| {})?;
    Ok((report.profile, report.soft_errors))
}

/// A report of a file, by its reader.
fn report_with<T>(
    input: &Input,
    read: &ReadOptions,
    use_reader: impl FnOnce(&mut dyn ProfileReader) -> Result<T>,
) -> Result<WithWarnings<T>> {
    with_reader(input, &reporting(read), use_reader).map(|(report, warnings)| WithWarnings::new(report, warnings))
}

/// LLVM checks large counters in merges, not in `show`.
fn reporting(read: &ReadOptions) -> ReadOptions {
    let mut read = read.clone();
    if read.compat.is_llvm() {
        read.large_counters = LargeCounters::Accept;
    }
    read
}
