#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace hone::kernels {

/// out[q * ldo + r] = the sum over i of queries[q][i] * rows[r][i], for q < query_count and
/// r < row_count. Rows and queries have `width` elements, a multiple of 64 bytes' worth of either,
/// and are aligned to 64 bytes. T is float, bf16, or uint8_t, whose bytes stand for themselves less
/// 128. Each sum runs in one order, whatever else is computed beside it: its bits depend on its
/// query and its row alone.
template <typename T>
void inner_products(const float* queries, int64_t query_count, const T* rows, int64_t row_count,
                    int64_t width, float* out, int64_t ldo);

/// out[r] = the sum over i of query[i] * rows[r][i], exactly; `width` is a multiple of 64 and no
/// more than 65,536.
void byte_products(const int8_t* query, const uint8_t* rows, int64_t row_count, int64_t width,
                   int32_t* out);

/// Says how the score of a row follows from its product of bytes with a query: it lies within
/// row_errors * query_norm + row_norms * query_error of
/// (dots + offset) * scale * row_scales + biases.
struct ByteScores {
  const float* row_scales;
  const float* row_errors;
  const float* row_norms;
  const float* biases;  ///< may be null
  int32_t offset;
  float scale;
  float query_norm;
  float query_error;
};

/// Writes the most that each score can be, all pointers of `how` beginning at the first row.
void highest_scores(const int32_t* dots, const ByteScores& how, int64_t count, float* out);

/// Writes the indices of scores above `threshold`, ascending, and returns their number.
int64_t indices_above(const float* scores, int64_t count, float threshold, int32_t* out);

/// The form of byte_products() for AVX512-VNNI.
void byte_products_vnni(const int8_t* query, const uint8_t* rows, int64_t row_count, int64_t width,
                        int32_t* out);

}  // namespace hone::kernels
