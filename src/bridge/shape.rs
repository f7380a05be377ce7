//! The meaning of the counters and value sites of a record, as a suffix of the record's name.
//!
//! ```text
//! {calls 2?20,-5/0,40 9v 30i}
//! ```
//!
//! A call count; at BCI 2 a conditional with branches to 20 (index 0), -5 (index 0) and 40 (index 1); a virtual invoke
//! at BCI 9; an instanceof at 30. An index is written unless it is one more than the previous one (for the first row:
//! unless it is 0). An empty record is `{}`, and a call count alone has no suffix.

use crate::digits::push_signed;

/// A branch of a conditional. Each has one counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Branch {
    /// The producer's number of the branch. Several rows may share it.
    pub index: u32,
    /// The branch's target, or a placeholder below 0.
    pub bci: i32,
}

/// Counters and sites of one record, each list in ascending order of BCI.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Shape {
    /// Counter 0 is a call count.
    pub calls: bool,
    /// Conditionals by BCI, with one counter per branch.
    pub conditionals: Vec<(i32, Vec<Branch>)>,
    /// BCIs of virtual invokes, with one value site each.
    pub virtual_invokes: Vec<i32>,
    /// BCIs of instanceof checks, with one value site each, after those of the invokes.
    pub instanceofs: Vec<i32>,
}

impl Shape {
    /// Returns the number of counters. The first exists even without a call count.
    pub fn counters_len(&self) -> usize {
        1 + self.conditionals.iter().map(|(_, branches)| branches.len()).sum::<usize>()
    }

    /// Returns the number of value sites.
    pub fn sites_len(&self) -> usize {
        self.virtual_invokes.len() + self.instanceofs.len()
    }

    /// Appends a space and the suffix.
    pub(crate) fn push_to(&self, out: &mut Vec<u8>) {
        if self.calls && self.conditionals.is_empty() && self.sites_len() == 0 {
            return;
        }
        out.extend_from_slice(b" {");
        let first = out.len();
        let separate = |out: &mut Vec<u8>| {
            if out.len() > first {
                out.push(b' ');
            }
        };
        if self.calls {
            out.extend_from_slice(b"calls");
        }
        for (bci, branches) in &self.conditionals {
            separate(out);
            push_signed(out, (*bci).into());
            out.push(b'?');
            push_branches(out, branches);
        }
        for (bcis, letter) in [(&self.virtual_invokes, b'v'), (&self.instanceofs, b'i')] {
            for bci in bcis {
                separate(out);
                push_signed(out, (*bci).into());
                out.push(letter);
            }
        }
        out.push(b'}');
    }

    /// Splits a record's name into its subject and the shape.
    ///
    /// Returns `None` if the name ends in braces that are not a valid shape.
    pub fn split_from(name: &[u8]) -> Option<(&[u8], Self)> {
        let Some(inner) = name.strip_suffix(b"}") else {
            return Some((name, Self { calls: true, ..Self::default() }));
        };
        let open = inner.iter().rposition(|byte| *byte == b'{')?;
        let subject = inner[..open].strip_suffix(b" ")?;
        let shape = Self::parse_items(std::str::from_utf8(&inner[open + 1..]).ok()?)?;
        let mut again = Vec::with_capacity(name.len());
        again.extend_from_slice(subject);
        shape.push_to(&mut again);
        (again == name).then_some((subject, shape))
    }

    fn parse_items(text: &str) -> Option<Self> {
        let mut shape = Self::default();
        for item in text.split(' ').filter(|item| !item.is_empty()) {
            if item == "calls" {
                shape.calls = true;
            } else if let Some((bci, branches)) = item.split_once('?') {
                shape.conditionals.push((bci.parse().ok()?, parse_branches(branches)?));
            } else if let Some(bci) = item.strip_suffix('v') {
                shape.virtual_invokes.push(bci.parse().ok()?);
            } else {
                shape.instanceofs.push(item.strip_suffix('i')?.parse().ok()?);
            }
        }
        let ordered = shape.conditionals.is_sorted_by(|a, b| a.0 < b.0)
            && shape.conditionals.iter().all(|(_, branches)| branches.is_sorted())
            && shape.virtual_invokes.is_sorted_by(|a, b| a < b)
            && shape.instanceofs.is_sorted_by(|a, b| a < b);
        ordered.then_some(shape)
    }
}

