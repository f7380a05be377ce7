//! The report as JSON.

use super::{FunctionOverlap, OverlapReport, Shared};
use serde::{Serialize, Serializer};

/// What both have of one thing, and each alone.
#[derive(Serialize)]
struct Amounts {
    /// Of what one of them has at least, what both have; 0 where neither has any.
    share: f64,
    overlap: u64,
    union: u64,
    base: u64,
    test: u64,
    base_unique: u64,
    test_unique: u64,
}

impl From<&Shared> for Amounts {
    fn from(shared: &Shared) -> Self {
        let Shared { overlap, union, base_unique, test_unique, base, test } = *shared;
        let share = if union > 0 { overlap as f64 / union as f64 } else { 0.0 };
        Self { share, overlap, union, base, test, base_unique, test_unique }
    }
}

impl Amounts {
    /// Of hot functions and blocks, those of one profile are not counted apart.
    fn of_hot(hot: &Shared) -> Self {
        let (base_unique, test_unique) = (hot.base.wrapping_sub(hot.overlap), hot.test.wrapping_sub(hot.overlap));
        Self { base_unique, test_unique, ..Self::from(hot) }
    }
}

#[derive(Serialize)]
struct Program {
    similarity: f64,
    samples: Amounts,
    functions: Amounts,
    hot_functions: Amounts,
    hot_blocks: Amounts,
}

#[derive(Serialize)]
struct Function {
    name: String,
    similarity: f64,
    base_weight: f64,
    test_weight: f64,
    samples: Amounts,
}

#[derive(Serialize)]
struct Report {
    program: Program,
    functions: Vec<Function>,
}

impl From<&FunctionOverlap> for Function {
    fn from(function: &FunctionOverlap) -> Self {
        Self {
            name: String::from_utf8_lossy(&function.title).into_owned(),
            similarity: function.similarity,
            base_weight: function.base_weight,
            test_weight: function.test_weight,
            samples: Amounts::from(&function.samples),
        }
    }
}

/// The members `program` and `functions`, the latter those that were asked for.
/// Bytes of names that are not UTF-8 are replaced.
impl Serialize for OverlapReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let program = Program {
            similarity: self.similarity,
            samples: Amounts::from(&self.samples),
            functions: Amounts::from(&self.functions),
            hot_functions: Amounts::of_hot(&self.hot_functions),
            hot_blocks: Amounts::of_hot(&self.hot_blocks),
        };
        Report { program, functions: self.details.iter().map(Function::from).collect() }.serialize(serializer)
    }
}
