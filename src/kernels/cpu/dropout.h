#pragma once

#include <cstdint>

#include "base/random.h"
#include "base/thread_pool.h"
#include "tensor/dtype.h"

namespace hone::kernels {

/// Says which elements are dropped, a pure function of (seed, step, site, global sample, position,
/// channel), never of the packed row. It is handed over at launch, since the key changes every
/// step.
///
/// Element (row, channel c) draws word c % 4 of philox(key, samples[row], positions[row] << 32 | c
/// / 4); it is kept, times 1 / (1 - p), if uniform(word) >= p, and becomes 0 otherwise. Backward is
/// the same function of the gradient: nothing is stored.
struct Dropout {
  float p = 0.0f;  ///< 0 (nothing below is read, and it costs nothing) to below 1
  uint64_t key = 0;
  const int64_t* samples = nullptr;    ///< [rows]
  const int32_t* positions = nullptr;  ///< [rows]: places in their sample
};

/// Makes the key of a site; `site` numbers the places of a model where something is dropped.
inline uint64_t dropout_key(uint64_t seed, uint64_t step, uint64_t site) {
  const auto words = philox(seed, step, site);
  return static_cast<uint64_t>(words[1]) << 32 | words[0];
}

/// Gives the factor of one element, 0 or 1 / (1 - p), bit for bit as the vector kernels compute it.
inline float dropout_factor(const Dropout& dropout, int64_t row, uint32_t channel) {
  if (dropout.p == 0.0f) return 1.0f;
  const uint64_t position = static_cast<uint32_t>(dropout.positions[row]);
  const auto words = philox(dropout.key, static_cast<uint64_t>(dropout.samples[row]),
                            position << 32 | channel / 4);
  return uniform(words[channel % 4]) < dropout.p ? 0.0f : 1.0f / (1.0f - dropout.p);
}

/// y = dropout(x) over dense [rows, width]; y may be x. T is float, bf16 or double.
template <typename T>
void apply_dropout(const Dropout& dropout, const T* x, int64_t rows, int64_t width, T* y,
                   ThreadPool& pool);

}  // namespace hone::kernels
