//! Gates of `merge`: what a result must be before it is written, the same for all families.

use crate::hints::error_in_words;
use clap::Args;
use profbridge::gates::{Bound, GateOutcome, parse_share};
use profbridge::input::Input;
use profbridge::instr::Profile;
use profbridge::merge::FunctionFilter;
use profbridge::pipeline::input_totals::largest_share;
use profbridge::pipeline::{Extent, MergeReport, Minimums, OutputForm};
use profbridge::{Error, Result};

/// What the result must be.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Gates (exit code 3, and nothing is written)")]
pub(crate) struct MergeGateArgs {
    /// Refuse a result from fewer inputs than this
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    min_inputs: u64,
    /// Refuse a result with fewer functions than this: methods of an iprof or of stacks, functions with
    /// allocations of a memory profile
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    min_functions: u64,
    /// Refuse a result whose counts add up to less than this: counters, samples, all sections of an iprof, hits,
    /// bytes of a memory profile
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    min_total_count: u64,
    /// Write a result even if there is nothing in it
    #[arg(long)]
    pub(crate) allow_empty: bool,
    /// Refuse a result of which one input makes up more than this, such as 0.5 or 50%, its weight included
    #[arg(long, value_name = "SHARE", value_parser = share)]
    max_input_share: Option<f64>,
}

fn share(text: &str) -> std::result::Result<f64, String> {
    let wrong = || error_in_words(Error::usage("a share is between 0 and 1, or 0% and 100%"));
    parse_share(text).ok_or_else(wrong)
}

impl MergeGateArgs {
    /// No gates, but whether a result may have nothing in it.
    pub(crate) fn for_conversion(allow_empty: bool) -> Self {
        Self { allow_empty, ..Self::default() }
    }

    /// Refuses a result with nothing in it, unless that was asked for.
    ///
    /// # Errors
    ///
    /// Nothing found.
    pub(crate) fn refuse_nothing(&self, is_empty: impl FnOnce() -> bool) -> Result<()> {
        self.refuse_nothing_but("the inputs hold no functions", is_empty)
    }

    /// The same, in the words for what the inputs hold instead.
    ///
    /// # Errors
    ///
    /// Nothing found.
    pub(crate) fn refuse_nothing_but(&self, words: &str, is_empty: impl FnOnce() -> bool) -> Result<()> {
        if self.allow_empty || !is_empty() {
            return Ok(());
        }
        Err(Error::nothing_found(format!("there is nothing to write: {words}"))
            .with_hint("--allow-empty writes a profile all the same"))
    }

    /// The same of an LLVM profile of which the filter keeps no function, or none that ran where only these are kept.
    ///
    /// # Errors
    ///
    /// Nothing found.
    pub(crate) fn refuse_profile_of_nothing(
        &self,
        profile: &Profile,
        filter: &FunctionFilter,
        sparse: bool,
    ) -> Result<()> {
        let mut kept = profile.functions.iter().filter(|function| filter.keeps(function.name())).peekable();
        if profile.memprof.is_some() {
            return Ok(());
        }
        if kept.peek().is_none() {
            return self.refuse_nothing_but("no function is left", || true);
        }
        let mut records = kept.flat_map(|function| function.records());
        self.refuse_nothing_but("no function ran, and --sparse leaves out those that did not", || {
            sparse && records.all(|record| record.is_all_zero())
        })
    }

    /// As [`refuse_profile_of_nothing`](Self::refuse_profile_of_nothing), whose functions may not be in memory. Text and
    /// raw profiles have no place for a memory profile.
    ///
    /// # Errors
    ///
    /// Nothing found.
    pub(crate) fn refuse_report_of_nothing(
        &self,
        report: &MergeReport,
        filter: &FunctionFilter,
        sparse: bool,
        form: OutputForm,
    ) -> Result<()> {
        let words = || format!("{} has no place for a memory profile, and the inputs hold nothing else", form.words());
        if matches!(form, OutputForm::Text | OutputForm::Raw) && report.profile.memprof.is_some() {
            self.refuse_nothing_but(&words(), || report.functions_len() == 0)?;
        }
        match sparse {
            true => self.refuse_profile_of_nothing(&report.profile, filter, true),
            false => self.refuse_nothing_but("no function is left", || report.is_empty(filter)),
        }
    }

    /// The library's options.
    pub(crate) fn minimums(&self) -> Minimums {
        let mut minimums = Minimums::default();
        minimums.inputs = self.min_inputs;
        minimums.functions = self.min_functions;
        minimums.total_count = self.min_total_count;
        minimums
    }

    /// How the result fares. What it holds, and what its inputs count, is asked for only where a gate needs it.
    pub(crate) fn outcomes(
        &self,
        inputs: &[Input],
        extent: impl FnOnce() -> Extent,
        total: &dyn Fn(&Input) -> Result<u128>,
    ) -> Vec<GateOutcome> {
        let minimums = self.minimums();
        let mut outcomes = if minimums == Minimums::default() { Vec::new() } else { minimums.outcomes(&extent()) };
        if let Some(most) = self.max_input_share {
            let largest = largest_share(inputs, total);
            let words = match largest {
                Some((at, _)) => format!("the share of the largest input, {},", inputs[at].path.display()),
                None => "the share of the largest input".to_string(),
            };
            let found = largest.map(|(_, share)| share);
            outcomes.push(GateOutcome::share("input-share", Bound::AtMost, most, found).in_words(words));
        }
        outcomes
    }
}
