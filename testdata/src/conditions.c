/* Decisions with several conditions, for branch coverage and MC/DC. */
#include <stdio.h>
#include <stdlib.h>

int both(int a, int b) { return a > 0 && b > 0; }

int mixed(int a, int b, int c) {
  if ((a > 1 && b > 1) || c > 1)
    return 1;
  return 0;
}

int nested(int a, int b, int c, int d) {
  int found = 0;
  while ((a-- > 0 || b-- > 0) && (c > 0 || d > 0)) {
    found += both(a, c) ? 2 : 1;
    if (a < 0 && b < 0)
      break;
  }
  return found;
}

static int unused_decision(int a, int b) { return a || b; }

int main(int argc, char **argv) {
  int top = argc > 1 ? atoi(argv[1]) : 3;
  int total = 0;
  for (int i = 0; i < top; i++)
    total += both(i, top - i) + mixed(i, 2, 3 - i) + nested(i, 1, top - i, 0);
  if (top > 1000)
    total += unused_decision(top, 0);
  printf("%d\n", total);
  return 0;
}
