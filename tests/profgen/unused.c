/* Functions that the linker removes. Debug info keeps them at address 0. */
int unused_sum(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) sum += i * sum + 1;
  return sum;
}
void unused_nothing(void) {}
int unused_product(int n) { return n * n * n + unused_sum(n); }
