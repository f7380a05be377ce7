#!/usr/bin/env bash
# Runs profbridge and llvm-profdata alternately on the same inputs, with the same
# number of threads. Checks that the outputs are equal and prints a table of times,
# ratios and peak memory.
#
#   benches/compare.sh                       all workloads
#   benches/compare.sh W1a W3                some workloads
#   benches/compare.sh --scale 0.1 --runs 3  smaller inputs, fewer runs
#   benches/compare.sh --growth              growth with files, functions, threads
#   benches/compare.sh --check               fail if a required goal is missed
#
# Each row is measured in profbridge mode and in llvm-profdata mode. It shows the
# required ratio, the goal, and the lower bound (benches/compare/goals.py). Times
# depend on other work of the machine, so use --check by hand on an idle machine.
#
# It builds and measures the static program of packaging/release.sh; PROGRAM
# selects another one. SECOND_PEER is the path of another llvm-profdata to measure, of
# LLVM 23 or later; it gets raw profiles that it reads, and its output is not compared.
#
# Needs llvm-profdata-22, clang-22, python3 and GNU time (Debian: llvm-22,
# clang-22, libclang-rt-22-dev, python3, time). Inputs are created once and stay in
# target/compare; remove that directory to create them again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ -z "${PROGRAM:-}" ]; then
  host=$(rustc -vV | sed -n 's/^host: //p')
  RUSTFLAGS="-C target-feature=+crt-static -C link-arg=-Wl,-z,pack-relative-relocs" cargo build --release --quiet --bin profbridge --target "$host"
  PROGRAM=${CARGO_TARGET_DIR:-target}/$host/release/profbridge
fi
export PROGRAM
exec python3 benches/compare/compare.py "$@"
