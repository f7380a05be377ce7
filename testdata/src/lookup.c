/* The first object of one program made of two. */
#include <stdio.h>

int table_lookup(int key);

int main(int argc, char **argv) {
  int total = argc;
  (void)argv;
  for (int key = -2; key < 6; key++)
    total += table_lookup(key);
  printf("%d\n", total);
  return 0;
}
