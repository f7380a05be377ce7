//! The matrix as text: one table per kind, then each reason once.

use super::cell::{Cell, Outcome, Status};
use super::kind::Kind;
use super::toolchain::{Skipped, Toolchain};
use crate::console::escape;
use std::fmt::Write;

/// Formats the tables.
pub(super) struct Tables {
    pub(super) has_colours: bool,
    reasons: Vec<String>,
}

/// A part of a line with its colour, an SGR number.
struct Text {
    text: String,
    colour: &'static str,
}

impl Tables {
    pub(super) fn new(has_colours: bool) -> Self {
        Self { has_colours, reasons: Vec::new() }
    }

    /// Formats all kinds.
    pub(super) fn text(mut self, cells: &[Cell], toolchains: &[Toolchain], skipped: &[Skipped]) -> String {
        let mut out = String::new();
        for kind in Kind::ALL {
            let cells: Vec<&Cell> = cells.iter().filter(|cell| cell.kind == kind).collect();
            if !cells.is_empty() {
                self.table(&mut out, kind, &cells, toolchains);
            }
        }
        if !self.reasons.is_empty() {
            out += "Reasons\n";
            for (at, reason) in self.reasons.iter().enumerate() {
                let _ = writeln!(out, "  [{}] {}", at + 1, escape(reason));
            }
            out.push('\n');
        }
        for Skipped { compiler, reason } in skipped {
            let _ = writeln!(out, "not compared: {}: {}", escape(compiler.display().to_string()), escape(reason));
        }
        let (holding, all) = count(cells);
        let _ = writeln!(out, "{holding} of {all} cells hold through profbridge");
        out
    }

    /// Formats one kind: writers down, readers across, without toolchains that do not support the kind.
    fn table(&mut self, out: &mut String, kind: Kind, cells: &[&Cell], toolchains: &[Toolchain]) {
        let _ = writeln!(out, "{} ({}): direct / through profbridge", capitalized(kind.title()), kind.name());
        let is_shown = |cell: &Cell| cell.holds.is_some();
        let shown = |of: fn(&Cell) -> &str| {
            let names = toolchains.iter().map(|toolchain| toolchain.name.as_str());
            names
                .filter(|name| cells.iter().any(|cell| of(cell) == *name && is_shown(cell)))
                .map(str::to_string)
                .collect::<Vec<_>>()
        };
        let (writers, readers) = (shown(|cell| &cell.writer), shown(|cell| &cell.reader));
        let mut lines = Vec::new();
        if !writers.is_empty() {
            let plain = |text: &str| Text { text: escape(text), colour: "1" };
            lines.push(
                std::iter::once(plain("writer \\ reader")).chain(readers.iter().map(|name| plain(name))).collect(),
            );
        }
        for writer in &writers {
            let mut line = vec![Text { text: escape(writer), colour: "1" }];
            for reader in &readers {
                let cell = cells.iter().find(|cell| cell.writer == *writer && cell.reader == *reader);
                line.push(cell.map_or(Text { text: String::new(), colour: "0" }, |cell| self.cell(cell)));
            }
            lines.push(line);
        }
        self.write_lines(out, &lines);
        let mut hidden: Vec<(&str, Vec<&str>)> = Vec::new();
        for toolchain in toolchains.iter().map(|toolchain| toolchain.name.as_str()) {
            if writers.iter().chain(&readers).any(|name| name == toolchain) {
                continue;
            }
            let own = cells.iter().find(|cell| cell.writer == toolchain && cell.reader == toolchain);
            let reason = own.and_then(|cell| cell.through.reason.as_deref()).unwrap_or_default();
            match hidden.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, names)) => names.push(toolchain),
                None => hidden.push((reason, vec![toolchain])),
            }
        }
        for (reason, names) in hidden {
            let _ = writeln!(out, "  not supported by {}: {}", escape(names.join(", ")), escape(reason));
        }
        out.push('\n');
    }

    fn cell(&mut self, cell: &Cell) -> Text {
        let mut text = format!("{} / {}", self.outcome(&cell.direct), self.outcome(&cell.through));
        if let Some(together) = cell.together.as_ref().filter(|_| cell.holds == Some(false)) {
            let _ = write!(text, " (together: {})", self.outcome(together));
        }
        let colour = match cell.holds {
            Some(true) => "32",
            Some(false) => "31",
            None => "2",
        };
        if cell.holds.is_none() {
            text = self.outcome(&cell.through);
        }
        Text { text, colour }
    }

    fn outcome(&mut self, outcome: &Outcome) -> String {
        let text = match outcome.status {
            Status::Used => format!("{} of {}", outcome.used, outcome.total),
            Status::Refused if outcome.used > 0 => format!("{} of {}", outcome.used, outcome.total),
            Status::Refused => "refused".to_string(),
            Status::Unsupported => "not supported".to_string(),
            Status::Failed => "failed".to_string(),
        };
        let Some(reason) = &outcome.reason else { return text };
        let at = self.reasons.iter().position(|known| known == reason).unwrap_or_else(|| {
            self.reasons.push(reason.clone());
            self.reasons.len() - 1
        });
        format!("{text} [{}]", at + 1)
    }

    fn write_lines(&self, out: &mut String, lines: &[Vec<Text>]) {
        let columns = lines.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let widths = lines.iter().filter_map(|line| line.get(column)).map(|text| text.text.chars().count());
            widths.max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for line in lines {
            let mut written = String::new();
            for (text, width) in line.iter().zip(&widths) {
                let padding = " ".repeat(width - text.text.chars().count());
                let _ = match self.has_colours && !text.text.is_empty() {
                    true => write!(written, "  \x1b[{}m{}\x1b[0m{padding}", text.colour, text.text),
                    false => write!(written, "  {}{padding}", text.text),
                };
            }
            out.push_str(written.trim_end());
            out.push('\n');
        }
    }
}

/// Returns the number of cells that hold, and of those that are supported.
pub(super) fn count(cells: &[Cell]) -> (usize, usize) {
    let supported = || cells.iter().filter_map(|cell| cell.holds);
    (supported().filter(|holds| *holds).count(), supported().count())
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
