#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace hone {

/// The dynamic map of 8-bit optimisers (Dettmers et al. 2021, bitsandbytes' create_dynamic_map):
/// 256 values in [-1, 1], or [0, 1] where unsigned, that are dense around 0: seven decades, each
/// with twice the values of the one below, in the middle of equal parts; and 0 and 1.
class DynamicMap {
 public:
  /// Moments are quantised in blocks of this many elements, with the largest of each beside it.
  static constexpr int kBlock = 256;
  /// Buckets are what the high halves of fp32 numbers from 2^-23 to 1 tell apart.
  static constexpr int32_t kFirstBucket = 104 * 128;
  static constexpr int32_t kBuckets = 127 * 128 - kFirstBucket + 1;

  constexpr explicit DynamicMap(bool is_signed) : zero_(is_signed ? 127 : 0) {
    constexpr int kDecades = 7;
    std::array<double, 256> exact{};
    int at = 1;
    double scale = 1e-6;
    for (int decade = 0; decade < kDecades; ++decade, scale *= 10) {
      const int parts = is_signed ? 1 << decade : 2 << decade;
      for (int part = 0; part < parts; ++part)
        exact[at++] = scale * (0.1 + 0.9 * (part + 0.5) / parts);
    }
    exact[at] = 1;
    last_ = at;
    for (int i = 0; i <= last_; ++i) value_[zero_ + i] = static_cast<float>(exact[i]);
    for (int i = 1; i <= zero_; ++i) value_[zero_ - i] = -value_[zero_ + i];
    for (int i = 0; i < last_; ++i) middle_[i] = static_cast<float>((exact[i] + exact[i + 1]) / 2);
    middle_[last_] = std::numeric_limits<float>::infinity();
    int32_t below = 0;
    for (int32_t bucket = 1; bucket < kBuckets; ++bucket) {
      const auto least = std::bit_cast<float>(static_cast<uint32_t>(kFirstBucket + bucket) << 16);
      while (middle_[below] < least) ++below;
      least_[bucket] = below;
    }
  }

  /// Gives the value of a code.
  constexpr float value(uint8_t code) const { return value_[code]; }
  /// Gives the code of the value that is nearest to `x`, which is in [-1, 1].
  constexpr uint8_t code(float x) const {
    const uint32_t bits = std::bit_cast<uint32_t>(x) & 0x7fffffffu;
    const auto size = std::bit_cast<float>(bits);
    const auto high = static_cast<int32_t>(bits >> 16);
    int32_t rank = least_[high > kFirstBucket ? high - kFirstBucket : 0];
    rank += size > middle_[rank] ? 1 : 0;
    if (x < 0) return static_cast<uint8_t>(zero_ - (rank < zero_ ? rank : zero_));
    return static_cast<uint8_t>(zero_ + rank);
  }

  /// The parts of code(), for kernels: the code of 0; the number of values from 0 to 1, less one;
  /// by rank from 0, the middle between a value and the next; by bucket, the rank of the value
  /// that is nearest to the bucket's least number. No bucket has two middles.
  constexpr int32_t zero() const { return zero_; }
  constexpr int32_t last() const { return last_; }
  constexpr const float* values() const { return value_.data(); }
  constexpr const float* middles() const { return middle_.data(); }
  constexpr const int32_t* least_ranks() const { return least_.data(); }

 private:
  int32_t zero_ = 0;
  int32_t last_ = 0;
  std::array<float, 256> value_{};
  std::array<float, 256> middle_{};
  std::array<int32_t, kBuckets> least_{};
};

inline constexpr DynamicMap kSignedMap(true);
inline constexpr DynamicMap kUnsignedMap(false);

}  // namespace hone
