//! LLVM instrumentation profiles against a program or another profile.

use crate::digits::number_of;
use crate::driver::output_form::OutputForm;
use crate::driver::{InputOutcome, InputVersion};
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::families::fit::options::FitOptions;
use crate::fit::{InstrFit, InstrInput, Program, ProgramFunction, ProgramSource, compare_instr, read_program};
use crate::input::{Access, Format, Input, detect};
use crate::instr::cross_release::{CrossReleaseOptions, cross};
use crate::instr::encode::{OutputFormat, WriteOptions, write_file};
use crate::instr::file_merge::{MergeReport, merge_files};
use crate::instr::target::{Evidence, Target, TargetSource};
use crate::model::release::RELEASES;
use crate::model::{Profile, ProfileKind, Release, SymbolTable};
use crate::stacks::classes::Reference;
use std::path::Path;

/// The settings for writing a pruned profile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written(OutputFormat);

impl Written {
    /// Selects the format of a file name, for the same release.
    pub(super) fn named(self, form: Option<OutputForm>) -> Self {
        Self(match (form, self.0) {
            (Some(OutputForm::Text), OutputFormat::Indexed { release, .. }) => OutputFormat::Text { release },
            (Some(OutputForm::Indexed), OutputFormat::Text { release }) => OutputFormat::for_release(release),
            (_, own) => own,
        })
    }

    pub(super) fn write(self, profile: &Profile, path: &Path) -> Result<()> {
        let mut options = WriteOptions::default();
        options.format = self.0;
        options.compress_by_name = true;
        write_file(profile, &options, path).map(drop)
    }
}

/// Reads both and compares them.
pub(super) fn fit(profile: &Input, against: &Input, options: &FitOptions) -> Result<(InstrFit, Written, Vec<Warning>)> {
    let program = read_against(against, options)?;
    let reader = reader(options, &program);
    let target = match reader {
        Some((release, _)) => Target::of_release(release, TargetSource::Option),
        None => Target::of_inputs(&Evidence::look([profile], options.merge.read.compat)),
    };
    let merged = merged(profile, target.release, options)?;
    let mut warnings: Vec<Warning> = merged.inputs.iter().flat_map(|input| input.warnings.clone()).collect();
    if merged.profile.memprof.is_some() {
        warnings.push(Warning::new("the memory profile is not compared with the new build").in_file(&profile.path));
    }
    let (input, written) = as_read(merged, reader, target, &program)?;
    let fit = compare_instr(input, program).map_err(|error| error.in_file(&profile.path))?;
    Ok((fit, written, warnings))
}

/// The profile as a merge of it alone makes it.
fn merged(file: &Input, release: Release, options: &FitOptions) -> Result<MergeReport> {
    let mut merge = options.merge.clone();
    merge.release = release;
    merge.keep_vtable_names = true;
    merge.read.limits = options.limits;
    let mut report = merge_files(std::slice::from_ref(file), &merge, &mut |_, _| {})?;
    for input in &mut report.inputs {
        match std::mem::replace(&mut input.outcome, InputOutcome::Used) {
            InputOutcome::Failed(error) => return Err(error),
            InputOutcome::Empty => return Err(Error::new(ErrorKind::EmptyProfile).in_file(&file.path)),
            // Only files of directories are skipped.
            InputOutcome::Used | InputOutcome::NotAProfile | InputOutcome::NotReached => {}
        }
    }
    Ok(report)
}

/// The functions of the new build.
fn read_against(file: &Input, options: &FitOptions) -> Result<Program> {
    let path = &file.path;
    let bytes = file.bytes(Access::Read, &options.limits)?;
    match detect(&bytes) {
        Format::Raw { .. } | Format::Indexed | Format::Text => {
            drop(bytes);
            Ok(program_of_profile(merged(file, Release::DEFAULT, options)?))
        }
        Format::Empty => Err(Error::new(ErrorKind::EmptyProfile).in_file(path)),
        Format::Unknown | Format::Other(_) if !is_native(&bytes) => {
            Err(not_a_program(path, "class file or archive of classes"))
        }
        Format::Unknown | Format::Other(_) => {
            read_program(path, &bytes, &options.limits).map_err(|error| error.in_file(path))
        }
        other => Err(not_a_program(path, &other.to_string())),
    }
}

/// Whether a file is not of Java.
fn is_native(bytes: &[u8]) -> bool {
    // A fat Mach-O file begins as a class file does, with a number of architectures for a version.
    !Reference::takes(bytes) || bytes.get(4..8).is_some_and(|word| word[..3] == [0; 3] && word[3] < 45)
}

