/* A small calculator: indirect calls, memory operations of varying size, a
 * loop with a rare path, a static function and functions that never run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef long (*operation)(long, long);

static long add(long a, long b) { return a + b; }
static long subtract(long a, long b) { return a - b; }
static long multiply(long a, long b) { return a * b; }

long divide(long a, long b) {
  if (b == 0)
    return 0;
  return a / b;
}

static const operation table[] = {add, subtract, multiply, divide};

__attribute__((noinline)) long apply(unsigned which, long a, long b) {
  return table[which % 4](a, b);
}

__attribute__((noinline)) void keep(char *to, const char *from, size_t length) {
  memcpy(to, from, length);
}

__attribute__((noinline)) int classify(long value) {
  switch (value % 5) {
  case 0:
    return 10;
  case 1:
  case 2:
    return 20;
  case 3:
    return value > 100 ? 30 : 31;
  default:
    return 40;
  }
}

void never_called(int depth) {
  if (depth > 0)
    never_called(depth - 1);
}

int main(int argc, char **argv) {
  long rounds = argc > 1 ? atol(argv[1]) : 25;
  unsigned skew = argc > 2 ? (unsigned)atol(argv[2]) : 3;
  char from[64] = "the quick brown fox", to[64];
  long total = 0;
  for (long i = 0; i < rounds; i++) {
    unsigned which = i % skew == 0 ? (unsigned)i : 1;
    total += apply(which, i, i / 3);
    total += classify(total < 0 ? -total : total);
    keep(to, from, (size_t)(i % skew) * 4 + 1);
  }
  if (rounds > 1000000)
    never_called(3);
  printf("%ld %c\n", total, to[0]);
  return 0;
}
