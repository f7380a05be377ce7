#include <stdio.h>
#include <stdlib.h>
static unsigned state = 12345;
static unsigned rnd(void) { state = state * 1103515245u + 12345u; return state >> 16; }
static inline int classify(int x) {
  if (x % 7 == 0) return x + 1;
  if (x % 7 == 1) return x * 3;
  return x ^ 0x55;
}
__attribute__((noinline)) static long small(long x) { return x % 1000 / 7 + 3; }
typedef long (*op)(long);
__attribute__((noinline)) static long often(long x) { return x / 3 + 1; }
__attribute__((noinline)) static long seldom(long x) { return x * 2 % 1001; }
static inline long wrap(long x) {
  return small(x);
}
static op volatile ops[2] = {often, seldom};
__attribute__((noinline)) static long loop(long n) {
  long s = 0;
  for (long i = 0; i < n; i++) {
    s += classify((int)(rnd() % 1000));
    s += wrap(s & 0xFFFF);
  }
  return s;
}
__attribute__((noinline)) static long never(long x) { return x + 99; }
int main(int argc, char **argv) {
  long total = argc > 5 ? never(argc) : 0, rounds = argc > 1 ? atol(argv[1]) : 1000;
  for (long round = 0; round < rounds; round++) {
    total += loop(10000);
    for (int i = 0; i < 10000; i++) total += ops[i % 16 == 0](total & 0xFFFF);
  }
  printf("%ld\n", total);
  return 0;
}
