#!/usr/bin/env bash
# Passes the whole test suite; the one command for a fresh Debian machine.
#
#   ./test.sh                    install what is missing (as root), run all tests
#   ./test.sh --no-install       run with what is there
#   ./test.sh --require          a tool that Debian has and that is missing is a failure, and so
#                                is a test that skips itself for another reason than those below
#   ./test.sh [...] -- ARGUMENT  further arguments go to `cargo test`, and the Python package is left out
#
# Only Rust and a C compiler are needed. The tests that compare with the genuine
# tools skip where those are missing; what will be skipped is said before they run.
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

# The packages whose programs are not there, one a line.
missing_packages() {
  has cc || printf '%s\n' gcc libc6-dev
  has curl || has cargo || printf '%s\n' curl ca-certificates
  local release
  for release in $RELEASES; do
    has "llvm-profdata-$release" || echo "llvm-$release"
    has "clang-$release" || echo "clang-$release"
    # The profile runtime is a package of its own since 14 (in Debian 12 not for 15).
    if [ "$release" -ge 14 ] && [ "$release" != 15 ] && ! compgen -G "/usr/lib/llvm-$release/lib/clang/*/lib/linux/libclang_rt.profile-*.a" >/dev/null; then
      echo "libclang-rt-$release-dev"
    fi
  done
  has java || echo default-jdk-headless
  has perf || echo linux-perf
  has mandoc || echo mandoc
  # Counts instructions.
  has valgrind || echo valgrind
  # Compressed inputs, and outputs.
  has zstd || echo zstd
  has xz || echo xz-utils
  # Checkers of what packages are made from.
  has shellcheck || echo shellcheck
  has yamllint || echo yamllint
  has ruby || echo ruby
  has nix-instantiate || echo nix-bin
  # The Python package has tests of its own.
  python3 -c 'import ensurepip, venv' 2>/dev/null || printf '%s\n' python3 python3-venv
  # A browser for the tests of the pictures.
  has chromedriver || printf '%s\n' chromium chromium-driver
}

# Whether this Debian has a package. All of the answer is read: a reader that
# leaves early would end apt-cache by a signal, which is a failure of the pipe.
is_in_debian() {
  apt-cache policy "$1" 2>/dev/null | grep 'Candidate: [^(]' >/dev/null
}

# What is missing although Debian has it, one a line.
missing_although_there() {
  local package
  has apt-get || return 0
  missing_packages | while read -r package; do
    if is_in_debian "$package"; then echo "$package"; fi
  done
}

# Installs those of the missing packages that this Debian has. Never fails:
# what could not be had is skipped and said.
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
    if is_in_debian "$package"; then available+=("$package"); else say "no package $package here"; fi
  done
  [ ${#available[@]} -gt 0 ] || return 0
  say "installing: ${available[*]}"
  export DEBIAN_FRONTEND=noninteractive
  local install="apt-get install -y -qq --no-install-recommends"
  $install "${available[@]}" >/dev/null && return 0
  # One package that cannot be had must not keep the others away.
  for package in "${available[@]}"; do
    $install "$package" >/dev/null || say "cannot install $package, going on without"
  done
}

# Debian's own rustc can be older than `rust-version` in Cargo.toml.
install_rust() {
  has cargo && return 0
  [ -x "$HOME/.cargo/bin/cargo" ] && { export PATH="$HOME/.cargo/bin:$PATH"; return 0; }
  [ "$install" = yes ] && has curl || { say "cargo is needed: https://rustup.rs"; exit 1; }
  say "installing Rust with rustup"
  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y -q --profile minimal >&2
  export PATH="$HOME/.cargo/bin:$PATH"
}

# What the tests will have to leave out.
say_what_is_skipped() {
  local release
  for release in $RELEASES; do
    has "llvm-profdata-$release" || say "SKIPPED: comparisons with llvm-profdata $release"
    has "clang-$release" || say "SKIPPED: compiling with clang $release"
  done
  for release in 17 18 20 21 23; do
    local folder=LLVM_${release}_BIN
    has "clang-$release" || [ -x "${!folder:-.llvm/llvm-$release/bin}/clang" ] ||
      say "SKIPPED: comparisons with LLVM $release, which tests/releases/install.sh can bring"
  done
  has llvm-cov-22 || say "SKIPPED: reports of llvm-cov 22"
  rustc -vV | grep -qE '^LLVM version: (2[2-9]|[3-9])' || say "SKIPPED: rustc -C profile-use (needs a rustc with LLVM 22 or later)"
  has java || say "SKIPPED: tests that run Java"
  has chromedriver || say "SKIPPED: opening the pictures in a browser"
}

if [ "$install" = yes ]; then install_packages; fi
install_rust
say_what_is_skipped
# Arguments choose among the tests of the main package.
python=no
if [ $# -eq 0 ]; then python=yes; fi
# Without the harness's capture a test that skips itself says so.
if [ $# -eq 0 ]; then set -- -- --show-output; fi
if [ "$require" != yes ]; then
  cargo test --locked "$@"
  [ "$python" = no ] || python/test.sh
  say "All tests passed. What could not be tried here stands above as SKIPPED."
  exit
fi

# What a machine with all of Debian's packages may still skip: releases, clients and a Go that it
# does not package, old profiles and fuzz corpora that are not in the tree, what root cannot be
# refused, what no network can bring, and toolchains that are made in another way.
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
perf cannot record here|perf took no sample
a descriptor may not be taken by its number
none was seen for real'

absent=$(missing_although_there)
[ -z "$absent" ] || { say "FAILED: missing, although Debian has it: ${absent//$'\n'/ }"; exit 1; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cargo test --locked "$@" 2>&1 | tee "$log"
skipped=$(grep -o 'SKIPPED: .*' "$log" | sort -u | grep -vE "${ALLOWED_SKIPS//$'\n'/|}" || true)
[ -z "$skipped" ] || { say "FAILED: tests that had to run skipped themselves:" "$skipped"; exit 1; }
[ "$python" = no ] || python/test.sh --require
say "All tests passed."
