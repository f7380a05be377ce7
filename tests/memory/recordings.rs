//! Flight Recorder recordings of any size.

use profbridge::bytes::{Endian, Sink};

/// Ids of the classes below.
const LONG: u64 = 1;
const INT: u64 = 2;
const STRING: u64 = 3;
const SYMBOL: u64 = 4;
const METHOD: u64 = 5;
const FRAME: u64 = 6;
const STACK: u64 = 7;
const THREAD: u64 = 8;
const SAMPLE: u64 = 9;

/// A field: its name and class, whether its values are in a pool, and whether they are lists.
type Field = (&'static str, u64, bool, bool);

const CLASSES: [(u64, &str, &[Field]); 9] = [
    (LONG, "long", &[]),
    (INT, "int", &[]),
    (STRING, "java.lang.String", &[]),
    (SYMBOL, "jdk.types.Symbol", &[("string", STRING, false, false)]),
    (METHOD, "jdk.types.Method", &[("name", SYMBOL, true, false)]),
    (FRAME, "jdk.types.StackFrame", &[("method", METHOD, true, false), ("lineNumber", INT, false, false)]),
    (STACK, "jdk.types.StackTrace", &[("frames", FRAME, false, true)]),
    (THREAD, "java.lang.Thread", &[("javaName", STRING, false, false)]),
    (SAMPLE, "jdk.ExecutionSample", &[("sampledThread", THREAD, true, false), ("stackTrace", STACK, true, false)]),
];

fn sink() -> Sink {
    Sink::new(Endian::Big)
}

/// Returns the bytes that `write` writes.
fn written(write: impl FnOnce(&mut Sink)) -> Vec<u8> {
    let mut sink = sink();
    write(&mut sink);
    sink.into_bytes()
}

fn text(sink: &mut Sink, text: &str) {
    sink.u8(3);
    sink.u32(text.len() as u32);
    sink.bytes(text.as_bytes());
}

fn event(kind: u64, body: &[u8]) -> Vec<u8> {
    written(|sink| {
        sink.u32(12 + body.len() as u32);
        sink.u64(kind);
        sink.bytes(body);
    })
}

/// Returns the event that defines the classes.
fn metadata() -> Vec<u8> {
    let mut texts: Vec<String> = Vec::new();
    let mut number = |text: &str| {
        let known = texts.iter().position(|known| known == text);
        known.unwrap_or_else(|| {
            texts.push(text.to_string());
            texts.len() - 1
        }) as u32
    };
    let mut elements = sink();
    let mut element = |name: &str, attributes: &[(&str, &str)], children: usize| {
        elements.u32(number(name));
        elements.u32(attributes.len() as u32);
        attributes.iter().flat_map(|(key, value)| [*key, *value]).for_each(|text| elements.u32(number(text)));
        elements.u32(children as u32);
    };
    element("root", &[], 1);
    element("metadata", &[], CLASSES.len());
    for (id, name, fields) in CLASSES {
        element("class", &[("id", &id.to_string()), ("name", name)], fields.len());
        for (name, class, is_pooled, is_list) in fields {
            let class = class.to_string();
            let mut attributes = vec![("name", *name), ("class", class.as_str())];
            attributes.extend(is_pooled.then_some(("constantPool", "true")));
            attributes.extend(is_list.then_some(("dimension", "1")));
            element("field", &attributes, 0);
        }
    }
    let body = written(|sink| {
        sink.u64s(&[0, 0, 0]);
        sink.u32(texts.len() as u32);
        texts.iter().for_each(|name| text(sink, name));
        sink.bytes(elements.as_slice());
    });
    event(0, &body)
}

/// Writes the constants of a class, one per number.
fn pool(sink: &mut Sink, class: u64, count: usize, constant: impl Fn(&mut Sink, usize)) {
    sink.u64(class);
    sink.u32(count as u32);
    for number in 0..count {
        sink.u64(number as u64 + 1);
        constant(sink, number);
    }
}

fn constants(stacks: usize) -> Vec<u8> {
    let body = written(|sink| {
        sink.u64s(&[0, 0, 0]);
        sink.u8(0);
        sink.u32(4);
        pool(sink, SYMBOL, stacks, |sink, number| text(sink, &format!("function{number}")));
        pool(sink, METHOD, stacks, |sink, number| sink.u64(number as u64 + 1));
        pool(sink, THREAD, stacks, |sink, number| text(sink, &format!("thread{number}")));
        pool(sink, STACK, stacks, |sink, number| {
            sink.u32(2);
            for method in [number, number / 7] {
                sink.u64(method as u64 + 1);
                sink.u32(number as u32 % 900);
            }
        });
    });
    event(1, &body)
}

/// Returns a recording with this number of stacks. Each has its own functions and thread, and occurs once.
pub fn recording(stacks: usize) -> Vec<u8> {
    const HEADER: u64 = 68;
    let samples: Vec<u8> =
        (1..=stacks as u64).flat_map(|number| event(SAMPLE, &written(|sink| sink.u64s(&[number, number])))).collect();
    let (constants, metadata) = (constants(stacks), metadata());
    let pools_at = HEADER + samples.len() as u64;
    let metadata_at = pools_at + constants.len() as u64;
    written(|sink| {
        sink.bytes(b"FLR\0");
        [2, 1].into_iter().for_each(|half| sink.u16(half));
        let ticks_per_second = 1_000_000_000;
        sink.u64s(&[metadata_at + metadata.len() as u64, pools_at, metadata_at, 0, 0, 0, ticks_per_second]);
        // Integers have the width of their types.
        sink.u32(0);
        [samples, constants, metadata].iter().for_each(|part| sink.bytes(part));
    })
}
