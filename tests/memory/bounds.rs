//! Memory of each command as a function of the input's size.

use super::allocator::peak_of;
use super::commands::{
    check, diff, draw, fit_instr, fit_itself, fit_program, fit_program_to_samples, info, order, overlap_instr,
    overlap_samples, overlap_stacks, repair, report, show_instr, show_iprof, show_memory, show_samples, show_stacks,
    show_whole_memory,
};
use super::merges::{
    convert_memory, convert_samples, convert_to_collapsed, convert_to_pprof, convert_to_raw, convert_to_text,
    merge_instr, merge_iprof, merge_memory, merge_pprof_profile, merge_samples, merge_stacks, part_of_instr,
    part_of_iprof, part_of_samples, part_of_stacks,
};
use super::{Command, ONE, PROGRAM, alone, inputs};
use profbridge::families::{MergeOptions, merge_files};
use profbridge::input::WeightedInput;
use std::collections::BTreeSet;
use std::path::Path;

/// Each bound is `BASE` plus a number of bytes per byte of the input.
const BASE: usize = 4 << 20;

/// The bounds in docs/limits.md: an input, a command, and bytes per byte of the input. The rows of an input are
/// adjacent.
const BOUNDS: [(inputs::Made, &str, Command, usize); 147] = [
    (inputs::TEXT, "merge", merge_instr, 24),
    (inputs::TEXT, "check", check, 24),
    (inputs::TEXT, "info", info, 24),
    (inputs::TEXT, "show", show_instr, 8),
    (inputs::TEXT, "convert", convert_to_raw, 8),
    (inputs::TEXT, "diff", diff, 16),
    (inputs::TEXT, "fit", fit_instr, 16),
    (inputs::TEXT, "merge --partial", part_of_instr, 16),
    (inputs::TEXT, "report", report, 16),
    (inputs::TEXT, "overlap", overlap_instr, 8),
    (inputs::TINY_TEXT, "merge", merge_instr, 20),
    (inputs::TINY_TEXT, "check", check, 20),
    (inputs::TINY_TEXT, "show", show_instr, 8),
    (inputs::TINY_TEXT, "diff", diff, 40),
    (inputs::ONE_NAME, "merge", merge_instr, 20),
    (inputs::ONE_NAME, "show", show_instr, 8),
    (inputs::INDEXED, "merge", merge_instr, 8),
    (inputs::INDEXED, "check", check, 8),
    (inputs::INDEXED, "info", info, 8),
    (inputs::INDEXED, "show", show_instr, 8),
    (inputs::INDEXED, "convert", convert_to_text, 8),
    (inputs::INDEXED, "diff", diff, 12),
    (inputs::INDEXED, "fit", fit_itself, 8),
    (inputs::INDEXED, "report", report, 8),
    (inputs::RAW, "merge", merge_instr, 8),
    (inputs::RAW, "check", check, 8),
    (inputs::RAW, "show", show_instr, 8),
    (inputs::RAW, "convert", convert_to_text, 8),
    (inputs::RAW, "diff", diff, 12),
    (inputs::RAW, "info", info, 8),
    (inputs::SAMPLE_TEXT, "merge", merge_samples, 24),
    (inputs::SAMPLE_TEXT, "check", check, 24),
    (inputs::SAMPLE_TEXT, "show", show_samples, 8),
    (inputs::SAMPLE_TEXT, "diff", diff, 32),
    (inputs::SAMPLE_TEXT, "fit", fit_itself, 24),
    (inputs::SAMPLE_TEXT, "merge --partial", part_of_samples, 24),
    (inputs::SAMPLE_TEXT, "info", info, 16),
    (inputs::SAMPLE_TEXT, "flamegraph", draw, 24),
    (inputs::SAMPLE_TEXT, "overlap", overlap_samples, 24),
    (inputs::EXT_BINARY, "merge", merge_samples, 24),
    (inputs::EXT_BINARY, "info", info, 24),
    (inputs::EXT_BINARY, "show", show_samples, 8),
    (inputs::EXT_BINARY, "convert", convert_samples, 16),
    (inputs::EXT_BINARY, "diff", diff, 32),
    (inputs::EXT_BINARY, "fit", fit_itself, 32),
    (inputs::IPROF, "merge", merge_iprof, 8),
    (inputs::IPROF, "check", check, 8),
    (inputs::IPROF, "show", show_iprof, 8),
    (inputs::IPROF, "diff", diff, 8),
    (inputs::IPROF, "fit", fit_itself, 8),
    (inputs::IPROF, "merge --partial", part_of_iprof, 8),
    (inputs::IPROF, "info", info, 8),
    (inputs::IPROF, "repair", repair, 8),
    (inputs::IPROF, "flamegraph", draw, 16),
    (inputs::IPROF, "report", report, 16),
    (inputs::COLLAPSED, "merge", merge_stacks, 16),
    (inputs::COLLAPSED, "check", check, 16),
    (inputs::COLLAPSED, "flamegraph", draw, 32),
    (inputs::COLLAPSED, "report", report, 32),
    (inputs::COLLAPSED, "show", show_stacks, 16),
    (inputs::COLLAPSED, "convert", convert_to_pprof, 16),
    (inputs::COLLAPSED, "diff", diff, 24),
    (inputs::COLLAPSED, "merge --partial", part_of_stacks, 8),
    (inputs::COLLAPSED, "info", info, 16),
    (inputs::COLLAPSED, "overlap", overlap_stacks, 32),
    (inputs::PPROF, "merge", merge_pprof_profile, 16),
    (inputs::PPROF, "check", check, 8),
    (inputs::PPROF, "flamegraph", draw, 16),
    (inputs::PPROF, "show", show_stacks, 8),
    (inputs::PPROF, "convert", convert_to_collapsed, 8),
    (inputs::PPROF, "diff", diff, 16),
    (inputs::PPROF, "info", info, 8),
    (inputs::PPROF, "report", report, 16),
    (inputs::PPROF_TEXTS, "merge", merge_pprof_profile, 16),
    (inputs::PPROF_TEXTS, "check", check, 16),
    (inputs::PPROF_TEXTS, "show", show_stacks, 16),
    (inputs::PPROF_SAMPLES, "merge", merge_pprof_profile, 8),
    (inputs::PPROF_SAMPLES, "check", check, 8),
    (inputs::PPROF_SAMPLES, "show", show_stacks, 8),
    (inputs::MEMORY_YAML, "merge", merge_instr, 8),
    (inputs::MEMORY_YAML, "check", check, 8),
    (inputs::MEMORY_YAML, "flamegraph", draw, 8),
    (inputs::MEMORY_YAML, "info", info, 8),
    (inputs::MEMORY_YAML, "show", show_memory, 8),
    (inputs::MEMORY_YAML, "convert", convert_memory, 8),
    (inputs::MEMORY_YAML, "diff", diff, 8),
    (inputs::MEMORY_YAML, "report", report, 8),
    (inputs::MEMORY_SECTION, "merge", merge_instr, 8),
    (inputs::MEMORY_SECTION, "check", check, 8),
    (inputs::MEMORY_SECTION, "show", show_memory, 8),
    (inputs::MEMORY_SECTION, "convert", convert_memory, 8),
    (inputs::MEMORY_SECTION, "diff", diff, 8),
    (inputs::MEMORY_DUMP, "merge", merge_memory, 8),
    (inputs::MEMORY_DUMP, "check", check, 8),
    (inputs::MEMORY_DUMP, "show", show_memory, 8),
    (inputs::MEMORY_DUMP, "show --yaml", show_whole_memory, 8),
    (inputs::MEMORY_DUMP, "convert", convert_memory, 8),
    (inputs::NESTED_CALLS, "merge", merge_memory, 64),
    (inputs::NESTED_CALLS, "show", show_memory, 64),
    (inputs::SAME_PLACES, "merge", merge_memory, 64),
    (inputs::SAME_PLACES, "show", show_whole_memory, 64),
    (inputs::SAME_PLACES, "check", check, 64),
    (inputs::LISTED_YAML, "check", check, 72),
    (inputs::LISTED_YAML, "show", show_memory, 72),
    (inputs::KEYED_YAML, "check", check, 72),
    (inputs::KEYED_YAML, "show", show_memory, 72),
    (inputs::OPEN_YAML, "check", check, 8),
    (inputs::OPEN_YAML, "show", show_memory, 8),
    (inputs::STACKS_PART, "merge", merge_stacks, 24),
    (inputs::STACKS_PART, "check", check, 8),
    (inputs::STACKS_PART, "info", info, 8),
    (inputs::SAMPLES_PART, "merge", merge_samples, 32),
    (inputs::SAMPLES_PART, "check", check, 32),
    (inputs::SAMPLES_PART, "info", info, 32),
    (inputs::INSTR_PART, "merge", merge_instr, 24),
    (inputs::INSTR_PART, "check", check, 8),
    (inputs::INSTR_PART, "merge --partial", part_of_instr, 16),
    (inputs::INSTR_PART, "info", info, 16),
    (inputs::PROGRAM, "fit", fit_program, 8),
    (inputs::DEEP_JSON, "check", check, 8),
    (inputs::DEEP_JSON, "merge", merge_iprof, 8),
    (inputs::DEEP_JSON, "show", show_iprof, 8),
    (inputs::DEEP_JSON, "repair", repair, 8),
    (inputs::DEBUG_PROGRAM, "fit", fit_program_to_samples, 8),
    (inputs::NESTED_PROGRAM, "fit", fit_program_to_samples, 64),
    (inputs::IPROF_PART, "merge", merge_iprof, 8),
    (inputs::IPROF_PART, "check", check, 8),
    (inputs::TEXT_IN_GZIP, "merge", merge_instr, 24),
    (inputs::TEXT_IN_GZIP, "check", check, 24),
    (inputs::TEXT_IN_GZIP, "show", show_instr, 8),
    (inputs::TEXT_IN_ZSTD, "merge", merge_instr, 24),
    (inputs::TEXT_IN_ZSTD, "check", check, 24),
    (inputs::TEXT_IN_ZSTD, "show", show_instr, 8),
    (inputs::TEXT_IN_XZ, "merge", merge_instr, 24),
    (inputs::TEXT_IN_XZ, "check", check, 24),
    (inputs::TEXT_IN_XZ, "show", show_instr, 8),
    (inputs::IPROF_IN_XZ, "merge", merge_iprof, 8),
    (inputs::IPROF_IN_XZ, "show", show_iprof, 8),
    (inputs::TRACES, "order", order, 8),
    (inputs::TRACES, "merge", merge_instr, 8),
    (inputs::RECORDING, "merge", merge_stacks, 8),
    (inputs::RECORDING, "check", check, 8),
    (inputs::RECORDING, "info", info, 8),
    (inputs::RECORDING, "show", show_stacks, 8),
    (inputs::RECORDING, "convert", convert_to_pprof, 8),
    (inputs::RECORDING, "diff", diff, 16),
    (inputs::RECORDING, "flamegraph", draw, 8),
];

