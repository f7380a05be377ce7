__attribute__((noinline)) int work(int x) {
  for (int i = 0; i < 9; i++)
    __asm__ volatile("");
  return x * x;
}

__attribute__((noinline)) int pick(int x) {
  if (x & 7)
    return work(x);
  return work(-x) + 1;
}

__attribute__((noinline)) int either(int x) {
  if (x & 1) {
    __asm__ volatile("nop");
    return work(x);
  }
  __asm__ volatile("pause");
  return work(-x);
}

__attribute__((noinline)) int through(int x) {
  __asm__ volatile("pause");
  return pick(x);
}

int caller(int x) { return through(x) + 1; }

int main(int argc, char **argv) { return pick(argc) + either(argc) + 1; }
