//! Recursive balanced graph partitioning of functions by the traces they share.
//!
//! Functions and *utilities* form a bipartite graph; a utility means "these functions run in the first 2^k steps of
//! trace t". Repeatedly splitting the functions into halves, with few utilities on both sides of the cut, places
//! functions together that start together. (Dhulipala et al., "Compressing graphs and indexes with recursive graph
//! bisection"; Hoag et al., "Optimizing function layout for mobile applications".)
//!
//! The result must be identical to that of LLVM 22. So the code reproduces everything that it depends on: single
//! precision, the random numbers, and the order in which the GNU C++ library's `partition` leaves elements. (Releases
//! up to 19 made the halves with `nth_element`, which leaves another order and produces another result.)

use crate::model::hash_order::Mersenne;
use crate::model::{NameRef, TemporalTrace};
use hashbrown::HashMap;
use std::cmp::Ordering;

/// The maximum number of bisections from the root to a leaf.
const SPLIT_DEPTH: u32 = 18;
/// The maximum number of exchange passes per bisection.
const PASSES_PER_SPLIT: u32 = 40;
/// The probability that a move is skipped, which helps to leave a local optimum.
const SKIP_PROBABILITY: f32 = 0.1;

type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// A function to place.
#[derive(Debug, Clone)]
pub struct Node {
    /// Hash of the function's name.
    pub id: NameRef,
    utilities: Vec<u32>,
    bucket: u32,
    input_order: u32,
}

/// Returns the functions of the traces with their utilities, by first appearance.
pub(super) fn nodes_of(traces: &[TemporalTrace]) -> Vec<Node> {
    let mut first_position: Map<NameRef, usize> = Map::default();
    let mut utilities: Map<NameRef, Vec<u32>> = Map::default();
    let mut newest = 0u32;
    for trace in traces {
        let mut first_utility: Map<NameRef, u32> = Map::default();
        let mut cut = 1;
        for (position, id) in trace.functions.iter().enumerate() {
            let earliest = first_position.entry(*id).or_insert(position);
            *earliest = position.min(*earliest);
            if position >= cut {
                newest += 1;
                cut = 2 * position;
            }
            first_utility.entry(*id).or_insert(newest);
        }
        for (id, first) in first_utility {
            utilities.entry(id).or_default().extend(first..=newest);
        }
        newest += 1;
    }
    remove_outliers(&mut utilities);
    let mut nodes: Vec<Node> =
        utilities.into_iter().map(|(id, utilities)| Node { id, utilities, bucket: 0, input_order: 0 }).collect();
    nodes.sort_unstable_by_key(|node| (first_position[&node.id], node.id));
    nodes
}

/// Drops utilities without information: those of one function, or of more than half of the functions.
fn remove_outliers(utilities: &mut Map<NameRef, Vec<u32>>) {
    let mut holders: Map<u32, usize> = Map::default();
    for utility in utilities.values().flatten() {
        *holders.entry(*utility).or_default() += 1;
    }
    let functions = utilities.len();
    for held in utilities.values_mut() {
        held.retain(|utility| holders[utility] > 1 && 2 * holders[utility] <= functions);
    }
}

/// Puts the nodes in their final order.
pub(super) fn run(nodes: &mut [Node]) {
    for (at, node) in nodes.iter_mut().enumerate() {
        node.input_order = at as u32;
    }
    bisect(nodes, 0, 1, 0);
    nodes.sort_by_key(|node| node.bucket);
}

fn bisect(nodes: &mut [Node], depth: u32, root: u32, offset: u32) {
    if nodes.len() <= 1 || depth >= SPLIT_DEPTH {
        nodes.sort_unstable_by_key(|node| node.input_order);
        for (bucket, node) in (offset..).zip(nodes) {
            node.bucket = bucket;
        }
        return;
    }
    let mut random = Mersenne::new(root);
    let (left, right) = (2 * root, 2 * root + 1);
    let middle = nodes.len().div_ceil(2);
    nodes.sort_unstable_by_key(|node| node.input_order);
    nodes[..middle].iter_mut().for_each(|node| node.bucket = left);
    nodes[middle..].iter_mut().for_each(|node| node.bucket = right);
    exchange(nodes, left, &mut random);
    let split = partition(nodes, |node| node.bucket == left);
    let (left_nodes, right_nodes) = nodes.split_at_mut(split);
    bisect(left_nodes, depth + 1, left, offset);
    bisect(right_nodes, depth + 1, right, offset + split as u32);
}

/// The distribution of a utility's functions over the two sides.
#[derive(Debug, Clone, Copy, Default)]
struct Signature {
    left: u32,
    right: u32,
    /// The gain of a move from left to right, and of the reverse; `None` if the distribution changed.
    gain: Option<(f32, f32)>,
}

