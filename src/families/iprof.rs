//! GraalVM's profiles.

use crate::bridge::stacks::{IprofHits, stacks_from_iprof};
use crate::bridge::{self, ToIprofOptions};
use crate::call_chains::Selection;
use crate::driver::check::{CheckFinding, FileCheck};
use crate::driver::diff::{DiffOptions, Facts, Names, diff};
use crate::driver::distribution::Distribution;
use crate::error::{Error, Result, Warning, WithWarnings};
use crate::error_report::ErrorReport;
use crate::families::any_profile::AnyProfile;
use crate::families::commands::{Commands, FileDiff};
use crate::families::content::{Content, Drawn};
use crate::families::merge::mixed::is_document;
use crate::families::stack_files::{StackOptions, read_iprof, without_addresses};
use crate::hint::Hint;
use crate::input::{Family, Format, Input};
use crate::instr::file_merge::files::read_profile;
use crate::instr::open::ReadOptions;
use crate::iprof::compare::{self, CommonSpace, Events};
use crate::iprof::statistics::ChainsBy;
use crate::iprof::{self, ContextHandle, IprofContent, MethodHandle, SectionKind};
use crate::limits::Limits;
use crate::model::description::{Description, PartDescription};

/// GraalVM's iprof.
pub(super) struct Iprof;

impl Commands for Iprof {
    fn read(&self, input: &Input, options: &ReadOptions) -> Result<WithWarnings<AnyProfile>> {
        let own = iprof::ReadOptions { limits: options.limits, ..iprof::ReadOptions::default() };
        let (document, findings) = iprof::Reader::new(input.stream()?, &own).read()?;
        let warning = |finding: &iprof::Finding| Warning::new(finding.to_string()).in_file(&input.path);
        Ok(WithWarnings::new(AnyProfile::Iprof(document), findings.iter().map(warning).collect()))
    }

    fn check(&self, input: Input, options: &iprof::ReadOptions) -> Result<FileCheck> {
        let report = iprof::Reader::new(input.into_stream()?, options).check();
        let mut distribution = Distribution::new(Family::Iprof);
        report.methods.each(|name, count| distribution.add(name, count.into()));
        let findings = report.findings.iter().map(|finding| CheckFinding {
            level: finding.level.name(),
            code: finding.code.name().to_string(),
            path: finding.path.clone(),
            offset: finding.offset,
            message: finding.message.clone(),
            hint: None,
            more: finding.more,
        });
        Ok(FileCheck {
            path: String::new(),
            format: "iprof",
            version: report.version,
            verdict: report.verdict.name(),
            findings: findings.collect(),
            hint: report.findings.iter().find_map(iprof::Finding::remedy),
            failed: false,
            density: None,
            hot: Vec::new(),
            distribution: Some(distribution),
        })
    }

    fn describe(&self, data: &[u8], _: Format, limits: &Limits) -> Description {
        let options = iprof::ReadOptions { limits: *limits, ..iprof::ReadOptions::default() };
        description(iprof::Reader::from_bytes(data, &options), data.len() as u64)
    }

    fn describe_stream(&self, input: &Input, _: Format, limits: &Limits) -> Result<Option<Description>> {
        let options = iprof::ReadOptions { limits: *limits, ..iprof::ReadOptions::default() };
        Ok(Some(description(iprof::Reader::new(input.stream()?, &options), input.len()?)))
    }

