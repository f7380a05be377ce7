#!/usr/bin/env bash
# Whole runs of profbridge and llvm-profdata on the same inputs, alternating,
# with the same number of threads; checks that the outputs are the same and
# prints a table of times, ratios and peak memory.
#
#   benches/compare.sh                       every workload
#   benches/compare.sh W1a W3                some
#   benches/compare.sh --scale 0.1 --runs 3  smaller inputs, fewer runs
#   benches/compare.sh --growth              growth with files, functions, threads
#   benches/compare.sh --check               fail where a goal that must be reached is missed
#
# Each row is measured under both names of the program and says what it must
# reach, aims at and cannot go below (benches/compare/goals.py). Times depend on
# what else the machine does, so --check is for use by hand, on a quiet one.
#
# The program is the static one that packaging/release.sh makes; PROGRAM names
# another to be measured in its place.
#
# Needs llvm-profdata-22, clang-22, python3 and GNU time (Debian: llvm-22,
# clang-22, libclang-rt-22-dev, python3, time). Inputs are made once and kept in
# target/compare; remove that folder to make them anew.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ -z "${PROGRAM:-}" ]; then
  host=$(rustc -vV | sed -n 's/^host: //p')
  RUSTFLAGS="-C target-feature=+crt-static -C link-arg=-Wl,-z,pack-relative-relocs" cargo build --release --quiet --bin profbridge --target "$host"
  PROGRAM=${CARGO_TARGET_DIR:-target}/$host/release/profbridge
fi
export PROGRAM
exec python3 benches/compare/compare.py "$@"
