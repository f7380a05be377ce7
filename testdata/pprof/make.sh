#!/bin/sh
# Creates the profiles in this directory.
#
#   PROFBRIDGE_GO=/dir/bin/go testdata/pprof/make.sh
#
# Needs Go 1.21 or later and no network. Samples differ between runs. The program has a neutral path, because profiles
# contain it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
go=${PROFBRIDGE_GO:-go}
program=/opt/shapes/shapes
work=$(mktemp -d)
trap 'rm -rf "$work" "${program%/*}"' EXIT
export GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local
cp "$here/main.go" "$here/shapes.go" "$work"
cd "$work"
printf 'module example.org/shapes\n\ngo 1.21\n' > go.mod
mkdir -p "${program%/*}"
"$go" build -trimpath -pgo=off -o "$program" .
"$program" cpu "$here/squares.pprof" 1500 2
"$program" cpu "$here/circles.pprof" 1500 14
"$program" heap "$here/heap.pprof" 0 0
python3 "$here/bad.py" "$here/bad"
