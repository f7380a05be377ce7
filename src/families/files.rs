//! Questions about any file, which its family answers.

use crate::compression::{Compression, decompress};
use crate::driver::check::{FileCheck, failed};
use crate::driver::diff::DiffOptions;
use crate::driver::{FEWEST_FILES, find_outliers};
use crate::error::{Error, Result, Verdict, WithWarnings};
use crate::families::any_profile::AnyProfile;
use crate::families::commands::FileDiff;
use crate::families::describe::describe as describe_foreign;
use crate::families::partial;
use crate::families::stacks::{GO_FACT, reject_other_for_go};
use crate::families::table::commands;
use crate::input::{Access, Family, Format, Input, detect};
use crate::instr::check::check_llvm;
use crate::instr::open::ReadOptions;
use crate::iprof;
use crate::limits::Limits;
use crate::model::description::Description;
use crate::partial::document_len;
use crate::stacks::pprof::is_form_for_go;
use std::path::Path;

impl AnyProfile {
    /// Reads a file of any family, format and version, compressed or not.
    ///
    /// ```
    /// use profbridge::families::{AnyProfile, ReadOptions};
    ///
    /// let read = AnyProfile::open("testdata/iprof/fibonacci.iprof", &ReadOptions::default())?;
    /// read.warnings.iter().for_each(|warning| eprintln!("{warning}"));
    /// match read.value {
    ///     AnyProfile::Instr(profile) => println!("{} functions", profile.functions.len()),
    ///     AnyProfile::Iprof(document) => println!("iprof {}", document.version),
    ///     other => println!("a profile of family {}", other.family().name()),
    /// }
    /// # Ok::<(), profbridge::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// I/O, an empty file, a file that is not a profile, and every fault of the content, with path, format, section and
    /// offset.
    pub fn open(input: impl Into<Input>, options: &ReadOptions) -> Result<WithWarnings<Self>> {
        let input = input.into();
        // The readers of instrumentation profiles report files that are not profiles.
        let family = input.family()?.unwrap_or(Family::Instr);
        commands(family).read(&input, options).map_err(|error| error.in_file(&input.path))
    }
}

/// Checks an input.
///
/// The content decides the format. A file without a known format is checked as an iprof if its name ends in `.iprof`.
pub fn check_file(input: impl Into<Input>, options: &iprof::ReadOptions) -> FileCheck {
    let input = input.into();
    let path = input.path.display().to_string();
    if let Some(check) = check_bare_part(&input, &options.limits) {
        return FileCheck { path, ..check };
    }
    let probe = input.look().ok().copied();
    let mut check = ask_check(input, options).unwrap_or_else(|error| failed(&error));
    check.path = path;
    // A file named .iprof is checked as an iprof, whatever its content.
    if let Some(probe) = probe.filter(|_| check.format != Format::Iprof.name()) {
        check.format = probe.identity.format.name();
        check.version = check.version.or_else(|| probe.version.map(|version| version.to_string()));
        let is_for_go = Path::new(&check.path).extension().is_some_and(|extension| extension == "pgo");
        if is_for_go && probe.identity.format != Format::Pprof && check.verdict == Verdict::Usable.name() {
            reject_other_for_go(&mut check);
        }
    }
    check
}

/// Returns a note about each input whose counts are distributed differently from those of the others, as
/// [`find_outliers`] finds them. Returns nothing for fewer than four inputs, and where an input is a pipe, which cannot be
/// read again.
pub(crate) fn notes_about_differences(inputs: &[Input], limits: Limits) -> Vec<String> {
    if inputs.len() < FEWEST_FILES || inputs.iter().any(Input::is_pipe) {
        return Vec::new();
    }
    let options = iprof::ReadOptions { limits, ..iprof::ReadOptions::default() };
    let mut checks: Vec<FileCheck> = inputs.iter().map(|input| check_file(input.clone(), &options)).collect();
    let before: Vec<usize> = checks.iter().map(|check| check.findings.len()).collect();
    find_outliers(&mut checks);
    let added = |(check, before): (FileCheck, usize)| {
        let path = check.path;
        check.findings.into_iter().skip(before).map(move |finding| format!("{path}: {}", finding.message))
    };
    checks.into_iter().zip(before).flat_map(added).collect()
}

fn check_bare_part(input: &Input, limits: &Limits) -> Option<FileCheck> {
    if !input.is_partial() {
        return None;
    }
    partial::check_bare(&input.stored_bytes(Access::Read, limits).ok()?, limits)
}

