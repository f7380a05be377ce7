//! The report as text.

use super::hashes::TargetsFit;
use super::report::{Class, ProgramClass};
use super::report::{ClassRow, FitReport, LostFunction, Releases, percent};
use std::fmt::{self, Write};

/// Writes a report as text.
///
/// # Errors
///
/// The errors of `out`.
pub fn write_text(out: &mut impl Write, report: &FitReport) -> fmt::Result {
    writeln!(out, "Profile:   {}", report.profile_is)?;
    writeln!(out, "New build: {}", report.program_is)?;
    write_functions(out, report)?;
    write_program(out, report)?;
    write_lost(out, report)?;
    write_names(out, "Changed functions of the new build", &report.changed, report, ProgramClass::Changed)?;
    write_names(
        out,
        "Functions of the new build without a profile",
        &report.unprofiled,
        report,
        ProgramClass::Unprofiled,
    )?;
    if let Some(targets) = &report.targets {
        write_targets(out, targets)?;
    }
    write_sections(out, report)?;
    if let Some(releases) = &report.releases {
        write_releases(out, releases)?;
    }
    for note in &report.notes {
        writeln!(out, "\nNote: {note}")?;
    }
    Ok(())
}

/// Returns the unit of the family.
fn unit(report: &FitReport) -> &'static str {
    if report.family == "iprof" { "methods" } else { "functions" }
}

fn write_functions(out: &mut impl Write, report: &FitReport) -> fmt::Result {
    let unit = unit(report);
    writeln!(out, "\n{:<28}{:>10}{:>10}{:>22}{:>10}", "In the profile", unit, "share", report.counted, "share")?;
    let is_shown =
        |row: &&ClassRow| row.functions > 0 || matches!(row.class, Class::Used | Class::Changed | Class::Gone);
    for row in report.functions.iter().filter(is_shown) {
        let (name, shares) = (row.class.words(), [row.functions_share, row.count_share].map(percent));
        writeln!(out, "{name:<28}{:>10}{:>10}{:>22}{:>10}", row.functions, shares[0], row.count, shares[1])?;
    }
    Ok(())
}

fn write_program(out: &mut impl Write, report: &FitReport) -> fmt::Result {
    writeln!(out, "\n{:<28}{:>10}{:>10}", "In the new build", unit(report), "share")?;
    let shown = report.program.iter().filter(|row| {
        row.functions > 0 || matches!(row.class, ProgramClass::Used | ProgramClass::Changed | ProgramClass::Unprofiled)
    });
    for row in shown {
        writeln!(out, "{:<28}{:>10}{:>10}", row.class.words(), row.functions, percent(row.share))?;
    }
    Ok(())
}

fn write_lost(out: &mut impl Write, report: &FitReport) -> fmt::Result {
    if report.lost.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nHottest {} that lost their profile:", unit(report))?;
    writeln!(out, "{:>22}{:>10}  what", report.counted, "share")?;
    for row in &report.lost {
        write_lost_row(out, row)?;
    }
    if report.more_lost > 0 {
        writeln!(out, "{:>34}… and {} more", "", report.more_lost)?;
    }
    Ok(())
}

fn write_lost_row(out: &mut impl Write, row: &LostFunction) -> fmt::Result {
    write!(out, "{:>22}{:>10}  {}: {}", row.count, percent(row.share), row.class.words(), row.function)?;
    if let Some(now) = &row.now {
        write!(out, " → {now}")?;
    }
    if let Some(detail) = &row.detail {
        write!(out, " ({detail})")?;
    }
    writeln!(out)
}

fn write_names(
    out: &mut impl Write,
    title: &str,
    names: &[String],
    report: &FitReport,
    class: ProgramClass,
) -> fmt::Result {
    if names.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}:")?;
    for name in names {
        writeln!(out, "  {name}")?;
    }
    let all = report.program.iter().find(|row| row.class == class).map_or(0, |row| row.functions);
    match all.saturating_sub(names.len() as u64) {
        0 => Ok(()),
        more => writeln!(out, "  … and {more} more"),
    }
}

fn write_targets(out: &mut impl Write, targets: &TargetsFit) -> fmt::Result {
    writeln!(out, "\n{:<28}{:>10}{:>32}", "Call targets", "targets", "calls")?;
    for (words, number, count) in [
        ("there", targets.there, targets.there_count),
        ("gone", targets.gone, targets.gone_count),
        ("unknown name", targets.unknown, targets.unknown_count),
    ] {
        writeln!(out, "{words:<28}{number:>10}{count:>32}")?;
    }
    for target in &targets.top {
        writeln!(out, "{:>22}  gone: {}", target.count, target.target)?;
    }
    Ok(())
}

fn write_sections(out: &mut impl Write, report: &FitReport) -> fmt::Result {
    if report.sections.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{:<28}{:>10}{:>10}{:>22}{:>22}", "Section", "entries", "used", "events", "used")?;
    for row in &report.sections {
        let (name, entries, used) = (row.section, row.entries, row.used_entries);
        writeln!(out, "{name:<28}{entries:>10}{used:>10}{:>22}{:>22}", row.events, row.used_events)?;
    }
    Ok(())
}

fn write_releases(out: &mut impl Write, releases: &Releases) -> fmt::Result {
    let made = if releases.is_indexed { "is" } else { "becomes" };
    write!(out, "\nReleases: the profile {made} an indexed file of version {}", releases.indexed_version)?;
    match releases.reader {
        Some(reader) if releases.is_readable => writeln!(out, "; the new build is of LLVM {reader}, which reads it")?,
        Some(reader) => {
            writeln!(out, "; the new build is of LLVM {reader}, which rejects it; merge the profile for LLVM {reader}")?
        }
        None => writeln!(out, "; the LLVM release of the new build is unknown")?,
    }
    for finding in &releases.findings {
        writeln!(out, "  {}", finding.text)?;
    }
    Ok(())
}
