//! Merging sources of stacks: pprof profiles as pprof, so that nothing is lost,
//! everything else as tables of stacks.

use crate::call_chains::{Selection, StackTable};
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::families::merge::{Facts, FactsRequest, FailureMode, InputOutcome};
use crate::families::partial::{self, StoredFamily};
use crate::families::read::stacks::{StackOptions, add_file, check_units, holds_stacks, no_stacks};
use crate::input::{Access, Format, WeightedInput, detect};
use crate::limits::Limits;
use crate::stacks::pprof;
use std::collections::HashSet;
use std::path::Path;

/// How sources of stacks are merged.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct StackMergeOptions {
    /// How they are read.
    pub read: StackOptions,
    /// How pprof profiles are added up.
    pub pprof: pprof::MergeOptions,
    /// When bad inputs make the merge fail. Default: one is enough.
    pub failure_mode: FailureMode,
    /// Whether to keep the stacks before the fault of a damaged input, if the merge continues. This does not apply to
    /// pprof. Default: `false`.
    pub salvage: bool,
    /// Inputs that are all empty give an empty sum. Default: `false`, they are an error.
    pub accepts_nothing: bool,
    /// Count a profile twice that occurs in a partial merge and in another input. Default: `false`, an error.
    pub allow_duplicates: bool,
}

/// A merged profile, and warnings about it.
#[derive(Debug)]
#[non_exhaustive]
pub struct StackSum<T> {
    /// The sum.
    pub sum: T,
    /// Warnings, including those about failed inputs that do not end the merge.
    pub warnings: Vec<Warning>,
    /// The outcome of each input, in order.
    pub outcomes: Vec<InputOutcome>,
    /// There are several inputs with functions, and no function is in two of them.
    pub shares_nothing: bool,
    /// Bad inputs of which stacks were kept, by their places.
    pub salvaged: Vec<usize>,
}

impl<T> StackSum<T> {
    /// Inputs that are part of it.
    pub fn used(&self) -> usize {
        self.outcomes.iter().filter(|outcome| matches!(outcome, InputOutcome::Used)).count()
    }
}

/// Returns the facts about the selected stacks of a table: their functions and hits.
pub fn facts_of(table: &StackTable, selection: &Selection, wanted: FactsRequest) -> Facts {
    let mut facts = Facts::default();
    if wanted == FactsRequest::default() {
        return facts;
    }
    let is_selected = table.chooser(selection);
    let (mut is_there, mut hits) = (vec![false; table.functions().len()], 0);
    for sample in table.samples().filter(is_selected) {
        hits += u128::from(sample.hits);
        table.frames(sample.key.stack).for_each(|frame| is_there[table.frame(frame).function.index()] = true);
    }
    facts.functions = Some(is_there.iter().filter(|is_there| **is_there).count() as u64);
    facts.with_total(Some(hits))
}

/// Returns the facts about a pprof profile and one of its values.
///
/// # Errors
///
/// Usage for a value that the profile does not have.
pub fn facts_of_pprof(profile: &pprof::Profile, value: &pprof::ValueChoice, wanted: FactsRequest) -> Result<Facts> {
    let mut table = StackTable::new();
    if wanted != FactsRequest::default() {
        pprof::add_to_table(profile, value, &mut table)?;
    }
    Ok(facts_of(&table, &Selection::default(), wanted))
}

/// Whether [`merge_pprof`] takes the inputs: there are pprof profiles, and no
/// other sources of stacks. What is empty or damaged is left to the merge.
pub fn are_pprof(inputs: &[WeightedInput]) -> bool {
    // Faults of a partial merge are reported when it is opened.
    let opened = partial::open_kept(inputs, StoredFamily::Stacks, true, &Limits::default()).ok().flatten();
    let inputs = opened.as_ref().map_or(inputs, |(inputs, _)| &inputs[..]);
    let mut formats =
        inputs.iter().filter_map(|input| input.format().ok()).filter(|format| holds_stacks(*format)).peekable();
    formats.peek().is_some() && formats.all(|format| format == Format::Pprof)
}

/// Adds up pprof profiles by whole stack and labels.
///
/// # Errors
///
/// As [`FailureMode`] says: those of the reader, and kind conflict when profiles
/// have no value in common.
pub fn merge_pprof(
    inputs: &[WeightedInput],
    options: &StackMergeOptions,
) -> Result<StackSum<(pprof::Profile, pprof::MergeReport)>> {
    let opened = partial::open_kept(inputs, StoredFamily::Stacks, options.allow_duplicates, &options.read.limits)?;
    let inputs = opened.as_ref().map_or(inputs, |(inputs, _)| &inputs[..]);
    let mut merger = pprof::Merger::new(options.pprof);
    let mut names = SharedNames::default();
    let mut add = |input: &WeightedInput| {
        let limits = &options.read.limits;
        let data = input.bytes(Access::Read, limits)?;
        match detect(&data) {
            Format::Pprof => {}
            other => return Err(no_stacks(other)),
        }
        let (profile, warnings) = pprof::read(&data, limits)?;
        merger.add(&profile, input.weight.get())?;
        names.add(&profile)?;
        Ok(warnings)
    };
    let (warnings, outcomes) = each_input(inputs, options, &mut add)?;
    let shares_nothing = names.inputs > 1 && !names.are_shared;
    Ok(StackSum { sum: merger.finish(), warnings, outcomes, shares_nothing, salvaged: Vec::new() })
}

