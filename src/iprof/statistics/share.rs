//! Shares of exact totals.

/// A share of exact totals; 0 of nothing.
pub(crate) fn share(part: u128, whole: u128) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
