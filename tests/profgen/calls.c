#include <stdio.h>
#include <stdlib.h>
#define NOINLINE __attribute__((noinline))
static unsigned state = 7;
static unsigned rnd(void) { state = state * 1103515245u + 12345u; return state >> 16; }
static int mix(int x, int y) {
  int s = 0;
  for (int i = 0; i < (x & 3) + 1; i++) s += (x ^ y) * i;
  return s + x;
}
NOINLINE int leaf(int x) {
  if (x % 3 == 0) return mix(x, 5);
  return mix(x, x + 1) + 1;
}
NOINLINE int twice(int x) { return leaf(x) + leaf(x + 1); }
NOINLINE int tail(int x) { return leaf(x * 2); }
NOINLINE int pick(int x) { return x & 1 ? tail(x) : twice(x) + 1; }
NOINLINE long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
NOINLINE int even(int n);
NOINLINE int odd(int n) { return n <= 0 ? 0 : even(n - 1) + 1; }
NOINLINE int even(int n) { return n <= 0 ? 1 : odd(n - 1) + 2; }
/* Recursion that is inlined into itself. */
static int depth;
static int walk(int n, int d) {
  depth += n ^ d;
  if (n <= 0) return d;
  if (n & 1) return walk(n - 1, d + 1) + 1;
  return walk(n / 2, d) + walk(n / 3, d + 2);
}
typedef int (*op)(int);
static op ops[3] = {leaf, twice, tail};
static int cmp(const void *a, const void *b) { return leaf(*(const int *)a) - *(const int *)b; }
static inline int outer(int x) { return pick(x) + mix(x, 3); }
int main(void) {
  int a[40]; long total = 0;
  for (int round = 0; round < 30; round++) {
    for (int i = 0; i < 40; i++) a[i] = outer(rnd() % 1000);
    total += walk(12 + round % 9, 0);
    qsort(a, 40, sizeof(int), cmp);
    for (int i = 0; i < 20; i++) total += ops[rnd() % 3](a[i]);
    if (round % 5 == 0) total += fib(9) + even(12);
    for (int i = 0; i < 40; i++) total += mix(a[i], round);
  }
  printf("%ld\n", total);
  return 0;
}
