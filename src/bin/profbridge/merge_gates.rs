//! Thresholds of `merge`: conditions on a result before it is written, the same for all families.

use crate::hints::format_error_with_hint;
use crate::merge_document::MergeDocument;
use clap::Args;
use profbridge::families::inputs::largest_share;
use profbridge::families::{Facts, FactsRequest, Minimums};
use profbridge::gates::{Bound, GateOutcome, parse_share};
use profbridge::input::Input;
use profbridge::{Error, Hint, Result};

/// The merged or converted profile of a family before it is written. Only [`MergeGateArgs::write`] writes it, after all
/// thresholds: a family provides the figures and cannot bypass a threshold.
pub(crate) trait Sum {
    /// Returns the inputs.
    fn inputs(&self) -> &[Input];

    /// Returns the total count of an input without its weight.
    ///
    /// # Errors
    ///
    /// The errors of the readers.
    fn total_of(&self, input: &Input) -> Result<u128>;

    /// Returns the figures of the result as it will be written.
    ///
    /// # Errors
    ///
    /// The errors of the writers.
    fn facts(&self, wanted: FactsRequest) -> Result<Facts>;

    /// Fails if there is nothing to write.
    ///
    /// # Errors
    ///
    /// Nothing found.
    fn require_something(&self, facts: &Facts) -> Result<()> {
        facts.require_something()
    }

    /// Writes the result and records the written file.
    ///
    /// # Errors
    ///
    /// The errors of the writers; a loss error if losses are forbidden.
    fn write(self: Box<Self>, facts: &Facts, document: &mut MergeDocument) -> Result<()>;
}

/// Thresholds for the result.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Thresholds (exit code 3; nothing is written)")]
pub(crate) struct MergeGateArgs {
    /// Fail if fewer inputs than this are used
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = parse_count)]
    min_inputs: u64,
    /// Fail if the output has fewer functions than this (iprof and stacks: methods; memory profiles: functions with
    /// allocations)
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = parse_count)]
    min_functions: u64,
    /// Fail if the total count is less than this (counters, samples, events of all sections of an iprof, sample counts
    /// of stacks, bytes of a memory profile)
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = parse_count)]
    min_total_count: u64,
    /// Write the output even if it is empty
    #[arg(long)]
    pub(crate) allow_empty: bool,
    /// Fail if one input, with its weight, contributes more than this share, such as 0.5 or 50%
    #[arg(long, value_name = "SHARE", value_parser = share)]
    max_input_share: Option<f64>,
}

fn share(text: &str) -> std::result::Result<f64, String> {
    let wrong = || format_error_with_hint(Error::usage("expected a share between 0 and 1, or 0% and 100%"));
    parse_share(text).ok_or_else(wrong)
}

/// Parses a whole number, which may be written as `1e6` or `1_000_000`.
fn parse_count(text: &str) -> std::result::Result<u64, String> {
    let digits = text.replace('_', "");
    if let Ok(number) = digits.parse() {
        return Ok(number);
    }
    let whole = |number: &f64| number.fract() == 0.0 && (0.0..=9e15).contains(number);
    let is_number = digits.starts_with(|first: char| first.is_ascii_digit());
    let number = digits.parse::<f64>().ok().filter(whole).filter(|_| is_number);
    number.map(|number| number as u64).ok_or_else(|| "expected a whole number, such as 1000000 or 1e6".to_string())
}

impl MergeGateArgs {
    /// Returns no thresholds, only whether the result may be empty.
    pub(crate) fn for_conversion(allow_empty: bool) -> Self {
        Self { allow_empty, ..Self::default() }
    }

    /// Writes a result if it passes all thresholds.
    ///
    /// # Errors
    ///
    /// Gate failed; nothing found if the result is empty and this is not allowed; the errors of [`Sum::write`].
    pub(crate) fn write(&self, sum: Box<dyn Sum + '_>, document: &mut MergeDocument) -> Result<()> {
        let minimums = Minimums::new(self.min_inputs, self.min_functions, self.min_total_count);
        let mut wanted = minimums.wanted();
        wanted.functions |= document.wanted().functions;
        let facts = sum.facts(wanted)?;
        document.hold(&facts);
        document.judge([minimums.outcomes(&facts), self.input_share(&*sum)].concat())?;
        if !self.allow_empty {
            sum.require_something(&facts)?;
        }
        sum.write(&facts, document)
    }

