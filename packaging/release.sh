#!/usr/bin/env bash
# Makes everything that a release consists of, in dist/VERSION:
#
#   packaging/release.sh VERSION [STEP...]
#
# Steps, all of them unless some are named: source binaries debian wheels
# container homebrew sbom licences notes checksums. A step whose tool is not here
# is skipped, and the last lines say which; the exit code is 0 then, and 1 when a
# step failed. ADDRESS in the environment says where the project is, for the
# crate and the formula: cargo-binstall looks for the archives below it.
#
#   source      the crate as it would be published
#   binaries    static programs: glibc, and each target of TARGETS that is installed
#   debian      a Debian package of the static program (needs cargo-deb)
#   wheels      the Python package for this system (needs maturin, or MATURIN that says where it is)
#   container   the file system of the image: the program and nothing else
#   homebrew    the formula of this version (needs ADDRESS)
#   sbom        what the program is made of, as CycloneDX
#   licences    the licence texts of all dependencies
#   notes       the part of the changelog that is about this version
#   checksums   SHA-256 of all of it
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=${1:?usage: packaging/release.sh VERSION [STEP...]}
shift
steps=("$@")
[ ${#steps[@]} -gt 0 ] || steps=(source binaries debian wheels container homebrew sbom licences notes checksums)

name=profbridge
host=$(rustc -vV | sed -n 's/^host: //p')
TARGETS=${TARGETS:-$host x86_64-unknown-linux-musl aarch64-unknown-linux-gnu aarch64-unknown-linux-musl}
dist=$PWD/dist/$version
target=${CARGO_TARGET_DIR:-$PWD/target}
mkdir -p "$dist"
skipped=()

say() { printf '%s\n' "$*" >&2; }
skip() { skipped+=("$*"); say "SKIPPED: $*"; }
has() { command -v "$1" >/dev/null 2>&1; }

crate_version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
if [ "$version" != "$crate_version" ]; then
  say "error: Cargo.toml says $crate_version, not $version"
  exit 1
fi

# The same bytes wherever it is built: no folder names, no dates.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
remap="--remap-path-prefix=$PWD=/build --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"

# The archive of a program; binstall's addresses in Cargo.toml name it as well.
archive() { printf '%s-%s-%s.tar.gz' "$name" "$version" "$1"; }

# Where the program of a target is built.
built() { printf '%s/%s/release/%s' "$target" "$1" "$name"; }

has_target() { [ -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ]; }

# A program that needs nothing of the machine. The relocations of a short run are a twentieth of its memory unless packed.
build() {
  local flags="-C target-feature=+crt-static"
  case $1 in *-linux-gnu) flags+=" -C link-arg=-Wl,-z,pack-relative-relocs" ;; esac
  RUSTFLAGS="$flags $remap" cargo build --locked --release --target "$1" --bin "$name"
  strip "$(built "$1")" 2>/dev/null || true
}

need_host_program() { [ -x "$(built "$host")" ] || build "$host"; }

# Manual pages and completions, made by the program itself.
documents() {
  local folder=$1 program
  program=$(built "$host")
  mkdir -p "$folder/man" "$folder/completions"
  "$program" man "$folder/man"
  "$program" completions bash >"$folder/completions/$name"
  "$program" completions zsh >"$folder/completions/_$name"
  "$program" completions fish >"$folder/completions/$name.fish"
}

# An archive whose bytes depend on its files alone.
packed() {
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$1" -cf - . | gzip -9n >"$2"
}

# The crate's own Cargo.toml says where the project is, which this tree does not know.
make_source() {
  local folder
  folder=$(mktemp -d)
  git ls-files -z | xargs -0 cp --parents -t "$folder"
  if [ -n "${ADDRESS:-}" ]; then
    sed -i "0,/^readme = /s|^readme = |repository = \"$ADDRESS\"\n&|" "$folder/Cargo.toml"
  fi
  (cd "$folder" && CARGO_TARGET_DIR=$target cargo package --locked --no-verify --allow-dirty --quiet)
  rm -rf "$folder"
  cp "$target/package/$name-$version.crate" "$dist/"
}

make_binaries() {
  local one folder
  for one in $TARGETS; do
    if ! has_target "$one"; then
      skip "binaries for $one: rustc has no standard library for it here"
      continue
    fi
    build "$one"
    folder=$(mktemp -d)
    mkdir "$folder/$name-$version"
    need_host_program
    documents "$folder/$name-$version"
    cp "$(built "$one")" README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$folder/$name-$version/"
    packed "$folder" "$dist/$(archive "$one")"
    rm -rf "$folder"
  done
}

# Debian's form of a changelog, whose entry leads to ours.
debian_changelog() {
  local maintainer
  maintainer=$(sed -n 's/^maintainer = "\(.*\)"$/\1/p' Cargo.toml)
  printf '%s (%s-1) unstable; urgency=medium\n\n' "$name" "$version"
  printf '  * Version %s; what changed is in CHANGELOG.md.\n\n' "$version"
  printf ' -- %s  %s\n' "$maintainer" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")"
}

make_debian() {
  if ! cargo deb --version >/dev/null 2>&1; then
    skip "debian: cargo-deb is not installed (cargo install cargo-deb)"
    return
  fi
  need_host_program
  rm -rf "$target/debian-assets"
  documents "$target/debian-assets"
  find "$target/debian-assets/man" -name '*.1' -exec gzip -9n {} +
  ln -s ../../../bin/profbridge "$target/debian-assets/llvm-profdata"
  debian_changelog >"$target/debian-assets/changelog"
  # The static program needs no packages, so nothing is derived from it.
  cargo deb --no-build --no-strip --target "$host" --output "$dist/"
}

make_wheels() {
  local maturin=${MATURIN:-maturin}
  if ! has "$maturin"; then
    skip "wheels: maturin is not installed (pip install maturin)"
    return
  fi
  # The tag is what the libraries of this machine permit; nothing is copied into the wheel.
  (cd python && RUSTFLAGS="$remap" CARGO_TARGET_DIR=$target \
    "$maturin" build --quiet --release --locked --auditwheel check --out "$dist")
}

make_container() {
  need_host_program
  local root
  root=$(mktemp -d)
  cp "$(built "$host")" "$root/$name"
  ln -s "$name" "$root/llvm-profdata"
  packed "$root" "$dist/$name-$version-container.tar.gz"
  rm -rf "$root"
}

make_homebrew() {
  if [ -z "${ADDRESS:-}" ]; then
    skip "homebrew: ADDRESS does not say where the project is"
    return
  fi
  [ -f "$dist/$name-$version.crate" ] || make_source
  local sum
  sum=$(sha256sum "$dist/$name-$version.crate" | cut -d' ' -f1)
  sed -e "s|@ADDRESS@|$ADDRESS|g; s|@VERSION@|$version|g; s|@SHA256@|$sum|g" packaging/homebrew/$name.rb >"$dist/$name.rb"
}

make_sbom() {
  has python3 || { skip "sbom: no python3"; return; }
  python3 packaging/sbom.py >"$dist/$name-$version.cdx.json"
}

make_licences() {
  has python3 || { skip "licences: no python3"; return; }
  python3 packaging/licences.py >"$dist/$name-$version-licences.txt"
}

make_notes() { packaging/notes.sh "$version" >"$dist/$name-$version-notes.md"; }

make_checksums() {
  local files
  mapfile -t files < <(cd "$dist" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort)
  (cd "$dist" && sha256sum -- "${files[@]}" >SHA256SUMS)
}

for step in "${steps[@]}"; do
  case $step in
    source | binaries | debian | wheels | container | homebrew | sbom | licences | notes | checksums) say "== $step" && "make_$step" ;;
    *) say "error: there is no step $step" && exit 1 ;;
  esac
done
say "== $dist"
ls -l "$dist" >&2
for what in "${skipped[@]}"; do say "SKIPPED: $what"; done
