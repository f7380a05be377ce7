use std::collections::HashMap;
trait Op { fn run(&self, x: u64) -> u64; }
struct Add(u64); struct Mul(u64);
impl Op for Add { fn run(&self, x: u64) -> u64 { x.wrapping_add(self.0) } }
impl Op for Mul { fn run(&self, x: u64) -> u64 { x.wrapping_mul(self.0) ^ 7 } }
#[inline(never)] fn words(text: &str) -> HashMap<&str, usize> { let mut m = HashMap::new(); for w in text.split(' ') { *m.entry(w).or_default() += 1; } m }
fn main() {
    let ops: Vec<Box<dyn Op>> = (0..10).map(|i| if i % 3 == 0 { Box::new(Mul(i)) as Box<dyn Op> } else { Box::new(Add(i)) }).collect();
    let mut x = 1u64;
    for _ in 0..200 { for op in &ops { x = op.run(x); } }
    let text: String = (0..300).map(|i| format!("w{} ", i * i % 37)).collect();
    let m = words(&text);
    let mut v: Vec<_> = m.into_iter().collect();
    v.sort();
    println!("{} {:?}", x, &v[..3]);
}
