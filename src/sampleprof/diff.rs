//! Compares sample profiles.
//!
//! A chain of calls identifies a line location, whether the chain is a calling context or inlining, so profiles of
//! different layouts can be compared. Names match by their hashes, so profiles with hashes instead of names can be
//! compared, too.

use super::files::read_file;
use super::options::ReadOptions;
use super::profile::SampleProfile;
use super::record::{CallTarget, FunctionName, FunctionRecord, LineLocation, NameId};
use crate::compat::Compat;
use crate::driver::diff::{DiffOptions, DiffReport, Facts, Key, Names, diff};
use crate::error::{Error, ErrorKind, Result};
use crate::input::Input;
use foldhash::HashMap;

/// Compares two sample profiles: by line location, by entry, by function including where it was inlined, and by callee.
///
/// # Errors
///
/// The errors of the files, with the path; a kind conflict if only one of them is probe-based, because its locations are
/// not lines.
pub(crate) fn diff_files(first: &Input, second: &Input, options: &DiffOptions) -> Result<DiffReport> {
    let mut read = ReadOptions::default();
    read.limits = options.limits;
    let mut space = Space::default();
    let mut facts = |input: &Input| {
        let profile = read_file(input, &read, Compat::Profbridge)?;
        Ok::<_, Error>((profile.kind().probe_based, space.facts(&profile)))
    };
    let ((first_probes, first), (second_probes, second)) = (facts(first)?, facts(second)?);
    if first_probes != second_probes {
        let detail = "cannot compare probe-based profile with non-probe-based profile".to_string();
        return Err(Error::new(ErrorKind::KindConflict { detail }));
    }
    let mut options = options.clone();
    options.functions_by = "samples";
    options.receivers = vec![CALL_TARGETS, VIRTUAL_TABLES];
    Ok(diff(first, second, &space, &options))
}

/// Samples by line location.
const PLACES: &str = "places";
/// Samples of the entries of functions or contexts.
const ENTRIES: &str = "entries";
/// Samples in the own code of a function, including where it was inlined.
const FUNCTIONS: &str = "functions";
/// Samples of calls, by line location and callee.
const CALL_TARGETS: &str = "call targets";
/// Samples of vtables, by line location and vtable.
const VIRTUAL_TABLES: &str = "virtual tables";

/// Samples by key.
type Events = Vec<(Key, u128)>;

/// A chain of calls, which ends with a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Chain {
    /// The chain of the caller, and where it calls.
    caller: Option<(u64, LineLocation)>,
    function: u64,
}

/// Numbers of names, chains and calls that are equal in both profiles.
#[derive(Debug, Default)]
struct Space {
    functions: HashMap<u64, u64>,
    /// The names of functions, or the digits of their hashes.
    names: Vec<Vec<u8>>,
    chains: HashMap<Chain, u64>,
    chain_list: Vec<Chain>,
    /// The locations of calls.
    calls: HashMap<(u64, LineLocation), u64>,
    call_list: Vec<(u64, LineLocation)>,
}

/// The content of one profile.
#[derive(Default)]
struct Collected {
    /// The numbers of the profile's names.
    functions: Vec<u64>,
    places: Events,
    entries: Events,
    /// Samples of functions; 0 for callers in a context.
    own: Vec<(u64, u128)>,
    call_targets: Events,
    virtual_tables: Events,
}

/// Adds samples of a part of a site. The comparison ignores zeros.
fn push(events: &mut Events, site: u64, part: i64, samples: u64) {
    if samples > 0 {
        events.push(((site, part), u128::from(samples)));
    }
}

impl Collected {
    fn function(&self, name: NameId) -> u64 {
        self.functions[name.index()]
    }

    fn into_facts(self) -> Facts {
        let functions = self.own.iter().map(|(function, samples)| ((*function, 0), *samples)).collect();
        let sections = [
            (PLACES, self.places),
            (ENTRIES, self.entries),
            (FUNCTIONS, functions),
            (CALL_TARGETS, self.call_targets),
            (VIRTUAL_TABLES, self.virtual_tables),
        ];
        Facts { sections: sections.into(), functions: self.own }
    }
}

impl Space {
    /// Returns the number of a name. A name in one profile matches its hash in the other.
    fn function(&mut self, name: FunctionName<'_>) -> u64 {
        let next = self.names.len() as u64;
        let number = *self.functions.entry(name.hash()).or_insert(next);
        if number == next {
            self.names.push(name.to_bytes());
        } else if let (FunctionName::Text(text), Ok(at)) = (name, usize::try_from(number)) {
            self.names[at] = text.to_vec();
        }
        number
    }

