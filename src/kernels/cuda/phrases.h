#pragma once

#include "kernels/cuda/launch.h"

/// Phrases of packed texts, as kernels/cpu/phrases.h describes them, in fp32. Arrays have as many
/// rows as a bucket; rows behind those of the texts become 0.
namespace hone::kernels::cuda {

struct Phrases {
  int64_t texts = 0, tokens = 0, places = 0;  ///< rows of the arrays
  int64_t width = 0;
  const int32_t* offsets = nullptr;  ///< [texts + 1], where each text's tokens begin
  const int32_t* phrases = nullptr;  ///< [texts + 1], where its places for phrases begin
  const int32_t* spans = nullptr;    ///< [places, 2], the token rows [begin, end)
};

Status phrase_rows(const Phrases& at, const float* x, const float* u, float* y, Stream stream);
/// Sets (=) dx and du; either may be null.
Status phrase_rows_backward(const Phrases& at, const float* dy, const float* x, float* dx,
                            float* du, Stream stream);
Status phrase_means(const Phrases& at, const float* x, float* y, Stream stream);
/// Sets (=) dx.
Status phrase_means_backward(const Phrases& at, const float* dy, float* dx, Stream stream);

}  // namespace hone::kernels::cuda