fn ask_check(input: Input, options: &iprof::ReadOptions) -> Result<FileCheck> {
    match input.family()? {
        Some(family) => {
            let mut check = commands(family).check(input.clone(), options)?;
            if input.is_partial() && family != Family::Instr {
                partial::check(&input.stored_bytes(Access::Read, &options.limits)?, &options.limits, &mut check);
            }
            Ok(check)
        }
        None => {
            let format = input.format()?;
            Ok(check_llvm(&input.bytes(Access::Read, &options.limits)?, format, options.limits))
        }
    }
}

/// Describes an input like [`describe`]. An iprof or a recording that is not compressed is never in memory as a whole.
///
/// # Errors
///
/// I/O errors with the path; limit exceeded for a pipe that is too long.
pub fn describe_input(input: &Input, limits: &Limits) -> Result<Description> {
    let plain =
        input.look().ok().filter(|probe| probe.compression.is_none() && !input.is_pipe() && !input.is_partial());
    let format = plain.map(|probe| probe.identity.format);
    let family = format.and_then(Format::family);
    if let (Some(family), Some(format)) = (family, format)
        && let Some(description) = commands(family).describe_stream(input, format, limits)?
    {
        return Ok(description);
    }
    Ok(describe_at(Some(&input.path), &input.stored_bytes(Access::Read, limits)?, limits))
}

/// Describes the content of a file. The description includes faults and everything before them.
pub fn describe(data: &[u8], limits: &Limits) -> Description {
    describe_at(None, data, limits)
}

fn describe_at(path: Option<&Path>, data: &[u8], limits: &Limits) -> Description {
    if let Some(description) = partial::describe_bare(data, limits) {
        return description;
    }
    if let Some(document) = document_len(data, data.len() as u64) {
        let mut description = describe(&data[..document as usize], limits);
        description.size = data.len() as u64;
        description.read_after("the merge is finished");
        forget_go(&mut description);
        partial::describe_any(data, limits, &mut description);
        return description;
    }
    if let Some(compression) = Compression::of(data) {
        return describe_compressed(data, compression, limits);
    }
    let format = detect(data);
    match format.family() {
        Some(family) => commands(family).describe(data, format, limits),
        None => describe_program(data, path, limits).unwrap_or_else(|| describe_foreign(data, format, limits)),
    }
}

#[cfg(feature = "correlate")]
fn describe_program(data: &[u8], path: Option<&Path>, limits: &Limits) -> Option<Description> {
    crate::families::program::describe(data, path, limits)
}

#[cfg(not(feature = "correlate"))]
fn describe_program(_: &[u8], _: Option<&Path>, _: &Limits) -> Option<Description> {
    None
}

fn describe_compressed(data: &[u8], compression: Compression, limits: &Limits) -> Description {
    let content = decompress(data, limits);
    let mut description = match &content {
        Ok(content) => describe(content, limits),
        Err(_) => Description::new(compression.to_string(), 0),
    };
    description.size = data.len() as u64;
    match content {
        Ok(content) => {
            description.compression = Some(compression.name());
            description.inflated_size = Some(content.len() as u64);
            if detect(&content) != Format::Pprof || !is_form_for_go(data) {
                description.read_after("decompression");
                forget_go(&mut description);
            }
        }
        Err(error) => description.set_error(&error),
    }
    description
}

/// Removes what Go's compiler does with the content, because it does not read the file.
fn forget_go(description: &mut Description) {
    description.parts.iter_mut().for_each(|part| part.facts.retain(|fact| fact.label != GO_FACT));
}

/// Compares two profiles of one family, or of two families with common content: an iprof and stacks by their samples, an
/// iprof and an LLVM profile as iprof.
///
/// # Errors
///
/// The errors of the readers, with the path; usage if both are standard input, and for families without common content.
pub fn diff_files(first: impl Into<Input>, second: impl Into<Input>, options: &DiffOptions) -> Result<FileDiff> {
    let (first, second) = (&first.into(), &second.into());
    if first.is_stdin() && second.is_stdin() {
        return Err(Error::usage("`-` is given twice, but standard input can be read only once")
            .with_hint("pass a file for one of them"));
    }
    commands(comparing(first, second)?).diff(first, second, options)
}

