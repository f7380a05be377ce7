#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static unsigned state = 12345;
static unsigned rnd(void) { state = state * 1103515245u + 12345u; return state >> 16; }
static int classify(int x) {
  switch (x % 7) {
    case 0: return x + 1;
    case 1: return x * 3;
    case 2: return x - 4;
    case 3: return x ^ 0x55;
    case 4: return x << 1;
    default: return x;
  }
}
__attribute__((noinline)) static long sum(const int *a, int n) {
  long s = 0;
  for (int i = 0; i < n; i++) s += a[i] * 3;
  return s;
}
typedef long (*op)(long);
static long inc(long x) { return x + 1; }
static long dbl(long x) { return x * 2; }
static op ops[2] = {inc, dbl};
__attribute__((noinline)) static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static int cmp(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(int argc, char **argv) {
  int a[200]; long total = 0;
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < 200; i++) a[i] = classify(rnd() % 1000);
    total += sum(a, 200);
    qsort(a, 200, sizeof(int), cmp);
    for (int i = 0; i < 50; i++) total = ops[rnd() & 1](total) & 0xffffff;
    if (round % 5 == 0) total += fib(12);
    if (total < 0 && strlen(argv[0]) > 100000) abort();
  }
  printf("%ld\n", total);
  return 0;
}
