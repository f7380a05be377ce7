/* Functions that every release lowers alike: each branch calls something that
 * no pass may move, and nothing is inlined. Local functions, calls of them
 * through pointers, and functions of more than a hundred branches. */
extern int printf(const char *, ...);
extern int atoi(const char *);

#define APART __attribute__((noinline))

static volatile unsigned total;

APART static void note(unsigned value) { total += value; }

APART static void left(unsigned value) {
  if (value % 3 == 0)
    note(1);
}

APART static void right(unsigned value) {
  if (value % 5 == 0)
    note(2);
  else
    note(3);
}

APART void outside(unsigned value) {
  while (value > 100) {
    note(value);
    value -= 100;
  }
}

typedef void (*step)(unsigned);
static const step steps[] = {left, right, outside, left};

APART static void take(unsigned which, unsigned value) { steps[which & 3](value); }

#define IF(n) if (value % (n) == 1) note(n);
#define TEN(n) IF(n) IF(n + 1) IF(n + 2) IF(n + 3) IF(n + 4) IF(n + 5) IF(n + 6) IF(n + 7) IF(n + 8) IF(n + 9)
#define HUNDRED TEN(2) TEN(12) TEN(22) TEN(32) TEN(42) TEN(52) TEN(62) TEN(72) TEN(82) TEN(92)

APART static void hundred(unsigned value) { HUNDRED }

APART void hundred_outside(unsigned value) {
  for (unsigned i = 0; i < 2; i++) {
    HUNDRED
    note(i);
  }
}

APART static void hundred_in_a_loop(unsigned value) {
  while (value > 500) {
    HUNDRED
    value -= 500;
  }
}

APART void hundred_and_a_switch(unsigned value) {
  HUNDRED
  switch (value & 3) {
  case 0:
    note(7);
    break;
  case 2:
    note(8);
    break;
  default:
    note(9);
  }
}

int main(int argc, char **argv) {
  unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
  for (unsigned i = 0; i < rounds; i++) {
    take(i, i);
    take(i * 7, i * 3);
    hundred(i);
    hundred_outside(i * 5);
    hundred_in_a_loop(i * 11);
    hundred_and_a_switch(i * 13);
  }
  printf("%u\n", total);
  return 0;
}
