#pragma once

#include "kernels/cuda/launch.h"

/// Rows for the spans of packed texts, as kernels/cpu/span_rows.h describes them, in fp32. Arrays
/// have as many rows as a bucket; rows behind those of the texts become 0.
namespace hone::kernels::cuda {

struct Spans {
  int64_t texts = 0, tokens = 0, bounds = 0, cells = 0;  ///< rows of the arrays
  const int32_t* bound_offsets = nullptr;  ///< [texts + 1], where each text's bounds begin
  const int32_t* cell_offsets = nullptr;   ///< [texts + 1], where its cells begin
  const int32_t* before = nullptr;  ///< [bounds], the row of the last token before a bound; rising
  const int32_t* behind = nullptr;  ///< [bounds], the row of the first token behind it; rising
};

/// y [cells, width] of x [tokens, 4 * width].
Status span_rows(const Spans& spans, const float* x, int64_t width, float* y, Stream stream);
/// Sets (=) dx [tokens, 4 * width].
Status span_rows_backward(const Spans& spans, const float* dy, int64_t width, float* dx,
                          Stream stream);

}  // namespace hone::kernels::cuda
