//! The report as one HTML file.

use super::{Cell, FlameGraph, FrameColor, Histogram, Report, Section, Table, group_digits};
use std::fmt::Write;

const STYLE: &str = include_str!("assets/page.css");
const TABLE_SCRIPT: &str = include_str!("assets/table.js");
const LABEL_SCRIPT: &str = include_str!("assets/label.js");
const FLAME_SCRIPT: &str = include_str!("assets/flame.js");

/// Rows from which a table gets a field to filter it.
const FILTER_ROWS: usize = 12;

/// Returns the whole page. It loads nothing from elsewhere, and its content security policy forbids it.
pub fn write_html(report: &Report) -> String {
    let mut out = String::new();
    let title = markup(&report.title);
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <meta name=\"generator\" content=\"profbridge {}\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header><h1>{title}</h1></header>\n<main>\n",
        env!("CARGO_PKG_VERSION")
    );
    write_head(&mut out, report);
    for (number, section) in report.sections.iter().enumerate() {
        match section {
            Section::Table(table) => write_table(&mut out, number, table),
            Section::Histogram(histogram) => write_histogram(&mut out, number, histogram),
            Section::Flame(graph) => write_flame(&mut out, number, graph),
        }
    }
    let _ = write!(out, "</main>\n<script>\n{TABLE_SCRIPT}{LABEL_SCRIPT}{FLAME_SCRIPT}</script>\n</body>\n</html>\n");
    out
}

fn section_title(section: &Section) -> &str {
    match section {
        Section::Table(table) => &table.title,
        Section::Histogram(histogram) => &histogram.title,
        Section::Flame(graph) => &graph.title,
    }
}

fn write_head(out: &mut String, report: &Report) {
    out.push_str("<section aria-label=\"About this profile\">\n<dl class=\"facts\">\n");
    for (label, value) in &report.facts {
        let _ = writeln!(out, "<div><dt>{}</dt><dd>{}</dd></div>", markup(label), markup(value));
    }
    out.push_str("</dl>\n");
    if !report.notes.is_empty() {
        out.push_str("<ul class=\"notes\">\n");
        for note in &report.notes {
            let _ = writeln!(out, "<li>{}</li>", markup(note));
        }
        out.push_str("</ul>\n");
    }
    out.push_str("</section>\n<nav aria-label=\"Sections\"><ul>\n");
    for (number, section) in report.sections.iter().enumerate() {
        let _ = writeln!(out, "<li><a href=\"#s{number}\">{}</a></li>", markup(section_title(section)));
    }
    out.push_str("</ul></nav>\n");
}

fn open_section(out: &mut String, number: usize, title: &str, text: &str) {
    let _ = writeln!(
        out,
        "<section id=\"s{number}\" aria-labelledby=\"h{number}\">\n<h2 id=\"h{number}\">{}</h2>",
        markup(title)
    );
    if !text.is_empty() {
        let _ = writeln!(out, "<p>{}</p>", markup(text));
    }
}

fn write_table(out: &mut String, number: usize, table: &Table) {
    open_section(out, number, &table.title, &table.text);
    if table.rows.is_empty() {
        out.push_str("<p>None.</p>\n</section>\n");
        return;
    }
    if table.rows.len() >= FILTER_ROWS {
        let _ = writeln!(
            out,
            "<p><label>Filter <input type=\"search\" class=\"filter\" data-table=\"t{number}\"></label> <span class=\"shown\" role=\"status\"></span></p>"
        );
    }
    let _ = write!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-labelledby=\"h{number}\"><table id=\"t{number}\">\n<thead><tr>"
    );
    for (position, column) in table.columns.iter().enumerate() {
        let numeric = table.rows.iter().all(|row| !matches!(row.get(position), Some(Cell::Text(_))));
        let class = if numeric { " class=\"n\"" } else { "" };
        let _ =
            write!(out, "<th scope=\"col\"{class}><button type=\"button\">{}</button></th>", markup(column.trim_end()));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for cell in row {
            write_cell(out, cell);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    if table.left_out > 0 {
        let (rows, are) = if table.left_out == 1 { ("row", "is") } else { ("rows", "are") };
        let _ = writeln!(out, "<p>{} more {rows} {are} not shown.</p>", group_digits(table.left_out as u128));
    }
    out.push_str("</section>\n");
}

fn write_cell(out: &mut String, cell: &Cell) {
    let _ = match cell {
        Cell::Text(text) => write!(out, "<td>{}</td>", markup(text)),
        Cell::Count(count) => write!(out, "<td class=\"n\" data-v=\"{count}\">{}</td>", group_digits(*count)),
        Cell::Percent(percent) => write!(out, "<td class=\"n\" data-v=\"{percent}\">{percent:.3}</td>"),
        Cell::Change(change) => {
            let class = if *change > 0.0 { "up" } else { "down" };
            write!(out, "<td class=\"n {class}\" data-v=\"{change}\">{change:+.3}</td>")
        }
        Cell::Empty => write!(out, "<td></td>"),
    };
}

fn write_histogram(out: &mut String, number: usize, histogram: &Histogram) {
    open_section(out, number, &histogram.title, &histogram.text);
    let most = histogram.rows.iter().map(|(_, number)| *number).max().unwrap_or(0).max(1);
    out.push_str("<table class=\"bars\">\n<thead><tr><th scope=\"col\" class=\"n\">Count</th><th scope=\"col\" class=\"n\">Number</th><td></td></tr></thead>\n<tbody>\n");
    for (label, number) in &histogram.rows {
        let width = *number as f64 * 100.0 / most as f64;
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\" class=\"n\">{}</th><td class=\"n\">{}</td><td class=\"bar\"><div style=\"width:{width:.2}%\"></div></td></tr>",
            markup(label),
            group_digits((*number).into())
        );
    }
    out.push_str("</tbody></table>\n</section>\n");
}

