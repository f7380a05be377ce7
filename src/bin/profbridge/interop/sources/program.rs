//! Functions of some branches each, so that their hashes differ.

trait Step {
    fn step(&self, value: u32) -> u32;
}

struct Half;
struct Triple;

impl Step for Half {
    #[inline(never)]
    fn step(&self, value: u32) -> u32 {
        value / 2
    }
}

impl Step for Triple {
    #[inline(never)]
    fn step(&self, value: u32) -> u32 {
        if value > 1000 { value } else { 3 * value + 1 }
    }
}

mod inner {
    #[inline(never)]
    pub fn is_even(value: u32) -> bool {
        value % 2 == 0
    }

    #[inline(never)]
    pub fn larger<T: PartialOrd>(one: T, other: T) -> T {
        if one > other { one } else { other }
    }
}

#[inline(never)]
fn pick(value: u32) -> Box<dyn Step> {
    if inner::is_even(value) { Box::new(Half) } else { Box::new(Triple) }
}

#[inline(never)]
fn count(mut value: u32) -> u32 {
    let mut steps = 0;
    while value > 1 && steps < 100 {
        value = pick(value).step(value);
        steps += 1;
    }
    steps
}

#[inline(never)]
fn kind(value: u32) -> &'static str {
    match value % 4 {
        0 => "none",
        1 => "one",
        2 | 3 if value > 7 => "many",
        _ => "some",
    }
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(10);
    let longest = (1..rounds).map(count).fold(0, inner::larger);
    let many = (1..rounds).filter(|value| kind(*value) == "many").count();
    println!("{longest} {many} {}", inner::larger(1.5, f64::from(longest)));
}
