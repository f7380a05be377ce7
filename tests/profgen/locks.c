#include <stdio.h>
#define NOINLINE __attribute__((noinline))
static long taken, threads;
static inline int take(long old) {
  return __atomic_compare_exchange_n(&taken, &old, old + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
NOINLINE int acquire(long old) { return take(old) ? 1 : take(old + 1) + 2; }
/* As in the C library: one thread needs no lock. */
NOINLINE int increment(long *value) {
  __asm__ volatile("cmpq $0, %1\n\tje 1f\n\tlock\n1:\tincq %0" : "+m"(*value) : "m"(threads) : "cc");
  return *value & 1;
}
NOINLINE int both(long i) { return acquire(i & 3 ? taken : 0) + increment(&taken); }
int main(void) {
  long sum = 0;
  for (long i = 0; i < 600; i++) {
    threads = i % 5 == 0;
    sum += both(i);
  }
  printf("%ld\n", sum);
  return 0;
}