/// Returns the family that compares two files: their own, or one of two that accepts the other.
///
/// # Errors
///
/// I/O errors; kind conflict for families without common content. A file that is not a profile is left to the reader of
/// the other file's family, which reports the fault.
fn comparing(first: &Input, second: &Input) -> Result<Family> {
    let (one, other) = match (first.family()?, second.family()?) {
        (Some(one), Some(other)) => (one, other),
        (Some(one), None) | (None, Some(one)) => (one, one),
        (None, None) => (Family::Instr, Family::Instr),
    };
    let accepts = |one: Family, other: Family| one == other || commands(one).compares_with().contains(&other);
    if accepts(one, other) {
        return Ok(one);
    }
    if accepts(other, one) {
        return Ok(other);
    }
    Err(Error::kind_conflict(format!("cannot compare {} with {}", one.words(), other.words()))
        .in_file(&second.path)
        .with_hint("compare profiles of one family, or an iprof with LLVM profiles or stacks"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::{self, ToIprofOptions};
    use crate::driver::diff::DiffReport;
    use crate::instr::file_merge::files::read_profile;
    use crate::iprof::Level;

    fn check(name: &str, bytes: &[u8]) -> FileCheck {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        check_file(&path, &iprof::ReadOptions::default())
    }

    #[test]
    fn each_format_has_codes_of_its_own() {
        for (name, bytes, format, code) in [
            ("a.iprof", &b"{\"version\":\"1.0.0\""[..], "iprof", "truncated"),
            ("a.iprof", b"hello", "iprof", "bad-json"),
            ("a.iprof", b"", "iprof", "empty-file"),
            ("a.profraw", b"", "empty", "unknown.empty-file"),
            ("a.profdata", b"\xfflprofi\x81\x0a", "indexed", "indexed.truncated"),
            ("a.proftext", b"main\n1\n2\n5\n", "text", "text.truncated"),
            ("a.bin", b"\x7fELF\x02\x01\x01\0\0", "elf", "unknown.not-a-profile"),
            ("b.bin", b"\x01\x02\x03\x04", "unknown", "unknown.unrecognized-format"),
        ] {
            let check = check(name, bytes);
            let codes: Vec<_> = check.findings.iter().map(|finding| finding.code.as_str()).collect();
            assert_eq!((check.format, codes.first()), (format, Some(&code)), "{name}: {codes:?}");
        }
    }

    #[test]
    fn a_cancelled_input_ends_every_reader() {
        let cancel = crate::cancel::Cancel::default();
        cancel.cancel();
        for (name, content) in
            [("a.proftext", "main\n1\n1\n5\n"), ("a.prof", "f:1:1\n 1: 1\n"), ("a.collapsed", "a;b 3\n")]
        {
            let input = || Input::from_bytes(name, content.into()).cancelled_by(&cancel);
            let error = diff_files(input(), input(), &DiffOptions::default()).unwrap_err();
            assert!(matches!(error.kind(), crate::ErrorKind::Cancelled), "{error}");
            let error = AnyProfile::open(input(), &ReadOptions::default()).unwrap_err();
            assert!(matches!(error.kind(), crate::ErrorKind::Cancelled), "{error}");
        }
    }

    #[test]
    fn a_profile_without_counts_gets_a_warning() {
        let check = check("a.proftext", b"main\n1\n1\n0\n");
        assert_eq!(check.findings[0].code, "text.never-executed");
        assert_eq!((check.count(Level::Error), check.verdict), (0, "usable"));
    }

    fn findings(name: &str, content: &str) -> Vec<(String, String)> {
        let findings = check(name, content.as_bytes()).findings.into_iter();
        findings.map(|finding| (format!("{} {}", finding.level, finding.code), finding.message)).collect()
    }

    #[test]
    fn functions_that_never_ran_and_counters_at_the_maximum_are_counted() {
        let text = ":ir\nmain\n1\n2\n5\n18446744073709551613\nidle\n2\n1\n0\n";
        assert_eq!(
            findings("a.proftext", text),
            [
                ("info text.never-run".into(), "1 function of 2 never ran".into()),
                (
                    "warning text.counter-at-maximum".into(),
                    "1 counter reached the maximum, so the counts are too small".into()
                ),
            ]
        );
        // Pseudo counts are not counts.
        let text = ":ir\nmain\n1\n1\n5\nhot\n2\n1\n18446744073709551615\n";
        assert_eq!(findings("a.proftext", text), []);
    }

    #[test]
    fn the_share_of_samples_without_a_function_is_reported() {
        let unnamed =
            ("info stacks.unnamed-functions".into(), "25.0 % of the samples are in functions without a name".into());
        assert_eq!(findings("a.collapsed", "main;work 3\nmain;[unknown] 1\n[unknown];main 0\n"), [unnamed]);
        assert_eq!(findings("a.collapsed", "main;work 3\n[unknown];main 2\n"), []);
    }

    #[test]
    fn a_low_density_names_the_thinnest_hot_functions() {
        let text = "foo:1000:10\n 1: 500\n 2: 500\nbar:40:4\n 1: 20\n 2: 20\nbaz:30:3\n 1: 20\n 2: 5\n 3: 5\n";
        let mut found = check("a.prof", text.as_bytes());
        found.require_density(15.0);
        let message = "the density is 10.0 samples per line location, below 15: sample 1.5 times as long; 1 of 3 hot \
                       functions are below it: baz (10.0)";
        assert_eq!(found.findings.last().unwrap().message, message);
        let mut found = check("a.prof", text.as_bytes());
        found.require_density(10.0);
        assert!(found.findings.is_empty());
    }

    #[test]
    fn a_file_that_is_not_there_is_a_failure() {
        let check = check_file("/no/such/file.iprof", &iprof::ReadOptions::default());
        assert!(check.failed && check.findings[0].code == "unreadable");
    }

    fn diff_texts(name: &str, first: &str, second: &str) -> Result<DiffReport> {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = [first, second].map(|text| {
            let path = folder.path().join(format!("{}-{name}", text.len()));
            std::fs::write(&path, text).unwrap();
            path
        });
        diff_files(&a, &b, &DiffOptions::default()).map(|found| found.report)
    }

    #[test]
    fn llvm_profiles_are_compared_by_name_and_hash() {
        let a = "main\n1\n2\n10\n30\n1\n0\n1\n2\nfoo:9\nbar:1\n\nold\n1\n1\n60\n";
        let b = "main\n1\n2\n10\n30\n1\n0\n1\n2\nfoo:1\nbar:99\n\nnewer\n1\n1\n60\n";
        let report = diff_texts("a.proftext", a, b).unwrap();
        let overlaps: Vec<_> = report.sections.iter().map(|section| (section.section, section.overlap)).collect();
        assert_eq!(overlaps[1].0, "counters");
        assert!((overlaps[1].1 - 0.4).abs() < 1e-12, "{overlaps:?}");
        let change = &report.changed_receivers.sites[0];
        assert_eq!(
            (change.site.as_str(), change.first.as_str(), change.second.as_str()),
            ("main site 0", "foo", "bar")
        );
        assert_eq!(
            (report.new_functions.functions, report.lost_functions.functions),
            (vec!["newer".into()], vec!["old".into()])
        );
    }

    #[test]
    fn iprofs_are_compared_by_identity() {
        let head = r#"{"version":"1.0.0","types":[{"id":0,"name":"A"}],"methods":[{"id":0,"name":"m","signature":[0,0]}],"conditionalProfiles":[{"ctx":"0:3","records":"#;
        let report =
            diff_texts("a.iprof", &format!("{head}[5,0,9,8,1,1]}}]}}"), &format!("{head}[5,0,1,8,1,99]}}]}}")).unwrap();
        let change = &report.flipped_branches.sites[0];
        assert_eq!((change.site.as_str(), change.first.as_str(), change.second.as_str()), ("A.m():3", "5", "8"));
        assert!((report.overlap - 0.11).abs() < 1e-12);
    }

    #[test]
    fn a_profile_overlaps_with_its_iprof_conversion() {
        let folder = tempfile::tempdir().unwrap();
        let (text, iprof) = (folder.path().join("a.proftext"), folder.path().join("a.iprof"));
        std::fs::write(&text, ":fe\nmain\n1\n1\n30\n\nfoo\n2\n1\n10\n").unwrap();
        let (document, _) = bridge::to_iprof(
            &read_profile(&Input::new(&text), &Limits::default()).unwrap(),
            &ToIprofOptions::default(),
        )
        .unwrap();
        std::fs::write(&iprof, iprof::Writer::new(&iprof::WriteOptions::default()).to_bytes(&document)).unwrap();
        let FileDiff { report, fit, .. } = diff_files(&text, &iprof, &DiffOptions::default()).unwrap();
        let fit = fit.unwrap();
        assert_eq!((fit.relevance, fit.applicability.exact), (Some(1.0), Some(1.0)));
        assert_eq!((report.overlap, report.sections[0].common), (1.0, 2));
        assert_eq!(report.sections[0].section, "callCountProfiles");
    }

    /// The same family compares two files in either order.
    #[test]
    fn the_order_of_two_files_does_not_choose_how_they_are_compared() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            Input::new(path)
        };
        let files = [
            file("instr", ":ir\nmain\n1\n1\n5\n"),
            file("sample", "foo:10:1\n 1: 5\n"),
            file("memory", "---\nHeapProfileRecords:\n"),
            file("iprof", "{\"version\":\"1.0.0\",\"types\":[]}"),
            file("stacks", "a;b 1\nc;d 2\n"),
            file("prose", "It was\na dark night\n"),
        ];
        for first in &files {
            for second in &files {
                let family = |one: &Input, other: &Input| comparing(one, other).ok();
                assert_eq!(family(first, second), family(second, first), "{first:?} {second:?}");
            }
        }
        let family = |one: usize, other: usize| comparing(&files[one], &files[other]).ok();
        assert_eq!(family(0, 3), Some(Family::Iprof));
        assert_eq!(family(3, 4), Some(Family::Stacks));
        assert_eq!(family(0, 2), Some(Family::Instr));
        assert_eq!(family(0, 4), None);
        assert_eq!(family(5, 5), Some(Family::Instr));
    }
}
