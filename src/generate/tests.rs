//! The bytes of generated files, which later versions must not change.

use super::*;
use crate::bytes::{Endian, PointerWidth};
use crate::iprof::Version;

fn kinds(format: Format, names: &str) -> Option<Vec<Kind>> {
    Some(names.split(',').map(|name| Kind::parse(name, format).unwrap()).collect())
}

/// A request of 20 functions; `change` adds what is not usual.
fn request(format: Format, change: impl FnOnce(&mut Request)) -> Request {
    let mut request = Request::new(format);
    request.functions = 20;
    request.seed = 7;
    change(&mut request);
    request
}

fn requests() -> Vec<Request> {
    use Format::*;
    vec![
        request(Raw, |_| {}),
        request(Raw, |raw| raw.version = Some(1)),
        request(Raw, |raw| raw.version = Some(5)),
        request(Raw, |raw| {
            raw.toolchain = Some("llvm-16".into());
            raw.architecture = Some((PointerWidth::Bits32, Endian::Big));
        }),
        request(Raw, |raw| {
            raw.toolchain = Some("llvm-23".into());
            raw.kinds = kinds(Raw, "values,bitmaps,temporal,uniformity,binary-ids");
        }),
        request(Indexed, |_| {}),
        request(Indexed, |indexed| indexed.version = Some(1)),
        request(Indexed, |indexed| {
            indexed.toolchain = Some("llvm-23".into());
            indexed.kinds = kinds(Indexed, "values,bitmaps,temporal,uniformity,binary-ids");
        }),
        request(Text, |text| text.kinds = kinds(Text, "values,vtables,bitmaps,temporal")),
        request(SampleText, |_| {}),
        request(SampleBinary, |_| {}),
        request(SampleExtBinary, |sample| sample.kinds = kinds(SampleExtBinary, "contexts,probes,targets")),
        request(SampleCompact, |sample| sample.toolchain = Some("llvm-14".into())),
        request(MemoryYaml, |memory| memory.kinds = kinds(MemoryYaml, "callees,data")),
        request(MemoryIndexed, |_| {}),
        request(Iprof, |_| {}),
        request(Iprof, |iprof| {
            iprof.iprof_version = Some(Version::V1_1);
            iprof.kinds = kinds(Iprof, "calls,monitors,instanceof");
        }),
        request(Collapsed, |stacks| stacks.kinds = kinds(Collapsed, "threads,positions")),
        request(Pprof, |_| {}),
    ]
}

#[test]
fn a_request_gives_the_recorded_bytes() {
    let digest = |request: &Request| {
        let file = Generator::new(request).unwrap().file(2).unwrap();
        format!("{} {:x}", request.format.name(), md5::compute(&file.bytes))
    };
    let found: Vec<String> = requests().iter().map(digest).collect();
    assert_eq!(found.join("\n"), include_str!("golden.txt").trim_end());
}

#[test]
fn damage_follows_its_seed() {
    let file = Generator::new(&request(Format::Raw, |_| {})).unwrap().file(1).unwrap();
    let damaged = |seed: u64| {
        let mut file = file.clone();
        let report = file.damage(Damage::Flip, seed).unwrap();
        (report, file.bytes)
    };
    assert_eq!(damaged(1), damaged(1));
    assert_ne!(damaged(1), damaged(2));
}

#[test]
fn a_function_does_not_depend_on_the_number_of_functions() {
    let text = |functions: u32| {
        let request = request(Format::Text, |text| {
            text.functions = functions;
            text.kinds = Some(vec![Kind::Bitmaps]);
        });
        Generator::new(&request).unwrap().file(1).unwrap().bytes
    };
    let all = |functions: u32| -> Vec<String> {
        String::from_utf8(text(functions)).unwrap().split("\n\n").skip(1).map(str::to_string).collect()
    };
    let (few, many) = (all(10), all(20));
    assert!(few.iter().filter(|record| record.contains("Func Hash")).all(|record| many.contains(record)));
}