/// Names of functions, until two profiles have one in common.
#[derive(Default)]
struct SharedNames {
    seen: HashSet<Vec<u8>>,
    are_shared: bool,
    /// Profiles with functions.
    inputs: usize,
}

impl SharedNames {
    fn add(&mut self, profile: &pprof::Profile) -> Result<()> {
        if profile.functions.is_empty() {
            return Ok(());
        }
        self.inputs += 1;
        // What has no name is the same function nowhere.
        let names = || profile.functions.iter().map(|of| profile.strings.get(of.name)).filter(|name| !name.is_empty());
        self.are_shared = self.are_shared || names().any(|name| self.seen.contains(name));
        if !self.are_shared {
            for of in &profile.functions {
                let name = profile.strings.get(of.name);
                if !name.is_empty() && !self.seen.contains(name) {
                    self.seen.insert(name.to_vec());
                }
            }
        }
        Ok(())
    }
}

/// Adds up sources of stacks of any kind.
///
/// # Errors
///
/// As [`FailureMode`] says: those of the readers.
pub fn merge_tables(inputs: &[WeightedInput], options: &StackMergeOptions) -> Result<StackSum<StackTable>> {
    let opened = partial::open_kept(inputs, StoredFamily::Stacks, options.allow_duplicates, &options.read.limits)?;
    let inputs = opened.as_ref().map_or(inputs, |(inputs, _)| &inputs[..]);
    let (mut sum, mut functions) = (StackTable::new(), Vec::new());
    let (mut place, mut salvaged) = (0, Vec::new());
    let salvages = options.salvage && options.failure_mode != FailureMode::Any;
    let mut add = |input: &WeightedInput| {
        // The stacks before a fault are only added on request.
        let mut table = StackTable::new();
        let added = add_file(input, &options.read, &mut table);
        if added.is_ok() || salvages {
            if added.is_err() && !table.is_empty() {
                salvaged.push(place);
            }
            functions.extend(Some(table.functions().len()).filter(|len| *len > 0));
            sum.absorb_times(&table, input.weight.get());
        }
        place += 1;
        added
    };
    let (warnings, outcomes) = each_input(inputs, options, &mut add)?;
    check_units(&sum)?;
    let shares_nothing = functions.len() > 1 && functions.iter().sum::<usize>() == sum.functions().len();
    Ok(StackSum { sum, warnings, outcomes, shares_nothing, salvaged })
}

fn is_empty(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::EmptyProfile)
}

fn each_input(
    inputs: &[WeightedInput],
    options: &StackMergeOptions,
    add: &mut dyn FnMut(&WeightedInput) -> Result<Vec<Warning>>,
) -> Result<(Vec<Warning>, Vec<InputOutcome>)> {
    let (mut warnings, mut outcomes, mut used) = (Vec::new(), Vec::new(), 0);
    let (mode, mut last) = (options.failure_mode, None);
    let name = |warning: Warning, path: &Path| warning.in_file(path);
    for input in inputs {
        match add(input).map_err(|error| error.in_file(&input.path)) {
            Ok(found) => {
                used += 1;
                outcomes.push(InputOutcome::Used);
                warnings.extend(found.into_iter().map(|warning| name(warning, &input.path)));
            }
            Err(error) if mode == FailureMode::Any && !is_empty(&error) => return Err(error),
            Err(error) => {
                warnings.push(name(Warning::new(format!("skipped: {}", error.kind())), &input.path));
                if is_empty(&error) {
                    outcomes.push(InputOutcome::Empty);
                    last = last.or(Some(error));
                } else {
                    outcomes.push(InputOutcome::Failed(error));
                }
            }
        }
    }
    let failed = outcomes.iter().filter(|outcome| matches!(outcome, InputOutcome::Failed(_))).count() as u64;
    if used > 0 || (failed == 0 && options.accepts_nothing) {
        return Ok((warnings, outcomes));
    }
    let failure = outcomes.into_iter().rev().find_map(|outcome| match outcome {
        InputOutcome::Failed(error) => Some(error),
        _ => None,
    });
    match failure.or(last) {
        Some(error) if mode != FailureMode::Warn || failed == 0 => Err(error),
        _ => Err(Error::new(ErrorKind::InputsFailed { failed, inputs: inputs.len() as u64 })),
    }
}
