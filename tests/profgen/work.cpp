#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>
struct Shape { virtual ~Shape() {} virtual double area() const = 0; };
struct Square : Shape { double s; explicit Square(double s) : s(s) {} double area() const override { return s * s; } };
struct Circle : Shape { double r; explicit Circle(double r) : r(r) {} double area() const override { return 3 * r * r; } };
namespace { template <typename T> T clampit(T x, T lo, T hi) { return x < lo ? lo : x > hi ? hi : x; } }
static std::map<std::string, int> table;
static int lookup(int i) { auto it = table.find("key" + std::to_string(i)); return it == table.end() ? -1 : it->second; }
int main() {
  std::vector<std::unique_ptr<Shape>> shapes;
  for (int i = 0; i < 60; i++) { if (i % 3) shapes.emplace_back(new Square(i)); else shapes.emplace_back(new Circle(i)); }
  for (int i = 0; i < 60; i++) table["key" + std::to_string(i * 2)] = i;
  double total = 0; long hits = 0;
  for (int r = 0; r < 20; r++) {
    for (auto &s : shapes) total += clampit(s->area(), 1.0, 500.0);
    for (int i = 0; i < 60; i++) hits += lookup(i);
    try { if (r % 7 == 3) throw r; } catch (int x) { hits += x; }
  }
  std::vector<int> v; for (int i = 0; i < 300; i++) v.push_back((i * 7919) % 311);
  std::sort(v.begin(), v.end(), [](int a, int b) { return a % 13 < b % 13; });
  printf("%f %ld %d\n", total, hits, v[5]);
}
