//! Merging: record and value rules, weights, filters, ordered reduction. Knows only the model.
