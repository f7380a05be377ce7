// Allocations in functions that are not inlined: kept until the end, short, recursive and of different sizes.
typedef decltype(sizeof 0) size;

extern "C" int printf(const char *, ...);
extern "C" int atoi(const char *);

#define APART __attribute__((noinline))

namespace {
struct Node {
  Node *left, *right;
  long weight;
};

char *volatile kept;

APART void keep(size bytes) {
  kept = new char[bytes];
  kept[0] = 1;
}

APART void churn(unsigned rounds) {
  for (unsigned i = 0; i < rounds; i++) {
    char *volatile text = new char[64 + i % 7];
    text[0] = char(i);
    delete[] text;
  }
}

APART Node *build(unsigned depth) {
  Node *node = new Node;
  node->left = node->right = nullptr;
  node->weight = depth;
  if (depth) {
    node->left = build(depth - 1);
    node->right = build(depth - 1);
  }
  return node;
}

APART long *table(unsigned length) {
  long *values = new long[length];
  for (unsigned i = 0; i < length; i++)
    values[i] = i;
  return values;
}
} // namespace

APART Node *single(long weight) {
  Node *node = new Node;
  node->left = node->right = nullptr;
  node->weight = weight;
  return node;
}

int main(int argc, char **argv) {
  unsigned rounds = argc > 1 ? unsigned(atoi(argv[1])) : 20;
  keep(4096);
  Node *tree = build(3);
  Node *other = single(rounds);
  churn(rounds);
  long *values = table(rounds + 1);
  printf("%ld\n", tree->weight + other->weight + values[rounds]);
  return 0;
}
