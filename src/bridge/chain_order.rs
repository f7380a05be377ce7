//! The calling contexts and sampled stacks of a document in the order of their names.
//!
//! The names of deep contexts are many times as long as the document. So they are not collected and sorted: a walk
//! through the tree of contexts, in which the callees of each context are sorted, makes one name after the other.

use crate::bridge::names::{EncodedNames, NamedFrame, push_frame};
use crate::iprof::{ContextHandle, ContextTree, Frame, MethodHandle};
use std::cmp::Ordering;
use std::io::Write;
use std::ops::Range;

/// A method or position with callers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named {
    pub(super) caller: ContextHandle,
    pub(super) frame: Frame,
    pub(super) target: Target,
}

/// The owner of a name in the tree.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target {
    /// A caller of others.
    Caller(ContextHandle),
    /// A method with its chain of callers, and its first entry. The frame has no position.
    Method(u32),
    /// A sampled stack.
    Stack(u32),
}

/// Passes on each method and stack with its name, in the order of names. No two methods may be spelled alike.
pub(super) fn walk<E>(
    contexts: &ContextTree,
    spelling: &EncodedNames,
    mut named: Vec<Named>,
    mut each: impl FnMut(&[u8], Target) -> Result<(), E>,
) -> Result<(), E> {
    // A context directly after its caller is found without a list.
    let later = contexts.iter().filter(|(context, caller, _)| !follows(*context, *caller));
    named.extend(later.map(|(context, caller, frame)| Named { caller, frame, target: Target::Caller(context) }));
    let order = NameOrder::of(spelling);
    named.sort_unstable_by(|a, b| a.caller.cmp(&b.caller).then_with(|| order.compare(a, b)));
    let mut starts = vec![0; contexts.len() + 1];
    for item in &named {
        starts[item.caller.index() + 1] += 1u32;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let callees_of = |context: ContextHandle, text: usize| Open {
        text,
        listed: starts[context.index()] as usize..starts[context.index() + 1] as usize,
        next: next(contexts, context),
    };
    let mut name = b"[".to_vec();
    let mut open = vec![callees_of(ContextHandle::ROOT, name.len())];
    while let Some(top) = open.last_mut() {
        name.truncate(top.text);
        let Some(item) = top.take(&named, &order) else {
            open.pop();
            continue;
        };
        order.push_to(&mut name, &item);
        match item.target {
            Target::Caller(context) => {
                let callees = callees_of(context, name.len());
                if !callees.is_empty() {
                    open.push(callees);
                }
            }
            target => each(&name, target)?,
        }
    }
    Ok(())
}

/// Returns true if a context directly follows its caller in the tree.
fn follows(context: ContextHandle, caller: ContextHandle) -> bool {
    caller.index() + 1 == context.index()
}

/// Returns the context that directly follows its caller.
fn next(contexts: &ContextTree, caller: ContextHandle) -> Option<Named> {
    let at = caller.index() + 1;
    let context = (at < contexts.len()).then(|| ContextHandle::from_index(at))?;
    let frame = contexts.leaf(context).filter(|_| contexts.caller(context) == caller)?;
    Some(Named { caller, frame, target: Target::Caller(context) })
}

/// A caller whose callees are not all named yet.
struct Open {
    /// The length of its name.
    text: usize,
    /// Callees in the list.
    listed: Range<usize>,
    /// The callee that is in no list.
    next: Option<Named>,
}

impl Open {
    fn is_empty(&self) -> bool {
        self.listed.is_empty() && self.next.is_none()
    }

    /// Takes the callee whose name comes first.
    fn take(&mut self, named: &[Named], order: &NameOrder<'_>) -> Option<Named> {
        let listed = named[self.listed.clone()].first();
        match (listed, &self.next) {
            (Some(listed), Some(next)) if order.compare(listed, next).is_gt() => self.next.take(),
            (Some(listed), _) => {
                self.listed.start += 1;
                Some(*listed)
            }
            (None, _) => self.next.take(),
        }
    }
}

/// The order of the parts of names.
struct NameOrder<'a> {
    spelling: &'a EncodedNames,
    /// The place of each method in the order of their names.
    ranks: Vec<u32>,
    /// Whether another method's text begins with the text of the method.
    begins_others: Vec<bool>,
}

