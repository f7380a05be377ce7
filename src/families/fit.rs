//! `fit`: a profile of any family against a newer build of its program.

mod instr;
mod methods;
mod options;
mod samples;

use crate::driver::output_form::OutputForm;
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::families::memory::has_only_memory;
use crate::fit::{FitReport, InstrFit, MethodsFit, Pruned, RemappingFile, SamplesFit};
use crate::hint::Hint;
use crate::input::{Access, Family, Format, Input, detect};
use crate::sampleprof::{self, Encoding};
use std::path::Path;

pub use options::FitOptions;

/// A profile compared with a new build.
#[derive(Debug)]
#[non_exhaustive]
pub struct Fit {
    /// The comparison.
    pub report: FitReport,
    /// Warnings about the inputs.
    pub warnings: Vec<Warning>,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Instr(Box<InstrFit>, instr::Written),
    Samples(Box<SamplesFit>, Encoding),
    Methods(Box<MethodsFit>),
}

impl Content {
    /// Whether it can be written so.
    fn becomes(&self, form: OutputForm) -> bool {
        match self {
            Self::Instr(..) => matches!(form, OutputForm::Indexed | OutputForm::Text),
            Self::Samples(..) => matches!(form, OutputForm::Indexed | OutputForm::Text | OutputForm::SampleProf),
            Self::Methods(_) => matches!(form, OutputForm::Iprof | OutputForm::Json),
        }
    }
}

/// Compares a profile with a new build: a program or library, a profile of it,
/// class files.
///
/// # Errors
///
/// I/O and the errors of either file, with its path; unable to compare if they belong to different families or
/// programs.
pub fn fit_files(profile: impl Into<Input>, against: impl Into<Input>, options: &FitOptions) -> Result<Fit> {
    let (profile, against) = (&profile.into(), &against.into());
    let mut fit = compare(profile, against, options)?;
    let probe = profile.look()?;
    if probe.compression.is_some() && !matches!(probe.identity.format, Format::Raw { .. }) {
        fit.report.notes.push("compilers do not read compressed profiles; decompress this one".to_string());
    }
    Ok(fit)
}

fn compare(profile: &Input, against: &Input, options: &FitOptions) -> Result<Fit> {
    sampleprof::require_profile(profile)?;
    match profile.format()? {
        Format::Indexed if has_only_memory(profile, &options.limits)? => {
            return Err(memory_profile().in_file(&profile.path));
        }
        Format::Raw { .. } | Format::Indexed | Format::Text => {
            let (fit, written, warnings) = instr::fit(profile, against, options)?;
            let report = fit.report(options.topn);
            return Ok(Fit { report, warnings, content: Content::Instr(Box::new(fit), written) });
        }
        _ => {}
    }
    let bytes = profile.bytes(Access::Read, &options.limits)?;
    match detect(&bytes) {
        known if known.is_sample_profile() => {
            let (fit, encoding) = samples::fit(&profile.path, &bytes, against, options)?;
            let report = fit.report(options.topn);
            Ok(Fit { report, warnings: Vec::new(), content: Content::Samples(Box::new(fit), encoding) })
        }
        Format::Iprof => {
            let (fit, warnings) = methods::fit(&profile.path, &bytes, against, options)?;
            let report = fit.report(options.topn);
            Ok(Fit { report, warnings, content: Content::Methods(Box::new(fit)) })
        }
        other => Err(unsupported(other).in_file(&profile.path)),
    }
}

fn memory_profile() -> Error {
    let what = "comparing a memory profile with a new build".to_string();
    Error::new(ErrorKind::Unsupported { what }).with_hint(Hint::DiffMemory)
}

fn unsupported(format: Format) -> Error {
    match format {
        Format::Empty => Error::new(ErrorKind::EmptyProfile),
        Format::Unknown => Error::new(ErrorKind::UnrecognizedFormat).with_hint(Hint::ProfileComesFirst),
        Format::Other(other) => {
            Error::new(ErrorKind::NotAProfile { what: other.words() }).with_hint(Hint::ProfileComesFirst)
        }
        Format::Jfr => {
            let what = format!("comparing a {format} with a new build");
            Error::new(ErrorKind::Unsupported { what }).with_hint(Hint::CompareAsIprof)
        }
        Format::RawMemProf | Format::YamlMemProf => memory_profile(),
        Format::PerfData | Format::Pprof => {
            let what = format!("comparing a {format} with a new build");
            Error::new(ErrorKind::Unsupported { what })
                .with_hint("pass an LLVM instrumentation profile, a sample profile or an iprof")
        }
        known => Error::new(ErrorKind::Unsupported { what: format!("comparing {} with a new build", words_of(known)) })
            .with_hint("pass an LLVM instrumentation profile, a sample profile or an iprof"),
    }
}

impl Fit {
    /// The family of the profile.
    pub fn family(&self) -> Family {
        match &self.content {
            Content::Instr(..) => Family::Instr,
            Content::Samples(..) => Family::SampleProf,
            Content::Methods(_) => Family::Iprof,
        }
    }

    /// A remapping file for `merge -r` that gives functions the names they have
    /// in the new build.
    ///
    /// # Errors
    ///
    /// Unsupported for families whose merge takes no such file.
    pub fn remapping(&self) -> Result<RemappingFile> {
        match &self.content {
            Content::Instr(fit, _) => Ok(fit.remapping()),
            Content::Samples(fit, _) => Ok(fit.remapping()),
            Content::Methods(_) => {
                let what = "a remapping file for an iprof".to_string();
                Err(Error::new(ErrorKind::Unsupported { what }))
            }
        }
    }

    /// Writes the profile without stale records, in the format of the file extension, otherwise in that of the input.
    /// With `keep_renamed`, functions with a new name in [`remapping`](Self::remapping) are kept.
    ///
    /// # Errors
    ///
    /// Usage if the file extension is that of another family; I/O; the errors of the writer.
    pub fn write_pruned(&self, path: &Path, keep_renamed: bool) -> Result<Pruned> {
        let named = OutputForm::of_name(path)?;
        if let Some(other) = named.filter(|form| !self.content.becomes(*form)) {
            let detail = format!("a pruned profile cannot be written as {}", other.words());
            let hint = "use the file extension of the profile";
            return Err(Error::usage(detail).in_file(path).with_hint(hint));
        }
        match &self.content {
            Content::Instr(fit, written) => {
                let (profile, pruned) = fit.pruned(keep_renamed);
                written.named(named).write(&profile, path)?;
                Ok(pruned)
            }
            Content::Samples(fit, encoding) => {
                let (profile, pruned) = fit.pruned(keep_renamed);
                samples::write(&profile, samples::named(*encoding, named), path)?;
                Ok(pruned)
            }
            Content::Methods(fit) => {
                let (document, pruned) = fit.pruned();
                methods::write(&document, path)?;
                Ok(pruned)
            }
        }
    }
}

fn words_of(format: Format) -> String {
    format.family().map_or_else(|| format.to_string(), |family| family.words().to_string())
}
