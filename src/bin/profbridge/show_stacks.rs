//! `show` of sampled stacks.

use crate::console;
use crate::demangled::DemangleArgs;
use crate::documents::{self, FileJson};
use crate::stacks::StackArgs;
use profbridge::call_chains::{
    CallChain, ChainOptions, Direction, MethodPattern, SampleStatistics, call_chains, statistics, write_chains,
    write_statistics,
};
use profbridge::families::stack_files::{read_stacks, unit_of, without_addresses};
use profbridge::input::Input;
use profbridge::names::NamePattern;
use profbridge::{Error, Result};
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

/// The call chains to show instead of the tables.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chains {
    /// Show the callers of this method.
    pub(crate) callers: Option<String>,
    /// Show the callees of this method.
    pub(crate) callees: Option<String>,
    /// Distinguish positions within a method.
    pub(crate) positions: bool,
}

/// The default number of rows of a table.
const ROWS: usize = 25;

/// The rows of the tables to show.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    /// The number of rows; for 0, text output has 25 and JSON has all.
    pub(crate) topn: usize,
    /// Show only methods that this selects.
    pub(crate) method: Option<&'a NamePattern>,
}

/// The output of `--json`; see `docs/json-schema/show-stacks-2.json`.
#[derive(Serialize)]
struct Json<'a> {
    #[serde(flatten)]
    file: FileJson,
    #[serde(flatten)]
    statistics: &'a SampleStatistics,
    #[serde(skip_serializing_if = "Option::is_none")]
    callers: Option<Vec<CallChain>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    callees: Option<Vec<CallChain>>,
}

/// Shows a recording, collapsed stacks or a pprof.
pub(crate) fn run(
    input: &Input,
    out: &Path,
    read: &StackArgs,
    chains: &Chains,
    Rows { topn, method }: Rows<'_>,
    (json, names): (bool, DemangleArgs),
) -> Result<ExitCode> {
    read.refuse_without_effect([input])?;
    let path = &input.path;
    let (table, warnings) = read_stacks(std::slice::from_ref(input), &read.read_options())?;
    warnings.iter().for_each(console::warning);
    let (selected, _) = table.select(&read.selection());
    let observed = &table.observed;
    let is_left_out = !observed.skipped_events.is_empty() || !observed.samples_out_of_time.is_empty();
    if selected.is_empty() && (!table.is_empty() || is_left_out) {
        return Err(crate::stacks::no_samples(&table).in_file(path));
    }
    unit_of(&selected)?;
    let table = without_addresses(selected);
    let mut options = ChainOptions::default();
    options.by_position = chains.positions;
    let chain = |name: &Option<String>, direction| match name {
        Some(name) => {
            let found = call_chains(&table, &MethodPattern::parse(name)?, direction, &options);
            if found.is_empty() {
                let examples = match table.has_java() {
                    true => "pass a package, a class, a method such as app.Main.loop(int) or loop, or /REGEX/",
                    false => "pass the name of a function, a part of it, or /REGEX/",
                };
                return Err(Error::nothing_found(format!("no stack contains {name}")).with_hint(examples));
            }
            Ok(Some(found))
        }
        None => Ok(None),
    };
    let callers = chain(&chains.callers, Direction::Callers)?;
    let callees = chain(&chains.callees, Direction::Callees)?;
    let mut statistics = statistics(&table);
    if let Some(pattern) = method {
        statistics.methods.retain(|row| pattern.matches(row.method.as_bytes()));
        if statistics.methods.is_empty() {
            return Err(pattern.nothing_found().in_file(path));
        }
    }
    if json {
        if topn > 0 {
            statistics.methods.truncate(topn);
            statistics.threads.truncate(topn);
        }
        let json = Json { file: FileJson::of(input), statistics: &statistics, callers, callees };
        documents::write_named(out, "profbridge.show-stacks/2", &json, names)?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = if callers.is_none() && callees.is_none() {
        console::escape(write_statistics(&statistics, if topn == 0 { ROWS } else { topn }))
    } else {
        let both: Vec<String> = [("Callers", &callers), ("Callees", &callees)].into_iter().filter_map(titled).collect();
        console::escape(both.join("\n"))
    };
    console::write_output(out, |out| out.write_all(names.apply(&text, json).as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}

fn titled((title, chains): (&str, &Option<Vec<CallChain>>)) -> Option<String> {
    chains.as_ref().map(|chains| format!("{title}, with shares of the line above:\n{}", write_chains(chains)))
}
