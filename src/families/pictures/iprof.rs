//! Drawings of an iprof.

use crate::bridge::stacks::{IprofHits, stacks_from_iprof};
use crate::error::{Error, Result};
use crate::families::pictures::drawing::{Drawing, Drawn, of_kind};
use crate::families::read::stacks::{StackOptions, read_iprof, without_addresses};
use crate::hint::Hint;
use crate::input::{Access, Input};
use crate::iprof::Document;
use crate::render::{Report, from_iprof};
use crate::stacks::model::{Selection, StackTable};

/// An iprof, with its two sections of one number an entry as stacks.
#[derive(Debug)]
pub struct IprofContent {
    /// The document.
    pub document: Document,
    /// Its `samplingProfiles`.
    pub samples: StackTable,
    /// Its `callCountProfiles`.
    pub calls: StackTable,
}

/// Reads one iprof: what several say together takes a merge.
pub(crate) fn draw(inputs: &[Input], options: &StackOptions, _: &Selection) -> Result<Drawn> {
    let [input] = inputs else {
        let path = inputs.get(1).map(|input| input.path.clone()).unwrap_or_default();
        return Err(Error::usage("an iprof is shown alone").with_hint(Hint::MergeFirst).in_file(path));
    };
    let in_file = |error: Error| error.in_file(&input.path);
    let data = input.bytes(Access::Read, &options.limits)?;
    let (document, warnings) = read_iprof(&data, &options.limits).map_err(in_file)?;
    let (samples, _) = stacks_from_iprof(&document, IprofHits::Samples)?;
    let (calls, _) = stacks_from_iprof(&document, IprofHits::CallCounts)?;
    let content = IprofContent { document, samples: without_addresses(&samples)?, calls };
    Ok((Box::new(content), warnings.into_iter().map(|warning| warning.in_file(&input.path)).collect()))
}

impl IprofContent {
    fn view(&self) -> from_iprof::IprofView<'_> {
        from_iprof::IprofView { document: &self.document, samples: &self.samples, calls: &self.calls }
    }
}

impl Drawing for IprofContent {
    /// Its samples, or its calls where it has no samples.
    fn stacks(&self) -> Option<(&StackTable, &'static str)> {
        let is_of_calls = self.samples.is_empty() && !self.calls.is_empty();
        Some(if is_of_calls { (&self.calls, "calls") } else { (&self.samples, "hits") })
    }

    fn with_stacks(self: Box<Self>, map: &dyn Fn(&StackTable) -> Result<StackTable>) -> Result<Box<dyn Drawing>> {
        let Self { document, samples, calls } = *self;
        Ok(Box::new(Self { document, samples: map(&samples)?, calls: map(&calls)? }))
    }

    fn report(&self, title: &str, baseline: Option<&(dyn Drawing + 'static)>) -> Option<Report> {
        let old = of_kind::<Self>(baseline)?;
        Some(from_iprof::report(title, self.view(), old.map(Self::view)))
    }

    fn hint(&self) -> Hint {
        match self.document.sections.is_empty() {
            true => "the input holds neither samples nor call counts, or none that was asked for".into(),
            false => Hint::ReportBranches,
        }
    }
}
