//! A flame graph as an SVG file that can be searched and zoomed in a browser
//! and looked at everywhere else.

use super::escape::markup;
use super::{Family, FlameGraph, group_digits, percent};
use std::fmt::Write;

const SCRIPT: &str = include_str!("assets/svg.js");

/// How the picture is drawn.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SvgOptions {
    /// Heading.
    pub title: String,
    /// Width in pixels. Default: 1200.
    pub width: u32,
    /// Boxes narrower than this are not drawn, in pixels. Default: 0.1.
    pub min_width: f64,
}

impl Default for SvgOptions {
    fn default() -> Self {
        Self { title: "Flame graph".to_string(), width: 1200, min_width: 0.1 }
    }
}

const ROW: u32 = 17;
const MARGIN: u32 = 10;
const HEAD: u32 = 44;
const FOOT: u32 = 30;
/// Width of a letter of the 12-pixel monospace font.
const LETTER: f64 = 7.2;

/// The whole file.
pub fn write_svg(graph: &FlameGraph, options: &SvgOptions) -> String {
    let inner = f64::from(options.width.max(100).saturating_sub(2 * MARGIN));
    let boxes = layout(graph, inner, options.min_width);
    let rows = boxes.iter().map(|(index, _, _)| graph.nodes[*index].depth + 1).max().unwrap_or(0);
    let height = HEAD + rows.saturating_mul(ROW) + FOOT;
    let width = options.width.max(100);
    let mut out = String::new();
    let _ = write!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"group\" aria-labelledby=\"title\" data-inner=\"{inner}\" data-margin=\"{MARGIN}\" data-total=\"{}\" data-unit=\"{}\">\n\
         <title id=\"title\">{}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"ink head\" x=\"{}\" y=\"20\" text-anchor=\"middle\">{}</text>\n\
         <text class=\"ink\" id=\"reset\" x=\"{MARGIN}\" y=\"38\" tabindex=\"0\" role=\"button\">Show all</text>\n\
         <text class=\"ink\" id=\"search\" x=\"{}\" y=\"38\" text-anchor=\"end\" tabindex=\"0\" role=\"button\">Search (/)</text>\n\
         <text class=\"ink\" id=\"details\" x=\"{MARGIN}\" y=\"{}\" aria-live=\"polite\">{} {} in all</text>\n\
         <text class=\"ink\" id=\"found\" x=\"{}\" y=\"38\" text-anchor=\"middle\" aria-live=\"polite\"></text>\n",
        graph.total,
        markup(graph.unit),
        markup(&options.title),
        width / 2,
        markup(&options.title),
        width - MARGIN,
        height - 10,
        group_digits(graph.total.into()),
        markup(graph.unit),
        width / 2,
    );
    for (index, x, w) in &boxes {
        write_box(&mut out, graph, *index, *x, *w);
    }
    let _ = write!(out, "<script>//<![CDATA[\n{SCRIPT}//]]></script>\n</svg>\n");
    out
}

const STYLE: &str = ":root{color-scheme:light dark}.paper{fill:#fff}.ink{fill:#1b1b1b;font:12px ui-monospace,monospace}.head{font-size:15px}g text{fill:#111;font:12px ui-monospace,monospace;pointer-events:none}g:hover rect,g:focus rect{stroke:#000;stroke-width:1}g:focus{outline:none}g.found rect{fill:#e040e0}g.above{opacity:.55}#reset,#search{cursor:pointer;text-decoration:underline}@media(prefers-color-scheme:dark){.paper{fill:#16181b}.ink{fill:#ececec}g:hover rect,g:focus rect{stroke:#fff}}";

/// Boxes wide enough to be drawn: node, left edge, width.
fn layout(graph: &FlameGraph, inner: f64, min_width: f64) -> Vec<(usize, f64, f64)> {
    let mut boxes = Vec::new();
    if graph.total == 0 {
        return boxes;
    }
    // Left edge of the next child, by depth.
    let mut next: Vec<f64> = vec![0.0];
    let scale = inner / graph.total as f64;
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

fn write_box(out: &mut String, graph: &FlameGraph, index: usize, x: f64, w: f64) {
    let node = graph.nodes[index];
    let (name, family) = &graph.names[node.name as usize];
    let y = HEAD + node.depth * ROW;
    let mut title = format!(
        "{name}: {} {}, {:.3} %",
        group_digits(node.value.into()),
        graph.unit,
        percent(node.value.into(), graph.total.into())
    );
    if let Some(base_total) = graph.base_total {
        let change = percent(node.value.into(), graph.total.into()) - percent(node.base.into(), base_total.into());
        let _ = write!(title, "; baseline {}; change {change:+.3} points", group_digits(node.base.into()));
    }
    let fits = ((w - 6.0) / LETTER).max(0.0) as usize;
    let text = if fits < 3 { String::new() } else { shorten(name, fits) };
    let _ = writeln!(
        out,
        "<g tabindex=\"-1\" data-x=\"{x:.3}\" data-w=\"{w:.3}\" data-d=\"{}\"><title>{}</title><rect x=\"{:.2}\" y=\"{y}\" width=\"{:.2}\" height=\"{}\" fill=\"{}\"/><text x=\"{:.2}\" y=\"{}\">{}</text></g>",
        node.depth,
        markup(&title),
        x + f64::from(MARGIN),
        (w - 0.3).max(0.1),
        ROW - 1,
        color(graph, index, name, *family),
        x + f64::from(MARGIN) + 3.0,
        y + 12,
        markup(&text)
    );
}

fn shorten(name: &str, fits: usize) -> String {
    if name.chars().count() <= fits {
        return name.to_string();
    }
    name.chars().take(fits - 1).chain(['…']).collect()
}

fn color(graph: &FlameGraph, index: usize, name: &str, family: Family) -> String {
    const SAME: [u8; 3] = [0xf4, 0xf4, 0xf4];
    if let Some(base_total) = graph.base_total {
        let node = graph.nodes[index];
        let now = percent(node.value.into(), graph.total.into());
        let before = percent(node.base.into(), base_total.into());
        let change = if now + before > 0.0 { (now - before) / (now + before) } else { 0.0 };
        let toward = if change > 0.0 { [0xf0, 0x8c, 0x2e] } else { [0x4a, 0x9f, 0xd8] };
        return mix(SAME, toward, change.abs());
    }
    let base = match family {
        Family::Program => [0xe6, 0x9f, 0x00],
        Family::Jdk => [0x7c, 0xc4, 0xee],
        Family::Native => [0x35, 0xb5, 0x92],
        Family::Kernel => [0xd9, 0x93, 0xb8],
    };
    // The same name has the same shade everywhere (FNV-1a).
    let hash = name.bytes().fold(2_166_136_261u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(16_777_619));
    mix(base, [0xff; 3], f64::from(hash % 1000) / 1000.0 * 0.3)
}

fn mix(from: [u8; 3], to: [u8; 3], share: f64) -> String {
    let part = |at: usize| (f64::from(from[at]) + (f64::from(to[at]) - f64::from(from[at])) * share).round() as u8;
    format!("#{:02x}{:02x}{:02x}", part(0), part(1), part(2))
}