    fn chain(&mut self, caller: Option<(u64, LineLocation)>, function: u64) -> u64 {
        let chain = Chain { caller, function };
        let next = self.chain_list.len() as u64;
        let number = *self.chains.entry(chain).or_insert(next);
        if number == next {
            self.chain_list.push(chain);
        }
        number
    }

    fn call(&mut self, chain: u64, location: LineLocation) -> u64 {
        let next = self.call_list.len() as u64;
        let number = *self.calls.entry((chain, location)).or_insert(next);
        if number == next {
            self.call_list.push((chain, location));
        }
        number
    }

    fn facts(&mut self, profile: &SampleProfile) -> Facts {
        let functions = profile.names.iter().map(|name| self.function(name)).collect();
        let mut collected = Collected { functions, ..Collected::default() };
        let mut is_caller = vec![false; collected.functions.len()];
        for record in &profile.functions {
            let mut caller = None;
            for frame in record.context.iter().flat_map(|frames| frames.split_last()).flat_map(|(_, callers)| callers) {
                is_caller[frame.function.index()] = true;
                let chain = self.chain(caller, collected.function(frame.function));
                caller = Some((chain, frame.location));
            }
            let chain = self.chain(caller, collected.function(record.name));
            push(&mut collected.entries, chain, 0, record.head);
            self.record(record, chain, &mut collected);
        }
        let callers = collected.functions.iter().zip(is_caller).filter(|(_, is_caller)| *is_caller);
        collected.own.extend(callers.map(|(function, _)| (*function, 0)));
        collected.into_facts()
    }

    /// Collects a record and its inlined callees. The readers bound their depth.
    fn record(&mut self, record: &FunctionRecord, chain: u64, collected: &mut Collected) {
        let function = collected.function(record.name);
        for entry in &record.body {
            push(&mut collected.places, chain, place(entry.location), entry.samples);
            let Collected { functions, call_targets, .. } = collected;
            self.targets((chain, entry.location), &entry.targets, functions, call_targets);
        }
        for entry in &record.vtables {
            let Collected { functions, virtual_tables, .. } = collected;
            self.targets((chain, entry.location), &entry.tables, functions, virtual_tables);
        }
        collected.own.push((function, record.own_samples().into()));
        for site in &record.call_sites {
            let callee = collected.function(site.callee.name);
            let chain = self.chain(Some((chain, site.location)), callee);
            self.record(&site.callee, chain, collected);
        }
    }

    fn targets(
        &mut self,
        (chain, location): (u64, LineLocation),
        targets: &[CallTarget],
        functions: &[u64],
        events: &mut Events,
    ) {
        for target in targets {
            let call = self.call(chain, location);
            push(events, call, functions[target.callee.index()].cast_signed(), target.samples);
        }
    }

    /// Returns a chain with callers first, like the title of a context: `main:2 @ foo`.
    fn title(&self, chain: u64) -> String {
        let mut parts = Vec::new();
        let mut next = Some((chain, None));
        while let Some((number, location)) = next {
            let Some(chain) = usize::try_from(number).ok().and_then(|at| self.chain_list.get(at)) else { break };
            let name = self.function_name(chain.function);
            parts.push(location.map_or(name.clone(), |at: LineLocation| format!("{name}:{at}")));
            next = chain.caller.map(|(caller, at)| (caller, Some(at)));
        }
        parts.reverse();
        parts.join(" @ ")
    }

    fn function_name(&self, function: u64) -> String {
        let name = usize::try_from(function).ok().and_then(|at| self.names.get(at));
        name.map(|name| String::from_utf8_lossy(name).into_owned()).unwrap_or_default()
    }
}

/// Returns the number of a location within its chain.
fn place(location: LineLocation) -> i64 {
    (u64::from(location.line) << 32 | u64::from(location.discriminator)).cast_signed()
}

impl Names for Space {
    fn function(&self, function: u64) -> String {
        self.function_name(function)
    }

    fn site(&self, section: &str, site: u64) -> String {
        if ![CALL_TARGETS, VIRTUAL_TABLES].contains(&section) {
            return self.title(site);
        }
        match usize::try_from(site).ok().and_then(|at| self.call_list.get(at)) {
            Some((chain, location)) => format!("{}:{location}", self.title(*chain)),
            None => String::new(),
        }
    }

    fn part(&self, _: &str, part: i64) -> String {
        self.function_name(part.cast_unsigned())
    }
}
