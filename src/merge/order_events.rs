//! What makes the order of inputs matter.

/// Why joined parts may differ from one merger's work on all inputs.
///
/// When none of these happened, they are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct OrderEvents {
    /// A record was left out, in part or whole, or a count reached its maximum
    /// (the sum is right then, yet the soft error may belong to another input).
    pub soft_errors: bool,
    /// Values came with a weight; values new to a site are not weighted.
    pub weighted_values: bool,
    /// A site had more than 255 values and was cut.
    pub cut_sites: bool,
    /// A value stood twice at one site.
    pub repeated_values: bool,
    /// A later part had to keep more values for the join than it may.
    pub deferred_too_much: bool,
    /// There were more traces than are kept.
    pub sampled_traces: bool,
    /// Uniform counts of some inputs met others that lack them.
    pub uniformity: bool,
    /// The kinds of inputs conflict, or would in another order.
    pub kinds: bool,
}

impl OrderEvents {
    /// Whether something happened.
    pub fn any(self) -> bool {
        self != Self::default()
    }

    /// What happened in either of two parts.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self {
            soft_errors: self.soft_errors | other.soft_errors,
            weighted_values: self.weighted_values | other.weighted_values,
            cut_sites: self.cut_sites | other.cut_sites,
            repeated_values: self.repeated_values | other.repeated_values,
            deferred_too_much: self.deferred_too_much | other.deferred_too_much,
            sampled_traces: self.sampled_traces | other.sampled_traces,
            uniformity: self.uniformity | other.uniformity,
            kinds: self.kinds | other.kinds,
        }
    }
}
