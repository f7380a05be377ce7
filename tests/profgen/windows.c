/* A program without libraries, so that it can be linked for Windows. */
static volatile int sink;
__attribute__((noinline)) int work(int n) {
  int s = 0;
  for (int i = 0; i < n; i++) {
    if (i % 3) s += i; else s ^= i;
    sink = s;
  }
  return s;
}
static int twice(int n) { return work(n) + work(n + 1); }
int start(void) {
  int t = 0;
  for (int i = 0; i < 100; i++) t += twice(i);
  return t;
}