fn not_a_program(path: &Path, what: &str) -> Error {
    let detail = format!("the new build is a {what}, the profile an LLVM instrumentation profile");
    let error = Error::new(ErrorKind::UnableToCompare { detail }).in_file(path);
    error.with_hint("pass an instrumented program or library, or a raw or indexed profile of it")
}

/// A profile of the new build as a list of its functions.
fn program_of_profile(report: MergeReport) -> Program {
    let profile = &report.profile;
    let mut names = SymbolTable::new();
    let mut functions = Vec::new();
    for function in profile.functions.iter() {
        names.insert_hashed(function.name_ref(), function.name());
        functions.extend(function.records().map(|record| ProgramFunction {
            name_ref: function.name_ref(),
            func_hash: record.func_hash,
            num_counters: u32::try_from(record.counters.len()).ok(),
        }));
    }
    for name in &profile.vtable_names {
        names.insert(name);
    }
    let mut program = Program::new(ProgramSource::Profile, functions, names);
    program.kind = Some(profile.kind);
    program.has_vtables = !profile.vtable_names.is_empty();
    // The newest release that may have written it, so that nothing is rejected by mistake.
    let newest = |writes: &dyn Fn(&crate::model::release::ReleaseRow) -> bool| {
        RELEASES.iter().rev().find(|row| writes(row)).map(|row| row.release())
    };
    program.release = report.inputs.first().and_then(|input| match input.version? {
        InputVersion::Raw(10) => None, // both algorithms of hashes were written so
        InputVersion::Raw(version) => newest(&|row| u64::from(row.raw_version) == version),
        InputVersion::Indexed(_) | InputVersion::Text { .. } => None,
    });
    program
}

/// Who reads the profile, and who said so.
fn reader(options: &FitOptions, program: &Program) -> Option<(Release, &'static str)> {
    let from = if program.source() == ProgramSource::Profile { "profile" } else { "program" };
    let asked = options.reader.map(|target| (target.release, "option"));
    asked.or_else(|| program.release.map(|release| (release, from)))
}

/// Returns the profile as the compiler reads it: an indexed file unchanged, any other file as `merge` writes it for
/// that compiler.
fn as_read(
    report: MergeReport,
    reader: Option<(Release, &'static str)>,
    target: Target,
    program: &Program,
) -> Result<(InstrInput, Written)> {
    let version = report.inputs.first().and_then(|input| input.version);
    let origins = report.origins();
    let target = if reader.is_some() { target } else { target.storing(&report.profile, OutputForm::Indexed)?.0 };
    let mut options = CrossReleaseOptions::new(target.release, target.indexed_version, origins);
    options.release_is_given = reader.is_some();
    let description = describe(version, report.profile.kind, report.profile.functions.len());
    let symbols = symbols(&report.profile);
    let input = |profile, indexed_version, is_indexed, findings, former_names| InstrInput {
        profile,
        symbols,
        indexed_version,
        is_indexed,
        reader,
        findings,
        former_names,
        description,
    };
    if let Some(InputVersion::Indexed(version)) = version {
        let version = u32::try_from(version).unwrap_or(u32::MAX);
        options.indexed_version = version;
        options.version_is_given = true;
        // The changes that a merge would have to make are the findings.
        let mut findings = Vec::new();
        if reader.is_some() || program.is_ir() == Some(true) {
            findings = cross(report.profile.clone(), &options).findings;
        }
        let writer = crate::indexed::WriteOptions::for_version(version.min(crate::indexed::NEWEST_VERSION)).release;
        let written = Written(OutputFormat::Indexed { release: writer, version });
        return Ok((input(report.profile, version, true, findings, Default::default()), written));
    }
    let crossed = cross(report.profile, &options);
    let format = match version {
        Some(InputVersion::Text { .. }) => OutputFormat::Text { release: crossed.release },
        _ => OutputFormat::Indexed { release: crossed.release, version: crossed.indexed_version },
    };
    let (profile, indexed_version) = (crossed.profile, crossed.indexed_version);
    Ok((input(profile, indexed_version, false, crossed.findings, crossed.former_names), Written(format)))
}

/// Returns names in addition to those of functions.
fn symbols(profile: &Profile) -> SymbolTable {
    let mut symbols = SymbolTable::new();
    for name in &profile.vtable_names {
        symbols.insert(name);
    }
    symbols
}

fn describe(version: Option<InputVersion>, kind: ProfileKind, functions: usize) -> String {
    let format = match version {
        Some(InputVersion::Raw(version)) => format!("raw version {version}"),
        Some(InputVersion::Indexed(version)) => format!("indexed version {version}"),
        Some(InputVersion::Text { .. }) | None => "text".to_string(),
    };
    format!("{format}, {}, {}", kind.sentence_words().join(", "), number_of(functions, "function"))
}
