// Templates, lambdas and virtual calls, many of which are inlined.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <vector>

template <class Value, int Size> struct Ring {
  Value data[Size]{};
  unsigned at = 0;
  __attribute__((noinline)) void push(Value value) { data[at++ % Size] = value; }
  template <class Fold> Value fold(Fold fold) const {
    Value sum{};
    for (auto &value : data) sum = fold(sum, value);
    return sum;
  }
};

struct Shape {
  virtual ~Shape() = default;
  virtual double area(double scale) const = 0;
};

struct Square : Shape {
  double side;
  explicit Square(double side) : side(side) {}
  double area(double scale) const override { return side * side * scale; }
};

struct Disc : Shape {
  double radius;
  explicit Disc(double radius) : radius(radius) {}
  double area(double scale) const override {
    double sum = 0;
    for (int i = 1; i < 6; i++) sum += radius * radius / i;
    return sum * scale;
  }
};

namespace {
template <class Iterator, class Test> Iterator split(Iterator begin, Iterator end, Test test) {
  while (begin != end) {
    if (test(*begin)) ++begin;
    else { --end; std::swap(*begin, *end); }
  }
  return begin;
}

template <class Vector, class Less> void quick(Vector &vector, int low, int high, Less less) {
  if (high - low < 2) return;
  auto pivot = vector[(low + high) / 2];
  auto begin = vector.begin();
  auto middle = split(begin + low, begin + high, [&](auto x) { return less(x, pivot); }) - begin;
  auto upper = split(begin + middle, begin + high, [&](auto x) { return !less(pivot, x); }) - begin;
  quick(vector, low, middle, less);
  quick(vector, upper, high, less);
}

unsigned seed = 3;
unsigned next() { return seed = seed * 1664525u + 1013904223u, seed >> 12; }
} // namespace

__attribute__((noinline)) static unsigned digits(unsigned number, const std::function<unsigned(unsigned)> &count) {
  unsigned sum = 0;
  for (; number; number /= 10) sum += count(number % 10);
  return sum;
}

static unsigned collatz(unsigned number) {
  unsigned steps = 0;
  for (; number > 1 && steps < 60; steps++) number = number & 1 ? 3 * number + 1 : number / 2;
  return steps;
}

int main() {
  Ring<unsigned, 16> whole;
  Ring<double, 8> real;
  std::map<unsigned, unsigned> seen;
  std::vector<std::unique_ptr<Shape>> shapes;
  double total = 0;
  for (int i = 0; i < 20; i++) {
    if (next() % 3) shapes.push_back(std::make_unique<Square>(i));
    else shapes.push_back(std::make_unique<Disc>(i));
  }
  for (int round = 0; round < 12; round++) {
    std::vector<unsigned> numbers(60);
    for (auto &number : numbers) number = next() % 1000;
    quick(numbers, 0, (int)numbers.size(), [](unsigned a, unsigned b) { return a < b; });
    auto mixed = numbers;
    quick(mixed, 0, (int)mixed.size(), [round](unsigned a, unsigned b) { return (a ^ round) > (b ^ round); });
    for (auto number : numbers) { whole.push(number); seen[number % 31]++; }
    for (auto &shape : shapes) {
      double area = shape->area(round);
      real.push(area);
      total += area;
    }
    total += whole.fold([](unsigned a, unsigned b) { return a * 31 + b; });
    total += real.fold([](double a, double b) { return a > b ? a : b; });
    for (auto number : mixed) total += digits(number, [&](unsigned d) { return d % 2 ? d * round : collatz(d + number); });
    total += std::accumulate(seen.begin(), seen.end(), 0u, [](unsigned sum, const auto &pair) { return sum + pair.second; });
  }
  std::printf("%f\n", total);
}
