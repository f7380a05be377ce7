use crate::bytes::Head;
use crate::stacks::collapsed::lines::Count;
use crate::stacks::collapsed::*;
use proptest::prelude::*;

fn read_with(text: &str, options: &TextOptions) -> Result<(StackTable, Vec<Warning>)> {
    let mut table = StackTable::new();
    let warnings = read_stacks(text.as_bytes(), options, &Limits::default(), &mut table)?;
    Ok((table, warnings))
}

fn read(text: &str) -> (StackTable, Vec<Warning>) {
    read_with(text, &TextOptions::default()).unwrap()
}

/// Stacks as text from the leaf: hits, thread, functions.
fn stacks(table: &StackTable) -> Vec<String> {
    let line = |sample: crate::call_chains::Sample| {
        let frames: Vec<String> =
            table.frames(sample.key.stack).map(|frame| table.display_function(table.frame(frame).function)).collect();
        let thread = sample.key.thread.map_or("-", |thread| table.thread(thread));
        format!("{} {thread} {}", sample.hits, frames.join(" < "))
    };
    table.samples().map(line).collect()
}

#[test]
fn the_count_follows_the_last_space_and_equal_stacks_are_added() {
    let (table, warnings) =
        read("a/B.main;C::f(int, long);a/B.leaf 3\r\n\na/B.main;C::f(int, long);a/B.leaf 4\na/B.main 0\n");
    assert_eq!(stacks(&table), ["7 - a.B.leaf < C::f(int, long) < a.B.main"]);
    assert_eq!(warnings, []);
}

#[test]
fn thread_names_may_hold_separators() {
    let (table, _) =
        read("[poly; worker [2] tid=12];a/B.run 1\n[x tid=y] tid=3];a/B.run 2\n[unknown];a/B.run 3\n[alone tid=4] 5\n");
    assert_eq!(stacks(&table), ["1 poly; worker [2] a.B.run", "2 x tid=y] a.B.run", "3 - a.B.run < [unknown]"]);
    assert_eq!(table.observed.lines_skipped, 1);
    let (table, _) = read("[tid=12];a/B.run 1\n[tid=x];a/B.run 2\n");
    assert_eq!(stacks(&table), ["1 tid=12 a.B.run", "2 - a.B.run < [tid=x]"]);
}

#[test]
fn folded_stacks_begin_with_the_process() {
    let text = "java-12/34;start_thread;java/lang/Thread:::run;app/Main:::loop 5\njava;[unknown];Interpreter;app/Main:::a->app/Main:::b 2\n";
    let (table, _) = read(text);
    assert_eq!(
        stacks(&table),
        [
            "5 java-12/34 app.Main.loop < java.lang.Thread.run < start_thread",
            "2 java app.Main.b < app.Main.a < Interpreter < [unknown]"
        ]
    );
    assert_eq!(table.observed.sources, ["folded stacks"]);
    let kinds: Vec<_> = table.frames(table.samples().nth(1).unwrap().key.stack).map(|f| table.frame(f).kind).collect();
    assert_eq!(kinds[..2], [FrameKind::Inlined, FrameKind::Compiled]);
}

#[test]
fn raw_names_of_perf_are_refused_or_glued() {
    let text = "java;Lapp/Main;::loop(ILjava/lang/String;)V;Lapp/Main;::leaf()Ljava/lang/String;;memcpy 5\n";
    let error = read_with(text, &TextOptions::default()).unwrap_err();
    assert_eq!(error.hint(), Some(&Hint::ReadPerfScript));
    let options = TextOptions { perf_raw: true, ..TextOptions::default() };
    let (table, _) = read_with(text, &options).unwrap();
    assert_eq!(stacks(&table), ["5 java memcpy < app.Main.leaf() < app.Main.loop(int,java.lang.String)"]);
}

#[test]
fn the_jdks_perf_map_gives_full_types() {
    let (table, _) = read("java;void app.Main.run();double app.Circle.area(int[], java.lang.String) 5\n");
    assert_eq!(stacks(&table), ["5 java app.Circle.area(int[],java.lang.String) < app.Main.run()"]);
}

