#pragma once

#include <cstdint>
#include <vector>

namespace hone::infer {

/// Points of (0, 1), in rising order, and weights that sum to 1.
struct Quadrature {
  std::vector<double> points;
  std::vector<double> weights;
};

/// Gives the rule of so many points that is exact for polynomials of the highest degree.
Quadrature gauss_legendre(int64_t count);

}  // namespace hone::infer
