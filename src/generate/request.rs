//! Requests and their check.

use super::kind::{Format, Kind, check_kinds};
use super::random::Random;
use crate::bytes::{Encoding, Endian, PointerWidth};
use crate::driver::output_form::OutputForm;
use crate::error::{Error, Result};
use crate::input::Family;
use crate::instr::encode::OutputFormat;
use crate::instr::target::{Target, TargetSource};
use crate::iprof::Version;
use crate::model::{Loss, release};

/// A description of the files to generate.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Request {
    /// The format of the files.
    pub format: Format,
    /// The toolchain that reads the files, for LLVM's formats. Default: LLVM 22.
    pub toolchain: Option<String>,
    /// The version of a raw or indexed profile, of the memory profile in an indexed one, or of an extensible binary.
    /// Default: that of the toolchain.
    pub version: Option<u32>,
    /// Pointer width and byte order of raw profiles. Default: 64 bits, little-endian.
    pub architecture: Option<(PointerWidth, Endian)>,
    /// The version of an iprof file. Default: the lowest one that stores all kinds.
    pub iprof_version: Option<Version>,
    /// The number of functions, or of methods. Default: 100.
    pub functions: u32,
    /// The number of calling contexts of an iprof file, or of stacks. Default: four for each function.
    pub contexts: Option<u32>,
    /// The number of counters of each function of an instrumentation profile, or of line locations of each function of
    /// a sample profile. Default: a few, and in one of 50 instrumented functions up to 212.
    pub counters: Option<u32>,
    /// The greatest number of distinct counts in an instrumentation profile. Default: no limit.
    pub distinct_counts: Option<u32>,
    /// The greatest depth of stacks; each has at least half of it. Default: most stacks have 10 to 20 frames.
    pub depth: Option<u32>,
    /// The kinds of content; `None` selects the usual ones of the format.
    pub kinds: Option<Vec<Kind>>,
    /// The start of all random numbers. Default: 0.
    pub seed: u64,
}

impl Request {
    /// A request with all defaults.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            toolchain: None,
            version: None,
            architecture: None,
            iprof_version: None,
            functions: 100,
            contexts: None,
            counters: None,
            distinct_counts: None,
            depth: None,
            kinds: None,
            seed: 0,
        }
    }

    /// Rejects settings that have no effect on the format.
    fn check(&self) -> Result<()> {
        let family = self.format.family();
        let is_instr = family == Family::Instr;
        let is_llvm = matches!(family, Family::Instr | Family::SampleProf | Family::MemProf);
        let has_version =
            matches!(self.format, Format::Raw | Format::Indexed | Format::MemoryIndexed | Format::SampleExtBinary);
        let useless = [
            (self.toolchain.is_some() && !is_llvm, "a target release"),
            (self.version.is_some() && !has_version, "a version number"),
            (self.architecture.is_some() && self.format != Format::Raw, "pointer width and byte order"),
            (self.iprof_version.is_some() && family != Family::Iprof, "an iprof version"),
            (self.contexts.is_some() && is_llvm, "a number of contexts"),
            (self.counters.is_some() && !is_instr && family != Family::SampleProf, "a number of counters"),
            (self.distinct_counts.is_some() && !is_instr, "a number of distinct counts"),
            (self.depth.is_some() && family != Family::Stacks, "a depth"),
        ];
        let has = |kind: Kind| self.kinds.as_ref().is_some_and(|kinds| kinds.contains(&kind));
        let useless_with_kind = [
            (self.counters.is_some(), Kind::EntryCoverage, "a number of counters"),
            (self.distinct_counts.is_some(), Kind::ByteCoverage, "a number of distinct counts"),
        ];
        if let Some((_, what)) = useless.into_iter().find(|(given, _)| *given) {
            return Err(Error::usage(format!("{what} has no effect on {} files", self.format.name())));
        }
        match useless_with_kind.into_iter().find(|(given, kind, _)| *given && has(*kind)) {
            Some((_, kind, what)) => Err(Error::usage(format!("{what} has no effect on {}", kind.name()))),
            None => Ok(()),
        }
    }

    /// Returns the target release and the version of LLVM's formats.
    fn target(&self) -> Result<Target> {
        let row = self.toolchain.as_deref().map(release::parse).transpose()?;
        let target = match (row, self.version, self.format) {
            (Some(row), ..) => Target::of_row(row, TargetSource::Option),
            (None, Some(version), Format::Indexed) => Target::of_indexed_version(version)?,
            (None, Some(version), Format::Raw) => Target::of_raw_version(version).ok_or_else(|| {
                Error::usage(format!("there is no raw version {version}"))
                    .with_hint("versions 1 to 5 and 7 to 11 can be written")
            })?,
            _ => Target::default_release(TargetSource::Option),
        };
        self.check_version(&target)?;
        Ok(target)
    }

    /// Rejects a version of a raw or indexed profile that the given toolchain does not read.
    fn check_version(&self, target: &Target) -> Result<()> {
        let Some(version) = self.version else { return Ok(()) };
        let newest = match self.format {
            Format::Raw => target.raw_version,
            Format::Indexed => target.indexed_version,
            _ => return Ok(()),
        };
        // A release reads only its own raw version, and all indexed versions up to its own.
        let is_read = if self.format == Format::Raw { version == newest } else { (1..=newest).contains(&version) };
        if is_read {
            return Ok(());
        }
        let name = self.format.name();
        Err(Error::usage(format!("{} does not read {name} version {version}", target.release_words())))
    }
}

