#!/usr/bin/env bash
# Creates the files of this directory with the compilers that their names state; see README.md.
#
#   testdata/make.sh            all files
#   testdata/make.sh raw        only raw/       (also: merge, correlate, memprof, bad)
#
# Needs clang and llvm-profdata of every release in $CLANGS, and rustc 1.95. A missing tool is an error, because a
# partial directory would look complete. Release N is clang-N and llvm-profdata-N on the search path, or clang and
# llvm-profdata in the directory LLVM_N_BIN.
set -euo pipefail
export LC_ALL=C TZ=UTC
unset LLVM_PROFILE_FILE

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cp "$here"/src/* "$build"
cd "$build"

CLANGS="13 14 15 16 17 18 19 20 21 22 23"
# The release whose llvm-profdata reads the profiles of rustc 1.95.
RUSTC_RELEASE=22

# Addresses are part of a raw profile. Without address randomization, this script always creates the same bytes.
if setarch -R true 2>/dev/null; then still=(setarch -R); else still=(); fi

# The binary contains paths, so its build id and the profile depend on them.
places=("-ffile-prefix-map=$build=." -fcoverage-compilation-dir=. -fdebug-compilation-dir=.)

note() { printf '%s\n' "$*" >&2; }

# The programs in the directories LLVM_N_BIN, with the names and defaults of Debian's packages: build ids, and the GNU
# C++ library.
mkdir tools
export PATH=$build/tools:$PATH
for release in $CLANGS; do
  folder=LLVM_${release}_BIN
  folder=${!folder:-}
  [ -n "$folder" ] || continue
  for line in "llvm-profdata" "clang -Wl,--build-id" "clang++ -Wl,--build-id -stdlib=libstdc++"; do
    printf '#!/bin/sh\nexec "%s"/%s "$@"\n' "$folder" "$line" >"tools/${line%% *}-$release"
  done
done
chmod -f +x tools/* || true

# run PROFILE PROGRAM [ARGUMENT...]: runs PROGRAM so that it writes PROFILE.
run() {
  local profile=$1
  shift
  LLVM_PROFILE_FILE=$profile "${still[@]}" "$@" >/dev/null
}

# golden RELEASE STEM [OPTION...]: the output of `llvm-profdata merge` of RELEASE for STEM.profraw, with OPTIONs, and
# the output of `show`, by LLVM 22 if it reads the file, otherwise by LLVM 23, which prints the same text.
golden() {
  local release=$1 stem=$2
  shift 2
  local tool=llvm-profdata-$release
  "$tool" merge --num-threads=1 "$@" "$stem.profraw" -o "$stem.profdata"
  "$tool" merge --num-threads=1 --text "$@" "$stem.profraw" -o "$stem.proftext"
  if [ "$release" -ge 19 ] && [ $# -eq 0 ]; then
    "$(shower "$release")" show --all-functions --counts --ic-targets --memop-sizes "$stem.profraw" >"$stem.show"
  fi
}

# shower RELEASE: the llvm-profdata that can show the files of RELEASE.
shower() {
  if [ "$1" -gt 22 ]; then echo "llvm-profdata-$1"; else echo llvm-profdata-22; fi
}

# sample RELEASE KIND SOURCES [FLAG...]: one program, one run, one profile.
# SOURCES is one word with commas; `$arguments` go to the program.
arguments=
sample() {
  local release=$1 kind=$2 sources=${3//,/ } stem=$here/raw/clang-$1-$2
  shift 3
  local compiler=clang-$release
  case $sources in *.cpp*) compiler=clang++-$release ;; esac
  note "clang-$release $kind"
  # shellcheck disable=SC2086 # words on purpose
  "$compiler" "${places[@]}" "$@" $sources -o program
  # shellcheck disable=SC2086
  run "$stem.profraw" ./program $arguments
  golden "$release" "$stem"
}

# keep_vtables RELEASE KIND: merges the same profile again and keeps the vtables' names.
keep_vtables() {
  local stem=$here/raw/clang-$1-$2
  local merge="llvm-profdata-$1 merge --num-threads=1 --keep-vtable-symbols"
  $merge "$stem.profraw" -o "$stem.kept.profdata"
  $merge --text "$stem.profraw" -o "$stem.kept.proftext"
}

# Two images that write to the same file.
sample_shared_library() {
  local release=$1 stem=$here/raw/clang-$1-shared-library
  note "clang-$release shared-library"
  "clang-$release" -O1 -fprofile-generate -shared -fPIC plugin.c -o libplugin.so
  "clang-$release" -O1 -fprofile-generate host.c -L. -lplugin "-Wl,-rpath,\$ORIGIN" -o program
  run "$stem.profraw" ./program
  golden "$release" "$stem"
}

# The second pass: optimized with the profile of the first pass, and instrumented again.
sample_context_sensitive() {
  local release=$1 stem=$here/raw/clang-$1-cs
  note "clang-$release cs"
  "clang-$release" -O2 -fprofile-generate calc.c -o program
  run first.profraw ./program 40 3
  "llvm-profdata-$release" merge first.profraw -o first.profdata
  "clang-$release" -O2 -fprofile-use=first.profdata -fcs-profile-generate calc.c -o program
  run "$stem.profraw" ./program 40 3
  golden "$release" "$stem"
  if [ "$release" -ge 19 ]; then
    "$(shower "$release")" show --showcs --all-functions --counts --ic-targets --memop-sizes "$stem.profraw" \
      >"$stem.showcs"
  fi
}

# %m: three processes add up their counters in one file.
sample_pool() {
  local release=$1 stem=$here/raw/clang-$1-pool
  note "clang-$release pool"
  rm -rf pool && mkdir pool
  "clang-$release" -O1 -fprofile-generate calc.c -o program
  for rounds in 10 20 30; do run 'pool/%m.profraw' ./program $rounds; done
  cp pool/*.profraw "$stem.profraw"
  golden "$release" "$stem"
}

# %c: the counters are mapped into the file, which then has no value data.
sample_continuous() {
  local release=$1 stem=$here/raw/clang-$1-continuous
  note "clang-$release continuous"
  rm -f continuous.profraw
  "clang-$release" "${places[@]}" -O1 -fprofile-instr-generate -fcoverage-mapping -mllvm -runtime-counter-relocation conditions.c -o program
  run '%ccontinuous.profraw' ./program 3
  cp continuous.profraw "$stem.profraw"
  golden "$release" "$stem"
}

# add_uniform_counters RELEASE KIND: adds counters to the profile that only GPUs write.
add_uniform_counters() {
  local stem=$here/raw/clang-$1-$2-uniform
  note "clang-$1 $2-uniform"
  python3 "$here/uniform.py" "$here/raw/clang-$1-$2.profraw" "$stem.profraw"
  golden "$1" "$stem"
}

# rust_sample KIND FLAG...: words.rs with rustc.
rust_sample() {
  local kind=$1 stem=$here/raw/rustc-1.95-$1
  shift
  note "rustc 1.95 $kind"
  rustc --edition 2021 --remap-path-prefix "$build=." -C metadata=words -C codegen-units=1 "$@" words.rs -o program
  run "$stem.profraw" ./program 5
  golden "$RUSTC_RELEASE" "$stem"
}

make_raw() {
  rm -rf "$here/raw" && mkdir "$here/raw"
  rustc --version | grep -q '^rustc 1\.95' || { note "rustc 1.95 is needed"; exit 1; }
  for release in $CLANGS; do
    sample "$release" ir calc.c -O1 -fprofile-generate
    sample "$release" fe calc.c -O1 -fprofile-instr-generate
    sample "$release" cxx shapes.cpp -O1 -fprofile-generate
    sample_context_sensitive "$release"
    sample_shared_library "$release"
  done
  for release in 14 16 19 22 23; do
    sample "$release" fe-values calc.c -O1 -fprofile-instr-generate -Xclang -mllvm -Xclang -enable-value-profiling=true
    sample "$release" coverage conditions.c -fprofile-instr-generate -fcoverage-mapping
    sample "$release" entry-first calc.c -O1 -fprofile-generate -mllvm -pgo-instrument-entry
    sample "$release" plain-names lookup.c,tables.c -O1 -fprofile-generate -mllvm -enable-name-compression=false
    sample "$release" two-objects lookup.c,tables.c -O1 -fprofile-generate
    sample "$release" entry-coverage calc.c -O1 -fprofile-generate -mllvm -pgo-function-entry-coverage
    sample "$release" no-build-id calc.c -O1 -fprofile-generate -Wl,--build-id=none
    sample_pool "$release"
    sample_continuous "$release"
  done
  for release in 19 22 23; do
    sample "$release" mcdc conditions.c -fprofile-instr-generate -fcoverage-mapping -fcoverage-mcdc
    sample "$release" byte-coverage conditions.c -fprofile-instr-generate -fcoverage-mapping \
      -mllvm -enable-single-byte-coverage=true
    sample "$release" block-coverage calc.c -O1 -fprofile-generate -mllvm -pgo-block-coverage
    sample "$release" temporal calc.c -O1 -fprofile-generate -mllvm -pgo-temporal-instrumentation
    sample "$release" temporal-block-coverage calc.c -O1 -fprofile-generate -mllvm -pgo-temporal-instrumentation \
      -mllvm -pgo-block-coverage
    sample "$release" vtables shapes.cpp -O1 -fprofile-generate -mllvm -enable-vtable-value-profiling
    keep_vtables "$release" vtables
  done
  # The packages of LLVM 23 have no profile runtime for 32 bits.
  for release in 14 16 19 22; do
    sample "$release" ir-32 calc.c -m32 -O1 -fprofile-generate
    sample "$release" coverage-32 conditions.c -m32 -fprofile-instr-generate -fcoverage-mapping
  done
  for release in 19 22; do
    sample "$release" mcdc-32 conditions.c -m32 -fprofile-instr-generate -fcoverage-mapping -fcoverage-mcdc
    sample "$release" vtables-32 shapes.cpp -m32 -O1 -fprofile-generate -mllvm -enable-vtable-value-profiling
  done
  # Kinds that were added or removed by a release between those.
  sample 17 temporal calc.c -O1 -fprofile-generate -mllvm -pgo-temporal-instrumentation
  sample 17 block-coverage calc.c -O1 -fprofile-generate -mllvm -pgo-block-coverage
  sample 18 mcdc conditions.c -fprofile-instr-generate -fcoverage-mapping -fcoverage-mcdc
  sample 18 block-coverage calc.c -O1 -fprofile-generate -mllvm -pgo-block-coverage
  for release in 20 21; do
    sample "$release" loop-entries calc.c -O1 -fprofile-generate -mllvm -pgo-instrument-loop-entries
    sample "$release" vtables shapes.cpp -O1 -fprofile-generate -mllvm -enable-vtable-value-profiling
    keep_vtables "$release" vtables
  done
  for release in 22 23; do
    sample "$release" loop-entries calc.c -O1 -fprofile-generate -mllvm -pgo-instrument-loop-entries
  done
  add_uniform_counters 23 ir
  add_uniform_counters 23 mcdc
  rust_sample ir -O -C profile-generate
  rust_sample coverage -C instrument-coverage
}

# Four runs of one program with different arguments, and their merges by each release that can read them.
make_merge() {
  rm -rf "$here/merge" && mkdir "$here/merge"
  local release
  for release in 13 14 18 19 22 23; do
    local folder=$here/merge/clang-$release
    note "merge clang-$release"
    mkdir "$folder"
    "clang-$release" -O1 -fprofile-generate calc.c -o program
    run "$folder/run-1.profraw" ./program 10 2
    run "$folder/run-2.profraw" ./program 1000 7
    run "$folder/run-3.profraw" ./program 0
    run "$folder/run-4.profraw" ./program 77 5
    case $release in
      13) merge_goldens "$folder" 13 ;;
      14) for reader in 14 15 16 17; do merge_goldens "$folder" $reader; done ;;
      18) merge_goldens "$folder" 18 ;;
      23) merge_goldens "$folder" 23 && merge_uniform "$folder" 23 ;;
      19) for reader in 19 20 22; do merge_goldens "$folder" $reader; done ;;
      *) for reader in 19 21 22; do merge_goldens "$folder" $reader; done ;;
    esac
  done
}

# merge_goldens DIRECTORY READER: the name of each output states the options.
merge_goldens() {
  local folder=$1 reader=$2
  local merge="llvm-profdata-$reader merge --num-threads=1" out=$folder/llvm-$reader
  cd "$folder"
  $merge run-[1234].profraw -o "$out.profdata"
  $merge --text run-[1234].profraw -o "$out.proftext"
  $merge --sparse run-[1234].profraw -o "$out-sparse.profdata"
  $merge run-1.profraw --weighted-input=5,run-2.profraw --weighted-input=2,run-4.profraw -o "$out-weighted.profdata"
  $merge --text run-1.profraw --weighted-input=5,run-2.profraw --weighted-input=2,run-4.profraw -o "$out-weighted.proftext"
  $merge run-[4321].profraw -o "$out-reversed.profdata"
  if [ "$reader" -ge 19 ]; then
    $merge --function='a[dp]' --no-function=apply run-[1234].profraw -o "$out-filtered.profdata" 2>/dev/null
    $merge --write-prev-version run-[1234].profraw -o "$out-previous.profdata"
  fi
  if [ "$reader" -ge 22 ]; then
    "llvm-profdata-$reader" show --all-functions --counts --ic-targets --memop-sizes "$out.profdata" >"$out.show"
  fi
  cmp -s "$out.profdata" "$out-reversed.profdata" && rm "$out-reversed.profdata"
  cd "$build"
}

# merge_uniform DIRECTORY READER: two runs of a simulated GPU, and the result if one of them was merged before.
merge_uniform() {
  local folder=$1 reader=$2
  local merge="llvm-profdata-$reader merge --num-threads=1" out=$folder/llvm-$reader
  cd "$folder"
  for run in 1 2; do python3 "$here/uniform.py" "run-$run.profraw" "uniform-$run.profraw"; done
  $merge uniform-1.profraw --weighted-input=3,uniform-2.profraw -o "$out-uniform.profdata"
  "llvm-profdata-$reader" show --all-functions --counts --ic-targets --memop-sizes "$out-uniform.profdata" \
    >"$out-uniform.show"
  $merge "$out-uniform.profdata" uniform-1.profraw run-3.profraw -o "$out-mixed.profdata"
  cd "$build"
}

# Profiles without names and records, and the part of the binary that contains these.
make_correlate() {
  rm -rf "$here/correlate" && mkdir "$here/correlate"
  local release
  for release in 14 16 19 22 23; do
    local flag=-profile-correlate=debug-info
    [ "$release" -ge 19 ] || flag=-debug-info-correlate
    # Such profiles have no place for values; without -disable-vp clang 14 crashes, and clang 19s program does.
    correlate "$release" debug-info --debug-info calc.c -fprofile-generate -g -mllvm "$flag" -mllvm -disable-vp
  done
  for release in 19 22 23; do
    correlate "$release" binary --binary-file calc.c -fprofile-generate -mllvm -profile-correlate=binary \
      -mllvm -disable-vp
  done
  # Debug info of local classes has functions in functions.
  for release in 22 23; do
    correlate "$release" lambda-debug-info --debug-info lambda.cpp -fprofile-instr-generate -g \
      -mllvm -profile-correlate=debug-info
  done
  # LLVM 23 and later find bitmaps.
  local mcdc=(conditions.c -fprofile-instr-generate -fcoverage-mapping -fcoverage-mcdc)
  correlate 23 mcdc-debug-info --debug-info "${mcdc[@]}" -g -mllvm -profile-correlate=debug-info
  correlate 23 mcdc-binary --binary-file "${mcdc[@]}" -mllvm -profile-correlate=binary
}

# correlate RELEASE KIND OPTION SOURCE FLAG...: OPTION is the option of merge for the binary.
correlate() {
  local release=$1 kind=$2 option=$3 source=$4 stem=$here/correlate/clang-$1-$2
  shift 4
  note "clang-$release correlated by $kind"
  # Debug info contains the directory of the compiler's headers.
  local headers
  headers=-ffile-prefix-map=$("clang-$release" -print-resource-dir)=clang
  "clang-$release" "${places[@]}" "$headers" -O1 "$@" "$source" -o program
  run "$stem.profraw" ./program
  # Correlation only reads sections that are not loaded.
  llvm-objcopy-22 --only-keep-debug program "$stem.binary"
  chmod 644 "$stem.binary"
  golden "$release" "$stem" "$option=$stem.binary"
}

# Memory profiles, the part of the program with debug info, and the output of the release's llvm-profdata for both.
make_memprof() {
  rm -rf "$here/memprof" && mkdir "$here/memprof"
  memprof 16 plain -no-pie
  for release in 17 18; do memprof "$release" plain; done
  for release in 19 22; do
    memprof "$release" plain
    memprof "$release" no-pie -no-pie
    memprof "$release" two-dumps -DTWO_DUMPS
  done
  memprof 22 histogram -mllvm -memprof-histogram
}

# without_debug_info RELEASE: its runtime libraries without their own debug info.
without_debug_info() {
  local archive folder=$build/resources-$1
  cp -rs "$("clang-$1" -print-resource-dir)" "$folder"
  find "$folder" -name 'libclang_rt.memprof*.a' | while read -r archive; do
    llvm-objcopy-22 --strip-debug "$(readlink "$archive")" "$build/archive.a"
    mv "$build/archive.a" "$archive"
  done
}

# memprof RELEASE KIND FLAG...
memprof() {
  local release=$1 stem=$here/memprof/clang-$1-$2
  shift 2
  note "clang-$release memory profile ${stem##*-}"
  local runtime=()
  case $release in 17 | 18) without_debug_info "$release" && runtime=(-resource-dir "$build/resources-$release") ;; esac
  "clang++-$release" "${places[@]}" "${runtime[@]}" -O1 -gmlt -fdebug-info-for-profiling -fno-omit-frame-pointer \
    -fno-optimize-sibling-calls -fmemory-profile -Wl,--build-id "$@" allocations.cpp -o program
  rm -f dump.*
  MEMPROF_OPTIONS=log_path=dump "${still[@]}" ./program 20 >/dev/null
  mv dump.* "$stem.memprofraw"
  chmod 644 "$stem.memprofraw"
  llvm-objcopy-22 --only-keep-debug --remove-section=.symtab --remove-section=.strtab program "$stem.binary"
  chmod 644 "$stem.binary"
  local tool=llvm-profdata-$release merge="merge --num-threads=1 --profiled-binary=$stem.binary $stem.memprofraw"
  case $release in
    16 | 17 | 18) "$tool" $merge -o "$stem.v0.profdata" ;;
    19) for version in 0 1 2 3; do "$tool" $merge --memprof-version=$version -o "$stem.v$version.profdata"; done ;;
    *)
      for version in 2 3 4; do "$tool" $merge --memprof-version=$version -o "$stem.v$version.profdata"; done
      "$tool" show --memory "$stem.v4.profdata" >"$stem.yaml"
      "$tool" show --memory --profiled-binary="$stem.binary" "$stem.memprofraw" >"$stem.show"
      ;;
  esac
}

# Files with one defect each, created by bad.py from a valid file. Other files in the directory stay.
make_bad() {
  mkdir -p "$here/bad"
  note "bad"
  python3 "$here/bad.py" "$here/raw" "$here/merge" "$here/bad"
}

for part in "${@:-raw merge correlate memprof bad}"; do
  for one in $part; do
    case $one in
      raw | merge | correlate | memprof | bad) "make_$one" ;;
      *) note "unknown part $one"; exit 1 ;;
    esac
  done
done
note "$(du -sh --exclude=src "$here" | cut -f1) in $(find "$here" -type f | wc -l) files"
