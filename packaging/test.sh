#!/usr/bin/env bash
# Tests the packages of a version: installs the Debian package, uses it and removes it; installs the wheel into an empty
# environment; runs the program in a file system without other files; unpacks the archive like cargo-binstall.
#
#   packaging/test.sh VERSION    after packaging/release.sh VERSION; as root
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=${1:?usage: packaging/test.sh VERSION}
dist=$PWD/dist/$version
host=$(rustc -vV | sed -n 's/^host: //p')
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

say() { printf '%s\n' "$*"; }
fail() {
  say "FAILED: $*"
  exit 1
}

(cd "$dist" && sha256sum --quiet --check SHA256SUMS) || fail "checksums"
say "checksums: ok"

# Merges two files with the given program and checks the output.
works() {
  printf ':ir\nmain\n1\n1\n5\n' >"$scratch/a.proftext"
  "$@" merge "$scratch/a.proftext" "$scratch/a.proftext" -o "$scratch/a.profdata"
  "$@" show "$scratch/a.profdata" | grep -q 'Maximum function count: 10'
}

# Programs for this processor run with any C library.
for archive in "$dist/profbridge-$version-${host%%-*}"-*-linux-*.tar.gz; do
  rm -rf "$scratch/archive"
  mkdir "$scratch/archive"
  tar -C "$scratch/archive" -xzf "$archive"
  unpacked=$scratch/archive/profbridge-$version
  works "$unpacked/profbridge" || fail "the program of ${archive##*/}"
  if ldd "$unpacked/profbridge" 2>/dev/null | grep -q '=>'; then fail "the program of ${archive##*/} is not static"; fi
  [ -s "$unpacked/man/profbridge-merge.1" ] || fail "the manual pages of ${archive##*/}"
  say "${archive##*/}: ok"
done

root=$scratch/root
mkdir -p "$root/data"
tar -C "$root" -xzf "$dist/profbridge-$version-container.tar.gz"
printf ':ir\nmain\n1\n1\n5\n' >"$root/data/a.proftext"
chroot "$root" /profbridge merge /data/a.proftext -o /data/a.profdata --quiet || fail "the image's program"
chroot "$root" /llvm-profdata show /data/a.profdata | grep -q 'Maximum function count: 5' || fail "the image's link"
say "image as a chroot: ok"

# The archive that cargo-binstall would download exists.
crate=$dist/profbridge-$version.crate
repository=$(tar -xzOf "$crate" "profbridge-$version/Cargo.toml" | sed -n 's/^repository = "\(.*\)"$/\1/p')
if [ -n "$repository" ]; then
  pattern=$(tar -xzOf "$crate" "profbridge-$version/Cargo.toml" | sed -n 's/^pkg-url = "\(.*\)"$/\1/p')
  address=$(sed "s|{ repo }|$repository|; s|{ name }|profbridge|; s|{ version }|$version|g; s|{ target }|$host|" <<<"$pattern")
  [ -f "$dist/${address##*/}" ] || fail "nothing was made for cargo-binstall's address $address"
  say "cargo-binstall's address: ok, $address"
else
  say "SKIPPED: cargo-binstall's URL: ADDRESS is not set"
fi

for part in ".cdx.json" "-licences.txt" "-notes.md"; do
  [ -s "$dist/profbridge-$version$part" ] || fail "no profbridge-$version$part"
done
python3 -m json.tool "$dist/profbridge-$version.cdx.json" >/dev/null || fail "the bill of materials is not JSON"
say "licences, bill of materials, notes: ok"

wheel=$(find "$dist" -name '*.whl')
if [ -n "$wheel" ]; then
  python3 -m venv "$scratch/venv"
  "$scratch/venv/bin/pip" --disable-pip-version-check --quiet install --no-index "$wheel" || fail "the wheel's installation"
  works "$scratch/venv/bin/profbridge" || fail "the wheel's program"
  (cd "$scratch" && venv/bin/python -c 'import profbridge, sys; sys.exit(len(profbridge.read("a.profdata")) != 1)') ||
    fail "the Python package"
  say "wheel: ok"
else
  say "SKIPPED: no wheel was made"
fi

deb=$(find "$dist" -name '*.deb')
if [ -z "$deb" ]; then
  say "SKIPPED: no Debian package was made"
  exit 0
fi
if command -v lintian >/dev/null; then
  lintian --fail-on error,warning "$deb" || fail "lintian"
  say "lintian: ok"
else
  say "SKIPPED: lintian is not installed"
fi
before=$(readlink -f /usr/bin/llvm-profdata || true)
dpkg -i "$deb" >/dev/null
trap 'dpkg -r profbridge >/dev/null 2>&1 || true; rm -rf "$scratch"' EXIT
works /usr/bin/profbridge || fail "the installed program"
[ "$(readlink -f /usr/bin/llvm-profdata || true)" = "$before" ] || fail "llvm-profdata was replaced unasked"
/usr/lib/profbridge/bin/llvm-profdata show "$scratch/a.profdata" | grep -q 'Maximum function count: 10' || fail "the link"
man -w profbridge-merge >/dev/null 2>&1 || [ -s /usr/share/man/man1/profbridge-merge.1.gz ] || fail "manual pages"
bash -c '. /usr/share/bash-completion/completions/profbridge && complete -p profbridge' >/dev/null || fail "completions"
if [ -z "$before" ]; then
  update-alternatives --install /usr/bin/llvm-profdata llvm-profdata /usr/lib/profbridge/bin/llvm-profdata 10
  [ "$(readlink -f /usr/bin/llvm-profdata)" = /usr/bin/profbridge ] || fail "the alternative"
fi
dpkg -r profbridge >/dev/null
if [ -e /usr/bin/profbridge ] || [ -e /usr/lib/profbridge ]; then fail "something is left after the removal"; fi
[ "$(readlink -f /usr/bin/llvm-profdata || true)" = "$before" ] || fail "an alternative outlives the package"
say "Debian package: ok"
