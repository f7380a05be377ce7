//! The room that knows every format: opens inputs, drives merging, chooses writers.