#[test]
fn profiles_of_allocations_are_refused_unless_asked_for() {
    let text = "a/B.main;java.lang.String_[i] 4096\na/B.main;byte[]_[k] 100\n";
    let error = read_with(text, &TextOptions::default()).unwrap_err();
    assert!(error.to_string().contains("2 of 2 stacks end in a class"), "{error}");
    let options = TextOptions { accept_weights: true, ..TextOptions::default() };
    assert_eq!(read_with(text, &options).unwrap().0.total_hits(), 4196);
}

#[test]
fn lines_that_are_not_stacks_are_reported() {
    let (table, warnings) = read("a/B.main 1\nno count\nx y\n");
    assert_eq!(table.total_hits(), 1);
    assert_eq!(warnings[0].message, "skipped 2 lines that are not stacks: lines 2, 3");
    let error = read_with("\nhello world\n", &TextOptions::default()).unwrap_err();
    assert!(error.to_string().contains("line 2") && error.to_string().contains("no line is a stack"), "{error}");
}

#[test]
fn a_bad_line_is_skipped_wherever_it_is() {
    for bad in ["no count", "a;b", "a;b -5", "a;b 1e5", "a;b 1.5.2", "a;b .5", "a;b +5"] {
        for (text, number) in [(format!("{bad}\na;c 1\n"), 1), (format!("a;c 1\n{bad}\n"), 2)] {
            assert!(text_evidence(&Head::new(text.as_bytes())).is_some(), "{text}");
            let (table, warnings) = read(&text);
            assert_eq!((table.total_hits(), table.observed.lines_skipped), (1, 1), "{text}");
            assert_eq!(warnings[0].message, format!("skipped 1 line that is not a stack: line {number}"));
        }
    }
    let many: String = (0..7).map(|_| "rubbish\na;b 1\n").collect();
    assert_eq!(read(&many).1[0].message, "skipped 7 lines that are not stacks: lines 1, 3, 5, 7, 9, …");
}

#[test]
fn comments_are_skipped_without_a_warning() {
    let text = "# made by hand 7\n#\na;b 1\n#x;b 2\n# the end 3\n";
    assert!(text_evidence(&Head::new(text.as_bytes())).is_some());
    let (table, warnings) = read(text);
    assert_eq!((stacks(&table), warnings), (vec!["1 - b < a".to_string(), "2 - b < #x".to_string()], vec![]));
    let outlined = outline(text.as_bytes(), &TextOptions::default(), &Limits::default(), |_| 1).unwrap();
    assert_eq!(outlined.total, 3);
}

#[test]
fn counts_with_fractions_are_read_in_millionths_and_written_back() {
    let text = "a;b 2\na;c 1.5\na;d 0.0000014\na;e 3.\na;f 0.25\n";
    assert!(text_evidence(&Head::new(text.as_bytes())).is_some());
    let (table, warnings) = read(text);
    assert_eq!((table.unit(), table.total_hits()), (Some(Unit::Millionths), 6_750_001));
    let messages: Vec<&str> = warnings.iter().map(|warning| &*warning.message).collect();
    let rounded = "1 count with a fraction rounded to whole millionths";
    assert_eq!(messages, [rounded, "some counts have fractions, so all counts are in millionths"]);
    let (written, _) = write_collapsed(&table, &CollapsedOptions::default());
    assert_eq!(written, "a;b 2\na;c 1.5\na;d 0.000001\na;e 3\na;f 0.25\n");
    assert!(outline(text.as_bytes(), &TextOptions::default(), &Limits::default(), |_| 1).is_none());
    for (digits, scale, expected) in [
        ("0.9999995", MILLION, (1_000_000, true)),
        ("0.9999994", MILLION, (999_999, true)),
        ("18446744073709.551615", MILLION, (u64::MAX, false)),
        ("1.2345678", 1_000_000_000, (1_234_567_800, false)),
        ("0.0000000004", 1_000_000_000, (0, true)),
        ("0.00000123", 3_600_000_000_000, (4_428_000, false)),
        ("0.999999999999999999999", 3_600_000_000_000, (3_600_000_000_000, true)),
        ("18446744073709551616.5", 1, (u64::MAX, true)),
    ] {
        assert_eq!(Count::parse(digits.as_bytes()).unwrap().scaled(scale), expected, "{digits}");
    }
}

