#include "explain/concept_rows.h"

#include <algorithm>
#include <cmath>

namespace hone::explain {

void read_row(const ConceptRows& rows, int64_t row, float* out) {
  const int64_t at = row * row_stride(rows.dtype, rows.width);
  if (rows.dtype == DType::f32) {
    std::copy_n(static_cast<const float*>(rows.data) + at, rows.width, out);
  } else if (rows.dtype == DType::bf16) {
    const bf16* values = static_cast<const bf16*>(rows.data) + at;
    std::transform(values, values + rows.width, out, [](bf16 value) { return to_float(value); });
  } else {
    const uint8_t* values = static_cast<const uint8_t*>(rows.data) + at;
    const float scale = rows.scales[row];
    std::transform(values, values + rows.width, out,
                   [scale](uint8_t value) { return scale * static_cast<float>(value - 128); });
  }
}

float centre_vector(const float* v, const float* mean, int64_t width, float* out) {
  double squares = 0;
  for (int64_t i = 0; i < width; ++i) {
    out[i] = v[i] - mean[i];
    squares += double{out[i]} * double{out[i]};
  }
  const auto norm = static_cast<float>(std::sqrt(squares));
  for (int64_t i = 0; i < width; ++i) out[i] = norm > 0 ? out[i] / norm : 0.0f;
  return norm;
}

}  // namespace hone::explain
