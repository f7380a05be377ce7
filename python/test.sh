#!/usr/bin/env bash
# Builds the wheel of the Python package, installs it without a network and passes its tests.
#
#   python/test.sh              skip what is not available, with a message
#   python/test.sh --require    fail if something is not available
#   python/test.sh --tests X    only the tests X, with names like in unittest
#
# Needs python3 3.9 or later with venv, and cargo; pip installs maturin. The tools and the
# libraries for the tests are installed in target/python and stay there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

require=no
tests=()
while [ $# -gt 0 ]; do
  case $1 in
    --require) require=yes ;;
    --tests) shift; tests+=("$1") ;;
    *) echo "usage: $0 [--require] [--tests NAME]" >&2; exit 1 ;;
  esac
  shift
done

say() { printf '%s\n' "$*"; }
skip() {
  say "SKIPPED: $*"
  if [ "$require" = yes ]; then exit 1; fi
}

target=$PWD/../target/python
tools=$target/tools # maturin and the libraries
clean=$target/clean # the package alone
wheels=$target/wheels
python=$(command -v "${PYTHON:-python3}" || true)
if [ -z "$python" ] || ! "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
  skip "the Python package: python3 3.9 or later with venv is not installed"
  exit 0
fi

# The environments belong to one Python version, which may change.
version=$("$python" -c 'import sys; print(sys.version)')
if [ "$(cat "$target/version" 2>/dev/null)" != "$version" ]; then
  rm -rf "$tools" "$clean"
  mkdir -p "$target"
  "$python" -m venv "$tools"
  "$python" -m venv "$clean"
  printf '%s' "$version" >"$target/version"
fi
pip() { "$tools/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }
has() { "$tools/bin/python" -c "import importlib.util as u, sys; sys.exit(u.find_spec('$1') is None)"; }

if ! has maturin && ! pip install 'maturin>=1.9,<2'; then
  skip "the Python package: maturin cannot be installed"
  exit 0
fi
# One by one, because a library that is not available must not prevent the others.
for library in numpy pyarrow pandas polars duckdb matplotlib mypy twine abi3audit pyspark; do
  has "$library" || pip install "$library" || say "SKIPPED: $library cannot be installed"
done

# Shares the artifacts of the dev profile; benchmarks build with --release. The platform tag of the wheel depends on
# the libraries of this machine.
rm -rf "$wheels"
(
  PATH=$tools/bin:$PATH
  export CARGO_TARGET_DIR=$PWD/../target
  maturin build --quiet --locked --profile dev --auditwheel check --interpreter "$python" --out "$wheels"
)
# The tests compare the console script with this program.
(cd .. && cargo build --quiet --locked --bin profbridge)
wheel=$(echo "$wheels"/*.whl)
say "built $(basename "$wheel")"

# Only the wheel, from a directory and without a network.
install="-m pip --disable-pip-version-check --quiet install --no-index --find-links $wheels --force-reinstall --no-deps"
"$clean/bin/python" $install profbridge
"$tools/bin/python" $install profbridge

# Test the installed package, not the sources.
cd tests
"$clean/bin/profbridge" --version
PYTHONSAFEPATH=1 "$clean/bin/python" -c 'import profbridge; print(profbridge.merge([b":ir\nmain\n1\n1\n5\n"]))'
if [ ${#tests[@]} -eq 0 ]; then
  mapfile -t tests < <(printf '%s\n' test_*.py | sed 's/\.py$//')
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
PROFBRIDGE_WHEEL=$wheel "$tools/bin/python" -W error::SyntaxWarning -m unittest "${tests[@]}" 2>&1 | tee "$log"
if [ "$require" = yes ] && grep -q '^SKIPPED: ' "$log"; then
  say "FAILED: tests of the Python package skipped themselves"
  exit 1
fi