#[test]
fn a_stated_unit_is_converted_to_nanoseconds_or_bytes() {
    for (text, unit, hits) in [
        ("# unit: ns\na;b 5\n", Unit::Nanoseconds, 5),
        ("# unit: us\r\na;b 5\n", Unit::Nanoseconds, 5_000),
        ("# unit: ms\na;b 1.5\n", Unit::Nanoseconds, 1_500_000),
        ("# unit: seconds\na;b 0.25\na;c 2\n", Unit::Nanoseconds, 2_250_000_000),
        ("# unit: kB\na;b 7\n", Unit::Bytes, 7168),
        ("# unit: hits\na;b 7\n", Unit::Hits, 7),
        ("# unit: samples\na;b 1.5\n", Unit::Millionths, 1_500_000),
    ] {
        let (table, warnings) = read(text);
        assert_eq!((table.unit(), table.total_hits()), (Some(unit), hits), "{text}");
        assert_eq!(warnings.len(), usize::from(unit == Unit::Millionths), "{text}: {warnings:?}");
        // A drawing of a large text knows samples only.
        assert!(outline(text.as_bytes(), &TextOptions::default(), &Limits::default(), |_| 1).is_none());
    }
}

#[test]
fn parts_of_a_byte_and_unknown_units_are_reported() {
    let (table, warnings) = read("# unit: bytes\na;b 1.5\na;c 2.25\na;d 3.0\n");
    assert_eq!((table.unit(), table.total_hits()), (Some(Unit::Bytes), 7));
    assert_eq!(warnings[0].message, "2 counts with a fraction rounded to whole bytes");
    assert!(warnings[0].is_loss);
    let (table, warnings) = read("# unit: foo\na;b 5\n");
    assert_eq!((table.unit(), table.total_hits()), (Some(Unit::Hits), 5));
    assert_eq!(warnings[0].message, "the unit \"foo\" is not known, so its values count as hits");
}

#[test]
fn threads_without_a_name_keep_their_id() {
    let text = "[main tid=1];a;b 1\n[tid=23447];a;b 2\n[x tid=77 tid=3];a 4\n";
    let mut options = CollapsedOptions::default();
    options.threads = true;
    assert_eq!(write_collapsed(&read(text).0, &options).0, text);
}

#[test]
fn counts_above_the_maximum_are_reduced_with_a_warning() {
    for count in ["9223372036854775808", "18446744073709551615", "18446744073709551616", "99999999999999999999999"] {
        let text = format!("a;b {count}\na;c 1\n");
        let (table, warnings) = read(&text);
        assert_eq!(stacks(&table)[0], format!("{MAX_HITS} - b < a"));
        assert_eq!(warnings[0].message, "1 count reached the maximum, 9223372036854775807", "{count}");
        assert!(outline(text.as_bytes(), &TextOptions::default(), &Limits::default(), |_| 1).is_none());
    }
    let (_, warnings) = read(&format!("a;b {MAX_HITS}\na;b 1\n"));
    assert_eq!(warnings.len(), 1);
    assert_eq!(read(&format!("a;b {MAX_HITS}\n")).1, []);
}

#[test]
fn perf_script_without_call_graphs_is_read() {
    let text = "         swapper     0 [001]     1.100000:     250000 cycles:  ffffffff821f236b halt+0xb ([kernel.kallsyms])\n\
                         prog 11762 [112]     1.200000:     250000 cycles:      7eff03be869e f+0x7e (/opt/prog)\n";
    assert_eq!(text_evidence(&Head::new(text.as_bytes())), Some(Confidence::Certain));
    let (table, warnings) = read(text);
    assert_eq!(stacks(&table), ["1 swapper halt", "1 prog f"]);
    assert_eq!((warnings, &table.observed.sources[..]), (vec![], &["folded stacks (perf script)".to_string()][..]));
}

#[test]
fn names_without_packages_are_warned_of() {
    let (table, warnings) = read("Thread.run;Main.loop 1\n");
    assert!(table.observed.simple_names);
    assert!(warnings[0].message.contains("no packages"));
}

