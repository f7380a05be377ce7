//! The order in which functions are inlined: callers before their callees.

use super::tree::{ROOT, Tree};
use crate::sampleprof::NameId;
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use std::collections::VecDeque;

/// A call of one function by another, with the number of samples.
#[derive(Debug, Clone, Copy)]
struct Call {
    caller: usize,
    callee: usize,
    samples: u64,
}

/// The functions of a tree and their calls.
struct CallGraph {
    functions: Vec<NameId>,
    /// The calls of each function, by the name of the callee. The last function stands for the caller of all.
    calls: Vec<Vec<Call>>,
}

/// Returns the functions of a tree, callers first. Calls that have at most `cold` samples do not count; all do if `cold`
/// is 0.
pub(super) fn callers_first(tree: &Tree, cold: u64) -> Vec<NameId> {
    let graph = CallGraph::of(tree, cold);
    let mut order = Vec::new();
    for component in graph.components() {
        let members = graph.ordered(component, tree.rules.orders_by_all_calls());
        order.extend(members.into_iter().filter_map(|at| graph.functions.get(at)));
    }
    order.reverse();
    order
}

impl CallGraph {
    fn of(tree: &Tree, cold: u64) -> Self {
        let mut functions: Vec<NameId> = Vec::new();
        let mut numbers: HashMap<NameId, usize, RandomState> = HashMap::default();
        let mut samples: HashMap<(usize, usize), u64, RandomState> = HashMap::default();
        for at in tree.breadth_first() {
            let node = &tree.nodes[at as usize];
            let callee = *numbers.entry(node.function).or_insert_with(|| {
                functions.push(node.function);
                functions.len() - 1
            });
            if node.parent != ROOT {
                let caller = numbers[&tree.nodes[node.parent as usize].function];
                let (known, calls) = (samples.entry((caller, callee)).or_default(), tree.calls(at).unwrap_or(0));
                *known = match tree.rules.orders_by_all_calls() {
                    true => known.wrapping_add(calls),
                    false => calls.max(*known),
                };
            }
        }
        let root = functions.len();
        let mut calls: Vec<Vec<Call>> = vec![Vec::new(); root + 1];
        for ((caller, callee), samples) in samples {
            if cold == 0 || samples > cold {
                calls[caller].push(Call { caller, callee, samples });
            }
        }
        calls[root] = (0..root).map(|callee| Call { caller: root, callee, samples: 0 }).collect();
        for of_caller in &mut calls {
            of_caller.sort_by(|a, b| tree.names.compare(functions[a.callee], functions[b.callee]));
        }
        Self { functions, calls }
    }

    /// The sets of functions that call each other, callees first (Tarjan's algorithm).
    fn components(&self) -> Vec<Vec<usize>> {
        const DONE: usize = usize::MAX;
        let root = self.functions.len();
        let mut components = Vec::new();
        let mut numbers: Vec<Option<usize>> = vec![None; root + 1];
        // Functions whose component is not complete.
        let mut pending = vec![root];
        // Functions whose calls are being followed: next call, and the lowest number that was reached.
        let mut open = vec![(root, 0, 0)];
        numbers[root] = Some(0);
        let mut next_number = 1;
        while let Some((function, next, lowest)) = open.last_mut() {
            if let Some(call) = self.calls[*function].get(*next) {
                *next += 1;
                match numbers[call.callee] {
                    Some(number) => *lowest = (*lowest).min(number),
                    None => {
                        numbers[call.callee] = Some(next_number);
                        pending.push(call.callee);
                        open.push((call.callee, 0, next_number));
                        next_number += 1;
                    }
                }
                continue;
            }
            let (function, lowest) = (*function, *lowest);
            open.pop();
            if let Some((_, _, of_caller)) = open.last_mut() {
                *of_caller = (*of_caller).min(lowest);
            }
            if numbers[function] != Some(lowest) {
                continue;
            }
            let mut component = Vec::new();
            while let Some(member) = pending.pop() {
                numbers[member] = Some(DONE);
                component.push(member);
                if member == function {
                    break;
                }
            }
            components.push(component);
        }
        components
    }

    /// Orders the functions of a component, callees first: the calls with most samples that make no cycle determine the
    /// order. A function follows all of its callers, or with `waits` unset its first one.
    fn ordered(&self, component: Vec<usize>, waits: bool) -> Vec<usize> {
        if component.len() <= 1 {
            return component;
        }
        let inside: HashSet<usize, RandomState> = component.iter().copied().collect();
        let calls = component.iter().flat_map(|function| &self.calls[*function]);
        let mut calls: Vec<Call> = calls.filter(|call| inside.contains(&call.callee)).copied().collect();
        calls.sort_by_key(|call| std::cmp::Reverse(call.samples));
        let mut groups = Groups::default();
        let mut tree: HashSet<(usize, usize), RandomState> = HashSet::default();
        let mut callers: HashMap<usize, usize, RandomState> = HashMap::default();
        for call in &calls {
            if groups.join(call.caller, call.callee) {
                tree.insert((call.caller, call.callee));
                *callers.entry(call.callee).or_default() += 1;
            }
        }
        let (mut queue, mut is_queued) = (VecDeque::new(), HashSet::<usize, RandomState>::default());
        for call in &calls {
            if !callers.contains_key(&call.caller) && is_queued.insert(call.caller) {
                queue.push_back(call.caller);
            }
        }
        let mut order = Vec::new();
        while let Some(function) = queue.pop_front() {
            order.push(function);
            for call in self.calls[function].iter().filter(|call| tree.contains(&(call.caller, call.callee))) {
                let Some(left) = callers.get_mut(&call.callee) else { continue };
                *left -= 1;
                if *left == 0 || !waits {
                    callers.remove(&call.callee);
                    queue.push_back(call.callee);
                }
            }
        }
        order.reverse();
        order
    }
}

/// Sets of functions that are connected by calls.
#[derive(Default)]
struct Groups(HashMap<usize, usize, RandomState>);

impl Groups {
    fn of(&self, function: usize) -> usize {
        let mut at = function;
        while let Some(next) = self.0.get(&at) {
            at = *next;
        }
        at
    }

    /// Joins the groups of two functions; returns false if they are the same.
    fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.of(a), self.of(b));
        if a != b {
            self.0.insert(b, a);
        }
        a != b
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampleprof::{FunctionName, Names};

    #[test]
    fn a_function_follows_all_of_its_callers_or_the_first_one() {
        let mut names = Names::default();
        let functions: Vec<NameId> =
            ["a", "b", "c", "d"].map(|name| names.insert(FunctionName::Text(name.as_bytes()))).into();
        let call = |caller, callee, samples| Call { caller, callee, samples };
        let calls = vec![vec![call(0, 2, 5)], vec![call(1, 2, 4)], vec![call(2, 0, 1)], vec![call(3, 1, 3)]];
        let graph = CallGraph { functions, calls };
        let callers_first = |waits| graph.ordered(vec![0, 1, 2, 3], waits).into_iter().rev().collect::<Vec<_>>();
        assert_eq!(callers_first(true), [0, 3, 1, 2]);
        assert_eq!(callers_first(false), [0, 3, 2, 1]);
    }
}
