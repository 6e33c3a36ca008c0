#pragma once

#include <cstdint>

namespace hone::kernels::cuda {

/// Gives the number of span [i, j) among the cells of so many words, as kernels/cpu/chart.h does.
__device__ __forceinline__ int chart_cell(int words, int i, int j) {
  return i * (words - 1) - i * (i - 1) / 2 + j - i - 2;
}

/// Gives the text among whose rows `row` is, by where texts begin; `texts` where it is no text's.
__device__ __forceinline__ int64_t text_at(const int32_t* offsets, int64_t texts, int64_t row) {
  if (row >= offsets[texts]) return texts;
  int64_t low = 0, high = texts;  // the text is in [low, high)
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (offsets[middle] <= row ? low : high) = middle;
  }
  return low;
}

}  // namespace hone::kernels::cuda
