//! Runs both tools on random profiles, traces and patterns.

use super::both::{Folder, genuine};
use profbridge::generate::Random;
use std::fmt::Write;

/// Random choices that are equal in every run.
struct Chance(Random);

impl Chance {
    fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }

    fn next(&mut self) -> u64 {
        self.0.next_number()
    }

    fn below(&mut self, end: usize) -> usize {
        self.0.below(end as u64) as usize
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }

    fn count(&mut self) -> u64 {
        match self.below(10) {
            0..3 => 0,
            3..8 => self.next() % 100,
            8 => self.next() % 1_000_000_000_000,
            _ => self.pick(&[1 << 63, u64::MAX - 2, u64::MAX, u64::MAX - 1, 1 << 56]),
        }
    }
}

/// Returns traces of `functions` names, most of them runs of the same program.
fn traces(chance: &mut Chance, functions: usize, traces: usize) -> String {
    let name = |at: usize| if at.is_multiple_of(5) { format!("d{}.c;f{at}", at % 7) } else { format!("f{at}") };
    let mut usual: Vec<usize> = (0..functions).collect();
    chance.shuffle(&mut usual);
    let mut text = format!(":ir\n:temporal_prof_traces\n{traces}\n{traces}\n");
    for _ in 0..traces {
        let mut trace = usual.clone();
        for _ in 0..=functions / 4 {
            let (from, to) = (chance.below(functions), chance.below(functions));
            trace.swap(from, to);
        }
        trace.truncate(1 + chance.below(functions));
        let names: Vec<String> = trace.into_iter().map(name).collect();
        let _ = writeln!(text, "1\n{}", names.join(","));
    }
    for at in 0..functions {
        let _ = write!(text, "{}\n1\n1\n1\n\n", name(at));
    }
    text
}

#[test]
fn orders_are_alike() {
    let Some(tool) = genuine("orders_are_alike") else { return };
    let folder = Folder::new();
    for (seed, functions) in [2, 3, 5, 9, 17, 40, 100, 333, 1000].into_iter().enumerate() {
        for count in [1, 3, 8, 25] {
            let mut chance = Chance::new((seed * 100 + count) as u64);
            folder.write("t.proftext", traces(&mut chance, functions, count).as_bytes());
            folder.assert_alike(&tool, &["order", "t.proftext"], b"");
            folder.assert_alike(&tool, &["order", "--num-test-traces=2", "t.proftext"], b"");
        }
    }
}

const NAMES: [&str; 7] = ["main", "helper", "a.c;cold", "x", "yy", "_ZN3fooEv", "z z"];

fn profile(chance: &mut Chance) -> String {
    let mut text = chance.pick(&[":ir\n", ":csir\n", ""]).to_string();
    for _ in 0..1 + chance.below(9) {
        let counters = 1 + chance.below(3);
        let _ = writeln!(text, "{}\n{}\n{counters}", chance.pick(&NAMES), chance.pick(&[1, 2, 5, (1u64 << 60) + 3]));
        for _ in 0..counters {
            let _ = writeln!(text, "{}", chance.count());
        }
        let mut kinds = vec![0, 1, 2];
        chance.shuffle(&mut kinds);
        kinds.truncate(chance.below(4));
        if !kinds.is_empty() {
            let _ = writeln!(text, "{}", kinds.len());
        }
        for kind in kinds {
            let sites = chance.below(3);
            let _ = writeln!(text, "{kind}\n{sites}");
            for _ in 0..sites {
                let mut values = vec![0, 1, 2, 3, 4];
                chance.shuffle(&mut values);
                values.truncate(chance.below(4));
                let _ = writeln!(text, "{}", values.len());
                for value in values {
                    let count = chance.count();
                    let _ = match (kind, value) {
                        (1, _) => writeln!(text, "{}:{count}", value * 8),
                        (_, 4) => writeln!(text, "** External Symbol **:{count}"),
                        _ => writeln!(text, "{}:{count}", NAMES[value]),
                    };
                }
            }
        }
        text.push('\n');
    }
    text
}

#[test]
fn views_and_merges_are_alike() {
    let Some(tool) = genuine("views_and_merges_are_alike") else { return };
    let folder = Folder::new();
    let details = ["--counts", "--ic-targets", "--memop-sizes", "--show-vtables", "--showcs", "--text", "--covered"];
    for seed in 0..40 {
        let mut chance = Chance::new(seed);
        folder.write("1.proftext", profile(&mut chance).as_bytes());
        folder.write("2.proftext", profile(&mut chance).as_bytes());
        let cutoff = format!("--value-cutoff={}", chance.pick(&[0, 1, 50, 1000]));
        let mut show = vec!["show", &cutoff, "--all-functions", "--detailed-summary", "--topn=3", "--hot-func-list"];
        show.extend(details.iter().filter(|_| chance.below(3) == 0));
        show.push("1.proftext");
        folder.assert_alike(&tool, &show, b"");
        let context = chance.pick(&["--cs", "--cs=false"]);
        folder.assert_alike(&tool, &["overlap", context, &cutoff, "1.proftext", "2.proftext"], b"");
        let filter = chance.pick(&["--function=", "--function=a", "--no-function=^m", "--sparse"]);
        let format = chance.pick(&["--text", "--binary"]);
        folder.assert_alike(
            &tool,
            &["merge", "-j=1", "1.proftext", "--weighted-input=3,2.proftext", filter, format, "-o", "out"],
            b"",
        );
    }
}

#[test]
fn patterns_match_alike() {
    let Some(tool) = genuine("patterns_match_alike") else { return };
    let folder = Folder::new();
    let names = ["main", "fo+o", "a.c;cold", "aab", "-x", "[z]", "A1_", "foo::bar<T>", "?f@@YAHH@Z", "a{2}b", "x y"];
    let text: String = names.iter().map(|name| format!("{name}\n1\n1\n1\n\n")).collect();
    folder.write("names.proftext", format!(":ir\n{text}").as_bytes());
    let parts = [
        "a",
        "b",
        "m",
        ".",
        "*",
        "+",
        "?",
        "|",
        "(",
        ")",
        "[",
        "]",
        "^",
        "$",
        "{",
        "}",
        "2",
        ",",
        "-",
        "\\",
        "[a-c]",
        "[^a]",
        "[[:alpha:]]",
        "{1,2}",
        ".*",
        "(a)",
        "::",
        "[]a]",
        "[[:<:]]",
        "[[.-.]]",
        "[[=a=]]",
    ];
    for seed in 0..150 {
        let mut chance = Chance::new(1000 + seed);
        let pattern: String = (0..=chance.below(6)).map(|_| chance.pick(&parts)).collect();
        folder.assert_alike(&tool, &["merge", "--text", &format!("--function={pattern}"), "names.proftext"], b"");
    }
}
