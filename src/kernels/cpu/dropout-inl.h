// Dropout's random words in vectors, for kernels that drop on the way.
#if defined(HONE_KERNELS_CPU_DROPOUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HONE_KERNELS_CPU_DROPOUT_INL_H_
#undef HONE_KERNELS_CPU_DROPOUT_INL_H_
#else
#define HONE_KERNELS_CPU_DROPOUT_INL_H_
#endif

#include <cmath>

#include "kernels/cpu/attention_dropout.h"
#include "kernels/cpu/convert-inl.h"
#include "kernels/cpu/dropout.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

/// Two vectors of masks: those of channels 0 to kLanes - 1 and of kLanes to 2 * kLanes - 1 behind
/// the first.
struct DropoutMasks {
  hn::Mask<F32> first, second;
};

/// One row of a Dropout with p above 0.
class DropoutRow {
 public:
  static constexpr int64_t kChannels = 2 * kLanes;  ///< channels that one draw covers

  DropoutRow(const Dropout& dropout, int64_t row)
      : key_(dropout.key),
        sample_(static_cast<uint64_t>(dropout.samples[row])),
        position_(static_cast<uint32_t>(dropout.positions[row])),
        // The test is uniform(word) >= p, on the 24 bits that uniform() takes: p * 2^24 is exact.
        dropped_(static_cast<int32_t>(std::ceil(dropout.p * 0x1p24f)) - 1),
        scale_(1.0f / (1.0f - dropout.p)) {}

  /// Gives 1 / (1 - p).
  float scale() const { return scale_; }

  /// Says what is kept of channels `channel` to channel + kChannels - 1. `channel` is a multiple of
  /// 4.
  HWY_INLINE DropoutMasks Keep(uint32_t channel) const {
    // A counter's words stay in the low halves of 64 bits, where products are taken from; the high
    // halves hold whatever came. Even lanes count 0, 1, ... and odd lanes go on from there, so that
    // interleaving within blocks of 128 bits puts channels in order.
    const U64 d;
    constexpr uint64_t half = kLanes / 4;
    alignas(64) static constexpr uint64_t kOrder[8] = {0, half,     1, half + 1,
                                                       2, half + 2, 3, half + 3};
    auto c0 = hn::Add(hn::Set(d, uint64_t{channel / 4}), hn::Load(d, kOrder));
    auto c1 = hn::Set(d, uint64_t{position_});
    auto c2 = hn::Set(d, sample_);
    auto c3 = hn::Set(d, sample_ >> 32);
    const auto multiplier0 = hn::Set(d, uint64_t{0xD2511F53});
    const auto multiplier1 = hn::Set(d, uint64_t{0xCD9E8D57});
    auto key0 = static_cast<uint32_t>(key_), key1 = static_cast<uint32_t>(key_ >> 32);
    HWY_UNROLL(10)
    for (int round = 0; round < 10; ++round) {
      const auto a = Product(c0, multiplier0), b = Product(c2, multiplier1);
      c0 = hn::Xor(hn::ShiftRight<32>(b), hn::Xor(c1, hn::Set(d, uint64_t{key0})));
      c1 = b;
      c2 = hn::Xor(hn::ShiftRight<32>(a), hn::Xor(c3, hn::Set(d, uint64_t{key1})));
      c3 = a;
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
    const auto words01 = Pairs(c0, c1), words23 = Pairs(c2, c3);
    return {Kept(hn::InterleaveLower(d, words01, words23)),
            Kept(hn::InterleaveUpper(d, words01, words23))};
  }

 private:
  using U64 = hn::RepartitionToWide<U32>;
  using VU64 = hn::Vec<U64>;

  static HWY_INLINE VU64 Product(VU64 a, VU64 b) {
    const U32 du;
    return hn::MulEven(hn::BitCast(du, a), hn::BitCast(du, b));
  }
  static HWY_INLINE VU64 Pairs(VU64 low, VU64 high) {
    const U32 du;
    const auto shifted = hn::BitCast(du, hn::ShiftLeft<32>(high));
    return hn::BitCast(U64(), hn::OddEven(shifted, hn::BitCast(du, low)));
  }
  HWY_INLINE hn::Mask<F32> Kept(VU64 words) const {
    const hn::RebindToSigned<F32> di;
    const auto drawn = hn::BitCast(di, hn::ShiftRight<8>(hn::BitCast(U32(), words)));
    return hn::RebindMask(kF32, hn::Gt(drawn, hn::Set(di, dropped_)));
  }

  uint64_t key_;
  uint64_t sample_;
  uint32_t position_;
  int32_t dropped_;  ///< the largest of 24 bits that is dropped
  float scale_;
};

/// Says what is kept of the kLanes keys from `at` on, of 32.
HWY_INLINE hn::Mask<F32> KeptKeys(uint32_t kept, int64_t at) {
  const uint32_t bits = kept >> at;
  uint8_t bytes[8] = {static_cast<uint8_t>(bits), static_cast<uint8_t>(bits >> 8)};
  return hn::LoadMaskBits(kF32, bytes);
}

/// Calls body(j, mask) for vectors of a query's probabilities: keys first_key + j on, j < count.
/// first_key is a multiple of 32.
template <class Body>
HWY_INLINE void ForKeptKeys(const AttentionDropout& dropout, int64_t first_key, int64_t count,
                            const Body& body) {
  for (int64_t group = 0; group < count; group += 32) {
    const uint32_t kept = dropout.kept((first_key + group) / 32);
    for (int64_t j = 0; j < 32 && group + j < count; j += kLanes) {
      body(group + j, KeptKeys(kept, j));
    }
  }
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
