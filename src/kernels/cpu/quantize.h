#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "kernels/cpu/gemm.h"
#include "tensor/dtype.h"

namespace hone::kernels {

/// Bytes of a quantised row: whole cache lines of values, and one whose start is the row's scale.
constexpr int64_t quantized_stride(int64_t width) { return (width + 63) / 64 * 64 + 64; }
/// Rows of activations as gemm() takes them.
struct QuantizedRows {
  uint8_t* data;  ///< aligned to 64 bytes
  int64_t width;

  int64_t stride() const { return quantized_stride(width); }
  uint8_t* row(int64_t i) const { return data + i * stride(); }
  /// Gives the first row's scale; the others are stride() bytes apart.
  RowScale* scales() const { return reinterpret_cast<RowScale*>(data + stride() - 64); }
  RowScale& scale(int64_t i) const { return scales()[i * scale_stride()]; }
  int64_t scale_stride() const { return stride() / static_cast<int64_t>(sizeof(RowScale)); }
};

/// Quantises rows of x [rows, width] to bytes with a scale and a zero each: from the row's least to
/// its largest value, 0 included, in 255 steps, rounded to nearest even. 0 stays exactly 0. A row's
/// bits depend on that row alone. T is float or bf16.
template <typename T>
void quantize_rows(const T* x, int64_t rows, const QuantizedRows& q, ThreadPool& pool);

/// Quantises a row of a weight to bytes from -127 to 127, 0 for 0; returns the scale of a step, 0
/// where the row is all 0. Values are finite. The scale has 16 bits of precision: 127 times it is
/// exact, so that what the bytes stand for gives the same bytes and scale again, bit for bit.
float quantize_symmetric(const float* row, int64_t width, int8_t* q);

}  // namespace hone::kernels
