//! Tests of reports and flame graphs in a real browser: searching, zooming, reading.

use crate::webdriver::Browser;
use profbridge::Limits;
use profbridge::call_chains::StackTable;
use profbridge::render::{FlameGraph, FlameLabels, SvgOptions, write_html, write_svg};
use profbridge::stacks::collapsed::{TextOptions, read_stacks};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const DOWN: &str = "\u{e015}";
const UP: &str = "\u{e013}";
const LEFT: &str = "\u{e012}";
const RIGHT: &str = "\u{e014}";
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";

fn table(text: &str) -> StackTable {
    let mut table = StackTable::new();
    read_stacks(text.as_bytes(), &TextOptions::default(), &Limits::default(), &mut table).unwrap();
    table
}

/// Widths: `area` 60 %, of which `mix` 45 %; `text` 30 %; `<evil>` 10 %.
const NOW: &str = "app/Main.main;app/Poly.area;app/Poly.mix 45\n\
                   app/Main.main;app/Poly.area 15\n\
                   app/Main.main;app/Main.text;java/lang/String.valueOf 30\n\
                   app/Main.main;<img src=x onerror=document.title='evil'> 10\n";
const BEFORE: &str = "app/Main.main;app/Poly.area;app/Poly.mix 10\n\
                      app/Main.main;app/Main.text;java/lang/String.valueOf 30\n";

fn save(name: &str, content: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).unwrap();
    path
}

#[test]
fn a_report_can_be_searched_zoomed_and_read_by_mouse_and_keyboard() {
    let Some(browser) = Browser::start() else { return };
    browser.open(&save("report.html", &write_html(&profbridge::stacks::report("shapes <&>", &table(NOW), None))));
    assert_eq!(browser.text(&browser.find("h1")), "shapes <&>");
    assert!(browser.text(&browser.find(".facts")).contains("Hits\n100"));
    let (query, found) = (browser.find(".query"), browser.find(".found"));
    let (canvas, details) = (browser.find("canvas"), browser.find(".details"));

    browser.keys(&query, "poly");
    assert_eq!(browser.text(&found), "2 names, 60 hits, 60.000 %", "mix is below area and counts once");
    browser.keys(&query, &"\u{e003}".repeat(4));
    browser.keys(&query, "/^app.*mix$/");
    assert_eq!(browser.text(&found), "1 name, 45 hits, 45.000 %");

    // By keyboard: main, its widest callee, and that one's; then sideways and up.
    browser.keys(&canvas, &format!("{DOWN}{DOWN}{DOWN}"));
    assert_eq!(browser.text(&details), "app.Poly.mix: 45 hits, 45.000 %, 75.000 % of its caller");
    browser.keys(&canvas, UP);
    assert_eq!(browser.text(&details), "app.Poly.area: 60 hits, 60.000 %, 60.000 % of its caller");
    browser.keys(&canvas, LEFT);
    assert_eq!(browser.text(&details), "app.Main.text: 30 hits, 30.000 %, 30.000 % of its caller");
    browser.keys(&canvas, RIGHT);

    // By mouse: the box at the left edge of the second row, before and after zooming into area.
    let middle = browser.evaluate("Math.round(document.querySelector('canvas').clientWidth / 2)").as_i64().unwrap();
    let height = browser.evaluate("document.querySelector('canvas').clientHeight").as_i64().unwrap();
    let row = |number: i64| number * 18 + 9 - height / 2;
    browser.point(&canvas, 10 - middle, row(1), false);
    assert!(browser.text(&details).starts_with("<img src=x onerror=document.title='evil'>: 10 hits, 10.000 %"));
    browser.keys(&canvas, ENTER);
    browser.point(&canvas, 12 - middle, row(1), false);
    assert!(browser.text(&details).starts_with("app.Poly.area: 60 hits"), "{}", browser.text(&details));
    browser.point(&canvas, 12 - middle, row(2), true);
    assert!(browser.text(&details).starts_with("app.Poly.mix: 45 hits"));
    browser.point(&canvas, middle - 20, row(2), false);
    assert!(browser.text(&details).starts_with("app.Poly.mix: 45 hits"), "mix fills the row once it is zoomed into");
    browser.keys(&canvas, ESCAPE);
    browser.point(&canvas, 10 - middle, row(1), false);
    assert!(browser.text(&details).starts_with("<img"));

    // The table: the hottest row comes first, and a click reverses the order.
    let first = || browser.text(&browser.find("#t1 tbody tr"));
    assert_eq!(first(), "app.Poly.mix 45 45.000 45 45.000");
    browser.evaluate("document.querySelectorAll('#t1 thead button')[1].click()");
    assert!(first().starts_with("app.Poly.mix 45"), "descending first");
    browser.evaluate("document.querySelectorAll('#t1 thead button')[1].click()");
    assert!(first().starts_with("app.Main.main 0") || first().starts_with("app.Main.text 0"), "{}", first());

    let paper = || browser.evaluate("getComputedStyle(document.body).backgroundColor");
    browser.prefer("light");
    let light = paper();
    browser.prefer("dark");
    assert_ne!(paper(), light);
    browser.screenshot(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("report-dark.png"));
    assert_ne!(browser.evaluate("document.title"), "evil");
    assert_eq!(browser.errors(), [""; 0]);
}

