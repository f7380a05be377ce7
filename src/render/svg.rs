//! A flame graph as an SVG file that can be searched and zoomed in a browser
//! and looked at everywhere else.

use super::flame::{FULL_POINTS, intensity};
use super::html::markup;
use super::label::label;
use super::{FlameGraph, FrameColor, group_digits};
use crate::call_chains::percent;
use std::fmt::Write;

const SCRIPT: &str = include_str!("assets/svg.js");
const LABEL_SCRIPT: &str = include_str!("assets/label.js");

/// How a flame graph is drawn.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SvgOptions {
    /// Heading.
    pub title: String,
    /// Width in pixels. Default: 1200.
    pub width: u32,
    /// Boxes narrower than this are not drawn, in pixels. Default: 0.1.
    pub min_width: f64,
    /// Names are cut on the left and not shortened to class and method. Default: `false`.
    pub full_names: bool,
    /// Callees are above their callers. Default: `false`, they are below.
    pub upright: bool,
}

impl Default for SvgOptions {
    fn default() -> Self {
        Self { title: "Flame graph".to_string(), width: 1200, min_width: 0.1, full_names: false, upright: false }
    }
}

const ROW: u32 = 17;
const MARGIN: u32 = 10;
const HEAD: u32 = 44;
const FOOT: u32 = 48;
/// Width of a letter of the 12-pixel monospace font.
const LETTER: f64 = 7.2;

/// The whole file.
pub fn write_svg(graph: &FlameGraph, options: &SvgOptions) -> String {
    let inner = inner_width(options);
    let boxes = layout(graph, inner, options.min_width);
    let rows = boxes.iter().map(|(index, _, _)| graph.nodes[*index].depth + 1).max().unwrap_or(0);
    let height = HEAD + rows.saturating_mul(ROW) + FOOT;
    let width = options.width.max(100);
    let mut out = String::new();
    let _ = write!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"group\" aria-labelledby=\"title\" data-inner=\"{inner}\" data-margin=\"{MARGIN}\" data-total=\"{}\" data-unit=\"{}\" data-whole=\"{}\" data-upright=\"{}\">\n\
         <title id=\"title\">{}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"ink head\" x=\"{}\" y=\"20\" text-anchor=\"middle\">{}</text>\n\
         <text class=\"ink\" id=\"reset\" x=\"{MARGIN}\" y=\"38\" tabindex=\"0\" role=\"button\">Show all</text>\n\
         <text class=\"ink\" id=\"search\" x=\"{}\" y=\"38\" text-anchor=\"end\" tabindex=\"0\" role=\"button\">Search (/)</text>\n\
         <text class=\"ink\" id=\"details\" x=\"{MARGIN}\" y=\"{}\" aria-live=\"polite\">{} {} in all</text>\n\
         <text class=\"ink\" id=\"found\" x=\"{}\" y=\"38\" text-anchor=\"middle\" aria-live=\"polite\"></text>\n",
        graph.total.sum,
        markup(&graph.unit),
        u8::from(options.full_names),
        u8::from(options.upright),
        markup(&options.title),
        width / 2,
        markup(&options.title),
        width - MARGIN,
        height - 10,
        group_digits(graph.total.sum.into()),
        markup(&graph.unit),
        width / 2,
    );
    write_legend(&mut out, graph, &boxes, height - 28);
    let hot = graph.hottest_path();
    for (index, x, w) in &boxes {
        let depth = graph.nodes[*index].depth;
        let row = if options.upright { rows - 1 - depth } else { depth };
        write_box(&mut out, graph, options, (*index, hot.contains(index)), (*x, *w, HEAD + row * ROW));
    }
    let _ = write!(out, "<script>//<![CDATA[\n{LABEL_SCRIPT}{SCRIPT}//]]></script>\n</svg>\n");
    out
}

const STYLE: &str = ":root{color-scheme:light dark}.paper{fill:#fff}.ink{fill:#1b1b1b;font:12px ui-monospace,monospace}.head{font-size:15px}.key{stroke:#777;stroke-width:.5}g text{fill:#111;font:12px ui-monospace,monospace;pointer-events:none}g:hover rect,g:focus rect{stroke:#000;stroke-width:1}g:focus{outline:none}.edge{fill:none}.edge,g.hot rect{stroke:#111;stroke-width:1.2}g.found rect{fill:#e040e0}g.above{opacity:.55}#reset,#search{cursor:pointer;text-decoration:underline}@media(prefers-color-scheme:dark){.paper{fill:#16181b}.ink{fill:#ececec}.edge,g.hot rect,g:hover rect,g:focus rect{stroke:#fff}rect[fill=\"#f4f4f4\"]{fill:#8f959c}}";

/// Returns the smallest number of hits whose box is drawn, for a total.
pub fn least_hits(total: u128, options: &SvgOptions) -> u128 {
    let least = options.min_width * total as f64 / inner_width(options);
    // What is too wide by rounding is left out by the drawing.
    (least.max(0.0) * 0.999_999) as u128
}

/// Pixels for what counts everything.
fn inner_width(options: &SvgOptions) -> f64 {
    f64::from(options.width.max(100).saturating_sub(2 * MARGIN))
}

