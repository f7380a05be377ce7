#!/usr/bin/env bash
# Creates the files that the real tools write for the texts in this directory. Needs llvm-profdata of the releases in
# this script.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

printf 'alone\nmain\nnever_sampled\n' >symbols.list
for release in 14 16 19 22; do
  tool=llvm-profdata-$release
  for text in plain probes contexts context-probes; do
    stem=$text-$release
    "$tool" merge --sample --text $text.prof -o "$stem.text"
    "$tool" merge --sample --extbinary $text.prof --prof-sym-list=symbols.list -o "$stem.ext"
    "$tool" merge --sample --extbinary --use-md5 --compress-all-sections $text.prof -o "$stem.md5"
    "$tool" show --sample $text.prof >"$stem.show"
  done
  "$tool" merge --sample --binary plain.prof -o "plain-$release.binary"
done
llvm-profdata-16 merge --sample --compbinary plain.prof -o plain-16.compact
llvm-profdata-22 merge --sample --extbinary --split-layout plain.prof -o plain-22.split
llvm-profdata-22 merge --sample --text --convert-sample-profile-layout=nest contexts.prof -o contexts-22.nested
llvm-profdata-22 merge --sample --text --convert-sample-profile-layout=flat contexts.prof -o contexts-22.flat

mkdir -p ../bad/sampleprof
python3 bad.py ../bad/sampleprof
