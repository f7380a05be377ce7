//! Random text profiles whose functions collide: names, hashes and numbers of counters that partly agree. They depend
//! only on the seed. `profbridge::generate` makes sound profiles only.

use crate::oracle::BUILT_WITH_LIBCXX;
use profbridge::generate::Random;
use std::collections::HashSet;
use std::fmt::Write;

/// The features that a release supports.
#[derive(Clone, Copy)]
pub struct Knows {
    pub bitmaps: bool,
    pub vtables: bool,
    pub traces: bool,
    pub loop_entries: bool,
    /// Whether streams of traces are longer than reservoirs, so that traces are sampled.
    pub sampled_traces: bool,
    /// Whether a site has more equal values than small sorts handle.
    pub equal_values: bool,
}

impl Knows {
    pub fn of(release: u32) -> Self {
        Self {
            bitmaps: release >= 18,
            vtables: release >= 19,
            traces: release >= 17,
            loop_entries: release >= 20,
            sampled_traces: !BUILT_WITH_LIBCXX.contains(&release),
            // Release 18 and earlier sort them with a stable sort in every library.
            equal_values: release < 19 || !BUILT_WITH_LIBCXX.contains(&release),
        }
    }
}

/// Returns a profile for `seed`. Profiles with the same `family` share names and hashes.
pub fn profile(seed: u64, family: u64, knows: Knows) -> String {
    let mut shape = Random::new(family);
    let names_count = [1, 2, 3, 10, 23, 24, 47, 48, 60, 97, 200][shape.below(11) as usize];
    let many_hashes = shape.chance(20);
    let wild_values = shape.chance(40);
    let wild_counts = shape.chance(30);
    let mismatches = shape.chance(30);
    let context_sensitive = shape.chance(30);
    let mut random = Random::new(seed);
    // The first bytes distinguish text from other formats and must be ASCII.
    let mut out = String::from("# random profile\n");
    if context_sensitive {
        out.push_str(if random.chance(50) { ":csir\n" } else { ":ir\n" });
    } else if shape.chance(60) {
        out.push_str(":ir\n");
    }
    if random.chance(20) {
        out.push_str(":entry_first\n");
    }
    if knows.loop_entries && random.chance(20) {
        out.push_str(":instrument_loop_entries\n");
    }
    if knows.traces && shape.chance(40) {
        traces(&mut out, &mut random, names_count, knows);
    }
    for index in 0..names_count {
        if random.chance(25) {
            continue;
        }
        let mut about = Random::new(family ^ (index * 7919 + 1));
        let hashes = if many_hashes && about.chance(10) { 1 + about.below(70) } else { 1 + about.below(3) };
        for number in 0..hashes {
            if random.chance(20) {
                continue;
            }
            let mut hash = about.next_number() >> 4;
            if context_sensitive && number % 2 == 1 {
                hash |= 1 << 60;
            }
            let style = Style { wild_values, wild_counts, mismatches, knows, names_count };
            record(&mut out, &mut random, &mut Random::new(hash), index, hash, style);
        }
    }
    out
}

#[derive(Clone, Copy)]
struct Style {
    wild_values: bool,
    wild_counts: bool,
    mismatches: bool,
    knows: Knows,
    names_count: u64,
}

pub fn name(index: u64) -> String {
    match index % 5 {
        0 => format!("_ZN4core{index}E"),
        1 => format!("file{}.c;static {index}", index % 3),
        2 => format!("f{index}"),
        3 => format!("naïve::{index}<T: \u{1}>"),
        _ => format!("x{}", "y".repeat(index as usize % 60)) + &index.to_string(),
    }
}

fn count(random: &mut Random, wild: bool) -> u64 {
    match random.below(10) {
        0 => 0,
        1 if wild => u64::MAX - random.below(4),
        2 if wild => u64::MAX / 2 + random.below(10),
        3 => random.next_number() >> random.below(64),
        _ => random.below(1000),
    }
}

fn record(out: &mut String, random: &mut Random, about: &mut Random, index: u64, hash: u64, style: Style) {
    let mut counters = 1 + about.below(6);
    if style.mismatches && random.chance(10) {
        counters += 1;
    }
    writeln!(out, "{}\n# Func Hash:\n{hash}\n{counters}", name(index)).unwrap();
    let zero = random.chance(20);
    for _ in 0..counters {
        writeln!(out, "{}", if zero { 0 } else { count(random, style.wild_counts) }).unwrap();
    }
    if style.knows.bitmaps && about.chance(30) {
        let size = 1 + about.below(9) + u64::from(style.mismatches && random.chance(20));
        writeln!(out, "${size}").unwrap();
        for _ in 0..size {
            writeln!(out, "{:#x}", random.below(256)).unwrap();
        }
    }
    let kinds: Vec<u64> = (0..if style.knows.vtables { 3 } else { 2 }).filter(|_| about.chance(30)).collect();
    if kinds.is_empty() {
        return;
    }
    writeln!(out, "{}", kinds.len()).unwrap();
    for kind in kinds {
        let sites = about.below(5) + u64::from(style.mismatches && random.chance(10));
        writeln!(out, "{kind}\n{sites}").unwrap();
        for _ in 0..sites {
            let values = if style.wild_values && random.chance(30) { random.below(300) } else { random.below(6) };
            let mut lines: Vec<String> = Vec::new();
            let mut seen: HashSet<String> = HashSet::new();
            for number in 0..values {
                let value = if kind == 1 {
                    // A site must not have a size twice, because LLVM rejects this as damaged.
                    (number * 37 + random.below(37)).to_string()
                } else if random.chance(20) {
                    "** External Symbol **".to_string()
                } else if kind == 2 {
                    format!("_ZTV{}", random.below(400))
                } else {
                    name(random.below(style.names_count * 2 + values))
                };
                let taken = if random.chance(50) { random.below(8) } else { count(random, style.wild_counts) };
                let is_new = seen.insert(value.clone());
                if is_new || style.knows.equal_values {
                    lines.push(format!("{value}:{taken}\n"));
                }
            }
            writeln!(out, "{}", lines.len()).unwrap();
            out.extend(lines);
        }
    }
}

fn traces(out: &mut String, random: &mut Random, names_count: u64, knows: Knows) {
    let count = random.below(12);
    let unseen = if random.chance(30) { random.below(200) } else { 0 };
    let stream = count + if knows.sampled_traces { unseen } else { 0 };
    writeln!(out, ":temporal_prof_traces\n{count}\n{stream}").unwrap();
    for _ in 0..count {
        writeln!(out, "{}", 1 + random.below(5)).unwrap();
        let names: Vec<String> = (0..1 + random.below(8)).map(|_| name(random.below(names_count))).collect();
        writeln!(out, "{},", names.join(",").replace(' ', "_")).unwrap();
    }
}