impl<'a> NameOrder<'a> {
    fn of(spelling: &'a EncodedNames) -> Self {
        let mut sorted: Vec<MethodHandle> = spelling.methods().collect();
        sorted.sort_unstable_by_key(|method| spelling.method(*method));
        let (mut ranks, mut begins_others) = (vec![0; sorted.len()], vec![false; sorted.len()]);
        for (rank, method) in (0..).zip(&sorted) {
            ranks[method.index()] = rank;
        }
        for pair in sorted.windows(2) {
            begins_others[pair[0].index()] = spelling.method(pair[1]).starts_with(spelling.method(pair[0]));
        }
        Self { spelling, ranks, begins_others }
    }

    /// Compares the strings that two callees of one caller add to its name. Neither is the beginning of the other.
    fn compare(&self, a: &Named, b: &Named) -> Ordering {
        let [first, second] = [a, b].map(|item| item.frame.method);
        if first == second {
            return end_of(a).cmp(&end_of(b));
        }
        let order = self.ranks[first.index()].cmp(&self.ranks[second.index()]);
        if !self.begins_others[if order.is_lt() { first } else { second }.index()] {
            return order;
        }
        let text = |item: &Named| {
            let mut text = Vec::new();
            self.push_to(&mut text, item);
            text
        };
        text(a).cmp(&text(b))
    }

    /// Appends the text that a callee adds to the name of its caller.
    fn push_to(&self, name: &mut Vec<u8>, item: &Named) {
        let method = self.spelling.method(item.frame.method);
        let frame = NamedFrame { method, bci: item.frame.bci };
        match item.target {
            Target::Caller(_) => {
                push_frame(name, frame);
                name.extend_from_slice(b" @ ");
            }
            Target::Method(_) => {
                name.extend_from_slice(method);
                name.push(b']');
            }
            Target::Stack(_) => {
                push_frame(name, frame);
                name.push(b']');
            }
        }
    }
}

/// Returns the text after the method, followed by zeros.
fn end_of(item: &Named) -> [u8; 16] {
    let mut end = [0; 16];
    let mut out = &mut end[..];
    let bci = item.frame.bci;
    let written = match item.target {
        Target::Caller(_) => write!(out, ":{bci} @ "),
        Target::Method(_) => write!(out, "]"),
        Target::Stack(_) => write!(out, ":{bci}]"),
    };
    written.expect("a position has at most 11 characters");
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::names::{push_context, push_stack};
    use crate::iprof::Document;

    /// A document whose methods are spelled `a#b()int`, `a#b()int[]` and so on: some begin with others.
    fn document() -> (Document, Vec<MethodHandle>) {
        let mut document = Document::new();
        let class = document.add_type(b"a");
        let types = ["int", "[I", "[[I", "inta", "void"].map(|name| document.add_type(name.as_bytes()));
        let methods = types.map(|returns| document.add_method(b"b", &[class, returns])).to_vec();
        (document, methods)
    }

    #[test]
    fn names_come_in_order_and_once() {
        let (mut document, methods) = document();
        let mut seed = 7u32;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as usize % below
        };
        let mut contexts: Vec<ContextHandle> = Vec::new();
        for _ in 0..400 {
            let frames: Vec<Frame> = (0..1 + random(5))
                .map(|_| Frame { method: methods[random(methods.len())], bci: [-5, 1, 2, 10, 19, 100][random(6)] })
                .collect();
            contexts.push(document.add_context(&frames));
        }
        contexts.sort_unstable();
        contexts.dedup();
        let spelling = EncodedNames::of(&document.tables);
        let named_frame = |frame: &Frame| NamedFrame { method: spelling.method(frame.method), bci: frame.bci };
        let (mut named, mut expected) = (Vec::new(), Vec::new());
        for context in contexts {
            let frames: Vec<Frame> = document.contexts.frames(context).collect();
            let (caller, frame) = (document.contexts.caller(context), frames[0]);
            named.push(Named { caller, frame, target: Target::Stack(0) });
            let mut name = Vec::new();
            push_stack(&mut name, frames.iter().rev().map(named_frame));
            expected.push(name);
            if caller != ContextHandle::ROOT && frame.bci == 1 {
                named.push(Named { caller, frame, target: Target::Method(0) });
                let mut name = Vec::new();
                push_context(&mut name, frames[1..].iter().rev().map(named_frame), spelling.method(frame.method));
                expected.push(name);
            }
        }
        expected.sort();
        assert!(expected.len() > 300);
        let mut found: Vec<Vec<u8>> = Vec::new();
        let all = walk(&document.contexts, &spelling, named, |name, _| {
            found.push(name.to_vec());
            Ok::<(), ()>(())
        });
        assert_eq!((all, found), (Ok(()), expected));
    }
}
