//! Comparing two profiles as iprof.

use crate::bridge::{self, ToIprofOptions};
use crate::driver::diff::{DiffOptions, Facts, Names, diff};
use crate::error::{Error, Result};
use crate::families::diff::FileDiff;
use crate::families::merge::mixed::is_document;
use crate::input::Input;
use crate::instr::file_merge::files::read_profile;
use crate::iprof::compare;
use crate::iprof::compare::{CommonSpace, Events};
use crate::iprof::statistics::ChainsBy;
use crate::iprof::{self, ContextHandle, MethodHandle, SectionKind};

/// Compares two profiles as iprof, of which one may be LLVM's.
pub(crate) fn diff_iprof(first: &Input, second: &Input, options: &DiffOptions) -> Result<FileDiff> {
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

/// Returns the unit by which methods are compared: calls, unless the only section in both profiles is that of samples.
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
        sections: SectionKind::ALL.map(section).into(),
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
        match SectionKind::ALL.into_iter().find(|kind| kind.name() == section) {
            Some(kind) => self.0.detail(kind, part),
            None => part.to_string(),
        }
    }
}
