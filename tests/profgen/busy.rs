trait Op { fn run(&self, x: u64) -> u64; }
struct Add(u64); struct Mul(u64);
impl Op for Add { fn run(&self, x: u64) -> u64 { x.wrapping_add(self.0) } }
impl Op for Mul { fn run(&self, x: u64) -> u64 { x.wrapping_mul(self.0) ^ 7 } }
#[inline(never)] fn digits(mut x: u64) -> u64 { let mut n = 0; while x > 0 { n += x % 10; x /= 10; } n }
fn main() {
    let ops: Vec<Box<dyn Op>> = (0..10).map(|i| if i % 3 == 0 { Box::new(Mul(i)) as Box<dyn Op> } else { Box::new(Add(i)) }).collect();
    let (mut x, mut sum) = (1u64, 0);
    for round in 0..2_000_000u64 { for op in &ops[..3] { x = op.run(x); } sum += digits(x ^ round); }
    println!("{x} {sum}");
}
