#!/usr/bin/env bash
# Builds the program twice in two directories and compares the hashes.
#
#   packaging/reproducible.sh [CARGO-BUILD-ARGUMENT...]
#
# Builds the last commit. The compiler replaces paths of this machine, and time stamps are that of the commit. The hash
# depends on the sources, the compiler (rustc -vV is printed) and the linker.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cargo_home=${CARGO_HOME:-$HOME/.cargo}
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

# Prints the hash of a build in the directory with this name.
build() {
  local folder=$scratch/$1
  shift
  mkdir -p "$folder/source"
  git archive HEAD | tar -x -C "$folder/source"
  local remap="--remap-path-prefix=$folder/source=profbridge --remap-path-prefix=$cargo_home=cargo"
  remap+=" --remap-path-prefix=$folder/target=target"
  # C compilers also write paths.
  local c_flags="-ffile-prefix-map=$folder=build -ffile-prefix-map=$cargo_home=cargo"
  (
    cd "$folder/source"
    RUSTFLAGS="${RUSTFLAGS:-} $remap" CFLAGS="${CFLAGS:-} $c_flags" CARGO_TARGET_DIR=$folder/target \
      cargo build --quiet --release --locked --bin profbridge "$@" >&2
  )
  sha256sum <"$folder/target/release/profbridge" | cut -d ' ' -f 1
  rm -rf "$folder"
}

rustc -vV
first=$(build one "$@")
# A longer name, so that a remaining path also changes the size.
second=$(build another-place "$@")
echo "first  $first"
echo "second $second"
[ "$first" = "$second" ] || { echo "FAILED: the builds differ" >&2; exit 1; }
echo "the builds are the same"
