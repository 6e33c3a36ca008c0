#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace hone {

/// Philox 4x32 (Salmon et al., 2011): four random words as a pure function of a key and a
/// counter. No random choice of hone depends on threads, batches or restarts, because none has a
/// state: the counter says what is drawn (a step, a tensor, an index). 10 rounds
/// are the authors' choice with a margin; 7 are the fewest that pass every test of BigCrush.
template <int kRounds = 10>
inline std::array<uint32_t, 4> philox(uint64_t key, uint64_t counter_high, uint64_t counter_low) {
  std::array<uint32_t, 4> c = {
      static_cast<uint32_t>(counter_low), static_cast<uint32_t>(counter_low >> 32),
      static_cast<uint32_t>(counter_high), static_cast<uint32_t>(counter_high >> 32)};
  auto k0 = static_cast<uint32_t>(key);
  auto k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

/// Gives a uniform value in [0, 1) with 24 bits.
inline float uniform(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

/// Makes two standard normal values of two words (Box and Muller).
inline std::array<float, 2> normal_pair(uint32_t a, uint32_t b) {
  const float radius = std::sqrt(-2.f * std::log(1.f - uniform(a)));
  const float angle = 2.f * std::numbers::pi_v<float> * uniform(b);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace hone
