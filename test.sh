#!/usr/bin/env bash
# Passes the whole test suite; the one command for a fresh Debian machine.
#
#   ./test.sh                    install what is missing (as root), run all tests
#   ./test.sh --no-install       run with what is there
#   ./test.sh [...] -- ARGUMENT  further arguments go to `cargo test`
#
# Only Rust and a C compiler are needed. The tests that compare with the genuine
# tools skip where those are missing; what will be skipped is said before they run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

install=yes
while [ $# -gt 0 ]; do
  case $1 in
    --no-install) install=no ;;
    --) shift; break ;;
    *) echo "usage: $0 [--no-install] [-- CARGO-TEST-ARGUMENT...]" >&2; exit 1 ;;
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
  # A browser for the tests of the pictures.
  has chromedriver || printf '%s\n' chromium chromium-driver
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
    if apt-cache policy "$package" 2>/dev/null | grep -q 'Candidate: [^(]'; then available+=("$package"); else say "no package $package here"; fi
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
  has llvm-cov-22 || say "SKIPPED: reports of llvm-cov 22"
  rustc --version | grep -q '^rustc 1\.9[5-9]' || say "SKIPPED: rustc -C profile-use (needs a rustc whose LLVM is 22)"
  has java || say "SKIPPED: tests that run Java"
  has chromedriver || say "SKIPPED: opening the pictures in a browser"
}

if [ "$install" = yes ]; then install_packages; fi
install_rust
say_what_is_skipped
# Without the harness's capture a test that skips itself says so.
if [ $# -eq 0 ]; then set -- -- --show-output; fi
exec cargo test --locked "$@"