#[test]
fn a_comparison_shows_both_widths() {
    let Some(browser) = Browser::start() else { return };
    let report = profbridge::stacks::report("changes", &table(NOW), Some(&table(BEFORE)));
    browser.open(&save("changes.html", &write_html(&report)));
    assert_eq!(browser.text(&browser.find("#t0 tbody tr")), "app.Poly.mix 25.000 45.000 +20.000");
    assert_eq!(browser.text(&browser.find("#t1 tbody tr")), "java.lang.String.valueOf 75.000 30.000 -45.000");
    let (canvas, details) = (browser.find("canvas"), browser.find(".details"));
    browser.keys(&canvas, &format!("{DOWN}{DOWN}"));
    assert_eq!(
        browser.text(&details),
        "app.Poly.area: 60 hits, 60.000 %, 60.000 % of its caller; baseline 10, 25.000 %; change +35.000 points"
    );
    browser.evaluate(
        "(function(){const s=document.querySelector('.side');s.value='base';s.dispatchEvent(new Event('change'))})()",
    );
    browser.keys(&browser.find(".query"), "text");
    assert_eq!(browser.text(&browser.find(".found")), "1 name, 30 hits, 75.000 %");
    browser.screenshot(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("changes.png"));
    assert_eq!(browser.errors(), [""; 0]);
}

#[test]
fn a_svg_can_be_searched_and_zoomed() {
    let Some(browser) = Browser::start() else { return };
    let graph = FlameGraph::new(&table(NOW), None, FlameLabels::new("", "", "hits"));
    browser.open(&save("flame.svg", &write_svg(&graph, &SvgOptions::default())));
    let width = |name: &str| {
        let script = format!(
            "Array.from(document.querySelectorAll('g')).filter(g => g.querySelector('title').textContent.startsWith('{name}:') && g.style.display !== 'none').map(g => Math.round(Number(g.querySelector('rect').getAttribute('width'))))[0]"
        );
        browser.evaluate(&script)
    };
    assert_eq!(width("app.Poly.area"), 708);
    browser.evaluate("document.querySelectorAll('g')[0].focus()");
    assert_eq!(browser.text(&browser.find("#details")), "app.Main.main: 100 hits, 100.000 %");
    browser.keys(&browser.find("g"), DOWN);
    assert_eq!(browser.text(&browser.find("#details")), "app.Poly.area: 60 hits, 60.000 %");
    browser.evaluate("document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))");
    assert_eq!(width("app.Poly.area"), 1180, "the whole width");
    assert_eq!(width("app.Main.text"), serde_json::Value::Null, "not shown");
    browser.evaluate("setTimeout(() => document.getElementById('search').dispatchEvent(new MouseEvent('click')), 0)");
    browser.answer("POLY");
    assert_eq!(browser.text(&browser.find("#found")), "found 60.000 %, about 60 hits");
    assert_eq!(browser.evaluate("document.querySelectorAll('g.found').length"), 2);
    assert_eq!(browser.errors(), [""; 0]);
}

/// Unchanged boxes are white on a light page and grey on a dark page.
#[test]
fn unchanged_frames_are_dim_in_dark_mode() {
    let Some(browser) = Browser::start() else { return };
    let graph = FlameGraph::new(&table(NOW), Some(&table(BEFORE)), FlameLabels::new("", "", "hits"));
    browser.open(&save("changes.svg", &write_svg(&graph, &SvgOptions::default())));
    let fill = || browser.evaluate("getComputedStyle(document.querySelector('g rect[fill=\"#f4f4f4\"]')).fill");
    browser.prefer("light");
    assert_eq!(fill(), "rgb(244, 244, 244)");
    browser.prefer("dark");
    assert_eq!(fill(), "rgb(143, 149, 156)");
    assert_eq!(browser.errors(), [""; 0]);
}

/// A hundred stacks of a web service: the size of their flame graph, and the number of boxes with a visible label.
#[test]
fn a_picture_is_small_and_names_its_methods() {
    let graph = FlameGraph::new(
        &table(include_str!("../../testdata/stacks/web.collapsed")),
        None,
        FlameLabels::new("", "", "hits"),
    );
    let svg = write_svg(&graph, &SvgOptions::default());
    let labels = svg.split("<text x=").skip(1).filter_map(|text| text.split_once('>')?.1.split_once("</text>"));
    let readable = labels.filter(|(label, _)| !label.is_empty() && !label.starts_with('…')).count();
    assert!(svg.len() < 45_000, "the picture has {} bytes", svg.len());
    assert!(readable >= 20, "{readable} boxes name their method");
}

#[test]
fn a_hundred_thousand_stacks_are_drawn() {
    let mut text = String::new();
    for number in 0..100_000u32 {
        let _ = writeln!(
            text,
            "app/Main.main;app/A.m{};app/B.m{};app/C.m{};app/D.m{};app/E.leaf{number} {}",
            number % 7,
            number % 31,
            number % 257,
            number % 1031,
            number % 5 + 1
        );
    }
    let table = table(&text);
    let html = write_html(&profbridge::stacks::report("large", &table, None));
    assert!(html.len() < 100 * 100_000, "the page has {} bytes for 100,000 stacks", html.len());
    let Some(browser) = Browser::start() else { return };
    browser.open(&save("large.html", &html));
    let query = browser.find(".query");
    browser.keys(&query, "leaf99999");
    assert_eq!(browser.text(&browser.find(".found")), "1 name, 5 hits, 0.002 %");
    // A frame only draws visible boxes: at most one per pixel in the visible rows.
    let frame = browser.evaluate(
        "(function(){const p=CanvasRenderingContext2D.prototype,f=p.fillRect;let n=0;\
         p.fillRect=function(...a){n++;return f.apply(this,a)};window.dispatchEvent(new Event('resize'));\
         p.fillRect=f;return [n,window.innerWidth]})()",
    );
    let (boxes, width) = (frame[0].as_u64().unwrap(), frame[1].as_u64().unwrap());
    assert!((6..=8 * width).contains(&boxes), "{boxes} boxes are drawn on {width} points, in rows of six frames");
    assert_eq!(browser.errors(), [""; 0]);
}
