//! Tests of sampled stacks in `testdata/`, and of their reports and flame graphs.

mod commands;
mod dialects;
mod drawing;
mod gates;
mod outline;
mod perf;
mod recordings;
mod webdriver;
