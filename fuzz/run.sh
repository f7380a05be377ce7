#!/usr/bin/env bash
# Runs every fuzz target for SECONDS and prints the numbers of executions, covered edges and findings.
#
#   fuzz/run.sh SECONDS [TARGET...]
#
# SANITIZER (none or address; default none) is passed to cargo-fuzz. A stable toolchain is sufficient, because
# RUSTC_BOOTSTRAP enables the necessary flags. Findings are in fuzz/artifacts/TARGET; see "Fuzzing" in CONTRIBUTING.md.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

seconds=${1:?usage: fuzz/run.sh SECONDS [TARGET...]}
shift
sanitizer=${SANITIZER:-none}
export RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}

# Copies the small files of testdata with an extension as seeds.
seed() {
  local target=$1 ending
  shift
  mkdir -p "corpus/$target" "artifacts/$target"
  for ending in "$@"; do
    find ../testdata -type f -name "*.$ending" -size -64k -print0 |
      while IFS= read -r -d '' file; do cp -n "$file" "corpus/$target/$(sha1sum <"$file" | cut -c1-16).$ending"; done
  done
  # Changing single bytes of compressed files only breaks their checksums.
  if [ "$target" = read_pprof ]; then
    for file in ../testdata/pprof/*.pprof; do gzip -dc "$file" >"corpus/$target/$(basename "$file" .pprof).pb"; done
  fi
  # The state itself has no checksum.
  if [ "$target" = read_partial ]; then
    for file in ../testdata/partial/*.partial; do state_of "$file" >"corpus/$target/$(basename "$file" .partial).state"; done
  fi
  # testdata has gzip files only.
  if [ "$target" = read_compressed ]; then
    for file in ../testdata/raw/*.proftext; do
      zstd -qc "$file" >"corpus/$target/$(basename "$file" .proftext).zst"
      xz -c "$file" >"corpus/$target/$(basename "$file" .proftext).xz"
    done
  fi
  # The first byte selects options of the target.
  if [ "$target" = write_sampleprof ]; then
    for file in ../testdata/sampleprof/*.{prof,ext,md5,binary,compact,split}; do
      { printf '\0' && cat "$file"; } >"corpus/$target/$(basename "$file")"
    done
  fi
  # Recordings are stored compressed.
  if [ "$target" = read_recording ]; then
    for file in ../testdata/java/*.jfr.gz; do gzip -dc "$file" >"corpus/$target/$(basename "$file" .gz)"; done
  fi
}

# Extracts the merge state of a partial merge: its footer of 64 bytes starts with the lengths of the profile and of the
# state, which follows the profile.
state_of() {
  python3 -c '
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
profile, stored = struct.unpack("<QQ", data[-64:-48])
sys.stdout.buffer.write(zlib.decompress(data[profile : profile + stored]))' "$1"
}

# Real recordings are larger than other seeds.
largest() {
  case $1 in
    read_recording | read_perf) echo 262144 ;;
    *) echo 65536 ;;
  esac
}

extensions() {
  case $1 in
    read_raw) echo profraw ;;
    read_indexed) echo profdata ;;
    read_text) echo proftext ;;
    read_compressed) echo gz pprof ;;
    read_names) echo names ;;
    read_any | same_as_llvm) echo profraw profdata proftext ;;
    read_memprof) echo memprofraw yaml profdata ;;
    read_iprof | bridge_laws) echo iprof gz ;;
    read_perf) echo perfdata ;;
    read_stacks) echo collapsed folded txt ;;
    read_pprof) echo pprof ;;
    read_partial) echo partial ;;
    read_classes) echo class jar ;;
    read_branches) echo txt ;;
    read_objects) echo binary elf class jar ;;
    read_sampleprof | same_sample_as_llvm) echo prof ext md5 binary compact split ;;
    parse_list | parse_remapping) echo list txt map ;;
  esac
}

targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  mapfile -t targets < <(sed -n 's/^name = "\([a-z_]*\)"$/\1/p' Cargo.toml)
fi

# BUILD=no runs the existing build.
[ "${BUILD:-yes}" = no ] || cargo fuzz build --sanitizer "$sanitizer" >/dev/null || exit 1
binaries=$(dirname "$(find "$CARGO_TARGET_DIR" -path '*/release/parse_list' -type f | head -1)")

printf '%-16s %12s %9s %9s %7s %6s %s\n' target executions coverage features corpus MiB findings
failed=0
for target in "${targets[@]}"; do
  # shellcheck disable=SC2046
  seed "$target" $(extensions "$target")
  log=$(mktemp)
  "$binaries/$target" "corpus/$target" -artifact_prefix="artifacts/$target/" -max_total_time="$seconds" \
    -max_len="$(largest "$target")" -timeout=20 -rss_limit_mb=1024 -print_final_stats=1 >"$log" 2>&1
  code=$?
  last=$(grep -aE '^#[0-9]+.*cov: ' "$log" | tail -1)
  value() { sed -nE "s/.* $1: ([0-9]+).*/\1/p" <<<"$last"; }
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  peak=$(sed -n 's/^stat::peak_rss_mb: *//p' "$log")
  findings=$(find "artifacts/$target" -type f | wc -l)
  printf '%-16s %12s %9s %9s %7s %6s %s\n' "$target" "${executions:-$(sed -nE 's/^#([0-9]+).*/\1/p' <<<"$last")}" \
    "$(value cov)" "$(value ft)" "$(find "corpus/$target" -type f | wc -l)" "$peak" "$findings"
  if [ $code -ne 0 ]; then
    failed=1
    grep -aE 'panicked|ERROR|SUMMARY|assertion' -A4 "$log" | head -20
  fi
  rm -f "$log"
done
exit $failed