fn write_flame(out: &mut String, number: usize, graph: &FlameGraph) {
    open_section(out, number, &graph.title, &graph.text);
    let unit = markup(&graph.unit);
    let _ = writeln!(out, "<div class=\"flame\" data-source=\"d{number}\" data-unit=\"{unit}\">");
    out.push_str("<p class=\"tools\"><label>Search <input type=\"search\" class=\"query\"></label> <output class=\"found\" role=\"status\"></output> ");
    out.push_str("<button type=\"button\" class=\"reset\">Show all</button>");
    if graph.base_total.is_some() {
        out.push_str(" <label>Widths <select class=\"side\"><option value=\"now\">now</option><option value=\"base\">baseline</option></select></label>");
    }
    out.push_str("</p>\n<p class=\"legend\">");
    if graph.base_total.is_some() {
        out.push_str("<span class=\"key less\">−10 points or more</span> <span class=\"key bit-less\">−2.5</span> <span class=\"key same\">no significant change</span> <span class=\"key bit-more\">+2.5</span> <span class=\"key more\">+10 points or more</span>");
    } else {
        for family in FrameColor::ALL.iter().copied() {
            if graph.nodes.iter().any(|node| graph.names[node.name as usize].1 == family) {
                let _ = write!(out, "<span class=\"key f{}\">{}</span> ", family.number(), family.words());
            }
        }
    }
    out.push_str(" <span class=\"key edge\">hottest path</span>");
    out.push_str("</p>\n<div class=\"view\"><canvas tabindex=\"0\" role=\"application\" aria-label=\"Flame graph: arrow keys move, Enter zooms, Backspace zooms out, Escape shows all, slash searches, N goes to the next match\"></canvas></div>\n");
    out.push_str("<p class=\"details\" aria-live=\"polite\">Point at a box, or move with the arrow keys. Enter zooms, Backspace zooms out, Escape shows all, / searches, N goes to the next match.</p>\n");
    if graph.left_out > 0 {
        let _ = writeln!(out, "<p>The {} smallest boxes are not shown.</p>", group_digits(graph.left_out as u128));
    }
    let _ = write!(out, "<script type=\"application/json\" id=\"d{number}\">");
    write_data(out, graph);
    out.push_str("</script>\n</div>\n</section>\n");
}

/// The tree as parallel lists, which are small and quick to read.
fn write_data(out: &mut String, graph: &FlameGraph) {
    let list = |out: &mut String, name: &str, values: &mut dyn Iterator<Item = String>| {
        let _ = write!(out, "\"{name}\":[");
        for (position, value) in values.enumerate() {
            if position > 0 {
                out.push(',');
            }
            out.push_str(&value);
        }
        out.push(']');
    };
    let _ = write!(out, "{{\"total\":{},\"samples\":{:.0},", graph.total.sum, graph.total.samples);
    list(out, "names", &mut graph.names.iter().map(|(name, _)| json_text(name)));
    out.push(',');
    list(out, "family", &mut graph.names.iter().map(|(_, family)| family.number().to_string()));
    out.push(',');
    list(out, "depth", &mut graph.nodes.iter().map(|node| node.depth.to_string()));
    out.push(',');
    list(out, "name", &mut graph.nodes.iter().map(|node| node.name.to_string()));
    out.push(',');
    list(out, "value", &mut graph.nodes.iter().map(|node| node.value.to_string()));
    if let Some(total) = graph.base_total {
        let _ = write!(out, ",\"baseTotal\":{},\"baseSamples\":{:.0},", total.sum, total.samples);
        list(out, "base", &mut graph.nodes.iter().map(|node| node.base.to_string()));
    }
    out.push('}');
}

/// Text for HTML and XML content and quoted attributes. Control characters,
/// which XML cannot hold, become visible.
pub(super) fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if must_show(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// A JSON string for the inside of a `script` element: it has no `<`.
fn json_text(text: &str) -> String {
    let visible: String = text
        .chars()
        .flat_map(|c| if must_show(c) { c.escape_unicode().collect::<Vec<_>>() } else { vec![c] })
        .collect();
    serde_json::Value::String(visible).to_string().replace('<', "\\u003c")
}

/// Controls, and marks that turn the direction of text and so can disguise it.
fn must_show(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_end_the_surrounding_markup() {
        let name = "</script><img src=x onerror=\"a('b')\">&\u{1}\u{202e}]]>";
        let text = markup(name);
        assert!(!text.contains(['<', '>', '"', '\'', '\u{1}', '\u{202e}']), "{text}");
        assert!(text.contains("\\u{1}") && text.contains("&amp;"));
        let json = json_text(name);
        assert!(!json.contains('<'), "{json}");
        let back: String = serde_json::from_str(&json).unwrap();
        assert!(back.starts_with("</script><img"));
    }
}
