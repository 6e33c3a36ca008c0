#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace hone::explain {

/// Gives the elements from one row of vectors to the next: rows are whole cache lines, so that
/// scans have no tails. What is behind `width` stands for 0.
constexpr int64_t row_stride(DType dtype, int64_t width) {
  const int64_t line = dtype == DType::f32 ? 16 : dtype == DType::bf16 ? 32 : 64;
  return (width + line - 1) / line * line;
}

/// Borrowed vectors of concepts, wherever they lie: in a mapped store or in a trainer's memory.
/// `data` is aligned to 64 bytes and has row_stride() elements a row. For u8 the value of a byte is
/// scales[row] * (byte - 128).
struct ConceptRows {
  DType dtype = DType::f32;  ///< f32, bf16 or u8
  int64_t count = 0;
  int64_t width = 0;
  const void* data = nullptr;
  const float* scales = nullptr;  ///< [count]; read for u8 alone
  const float* biases = nullptr;  ///< [count]: each is added to its concept's score; may be null
};

/// Writes the vector of a row in fp32, [width].
void read_row(const ConceptRows& rows, int64_t row, float* out);

/// out = (v - mean) / |v - mean|, or zeros where v is the mean; returns that length. `out` may be
/// `v`.
float centre_vector(const float* v, const float* mean, int64_t width, float* out);

}  // namespace hone::explain
