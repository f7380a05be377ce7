//! Tests of statistics and call chains.

use crate::call_chains::*;
use crate::call_chains::{Frame, FrameKind, SampleKey, SampleSource};

type Row = (&'static [(&'static str, i32)], Option<&'static str>, bool, u64);

fn table(rows: &[Row]) -> StackTable {
    let mut table = StackTable::new();
    for (frames, thread, truncated, hits) in rows {
        let mut stack = None;
        for (name, bci) in *frames {
            let function = match name.strip_prefix('!') {
                Some(symbol) => table.intern_symbol(symbol),
                None => table.intern_java("app.Poly", name, Some(&["int", "long"])),
            };
            let frame = table.intern_frame(Frame { function, bci: Some(*bci), line: None, kind: FrameKind::Unknown });
            stack = Some(table.push_frame(stack, frame));
        }
        let thread = thread.map(|name| table.intern_thread(name));
        let key = SampleKey {
            stack: stack.unwrap(),
            thread,
            source: SampleSource::Execution,
            certainty: Certainty::Unknown,
            truncated: *truncated,
        };
        table.add(key, *hits);
    }
    table
}

/// Recursion, a call site twice, an error frame.
fn sample() -> StackTable {
    table(&[
        (&[("main", 1), ("area", 31), ("mix", 0)], Some("a"), false, 111),
        (&[("main", 2), ("area", 31), ("area", 7), ("mix", 0)], Some("b"), false, 27),
        (&[("main", 1), ("area", 3)], Some("a"), true, 42),
        (&[("main", 1), ("![unknown_Java]", 0)], None, false, 5),
    ])
}

#[test]
fn the_flat_table_is_sorted_by_hits_and_has_three_decimals() {
    let statistics = statistics(&sample());
    let text = write_statistics(&statistics, 2);
    let table = text.split("\n\n").nth(1).unwrap();
    assert_eq!(
        table,
        "Method name               Hits        %  Inclusive        %\n\
         app.Poly.mix(long)         138   74.595        138   74.595\n\
         app.Poly.area(long)         42   22.703        180   97.297\n\
         … and 2 more methods"
    );
    assert!(
        text.contains(
            "Thread       Hits        %\na             153   82.703\nb              27   14.595\n… and 1 more thread\n"
        ),
        "{text}"
    );
    assert!(text.contains("Hits: 185 in 4 distinct stacks, 2.9 frames deep on average, 4 at most"), "{text}");
}

#[test]
fn notes_describe_the_sampler() {
    let notes = statistics(&sample()).notes.join("\n");
    assert!(notes.contains("42 of 185 hits (22.703 %) have truncated stacks"), "{notes}");
    assert!(notes.contains("5 of 185 hits (2.703 %) end in an error frame"), "{notes}");
    let unnamed = table(&[(&[("main", 1), ("![unknown]", 0)], None, false, 5)]);
    let notes = statistics(&unnamed).notes.join("\n");
    assert!(!notes.contains("error frame"), "{notes}");
    let broken = table(&[(&[("!a", 0)], None, false, 3), (&[("!a", 0), ("!b", 0)], None, false, 1)]);
    let broken = broken.map_samples(|sample| Some(SampleKey { source: SampleSource::Unknown, ..sample.key }));
    assert!(statistics(&broken).notes.join("\n").contains("3 of 4 hits (75.000 %) have only one frame"));
}

#[test]
fn counts_of_all_threads_are_marked_in_notes_about_one() {
    let mut table = sample();
    table.observed.samples_lost = 3;
    let note = |table: &StackTable| statistics(table).notes.into_iter().find(|note| note.contains("lost"));
    assert_eq!(note(&table).as_deref(), Some("3 samples lost, according to the source"));
    let of_thread = table.select(&Selection { thread: Some("a".into()), ..Selection::default() }).0;
    assert_eq!(note(&of_thread).as_deref(), Some("3 samples (all threads) lost, according to the source"));
}

fn chains_of(pattern: &str, direction: Direction, options: &ChainOptions) -> Vec<CallChain> {
    call_chains(&sample(), &MethodPattern::parse(pattern).unwrap(), direction, options)
}

#[test]
fn methods_are_meant_by_class_package_and_regular_expression_too() {
    let found = |pattern: &str| -> Vec<String> {
        let chains = chains_of(pattern, Direction::Callers, &ChainOptions::default());
        chains.into_iter().map(|chain| chain.method).collect()
    };
    let all = ["app.Poly.main(long)", "app.Poly.area(long)", "app.Poly.mix(long)"];
    for pattern in ["app", "app.Poly", "Poly", "/^app[.]/"] {
        assert_eq!(found(pattern), all, "{pattern}");
    }
    assert_eq!(found("/unknown/"), ["[unknown_Java]"]);
    assert_eq!(found("ap"), [""; 0]);
    assert!(MethodPattern::parse("/(/").is_err());
}

#[test]
fn callers_are_chains_from_the_innermost_occurrence() {
    let chains = chains_of("mix", Direction::Callers, &ChainOptions::default());
    assert_eq!(
        write_chains(&chains),
        "app.Poly.mix(long)   138\n  \
           app.Poly.area(long)   138  100.000 %\n    \
             app.Poly.main(long)   111  80.435 %\n    \
             app.Poly.area(long)   27  19.565 %\n      \
               app.Poly.main(long)   27  100.000 %\n"
    );
    let positions = ChainOptions { by_position: true, min_percent: 50.0, ..ChainOptions::default() };
    let chains = chains_of("app.Poly.mix(long)", Direction::Callers, &positions);
    assert_eq!(
        write_chains(&chains),
        "app.Poly.mix(long)   138\n  app.Poly.area(long) @31   111  80.435 %\n    app.Poly.main(long) @1   111  100.000 %\n"
    );
}

#[test]
fn callees_begin_at_the_outermost_occurrence_and_recursion_counts_once() {
    let options = ChainOptions { depth: 1, ..ChainOptions::default() };
    let chains = chains_of("app.Poly.area", Direction::Callees, &options);
    assert_eq!(
        write_chains(&chains),
        "app.Poly.area(long)   180\n  app.Poly.mix(long)   111  61.667 %\n  app.Poly.area(long)   27  15.000 %\n"
    );
    assert_eq!(chains_of("Poly.area", Direction::Callees, &options), chains);
    assert_eq!(chains_of("oly.area", Direction::Callees, &options), []);
    assert_eq!(chains_of("nothing", Direction::Callees, &options), []);
}

#[test]
fn exact_and_heuristic_hits_have_their_own_columns() {
    let mut table = sample();
    let key = table.samples().next().unwrap().key;
    table.add(SampleKey { certainty: Certainty::Exact, ..key }, 4);
    table.add(SampleKey { certainty: Certainty::Heuristic, ..key }, 2);
    let text = write_statistics(&statistics(&table), 1);
    assert!(text.contains("     Exact  Heuristic\n"), "{text}");
    assert!(text.contains("          4          2\n"), "{text}");
    assert!(text.contains("2 of 191 hits (1.047 %) were moved to the next safepoint"), "{text}");
}

#[test]
fn no_samples_give_no_division_by_zero() {
    let statistics = statistics(&StackTable::new());
    assert_eq!((statistics.hits, statistics.mean_depth), (0, 0.0));
    assert_eq!(percent(0, 0), 0.0);
    assert!(write_statistics(&statistics, 10).contains("Hits: 0 in 0 distinct stacks"));
}
