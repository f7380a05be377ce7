#!/usr/bin/env bash
# Compares the link llvm-profgen with the genuine tool: a program with about 100 MB of debug info of which 20,000
# functions are sampled, and 500 MB of text of `perf script`.
#
# Usage: benches/profgen.sh [PROFBRIDGE]
# Needs clang++-22, llvm-profgen-22 and GNU time, half an hour, and 2 GB in the folder $PROFGEN_BENCH.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
tool=$(realpath "${1:-target/release/profbridge}")
work=${PROFGEN_BENCH:-target/profgen-bench}
units=48
functions=420
mkdir -p "$work"
cd "$work"
ln -sf "$tool" llvm-profgen

unit() {
    cat <<'CODE'
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>
extern volatile unsigned sink;
template <int K> struct State {
    std::vector<int> list;
    int step(int x) const {
        int r = K;
        for (int j = 0; j < x % 7 + 1; ++j) r += (r & 1) ? r * 3 + 1 : r / 2;
        return r;
    }
};
CODE
    for ((i = 0; i < functions; i++)); do
        cat <<CODE
namespace n$1_$i { struct Tag {}; template <int K> struct Own : State<K> { std::map<int, Tag> map; }; }
__attribute__((noinline)) unsigned f$1_$i(unsigned x) {
    n$1_$i::Own<$i> s;
    n$1_$i::Own<$((i + 1))> u;
    unsigned r = s.step(x) + u.step(x + 1);
    if (x % $((i % 11 + 2)) == 0) { r ^= x; sink += r; } else r += x;
    switch (r % 5) { case 0: r += 1; break; case 1: r *= 3; sink += r; break; case 2: r -= 7; break; default: sink -= r; }
    return r;
}
CODE
    done
    echo "unsigned run$1(unsigned x) { unsigned r = x;"
    for ((i = 0; i < functions; i++)); do echo "r += f$1_$i(r);"; done
    echo "return r; }"
}

if [[ ! -x app ]]; then
    for ((t = 0; t < units; t++)); do unit "$t" > "unit$t.cpp"; done
    {
        echo "volatile unsigned sink;"
        for ((t = 0; t < units; t++)); do echo "unsigned run$t(unsigned);"; done
        echo "int main() { unsigned r = 1; for (int k = 0; k < 6; k++) {"
        for ((t = 0; t < units; t++)); do echo "r += run$t(r);"; done
        echo "} return r & 1; }"
    } > main.cpp
    printf '%s\n' unit*.cpp main.cpp | xargs -P 2 -I{} clang++-22 -O2 -g -c {}
    clang++-22 -o app ./*.o
fi
if [[ ! -f samples.txt ]]; then
    cc -O2 -o recorder "$root/tests/profgen/record_branches.c"
    ./recorder 61 32 8000000 ./app > samples.txt
    { head -n 2 samples.txt; for ((i = 0; i < 24; i++)); do tail -n +3 samples.txt; done; } > long.txt
fi

for text in samples.txt long.txt; do
    echo "$text: $(stat -c %s "$text") bytes; the program has $(stat -c %s app) bytes"
    for round in 1 2 3; do
        for peer in llvm-profgen-22 ./llvm-profgen; do
            out=$(basename "$peer").prof
            /usr/bin/time -f "$round $peer: %U + %S s, %M KiB" "$peer" --binary=app --perfscript="$text" -o "$out" \
                2>&1 | tail -n 1
        done
        cmp llvm-profgen-22.prof llvm-profgen.prof
    done
done
