#!/usr/bin/env bash
# Runs the whole test suite; the only command that a new Debian machine needs.
#
#   ./test.sh                    install missing packages (as root), then run all tests
#   ./test.sh --no-install       run with the installed packages
#   ./test.sh --require          fail if a tool that Debian packages is missing, and if a test is skipped
#                                for a reason that is not listed below
#   ./test.sh [...] -- ARGUMENT  pass ARGUMENTs to `cargo test`, and skip the Python package
#
# Only Rust and a C compiler are required. Tests that compare with other tools are skipped if these are missing; the
# script lists them first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

install=yes
require=no
while [ $# -gt 0 ]; do
  case $1 in
    --no-install) install=no ;;
    --require) require=yes ;;
    --) shift; break ;;
    *) echo "usage: $0 [--no-install] [--require] [-- CARGO-TEST-ARGUMENT...]" >&2; exit 1 ;;
  esac
  shift
done

RELEASES="13 14 15 16 19 22"

say() { printf '%s\n' "$*" >&2; }
has() { command -v "$1" >/dev/null 2>&1; }

# The packages whose programs are missing, one per line.
missing_packages() {
  has cc || printf '%s\n' gcc libc6-dev
  has curl || has cargo || printf '%s\n' curl ca-certificates
  local release
  for release in $RELEASES; do
    has "llvm-profdata-$release" || echo "llvm-$release"
    has "clang-$release" || echo "clang-$release"
    # LLVM 14 and later have a separate package for the profile runtime (in Debian 12 not for 15).
    if [ "$release" -ge 14 ] && [ "$release" != 15 ] && ! compgen -G "/usr/lib/llvm-$release/lib/clang/*/lib/linux/libclang_rt.profile-*.a" >/dev/null; then
      echo "libclang-rt-$release-dev"
    fi
  done
  has java || echo default-jdk-headless
  has perf || echo linux-perf
  has mandoc || echo mandoc
  # For debug info that programs share.
  has dwz || echo dwz
  # For counting instructions.
  has valgrind || echo valgrind
  # For compressed inputs and outputs.
  has zstd || echo zstd
  # For the labels of reports.
  has node || echo nodejs
  has xz || echo xz-utils
  # Checkers for packaging files.
  has shellcheck || echo shellcheck
  has yamllint || echo yamllint
  has ruby || echo ruby
  has nix-instantiate || echo nix-bin
  # For the tests of the Python package.
  python3 -c 'import ensurepip, venv' 2>/dev/null || printf '%s\n' python3 python3-venv
  # A browser for the tests of reports and flame graphs.
  has chromedriver || printf '%s\n' chromium chromium-driver
}

# Returns true if this Debian release has a package. Reads the whole answer, because a reader that stops early ends
# apt-cache with a signal, which fails the pipe.
is_in_debian() {
  apt-cache policy "$1" 2>/dev/null | grep 'Candidate: [^(]' >/dev/null
}

# The missing packages that this Debian release has, one per line.
missing_in_debian() {
  local package
  has apt-get || return 0
  missing_packages | while read -r package; do
    if is_in_debian "$package"; then echo "$package"; fi
  done
}

