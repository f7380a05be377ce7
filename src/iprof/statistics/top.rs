//! The methods with most calls or samples.

use super::model::{HotMethod, SampledMethod};
use super::share::share;
use crate::iprof::tables::{MethodHandle, Tables};
use std::cmp::Reverse;

/// Sums over the entries that concern one method.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct MethodSums {
    pub(super) calls: u128,
    pub(super) inlined_calls: u128,
    pub(super) chains: u64,
    pub(super) exclusive: u128,
}

/// The methods with most of something, ties in order of name.
fn top_methods(tables: &Tables, events: &[u128], topn: usize) -> Vec<(String, u128, usize)> {
    let all = events.iter().enumerate().map(|(at, events)| (*events, at));
    let mut found: Vec<(u128, usize)> = all.filter(|(events, _)| *events > 0).collect();
    // Names are made for those that can get on the list: all with as much as its last.
    found.sort_unstable_by_key(|(events, _)| Reverse(*events));
    let least = found.get(topn.wrapping_sub(1)).map_or(0, |(events, _)| *events);
    let candidates = found.into_iter().take_while(|(events, _)| *events >= least);
    let mut named: Vec<_> =
        candidates.map(|(events, at)| (tables.human_name(MethodHandle::from_index(at)), events, at)).collect();
    named.sort_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)));
    named.truncate(topn);
    named
}

pub(super) fn hot_methods(tables: &Tables, methods: &[MethodSums], topn: usize) -> Vec<HotMethod> {
    let calls: Vec<u128> = methods.iter().map(|method| method.calls).collect();
    let total: u128 = calls.iter().sum();
    let hot = |(method, calls, at): (String, u128, usize)| HotMethod {
        method,
        calls,
        share: share(calls, total),
        chains: methods[at].chains,
        inlined_share: share(methods[at].inlined_calls, calls),
    };
    top_methods(tables, &calls, topn).into_iter().map(hot).collect()
}

pub(super) fn sampled_methods(tables: &Tables, hits: &[u128], samples: u128, topn: usize) -> Vec<SampledMethod> {
    let sampled =
        |(method, hits, _): (String, u128, usize)| SampledMethod { method, hits, share: share(hits, samples) };
    top_methods(tables, hits, topn).into_iter().map(sampled).collect()
}
