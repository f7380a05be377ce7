//! LLVM instrumentation profiles against a program or another profile.

use crate::driver::output_form::OutputForm;
use crate::driver::{InputOutcome, InputVersion, functions_in_words};
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::families::fit::options::FitOptions;
use crate::fit::{InstrFit, InstrInput, Program, ProgramFunction, ProgramSource, compare_instr, read_program};
use crate::input::{Access, Format, Input, detect};
use crate::instr::InputOptions;
use crate::instr::cross_release::{self, CrossReleaseOptions, cross};
use crate::instr::encode::{OutputFormat, WriteOptions, write_file};
use crate::instr::file_merge::{MergeReport, merge_files};
use crate::instr::open::read_with;
use crate::instr::target::{Evidence, Target, TargetSource};
use crate::limits::Limits;
use crate::model::release::{RELEASES, ReleaseRow};
use crate::model::{
    FunctionTable, NameRef, Profile, ProfileKind, ProfileReader, RecordView, Release, SymbolTable, name_ref,
};
use crate::raw::LargeCounters;
use crate::stacks::classes::Reference;
use crate::threads;
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
    let evidence = Evidence::look([profile], options.merge.read.compat);
    let target = match reader {
        Some((release, _)) => Target::of_release(release, TargetSource::Option),
        None => Target::of_inputs(&evidence),
    };
    let merged = merged(profile, target.release, options)?;
    let mut warnings: Vec<Warning> = merged.inputs.iter().flat_map(|input| input.warnings.clone()).collect();
    if merged.profile.memprof.is_some() {
        warnings.push(Warning::new("the memory profile is not compared with the new build").in_file(&profile.path));
    }
    let (mut input, written) = as_read(merged, reader, target, &program)?;
    input.memory_version = evidence.memory_section.filter(|_| input.is_indexed);
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
        format @ (Format::Raw { .. } | Format::Indexed | Format::Text) => {
            let listed = if file.is_partial() { None } else { Listed::read(&bytes, format, options) };
            if let Some(listed) = listed {
                return Ok(listed.map_err(|error| error.in_file(path))?.into_program());
            }
            drop(bytes);
            Ok(Listed::of_merge(&merged(file, Release::DEFAULT, options)?).into_program())
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
    let detail =
        format!("the new build ({what}) and the profile (LLVM instrumentation profile) have different formats");
    let error = Error::new(ErrorKind::UnableToCompare { detail }).in_file(path);
    error.with_hint("pass an instrumented program or library, or a raw or indexed profile of it")
}

/// The functions of a profile of the new build, without their counts.
struct Listed {
    functions: Vec<ProgramFunction>,
    names: SymbolTable,
    kind: ProfileKind,
    vtable_names: Vec<Vec<u8>>,
    /// The version of a raw profile.
    raw_version: Option<u64>,
}

impl Listed {
    /// Lists the functions of a merged profile.
    fn of_merge(report: &MergeReport) -> Self {
        let profile = &report.profile;
        let (mut names, mut functions) = (SymbolTable::new(), Vec::new());
        for function in profile.functions.iter() {
            names.insert_hashed(function.name_ref(), function.name());
            functions.extend(function.records().map(|record| listed(function.name_ref(), record)));
        }
        let raw_version = report.inputs.first().and_then(|input| match input.version? {
            InputVersion::Raw(version) => Some(version),
            InputVersion::Indexed(_) | InputVersion::Text { .. } => None,
        });
        Self { functions, names, kind: profile.kind, vtable_names: profile.vtable_names.clone(), raw_version }
    }

    /// Lists the functions of a profile; `None` if it has a memory profile, which only a merge checks.
    fn read(data: &[u8], format: Format, options: &FitOptions) -> Option<Result<Self>> {
        let mut read = options.merge.read.clone();
        (read.limits, read.large_counters) = (options.limits, LargeCounters::Accept);
        let listed = read_with(data, &read, threads::wanted(options.merge.threads).get(), |reader| {
            let has_memory = reader.kind().contains(ProfileKind::MEMPROF);
            if has_memory { Ok(None) } else { Self::of_reader(reader, format, &options.limits).map(Some) }
        });
        listed.transpose()
    }

    fn of_reader(reader: &mut dyn ProfileReader, format: Format, limits: &Limits) -> Result<Self> {
        let version = reader.version_word() & u64::from(u32::MAX); // flags are in the upper half
        let raw_version = matches!(format, Format::Raw { .. }).then_some(version);
        let (kind, is_hashed) = (reader.kind(), reader.hashes_names());
        let mut checks = InputOptions::default();
        checks.most_name_bytes = limits.name_bytes;
        let (mut names, mut functions) = (SymbolTable::new(), Vec::new());
        while let Some(read) = reader.next_record()? {
            let read = checks.prepare(read)?;
            let hash = read.name_ref.filter(|_| is_hashed).unwrap_or_else(|| name_ref(read.name));
            names.insert_shared(hash, read.name, read.text);
            functions.push(listed(hash, read.record));
        }
        let vtable_names = reader.vtable_names()?;
        Ok(Self { functions, names, kind, vtable_names, raw_version })
    }

    fn into_program(self) -> Program {
        let Self { functions, mut names, kind, vtable_names, raw_version } = self;
        for name in &vtable_names {
            names.insert(name);
        }
        let mut program = Program::new(ProgramSource::Profile, functions, names);
        program.kind = Some(kind);
        program.has_vtables = !vtable_names.is_empty();
        // The newest release that may have written it, so that nothing is rejected by mistake. Both algorithms of
        // hashes were written as version 10.
        let version = raw_version.filter(|version| *version != 10);
        program.release = version.and_then(|version| {
            RELEASES.iter().rev().find(|row| u64::from(row.raw_version) == version).map(ReleaseRow::release)
        });
        program
    }
}

fn listed(name_ref: NameRef, record: RecordView<'_>) -> ProgramFunction {
    let num_counters = u32::try_from(record.counters.len()).ok();
    ProgramFunction { name_ref, func_hash: record.func_hash, num_counters }
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
    let description = describe(version, report.profile.kind, &report.profile.functions);
    let symbols = symbols(&report.profile);
    let input = |profile, indexed_version, is_indexed, findings, former_names| InstrInput {
        profile,
        symbols,
        indexed_version,
        is_indexed,
        memory_version: None,
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
            findings = cross_release::findings(&report.profile, &options);
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

fn describe(version: Option<InputVersion>, kind: ProfileKind, functions: &FunctionTable) -> String {
    let format = match version {
        Some(InputVersion::Raw(version)) => format!("raw version {version}"),
        Some(InputVersion::Indexed(version)) => format!("indexed version {version}"),
        Some(InputVersion::Text { .. }) | None => "text".to_string(),
    };
    let functions = functions_in_words(functions.len() as u64, Some(functions.records_len() as u64));
    format!("{format}, {}, {functions}", kind.sentence_words().join(", "))
}
