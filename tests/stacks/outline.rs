//! The flame graph of an outline equals that of the full text.

use profbridge::Limits;
use profbridge::call_chains::StackTable;
use profbridge::families::stack_files::without_addresses;
use profbridge::render::{FlameGraph, FlameLabels, SvgOptions, least_hits, write_svg};
use profbridge::stacks::collapsed::{TextOptions, outline, read_stacks};
use profbridge::stacks::graph_of_outline;
use proptest::prelude::*;

fn options(min_width: f64) -> SvgOptions {
    let mut options = SvgOptions::default();
    (options.width, options.min_width) = (300, min_width);
    options
}

fn drawn_whole(text: &str, svg: &SvgOptions) -> String {
    let mut table = StackTable::new();
    read_stacks(text.as_bytes(), &TextOptions::default(), &Limits::default(), &mut table).unwrap();
    write_svg(&FlameGraph::new(&without_addresses(table), None, FlameLabels::new("", "", "hits")), svg)
}

fn drawn_outline(text: &str, svg: &SvgOptions) -> String {
    let outline = outline(text.as_bytes(), &TextOptions::default(), &Limits::default(), |total| least_hits(total, svg));
    write_svg(&graph_of_outline(&outline.expect("the text is regular"), "hits"), svg)
}

fn frame() -> impl Strategy<Value = String> {
    prop_oneof![
        "a/B\\.[a-d]",
        "a/B\\.[a-d]_\\[[0-1ijk]\\]",
        "a\\.B\\.[a-d]@[0-3]",
        "a/B\\$\\$Lambda\\.0x7f[0-3]\\.run",
        "a/B\\.[a-d]\\(I\\)V@3",
        "[a-c]",
        "\\[unknown\\]",
        "",
    ]
}

proptest! {
    #[test]
    fn an_outline_is_drawn_as_the_whole_text_is(
        lines in prop::collection::vec((prop::collection::vec(frame(), 0..7), 0..400u64, any::<bool>()), 1..60),
        min_width in 0.1f64..40.0,
    ) {
        let mut text = String::new();
        for (frames, hits, has_thread) in &lines {
            let thread = if *has_thread { "[t;1 tid=3];" } else { "" };
            text.push_str(&format!("{thread}x;{} {hits}\n", frames.join(";")));
        }
        let svg = options(min_width);
        prop_assume!(lines.iter().any(|(_, hits, _)| *hits > 0));
        prop_assert_eq!(drawn_outline(&text, &svg), drawn_whole(&text, &svg));
    }
}
