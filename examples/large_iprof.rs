//! Writes a large iprof for measurements. Its types, methods and contexts (up to 60 frames deep) have the proportions
//! of files of large applications.
//!
//! ```text
//! cargo run --release --example large_iprof -- 222 large.iprof
//! ```
//!
//! The first argument is the approximate size in megabytes. The same arguments give the same bytes.

use profbridge::iprof::{
    BranchRow, CountEntry, Document, Frame, MethodHandle, TypeCount, TypeHandle, WriteOptions, Writer,
};
use std::fs::File;
use std::io::BufWriter;

/// SplitMix64, which is equal on all platforms.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// Returns mostly small, sometimes very large counts.
    fn count(&mut self) -> u64 {
        let bits = self.below(36) as u32;
        self.next() >> (64 - bits.max(1))
    }
}

/// A call graph: each method calls a few others, at fixed positions.
fn stack(random: &mut Random, methods: &[MethodHandle], depth: usize) -> Vec<Frame> {
    let mut at = random.below(50);
    let mut frames = Vec::with_capacity(depth);
    for _ in 0..depth {
        let way = random.below(4);
        frames.push(Frame { method: methods[at], bci: (way * 7 + at % 200) as i32 });
        at = (at.wrapping_mul(31) + way * 7919 + 1) % methods.len();
    }
    frames.reverse();
    frames
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [size, path] = &arguments[..] else {
        eprintln!("usage: large_iprof MEGABYTES FILE");
        std::process::exit(2);
    };
    let megabytes: usize = size.parse().expect("the size is a number");
    let random = &mut Random(2026);
    let mut document = Document::new();
    // At 222 MB: 62,500 types and 278,000 methods.
    let types: Vec<TypeHandle> = (0..megabytes * 282)
        .map(|n| document.add_type(format!("com.example.app{}.part{}.Class{n}$Inner", n % 37, n % 501).as_bytes()))
        .collect();
    let methods: Vec<MethodHandle> = (0..megabytes * 1252)
        .map(|n| {
            let mut signature = vec![types[random.below(types.len())], types[random.below(types.len())]];
            signature.extend((0..n % 4).map(|_| types[random.below(types.len())]));
            document.add_method(format!("method{}", n % 9001).as_bytes(), &signature)
        })
        .collect();
    for _ in 0..megabytes * 2300 {
        let depth = 1 + random.below(6);
        let mut frames = stack(random, &methods, depth);
        let site = document.add_context(&frames);
        if random.below(2) == 0 {
            let ways: Vec<BranchRow> = (0..2 + u32::from(random.below(100) == 0) * 6)
                .map(|index| BranchRow { index, bci: 10 + 7 * index as i32, count: random.count() })
                .collect();
            document.sections.conditionals.push(site, &ways);
        } else if random.below(10) == 0 {
            let seen: Vec<TypeCount> = (0..1 + random.below(8))
                .map(|_| TypeCount { class: types[random.below(types.len())], count: random.count() })
                .collect();
            document.sections.virtual_invokes.push(site, &seen);
        }
        frames[0].bci = 0;
        let context = document.add_context(&frames);
        document.sections.call_counts.push(CountEntry { context, count: random.count() });
    }
    for _ in 0..megabytes * 1800 {
        let depth = 10 + random.below(51);
        let context = document.add_context(&stack(random, &methods, depth));
        document.sections.samples.push(CountEntry { context, count: 1 + random.count() % 50 });
    }
    Writer::new(&WriteOptions::default()).write(&document, &mut BufWriter::new(File::create(path)?))
}
