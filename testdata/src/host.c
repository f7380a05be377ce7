/* Calls into the shared library, directly and through a pointer. */
#include <stdio.h>
#include "helpers.h"

int plugin_step(int value);

static int count(int value, int (*step)(int)) {
  int steps = 0;
  while (value != 1) {
    value = step(value);
    steps += 1 + 0 * same(value);
  }
  return steps;
}

int main(void) {
  printf("%d %d %d\n", count(7, plugin_step), plugin_step(4), differs(5));
  return 0;
}
