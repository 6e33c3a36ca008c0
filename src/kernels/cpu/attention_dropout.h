#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/cpu/dropout.h"

namespace hone::kernels {

/// Says which probabilities of one query and head are dropped, a pure function of (seed, step,
/// site, sample, position, head, key). There are as many as the length squared, so they are drawn
/// 32 keys at a time, bit by bit of a comparison with p in 16 bits.
///
/// Group g draws words w[0] to w[7] by philox<7>(key, sample, position << 32 | head << 16 | 2 g)
/// and the counter behind it. Lane b of 32 is dropped if the 16 bits of it in w[0] to w[7] and,
/// behind them, in w[0] to w[7] rotated by 13, are above those of 65535 - round(65536 p). The
/// rotated ones matter for one lane of 256: each lane's share is exact, and lanes depend on each
/// other no more than that. Heads' and keys' numbers are below 2^16 and 2^20.
class AttentionDropout {
 public:
  AttentionDropout(const Dropout& dropout, int64_t row, int64_t head)
      : key_(dropout.key),
        sample_(static_cast<uint64_t>(dropout.samples[row])),
        counter_(uint64_t{static_cast<uint32_t>(dropout.positions[row])} << 32 |
                 static_cast<uint64_t>(head) << 16),
        share_(static_cast<uint32_t>(std::clamp(std::lround(dropout.p * 65536.0f), 1L, 65535L))),
        scale_(1.0f / (1.0f - dropout.p)) {}

  /// Gives 1 / (1 - p).
  float scale() const { return scale_; }

  /// Gives the bits of what is kept of keys 32 * group to 32 * group + 31, the first in the lowest
  /// bit.
  uint32_t kept(int64_t group) const {
    const uint64_t counter = counter_ | static_cast<uint64_t>(group) << 1;
    const std::array<uint32_t, 4> words[2] = {philox<7>(key_, sample_, counter),
                                              philox<7>(key_, sample_, counter + 1)};
    uint32_t dropped = 0;
    for (int bit = 0; bit < 16; ++bit) {
      const int i = 7 - bit % 8;
      const uint32_t word = words[i / 4][i % 4];
      const uint32_t draw = bit < 8 ? std::rotl(word, 13) : word;
      dropped = share_ >> bit & 1 ? draw | dropped : draw & dropped;
    }
    return in_order(~dropped);
  }

  float factor(int64_t key) const { return kept(key / 32) >> key % 32 & 1 ? scale_ : 0.0f; }

 private:
  /// Puts lanes in the order of keys. Key k's lane is bits 3, 0, 2, 1, 4 of k, from the highest, so
  /// that the lanes of one thread of a GPU's tensor-core product, whose keys are 8 j + 2 t and the
  /// next, lie at one place of each byte.
  static uint32_t in_order(uint32_t lanes) {
    // Lane bits (4 3 2 1 0) hold key bits (3 0 2 1 4): two exchanges.
    lanes = exchanged(lanes, 0x0000AAAA, 15);  // lane bits 4 and 0: (4 0 2 1 3)
    return exchanged(lanes, 0x00AA00AA, 7);    // lane bits 3 and 0: (4 3 2 1 0)
  }
  /// Exchanges the bits under `mask` with those `by` above.
  static uint32_t exchanged(uint32_t x, uint32_t mask, int by) {
    const uint32_t difference = (x >> by ^ x) & mask;
    return x ^ difference ^ difference << by;
  }

  uint64_t key_;
  uint64_t sample_;
  uint64_t counter_;
  uint32_t share_;
  float scale_;
};

/// Gives the factor of one probability: 0 or 1 / (1 - p).
inline float attention_factor(const Dropout& dropout, int64_t row, int64_t head, int64_t key) {
  return dropout.p == 0.0f ? 1.0f : AttentionDropout(dropout, row, head).factor(key);
}

}  // namespace hone::kernels