# Installs the missing packages that this Debian release has. Never fails: the script lists the packages that are not
# available.
install_packages() {
  local missing available=() package
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ] || ! has apt-get; then
    say "not installed (needs root and apt-get): ${missing[*]}"
    return 0
  fi
  apt-get update -qq >&2 || say "cannot refresh the package lists"
  for package in "${missing[@]}"; do
    if is_in_debian "$package"; then available+=("$package"); else say "this release has no package $package"; fi
  done
  [ ${#available[@]} -gt 0 ] || return 0
  say "installing: ${available[*]}"
  export DEBIAN_FRONTEND=noninteractive
  local install="apt-get install -y -qq --no-install-recommends"
  $install "${available[@]}" >/dev/null && return 0
  # A package that cannot be installed must not prevent the others.
  for package in "${available[@]}"; do
    $install "$package" >/dev/null || say "cannot install $package, going on without"
  done
}

# Debian's rustc may be older than `rust-version` in Cargo.toml.
install_rust() {
  has cargo && return 0
  [ -x "$HOME/.cargo/bin/cargo" ] && { export PATH="$HOME/.cargo/bin:$PATH"; return 0; }
  [ "$install" = yes ] && has curl || { say "cargo is needed: https://rustup.rs"; exit 1; }
  say "installing Rust with rustup"
  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y -q --profile minimal >&2
  export PATH="$HOME/.cargo/bin:$PATH"
}

# The tests that will be skipped.
list_skipped_tests() {
  local release
  for release in $RELEASES; do
    has "llvm-profdata-$release" || say "SKIPPED: comparisons with llvm-profdata $release"
    has "clang-$release" || say "SKIPPED: compiling with clang $release"
  done
  for release in 17 18 20 21 23; do
    local folder=LLVM_${release}_BIN
    has "clang-$release" || [ -x "${!folder:-.llvm/llvm-$release/bin}/clang" ] ||
      say "SKIPPED: comparisons with LLVM $release, which tests/releases/install.sh can install"
  done
  for release in 6 7 8 9 10 11; do
    [ -e ".llvm/passes-$release" ] ||
      say "SKIPPED: profiles used by LLVM $release, whose passes tests/releases/install.sh can install"
  done
  has llvm-cov-22 || say "SKIPPED: reports of llvm-cov 22"
  rustc -vV | grep -qE '^LLVM version: (2[2-9]|[3-9])' || say "SKIPPED: rustc -C profile-use (needs a rustc with LLVM 22 or later)"
  has java || say "SKIPPED: tests that run Java"
  has chromedriver || say "SKIPPED: reports and flame graphs in a browser"
}

if [ "$install" = yes ]; then install_packages; fi
install_rust
list_skipped_tests
# With arguments, only tests of the main package run.
python=no
if [ $# -eq 0 ]; then python=yes; fi
# Without output capture, so that skipped tests print their reason.
if [ $# -eq 0 ]; then set -- -- --show-output; fi
if [ "$require" != yes ]; then
  cargo test --locked "$@"
  [ "$python" = no ] || python/test.sh
  say "All tests passed. The tests that could not run here are listed above as SKIPPED."
  exit
fi

# The skips that are allowed on a machine with all of Debian's packages: LLVM releases, clients and a Go release that
# Debian does not package, old profiles and fuzz corpora outside the repository, limits that do not apply to root, tests
# that need a network, toolchains that are built differently, and compiler options of later releases.
ALLOWED_SKIPS='(llvm-profdata|llvm-cov|clang|clang\+\+)-(17|18|20|21|23)
PROFBRIDGE_REAL_PROFILES|old release|real profiles
(cargo-llvm-cov|cargo-pgo|grcov|lld-link-22) not installed
mdbook is not installed
: go( is|:)
no corpus in
this user may write to files
cargo metadata
llvm-profdata of its own
not built with LLVM 22
small file system cannot be mounted
of release (17|18|20|21|23) are not installed
the passes of LLVM (6|7|8|9|10|11) are not installed
perf cannot record here|perf took no sample
rustc does not have -C profile-sample-use
a descriptor may not be taken by its number
none was seen for real'

absent=$(missing_in_debian)
[ -z "$absent" ] || { say "FAILED: missing packages that Debian has: ${absent//$'\n'/ }"; exit 1; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# All test programs run, so that one run lists every failure.
cargo test --locked --no-fail-fast "$@" 2>&1 | tee "$log"
skipped=$(grep -o 'SKIPPED: .*' "$log" | sort -u | grep -vE "${ALLOWED_SKIPS//$'\n'/|}" || true)
[ -z "$skipped" ] || { say "FAILED: required tests were skipped:" "$skipped"; exit 1; }
[ "$python" = no ] || python/test.sh --require
say "All tests passed."