    /// The bridge converts them to an iprof first.
    fn compares_with(&self) -> &'static [Family] {
        &[Family::Instr]
    }

    /// Compares two profiles as iprof; one of them can be an LLVM profile.
    fn diff(&self, first: &Input, second: &Input, options: &DiffOptions) -> Result<FileDiff> {
        let mut space = CommonSpace::default();
        let read = iprof::ReadOptions { limits: options.limits, ..iprof::ReadOptions::default() };
        let mut events = |input: &Input| {
            Ok::<_, Error>(if is_document(input) {
                space.read_from(input.stream()?, &read).map_err(|error| error.in_file(&input.path))?
            } else {
                let profile = read_profile(input, &options.limits)?;
                space.add(&bridge::to_iprof(&profile, &ToIprofOptions::default())?.0)
            })
        };
        let (first, second) = (events(first)?, events(second)?);
        let fit = compare::fit(&space, &first, &second);
        let by = basis(&first, &second);
        let [first, second] = [first, second].map(|events| iprof_facts(&events, by));
        let report = diff(first, second, &IprofNames(&space), &iprof_options(options, by));
        Ok(FileDiff { fit: Some(fit), ..FileDiff::new(report) })
    }

    /// Draws one iprof. Several must be merged first.
    fn draw(&self, inputs: &[Input], options: &StackOptions, _: &Selection) -> Result<Drawn> {
        let [input] = inputs else {
            let path = inputs.get(1).map(|input| input.path.clone()).unwrap_or_default();
            return Err(Error::usage("several iprof files were given, but a report shows one")
                .with_hint(Hint::MergeFirst)
                .in_file(path));
        };
        let in_file = |error: Error| error.in_file(&input.path);
        let (mut document, warnings) = read_iprof(input.stream()?, &options.limits).map_err(in_file)?;
        if options.iprof == IprofHits::CallCounts {
            document.remove_section(SectionKind::Sampling);
        }
        let (samples, _) = stacks_from_iprof(&document, IprofHits::Samples)?;
        let (calls, _) = stacks_from_iprof(&document, IprofHits::CallCounts)?;
        let content = IprofContent { document, samples: without_addresses(samples), calls };
        Ok((Content::Iprof(content), warnings.into_iter().map(|warning| warning.in_file(&input.path)).collect()))
    }
}

/// Describes a file of `size` bytes.
fn description(reader: iprof::Reader<'_>, size: u64) -> Description {
    let mut description = Description::new("GraalVM iprof", size);
    description.supported = true;
    let overview = reader.overview();
    let mut part = PartDescription { version: overview.version.clone(), ..PartDescription::default() };
    part.written_by = Some("GraalVM native images built with --pgo-instrument".to_string());
    part.read_by = Some("native-image --pgo".to_string());
    for (name, size) in &overview.parts {
        part.section(name, None, size.bytes, Some(size.entries));
    }
    if let Some((types, methods)) = overview.tables {
        part.fact("types", types.to_string());
        part.fact("methods", methods.to_string());
    }
    part.fact("verdict", overview.verdict.name());
    description.parts.push(part);
    let odd = overview.findings.iter().filter(|finding| finding.level != iprof::Level::Info);
    description.warnings = odd.map(ToString::to_string).collect();
    if overview.verdict == iprof::Verdict::Unusable {
        description.error = overview.findings.worst().map(|finding| {
            let mut error = ErrorReport::of_message("iprof-finding", finding.to_string());
            (error.section, error.offset) = (Some(finding.path.clone()), finding.offset);
            error
        });
        description.hint = Some(Hint::CheckForMore);
    }
    description
}

/// Returns the basis for comparing methods: calls, or samples if both have only samples.
fn basis(first: &Events, second: &Events) -> ChainsBy {
    let calls = [first, second].map(Events::has_calls);
    let samples = [first, second].map(Events::has_samples);
    match (calls, samples) {
        ([true, true], _) => ChainsBy::Calls,
        (_, [true, true]) | ([false, false], _) => ChainsBy::Samples,
        _ => ChainsBy::Calls,
    }
}

fn iprof_options(options: &DiffOptions, by: ChainsBy) -> DiffOptions {
    let mut options = options.clone();
    options.functions_by = if by == ChainsBy::Calls { "calls" } else { "samples" };
    options.branches = vec![SectionKind::Conditional.name()];
    options.receivers = vec![SectionKind::VirtualInvoke.name(), SectionKind::Instanceof.name()];
    options
}

fn iprof_facts(events: &Events, by: ChainsBy) -> Facts {
    let section = |kind: SectionKind| {
        let keyed = events.section(kind).iter();
        (kind.name(), keyed.map(|(key, count)| ((u64::from(key.context.number()), key.detail), *count)).collect())
    };
    Facts {
        sections: SectionKind::EACH.map(section).into(),
        functions: events.methods(by).map(|(method, count)| (method.index() as u64, count)).collect(),
    }
}

struct IprofNames<'s>(&'s CommonSpace);

impl Names for IprofNames<'_> {
    fn function(&self, function: u64) -> String {
        u32::try_from(function)
            .map_or_else(|_| String::new(), |number| self.0.method(MethodHandle::from_number(number)))
    }

    fn site(&self, _: &str, site: u64) -> String {
        u32::try_from(site).map_or_else(|_| String::new(), |number| self.0.site(ContextHandle::from_number(number)))
    }

    fn part(&self, section: &str, part: i64) -> String {
        match SectionKind::EACH.into_iter().find(|kind| kind.name() == section) {
            Some(kind) => self.0.detail(kind, part),
            None => part.to_string(),
        }
    }
}