/// Boxes wide enough to be drawn: node, left edge, width.
fn layout(graph: &FlameGraph, inner: f64, min_width: f64) -> Vec<(usize, f64, f64)> {
    let mut boxes = Vec::new();
    if graph.total.sum == 0 {
        return boxes;
    }
    // Left edge of the next child, by depth.
    let mut next: Vec<f64> = vec![0.0];
    let scale = inner / graph.total.sum as f64;
    for (index, node) in graph.nodes.iter().enumerate() {
        let depth = node.depth as usize;
        next.truncate(depth + 1);
        let x = next.get(depth).copied().unwrap_or(0.0);
        let w = node.value as f64 * scale;
        if let Some(edge) = next.get_mut(depth) {
            *edge += w;
        }
        next.push(x);
        if w >= min_width && w > 0.0 {
            boxes.push((index, x, w));
        }
    }
    boxes
}

/// Writes the meaning of the colours on the line at `y`.
fn write_legend(out: &mut String, graph: &FlameGraph, boxes: &[(usize, f64, f64)], y: u32) {
    let keys: Vec<(String, String)> = if graph.base_total.is_some() {
        let key = |change: f64, words: &str| (of_change(change), words.to_string());
        vec![
            key(-1.0, &format!("−{FULL_POINTS} points or more")),
            key(-0.5, &format!("−{}", FULL_POINTS / 4.0)),
            key(0.0, "no significant change"),
            key(0.5, &format!("+{}", FULL_POINTS / 4.0)),
            key(1.0, &format!("+{FULL_POINTS} points or more")),
        ]
    } else {
        let of_box = |(index, _, _): &(usize, f64, f64)| graph.names[graph.nodes[*index].name as usize].1;
        let is_there = |family: &FrameColor| boxes.iter().any(|drawn| of_box(drawn) == *family);
        let key = |family: FrameColor| (mix(of_family(family), [0xff; 3], 0.0), family.words().to_string());
        FrameColor::ALL.iter().copied().filter(is_there).map(key).collect()
    };
    let mut x = f64::from(MARGIN);
    for (color, words) in keys {
        let _ = writeln!(
            out,
            "<rect class=\"key\" x=\"{x:.1}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{color}\"/><text class=\"ink\" x=\"{:.1}\" y=\"{y}\">{}</text>",
            y - 10,
            x + 17.0,
            markup(&words)
        );
        x += 17.0 + (words.chars().count() as f64 + 2.0) * LETTER;
    }
    let _ = writeln!(
        out,
        "<rect class=\"edge\" x=\"{x:.1}\" y=\"{}\" width=\"12\" height=\"12\"/><text class=\"ink\" x=\"{:.1}\" y=\"{y}\">hottest path</text>",
        y - 10,
        x + 17.0,
    );
}

/// Draws a box at its left edge, width and upper edge.
fn write_box(
    out: &mut String,
    graph: &FlameGraph,
    options: &SvgOptions,
    (index, is_hot): (usize, bool),
    (x, w, y): (f64, f64, u32),
) {
    let node = graph.nodes[index];
    let (name, family) = &graph.names[node.name as usize];
    let mut title = format!(
        "{name}: {} {}, {:.3} %",
        group_digits(node.value.into()),
        graph.unit,
        percent(node.value.into(), graph.total.sum.into())
    );
    if let Some(base_total) = graph.base_total {
        let change =
            percent(node.value.into(), graph.total.sum.into()) - percent(node.base.into(), base_total.sum.into());
        let _ = write!(title, "; baseline {}; change {change:+.3} points", group_digits(node.base.into()));
    }
    let fits = ((w - 6.0) / LETTER).max(0.0) as usize;
    let text = label(name, fits, options.full_names);
    let hot = if is_hot { " class=\"hot\"" } else { "" };
    let _ = write!(
        out,
        "<g{hot} data-b=\"{} {x:.3} {w:.3}\"><title>{}</title><rect x=\"{:.2}\" y=\"{y}\" width=\"{:.2}\" height=\"{}\" fill=\"{}\"/>",
        node.depth,
        markup(&title),
        x + f64::from(MARGIN),
        (w - 0.3).max(0.1),
        ROW - 1,
        color(graph, index, name, *family),
    );
    if !text.is_empty() {
        let left = x + f64::from(MARGIN) + 3.0;
        let _ = write!(out, "<text x=\"{left:.2}\" y=\"{}\">{}</text>", y + 12, markup(&text));
    }
    out.push_str("</g>\n");
}

fn color(graph: &FlameGraph, index: usize, name: &str, family: FrameColor) -> String {
    if let Some(base_total) = graph.base_total {
        let node = graph.nodes[index];
        return of_change(intensity(node.value, &graph.total, node.base, &base_total));
    }
    let base = of_family(family);
    // The same name has the same shade everywhere (FNV-1a).
    let hash = name.bytes().fold(2_166_136_261u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(16_777_619));
    mix(base, [0xff; 3], f64::from(hash % 1000) / 1000.0 * 0.3)
}

/// Orange for what grew, blue for what shrank, almost white for neither.
fn of_change(change: f64) -> String {
    let toward = if change > 0.0 { [0xf0, 0x8c, 0x2e] } else { [0x4a, 0x9f, 0xd8] };
    mix([0xf4, 0xf4, 0xf4], toward, change.abs())
}

fn of_family(family: FrameColor) -> [u8; 3] {
    match family {
        FrameColor::Program => [0xe6, 0x9f, 0x00],
        FrameColor::Jdk => [0x7c, 0xc4, 0xee],
        FrameColor::Native => [0x35, 0xb5, 0x92],
        FrameColor::Kernel => [0xd9, 0x93, 0xb8],
    }
}

fn mix(from: [u8; 3], to: [u8; 3], share: f64) -> String {
    let part = |at: usize| (f64::from(from[at]) + (f64::from(to[at]) - f64::from(from[at])) * share).round() as u8;
    format!("#{:02x}{:02x}{:02x}", part(0), part(1), part(2))
}
