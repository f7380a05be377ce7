#!/usr/bin/env bash
# Builds the program twice, in two folders, and compares the hashes.
#
#   packaging/reproducible.sh [CARGO-BUILD-ARGUMENT...]
#
# What is built is the last commit. Paths of this machine are replaced in what the
# compiler writes down, time stamps by that of the commit. The program is the same
# for the same sources, compiler (rustc -vV is printed) and linker.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cargo_home=${CARGO_HOME:-$HOME/.cargo}
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

# Prints the hash of a build in the folder of that name.
build() {
  local folder=$scratch/$1
  shift
  mkdir -p "$folder/source"
  git archive HEAD | tar -x -C "$folder/source"
  local remap="--remap-path-prefix=$folder/source=profbridge --remap-path-prefix=$cargo_home=cargo"
  remap+=" --remap-path-prefix=$folder/target=target"
  # Compilers of C write their paths down as well.
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
# Longer, so that a path that was kept shows in the size too.
second=$(build another-place "$@")
echo "first  $first"
echo "second $second"
[ "$first" = "$second" ] || { echo "FAILED: the builds differ" >&2; exit 1; }
echo "the builds are the same"
