//! Thresholds of `merge`: conditions on a result before it is written, the same for all families.

use crate::hints::format_error_with_hint;
use crate::merge_document::MergeDocument;
use crate::merge_report::{Messages, note_merged, report_result, report_written};
use crate::stacks::why_nothing_to_write;
use clap::Args;
use profbridge::families::inputs::largest_share;
use profbridge::families::{Facts, MergeSettings, Merged, MergedProfile, Minimums, NoStacks};
use profbridge::gates::{Bound, GateOutcome, parse_share};
use profbridge::input::Input;
use profbridge::{Error, Hint, Result};

/// Thresholds for the result.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Thresholds (exit code 3; nothing is written)")]
pub(crate) struct MergeGateArgs {
    /// Fail if fewer inputs than this are used
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = parse_count)]
    min_inputs: u64,
    /// Fail if the output has fewer functions than this; one with several records counts once (iprof and stacks:
    /// methods; memory profiles: functions with allocations or with calls that lead to them)
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
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "normalize")]
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

    /// Writes a merged profile if it passes all thresholds.
    ///
    /// # Errors
    ///
    /// Gate failed; nothing found if the result is empty and this is not allowed; the errors of [`Merged::write`].
    pub(crate) fn write(
        &self,
        mut merged: Merged,
        inputs: &[Input],
        settings: &MergeSettings,
        messages: Messages,
        document: &mut MergeDocument,
    ) -> Result<()> {
        note_merged(document, &merged);
        let minimums = Minimums::new(self.min_inputs, self.min_functions, self.min_total_count);
        let mut wanted = minimums.wanted();
        wanted.functions |= document.wanted().functions;
        let facts = merged.facts(wanted)?;
        document.hold(&facts);
        document.judge([minimums.outcomes(&facts), self.input_share(&merged, inputs, settings)].concat())?;
        if !self.allow_empty {
            merged.require_something(&facts).map_err(|error| with_reason(error, &merged))?;
        }
        merged.refuse_losses(settings)?;
        report_result(&merged, settings, messages, document);
        let saved = merged.write(settings)?;
        report_written(&merged, &saved, &facts, settings, messages, document);
        // The process ends here, so freeing the memory would only cost time.
        std::mem::forget(merged);
        Ok(())
    }

    /// Rejects a largest share of the inputs of a watch: at its end, they are not read again, and may be deleted.
    pub(crate) fn refuse_share_of_inputs(&self) -> Result<()> {
        match self.max_input_share {
            None => Ok(()),
            Some(_) => Err(Error::usage("--max-input-share needs the inputs, which --watch does not keep")
                .with_hint("merge the directory without --watch to check the shares")),
        }
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
    fn input_share(&self, merged: &Merged, inputs: &[Input], settings: &MergeSettings) -> Vec<GateOutcome> {
        let Some(most) = self.max_input_share else { return Vec::new() };
        let inputs = merged.counted_inputs(inputs);
        let largest = largest_share(&inputs, &|input| merged.total_count(input, settings));
        let words = match largest {
            Some((at, _)) => format!("the share of the largest input, {},", inputs[at].path.display()),
            None => "the share of the largest input".to_string(),
        };
        let found = largest.map(|(_, share)| share);
        vec![GateOutcome::share("input-share", Bound::AtMost, most, found).hint_text(words)]
    }
}

/// Adds what the inputs have instead of the selected stacks.
fn with_reason(error: Error, merged: &Merged) -> Error {
    match &merged.profile {
        MergedProfile::Stacks { encoded, .. } => match &encoded.nothing {
            Some(NoStacks::Selected(table)) => error.with_hint(why_nothing_to_write(table)),
            _ => error,
        },
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use profbridge::families::plan::MergePlan;
    use profbridge::families::{self, OutputForm};
    use profbridge::input::Family;

    /// Merges two inputs, one of which counts three times as much as the other. Returns the error, if there is one, and
    /// whether the output was written.
    fn judged(gates: &MergeGateArgs, texts: [&str; 2]) -> (Option<String>, bool) {
        let folder = tempfile::tempdir().unwrap();
        let input = |name: &str, text: &str| Input::from_bytes(name, text.as_bytes().to_vec());
        let inputs = [input("light", texts[0]), input("heavy", texts[1])];
        let output = folder.path().join("a.proftext");
        let settings = MergeSettings::new(&output, OutputForm::Text);
        let merged = families::merge(&inputs, MergePlan::Family(Family::Instr), &settings, &mut |_, _| {});
        let messages = Messages::new(true, true);
        let merged = merged.map_err(Error::from).unwrap();
        let error = gates.write(merged, &inputs, &settings, messages, &mut MergeDocument::new(&[])).err();
        (error.map(|error| error.to_string()), output.exists())
    }

    const TEXTS: [&str; 2] = ["a\n1\n1\n10\n\nb\n2\n1\n0\n", "a\n1\n1\n20\n\nc\n3\n1\n10\n"];

    #[test]
    fn every_threshold_is_checked_before_any_writer() {
        let passing = MergeGateArgs {
            min_inputs: 2,
            min_functions: 3,
            min_total_count: 40,
            allow_empty: false,
            max_input_share: Some(0.75),
        };
        assert_eq!(judged(&passing, TEXTS), (None, true));
        let failing = [
            ("the number of inputs used is 2", MergeGateArgs { min_inputs: 3, ..passing.clone() }),
            ("the number of functions is 3", MergeGateArgs { min_functions: 4, ..passing.clone() }),
            ("the total count is 40", MergeGateArgs { min_total_count: 41, ..passing.clone() }),
            ("the largest input, heavy, is 75.00 %", MergeGateArgs { max_input_share: Some(0.7), ..passing.clone() }),
        ];
        for (words, gates) in failing {
            let (error, written) = judged(&gates, TEXTS);
            assert!(error.as_deref().is_some_and(|error| error.contains(words)), "{error:?}");
            assert!(!written, "{words}");
        }
    }

    #[test]
    fn nothing_is_written_only_where_that_was_asked_for() {
        let (error, written) = judged(&MergeGateArgs::default(), [":ir\n", ":ir\n"]);
        assert!(error.is_some_and(|error| error.starts_with("there is nothing to write")));
        assert!(!written);
        assert_eq!(judged(&MergeGateArgs::for_conversion(true), [":ir\n", ":ir\n"]), (None, true));
    }
}
