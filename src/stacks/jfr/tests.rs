//! Recordings built value by value, in both integer encodings.

use crate::call_chains::{Certainty, SamplingPeriod, Selection};
use crate::error::ErrorKind;
use crate::stacks::jfr::*;
use proptest::prelude::*;

/// Writes the values of one chunk.
struct Writer {
    bytes: Vec<u8>,
    compressed: bool,
}

impl Writer {
    fn new(compressed: bool) -> Self {
        Self { bytes: Vec::new(), compressed }
    }

    fn long(&mut self, mut value: u64) {
        if !self.compressed {
            self.bytes.extend(value.to_be_bytes());
            return;
        }
        for _ in 0..8 {
            if value < 0x80 {
                break;
            }
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn int(&mut self, value: i32) {
        if self.compressed { self.long(u64::from(value as u32)) } else { self.bytes.extend(value.to_be_bytes()) }
    }

    fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    fn utf8(&mut self, text: &str) {
        self.byte(3);
        self.int(text.len() as i32);
        self.bytes.extend(text.as_bytes());
    }
}

/// An event: its size counts itself, so it is found by trying.
fn event(compressed: bool, type_id: u64, body: &[u8]) -> Vec<u8> {
    let mut size = 0;
    loop {
        let mut writer = Writer::new(compressed);
        writer.int(size);
        writer.long(type_id);
        writer.bytes.extend(body);
        if writer.bytes.len() as i32 == size {
            return writer.bytes;
        }
        size = writer.bytes.len() as i32;
    }
}

/// A class: number, name, fields of (name, class, pooled, list).
type ClassRow = (u64, &'static str, &'static [(&'static str, u64, bool, bool)]);

/// Numbers and field order differ from the JDK's on purpose.
const CLASSES: &[ClassRow] = &[
    (50, "long", &[]),
    (51, "int", &[]),
    (52, "boolean", &[]),
    (53, "java.lang.String", &[]),
    (60, "jdk.types.Symbol", &[("string", 53, false, false)]),
    (61, "java.lang.Class", &[("modifiers", 51, false, false), ("name", 60, true, false)]),
    (
        62,
        "jdk.types.Method",
        &[
            ("descriptor", 60, true, false),
            ("hidden", 52, false, false),
            ("name", 60, true, false),
            ("type", 61, true, false),
        ],
    ),
    (63, "jdk.types.FrameType", &[("description", 53, false, false)]),
    (
        64,
        "jdk.types.StackFrame",
        &[
            ("bytecodeIndex", 51, false, false),
            ("method", 62, true, false),
            ("type", 63, true, false),
            ("lineNumber", 51, false, false),
        ],
    ),
    (65, "jdk.types.StackTrace", &[("frames", 64, false, true), ("truncated", 52, false, false)]),
    (
        66,
        "java.lang.Thread",
        &[("osName", 53, false, false), ("javaName", 53, false, false), ("osThreadId", 50, false, false)],
    ),
    (67, "com.example.Nested", &[("pairs", 68, false, true), ("text", 53, false, false)]),
    (68, "com.example.Pair", &[("a", 51, false, false), ("b", 53, true, true)]),
    (
        101,
        "jdk.ExecutionSample",
        &[("stackTrace", 65, true, false), ("extra", 67, false, false), ("sampledThread", 66, true, false)],
    ),
    (102, "jdk.InitialEnvironmentVariable", &[("key", 53, false, false), ("value", 53, false, false)]),
    (
        103,
        "jdk.CPUTimeSample",
        &[("eventThread", 66, true, false), ("stackTrace", 65, true, false), ("biased", 52, false, false)],
    ),
    (104, "jdk.CPUTimeSamplesLost", &[("startTime", 50, false, false), ("lostSamples", 51, false, false)]),
    (
        105,
        "jdk.MethodTrace",
        &[
            ("startTime", 50, false, false),
            ("duration", 50, false, false),
            ("eventThread", 66, true, false),
            ("stackTrace", 65, true, false),
            ("method", 62, true, false),
        ],
    ),
    (
        106,
        "jdk.MethodTiming",
        &[
            ("startTime", 50, false, false),
            ("method", 62, true, false),
            ("invocations", 50, false, false),
            ("minimum", 50, false, false),
            ("average", 50, false, false),
            ("maximum", 50, false, false),
        ],
    ),
    (
        107,
        "jdk.ActiveSetting",
        &[
            ("startTime", 50, false, false),
            ("id", 50, false, false),
            ("name", 53, false, false),
            ("value", 53, false, false),
        ],
    ),
    (
        108,
        "jdk.JVMInformation",
        &[("startTime", 50, false, false), ("jvmStartTime", 50, false, false), ("pid", 50, false, false)],
    ),
];

fn metadata(compressed: bool, classes: &[ClassRow]) -> Vec<u8> {
    let mut strings: Vec<String> = Vec::new();
    let mut number = |text: &str| match strings.iter().position(|known| known == text) {
        Some(at) => at as i32,
        None => {
            strings.push(text.to_string());
            strings.len() as i32 - 1
        }
    };
    let mut tree = Writer::new(compressed);
    let mut open = |tree: &mut Writer, name: &str, attributes: &[(&str, &str)], children: usize| {
        tree.int(number(name));
        tree.int(attributes.len() as i32);
        for (key, value) in attributes {
            tree.int(number(key));
            tree.int(number(value));
        }
        tree.int(children as i32);
    };
    open(&mut tree, "root", &[], 2);
    open(&mut tree, "metadata", &[], classes.len());
    for (id, name, fields) in classes {
        open(&mut tree, "class", &[("name", name), ("id", &id.to_string())], fields.len() + 1);
        open(&mut tree, "annotation", &[("class", "7"), ("value", "x")], 0);
        for (name, class, pooled, list) in *fields {
            let class = class.to_string();
            let mut attributes = vec![("name", *name), ("class", class.as_str())];
            if *pooled {
                attributes.push(("constantPool", "true"));
            }
            if *list {
                attributes.push(("dimension", "1"));
            }
            open(&mut tree, "field", &attributes, 0);
        }
    }
    open(&mut tree, "region", &[("locale", "en_US")], 0);
    let mut body = Writer::new(compressed);
    for value in [1, 2, 3] {
        body.long(value);
    }
    body.int(strings.len() as i32);
    for text in &strings {
        body.utf8(text);
    }
    body.bytes.extend(tree.bytes);
    event(compressed, 0, &body.bytes)
}

/// A pool: the number of its class, its constants by key.
type PoolRow = (u64, Vec<(u64, Vec<u8>)>);

/// A constant-pool event with one pool for each row.
fn pools(compressed: bool, distance: i64, rows: &[PoolRow]) -> Vec<u8> {
    let mut body = Writer::new(compressed);
    body.long(1);
    body.long(2);
    body.long(distance as u64);
    body.byte(0);
    body.int(rows.len() as i32);
    for (type_id, constants) in rows {
        body.long(*type_id);
        body.int(constants.len() as i32);
        for (key, value) in constants {
            body.long(*key);
            body.bytes.extend(value);
        }
    }
    event(compressed, 1, &body.bytes)
}

fn value(compressed: bool, write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::new(compressed);
    write(&mut writer);
    writer.bytes
}

fn sample(compressed: bool, stack: u64, thread: u64) -> Vec<u8> {
    let body = value(compressed, |w| {
        w.long(stack);
        w.int(1);
        w.int(-7);
        w.int(2);
        w.long(9);
        w.long(8);
        w.utf8("not wanted");
        w.long(thread);
    });
    event(compressed, 101, &body)
}

fn header(compressed: bool, size: usize, pools_at: usize, metadata_at: usize) -> Vec<u8> {
    let mut bytes = b"FLR\0\0\x02\0\x01".to_vec();
    for word in [size as u64, pools_at as u64, metadata_at as u64, 5, 1_000_000, 7, 1_000_000_000] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend(u32::from(compressed).to_be_bytes());
    bytes
}

/// One chunk with samples of `Lapp/Main;`: two of stack 1 (`run` ← `main`), one
/// of stack 2 (truncated), one without stack, and constants in two pool events.
fn chunk(compressed: bool, class_name: &str) -> Vec<u8> {
    chunk_with_method(compressed, class_name, "run")
}

/// Like `chunk`, but with another name for `run`.
fn chunk_with_method(compressed: bool, class_name: &str, method_name: &str) -> Vec<u8> {
    chunk_with_events(compressed, class_name, method_name, &[])
}

/// Returns a chunk with additional events.
fn chunk_with_events(compressed: bool, class_name: &str, method_name: &str, more: &[u8]) -> Vec<u8> {
    let c = compressed;
    let symbol = |key: u64, text: &str| (key, value(c, |w| w.utf8(text)));
    let frame = |w: &mut Writer, bci: i32, method: u64, kind: u64| {
        w.int(bci);
        w.long(method);
        w.long(kind);
        w.int(33);
    };
    let mut events = Vec::new();
    events.extend(sample(c, 1, 4));
    events.extend(event(
        c,
        102,
        &value(c, |w| {
            w.utf8("SECRET");
            w.utf8("hunter2");
        }),
    ));
    events.extend(sample(c, 1, 4));
    events.extend(sample(c, 2, 4));
    events.extend(sample(c, 0, 4));
    events.extend(event(
        c,
        103,
        &value(c, |w| {
            w.long(4);
            w.long(1);
            w.byte(1);
        }),
    ));
    let lost = value(c, |w| {
        w.long(10);
        w.int(12);
    });
    events.extend(event(c, 104, &lost));
    events.extend(more);
    let first_at = 68 + events.len();
    let first = pools(
        c,
        0,
        &[
            (
                60,
                vec![
                    symbol(1, class_name),
                    symbol(2, method_name),
                    symbol(3, "(I[J)Lapp/Main;"),
                    symbol(4, "main"),
                    symbol(5, "old"),
                ],
            ),
            (63, vec![(1, value(c, |w| w.utf8("JIT compiled"))), (0, value(c, |w| w.utf8("Interpreted")))]),
        ],
    );
    let second_at = first_at + first.len();
    let second = pools(
        c,
        first_at as i64 - second_at as i64,
        &[
            (60, vec![symbol(5, "()V")]),
            (
                61,
                vec![(
                    9,
                    value(c, |w| {
                        w.int(1);
                        w.long(1);
                    }),
                )],
            ),
            (
                62,
                vec![
                    (
                        1,
                        value(c, |w| {
                            w.long(3);
                            w.byte(0);
                            w.long(2);
                            w.long(9);
                        }),
                    ),
                    (
                        2,
                        value(c, |w| {
                            w.long(5);
                            w.byte(0);
                            w.long(4);
                            w.long(9);
                        }),
                    ),
                ],
            ),
            (
                65,
                vec![
                    (
                        1,
                        value(c, |w| {
                            w.int(2);
                            frame(w, 12, 1, 1);
                            frame(w, -1, 2, 0);
                            w.byte(0);
                        }),
                    ),
                    (
                        2,
                        value(c, |w| {
                            w.int(1);
                            frame(w, 0, 1, 1);
                            w.byte(1);
                        }),
                    ),
                ],
            ),
            (
                66,
                vec![(
                    4,
                    value(c, |w| {
                        w.utf8("os");
                        w.utf8("worker é");
                        w.long(77);
                    }),
                )],
            ),
        ],
    );
    let metadata_at = second_at + second.len();
    let metadata = metadata(c, CLASSES);
    let mut bytes = header(c, metadata_at + metadata.len(), second_at, metadata_at);
    for part in [events, first, second, metadata] {
        bytes.extend(part);
    }
    bytes
}

fn read(bytes: &[u8]) -> Result<(StackTable, Vec<Warning>)> {
    let mut table = StackTable::new();
    let warnings = read_recording(bytes, &RecordingOptions::default(), &Limits::default(), &mut table)?;
    Ok((table, warnings))
}

/// Returns a chunk with settings of event types: number, name and value.
fn chunk_with_settings(compressed: bool, settings: &[(u64, &str, &str)]) -> Vec<u8> {
    let setting = |(id, name, text): &(u64, &str, &str)| {
        let body = value(compressed, |w| {
            w.long(1);
            w.long(*id);
            w.utf8(name);
            w.utf8(text);
        });
        event(compressed, 107, &body)
    };
    let settings: Vec<u8> = settings.iter().flat_map(setting).collect();
    chunk_with_events(compressed, "app/Main", "run", &settings)
}

#[test]
fn the_sampling_period_is_read_from_settings() {
    for compressed in [false, true] {
        let periods = |chunks: &[Vec<u8>]| read(&chunks.concat()).unwrap().0.observed.periods;
        let settings =
            [(101, "enabled", "true"), (101, "period", "20 ms"), (102, "period", "1 s"), (9, "period", "1 s")];
        let usual = chunk_with_settings(compressed, &settings);
        assert_eq!(
            periods(&[usual.clone(), usual.clone()]),
            [(SampleSource::Execution, SamplingPeriod::Nanoseconds(20_000_000))]
        );
        for odd in ["everyChunk", "0 ms", "20", "x ms", "99999999999999999999 s", "99999999999999 s"] {
            assert!(periods(&[chunk_with_settings(compressed, &[(101, "period", odd)])]).is_empty(), "{odd}");
        }
        let other = chunk_with_settings(compressed, &[(101, "period", "10 ms"), (103, "period", "9 ms")]);
        let of_cpu_time = (SampleSource::CpuTime, SamplingPeriod::Nanoseconds(9_000_000));
        assert_eq!(periods(&[usual.clone(), other.clone()]), [of_cpu_time], "the other changed during the recording");
        let [mut sum, other] = [usual, other].map(|chunk| read(&chunk).unwrap().0);
        assert!(!sum.mixes_rates());
        let execution = Selection { sources: vec![SampleSource::Execution], ..Selection::default() };
        let pprof = crate::stacks::pprof::from_table(&other.select(&execution).0).0;
        assert_eq!(pprof.period, 10_000_000, "other event types do not count");
        sum.absorb(&other);
        assert!(sum.mixes_rates());
    }
}

/// Samples as text: hits, source, thread, truncated, frames from the leaf.
fn lines(table: &StackTable) -> Vec<String> {
    let line = |sample: crate::call_chains::Sample| {
        let frames: Vec<String> = table
            .frames(sample.key.stack)
            .map(|frame| {
                let frame = table.frame(frame);
                let bci = frame.bci.map_or("?".to_string(), |bci| bci.to_string());
                format!(
                    "{}@{bci}:{}:{}",
                    table.display_function(frame.function),
                    frame.line.unwrap_or(0),
                    frame.kind.word()
                )
            })
            .collect();
        let thread = sample.key.thread.map_or("-", |thread| table.thread(thread));
        format!(
            "{} {} {thread} {} {}",
            sample.hits,
            sample.key.source.word(),
            if sample.key.truncated { "cut" } else { "whole" },
            frames.join(" ")
        )
    };
    table.samples().map(line).collect()
}

#[test]
fn samples_are_read_in_both_encodings_by_the_field_order_of_the_file() {
    for compressed in [true, false] {
        let (table, warnings) = read(&chunk(compressed, "app/Main")).unwrap();
        assert_eq!(
            lines(&table),
            [
                "2 execution worker é whole app.Main.run(int,long[])@12:33:compiled app.Main.main()@?:33:interpreted",
                "1 execution worker é cut app.Main.run(int,long[])@0:33:compiled",
                "1 cpu-time worker é whole app.Main.run(int,long[])@12:33:compiled app.Main.main()@?:33:interpreted",
            ]
        );
        assert_eq!(warnings, []);
        let observed = &table.observed;
        assert_eq!((observed.parts, observed.samples_without_stack, observed.cpu_time_samples_lost), (1, 1, 12));
        assert_eq!((observed.duration_nanos, observed.unknown_bci_frames), (1_000_000, 1));
        assert_eq!(observed.sources, ["Flight Recorder 2.1"]);
        let marks: Vec<Certainty> = table.samples().map(|sample| sample.key.certainty).collect();
        assert_eq!(marks, [Certainty::Unknown, Certainty::Unknown, Certainty::Heuristic]);
    }
}

/// async-profiler gives native functions the name of their library as class, and a descriptor that no method has.
#[test]
fn native_functions_of_async_profiler_are_symbols() {
    let replace = |bytes: &mut [u8], old: &[u8], new: &[u8]| {
        let at = bytes.windows(old.len()).position(|part| part == old).unwrap();
        bytes[at..at + old.len()].copy_from_slice(new);
    };
    let mut bytes = chunk(true, "libm.so");
    replace(&mut bytes, b"(I[J)Lapp/Main;", b"(not a method)L;".get(1..).unwrap());
    replace(&mut bytes, b"com.example.Nested", b"profiler.WallClock");
    let table = read(&bytes).unwrap().0;
    assert_eq!(lines(&table)[1], "1 execution worker é cut run@?:33:compiled");
    // Events about calls name no method. Other missing methods are not replaced.
    let events = [traced_method(true, 1, 0), traced_method(true, 1, 77)].concat();
    let mut options = RecordingOptions::default();
    options.events = SampleSource::CALLS.to_vec();
    let mut traces = StackTable::new();
    let bytes_of_traces = chunk_with_events(true, "app/Main", "run", &events);
    read_recording(&bytes_of_traces, &options, &Limits::default(), &mut traces).unwrap();
    let traces = lines(&traces).into_iter().filter(|line| line.contains("method-trace"));
    let expected =
        "1 method-trace worker é whole app.Main.run(int,long[])@12:33:compiled app.Main.main()@?:33:interpreted";
    assert_eq!(traces.collect::<Vec<_>>(), [expected]);
    assert_eq!(table.observed.sources, ["async-profiler (Flight Recorder 2.1)"]);
    assert_eq!(table.observed.unknown_bci_frames, 1);
}

/// A call of `run` from stack `stack`, as JDK 25 records it.
fn traced(compressed: bool, stack: u64) -> Vec<u8> {
    traced_method(compressed, stack, 1)
}

fn traced_method(compressed: bool, stack: u64, method: u64) -> Vec<u8> {
    let body = value(compressed, |w| {
        w.long(10);
        w.long(3);
        w.long(4);
        w.long(stack);
        w.long(method);
    });
    event(compressed, 105, &body)
}

/// The calls of a method since the recording began.
fn timed(compressed: bool, method: u64, invocations: u64) -> Vec<u8> {
    timed_at(compressed, 10, method, invocations)
}

fn timed_at(compressed: bool, ticks: u64, method: u64, invocations: u64) -> Vec<u8> {
    let body = value(compressed, |w| {
        w.long(ticks);
        w.long(method);
        w.long(invocations);
        for nanoseconds in [1, 2, 3] {
            w.long(nanoseconds);
        }
    });
    event(compressed, 106, &body)
}

#[test]
fn calls_are_counted_exactly_across_chunks() {
    for c in [true, false] {
        let first = [traced(c, 1), traced(c, 1), traced(c, 0), timed(c, 1, 5), timed(c, 1, 7), timed(c, 2, 1)].concat();
        // The numbers of the second chunk include those of the first.
        let second = [traced(c, 1), timed(c, 1, 9), timed(c, 2, 1)].concat();
        let both: Vec<u8> =
            [first, second].iter().flat_map(|more| chunk_with_events(c, "app/Main", "run", more)).collect();
        let mut options = RecordingOptions::default();
        options.events = SampleSource::CALLS.to_vec();
        let mut table = StackTable::new();
        read_recording(&both, &options, &Limits::default(), &mut table).unwrap();
        let calls: Vec<String> = lines(&table).into_iter().filter(|line| line.contains(" method-")).collect();
        assert_eq!(
            calls,
            [
                "3 method-trace worker é whole app.Main.run(int,long[])@0:0:unknown app.Main.run(int,long[])@?:33:compiled app.Main.main()@?:33:interpreted",
                "1 method-trace worker é whole app.Main.run(int,long[])@0:0:unknown",
                "9 method-timing - whole app.Main.run(int,long[])@0:0:unknown",
                "1 method-timing - whole app.Main.main()@0:0:unknown",
            ]
        );
        // Without being asked for they are only counted.
        let (table, _) = read(&both).unwrap();
        assert_eq!(table.observed.skipped_events[&SampleSource::MethodTrace], 4);
        assert!(lines(&table).iter().all(|line| !line.contains(" method-")));
    }
}

#[test]
fn calls_are_counted_once_for_each_jvm() {
    let of_chunk = |jvm: u64, calls: u64| {
        let started = event(true, 108, &value(true, |w| [10, 1000, jvm].into_iter().for_each(|word| w.long(word))));
        chunk_with_events(true, "app/Main", "run", &[timed(true, 1, calls), started].concat())
    };
    let mut options = RecordingOptions::default();
    options.events = SampleSource::CALLS.to_vec();
    let read = |bytes: &[u8], table: &mut StackTable| {
        read_recording(bytes, &options, &Limits::default(), table).unwrap();
        let timed = table.samples().filter(|sample| sample.key.source == SampleSource::MethodTiming);
        timed.map(|sample| sample.hits).sum::<u64>()
    };
    let mut table = StackTable::new();
    assert_eq!(read(&[of_chunk(1, 5), of_chunk(1, 8), of_chunk(2, 9)].concat(), &mut table), 8 + 9);
    assert!(table.warnings_about_counts().is_empty());
    // Another recording of the second JVM.
    assert_eq!(read(&of_chunk(2, 20), &mut table), 8 + 9 + 20);
    assert_eq!(table.warnings_about_counts().len(), 1);
    let [mut one, mut other] = [StackTable::new(), StackTable::new()];
    read(&of_chunk(3, 5), &mut one);
    read(&of_chunk(3, 7), &mut other);
    one.observed.absorb(&other.observed, 1);
    assert_eq!(one.warnings_about_counts().len(), 1);
}

#[test]
fn a_chunk_that_several_recordings_have_gets_a_warning() {
    let (first, second) = (chunk(true, "app/Main"), chunk(true, "app/Next"));
    let add = |table: &mut StackTable, recording: &[u8]| {
        read_recording(recording, &RecordingOptions::default(), &Limits::default(), table).unwrap();
        table.warnings_about_counts().len()
    };
    // Two dumps of one recording: the second begins with the chunks of the first.
    let mut table = StackTable::new();
    assert_eq!(add(&mut table, &first), 0);
    assert_eq!(add(&mut table, &second), 0);
    assert_eq!(add(&mut table, &[first.clone(), chunk(true, "app/Last")].concat()), 1);
    let [mut one, mut other] = [StackTable::new(), StackTable::new()];
    add(&mut one, &first);
    add(&mut other, &[first.clone(), second.clone()].concat());
    one.observed.absorb(&other.observed, 1);
    assert_eq!(one.warnings_about_counts().len(), 1);
}

#[test]
fn calls_before_the_requested_time_do_not_count() {
    let of_chunk = |calls: &[(u64, u64, u64)]| -> Vec<u8> {
        let events: Vec<u8> =
            calls.iter().flat_map(|(ticks, method, calls)| timed_at(true, *ticks, *method, *calls)).collect();
        chunk_with_events(true, "app/Main", "run", &events)
    };
    let (first, second) = ([(10, 1, 5), (10, 2, 2), (1010, 1, 8), (1010, 2, 2)], [(1010, 1, 20)]);
    let counts = |calls: &[&[(u64, u64, u64)]], range: Range<u64>| {
        let mut options = RecordingOptions::default();
        options.events = SampleSource::CALLS.to_vec();
        (options.from, options.to) = (Some(TimeBound::After(range.start)), Some(TimeBound::After(range.end)));
        let (bytes, mut table) =
            (calls.iter().flat_map(|calls| of_chunk(calls)).collect::<Vec<u8>>(), StackTable::new());
        read_recording(&bytes, &options, &Limits::default(), &mut table).unwrap();
        let lines = lines(&table).into_iter().filter(|line| line.contains(" method-"));
        lines.map(|line| line.split_once(" whole").unwrap().0.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(counts(&[&first], 0..500), ["5 method-timing -", "2 method-timing -"]);
    assert_eq!(counts(&[&first], 500..5000), ["3 method-timing -"]);
    assert_eq!(counts(&[&first, &second], 500..5000), ["15 method-timing -"]);
}

#[test]
fn lost_samples_are_those_of_the_requested_time() {
    let read_in = |range: Range<u64>| {
        let mut options = RecordingOptions::default();
        (options.from, options.to) = (Some(TimeBound::After(range.start)), Some(TimeBound::After(range.end)));
        let mut table = StackTable::new();
        read_recording(&chunk(true, "app/Main"), &options, &Limits::default(), &mut table).unwrap();
        table
    };
    let table = read_in(0..500);
    assert_eq!((table.observed.cpu_time_samples_lost, read_in(500..5000).observed.cpu_time_samples_lost), (12, 0));
    let selected = |thread: Option<&str>| {
        let selection = Selection { thread: thread.map(str::to_string), ..Selection::default() };
        table.select(&selection).0.observed
    };
    for (thread, is_one) in [(None, false), (Some("worker é"), true)] {
        let observed = selected(thread);
        assert_eq!((observed.cpu_time_samples_lost, observed.has_one_thread), (12, is_one));
    }
}

#[test]
fn nothing_but_samples_is_kept_of_a_recording() {
    let bytes = chunk(true, "app/Main");
    let holds = |haystack: &[u8], needle: &str| haystack.windows(needle.len()).any(|part| part == needle.as_bytes());
    assert!(holds(&bytes, "hunter2") && holds(&bytes, "not wanted"), "the recording has it");
    let (table, _) = read(&bytes).unwrap();
    let everything = format!("{table:?}");
    assert!(everything.contains("app.Main"));
    for secret in ["SECRET", "hunter2", "not wanted"] {
        assert!(!everything.contains(secret), "{secret}");
    }
}

#[test]
fn joined_recordings_resolve_their_own_constants() {
    let joined = [chunk(true, "app/Main"), chunk(false, "other/Main")].concat();
    let (table, _) = read(&joined).unwrap();
    let names: Vec<String> = table
        .samples()
        .map(|sample| table.display_function(table.frame(table.leaf(sample.key.stack)).function))
        .collect();
    assert_eq!(names.iter().filter(|name| name.starts_with("app.Main.run")).count(), 3);
    assert_eq!(names.iter().filter(|name| name.starts_with("other.Main.run")).count(), 3);
    assert_eq!(table.observed.parts, 2);
}

#[test]
fn a_cut_last_chunk_is_left_out_with_a_warning_and_alone_is_an_error() {
    let whole = chunk(true, "app/Main");
    let mut joined = whole.clone();
    joined.extend(&whole[..whole.len() - 1]);
    let (table, warnings) = read(&joined).unwrap();
    assert_eq!((table.total_hits(), table.observed.parts_cut, warnings.len()), (4, 1, 1));
    let error = read(&whole[..whole.len() - 1]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Truncated { .. }), "{error}");
    assert!(error.hint().unwrap().to_string().contains("jcmd"));
}

#[test]
fn a_stream_reads_the_same_as_bytes() {
    let whole = [chunk(true, "app/Main"), chunk(false, "other/Main")].concat();
    let half = whole.len() / 2;
    for len in (0..=whole.len()).step_by(31).chain([68, half - 1, half, half + 1, whole.len()]) {
        let bytes = &whole[..len];
        let mut table = StackTable::new();
        let streamed = read_recording_from(bytes, &RecordingOptions::default(), &Limits::default(), &mut table);
        match (read(bytes), streamed) {
            (Ok((expected, warnings)), Ok(found)) => {
                assert_eq!((lines(&table), found), (lines(&expected), warnings));
                assert_eq!(table.observed, expected.observed);
            }
            (Err(expected), Err(found)) => assert_eq!(found.to_string(), expected.to_string()),
            (expected, found) => panic!("{len}: {expected:?} and {found:?}"),
        }
    }
    let tight = Limits { stream_bytes: 100, ..Limits::default() };
    let error = read_recording_from(whole.as_slice(), &RecordingOptions::default(), &tight, &mut StackTable::new())
        .unwrap_err();
    assert!(error.to_string().contains("size of the recording is 101, the limit is 100"), "{error}");
}

#[test]
fn other_formats_are_named_in_the_error() {
    for (bytes, text) in [
        (b"FLR".to_vec(), "chunk header needs 68 bytes, 3 left"),
        (b"FLX\0".to_vec(), "bad magic: found FLX\\x00"),
        ([b"FLR\0\0\x01\0\0".as_slice(), &[0; 80]].concat(), "version 1 is not supported"),
        ([chunk(true, "a/B"), b"rest".to_vec()].concat(), "found rest, expected FLR"),
    ] {
        let error = read(&bytes).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
    assert!(read(b"").is_err());
}

#[test]
fn a_chain_of_pools_that_goes_forwards_is_malformed() {
    let c = true;
    let first = pools(c, 5, &[]);
    let sample = sample(c, 1, 1);
    let metadata = metadata(c, CLASSES);
    let pools_at = 68 + sample.len();
    let metadata_at = pools_at + first.len();
    let mut bytes = header(c, metadata_at + metadata.len(), pools_at, metadata_at);
    for part in [sample, first, metadata] {
        bytes.extend(part);
    }
    let error = read(&bytes).unwrap_err().to_string();
    assert!(error.contains("expected a negative number"), "{error}");
}

/// A chunk of one sample event of these classes, and nothing else.
fn chunk_of(classes: &[ClassRow], body: &[u8]) -> Vec<u8> {
    let sample = event(true, 101, body);
    let metadata = metadata(true, classes);
    let metadata_at = 68 + sample.len();
    let mut bytes = header(true, metadata_at + metadata.len(), 0, metadata_at);
    bytes.extend(sample);
    bytes.extend(metadata);
    bytes
}

#[test]
fn classes_that_contain_themselves_are_refused() {
    let direct: &[ClassRow] = &[
        (101, "jdk.ExecutionSample", &[("a", 70, false, false)]),
        (70, "A", &[("b", 71, false, false)]),
        (71, "B", &[("a", 70, false, true)]),
    ];
    let error = read(&chunk_of(direct, &[0; 8])).unwrap_err().to_string();
    assert!(error.contains("nested more than 32 levels"), "{error}");
    let missing: &[ClassRow] = &[(101, "jdk.ExecutionSample", &[("a", 70, false, false)])];
    assert!(read(&chunk_of(missing, &[0; 8])).unwrap_err().to_string().contains("the metadata has no class for"));
    let twice: &[ClassRow] = &[(101, "jdk.ExecutionSample", &[]), (101, "B", &[])];
    assert!(read(&chunk_of(twice, &[])).unwrap_err().to_string().contains("two classes have the number 101"));
}

#[test]
fn a_list_of_values_without_bytes_costs_nothing() {
    let classes: &[ClassRow] =
        &[(101, "jdk.ExecutionSample", &[("a", 70, false, true)]), (70, "Empty", &[]), (51, "int", &[])];
    let (table, _) = read(&chunk_of(classes, &value(true, |w| w.int(-1)))).unwrap();
    assert_eq!(table.observed.samples_without_stack, 1);
}

/// Empty names are rejected, because documents with them would be invalid.
#[test]
fn a_method_without_a_name_is_unknown_and_reported() {
    let (table, warnings) = read(&chunk_with_method(true, "app/Main", "")).unwrap();
    assert!(lines(&table)[0].contains(" app.Main.[unknown](int,long[])@12:33:compiled "), "{:?}", lines(&table));
    let messages: Vec<&str> = warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(messages, ["methods without a name: 1; they are shown as [unknown]"]);
}

#[test]
fn stacks_deeper_than_the_limit_are_refused() {
    let limits = Limits { context_depth: 1, ..Limits::default() };
    let error = read_recording(&chunk(true, "app/Main"), &RecordingOptions::default(), &limits, &mut StackTable::new())
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::LimitExceeded { found: 2, limit: 1, .. }), "{error}");
}

proptest! {
    #[test]
    fn damaged_recordings_never_panic(
        compressed: bool,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        cuts: bool,
    ) {
        let mut bytes = chunk(compressed, "app/Main");
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if cuts {
            bytes.truncate(cut.index(bytes.len()));
        }
        let _ = read(&bytes);
    }
}
