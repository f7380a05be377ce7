#include <stdio.h>
#define N __attribute__((noinline))
static volatile int sink;
N int e3(int x) { int s = 0; for (int i = 0; i < (x & 7); i++) { s += i * x; sink = s; } return s; }
N int e2(int x) { sink = x; return e3(x + 1); }
N int e1(int x) { sink += x; return e2(x * 3); }
N int other(int x) { sink ^= x; return x & 1 ? e3(x) : e2(x); }
N int plain(int x) { int r = e3(x) + 1; sink = r; return r; }
typedef int (*fn)(int);
static fn table[] = {e1, e2, other, plain};
N int ind(int x) { sink = x; return table[x & 3](x); }
int main(void) { long t = 0; for (int i = 0; i < 900; i++) { t += e1(i); t += other(i) + plain(i); t += ind(i) * 2; t += e2(i); } printf("%ld\n", t); return 0; }
