#include <limits>

#include "kernels/cpu/adamw.h"
#include "kernels/cpu/dispatch.h"
#include "tensor/dynamic_map.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/adamw_8bit.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/adamw-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

using CodeTag = hn::Rebind<uint8_t, F32>;
using CodeIndex = hn::Rebind<int32_t, F32>;

HWY_INLINE VF32 FromCodes(const DynamicMap& map, const uint8_t* codes, VF32 scale) {
  const auto index = hn::PromoteTo(CodeIndex(), hn::LoadU(CodeTag(), codes));
  return hn::Mul(hn::GatherIndex(kF32, map.values(), index), scale);
}

/// What DynamicMap::code() does, of x * `inverse`.
HWY_INLINE void ToCodes(const DynamicMap& map, VF32 x, VF32 inverse, uint8_t* codes) {
  const CodeIndex di;
  const VF32 size = hn::Min(hn::Mul(hn::Abs(x), inverse), hn::Set(kF32, 1.0f));
  const auto high = hn::ShiftRight<16>(hn::BitCast(di, size));
  const auto bucket = hn::Max(hn::Sub(high, hn::Set(di, DynamicMap::kFirstBucket)), hn::Zero(di));
  const auto least = hn::GatherIndex(di, map.least_ranks(), bucket);
  const auto above = hn::Gt(size, hn::GatherIndex(kF32, map.middles(), least));
  const auto rank =
      hn::IfThenElse(hn::RebindMask(di, above), hn::Add(least, hn::Set(di, 1)), least);
  const auto zero = hn::Set(di, map.zero());
  const auto negative = hn::RebindMask(di, hn::Lt(x, hn::Zero(kF32)));
  const auto code =
      hn::IfThenElse(negative, hn::Sub(zero, hn::Min(rank, zero)), hn::Add(zero, rank));
  hn::StoreU(hn::DemoteTo(CodeTag(), code), CodeTag(), codes);
}

HWY_INLINE float QuantizeBlock(const DynamicMap& map, const float* values, uint8_t* codes) {
  VF32 most = hn::Zero(kF32);
  for (size_t i = 0; i < DynamicMap::kBlock; i += kLanes) {
    most = hn::Max(most, hn::Abs(hn::Load(kF32, values + i)));
  }
  float scale = hn::GetLane(hn::MaxOfLanes(kF32, most));
  if (scale < std::numeric_limits<float>::min()) scale = 0;  // 1 / scale has to be finite
  const VF32 inverse = hn::Set(kF32, scale > 0 ? 1.0f / scale : 0.0f);
  for (size_t i = 0; i < DynamicMap::kBlock; i += kLanes) {
    ToCodes(map, hn::Load(kF32, values + i), inverse, codes + i);
  }
  return scale;
}

/// Updates a whole block.
void AdamW8bitBlock(const AdamWScalars& s, float* parameters, const float* gradients,
                    const QuantizedMoments& m, const QuantizedMoments& v) {
  HWY_ALIGN float new_m[DynamicMap::kBlock], new_v[DynamicMap::kBlock];
  const VF32 m_scale = hn::Set(kF32, *m.scales), v_scale = hn::Set(kF32, *v.scales);
  for (size_t i = 0; i < DynamicMap::kBlock; i += kLanes) {
    VF32 vm = FromCodes(kSignedMap, m.codes + i, m_scale);
    VF32 vv = FromCodes(kUnsignedMap, v.codes + i, v_scale);
    StoreVector(AdamWUpdate(s, LoadVector(parameters + i), LoadVector(gradients + i), vm, vv),
                parameters + i);
    hn::Store(vm, kF32, new_m + i);
    hn::Store(vv, kF32, new_v + i);
  }
  *m.scales = QuantizeBlock(kSignedMap, new_m, m.codes);
  *v.scales = QuantizeBlock(kUnsignedMap, new_v, v.codes);
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/cpu/parameter_ranges.h"

namespace hone::kernels {

void adamw_8bit(const AdamW& options, ParameterRanges ranges, GradientUse use,
                const AdamW8bitArrays& arrays, ThreadPool& pool) {
  const auto kernel = HONE_TARGET_FUNCTION(AdamW8bitBlock);
  constexpr int64_t kBlock = DynamicMap::kBlock;
  for_parameter_pieces(ranges, pool, [&](int64_t begin, int64_t end, const ParameterRange& range) {
    const AdamWScalars scalars = scalars_of(options, use, range);
    for (int64_t at = begin; at < end; at += kBlock) {
      const int64_t count = std::min(kBlock, end - at);
      float* parameters = arrays.parameters + at + range.shift;
      float* gradients = arrays.gradients + at + range.gradient_shift;
      const QuantizedMoments m{arrays.m.codes + at, arrays.m.scales + at / kBlock};
      const QuantizedMoments v{arrays.v.codes + at, arrays.v.scales + at / kBlock};
      if (count == kBlock) {
        kernel(scalars, parameters, gradients, m, v);
      } else {
        float p[kBlock] = {}, g[kBlock] = {};
        std::copy_n(parameters, count, p);
        std::copy_n(gradients, count, g);
        kernel(scalars, p, g, m, v);
        std::copy_n(p, count, parameters);
      }
      if (use.zero) std::fill_n(gradients, count, 0.0f);
    }
  });
}

}  // namespace hone::kernels
#endif
