#!/usr/bin/env bash
# Counts the instructions of a dozen small jobs and compares them with the counts
# in benches/guard/counts.txt. More than 3 % above is a failure.
#
#   benches/guard.sh                      compare
#   PROFBRIDGE_RENEW=1 benches/guard.sh   record the current counts
#   benches/guard.sh merge-raws show      some jobs only
#
# It measures no times, so other work on the machine does not matter. The counts
# are valid for one rustc and one kind of processor; otherwise, and without
# valgrind, it prints SKIPPED and succeeds. Needs valgrind.
# Builds the profile `guard` into target/guard.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

COUNTS=benches/guard/counts.txt
TOLERANCE=3 # per cent
compiler="$(rustc -vV | sed -n 's/^release: //p') $(rustc -vV | sed -n 's/^host: //p')"

skip() { echo "SKIPPED: instruction counts: $1"; exit 0; }

command -v valgrind >/dev/null || skip "valgrind is not installed"
noted="$(sed -n 's/^# rustc //p' "$COUNTS" 2>/dev/null || true)"
if [ -z "${PROFBRIDGE_RENEW:-}" ] && [ "$noted" != "$compiler" ]; then
  skip "the recorded counts are for rustc $noted, this is $compiler"
fi

cargo build --locked --quiet --profile guard --bin profbridge
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
program=$PWD/target/guard/profbridge
ln -s "$program" "$work/llvm-profdata"
cd "$work"

# Creates the inputs. The same seed gives the same bytes in every version of a major release.
make() { "$program" generate --seed 20261122 "$@" >made.log 2>&1 || { cat made.log >&2; exit 1; }; }
for format in raw indexed text; do
  make --format "$format" --for llvm-22 --functions 4000 --kinds values --files 3 -o runs
  for run in 1 2 3; do for file in runs/file-000"$run".*; do mv "$file" "$run.${file##*.}"; done; done
done
make --format sample-text --functions 2000 -o 1.prof
make --format sample-extbinary --functions 2000 -o 1.afdo
make --format iprof --methods 2000 --contexts 6000 -o 1.iprof
make --format collapsed --functions 500 --contexts 1000 -o 1.collapsed

# name | program | arguments
jobs() {
  cat <<'JOBS'
start-up|profbridge|--version
one-raw|profbridge|merge --for llvm-22 -j1 1.profraw -o out.profdata
merge-raws|profbridge|merge --for llvm-22 -j1 1.profraw 1.profraw 1.profraw 2.profraw 2.profraw 3.profraw -o out.profdata
merge-raws-drop-in|llvm-profdata|merge -num-threads=1 1.profraw 1.profraw 1.profraw 2.profraw 2.profraw 3.profraw -o out.profdata
merge-indexed|profbridge|merge --for llvm-22 -j1 1.profdata 2.profdata 3.profdata -o out.profdata
text-out|profbridge|merge --for llvm-22 -j1 --text 1.profdata -o out.proftext
text-out-drop-in|llvm-profdata|merge -num-threads=1 -text 1.profdata -o out.proftext
text-in|profbridge|merge --for llvm-22 -j1 1.proftext -o out.profdata
show|profbridge|show --all-functions --counts --ic-targets 1.profraw -o out.txt
show-top|profbridge|show --topn=10 1.profdata -o out.txt
check|profbridge|check 1.profdata
sample-text|profbridge|merge 1.prof 1.prof -o out.afdo
sample-show|profbridge|show 1.afdo -o out.txt
iprof-check|profbridge|check 1.iprof
iprof-merge|profbridge|merge 1.iprof 1.iprof -o out.iprof
stacks-flamegraph|profbridge|flamegraph 1.collapsed -o out.svg
JOBS
}

# Returns the instructions of a command. The C library selects functions for the processor, so select the baseline
# ones, and clear the environment.
count() {
  env -i PATH="$PATH" GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-AVX2_Usable,-ERMS,-AVX512F valgrind --tool=cachegrind --cache-sim=no \
    --cachegrind-out-file=/dev/null "$@" 2>counted.log >/dev/null || { cat counted.log >&2; return 1; }
  sed -n 's/.*I *refs: *//p' counted.log | tr -d ,
}

failed=0
{
  echo "# Instructions of the jobs of benches/guard.sh, which PROFBRIDGE_RENEW=1 records again."
  echo "# rustc $compiler"
} >counts.txt
while IFS='|' read -r name called arguments; do
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  if [ "$called" = profbridge ]; then called=$program; else called=$work/$called; fi
  # shellcheck disable=SC2086
  now=$(count "$called" $arguments)
  printf '%-20s %12d\n' "$name" "$now" >>counts.txt
  before=$(awk -v name="$name" '$1 == name { print $2 }' "$OLDPWD/$COUNTS" 2>/dev/null || true)
  if [ -n "${PROFBRIDGE_RENEW:-}" ] || [ -z "$before" ]; then
    printf '%-20s %12d\n' "$name" "$now"
    [ -n "${PROFBRIDGE_RENEW:-}" ] || { echo "  not recorded yet"; failed=1; }
    continue
  fi
  change=$(awk -v now="$now" -v before="$before" 'BEGIN { printf "%+.1f", (now - before) * 100 / before }')
  verdict=
  if awk -v c="$change" -v t=$TOLERANCE 'BEGIN { exit !(c > t) }'; then verdict=" FAILED: above $TOLERANCE %"; failed=1; fi
  if awk -v c="$change" -v t=$TOLERANCE 'BEGIN { exit !(c < -t) }'; then verdict=" less: record it with PROFBRIDGE_RENEW=1"; fi
  printf '%-20s %12d %6s %%%s\n' "$name" "$now" "$change" "$verdict"
done < <(jobs)

if [ -n "${PROFBRIDGE_RENEW:-}" ]; then
  [ $# -eq 0 ] || { echo "PROFBRIDGE_RENEW=1 needs all jobs" >&2; exit 1; }
  cp counts.txt "$OLDPWD/$COUNTS"
fi
exit $failed
