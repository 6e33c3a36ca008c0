#pragma once

#include <cmath>

#include "nn/packed_rows.h"
#include "nn/parameters.h"

namespace hone::nn {

/// Slots 0 to 4: matrix, vector, table, vector, matrix.
inline Parameters five_slots(const Target& target) {
  Parameters parameters(target);
  parameters.matrix({"a.weight", "b.weight"}, 6, 5, DType::f32);
  parameters.vector({"a.bias", "b.bias"}, 6);
  parameters.table("words", 7, 3, DType::f32);
  parameters.vector({"norm.weight"}, 1);
  parameters.matrix({"c.weight"}, 2, 40, DType::f32);
  return parameters;
}

/// Fills a slot with `scale` times the sines of its elements' numbers.
inline void fill_with_sines(Parameters& parameters, const Parameter& parameter, float scale) {
  const int64_t width = row_width(parameter);
  store_rows(parameters, parameter, [&](int64_t first, int64_t count, float* out) {
    for (int64_t i = 0; i < count * width; ++i) {
      out[i] = scale * std::sin(static_cast<float>(first * width + i));
    }
  });
}

}  // namespace hone::nn
