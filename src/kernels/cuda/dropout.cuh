#pragma once

#include "kernels/cuda/common.cuh"

namespace hone::kernels::cuda {

struct PhiloxWords {
  uint32_t word[4];
};

/// base/random.h's philox().
__device__ __forceinline__ PhiloxWords philox(uint64_t key, uint64_t counter_high,
                                              uint64_t counter_low) {
  uint32_t c0 = static_cast<uint32_t>(counter_low), c1 = static_cast<uint32_t>(counter_low >> 32);
  uint32_t c2 = static_cast<uint32_t>(counter_high), c3 = static_cast<uint32_t>(counter_high >> 32);
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * c0;
    const uint64_t b = uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<uint32_t>(b >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(b);
    c2 = static_cast<uint32_t>(a >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(a);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

/// A Dropout as a thread uses it.
struct Dropper {
  uint64_t key = 0;
  uint32_t least = 0;  ///< the least word that is kept
  float scale = 1.0f;  ///< 1 / (1 - p)
  const int64_t* samples = nullptr;
  const int32_t* positions = nullptr;
  bool active = false;

  __device__ __forceinline__ explicit Dropper(const Dropout& dropout) {
    active = dropout.p > 0.0f;
    if (!active) return;
    const PhiloxWords words = philox(dropout.random->seed, dropout.random->step, dropout.site);
    key = static_cast<uint64_t>(words.word[1]) << 32 | words.word[0];
    // uniform(word) >= p looks at 24 bits, of which p * 2^24 is exact.
    least = static_cast<uint32_t>(ceilf(dropout.p * 0x1p24f)) << 8;
    scale = 1.0f / (1.0f - dropout.p);
    samples = dropout.samples;
    positions = dropout.positions;
  }

  /// Which of channels 4 * quad to 4 * quad + 3 are kept: bits 0 to 3.
  __device__ __forceinline__ uint32_t keep(uint64_t sample, uint32_t position,
                                           uint32_t quad) const {
    const PhiloxWords words = philox(key, sample, static_cast<uint64_t>(position) << 32 | quad);
    return (words.word[0] >= least ? 1u : 0u) | (words.word[1] >= least ? 2u : 0u) |
           (words.word[2] >= least ? 4u : 0u) | (words.word[3] >= least ? 8u : 0u);
  }

  /// A chunk of columns at `at` of packed row `row`.
  __device__ __forceinline__ void apply(int64_t row, int at, Chunk& chunk) const {
    const auto sample = static_cast<uint64_t>(samples[row]);
    const auto position = static_cast<uint32_t>(positions[row]);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint32_t kept = keep(sample, position, static_cast<uint32_t>(at / 4 + half));
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float& value = chunk.value[4 * half + i];
        value = kept >> i & 1u ? value * scale : 0.0f;
      }
    }
  }
};

}  // namespace hone::kernels::cuda
