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

/// Of a range that holds 0. A range too small to divide by counts as none; one that is not finite
/// gives a scale that makes the products not finite.
struct ByteSteps {
  RowScale row;
  float inverse;

  ByteSteps(float low, float high) {
    constexpr float kLeast = 1e-30f;
    const float range = high - low;
    const bool any = !(range < kLeast);  // also where it is NaN
    row.scale = any ? range / 255.0f : 0.0f;
    inverse = any ? 255.0f / range : 0.0f;
    const float zero = -low * inverse + 0.5f;
    row.zero = zero > 0 && zero < 256 ? static_cast<int32_t>(zero) : 0;
  }
};

template <typename T>
HWY_INLINE void QuantizeRow(const T* x, int64_t width, uint8_t* q, RowScale* out) {
  const hn::RebindToSigned<F32> di;
  const hn::Rebind<uint8_t, F32> d8;
  const int64_t lanes = kLanes;
  VF32 low = hn::Zero(kF32);
  VF32 high = low;
  int64_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    const VF32 v = LoadVector(x + i);
    low = hn::Min(low, v);
    high = hn::Max(high, v);
  }
  if (i < width) {
    const VF32 v = LoadPart(x + i, width - i);
    low = hn::Min(low, v);
    high = hn::Max(high, v);
  }
  const ByteSteps steps(hn::GetLane(hn::MinOfLanes(kF32, low)),
                        hn::GetLane(hn::MaxOfLanes(kF32, high)));
  const VF32 inverse = hn::Set(kF32, steps.inverse);
  const auto zero = hn::Set(di, steps.row.zero);
  const auto bytes = [&](VF32 v) HWY_ATTR {
    return hn::DemoteTo(d8, hn::Add(hn::NearestInt(hn::Mul(v, inverse)), zero));
  };
  for (i = 0; i + lanes <= width; i += lanes) hn::StoreU(bytes(LoadVector(x + i)), d8, q + i);
  if (i < width) {
    alignas(64) uint8_t part[kLanes];
    hn::Store(bytes(LoadPart(x + i, width - i)), d8, part);
    std::memcpy(q + i, part, static_cast<size_t>(width - i));
  }
  *out = steps.row;
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
