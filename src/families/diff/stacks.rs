//! Comparing sources of stacks, whatever their kinds.
//!
//! What only one of two kinds knows is left out of both: lines and bytecode
//! indexes always, parameter types where one side has methods without, native
//! frames where one side is an iprof, which has none.

use crate::call_chains::{Function, FunctionId, SampleSource, Selection, StackTable};
use crate::driver::diff::{DiffOptions, Facts, Names, diff};
use crate::error::{Error, Result, Warning};
use crate::families::diff::FileDiff;
use crate::families::read::stacks::{StackOptions, add_file, holds_stacks, unit_of, without_addresses};
use crate::hint::Hint;
use crate::input::{Format, Input};
use foldhash::HashMap;

/// Whether two files are compared as stacks: both hold some, and one of them is
/// not an iprof. Two iprof files have more to compare.
///
/// # Errors
///
/// I/O errors with the path.
pub fn are_stacks(first: &Input, second: &Input) -> Result<bool> {
    let formats = [first.format()?, second.format()?];
    Ok(formats.into_iter().all(holds_stacks) && formats != [Format::Iprof; 2])
}

/// Compares the selected samples of two sources of stacks: by whole stack, and
/// by the method that was running.
///
/// # Errors
///
/// The errors of the readers, with the path; usage if nothing is left to compare.
pub fn diff_stacks(
    first: &Input,
    second: &Input,
    read: &StackOptions,
    selection: &Selection,
    options: &DiffOptions,
) -> Result<(FileDiff, Vec<Warning>)> {
    let mut warnings = Vec::new();
    let mut table = |input: &Input| {
        let path = &input.path;
        let mut table = StackTable::new();
        let found = add_file(input, read, &mut table).map_err(|error| error.in_file(path))?;
        warnings.extend(found.into_iter().map(|warning| warning.in_file(path)));
        let mut selection = selection.clone();
        if !has_event_types(&table) {
            selection.sources.clear();
        }
        let selected = table.select(&selection).0;
        if selected.is_empty() {
            return Err(Error::nothing_found("no samples are left to compare").in_file(path));
        }
        let unit = unit_of(&selected).map_err(|error| error.in_file(path))?;
        Ok((without_addresses(&selected), unit))
    };
    let [(one, unit), (other, other_unit)] = [table(first)?, table(second)?];
    if unit != other_unit {
        let detail = format!("it counts {}, the first counts {}", other_unit.word(), unit.word());
        return Err(Error::usage(detail).in_file(&second.path).with_hint(Hint::ChooseValue));
    }
    let mut tables = [one, other];
    if is_iprof(first)? || is_iprof(second)? {
        for (table, input) in tables.iter_mut().zip([first, second]) {
            let none = || Error::nothing_found("no sample has a Java frame").in_file(&input.path);
            *table = java_only(table).ok_or_else(none)?;
        }
    }
    let mut space = Space { with_types: tables.iter().all(has_types), ..Space::default() };
    let [first, second] = [space.facts(&tables[0]), space.facts(&tables[1])];
    let mut options = options.clone();
    options.functions_by = "samples";
    Ok((FileDiff::new(diff(first, second, &space, &options)), warnings))
}

/// Returns true if the samples have event types, as in recordings. Other sources have only one type.
fn has_event_types(table: &StackTable) -> bool {
    table.samples().any(|sample| sample.key.source != SampleSource::Unknown)
}

fn is_iprof(input: &Input) -> Result<bool> {
    Ok(input.format()? == Format::Iprof)
}

/// Stacks without native frames, whose hits their Java callers get.
fn java_only(table: &StackTable) -> Option<StackTable> {
    let is_java = |table: &StackTable, id: FunctionId| matches!(table.function(id), Function::Java { .. });
    let (kept, _) = table.map_frames(|out, frame| is_java(out, frame.function).then_some(frame));
    (!kept.is_empty()).then_some(kept)
}

/// Whether the types of all Java methods are known.
fn has_types(table: &StackTable) -> bool {
    table.functions().all(|id| !matches!(table.function(id), Function::Java { signature: None, .. }))
}

/// Numbers that mean the same in both tables.
#[derive(Default)]
struct Space {
    with_types: bool,
    methods: HashMap<String, u32>,
    names: Vec<String>,
    /// Stacks by caller and method.
    stacks: HashMap<(Option<u64>, u32), u64>,
}

impl Space {
    fn method(&mut self, table: &StackTable, id: FunctionId) -> u32 {
        let name = match table.function(id) {
            Function::Java { class, name, .. } if !self.with_types => {
                format!("{}.{}", table.name(class), table.name(name))
            }
            _ => table.display_function(id),
        };
        if let Some(known) = self.methods.get(&name) {
            return *known;
        }
        let number = self.names.len() as u32;
        self.names.push(name.clone());
        self.methods.insert(name, number);
        number
    }

    fn facts(&mut self, table: &StackTable) -> Facts {
        let methods: Vec<u32> = table.functions().map(|id| self.method(table, id)).collect();
        let mut stacks: Vec<u64> = Vec::with_capacity(table.stacks().len());
        for stack in table.stacks() {
            let caller = table.parent(stack).map(|caller| stacks[caller.index()]);
            let method = methods[table.frame(table.leaf(stack)).function.index()];
            let next = self.stacks.len() as u64;
            stacks.push(*self.stacks.entry((caller, method)).or_insert(next));
        }
        let mut facts = Facts::default();
        let (mut whole, mut leaves) = (Vec::new(), Vec::new());
        for sample in table.samples() {
            let (stack, hits) = (sample.key.stack, u128::from(sample.hits));
            let method = methods[table.frame(table.leaf(stack)).function.index()];
            whole.push(((stacks[stack.index()], 0), hits));
            leaves.push(((u64::from(method), 0), hits));
            facts.functions.push((u64::from(method), hits));
        }
        facts.sections.insert(STACKS, whole);
        facts.sections.insert(METHODS, leaves);
        facts
    }
}

/// Samples by whole stack.
const STACKS: &str = "stacks";
/// Samples by the method that was running.
const METHODS: &str = "methods";

impl Names for Space {
    fn function(&self, function: u64) -> String {
        usize::try_from(function).ok().and_then(|at| self.names.get(at)).cloned().unwrap_or_default()
    }

    fn site(&self, _: &str, site: u64) -> String {
        self.function(site)
    }

    fn part(&self, _: &str, part: i64) -> String {
        part.to_string()
    }
}
