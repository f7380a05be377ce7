// Allocations of different lives: long and cold, short and hot, by inlined
// functions, templates and recursion.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#ifdef TWO_DUMPS
extern "C" int __memprof_profile_dump(void);
#endif

namespace {
struct Node {
  Node *left, *right;
  long weight;
};

inline char *grab(size_t bytes) { return new char[bytes]; }

template <typename T> struct Pool {
  T *items;
  explicit Pool(size_t count) : items(new T[count]()) {}
  ~Pool() { delete[] items; }
};

__attribute__((noinline)) Node *build(int depth) {
  Node *node = new Node();
  node->weight = depth;
  if (depth > 0) {
    node->left = build(depth - 1);
    node->right = build(depth - 1);
  }
  return node;
}

long sum(const Node *node) { return node ? node->weight + sum(node->left) + sum(node->right) : 0; }

void release(Node *node) {
  if (!node) return;
  release(node->left);
  release(node->right);
  delete node;
}

__attribute__((noinline)) long churn(int rounds) {
  long total = 0;
  for (int round = 0; round < rounds; ++round) {
    char *text = grab(64 + round % 7);
    memset(text, round, 64);
    for (int at = 0; at < 64; ++at) total += text[at];
    delete[] text;
  }
  return total;
}

__attribute__((noinline)) char *keep(size_t bytes) { return grab(bytes); }
} // namespace

extern "C" void *plain(size_t bytes) { return malloc(bytes); }

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 20;
  char *cold = keep(4096);
  Pool<long> pool(100);
  Node *tree = build(4);
  long total = churn(rounds) + sum(tree);
  for (int at = 0; at < 100; ++at) total += pool.items[at];
  void *raw = plain(rounds + 1);
#ifdef TWO_DUMPS
  __memprof_profile_dump();
  total += churn(3);
#endif
  if (argc > 2) usleep(1000 * atoi(argv[2]));
  release(tree);
  free(raw);
  delete[] cold;
  printf("%ld\n", total);
}
