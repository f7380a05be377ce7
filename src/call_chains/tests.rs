use super::*;

fn frame(table: &mut StackTable, method: &str, bci: i32) -> FrameId {
    let function = table.intern_java("app.Main", method, Some(&["void", "int", "[Ljava.lang.String;"]));
    table.intern_frame(Frame { function, bci: Some(bci), line: None, kind: FrameKind::Unknown })
}

fn key(stack: StackId) -> SampleKey {
    SampleKey { stack, thread: None, source: SampleSource::Unknown, certainty: Certainty::Unknown, truncated: false }
}

#[test]
fn equal_stacks_share_one_number_and_their_hits_add_up() {
    let mut table = StackTable::new();
    let (a, b) = (frame(&mut table, "a", 1), frame(&mut table, "b", 2));
    let root = table.push_frame(None, a);
    let stack = table.push_frame(Some(root), b);
    assert_eq!(table.push_frame(Some(root), b), stack);
    table.add(key(stack), 3);
    table.add(key(stack), 4);
    let samples: Vec<Sample> = table.samples().collect();
    assert_eq!(samples, [Sample { key: key(stack), hits: 7, events: 0 }]);
    assert_eq!(table.frames(stack).collect::<Vec<_>>(), [b, a]);
    assert_eq!(table.depth(stack), 2);
}

#[test]
fn sample_counts_saturate_at_a_java_long() {
    let mut table = StackTable::new();
    let a = frame(&mut table, "a", 1);
    let stack = table.push_frame(None, a);
    table.add(key(stack), MAX_HITS);
    table.add(key(stack), 2);
    assert_eq!((table.total_hits(), table.saturated()), (u128::from(MAX_HITS), 1));
}

#[test]
fn a_dropped_leaf_charges_its_caller_and_an_empty_stack_is_counted() {
    let mut table = StackTable::new();
    let a = frame(&mut table, "a", 1);
    let native = table.intern_symbol("memcpy");
    let native = table.intern_frame(Frame { function: native, bci: None, line: None, kind: FrameKind::Native });
    let root = table.push_frame(None, a);
    let inside = table.push_frame(Some(root), native);
    let alone = table.push_frame(None, native);
    table.add(key(inside), 5);
    table.add(key(alone), 2);
    let (out, dropped) = table.map_frames(|_, frame| (frame.kind != FrameKind::Native).then_some(frame));
    assert_eq!((dropped, out.total_hits()), (2, 5));
    let sample = out.samples().next().unwrap();
    assert_eq!(
        out.display_function(out.frame(out.leaf(sample.key.stack)).function),
        "app.Main.a(int,java.lang.String[])"
    );
}

#[test]
fn array_types_are_written_as_in_source_code() {
    for (name, written) in
        [("int", "int"), ("[I", "int[]"), ("[[Lapp.Main;", "app.Main[][]"), ("[nonsense", "[nonsense"), ("a.B", "a.B")]
    {
        assert_eq!(table::source_type(name), written);
    }
}

#[test]
fn absorbing_is_the_same_as_adding_to_one_table() {
    let fill = |table: &mut StackTable, prefix: &[&str]| {
        for name in prefix {
            table.intern_name(name);
        }
        let (a, b) = (frame(table, "a", 1), frame(table, "b", 2));
        let root = table.push_frame(None, a);
        let stack = table.push_frame(Some(root), b);
        let thread = Some(table.intern_thread("worker"));
        table.add(SampleKey { thread, ..key(stack) }, 3);
        table.observed.parts += 1;
    };
    let (mut one, mut other) = (StackTable::new(), StackTable::new());
    fill(&mut one, &[]);
    fill(&mut other, &["numbers", "differ"]);
    other.intern_thread("unused");
    one.absorb(&other);
    let samples: Vec<Sample> = one.samples().collect();
    assert_eq!(samples.len(), 1);
    assert_eq!((samples[0].hits, one.observed.parts), (6, 2));
    assert_eq!(one.thread(samples[0].key.thread.unwrap()), "worker");
}
