//! Sampled stacks: collapsed stacks and pprof profiles.

use super::generated::{Generated, Landmarks, Lengths};
use super::kind::{Format, Kind};
use super::names;
use super::random::Random;
use super::request::Generator;
use crate::call_chains::{Frame, FrameId, FrameKind, SampleKey, StackId, StackTable, ThreadId};
use crate::error::Result;
use crate::stacks::collapsed::{CollapsedOptions, write_collapsed};
use crate::stacks::pprof;
use std::collections::BTreeMap;

/// The deepest stack, if no depth is requested.
const DEPTH: u32 = 24;

/// The number of threads.
const THREADS: u32 = 4;

/// Generates a file.
pub(super) fn file(generator: &Generator, number: u32) -> Result<Generated> {
    let table = table(generator, number);
    let functions = generator.request.functions;
    let at = generator.shape(u32::MAX - 1).below(functions.into()) as u32;
    let name = (functions > 0).then(|| names::method(at).into_bytes());
    let (bytes, lengths) = if generator.request.format == Format::Pprof {
        (pprof::write(&pprof::from_table(&table).0)?, Lengths::Messages)
    } else {
        let mut options = CollapsedOptions::default();
        options.threads = generator.has(Kind::Threads);
        options.bcis = generator.has(Kind::Positions);
        (write_collapsed(&table, &options).0.into_bytes(), Lengths::None)
    };
    let totals = BTreeMap::from([
        ("functions", table.functions().len() as u64),
        ("stacks", table.samples().len() as u64),
        ("samples", u64::try_from(table.total_hits()).unwrap_or(u64::MAX)),
        ("threads", table.threads().len() as u64),
    ]);
    Ok(Generated { bytes, totals, landmarks: Landmarks { name, checksum: None, lengths } })
}

fn table(generator: &Generator, number: u32) -> StackTable {
    let mut table = StackTable::new();
    let functions = generator.request.functions;
    if functions == 0 {
        return table;
    }
    let has_positions = generator.has(Kind::Positions);
    let is_pprof = generator.request.format == Format::Pprof;
    let threads: Vec<ThreadId> = match generator.has(Kind::Threads) {
        true => (0..THREADS).map(|index| table.intern_thread(&format!("worker-{index}"))).collect(),
        false => Vec::new(),
    };
    let mut stacks: Vec<StackId> = Vec::new();
    for index in 0..generator.contexts() {
        let mut shape = Random::of(&[generator.request.seed, 5, index.into()]);
        let add = |table: &mut StackTable, parent: Option<StackId>, method: u64, shape: &mut Random| {
            let frame = frame(table, method as u32, has_positions, is_pprof, shape);
            table.push_frame(parent, frame)
        };
        let stack = match generator.request.depth {
            Some(depth) => {
                // Many stacks share the frames near the root, because few methods occur there.
                let depth = u64::from(depth);
                let mut stack = add(&mut table, None, 0, &mut shape);
                for level in 1..depth - shape.below(depth / 2 + 1) {
                    let methods = 1 + level * level * u64::from(functions) / (depth * depth);
                    let method = shape.below(methods);
                    stack = add(&mut table, Some(stack), method, &mut shape);
                }
                stack
            }
            // A stack extends an earlier one by a frame.
            None => {
                let parent = match stacks.len() {
                    0 => None,
                    len => Some(stacks[shape.position(len)]).filter(|stack| table.depth(*stack) < DEPTH),
                };
                let method = if parent.is_none() { 0 } else { shape.below(functions.into()) };
                let stack = add(&mut table, parent, method, &mut shape);
                stacks.push(stack);
                stack
            }
        };
        let thread = threads.get(shape.position(threads.len())).copied();
        let hits = 1 + generator.counts(number, index).below(1000);
        table.add(SampleKey { thread, ..SampleKey::of_stack(stack) }, hits);
    }
    table
}

fn frame(table: &mut StackTable, method: u32, has_positions: bool, is_pprof: bool, shape: &mut Random) -> FrameId {
    let function = table.intern_java(&names::class(method / 8), &names::method(method), None);
    let position = shape.below(40);
    let bci = (has_positions && !is_pprof).then_some(position as i32);
    let line = (has_positions && is_pprof).then(|| 1 + position as u32);
    table.intern_frame(Frame { function, bci, line, kind: FrameKind::Unknown })
}