    /// Fails if there is nothing to write, unless an empty result is allowed.
    ///
    /// # Errors
    ///
    /// Nothing found.
    pub(crate) fn require_something(&self, facts: &Facts) -> Result<()> {
        if self.allow_empty { Ok(()) } else { facts.require_something() }
    }

    /// Fails if `is_empty` returns true before there is a result, unless an empty result is allowed.
    ///
    /// # Errors
    ///
    /// Nothing found, with the missing data.
    pub(crate) fn reject_empty_result(&self, words: &str, is_empty: impl FnOnce() -> bool) -> Result<()> {
        if self.allow_empty || !is_empty() {
            return Ok(());
        }
        Err(Error::nothing_found(format!("there is nothing to write: {words}")).with_hint(Hint::AllowEmpty))
    }

    /// Returns the outcome for the share of the largest input, if it has a threshold.
    fn input_share(&self, sum: &dyn Sum) -> Vec<GateOutcome> {
        let Some(most) = self.max_input_share else { return Vec::new() };
        let inputs = sum.inputs();
        let largest = largest_share(inputs, &|input| sum.total_of(input));
        let words = match largest {
            Some((at, _)) => format!("the share of the largest input, {},", inputs[at].path.display()),
            None => "the share of the largest input".to_string(),
        };
        let found = largest.map(|(_, share)| share);
        vec![GateOutcome::share("input-share", Bound::AtMost, most, found).hint_text(words)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Two inputs, one of which counts three times as much as the other.
    struct TwoInputs<'a> {
        inputs: [Input; 2],
        lacks: Option<&'static str>,
        written: &'a Cell<bool>,
    }

    impl Sum for TwoInputs<'_> {
        fn inputs(&self) -> &[Input] {
            &self.inputs
        }

        fn total_of(&self, input: &Input) -> Result<u128> {
            Ok(if input.path.ends_with("heavy") { 30 } else { 10 })
        }

        fn facts(&self, _: FactsRequest) -> Result<Facts> {
            let mut facts = Facts::default();
            (facts.inputs, facts.functions, facts.total_count) = (2, Some(3), Some(40));
            facts.lack = self.lacks.map(str::to_string);
            Ok(facts)
        }

        fn write(self: Box<Self>, _: &Facts, _: &mut MergeDocument) -> Result<()> {
            self.written.set(true);
            Ok(())
        }
    }

    /// Returns the error of the merge of a test family, if there is one, and whether the family was called to write.
    fn judged(gates: &MergeGateArgs, lacks: Option<&'static str>) -> (Option<String>, bool) {
        let written = Cell::new(false);
        let inputs = ["light", "heavy"].map(Input::new);
        let sum = Box::new(TwoInputs { inputs, lacks, written: &written });
        let error = gates.write(sum, &mut MergeDocument::new(&[])).err();
        (error.map(|error| error.to_string()), written.get())
    }

    #[test]
    fn every_threshold_is_checked_before_any_writer() {
        let passing = MergeGateArgs {
            min_inputs: 2,
            min_functions: 3,
            min_total_count: 40,
            allow_empty: false,
            max_input_share: Some(0.75),
        };
        assert_eq!(judged(&passing, None), (None, true));
        let failing = [
            ("the number of inputs used is 2", MergeGateArgs { min_inputs: 3, ..passing.clone() }),
            ("the number of functions is 3", MergeGateArgs { min_functions: 4, ..passing.clone() }),
            ("the total count is 40", MergeGateArgs { min_total_count: 41, ..passing.clone() }),
            ("the largest input, heavy, is 0.75", MergeGateArgs { max_input_share: Some(0.7), ..passing.clone() }),
        ];
        for (words, gates) in failing {
            let (error, written) = judged(&gates, None);
            assert!(error.as_deref().is_some_and(|error| error.contains(words)), "{error:?}");
            assert!(!written, "{words}");
        }
    }

    #[test]
    fn nothing_is_written_only_where_that_was_asked_for() {
        let (error, written) = judged(&MergeGateArgs::default(), Some("no oranges"));
        assert_eq!(error.as_deref(), Some("there is nothing to write: no oranges"));
        assert!(!written);
        assert_eq!(judged(&MergeGateArgs::for_conversion(true), Some("no oranges")), (None, true));
    }
}
