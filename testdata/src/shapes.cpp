// Classes with virtual calls, a template used with two types, inline functions.
#include <cstdio>
#include <cstdlib>

struct Shape {
  virtual ~Shape() {}
  virtual long area() const = 0;
  virtual long corners() const { return 0; }
};

struct Square : Shape {
  long side;
  explicit Square(long s) : side(s) {}
  long area() const override { return side * side; }
  long corners() const override { return 4; }
};

struct Box : Shape {
  long width, height;
  Box(long w, long h) : width(w), height(h) {}
  long area() const override { return width * height; }
  long corners() const override { return width == height ? 4 : 8; }
};

namespace {
struct Dot : Shape {
  long area() const override { return 1; }
};
} // namespace

template <typename T> __attribute__((noinline)) T larger(T a, T b) { return a > b ? a : b; }

__attribute__((noinline)) long measure(const Shape &shape) { return shape.area() + shape.corners(); }

int main(int argc, char **argv) {
  long rounds = argc > 1 ? std::atol(argv[1]) : 20;
  long total = 0;
  for (long i = 0; i < rounds; i++) {
    Square square(i);
    Box box(i, 3);
    Dot dot;
    total += measure(i % 4 ? static_cast<const Shape &>(square) : static_cast<const Shape &>(box));
    if (i % 7 == 0)
      total += measure(dot);
    total = larger<long>(total, i) + static_cast<long>(larger<double>(1.5, 0.5 * static_cast<double>(i)));
  }
  std::printf("%ld\n", total);
  return 0;
}
