// Two functions that end with calls of each other, and another one that both reach.
typedef int (*function)(int);
__attribute__((noinline)) int leave(int x);
__attribute__((noinline)) int first(int x);
__attribute__((noinline)) int second(int x);
volatile int n;
function table[] = {first, leave};
int leave(int x) { n += x; n *= 3; return n; }
int second(int x) { n++; return table[x & 1](x); }
int first(int x) { n--; return second(x + 1); }
int main(int argc, char **argv) {
  int sum = first(argc);
  sum += second(argc);
  return sum;
}
