// Generic functions, closures and trait objects, many of which are inlined.
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Add;
trait Shape {
    fn area(&self, k: f64) -> f64;
}
struct Square(f64);
struct Disc(f64);
impl Shape for Square {
    fn area(&self, k: f64) -> f64 {
        self.0 * self.0 * k
    }
}
impl Shape for Disc {
    fn area(&self, k: f64) -> f64 {
        (1..6).map(|i| self.0 * self.0 / i as f64).sum::<f64>() * k
    }
}
struct Ring<T, const N: usize> {
    data: [T; N],
    at: usize,
}
impl<T: Copy + Default + Add<Output = T> + Debug, const N: usize> Ring<T, N> {
    fn new() -> Self {
        Self { data: [T::default(); N], at: 0 }
    }
    #[inline(never)]
    fn push(&mut self, v: T) {
        self.data[self.at % N] = v;
        self.at += 1;
    }
    fn fold<F: Fn(T, T) -> T>(&self, f: F) -> T {
        self.data.iter().fold(T::default(), |a, b| f(a, *b))
    }
}
fn quick<T: Copy, F: Fn(&T, &T) -> bool + Copy>(v: &mut [T], less: F) {
    if v.len() < 2 {
        return;
    }
    let pivot = v[v.len() / 2];
    let (mut lo, mut at, mut hi) = (0, 0, v.len());
    while at < hi {
        if less(&v[at], &pivot) {
            v.swap(lo, at);
            lo += 1;
            at += 1;
        } else if less(&pivot, &v[at]) {
            hi -= 1;
            v.swap(at, hi);
        } else {
            at += 1;
        }
    }
    quick(&mut v[..lo], less);
    quick(&mut v[hi..], less);
}
fn rnd(seed: &mut u32) -> u32 {
    *seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
    *seed >> 12
}
fn collatz(mut n: u32) -> u32 {
    let mut k = 0;
    while n > 1 && k < 60 {
        n = if n & 1 == 1 { 3 * n + 1 } else { n / 2 };
        k += 1;
    }
    k
}
#[inline(never)]
fn digits(mut n: u32, f: &dyn Fn(u32) -> u32) -> u32 {
    let mut s = 0u32;
    while n > 0 {
        s = s.wrapping_add(f(n % 10));
        n /= 10;
    }
    s
}
fn main() {
    let mut seed = 3;
    let (mut ring, mut real, mut seen, mut total) =
        (Ring::<u32, 16>::new(), Ring::<f64, 8>::new(), BTreeMap::new(), 0f64);
    let shapes: Vec<Box<dyn Shape>> = (0..20)
        .map(|i| {
            if rnd(&mut seed) % 3 > 0 {
                Box::new(Square(i as f64)) as Box<dyn Shape>
            } else {
                Box::new(Disc(i as f64))
            }
        })
        .collect();
    for round in 0..12u32 {
        let mut v: Vec<u32> = (0..60).map(|_| rnd(&mut seed) % 1000).collect();
        quick(&mut v, |a, b| a < b);
        let mut w = v.clone();
        quick(&mut w, |a, b| (a ^ round) > (b ^ round));
        for x in &v {
            ring.push(*x);
            *seen.entry(x % 31).or_insert(0u32) += 1;
        }
        for s in &shapes {
            let a = s.area(round as f64);
            real.push(a);
            total += a;
        }
        total +=
            ring.fold(|a, b| a.wrapping_mul(31).wrapping_add(b)) as f64 + real.fold(|a, b| if a > b { a } else { b });
        for x in &w {
            total += digits(*x, &|d| if d % 2 == 1 { d * round } else { collatz(d + x) }) as f64;
        }
        total += seen.values().sum::<u32>() as f64;
    }
    println!("{total}");
}