#[test]
fn stacks_are_distinguished_from_llvm_text() {
    for text in ["a;b 1\nc;d 2\n", "main 12", "\u{feff}a;b 1\n", "a;b 1\nc;d;trunc"] {
        assert!(text_evidence(&Head::new(text.as_bytes())).is_some(), "{text}");
    }
    for text in [
        "",
        "main\n10\n1\n",
        ":ir\nmain\n",
        "foo.c;bar 2\n123\n1\n1\n",
        "main:100:10\n 1: 5\n",
        "Chapter 1\nPart 2\nIt was\n",
    ] {
        assert_eq!(text_evidence(&Head::new(text.as_bytes())), None, "{text}");
    }
}

#[test]
fn stacks_deeper_than_the_limit_are_refused() {
    let limits = Limits { context_depth: 2, ..Limits::default() };
    let read = read_stacks(b"a;b;c 1\n", &TextOptions::default(), &limits, &mut StackTable::new());
    assert!(read.unwrap_err().to_string().contains("number of frames of a stack is 3, the limit is 2"));
}

#[test]
fn separators_in_names_cannot_be_written() {
    let (table, _) = read("a/B.main(I)V@1;a/B.f()V@0 1\na/B.main(I)V@2;a/B.f()V@0 2\n");
    let (text, joined) = write_collapsed(&table, &CollapsedOptions::default());
    assert_eq!((text.as_str(), joined), ("a/B.main;a/B.f 3\n", 1));
    let options = CollapsedOptions { style: ClassStyle::Dots, descriptors: true, ..Default::default() };
    assert_eq!(write_collapsed(&table, &options).0, "a.B.main(I)V;a.B.f()V 3\n");
}

fn exact() -> CollapsedOptions {
    CollapsedOptions { descriptors: true, bcis: true, ..Default::default() }
}

proptest! {
    #[test]
    fn with_descriptors_and_bcis_the_round_trip_is_the_identity(
        lines in prop::collection::vec(
            (prop::collection::vec(("[a-c.]{1,3}", "[a-b;%(]{1,2}", prop::collection::vec("int|a[.]B|\\[I", 1..3), -6..3i32), 1..4), 1..50u64),
            1..6,
        )
    ) {
        let mut table = StackTable::new();
        for (frames, hits) in &lines {
            let mut stack = None;
            for (class, name, types, bci) in frames {
                let types: Vec<&str> = types.iter().map(String::as_str).collect();
                let function = table.intern_java(class, name, Some(&types));
                let bci = (*bci != UNKNOWN).then_some(*bci);
                let frame = table.intern_frame(Frame { function, bci, line: None, kind: FrameKind::Unknown });
                stack = Some(table.push_frame(stack, frame));
            }
            table.add(SampleKey::of_stack(stack.unwrap()), *hits);
        }
        let (text, joined) = write_collapsed(&table, &exact());
        prop_assert_eq!(joined, 0);
        let (again, warnings) = read(&text);
        prop_assert!(warnings.is_empty());
        prop_assert_eq!(&write_collapsed(&again, &exact()).0, &text);
        prop_assert_eq!(again.total_hits(), table.total_hits());
        let mut expected = stacks(&table);
        let mut found = stacks(&again);
        expected.sort();
        found.sort();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn rubbish_never_panics(text in "([a-zA-Z/.;:()_|@ \\[\\]>%0-9-]{0,40}\n){0,6}", perf_raw: bool, folded: bool) {
        let dialect = if folded { Dialect::Folded } else { Dialect::Auto };
        let _ = read_with(&text, &TextOptions { dialect, perf_raw, accept_weights: perf_raw });
        let _ = text_evidence(&Head::new(text.as_bytes()));
    }
}

const UNKNOWN: i32 = -5;

#[test]
fn cancellation_ends_the_reading() {
    let cancel = Cancel::default();
    cancel.cancel();
    let script = "java 1 [000] 5.0: 1 cycles:\n\t7f00 main (app)\n\n";
    for text in ["a;b 3\nc 4\n", script] {
        let (options, limits, mut table) = (TextOptions::default(), Limits::default(), StackTable::new());
        let read = read_stacks_until(text.as_bytes(), &options, None, &limits, &cancel, &mut table);
        assert!(matches!(read.unwrap_err().kind(), ErrorKind::Cancelled), "{text}");
    }
}
