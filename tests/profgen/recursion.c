__attribute__((noinline)) int walk(int depth, volatile int *steps) {
  *steps += depth;
  if (depth == 0) return 1;
  int left = walk(depth - 1, steps);
  return left + walk(depth - 1, steps) + *steps;
}

int main(int argc, char **argv) {
  (void)argv;
  volatile int steps = 0;
  return walk(argc + 10, &steps) + steps;
}