/// A request that was checked.
#[derive(Debug)]
pub struct Generator {
    pub(super) request: Request,
    pub(super) target: Target,
    pub(super) kinds: Vec<Kind>,
}

impl Generator {
    /// Checks a request.
    ///
    /// # Errors
    ///
    /// Usage errors: a release or a version that does not exist, a setting that has no effect on the format, a
    /// contradiction between kinds.
    pub fn new(request: &Request) -> Result<Self> {
        request.check()?;
        let target = request.target()?;
        let mut made = Self { request: request.clone(), target, kinds: Vec::new() };
        made.kinds = match &request.kinds {
            Some(kinds) => kinds.clone(),
            None => made.usual_kinds(),
        };
        check_kinds(&made.kinds)?;
        Ok(made)
    }

    fn usual_kinds(&self) -> Vec<Kind> {
        let stores_values = match self.request.format {
            Format::Raw => self.encoding().version >= 2,
            Format::Indexed => self.indexed_version() >= 3,
            _ => true,
        };
        let usual = self.request.format.default_kinds().iter();
        usual.copied().filter(|kind| *kind != Kind::Values || stores_values).collect()
    }

    pub(super) fn has(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    pub(super) fn encoding(&self) -> Encoding {
        let (pointer, endian) = self.request.architecture.unwrap_or((PointerWidth::Bits64, Endian::Little));
        Encoding { endian, pointer, version: self.request.version.unwrap_or(self.target.raw_version) }
    }

    pub(super) fn indexed_version(&self) -> u32 {
        match self.request.format {
            Format::Indexed => self.request.version.unwrap_or(self.target.indexed_version),
            _ => self.target.indexed_version,
        }
    }

    /// The format of an instrumentation profile.
    pub(super) fn output_format(&self) -> OutputFormat {
        match self.request.format {
            Format::Raw => OutputFormat::Raw { encoding: self.encoding() },
            Format::Text => self.target.format(OutputForm::Text),
            _ => OutputFormat::Indexed { release: self.target.release, version: self.indexed_version() },
        }
    }

    /// The random numbers that describe the thing at `index`, the same in all files.
    pub(super) fn shape(&self, index: u32) -> Random {
        Random::of(&[self.request.seed, 0, index.into()])
    }

    /// The random numbers for the counts of the thing at `index` in a file.
    pub(super) fn counts(&self, file: u32, index: u32) -> Random {
        Random::of(&[self.request.seed, file.into(), index.into(), 1])
    }

    pub(super) fn contexts(&self) -> u32 {
        self.request.contexts.unwrap_or(self.request.functions.saturating_mul(4))
    }

    /// Rejects content that the format cannot store.
    pub(super) fn refuse_losses(&self, losses: &[Loss]) -> Result<()> {
        let Some(loss) = losses.first() else { return Ok(()) };
        let what = match self.request.format {
            Format::Raw => format!("raw version {}", self.encoding().version),
            Format::Indexed => format!("indexed version {}", self.indexed_version()),
            format => format!("{} for {}", format.name(), self.target.release_words()),
        };
        let kinds: Vec<&str> = self.kinds.iter().map(|kind| kind.name()).collect();
        Err(Error::usage(format!("{what} cannot store {loss}"))
            .with_hint(format!("choose another version, or fewer kinds than {}", kinds.join(", "))))
    }
}
