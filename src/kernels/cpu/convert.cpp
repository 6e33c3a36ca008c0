#include "kernels/cpu/convert.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convert.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

template <DType dtype>
HWY_INLINE VF32 LoadAs(const void* p) {
  if constexpr (dtype == DType::f32) return LoadVector(static_cast<const float*>(p));
  if constexpr (dtype == DType::bf16) return LoadVector(static_cast<const bf16*>(p));
  if constexpr (dtype == DType::f16) {
    const hn::Rebind<hwy::float16_t, F32> d;
    const auto bits = hn::LoadU(U16(), static_cast<const uint16_t*>(p));
    return hn::PromoteTo(kF32, hn::BitCast(d, bits));
  }
}

template <DType dtype>
HWY_INLINE void StoreAs(VF32 value, void* p) {
  if constexpr (dtype == DType::f32) StoreVector(value, static_cast<float*>(p));
  if constexpr (dtype == DType::bf16) StoreVector(value, static_cast<bf16*>(p));
  if constexpr (dtype == DType::f16) {
    const hn::Rebind<hwy::float16_t, F32> d;
    hn::StoreU(hn::BitCast(U16(), hn::DemoteTo(d, value)), U16(), static_cast<uint16_t*>(p));
  }
}

template <DType from, DType to>
void ConvertRange(const void* x, void* y, int64_t count) {
  constexpr int64_t kIn = from == DType::f32 ? 4 : 2;
  constexpr int64_t kOut = to == DType::f32 ? 4 : 2;
  const int64_t lanes = kLanes;
  const char* in = static_cast<const char*>(x);
  char* out = static_cast<char*>(y);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) StoreAs<to>(LoadAs<from>(in + i * kIn), out + i * kOut);
  if (i < count) {
    alignas(64) char part[kLanes * 4] = {};
    std::memcpy(part, in + i * kIn, (count - i) * kIn);
    StoreAs<to>(LoadAs<from>(part), part);
    std::memcpy(out + i * kOut, part, (count - i) * kOut);
  }
}

void RoundToF16Range(const float* x, int64_t count, float* y) {
  alignas(64) uint16_t half[kLanes];
  const int64_t lanes = kLanes;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    StoreAs<DType::f16>(LoadVector(x + i), half);
    StoreVector(LoadAs<DType::f16>(half), y + i);
  }
  if (i < count) {
    StoreAs<DType::f16>(LoadPart(x + i, count - i), half);
    StorePart(LoadAs<DType::f16>(half), y + i, count - i);
  }
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/cpu/rows.h"

namespace hone::kernels {
namespace {

using Converter = void(const void*, void*, int64_t);

template <DType from>
Converter* converter_to(DType to) {
  switch (to) {
    case DType::bf16:
      return HONE_TARGET_FUNCTION(ConvertRange<from, DType::bf16>);
    case DType::f16:
      return HONE_TARGET_FUNCTION(ConvertRange<from, DType::f16>);
    default:
      return HONE_TARGET_FUNCTION(ConvertRange<from, DType::f32>);
  }
}

Converter* converter(DType from, DType to) {
  switch (from) {
    case DType::bf16:
      return converter_to<DType::bf16>(to);
    case DType::f16:
      return converter_to<DType::f16>(to);
    default:
      return converter_to<DType::f32>(to);
  }
}

}  // namespace

void convert(DType from, const void* x, DType to, void* y, int64_t count, ThreadPool& pool) {
  const auto kernel = converter(from, to);
  const char* in = static_cast<const char*>(x);
  char* out = static_cast<char*>(y);
  const int64_t in_size = static_cast<int64_t>(dtype_size(from));
  const int64_t out_size = static_cast<int64_t>(dtype_size(to));
  for_row_ranges(count, 1, pool, [&](int64_t begin, int64_t end) {
    kernel(in + begin * in_size, out + begin * out_size, end - begin);
  });
}

void round_to_f16(const float* x, int64_t count, float* y, ThreadPool& pool) {
  const auto kernel = HONE_TARGET_FUNCTION(RoundToF16Range);
  for_row_ranges(count, 1, pool,
                 [&](int64_t begin, int64_t end) { kernel(x + begin, end - begin, y + begin); });
}

}  // namespace hone::kernels
#endif
