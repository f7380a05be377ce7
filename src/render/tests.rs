use super::*;
use crate::call_chains::{Frame, FrameKind, SampleKey, StackTable};

/// Creates stacks from strings like `a;b;c`; `!` marks functions that are not Java methods.
fn stacks(rows: &[(&str, u64)]) -> StackTable {
    let mut table = StackTable::new();
    for (text, hits) in rows {
        let mut stack = None;
        for name in text.split(';') {
            let function = match name.strip_prefix('!') {
                Some(symbol) => table.intern_symbol(symbol),
                None => table.intern_java("app.Main", name, None),
            };
            let frame = table.intern_frame(Frame { function, bci: None, line: None, kind: FrameKind::Unknown });
            stack = Some(table.push_frame(stack, frame));
        }
        table.add(SampleKey::of_stack(stack.unwrap()), *hits);
    }
    table
}

/// Depth, name, now, before of each node.
fn nodes(graph: &FlameGraph) -> Vec<(u32, &str, u64, u64)> {
    graph
        .nodes
        .iter()
        .map(|node| (node.depth, graph.names[node.name as usize].0.as_str(), node.value, node.base))
        .collect()
}

fn graph_of(table: &StackTable, baseline: Option<&StackTable>) -> FlameGraph {
    FlameGraph::new(table, baseline, FlameLabels::new("", "", "hits"))
}

/// The unit can be known at run time only.
#[test]
fn labels_are_strings_of_the_caller() {
    let unit = format!("{}s", ["cycle", "miss"][1]).replace("misss", "misses");
    let graph = FlameGraph::new(&stacks(&[("main;f", 3)]), None, FlameLabels::new("A title", "A text", unit));
    let svg = write_svg(&graph, &SvgOptions::default());
    assert_eq!((graph.title.as_str(), graph.text.as_str(), graph.unit.as_str()), ("A title", "A text", "misses"));
    assert!(svg.contains("misses"), "{svg}");
}

#[test]
fn a_flame_graph_adds_children_and_sorts_siblings() {
    let table = stacks(&[("main;z", 3), ("main;a;x", 2), ("main", 1), ("other", 4)]);
    let graph = graph_of(&table, None);
    assert_eq!(
        nodes(&graph),
        [
            (0, "app.Main.main", 6, 0),
            (1, "app.Main.a", 2, 0),
            (2, "app.Main.x", 2, 0),
            (1, "app.Main.z", 3, 0),
            (0, "app.Main.other", 4, 0),
        ]
    );
    assert_eq!((graph.total.sum, graph.base_total, graph.depth()), (10, None, 3));
}

#[test]
fn a_differential_graph_has_the_frames_of_both() {
    let graph = graph_of(&stacks(&[("main;new", 3)]), Some(&stacks(&[("main;old", 5), ("main;new", 1)])));
    assert_eq!(nodes(&graph), [(0, "app.Main.main", 3, 6), (1, "app.Main.new", 3, 1), (1, "app.Main.old", 0, 5)]);
    assert_eq!(graph.base_total.map(|totals| totals.sum), Some(6));
}

#[test]
fn names_cannot_leave_their_place() {
    let evil = "!</script><script>alert(1)</script>\"'&\u{0}";
    let table = stacks(&[(evil, 3)]);
    let report = crate::stacks::report(evil, &table, Some(&table));
    let html = write_html(&report);
    assert_eq!(html.matches("<script").count(), 2, "one block of data, one script");
    assert!(!html.contains("alert(1)</script>\"") && !html.contains('\0'));
    let svg = write_svg(&graph_of(&table, None), &SvgOptions::default());
    assert_eq!(svg.matches("<script").count(), 1);
    assert!(!svg.contains('\0'));
}

#[test]
fn the_page_asks_for_nothing_outside_of_itself() {
    let html = write_html(&crate::stacks::report("t", &stacks(&[("a;b", 3)]), None));
    for what in ["http://", "https://", "src=", "@import", "url(", "<link"] {
        assert!(!html.contains(what), "{what}");
    }
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn a_svg_has_one_box_for_each_frame_that_can_be_seen() {
    let table = stacks(&[("main;big", 999_999), ("main;tiny", 1)]);
    let svg = write_svg(&graph_of(&table, None), &SvgOptions::default());
    assert_eq!(svg.matches("<g ").count(), 2, "the tiny one is 0.001 pixels wide");
    assert!(svg.contains("<title>app.Main.main: 1,000,000 hits, 100.000 %</title>"));
    assert!(svg.contains("<title>app.Main.big: 999,999 hits, 100.000 %</title>"));
    let empty = write_svg(&graph_of(&StackTable::new(), None), &SvgOptions::default());
    assert!(empty.contains("0 hits in all"));
}

#[test]
fn the_hottest_path_follows_the_widest_frame_until_one_runs_by_itself() {
    let table = stacks(&[("main;a", 3), ("main;b", 9)]);
    let graph = graph_of(&table, None);
    let path: Vec<&str> =
        graph.hottest_path().iter().map(|at| graph.names[graph.nodes[*at].name as usize].0.as_str()).collect();
    assert_eq!(path, ["app.Main.main", "app.Main.b"]);
    let empty = graph_of(&StackTable::new(), None);
    assert!(empty.hottest_path().is_empty());
    let svg = write_svg(&graph, &SvgOptions::default());
    assert_eq!(svg.matches("<g class=\"hot\" ").count(), 2);
}

#[test]
fn risers_and_fallers_are_ranked_by_share() {
    let report = crate::stacks::report("t", &stacks(&[("a", 1), ("b", 3)]), Some(&stacks(&[("a", 3), ("c", 1)])));
    let table = |title: &str| {
        report.sections.iter().find_map(|section| match section {
            Section::Table(table) if table.title == title => Some(table),
            _ => None,
        })
    };
    let risers = table("Risers").unwrap();
    assert_eq!(risers.rows.len(), 1);
    assert_eq!(risers.rows[0][0], Cell::Text("app.Main.b".to_string()));
    assert_eq!(risers.rows[0][3], Cell::Change(75.0));
    let fallers = table("Fallers").unwrap();
    let names: Vec<&Cell> = fallers.rows.iter().map(|row| &row[0]).collect();
    assert_eq!(names, [&Cell::Text("app.Main.a".to_string()), &Cell::Text("app.Main.c".to_string())]);
}

#[test]
fn histograms_have_classes_of_powers_of_two() {
    let histogram = Histogram::by_powers_of_two("", "", [0, 1, 2, 3, 4, 1_000_000].into_iter());
    assert_eq!(histogram.rows.len(), 21);
    assert_eq!(histogram.rows[..4], [("0".into(), 1), ("1".into(), 1), ("2 – 3".into(), 2), ("4 – 7".into(), 1)]);
    assert_eq!(histogram.rows[20], ("524,288 – 1,048,575".into(), 1));
    assert_eq!(Histogram::by_powers_of_two("", "", std::iter::empty()).rows, []);
    assert_eq!(Histogram::by_powers_of_two("", "", [u64::MAX].into_iter()).rows.len(), 65);
}
