//! The bytes of generated files, which later versions must not change.

use super::*;
use crate::bytes::{Endian, PointerWidth};
use crate::iprof::Version;

fn kinds(format: Format, names: &str) -> Option<Vec<Kind>> {
    Some(names.split(',').map(|name| Kind::parse(name, format).unwrap()).collect())
}

/// Returns a request of 20 functions, changed by `change`.
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
            raw.kinds = kinds(Raw, "values,bitmaps,uniformity,binary-ids");
        }),
        request(Raw, |raw| raw.kinds = kinds(Raw, "values,vtables,temporal")),
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
        request(Text, |text| (text.counters, text.distinct_counts) = (Some(30), Some(2000))),
        request(SampleText, |sample| sample.counters = Some(20)),
        request(Collapsed, |stacks| stacks.depth = Some(60)),
    ]
}

/// Format and MD5 of the second file of each request.
const GOLDEN: [&str; 23] = [
    "raw 0b609033205412a236976966f9ee02eb",
    "raw 7f47867b94292ca90da15efd98eae9e2",
    "raw b3c4bcdc6c7c6447c4e8cd2945068ae4",
    "raw e69f92f3ace2307c4a37fadd27ca0f92",
    "raw cb8a8a22381a1327da39f7ec9648d480",
    "raw 5fd4b1ee26d9a069d5ae8fee9c78f9bc",
    "indexed 0987c33f84bc13be91bc0bf347ecce11",
    "indexed e0dd5dbc4b10a5fe64742e086fbb42bc",
    "indexed 5130c42ff50f6974cbc26bcc5f4c8cb8",
    "text 9f8da9dfe53f524ff0880f03b45ff420",
    "sample-text 03735fc4a908cb7487d29a97e84b4c17",
    "sample-binary 7c04af2615579bd592110231449b163d",
    "sample-extbinary 1a5479116fc4c3faf8c3523ed14edc20",
    "sample-compact b6e8e264b383e32d832d9a0848c42ff5",
    "memory-yaml 298ca9b897be5154c061f16dbbd21c1d",
    "memory-indexed 27b1998b2c05f40d29d346877059c9f6",
    "iprof 42131ad550fbd56ca20375ed257ba240",
    "iprof 23458e1df0d8d64ca6c7206b867c882b",
    "collapsed fb3b36a63a2eb39e28d57686b658ca18",
    "pprof 40116bad6fe17d9685b420b6b621ad0d",
    "text af076b8fbca57d9b2972c09815006126",
    "sample-text 6ff96b49d6a26ab4d79b8ccf7eef4b39",
    "collapsed 5de63b76562a17d822e86ba0e39086ae",
];

#[test]
fn a_request_gives_the_recorded_bytes() {
    let digest = |request: &Request| {
        let file = Generator::new(request).unwrap().file(2).unwrap();
        format!("{} {:x}", request.format.name(), md5::compute(&file.bytes))
    };
    let found: Vec<String> = requests().iter().map(digest).collect();
    assert_eq!(found, GOLDEN);
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

#[test]
fn sizes_are_those_of_the_request() {
    let text = |format: Format, change: &dyn Fn(&mut Request)| {
        String::from_utf8(Generator::new(&request(format, change)).unwrap().file(1).unwrap().bytes).unwrap()
    };
    let counters = |text: &mut Request| {
        (text.counters, text.distinct_counts) = (Some(30), Some(7));
        text.kinds = Some(Vec::new());
    };
    let profile = text(Format::Text, &counters);
    let records: Vec<Vec<&str>> =
        profile.split("# Func Hash:\n").skip(1).map(|record| record.lines().collect()).collect();
    assert_eq!(records.len(), 20);
    let counts = records.iter().flat_map(|record| {
        assert_eq!(record[2], "30");
        record[4..34].iter().map(|count| count.parse::<u64>().unwrap())
    });
    assert_eq!(counts.collect::<std::collections::BTreeSet<u64>>(), (0..7).collect());

    let profile = text(Format::SampleText, &|sample| sample.counters = Some(20));
    let functions = profile.split("\n").filter(|line| !line.is_empty() && !line.starts_with(' ')).count();
    let locations = profile.lines().filter(|line| line.starts_with(' ') && !line.starts_with("  ")).count();
    assert_eq!((functions, locations), (20, 20 * 20));

    let stacks = text(Format::Collapsed, &|stacks| stacks.depth = Some(60));
    assert!(stacks.lines().all(|line| (30..=60).contains(&line.split(';').count())), "{stacks}");
}