impl Signature {
    fn compute_gain(&mut self) {
        let (left, right) = (self.left, self.right);
        let now = cost(left, right);
        let to_right = if left > 0 { now - cost(left - 1, right + 1) } else { 0.0 };
        let to_left = if right > 0 { now - cost(left + 1, right - 1) } else { 0.0 };
        self.gain = Some((to_right, to_left));
    }
}

fn cost(left: u32, right: u32) -> f32 {
    let log2 = |x: u32| f64::from(x).log2() as f32;
    -(left as f32 * log2(left + 1) + right as f32 * log2(right + 1))
}

/// Exchanges nodes between the two sides while this improves the cut.
fn exchange(nodes: &mut [Node], left: u32, random: &mut Mersenne) {
    let mut signatures = renumber(nodes);
    for node in nodes.iter() {
        for utility in &node.utilities {
            let signature = &mut signatures[*utility as usize];
            if node.bucket == left { signature.left += 1 } else { signature.right += 1 }
        }
    }
    for _ in 0..PASSES_PER_SPLIT {
        if !exchange_once(nodes, left, &mut signatures, random) {
            break;
        }
    }
}

/// Drops the utilities that do not distinguish the nodes, and numbers the others from 0 in order of appearance.
fn renumber(nodes: &mut [Node]) -> Vec<Signature> {
    let mut holders: Map<u32, usize> = Map::default();
    for utility in nodes.iter().flat_map(|node| &node.utilities) {
        *holders.entry(*utility).or_default() += 1;
    }
    let all = nodes.len();
    let mut numbers: Map<u32, u32> = Map::default();
    for node in nodes.iter_mut() {
        node.utilities.retain(|utility| holders[utility] != 1 && holders[utility] != all);
        for utility in &mut node.utilities {
            let next = numbers.len() as u32;
            *utility = *numbers.entry(*utility).or_insert(next);
        }
    }
    vec![Signature::default(); numbers.len()]
}

/// Makes one pass. Returns true if a node moved.
fn exchange_once(nodes: &mut [Node], left: u32, signatures: &mut [Signature], random: &mut Mersenne) -> bool {
    signatures.iter_mut().filter(|signature| signature.gain.is_none()).for_each(Signature::compute_gain);
    let mut gains: Vec<(f32, usize)> =
        nodes.iter().enumerate().map(|(at, node)| (move_gain(node, left, signatures), at)).collect();
    let split = partition(&mut gains, |(_, at)| nodes[*at].bucket == left);
    let (left_gains, right_gains) = gains.split_at_mut(split);
    left_gains.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal));
    right_gains.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal));
    let mut moved = false;
    for (from_left, from_right) in left_gains.iter().zip(right_gains.iter()) {
        if from_left.0 + from_right.0 <= 0.0 {
            break;
        }
        moved |= move_node(&mut nodes[from_left.1], left, signatures, random);
        moved |= move_node(&mut nodes[from_right.1], left, signatures, random);
    }
    moved
}

fn move_gain(node: &Node, left: u32, signatures: &[Signature]) -> f32 {
    let on_left = node.bucket == left;
    node.utilities.iter().fold(0.0, |sum, utility| {
        let (to_right, to_left) = signatures[*utility as usize].gain.unwrap_or_default();
        sum + if on_left { to_right } else { to_left }
    })
}

/// Moves a node to the other side, unless the move is skipped at random.
fn move_node(node: &mut Node, left: u32, signatures: &mut [Signature], random: &mut Mersenne) -> bool {
    if random.unit_f32() <= SKIP_PROBABILITY {
        return false;
    }
    let to_right = node.bucket == left;
    node.bucket = if to_right { left + 1 } else { left };
    for utility in &node.utilities {
        let signature = &mut signatures[*utility as usize];
        if to_right {
            signature.left -= 1;
            signature.right += 1;
        } else {
            signature.left += 1;
            signature.right -= 1;
        }
        signature.gain = None;
    }
    true
}

/// Moves the elements that `is_first` accepts before the others and returns their number. Pairs are swapped from both
/// ends inward, as in the GNU C++ library; the order of the rest depends on it.
fn partition<T>(items: &mut [T], is_first: impl Fn(&T) -> bool) -> usize {
    let (mut low, mut high) = (0, items.len());
    loop {
        while low < high && is_first(&items[low]) {
            low += 1;
        }
        if low == high {
            return low;
        }
        high -= 1;
        while low < high && !is_first(&items[high]) {
            high -= 1;
        }
        if low == high {
            return low;
        }
        items.swap(low, high);
        low += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partition_swaps_from_both_ends() {
        let mut items = [1, 2, 3, 4, 5, 6, 7];
        let split = partition(&mut items, |x| x % 2 == 0);
        assert_eq!((split, items), (3, [6, 2, 4, 3, 5, 1, 7]));
    }
}
