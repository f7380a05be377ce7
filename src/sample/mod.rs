//! Sampled stacks: JFR recordings, collapsed and folded stacks.
