//! Advice about the toolchains found: pairs of tools that do not understand each other, and callers that should use
//! this program.

use super::machine::{Client, Machine, Tool, row_of};
use super::versions::Kind;
use profbridge::instr::release;
use profbridge::instr::target::{ENVIRONMENT, EXACT};
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// A piece of advice.
#[derive(Serialize)]
pub(super) struct Advice {
    /// The kind of problem, for programs.
    kind: AdviceKind,
    /// The problem and its solution, for users.
    message: String,
}

/// A kind of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum AdviceKind {
    /// A variable has an invalid value.
    BadVariable,
    /// The installed llvm-profdata rejects the version of a compiler's raw profiles.
    DumpsAreRefused,
    /// A search for llvm-profdata finds none.
    NoLlvmProfdata,
    /// Results may have a version that the compiler cannot read.
    NoReaderChosen,
    /// A compiler is newer than the release table.
    NewerThanKnown,
    /// A tool that builds find does not print its version.
    ToolFails,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

fn advice(kind: AdviceKind, message: String) -> Advice {
    Advice { kind, message }
}

/// Returns all advice for a machine.
pub(super) fn on(machine: &Machine) -> Vec<Advice> {
    let mut all = Vec::new();
    all.extend(on_variables(machine));
    all.extend(on_failing(machine));
    for compiler in first_compilers(machine) {
        all.extend(on_compiler(machine, compiler));
    }
    all.extend(on_missing(machine));
    all
}

fn on_variables(machine: &Machine) -> Vec<Advice> {
    let mut all = Vec::new();
    let chosen = machine.variable(ENVIRONMENT).filter(|value| !value.is_empty() && *value != EXACT);
    if let Some(Err(error)) = chosen.map(release::parse) {
        let value = chosen.unwrap_or_default();
        all.push(advice(AdviceKind::BadVariable, format!("{ENVIRONMENT}={value} is not a known toolchain: {error}")));
    }
    for name in ["LLVM_PROFDATA", "RUST_LLVM_PROFDATA"] {
        if let Some(value) = machine.variable(name).filter(|value| !value.is_empty() && !Path::new(value).is_file()) {
            all.push(advice(AdviceKind::BadVariable, format!("{name}={value}: no such file")));
        }
    }
    all
}

/// Returns the compilers that a build finds without a version number: the first of each kind. A build that calls
/// `clang-19` also calls `llvm-profdata-19`.
fn first_compilers(machine: &Machine) -> impl Iterator<Item = &Tool> {
    [Kind::Clang, Kind::Rustc].into_iter().filter_map(|kind| {
        let is_first = |tool: &&Tool| tool.tool == kind && tool.llvm.is_some() && tool.has_plain_name();
        machine.tools.iter().find(is_first)
    })
}

/// Names the tools that builds find but that do not work.
fn on_failing(machine: &Machine) -> impl Iterator<Item = Advice> {
    let is_found = |tool: &&Tool| {
        let is_first =
            machine.tools.iter().find(|first| first.tool == tool.tool).is_some_and(|first| first.path == tool.path);
        let is_called = machine.clients.iter().filter_map(|client| client.finds.as_ref()).any(|path| tool.is_at(path));
        is_called || (is_first && tool.tool.is_compiler_of_llvm() && tool.has_plain_name())
    };
    machine.tools.iter().filter(is_found).filter(|tool| tool.version.is_none()).map(|tool| {
        let error = tool.error.as_deref().unwrap_or("prints no version");
        advice(AdviceKind::ToolFails, format!("{} does not work, but builds find it: it {error}", tool.path))
    })
}

