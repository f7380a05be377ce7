//! The calls of a place.

use super::names::NameId;
use std::ops::{Deref, DerefMut};

/// Samples that fell on calls of one function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CallTarget {
    /// What was called.
    pub callee: NameId,
    /// How often.
    pub samples: u64,
}

/// Call targets of one place, by [`NameId`].
///
/// Most places call nothing, and a large profile has millions of them: so a
/// list takes one word where there is nothing in it.
#[derive(Debug, Clone, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "Vec<CallTarget>", into = "Vec<CallTarget>"))]
#[expect(clippy::box_collection, reason = "a vector has three words, of which an empty one needs none")]
pub struct CallTargets(Option<Box<Vec<CallTarget>>>);

impl CallTargets {
    /// The list, to be changed.
    pub fn list_mut(&mut self) -> &mut Vec<CallTarget> {
        self.0.get_or_insert_default()
    }

    /// The list by itself.
    pub fn into_list(self) -> Vec<CallTarget> {
        self.0.map_or_else(Vec::new, |list| *list)
    }
}

impl Deref for CallTargets {
    type Target = [CallTarget];

    fn deref(&self) -> &[CallTarget] {
        self.0.as_ref().map_or(&[], |list| list)
    }
}

impl DerefMut for CallTargets {
    fn deref_mut(&mut self) -> &mut [CallTarget] {
        self.0.as_mut().map_or(&mut [], |list| list)
    }
}

impl From<Vec<CallTarget>> for CallTargets {
    fn from(list: Vec<CallTarget>) -> Self {
        Self((!list.is_empty()).then(|| Box::new(list)))
    }
}

impl From<CallTargets> for Vec<CallTarget> {
    fn from(targets: CallTargets) -> Self {
        targets.into_list()
    }
}

impl PartialEq for CallTargets {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for CallTargets {}

impl<'a> IntoIterator for &'a CallTargets {
    type Item = &'a CallTarget;
    type IntoIter = std::slice::Iter<'a, CallTarget>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampleprof::names::{FunctionName, Names};

    #[test]
    fn an_empty_list_is_one_word_and_equals_one_that_was_emptied() {
        assert_eq!(size_of::<CallTargets>(), size_of::<usize>());
        let callee = Names::default().insert(FunctionName::Text(b"callee"));
        let mut emptied = CallTargets::from(vec![CallTarget { callee, samples: 3 }]);
        assert_eq!(emptied.len(), 1);
        emptied.list_mut().clear();
        assert_eq!(emptied, CallTargets::default());
        assert!(emptied.into_list().is_empty());
    }
}
