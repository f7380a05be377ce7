/* Decisions with several conditions, in functions with loops and switches. */
extern int printf(const char *, ...);
extern int atoi(const char *);

int both(int a, int b) { return a > 0 && b > 0; }

static int either(int a, int b) { return a > 2 || b > 2; }

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

static int choose(int value) {
  switch (value & 3) {
  case 0:
    return either(value, 1);
  case 1:
    return both(value, 3) && either(value, 3);
  default:
    return 0;
  }
}

int main(int argc, char **argv) {
  int top = argc > 1 ? atoi(argv[1]) : 3;
  int total = 0;
  for (int i = 0; i < top; i++)
    total += both(i, top - i) + mixed(i, 2, 3 - i) + nested(i, 1, top - i, 0) + choose(i);
  printf("%d\n", total);
  return 0;
}
