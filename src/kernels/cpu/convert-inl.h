// Loads and stores of fp32 vectors from and to fp32 and bf16 arrays, whole or in part.
#if defined(HONE_KERNELS_CPU_CONVERT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HONE_KERNELS_CPU_CONVERT_INL_H_
#undef HONE_KERNELS_CPU_CONVERT_INL_H_
#else
#define HONE_KERNELS_CPU_CONVERT_INL_H_
#endif

#include "kernels/cpu/dispatch.h"

#include <hwy/highway.h>

#include <cstring>

#include "tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using VF32 = hn::Vec<F32>;
constexpr F32 kF32;
constexpr size_t kLanes = hn::MaxLanes(kF32);

using U16 = hn::Rebind<uint16_t, F32>;
using U32 = hn::RebindToUnsigned<F32>;

HWY_INLINE VF32 Widen(hn::Vec<U16> bits) {
  return hn::BitCast(kF32, hn::ShiftLeft<16>(hn::PromoteTo(U32(), bits)));
}

/// Rounds to nearest even; NaN stays NaN: the same bits as to_bf16().
HWY_INLINE hn::Vec<U16> Narrow(VF32 value) {
  const U32 du;
  const auto bits = hn::BitCast(du, value);
  const auto high = hn::ShiftRight<16>(bits);
  const auto odd = hn::And(high, hn::Set(du, 1u));
  const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(du, 0x7fffu)), odd));
  const auto nan = hn::Or(high, hn::Set(du, 0x40u));
  const auto is_nan = hn::RebindMask(du, hn::IsNaN(value));
  const auto result = hn::IfThenElse(is_nan, nan, rounded);
  return hn::DemoteTo(U16(), hn::BitCast(hn::RebindToSigned<F32>(), result));
}

/// Rounds to bf16; where `native`, by AVX512-BF16's instruction, for callers that have found it,
/// under which subnormal values become 0. It is spelt out, since this Highway has no target with
/// it.
template <bool native>
HWY_INLINE hn::Vec<U16> NarrowBy(VF32 value) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (native) {
    hn::Vec<U16> result;
    asm("vcvtneps2bf16 %1, %0" : "=v"(result.raw) : "v"(value.raw));
    return result;
  }
#endif
  return Narrow(value);
}

HWY_INLINE VF32 LoadVector(const float* p) { return hn::LoadU(kF32, p); }
HWY_INLINE VF32 LoadVector(const bf16* p) {
  return Widen(hn::LoadU(U16(), reinterpret_cast<const uint16_t*>(p)));
}

/// Loads the first `count` < kLanes lanes from memory, the others are 0. Touches no byte beyond.
HWY_INLINE VF32 LoadPart(const float* p, size_t count) {
  return hn::MaskedLoad(hn::FirstN(kF32, count), kF32, p);
}
HWY_INLINE VF32 LoadPart(const bf16* p, size_t count) {
  alignas(64) uint16_t part[kLanes] = {};
  std::memcpy(part, p, count * sizeof(uint16_t));
  return Widen(hn::Load(U16(), part));
}

HWY_INLINE void StoreVector(VF32 value, float* p) { hn::StoreU(value, kF32, p); }
HWY_INLINE void StoreVector(VF32 value, bf16* p) {
  hn::StoreU(Narrow(value), U16(), reinterpret_cast<uint16_t*>(p));
}

template <bool native>
HWY_INLINE void StoreVectorBy(VF32 value, float* p) {
  hn::StoreU(value, kF32, p);
}
template <bool native>
HWY_INLINE void StoreVectorBy(VF32 value, bf16* p) {
  hn::StoreU(NarrowBy<native>(value), U16(), reinterpret_cast<uint16_t*>(p));
}

/// Writes the first `count` < kLanes lanes and no byte beyond.
HWY_INLINE void StorePart(VF32 value, float* p, size_t count) {
  hn::BlendedStore(value, hn::FirstN(kF32, count), kF32, p);
}
HWY_INLINE void StorePart(VF32 value, bf16* p, size_t count) {
  alignas(64) uint16_t part[kLanes];
  hn::Store(Narrow(value), U16(), part);
  std::memcpy(p, part, count * sizeof(uint16_t));
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