/// Commands without a row, with the reason.
const WITHOUT_ROWS: [(&str, &str); 6] = [
    ("generate", "reads no profile: the options determine what it writes"),
    ("doctor", "reads no profile: it asks the toolchains of this machine for their versions"),
    ("interop", "reads only the profiles of its own small programs"),
    ("completions", "reads nothing"),
    ("man", "reads nothing"),
    ("llvm-profdata", "runs the other commands"),
];

/// Writes an input of one size in its own directory.
fn write(folder: &Path, made: &inputs::Made, count: usize) -> (std::path::PathBuf, usize) {
    let path = folder.join(format!("input{count}.{}", made.extension));
    let bytes = (made.make)(count);
    assert!(bytes.len() < 4 << 20, "{}: {} bytes are read in large pages", made.name, bytes.len());
    std::fs::write(&path, &bytes).unwrap();
    let mut size = made.content.map_or(bytes.len(), |content| content(count).len());
    if let Some(program) = made.in_directory_of {
        let program = program(count);
        std::fs::write(path.with_extension(PROGRAM), &program).unwrap();
        size += program.len();
    }
    (path, size)
}

#[test]
fn memory_stays_below_the_bounds_that_are_documented() {
    let _alone = alone();
    let documented = include_str!("../../docs/limits.md");
    let mut wrong = Vec::new();
    for rows in BOUNDS.chunk_by(|a, b| a.0.name == b.0.name) {
        let folder = tempfile::tempdir().unwrap();
        let made = &rows[0].0;
        let inputs = [made.few, 6 * made.few].map(|count| write(folder.path(), made, count));
        for (_, name, command, per_byte) in rows {
            for (path, size) in &inputs {
                let mut outcome = Ok(());
                let peak = peak_of(|| outcome = command(path));
                if outcome.is_ok() != (made.is_sound || ["check", "info"].contains(name)) {
                    wrong.push(format!("{name} {}: {outcome:?}", made.name));
                }
                let rate = peak.saturating_sub(BASE) as f64 / *size as f64;
                eprintln!("{name} {} of {size} bytes: {peak} bytes, {rate:.1} a byte beyond the base", made.name);
                if peak > BASE + per_byte * size {
                    wrong.push(format!("{name} {}: {rate:.1} bytes a byte, {per_byte} are stated", made.name));
                }
            }
            let row = format!("| {} | `{name}` | {per_byte} |", made.name);
            if !documented.contains(&row) {
                wrong.push(format!("docs/limits.md has no row {row}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every command of the program is listed.
#[test]
fn every_command_has_a_bound_or_a_reason_why_not() {
    let help = std::process::Command::new(env!("CARGO_BIN_EXE_profbridge")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let groups = help.lines().take_while(|line| *line != "Options:");
    // The description of a command can continue on further lines.
    let names = groups.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let listed: BTreeSet<&str> = names.filter_map(|line| line.split_whitespace().next()).collect();
    let with_rows = BOUNDS.iter().filter_map(|(_, name, ..)| name.split(' ').next());
    let known: BTreeSet<&str> = with_rows.chain(WITHOUT_ROWS.map(|(name, _)| name)).collect();
    assert!(listed.len() > 10, "{help}");
    assert_eq!(listed, known);
}

/// Merging many inputs needs no more memory than merging two, because the memory depends on the number of distinct
/// functions.
#[test]
fn many_inputs_of_the_same_functions_take_no_more_than_two() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let bytes = (inputs::RAW.make)(2000);
    let merge = |count: usize| {
        let inputs: Vec<WeightedInput> = (0..count)
            .map(|number| {
                let path = folder.path().join(number.to_string());
                std::fs::write(&path, &bytes).unwrap();
                WeightedInput::new(path)
            })
            .collect();
        let mut options = MergeOptions::default();
        options.threads = ONE;
        peak_of(|| drop(merge_files(&inputs, &options, &mut |_, _| {}).unwrap()))
    };
    let (two, many) = (merge(2), merge(60));
    eprintln!("2 inputs take {two} bytes, 60 take {many}");
    assert!(many <= two + 60 * 4096, "2 inputs take {two} bytes, 60 take {many}");
}
