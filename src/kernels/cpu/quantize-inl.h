// A row of activations to bytes.
#if defined(HONE_KERNELS_CPU_QUANTIZE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HONE_KERNELS_CPU_QUANTIZE_INL_H_
#undef HONE_KERNELS_CPU_QUANTIZE_INL_H_
#else
#define HONE_KERNELS_CPU_QUANTIZE_INL_H_
#endif

#include "kernels/cpu/convert-inl.h"
#include "kernels/cpu/gemm.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

/// The steps of a range that holds 0. A range too small to divide by counts as none; one that is
/// not finite gives a scale that makes the products not finite.
struct ByteSteps {
  RowScale row;
  float inverse;

  ByteSteps(float low, float high) {
    constexpr float kLeast = 1e-30f;
    const float range = high - low;
    const bool any = !(range < kLeast);  // true where it is NaN, too
    row.scale = any ? range / 255.0f : 0.0f;
    inverse = any ? 255.0f / range : 0.0f;
    const float zero = -low * inverse + 0.5f;
    row.zero = zero > 0 && zero < 256 ? static_cast<int32_t>(zero) : 0;
  }
};

/// 1.5 * 2^23: a small number added to it is rounded to an integer in the low bits, to nearest
/// even.
constexpr float kRounder = 12582912.0f;
constexpr int32_t kRounderBits = 0x4b400000;

HWY_INLINE ByteSteps StepsOf(const float* x, int64_t width) {
  const int64_t lanes = kLanes;
  VF32 low = hn::Zero(kF32);
  VF32 high = low;
  int64_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    const VF32 v = hn::LoadU(kF32, x + i);
    low = hn::Min(low, v);
    high = hn::Max(high, v);
  }
  if (i < width) {
    const VF32 v = LoadPart(x + i, width - i);
    low = hn::Min(low, v);
    high = hn::Max(high, v);
  }
  return {hn::GetLane(hn::MinOfLanes(kF32, low)), hn::GetLane(hn::MaxOfLanes(kF32, high))};
}

HWY_INLINE void BytesOf(const float* x, int64_t width, const ByteSteps& steps, uint8_t* q) {
  const hn::RebindToSigned<F32> di;
  const hn::Rebind<uint8_t, F32> d8;
  const int64_t lanes = kLanes;
  const VF32 inverse = hn::Set(kF32, steps.inverse);
  const auto zero = hn::Set(di, steps.row.zero - kRounderBits);
  const auto bytes = [&](VF32 v) HWY_ATTR {
    const VF32 rounded = hn::MulAdd(v, inverse, hn::Set(kF32, kRounder));
    return hn::DemoteTo(d8, hn::Add(hn::BitCast(di, rounded), zero));
  };
  int64_t i = 0;
  for (; i + lanes <= width; i += lanes) hn::StoreU(bytes(hn::LoadU(kF32, x + i)), d8, q + i);
  if (i < width) {
    alignas(64) uint8_t part[kLanes];
    hn::Store(bytes(LoadPart(x + i, width - i)), d8, part);
    std::memcpy(q + i, part, static_cast<size_t>(width - i));
  }
}

/// A vector of bf16 is two of fp32: its elements of even places, and of odd ones.
using Whole16 = hn::Repartition<uint16_t, F32>;
constexpr int64_t kLanes16 = hn::MaxLanes(Whole16());
HWY_INLINE VF32 Evens(hn::Vec<Whole16> bits) {
  return hn::BitCast(kF32, hn::ShiftLeft<16>(hn::BitCast(U32(), bits)));
}
HWY_INLINE VF32 Odds(hn::Vec<Whole16> bits) {
  return hn::BitCast(kF32, hn::And(hn::BitCast(U32(), bits), hn::Set(U32(), 0xffff0000u)));
}

/// Calls body(bits, i, count) with the vectors of a row, zeros behind its end.
template <class Body>
HWY_INLINE void ForVectors(const bf16* x, int64_t width, const Body& body) {
  const auto* bits = reinterpret_cast<const uint16_t*>(x);
  int64_t i = 0;
  for (; i + kLanes16 <= width; i += kLanes16) body(hn::LoadU(Whole16(), bits + i), i, kLanes16);
  if (i < width) {
    alignas(64) uint16_t part[kLanes16] = {};
    std::memcpy(part, bits + i, static_cast<size_t>(width - i) * sizeof(uint16_t));
    body(hn::Load(Whole16(), part), i, width - i);
  }
}

/// Finds the range by integers: a positive bf16 grows with its bits, a negative one falls with them
/// as unsigned.
HWY_INLINE ByteSteps StepsOf(const bf16* x, int64_t width) {
  const hn::RebindToSigned<Whole16> di;
  auto high = hn::Zero(di);
  auto low = hn::Zero(Whole16());
  ForVectors(x, width, [&](hn::Vec<Whole16> bits, int64_t, int64_t) HWY_ATTR {
    high = hn::Max(high, hn::BitCast(di, bits));
    low = hn::Max(low, bits);
  });
  const auto highs = hn::BitCast(Whole16(), high);
  const VF32 most = hn::Max(Evens(highs), Odds(highs));
  const VF32 least = hn::Min(hn::Zero(kF32), hn::Min(Evens(low), Odds(low)));
  return {hn::GetLane(hn::MinOfLanes(kF32, least)), hn::GetLane(hn::MaxOfLanes(kF32, most))};
}

HWY_INLINE void BytesOf(const bf16* x, int64_t width, const ByteSteps& steps, uint8_t* q) {
  const hn::RebindToSigned<Whole16> di;
  const hn::Rebind<uint8_t, decltype(di)> d8;
  const VF32 inverse = hn::Set(kF32, steps.inverse);
  const VF32 rounder = hn::Set(kF32, kRounder);
  const auto zero = hn::Set(di, static_cast<int16_t>(steps.row.zero));
  ForVectors(x, width, [&](hn::Vec<Whole16> bits, int64_t i, int64_t count) HWY_ATTR {
    const auto even = hn::BitCast(di, hn::MulAdd(Evens(bits), inverse, rounder));
    const auto odd = hn::BitCast(U32(), hn::MulAdd(Odds(bits), inverse, rounder));
    const auto both = hn::OddEven(hn::BitCast(di, hn::ShiftLeft<16>(odd)), even);
    const auto bytes = hn::DemoteTo(d8, hn::Add(both, zero));
    if (count == kLanes16) {
      hn::StoreU(bytes, d8, q + i);
    } else {
      alignas(64) uint8_t part[kLanes16];
      hn::Store(bytes, d8, part);
      std::memcpy(q + i, part, static_cast<size_t>(count));
    }
  });
}

template <typename T>
HWY_INLINE void QuantizeRow(const T* x, int64_t width, uint8_t* q, RowScale* out) {
  const ByteSteps steps = StepsOf(x, width);
  BytesOf(x, width, steps, q);
  *out = steps.row;
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
