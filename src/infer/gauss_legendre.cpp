#include "infer/gauss_legendre.h"

#include <cmath>
#include <numbers>

namespace hone::infer {
namespace {

struct Legendre {
  double value;
  double slope;
};

/// Gives the Legendre polynomial of degree `count` at x, by its recurrence.
Legendre legendre(int64_t count, double x) {
  double before = 1, value = x;
  for (int64_t i = 2; i <= count; ++i) {
    const auto n = static_cast<double>(i);
    const double next = ((2 * n - 1) * x * value - (n - 1) * before) / n;
    before = value;
    value = next;
  }
  const auto n = static_cast<double>(count);
  return {value, n * (x * value - before) / (x * x - 1)};
}

}  // namespace

Quadrature gauss_legendre(int64_t count) {
  if (count == 1) return {{0.5}, {1}};
  Quadrature rule;
  const auto n = static_cast<double>(count);
  for (int64_t i = count; i > 0; --i) {
    double x = std::cos(std::numbers::pi * (static_cast<double>(i) - 0.25) / (n + 0.5));
    // Newton's method from that guess has all digits after three or four rounds.
    for (int round = 0; round < 8; ++round) {
      const Legendre at = legendre(count, x);
      x -= at.value / at.slope;
    }
    const double slope = legendre(count, x).slope;
    rule.points.push_back(0.5 * (1 + x));
    rule.weights.push_back(1 / ((1 - x * x) * slope * slope));
  }
  return rule;
}

}  // namespace hone::infer