/// Returns the implied index: one more than the previous one.
fn implied_index(last: Option<u32>) -> u64 {
    last.map_or(0, |index| u64::from(index) + 1)
}

fn push_branches(out: &mut Vec<u8>, branches: &[Branch]) {
    let mut last = None;
    for branch in branches {
        if last.is_some() {
            out.push(b',');
        }
        push_signed(out, branch.bci.into());
        if u64::from(branch.index) != implied_index(last) {
            out.push(b'/');
            push_signed(out, branch.index.into());
        }
        last = Some(branch.index);
    }
}

fn parse_branches(text: &str) -> Option<Vec<Branch>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let mut last = None;
    let rows = text.split(',').map(|row| {
        let branch = match row.split_once('/') {
            Some((bci, index)) => Branch { index: index.parse().ok()?, bci: bci.parse().ok()? },
            None => Branch { index: u32::try_from(implied_index(last)).ok()?, bci: row.parse().ok()? },
        };
        last = Some(branch.index);
        Some(branch)
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(shape: &Shape) -> String {
        let mut out = b"m".to_vec();
        shape.push_to(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn branch(bci: i32, index: u32) -> Branch {
        Branch { index, bci }
    }

    #[test]
    fn the_documented_example() {
        let shape = Shape {
            calls: true,
            conditionals: vec![(2, vec![branch(20, 0), branch(-5, 0), branch(40, 1)])],
            virtual_invokes: vec![9],
            instanceofs: vec![30],
        };
        assert_eq!(text(&shape), "m {calls 2?20,-5/0,40 9v 30i}");
        assert_eq!((shape.counters_len(), shape.sites_len()), (4, 2));
    }

    #[test]
    fn a_call_count_alone_needs_no_braces() {
        assert_eq!(text(&Shape { calls: true, ..Shape::default() }), "m");
        assert_eq!(text(&Shape::default()), "m {}");
        assert_eq!(Shape::split_from(b"m {}"), Some((b"m".as_slice(), Shape::default())));
    }

    #[test]
    fn other_spellings_are_refused() {
        for name in
            ["m {calls}", "m{}", "m { }", "m {9v 2?1}", "m {+9v}", "m {9v 9v}", "m {3?5/0}", "m {01i}", "}", "m {x}"]
        {
            assert_eq!(Shape::split_from(name.as_bytes()), None, "{name}");
        }
    }

    fn any_shape() -> impl Strategy<Value = Shape> {
        let bcis = || prop::collection::btree_set(prop_oneof![-6..40i32, any::<i32>()], 0..4);
        let branches = prop::collection::vec((prop_oneof![0..4u32, any::<u32>()], -6..40i32), 0..5);
        let conditionals = prop::collection::btree_map(prop_oneof![-6..40i32, any::<i32>()], branches, 0..3);
        (any::<bool>(), conditionals, bcis(), bcis()).prop_map(|(calls, conditionals, virtual_invokes, instanceofs)| {
            let sorted = |rows: Vec<(u32, i32)>| {
                let mut rows: Vec<Branch> = rows.into_iter().map(|(index, bci)| Branch { index, bci }).collect();
                rows.sort_unstable();
                rows
            };
            Shape {
                calls,
                conditionals: conditionals.into_iter().map(|(bci, rows)| (bci, sorted(rows))).collect(),
                virtual_invokes: virtual_invokes.into_iter().collect(),
                instanceofs: instanceofs.into_iter().collect(),
            }
        })
    }

    proptest! {
        #[test]
        fn shapes_come_back(shape in any_shape()) {
            let name = text(&shape);
            prop_assert_eq!(Shape::split_from(name.as_bytes()), Some((b"m".as_slice(), shape)));
        }
    }
}
