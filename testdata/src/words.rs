//! Counts words: generic functions, closures, a trait object, a hash of its own.

use std::collections::BTreeMap;

trait Score {
    fn score(&self, word: &str) -> usize;
}

struct Length;
struct Vowels;

impl Score for Length {
    fn score(&self, word: &str) -> usize {
        word.len()
    }
}

impl Score for Vowels {
    fn score(&self, word: &str) -> usize {
        word.bytes().filter(|byte| matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u')).count()
    }
}

#[inline(never)]
fn total(scores: &[Box<dyn Score>], word: &str) -> usize {
    scores.iter().map(|score| score.score(word)).sum()
}

#[inline(never)]
fn repeat<T: Clone>(value: &T, times: usize) -> Vec<T> {
    let mut all = Vec::new();
    for _ in 0..times {
        all.push(value.clone());
    }
    all
}

fn never() -> &'static str {
    "not reached"
}

fn main() {
    let rounds: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(3);
    let text = "the quick brown fox jumps over the lazy dog again and again";
    let scores: Vec<Box<dyn Score>> = vec![Box::new(Length), Box::new(Vowels)];
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for round in 0..rounds {
        for word in text.split(' ') {
            *counts.entry(word).or_default() += total(&scores, word);
        }
        let copies = repeat(&round, round % 4);
        if copies.len() > 100 {
            println!("{}", never());
        }
    }
    println!("{}", counts.values().sum::<usize>());
}
