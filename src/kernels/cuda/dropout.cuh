#pragma once

#include "kernels/cuda/common.cuh"
#include "kernels/cuda/dropout.h"

namespace hone::kernels::cuda {

/// A counter has four words.
struct PhiloxCounter {
  uint32_t c0, c1, c2, c3;

  PhiloxCounter() = default;
  __device__ __forceinline__ PhiloxCounter(uint64_t high, uint64_t low)
      : c0(static_cast<uint32_t>(low)),
        c1(static_cast<uint32_t>(low >> 32)),
        c2(static_cast<uint32_t>(high)),
        c3(static_cast<uint32_t>(high >> 32)) {}
};

/// Applies base/random.h's philox() to kDraws counters in place; the round keys are shared.
template <int kRounds = 10, int kDraws>
__device__ __forceinline__ void philox(uint64_t key, PhiloxCounter (&c)[kDraws]) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
#pragma unroll
    for (PhiloxCounter& x : c) {
      const uint64_t a = uint64_t{0xD2511F53u} * x.c0;
      const uint64_t b = uint64_t{0xCD9E8D57u} * x.c2;
      x.c0 = static_cast<uint32_t>(b >> 32) ^ x.c1 ^ k0;
      x.c1 = static_cast<uint32_t>(b);
      x.c2 = static_cast<uint32_t>(a >> 32) ^ x.c3 ^ k1;
      x.c3 = static_cast<uint32_t>(a);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
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
    PhiloxCounter words[1] = {PhiloxCounter(dropout.random->step, dropout.site)};
    philox(dropout.random->seed, words);
    key = static_cast<uint64_t>(words[0].c1) << 32 | words[0].c0;
    // The test uniform(word) >= p looks at 24 bits, of which p * 2^24 is exact.
    least = static_cast<uint32_t>(ceilf(dropout.p * 0x1p24f)) << 8;
    scale = 1.0f / (1.0f - dropout.p);
    samples = dropout.samples;
    positions = dropout.positions;
  }

  /// Sets bits 0 to 3 of kept[i] where the four channels of draws[i] are kept.
  template <int kDraws>
  __device__ __forceinline__ void keep(PhiloxCounter (&draws)[kDraws],
                                       uint32_t (&kept)[kDraws]) const {
    philox(key, draws);
#pragma unroll
    for (int i = 0; i < kDraws; ++i) {
      kept[i] = (draws[i].c0 >= least ? 1u : 0u) | (draws[i].c1 >= least ? 2u : 0u) |
                (draws[i].c2 >= least ? 4u : 0u) | (draws[i].c3 >= least ? 8u : 0u);
    }
  }

  /// Gives the counter whose words decide on channels 4 * quad to 4 * quad + 3.
  static __device__ __forceinline__ PhiloxCounter counter(uint64_t sample, uint32_t position,
                                                          uint32_t quad) {
    return {sample, static_cast<uint64_t>(position) << 32 | quad};
  }

  /// Drops elements of the chunk at column `at` of packed row `row`.
  __device__ __forceinline__ void apply(int64_t row, int at, Chunk& chunk) const {
    const auto sample = static_cast<uint64_t>(samples[row]);
    const auto position = static_cast<uint32_t>(positions[row]);
    PhiloxCounter draws[2] = {counter(sample, position, static_cast<uint32_t>(at / 4)),
                              counter(sample, position, static_cast<uint32_t>(at / 4 + 1))};
    uint32_t kept[2];
    keep(draws, kept);
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      chunk.value[i] = kept[i / 4] >> (i % 4) & 1u ? chunk.value[i] * scale : 0.0f;
    }
  }
};

}  // namespace hone::kernels::cuda
