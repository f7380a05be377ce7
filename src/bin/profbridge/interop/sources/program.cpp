// The same for C++: functions and a class without a name outside, a template,
// calls of them through pointers and tables of virtual functions.
extern "C" int printf(const char *, ...);
extern "C" int atoi(const char *);

#define APART __attribute__((noinline))

static volatile unsigned total;

namespace {
APART void note(unsigned value) { total += value; }

APART void left(unsigned value) {
  if (value % 3 == 0)
    note(1);
}

struct Base {
  APART virtual void step(unsigned value) const {
    if (value % 7 == 0)
      note(4);
  }
};

struct Other : Base {
  APART void step(unsigned value) const override {
    while (value > 50) {
      note(5);
      value -= 50;
    }
  }
};
} // namespace

APART static void right(unsigned value) {
  if (value % 5 == 0)
    note(2);
  else
    note(3);
}

template <unsigned Divisor> APART void divide(unsigned value) {
  if (value % Divisor == 0)
    note(Divisor);
}

typedef void (*Step)(unsigned);
static const Step steps[] = {left, right, divide<11>, left};

APART static void take(unsigned which, unsigned value) { steps[which & 3](value); }

APART void visit(const Base *base, unsigned value) { base->step(value); }

#define IF(n) if (value % (n) == 1) note(n);
#define TEN(n) IF(n) IF(n + 1) IF(n + 2) IF(n + 3) IF(n + 4) IF(n + 5) IF(n + 6) IF(n + 7) IF(n + 8) IF(n + 9)
#define HUNDRED TEN(2) TEN(12) TEN(22) TEN(32) TEN(42) TEN(52) TEN(62) TEN(72) TEN(82) TEN(92)

namespace {
APART void hundred(unsigned value) { HUNDRED }

struct Large {
  unsigned value;
  APART void run() const {
    HUNDRED
    while (total > 4000000000u)
      note(1);
  }
};
} // namespace

template <unsigned Times> APART void hundred_times(unsigned value) {
  for (unsigned i = 0; i < Times; i++) {
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

int main(int argc, char **argv) {
  unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
  Base base;
  Other other;
  for (unsigned i = 0; i < rounds; i++) {
    take(i, i);
    take(i * 7, i * 3);
    if (i % 3 == 0)
      visit(&other, i);
    else
      visit(&base, i);
    hundred(i);
    Large large = {i};
    large.run();
    hundred_times<2>(i * 5);
    hundred_in_a_loop(i * 11);
  }
  printf("%u\n", total);
  return 0;
}