fn on_compiler(machine: &Machine, compiler: &Tool) -> Vec<Advice> {
    let Some(llvm) = compiler.llvm else { return Vec::new() };
    let name = format!("{} {}", compiler.tool.name(), compiler.version.as_deref().unwrap_or_default());
    if row_of(llvm).is_none() {
        let text =
            format!("{name} has LLVM {llvm}, which is newer than this program supports: install a newer profbridge");
        return vec![advice(AdviceKind::NewerThanKnown, text)];
    }
    let clients = clients_of(machine, compiler.tool);
    let refused = clients.iter().filter_map(|client| on_refused(machine, compiler, llvm, &name, client));
    let reader = clients.iter().any(|client| client.is_profbridge).then(|| on_reader(machine, llvm, &name)).flatten();
    refused.chain(reader).collect()
}

/// Returns the clients that call llvm-profdata for a compiler's programs, one for each program that they find.
fn clients_of(machine: &Machine, compiler: Kind) -> Vec<&Client> {
    let is_of_rust = compiler == Kind::Rustc;
    let has_clang = first_compilers(machine).any(|tool| tool.tool == Kind::Clang);
    let calls = |client: &&Client| match client.client {
        // Without clang, builds that search PATH are Rust's.
        "PATH" => !is_of_rust || !has_clang,
        _ => is_of_rust,
    };
    let mut clients: Vec<&Client> = Vec::new();
    for client in machine.clients.iter().filter(calls).filter(|client| client.finds.is_some()) {
        if clients.iter().all(|known| known.finds != client.finds) {
            clients.push(client);
        }
    }
    clients
}

/// Advises to replace an llvm-profdata that rejects the profiles of a compiler's programs.
fn on_refused(machine: &Machine, compiler: &Tool, llvm: u32, name: &str, client: &Client) -> Option<Advice> {
    let (other, path) = (row_of(client.llvm?)?, client.finds.as_deref()?);
    let raw = compiler.raw_version.filter(|raw| *raw != other.raw_version)?;
    let variable =
        ["LLVM_PROFDATA", "RUST_LLVM_PROFDATA"].into_iter().find(|name| machine.variable(name) == Some(path));
    let solution = match variable {
        Some(variable) => format!("set {variable}=\"$(command -v profbridge)\""),
        None => format!("let builds find a link to this program first: {LINK}"),
    };
    let text = format!(
        "{name} has LLVM {llvm}: its programs write raw version {raw}, which {path} of LLVM {} rejects; {solution}",
        other.llvm
    );
    Some(advice(AdviceKind::DumpsAreRefused, text))
}

/// The commands that put a link to this program in front of PATH.
const LINK: &str = "mkdir -p bin; ln -s \"$(command -v profbridge)\" bin/llvm-profdata; export PATH=\"$PWD/bin:$PATH\"";

/// Advises on the target. In llvm-profdata mode this program writes the output of LLVM 22 if possible, which older
/// compilers with the same raw version cannot read.
fn on_reader(machine: &Machine, llvm: u32, name: &str) -> Option<Advice> {
    let chosen = machine.variable(ENVIRONMENT).filter(|value| !value.is_empty());
    let default = release::Release::DEFAULT;
    let (row, default) = (row_of(llvm)?, row_of(default.0)?);
    if chosen.is_some() || row.raw_version != default.raw_version || row.indexed_version >= default.indexed_version {
        return None;
    }
    let text = format!(
        "{name} has LLVM {llvm} and reads indexed profiles up to version {}; called as llvm-profdata this program \
         writes version {} for such profiles: set {ENVIRONMENT}=llvm-{llvm}, or name the link llvm-profdata-{llvm}",
        row.indexed_version, default.indexed_version
    );
    Some(advice(AdviceKind::NoReaderChosen, text))
}

fn on_missing(machine: &Machine) -> Option<Advice> {
    let has_compiler = machine.tools.iter().any(|tool| tool.tool.is_compiler_of_llvm());
    let is_missing = machine.clients.iter().any(|client| client.client == "PATH" && client.finds.is_none());
    (has_compiler && is_missing).then(|| {
        let text = format!(
            "builds find no llvm-profdata in PATH: create a link to this program: {LINK}; for cargo-llvm-cov set \
             LLVM_PROFDATA=\"$(command -v profbridge)\""
        );
        advice(AdviceKind::NoLlvmProfdata, text)
    })
}
