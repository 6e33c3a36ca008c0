#include "models/stacked_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"

namespace hone::models {
namespace {

void check_finite(const TensorSource& part, const float* values, int64_t count) {
  // A value is infinity or NaN where all exponent bits are set; one pass has no branches, so that
  // it vectorises.
  bool bad = false;
  for (int64_t i = 0; i < count; ++i) {
    bad |= (std::bit_cast<uint32_t>(values[i]) & 0x7f800000u) == 0x7f800000u;
  }
  if (!bad) return;
  const float value =
      *std::find_if(values, values + count, [](float each) { return !std::isfinite(each); });
  fail(ErrorKind::bad_file, "{}: {}: holds a value that is not finite: {}",
       part.weights->file_of(*part.tensor), part.tensor->name, value);
}

void scale_rows(const TensorSource& part, int64_t first, int64_t count, int64_t width, float* out) {
  std::vector<float> scales(static_cast<size_t>(count));
  part.weights->read(*part.scales, first, count, scales.data());
  for (int64_t i = 0; i < count; ++i) {
    const float scale = scales[static_cast<size_t>(i)];
    std::transform(out + i * width, out + (i + 1) * width, out + i * width,
                   [scale](float value) { return scale * value; });
  }
}

}  // namespace

void StackedRows::read(int64_t first, int64_t count, float* out) const {
  for (const TensorSource& part : parts_) {
    const int64_t rows = part.tensor->elements / width_;
    if (first < rows && count > 0) {
      const int64_t taken = std::min(count, rows - first);
      part.weights->read(*part.tensor, first * width_, taken * width_, out);
      if (part.scales) scale_rows(part, first, taken, width_, out);
      if (part.delta) part.delta->add(first, taken, out);
      if (part.transform) part.transform->apply(first, taken, width_, out);
      check_finite(part, out, taken * width_);
      out += taken * width_;
      count -= taken;
      first += taken;
    }
    first -= rows;
  }
}

}  // namespace hone::models
