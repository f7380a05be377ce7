#!/usr/bin/env bash
# Runs every command for every family of profiles at two sizes, one ten times the
# other. Prints processor time, peak memory, the growth between the sizes, and the
# ratio to `merge` of the same input. Marks what grows faster than its input, and what
# takes more than twice the time of `merge`.
#
#   benches/commands.sh                    all families
#   benches/commands.sh iprof memory       some families
#   benches/commands.sh --scale 0.1        smaller inputs (default 1: about 100 MB)
#
# It measures the release program; PROGRAM selects another one. Needs python3 and GNU
# time. Inputs are created once and stay in target/compare.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ -z "${PROGRAM:-}" ]; then
  cargo build --release --quiet --bin profbridge
  PROGRAM=${CARGO_TARGET_DIR:-target}/release/profbridge
fi
export PROGRAM
exec python3 benches/compare/commands.py "$@"
