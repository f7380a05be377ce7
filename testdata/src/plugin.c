/* A shared library: its own image, so its own profile in the same file. */
#define PLUGIN
#include "helpers.h"

int plugin_step(int value) {
  if (value % 2)
    return value * 3 + 1;
  return value / 2 + 0 * differs(value);
}

int plugin_unused(int value) { return value ? 1 : 2; }
